//! The base URL of each dialect. It stands apart from `dialect`, which knows nothing of a running simulator.

use crate::dialect;
use crate::simulator::Simulator;

impl Simulator {
    /// The names of everything it pretends to be, OpenRouter first; [`Self::base_url_of`] takes each.
    pub fn dialects() -> Vec<&'static str> {
        dialect::names()
    }

    /// What a client takes for the base URL of this provider, such as `http://127.0.0.1:8080/anthropic/v1`; `None` if
    /// nobody has this name.
    pub fn base_url_of(&self, dialect_name: &str) -> Option<String> {
        dialect::base_url(&self.origin(), dialect_name)
    }
}
