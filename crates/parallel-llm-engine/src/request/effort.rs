//! How much a model is asked to reason.

use serde::{Deserialize, Serialize};

/// How much reasoning a model is asked for. A provider without a level gets the nearest it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effort {
    /// No reasoning, if the model allows it.
    None,
    /// The least.
    Minimal,
    /// A little.
    Low,
    /// The usual amount.
    Medium,
    /// Much.
    High,
    /// Very much.
    Xhigh,
    /// The most.
    Max,
}

impl Effort {
    /// All levels, from none to the most.
    pub const ALL: &[Self] =
        &[Self::None, Self::Minimal, Self::Low, Self::Medium, Self::High, Self::Xhigh, Self::Max];

    /// The word in settings, options and most protocols.
    pub const fn word(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Xhigh => "xhigh",
            Self::Max => "max",
        }
    }

    /// The nearest level a provider accepts. Of two equally near ones it is the higher, so that rounding does not switch
    /// reasoning off. Without accepted levels it is this one.
    #[must_use]
    pub fn nearest(self, accepted: &[Self]) -> Self {
        let distance = |other: Self| (other as u8).abs_diff(self as u8);
        let nearest =
            accepted.iter().copied().min_by_key(|other| (distance(*other), std::cmp::Reverse(*other)));
        nearest.unwrap_or(self)
    }

    /// The level with this word, in any case.
    pub fn by_word(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|effort| effort.word().eq_ignore_ascii_case(word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_effort_is_rounded_up_and_never_to_none() {
        let common = [Effort::None, Effort::Low, Effort::Medium, Effort::High];
        let rounded = |effort: Effort| effort.nearest(&common);
        assert_eq!(
            Effort::ALL.iter().copied().map(rounded).collect::<Vec<_>>(),
            [
                Effort::None,
                Effort::Low,
                Effort::Low,
                Effort::Medium,
                Effort::High,
                Effort::High,
                Effort::High,
            ]
        );
        assert_eq!(Effort::Max.nearest(&[]), Effort::Max);
    }
}
