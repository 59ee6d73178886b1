//! The events of one append, serialized by the caller, and the store's knowledge about kinds of events.
//!
//! What events have in common they say themselves (`Event::phase`, `answer`, `outcome`); a new kind of event is handled in
//! `ledger.rs`, for its effect on money.

use std::collections::BTreeMap;
use std::sync::Arc;

use parallel_llm_engine::run::event::{Attempt, EventPhase};
use parallel_llm_engine::{Event, Recorded, Reopening};

use super::compressed::TextBody;

/// The events of one append.
#[derive(Debug)]
pub(crate) struct EventBatch {
    pub(crate) events: Vec<Recorded>,
    /// The JSON of each event.
    pub(crate) bodies: Vec<String>,
    /// Their texts by hash; empty if the run stores none.
    pub(crate) texts: BTreeMap<String, TextBody>,
}

impl EventBatch {
    /// Serializes events, and compresses their texts if `keeps_texts`.
    pub(crate) fn of(events: Vec<Recorded>, keeps_texts: bool) -> Self {
        let body = |recorded: &Recorded| serde_json::to_string(&recorded.event);
        let bodies =
            events.iter().map(|recorded| body(recorded).expect("an event is plain data with string keys"));
        let carried = events.iter().filter(|_| keeps_texts).filter_map(|recorded| text_of(&recorded.event));
        let texts = carried.filter_map(|text| Some((text.hash.to_owned(), TextBody::of(text.text?))));
        Self { bodies: bodies.collect(), texts: texts.collect(), events }
    }

    fn has(&self, phase: EventPhase) -> bool {
        self.events.iter().any(|recorded| recorded.event.phase() == phase)
    }

    /// Whether they settle the run's answer.
    pub(crate) fn decides(&self) -> bool {
        self.has(EventPhase::Decides)
    }

    /// Whether they close the run.
    pub(crate) fn closes(&self) -> bool {
        self.has(EventPhase::Closes)
    }

    /// Whether they are what a process held that had lost the run.
    pub(crate) fn merges(&self) -> bool {
        self.has(EventPhase::Merges)
    }

    /// Whether a request of theirs leaves once they are durable.
    pub(crate) fn sends(&self) -> bool {
        self.has(EventPhase::Leaves)
    }

    /// Whether they follow earlier events.
    pub(crate) fn continues(&self) -> bool {
        self.events.first().is_some_and(|first| first.seq > 1)
    }

    /// The further part of the run that they begin, if any.
    pub(crate) fn reopening(&self) -> Option<&Reopening> {
        self.events.iter().find_map(|recorded| match &recorded.event {
            Event::Reopened { reopening, .. } => Some(reopening),
            _ => None,
        })
    }

    /// The requests that they end.
    pub(crate) fn ended(&self) -> impl Iterator<Item = Attempt> {
        self.events.iter().filter_map(|recorded| ended(&recorded.event))
    }

    /// Whether they follow the event of this number without a gap.
    pub(crate) fn follows(&self, seq: u64) -> bool {
        !self.events.is_empty()
            && self.events.iter().zip(seq + 1..).all(|(recorded, next)| recorded.seq == next)
    }

    /// The number of the last event; 0 if there is none.
    pub(crate) fn last_seq(&self) -> u64 {
        self.events.last().map_or(0, |last| last.seq)
    }
}

/// The request that an event ends, also in a process that had lost the run: its partial text is no longer needed.
pub(crate) fn ended(event: &Event) -> Option<Attempt> {
    match event {
        Event::Merged { held, .. } => ended(held),
        event => event.attempt().filter(|_| event.phase() == EventPhase::Ends),
    }
}

/// The text of an event, which is stored separately.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EventText<'a> {
    pub(crate) hash: &'a str,
    /// `None` if the event was read from a store without texts.
    pub(crate) text: Option<&'a Arc<str>>,
    /// Its length in bytes, if the event says it.
    pub(crate) bytes: Option<u64>,
}

impl EventText<'_> {
    /// Whether the text is empty and need not be stored.
    pub(crate) const fn is_empty(&self) -> bool {
        matches!(self.bytes, Some(0))
    }
}

/// The text of an event, if it has one. Storing, searching, purging and omitting texts all depend on this function
/// alone.
pub(crate) fn text_of(event: &Event) -> Option<EventText<'_>> {
    if let Some(outcome) = event.outcome() {
        let hash = outcome.text_hash.as_deref()?;
        return Some(EventText { hash, text: outcome.text.as_ref(), bytes: None });
    }
    let answer = event.answer()?;
    // An answer read without its text still has the hash and the length of the original.
    let is_whole = answer.text.len() as u64 == answer.text_bytes;
    Some(EventText {
        hash: &answer.text_hash,
        text: is_whole.then_some(&answer.text),
        bytes: Some(answer.text_bytes),
    })
}
