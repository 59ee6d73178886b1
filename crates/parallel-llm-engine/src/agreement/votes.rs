//! The effective number of independent votes of a panel, which is lower than its size because models err together.
//!
//! The correlations are published priors and were not measured on this panel: 0.534 for five flagships of five labs on
//! HELM-MMLU, 0.65 to 0.66 for two models of one lab.

use crate::request::panel::ModelRef;

/// The correlation of the errors of two models of one vendor.
const SAME_VENDOR: f64 = 0.65;
/// The correlation of the errors of two models of different vendors.
const OTHER_VENDOR: f64 = 0.534;

/// Kish's effective number of votes, n² / Σφ over all pairs, rounded to two decimals. One model asked n times counts as one
/// vote. Zero for no models.
pub fn effective(models: &[&ModelRef]) -> f64 {
    let together = |one: &&ModelRef| models.iter().map(|other| correlation(one, other)).sum::<f64>();
    let sum: f64 = models.iter().map(together).sum();
    let count = models.len() as f64;
    if sum > 0.0 { (count * count / sum * 100.0).round() / 100.0 } else { 0.0 }
}

fn correlation(one: &ModelRef, other: &ModelRef) -> f64 {
    match (one.vendor_and_name(), other.vendor_and_name()) {
        (one, other) if one == other => 1.0,
        ((one, _), (other, _)) if one == other => SAME_VENDOR,
        _ => OTHER_VENDOR,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::panel::{DEFAULT_PROVIDER, ProviderId};

    fn check(models: &[&str], expected: f64) {
        let model = |name: &&str| {
            let (provider, model) = name.split_once('=').unwrap_or((DEFAULT_PROVIDER, name));
            ModelRef { provider: ProviderId(provider.to_owned()), model: model.to_owned() }
        };
        let models: Vec<ModelRef> = models.iter().map(model).collect();
        let votes = effective(&models.iter().collect::<Vec<_>>());
        assert!((votes - expected).abs() < 1e-9, "{models:?}: {votes}");
    }

    #[test]
    fn models_of_many_vendors_count_as_few_votes() {
        let nine = ["a/1", "b/1", "c/1", "d/1", "e/1", "f/1", "g/1", "h/1", "i/1"];
        for (count, expected) in [(0, 0.0), (1, 1.0), (2, 1.3), (3, 1.45), (5, 1.59), (9, 1.71)] {
            check(&nine[..count], expected);
        }
    }

    #[test]
    fn models_of_one_vendor_count_less_and_copies_count_once() {
        check(&["a/1", "a/2"], 1.21);
        check(&["a/1", "a/1", "a/1:free", "~a/1"], 1.0);
        check(&["a/1", "a/1", "b/1"], 1.26);
        check(&["ollama=llama4:8b", "ollama=llama4:70b"], 1.21);
        check(&["ollama=llama4:8b", "openai=gpt-7"], 1.3);
    }
}
