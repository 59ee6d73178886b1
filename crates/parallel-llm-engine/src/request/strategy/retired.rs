//! Strategies and options that are no longer offered. Stored runs have them, so they are read, shown and exported for ever.
//!
//! None is planned or executed; `successor.rs` says what takes its place.

use serde::{Deserialize, Serialize};

/// A strategy that only stored runs have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RetiredStrategy {
    /// Now `best-of-n@by=consistency`.
    Consistency,
    /// Now `best-of-n@by=pairs` and `best-of-n@by=league`.
    Tournament,
    /// Now `synthesize` over a panel of one model.
    SelfMoa,
    /// Gone.
    Debate,
}

impl RetiredStrategy {
    pub(super) const ALL: [Self; 4] = [Self::Consistency, Self::Tournament, Self::SelfMoa, Self::Debate];

    /// Its name in stored runs.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Consistency => "consistency",
            Self::Tournament => "tournament",
            Self::SelfMoa => "self-moa",
            Self::Debate => "debate",
        }
    }
}

/// A word that such an option takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RetiredWord {
    /// The loser of a match was out.
    Knockout,
    /// Each answer met each other one.
    League,
    /// From the best answer.
    Anchored,
    /// From all answers alike.
    Free,
    /// No.
    Off,
    /// Yes.
    On,
}

impl RetiredWord {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Knockout => "knockout",
            Self::League => "league",
            Self::Anchored => "anchored",
            Self::Free => "free",
            Self::Off => "off",
            Self::On => "on",
        }
    }
}

/// Options that only stored runs have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetiredOptions {
    /// Which answers met in a tournament.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<RetiredWord>,
    /// How often one model was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub samples: Option<u8>,
    /// How often a seat could change its answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<u8>,
    /// What a synthesizer started from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<RetiredWord>,
    /// How many answers a reader was shown: those closest to all others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top_k: Option<u8>,
    /// Whether a synthesizer was told how many answers agreed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub show_votes: Option<RetiredWord>,
}

impl RetiredOptions {
    /// The options that are set, with their values.
    pub(super) fn written(self) -> impl Iterator<Item = (&'static str, String)> {
        let word = |word: Option<RetiredWord>| word.map(|word| word.as_str().to_owned());
        let count = |count: Option<u8>| count.map(|count| count.to_string());
        let all = [
            ("format", word(self.format)),
            ("samples", count(self.samples)),
            ("rounds", count(self.rounds)),
            ("mode", word(self.mode)),
            ("top_k", count(self.top_k)),
            ("show_votes", word(self.show_votes)),
        ];
        all.into_iter().filter_map(|(name, value)| Some((name, value?)))
    }

    /// Reads an option of stored runs as a person may still write it, as far as it matters for what takes its place.
    pub(super) fn take(&mut self, name: &str, value: &str) {
        match name {
            "format" if value == RetiredWord::League.as_str() => self.format = Some(RetiredWord::League),
            "samples" => self.samples = value.parse().ok(),
            _ => {}
        }
    }
}
