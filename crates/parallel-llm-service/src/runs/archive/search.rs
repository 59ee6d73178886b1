//! Full-text search over questions, answers and final texts.

use parallel_llm_engine::Failure;
use parallel_llm_store::SearchResults;

use super::history::History;
use crate::access::Scope;

impl History {
    /// The runs with a text that contains all of these words, newest first, at most `limit`; and the number of runs
    /// that are not indexed yet.
    pub async fn search(&self, words: &str, limit: usize) -> Result<SearchResults, Failure> {
        self.principal.check(Scope::Read)?;
        self.store.get().await?.search(self.principal.whose(), words, limit).await
    }
}
