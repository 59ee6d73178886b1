//! The events of a response.

use parallel_llm_engine::RunId;
use serde_json::{Value, json};

use super::event;
use crate::refusal::{Shown, json_of};
use crate::reply::{Answer, OutputContent, OutputItem, OwnStatus, ResponseObject, Settings};
use crate::request::Progress;

/// Writes a response as events.
pub(crate) struct ResponseFrames {
    run_id: RunId,
    settings: Settings,
    progress: Progress,
    /// The number of the next event.
    sequence: u64,
    /// The lines of progress so far, while they are shown as reasoning.
    reasoning: String,
    /// Whether the item with the answer has begun.
    has_message: bool,
}

impl ResponseFrames {
    pub(crate) const fn new(run_id: RunId, settings: Settings, progress: Progress) -> Self {
        Self { run_id, settings, progress, sequence: 0, reasoning: String::new(), has_message: false }
    }

    /// Progress is shown only before the text: an item that has ended does not go on.
    pub(super) const fn shows_reasoning(&self) -> bool {
        matches!(self.progress, Progress::Reasoning) && !self.has_message
    }

    pub(super) fn begin(&mut self) -> String {
        let begun = ResponseObject::begun(self.run_id, &self.settings);
        let created = self.event("response.created", json!({ "response": begun }));
        created + &self.event("response.in_progress", json!({ "response": begun }))
    }

    pub(super) fn reasoning(&mut self, line: &str) -> String {
        let mut events = String::new();
        if self.reasoning.is_empty() {
            let item = OutputItem::reasoning(self.run_id, OwnStatus::InProgress, Vec::new());
            events += &self.event("response.output_item.added", json!({ "output_index": 0, "item": item }));
            let part = OutputContent::SummaryText { text: String::new() };
            events += &self.of_reasoning("response.reasoning_summary_part.added", json!({ "part": part }));
        }
        let delta = format!("{line}\n");
        events += &self.of_reasoning("response.reasoning_summary_text.delta", json!({ "delta": delta }));
        self.reasoning += &delta;
        events
    }

    pub(super) fn text(&mut self, text: &str) -> String {
        let begun = self.message();
        let delta = json!({ "delta": text, "logprobs": [] });
        begun + &self.of_message("response.output_text.delta", delta)
    }

    pub(super) fn end(&mut self, answer: &Answer) -> String {
        let mut events = self.message();
        let ended = ResponseObject::ended(answer, &self.settings, self.shown_reasoning());
        let done = json!({ "text": answer.text, "logprobs": [] });
        events += &self.of_message("response.output_text.done", done);
        let part = OutputContent::text(answer.text.clone());
        events += &self.of_message("response.content_part.done", json!({ "part": part }));
        let item = OutputItem::message(self.run_id, ended.status(), vec![part]);
        let index = self.index();
        events += &self.event("response.output_item.done", json!({ "output_index": index, "item": item }));
        let kind = match ended.status() {
            OwnStatus::Incomplete => "response.incomplete",
            _ => "response.completed",
        };
        events + &self.event(kind, json!({ "response": ended }))
    }

    pub(super) fn fail(&mut self, shown: &Shown) -> String {
        let error = json!({ "code": shown.code(), "message": shown.message() });
        let failed = ResponseObject::failed(self.run_id, &self.settings, error);
        self.event("response.failed", json!({ "response": failed }))
    }

    /// The events that begin the item with the answer, once, and end the reasoning before it.
    fn message(&mut self) -> String {
        if std::mem::replace(&mut self.has_message, true) {
            return String::new();
        }
        let mut events = String::new();
        if let Some(item) = self.shown_reasoning() {
            let text = self.reasoning.clone();
            events += &self.of_reasoning("response.reasoning_summary_text.done", json!({ "text": text }));
            let part = OutputContent::SummaryText { text };
            events += &self.of_reasoning("response.reasoning_summary_part.done", json!({ "part": part }));
            events += &self.event("response.output_item.done", json!({ "output_index": 0, "item": item }));
        }
        let item = OutputItem::message(self.run_id, OwnStatus::InProgress, Vec::new());
        let index = self.index();
        events += &self.event("response.output_item.added", json!({ "output_index": index, "item": item }));
        let part = OutputContent::text(String::new());
        events + &self.of_message("response.content_part.added", json!({ "part": part }))
    }

    /// The reasoning as an item that has ended, if any was shown.
    fn shown_reasoning(&self) -> Option<OutputItem> {
        let summary = || vec![OutputContent::SummaryText { text: self.reasoning.clone() }];
        (!self.reasoning.is_empty())
            .then(|| OutputItem::reasoning(self.run_id, OwnStatus::Completed, summary()))
    }

    /// The place of the answer among the items.
    fn index(&self) -> u32 {
        u32::from(!self.reasoning.is_empty())
    }

    fn of_message(&mut self, kind: &str, mut data: Value) -> String {
        data["item_id"] = OutputItem::message_id(self.run_id).into();
        data["output_index"] = self.index().into();
        data["content_index"] = 0.into();
        self.event(kind, data)
    }

    fn of_reasoning(&mut self, kind: &str, mut data: Value) -> String {
        data["item_id"] = OutputItem::reasoning_id(self.run_id).into();
        data["output_index"] = 0.into();
        data["summary_index"] = 0.into();
        self.event(kind, data)
    }

    fn event(&mut self, kind: &str, mut data: Value) -> String {
        data["type"] = kind.into();
        data["sequence_number"] = self.sequence.into();
        self.sequence += 1;
        event(Some(kind), &json_of(&data))
    }
}
