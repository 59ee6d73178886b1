//! The events of a chat completion.

use parallel_llm_engine::RunId;

use super::event;
use crate::refusal::{Shown, json_of};
use crate::reply::{Answer, Chunk, Delta, UsageChunk};
use crate::request::Progress;

/// The event that ends a whole stream.
const DONE: &str = "[DONE]";

/// Writes a chat completion as events.
pub(crate) struct ChatFrames {
    run_id: RunId,
    model: String,
    /// Whether the last chunk has the tokens.
    includes_usage: bool,
    progress: Progress,
}

impl ChatFrames {
    pub(crate) const fn new(run_id: RunId, model: String, includes_usage: bool, progress: Progress) -> Self {
        Self { run_id, model, includes_usage, progress }
    }

    pub(super) const fn shows_reasoning(&self) -> bool {
        matches!(self.progress, Progress::Reasoning)
    }

    pub(super) fn begin(&self) -> String {
        self.chunk(Delta { role: Some("assistant"), content: Some(""), ..Delta::default() })
    }

    pub(super) fn text(&self, text: &str) -> String {
        self.chunk(Delta { content: Some(text), ..Delta::default() })
    }

    pub(super) fn reasoning(&self, line: &str) -> String {
        let line = format!("{line}\n");
        self.chunk(Delta { reasoning_content: Some(&line), ..Delta::default() })
    }

    pub(super) fn end(&self, answer: &Answer) -> String {
        let last = self.event(Chunk::last(answer, &self.model));
        let usage = self.includes_usage.then(|| event(None, &json_of(&UsageChunk::new(answer, &self.model))));
        last + &usage.unwrap_or_default() + &event(None, DONE)
    }

    /// The error. No event follows it, so that no client takes the text for a whole one.
    #[expect(clippy::unused_self, reason = "as those of the other protocol")]
    pub(super) fn fail(&self, shown: Shown) -> String {
        event(None, &json_of(&shown.body()))
    }

    fn chunk(&self, delta: Delta<'_>) -> String {
        self.event(Chunk::new(self.run_id, &self.model, delta))
    }

    fn event(&self, mut chunk: Chunk<'_>) -> String {
        if self.includes_usage {
            chunk = chunk.without_usage();
        }
        event(None, &json_of(&chunk))
    }
}
