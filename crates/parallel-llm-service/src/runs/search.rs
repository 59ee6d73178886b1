//! Searching: the runs whose question, answers or final text have these words.

use parallel_llm_engine::Failure;
use parallel_llm_store::SearchResults;

use super::history::History;
use crate::access::Scope;

impl History {
    /// The runs with a text in which all of these words stand, newest first, at most `limit`; and how many were not searched,
    /// because their texts are not in the index yet.
    pub async fn search(&self, words: &str, limit: usize) -> Result<SearchResults, Failure> {
        self.principal.check(Scope::Read)?;
        self.store.get().await?.search(self.principal.whose(), words, limit).await
    }
}
