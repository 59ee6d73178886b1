//! The events of one append, written out by whoever appends them, so that the writer only writes; and what the store has to
//! know of each kind of event.
//!
//! The compiler asks about a new kind of event here twice, which text it carries and what it does to its run; in `damage.rs`,
//! where its text goes back; and in `ledger.rs`, what it means for money. Nothing else in the store distinguishes kinds.

use std::collections::BTreeMap;
use std::sync::Arc;

use parallel_llm_engine::run::event::Attempt;
use parallel_llm_engine::{Event, Recorded, Reopening};

use super::compressed::TextBody;

/// The events of one append.
#[derive(Debug)]
pub(crate) struct EventBatch {
    pub(crate) events: Vec<Recorded>,
    /// The JSON of each event.
    pub(crate) bodies: Vec<String>,
    /// The texts they carry, by their hash; none where the run keeps none.
    pub(crate) texts: BTreeMap<String, TextBody>,
}

impl EventBatch {
    /// `keeps_texts` says whether their texts are going to be stored: only those are compressed.
    pub(crate) fn of(events: Vec<Recorded>, keeps_texts: bool) -> Self {
        let body = |recorded: &Recorded| serde_json::to_string(&recorded.event);
        let bodies =
            events.iter().map(|recorded| body(recorded).expect("an event is plain data with string keys"));
        let carried = events.iter().filter(|_| keeps_texts).filter_map(|recorded| text_of(&recorded.event));
        let texts = carried.filter_map(|text| Some((text.hash.to_owned(), TextBody::of(text.text?))));
        Self { bodies: bodies.collect(), texts: texts.collect(), events }
    }

    /// Whether the run's answer is settled by these.
    pub(crate) fn decides(&self) -> bool {
        self.changes().any(|change| matches!(change, RunEffect::Decides))
    }

    /// Whether the run is closed by these.
    pub(crate) fn closes(&self) -> bool {
        self.changes().any(|change| matches!(change, RunEffect::Closes))
    }

    /// Whether these follow others.
    pub(crate) fn continues(&self) -> bool {
        self.events.first().is_some_and(|first| first.seq > 1)
    }

    /// The further part of the run that begins with these, if one does.
    pub(crate) fn reopening(&self) -> Option<&Reopening> {
        self.changes().find_map(|change| match change {
            RunEffect::Reopens(reopening) => Some(reopening),
            _ => None,
        })
    }

    /// The requests that these end.
    pub(crate) fn ended(&self) -> impl Iterator<Item = Attempt> {
        self.changes().filter_map(|change| match change {
            RunEffect::Ends(attempt) => Some(attempt),
            _ => None,
        })
    }

    /// Whether these follow the event of this number without a gap.
    pub(crate) fn follows(&self, seq: u64) -> bool {
        !self.events.is_empty()
            && self.events.iter().zip(seq + 1..).all(|(recorded, next)| recorded.seq == next)
    }

    /// The number of the last event; 0 where there is none.
    pub(crate) fn last_seq(&self) -> u64 {
        self.events.last().map_or(0, |last| last.seq)
    }

    fn changes(&self) -> impl Iterator<Item = RunEffect<'_>> {
        self.events.iter().map(|recorded| RunEffect::of(&recorded.event))
    }
}

/// What an event does to its run, as far as its row and what lies beside it are concerned.
#[derive(Debug)]
pub(crate) enum RunEffect<'a> {
    /// It is one more event.
    None,
    /// It is the last one of the request it is about: a text on its way is no longer needed.
    Ends(Attempt),
    /// It begins a further part of the run.
    Reopens(&'a Reopening),
    /// The answer is settled.
    Decides,
    /// Nothing more is to come.
    Closes,
}

impl<'a> RunEffect<'a> {
    pub(crate) fn of(event: &'a Event) -> Self {
        match event {
            Event::Answered { attempt, .. }
            | Event::Cut { attempt, .. }
            | Event::Failed { attempt, .. }
            | Event::Cancelled { attempt, .. } => Self::Ends(*attempt),
            Event::Reopened { reopening, .. } => Self::Reopens(reopening),
            Event::Decided { .. } => Self::Decides,
            Event::Closed { .. } => Self::Closes,
            Event::Started { .. }
            | Event::Sent { .. }
            | Event::Accepted { .. }
            | Event::Skipped { .. }
            | Event::Reconciled { .. } => Self::None,
        }
    }
}

/// The text an event is about, which is stored apart from it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EventText<'a> {
    pub(crate) hash: &'a str,
    /// `None` where the event was read from a store that kept no texts.
    pub(crate) text: Option<&'a Arc<str>>,
    /// An empty text says nothing, and need not be stored.
    pub(crate) is_empty: bool,
}

/// The text an event is about, where it is about one. What carries a text is stored, searched, purged and left out of runs
/// without texts by this alone.
pub(crate) fn text_of(event: &Event) -> Option<EventText<'_>> {
    let answer = match event {
        Event::Decided { outcome } => {
            let hash = outcome.text_hash.as_deref()?;
            return Some(EventText { hash, text: outcome.text.as_ref(), is_empty: false });
        }
        Event::Answered { answer, .. } | Event::Cut { answer, .. } => answer,
        Event::Cancelled { answer, .. } => answer.as_ref()?,
        Event::Started { .. }
        | Event::Sent { .. }
        | Event::Accepted { .. }
        | Event::Failed { .. }
        | Event::Skipped { .. }
        | Event::Reopened { .. }
        | Event::Reconciled { .. }
        | Event::Closed { .. } => return None,
    };
    // An answer read from a store that kept no texts has a hash, and a text that is not the one it names.
    let is_whole = answer.text.len() as u64 == answer.text_bytes;
    Some(EventText {
        hash: &answer.text_hash,
        text: is_whole.then_some(&answer.text),
        is_empty: answer.text_bytes == 0,
    })
}
