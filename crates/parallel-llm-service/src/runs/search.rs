//! Searching: the runs whose question, answers or final text have these words.

use parallel_llm_engine::Failure;
use parallel_llm_store::Matches;

use crate::{Scope, Service};

impl Service {
    /// The runs with a text in which all of these words stand, newest first, at most `limit`; and how many were not searched,
    /// because their texts are not in the index yet.
    pub async fn search(&self, words: &str, limit: usize) -> Result<Matches, Failure> {
        self.asker().check(Scope::Read)?;
        self.store().await?.search(self.asker().whose(), words, limit).await
    }
}
