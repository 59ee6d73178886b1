//! Medians, ranges and percentiles.

/// The median of several values, with the least and the greatest.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spread {
    /// The median.
    pub median: f64,
    /// The least.
    pub least: f64,
    /// The greatest.
    pub most: f64,
}

impl Spread {
    /// The spread of these values; zeros if there are none.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let at = |share| percentile(&values, share);
        Self { median: at(50), least: at(0), most: at(100) }
    }
}

/// The smallest of the sorted values that is not exceeded by `share` percent of them; 0 if there are none.
pub fn percentile(sorted: &[f64], share: usize) -> f64 {
    let index = (sorted.len() * share).div_ceil(100).saturating_sub(1);
    sorted.get(index).copied().unwrap_or_default()
}

/// The same for values in any order.
pub fn percentile_of(values: impl IntoIterator<Item = f64>, share: usize) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    percentile(&values, share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_one_of_the_values() {
        assert_eq!(Spread::of([3.0, 1.0, 2.0]), Spread { median: 2.0, least: 1.0, most: 3.0 });
        assert_eq!(Spread::of([4.0, 1.0]), Spread { median: 1.0, least: 1.0, most: 4.0 });
        assert_eq!(Spread::of([]), Spread::default());
        assert_eq!(percentile_of((1..=100).rev().map(f64::from), 99).to_string(), "99");
    }
}
