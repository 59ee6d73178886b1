//! The confidence interval of a counted share.

/// The two-sided 95 % point of the normal distribution.
const Z: f64 = 1.959_963_984_540_054;

/// The 95 % interval of a share after Wilson (1927) as its lower and upper end. Unlike the normal approximation it holds for
/// few cases and for shares near 0 and 1. `of` is at least one.
pub fn wilson(count: f64, of: f64) -> [f64; 2] {
    let (share, shrink) = (count / of, Z * Z / of);
    let middle = (share + shrink / 2.0) / (1.0 + shrink);
    let half = Z * (share * (1.0 - share) / of + shrink / (4.0 * of)).sqrt() / (1.0 + shrink);
    [(middle - half).max(0.0), (middle + half).min(1.0)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_matches_published_values() {
        // Newcombe (1998), table I, and values of the formula worked out elsewhere.
        for (count, of, expected) in [
            (81.0, 263.0, [0.2553, 0.3662]),
            (15.0, 148.0, [0.0624, 0.1605]),
            (0.0, 20.0, [0.0, 0.1611]),
            (1.0, 29.0, [0.0061, 0.1718]),
            (5.0, 10.0, [0.2366, 0.7634]),
            (10.0, 10.0, [0.7225, 1.0]),
            (0.0, 34.0, [0.0, 0.1015]),
            (0.0, 35.0, [0.0, 0.0989]),
        ] {
            let [low, high] = wilson(count, of);
            let is_near = |found: f64, expected: f64| (found - expected).abs() < 0.000_05;
            assert!(is_near(low, expected[0]) && is_near(high, expected[1]), "{count} of {of}: {low} {high}");
        }
    }
}
