//! What to do about a finding.

use parallel_llm_engine::value::next::{self, Advice, Next, Vocabulary};
use serde::{Serialize, Serializer};

/// What to do about a finding: steps that a door can say in its words, or words that are for this machine alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Words for whoever sits at this machine.
    Words(String),
    /// One of these.
    Steps(Vec<Next>),
}

impl Remedy {
    /// The remedy in a door's words.
    pub fn said(&self, words: &Vocabulary) -> String {
        match self {
            Self::Words(text) => text.clone(),
            Self::Steps(steps) => next::say(steps, words),
        }
    }
}

impl Serialize for Remedy {
    fn serialize<S: Serializer>(&self, target: S) -> Result<S::Ok, S::Error> {
        target.serialize_str(&self.said(&next::PLAIN))
    }
}

impl From<&str> for Remedy {
    fn from(words: &str) -> Self {
        Self::Words(words.to_owned())
    }
}

impl From<String> for Remedy {
    fn from(words: String) -> Self {
        Self::Words(words)
    }
}

impl From<Advice> for Remedy {
    fn from(advice: Advice) -> Self {
        Self::Steps(advice.into())
    }
}

impl From<&[Next]> for Remedy {
    fn from(steps: &[Next]) -> Self {
        Self::Steps(steps.to_vec())
    }
}
