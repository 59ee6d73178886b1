//! The normal distribution, and the means of functions of a normal variable.

use std::f64::consts::PI;
use std::sync::LazyLock;

/// Beyond this many standard deviations a tail is zero in double precision.
const FAR: f64 = 8.5;
/// The points of the quadrature. With half as many, no figure here changes by more than a few units in the fifth
/// decimal.
const POINTS: usize = 96;

/// Points and weights that turn the mean of a function of a normal variable into a sum.
pub(super) static QUADRATURE: LazyLock<Vec<(f64, f64)>> = LazyLock::new(quadrature);

fn density(at: f64) -> f64 {
    (-at * at / 2.0).exp() / (2.0 * PI).sqrt()
}

/// The cumulative distribution function, by the series with odd factorials, whose terms all have the same sign.
pub(super) fn below(at: f64) -> f64 {
    if at.abs() > FAR {
        return if at > 0.0 { 1.0 } else { 0.0 };
    }
    let (mut sum, mut term, mut odd) = (0.0, at, 1.0);
    while f64::abs(term) > 1e-18 {
        sum += term;
        odd += 2.0;
        term *= at * at / odd;
    }
    0.5 + density(at) * sum
}

/// The inverse of [`below`].
pub(super) fn quantile(share: f64) -> f64 {
    solve((-FAR, FAR), |at| below(at) - share)
}

/// The zero of an increasing function.
pub(super) fn solve((mut low, mut high): (f64, f64), function: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..80 {
        let middle = f64::midpoint(low, high);
        if function(middle) < 0.0 { low = middle } else { high = middle }
    }
    f64::midpoint(low, high)
}

/// Gauss–Hermite quadrature: Newton's method finds each point from a guess next to the previous one.
fn quadrature() -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> = Vec::new();
    let count = POINTS as f64;
    let mut at = 0.0_f64;
    for index in 0..POINTS.div_ceil(2) {
        at = match index {
            0 => (2.0 * count + 1.0).sqrt() - 1.85575 * (2.0 * count + 1.0).powf(-1.0 / 6.0),
            1 => at - 1.14 * count.powf(0.426) / at,
            2 => 1.86 * at - 0.86 * points[0].0,
            3 => 1.91 * at - 0.91 * points[1].0,
            _ => 2.0 * at - points[index - 2].0,
        };
        let mut slope = 1.0;
        for _ in 0..40 {
            let (value, derivative) = hermite(at);
            slope = derivative;
            let step = value / derivative;
            at -= step;
            if step.abs() < 1e-15 {
                break;
            }
        }
        points.push((at, 2.0 / (slope * slope)));
    }
    // Converts weights for exp(−x²) to those of the standard normal distribution, on both sides.
    let both = points.iter().flat_map(|(at, weight)| [(*at, *weight), (-*at, *weight)]);
    both.map(|(at, weight)| (at * 2.0_f64.sqrt(), weight / PI.sqrt())).collect()
}

/// The orthonormal Hermite polynomial of degree [`POINTS`], and its derivative.
fn hermite(at: f64) -> (f64, f64) {
    let (mut value, mut before) = (PI.powf(-0.25), 0.0);
    for degree in 0..POINTS {
        let degree = degree as f64;
        let next = at * (2.0 / (degree + 1.0)).sqrt() * value - (degree / (degree + 1.0)).sqrt() * before;
        (value, before) = (next, value);
    }
    (value, (2.0 * POINTS as f64).sqrt() * before)
}
