//! A scale: values as pixels, and the values at which it has a line.

use std::ops::Range;

use plotters::coord::ranged1d::{BoldPoints, Ranged};
use plotters::coord::types::RangedCoordf64;

/// The most lines of a scale.
const LINES_MAX: usize = 6;

/// A linear or logarithmic scale.
pub(super) struct Scale {
    range: Range<f64>,
    pixels: (i32, i32),
    is_logarithmic: bool,
}

impl Scale {
    /// A scale from 0 to this value, or to 1 if it is no more than 0.
    pub(super) fn to(most: f64, pixels: (i32, i32)) -> Self {
        Self { range: 0.0..if most > 0.0 { most } else { 1.0 }, pixels, is_logarithmic: false }
    }

    /// A logarithmic scale that holds these values, which are more than 0.
    pub(super) fn logarithmic(values: impl Iterator<Item = f64>, pixels: (i32, i32)) -> Self {
        let range = values.fold(f64::MAX..0.0, |range, value| range.start.min(value)..range.end.max(value));
        // Without values, or with one only, a scale around it.
        let range = if range.end <= 0.0 { 1.0..10.0 } else { range.start / 1.2..range.end * 1.2 };
        Self { range, pixels, is_logarithmic: true }
    }

    /// The pixel of a value; that of the nearest end for a value outside.
    pub(super) fn at(&self, value: f64) -> i32 {
        let value = value.clamp(self.range.start, self.range.end);
        if self.is_logarithmic {
            RangedCoordf64::from(self.range.start.ln()..self.range.end.ln()).map(&value.ln(), self.pixels)
        } else {
            RangedCoordf64::from(self.range.clone()).map(&value, self.pixels)
        }
    }

    /// Round values for the lines of a grid.
    pub(super) fn lines(&self) -> Vec<f64> {
        if !self.is_logarithmic {
            return RangedCoordf64::from(self.range.clone()).key_points(BoldPoints(LINES_MAX));
        }
        let steps: &[f64] = match self.range.end / self.range.start {
            ..4.0 => &[1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0],
            ..100.0 => &[1.0, 2.0, 5.0],
            _ => &[1.0],
        };
        let all = (-6..=9).flat_map(|power| steps.iter().map(move |step| step * 10_f64.powi(power)));
        all.filter(|line| self.range.contains(line)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_maps_values_to_pixels_and_has_round_lines() {
        let scale = Scale::to(1.0, (200, 600));
        assert_eq!([0.0, 0.25, 1.0, 7.0].map(|value| scale.at(value)), [200, 300, 600, 600]);
        assert_eq!(Scale::to(0.0, (0, 100)).at(0.5), 50);
        let scale = Scale::logarithmic([900.0, 60_000.0].into_iter(), (0, 100));
        assert_eq!((scale.at(750.0), scale.at(72_000.0), scale.at(1.0)), (0, 100, 0));
        assert_eq!(scale.lines(), [1_000.0, 2_000.0, 5_000.0, 10_000.0, 20_000.0, 50_000.0]);
        assert_eq!(Scale::logarithmic([50.0, 80.0].into_iter(), (0, 9)).lines(), [50.0, 60.0, 80.0]);
        assert_eq!(Scale::logarithmic(std::iter::empty(), (0, 100)).at(10.0), 100);
    }
}
