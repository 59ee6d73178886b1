//! The remedy of a finding.

use parallel_llm_engine::value::next::{self, Advice, Next, Vocabulary};
use serde::{Serialize, Serializer};

/// How to fix what a finding reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// Text for the user at this machine, the same at every door.
    Text(String),
    /// One of these steps, in the vocabulary of a door.
    Steps(Vec<Next>),
}

impl Remedy {
    /// The remedy in a door's vocabulary.
    pub fn render(&self, vocabulary: &Vocabulary) -> String {
        match self {
            Self::Text(text) => (vocabulary.spelled)(text.clone()),
            Self::Steps(steps) => next::render(steps, vocabulary),
        }
    }
}

impl Serialize for Remedy {
    fn serialize<S: Serializer>(&self, target: S) -> Result<S::Ok, S::Error> {
        target.serialize_str(&self.render(&next::PLAIN))
    }
}

impl From<&str> for Remedy {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Remedy {
    fn from(text: String) -> Self {
        Self::Text(text)
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
