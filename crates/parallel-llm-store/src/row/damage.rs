//! What was stored and is not what was written: it is reported to whoever reads it, and never taken for an answer.
//!
//! A damaged answer is a seat without one, so that nothing fuses, counts or exports it; the rest of its run is shown.

use std::sync::Arc;

use parallel_llm_engine::value::retry::Retry;
use parallel_llm_engine::value::warning::Warning;
use parallel_llm_engine::{Code, Event, Failure};

use super::checksum;

/// A stored text, looked for by its hash.
#[derive(Clone, Debug)]
pub(crate) enum CheckedText {
    /// It is what was written.
    Whole(Arc<str>),
    /// It was never stored.
    NotKept,
    /// It is something else, or gone.
    Damaged,
}

impl CheckedText {
    /// The text that was found under this hash. `is_kept` says whether it must be there.
    pub(crate) fn of(found: Option<Arc<str>>, hash: &str, is_kept: bool) -> Self {
        match found {
            Some(text) if checksum::is_of_hash(&text, hash) => Self::Whole(text),
            None if !is_kept => Self::NotKept,
            _ => Self::Damaged,
        }
    }
}

/// What of a run is damaged.
#[derive(Debug, Default)]
pub(crate) struct DamagedParts(Vec<String>);

impl DamagedParts {
    /// Notes a damaged part, such as ``event 7``.
    pub(crate) fn add(&mut self, what: String) {
        self.0.push(what);
    }

    /// One warning for all of it.
    pub(crate) fn warning(&self) -> Option<Warning> {
        (!self.0.is_empty())
            .then(|| Warning::of("something stored is not what was written", &failure(&self.0.join(", "))))
    }
}

/// A part of a run is damaged.
pub(crate) fn failure(what: &str) -> Failure {
    Failure::new(Code::Damaged, format!("{what} does not match its checksum in the run database"))
}

/// Puts a stored text back where it came from. An answer whose text is damaged becomes a failure of its seat, and a
/// damaged outcome has no text; the part is named.
pub(crate) fn restore_text(event: &mut Event, text: CheckedText) -> Option<String> {
    let text = match text {
        CheckedText::NotKept => return None,
        CheckedText::Whole(text) => Some(text),
        CheckedText::Damaged => None,
    };
    match event {
        Event::Decided { outcome } => {
            let is_damaged = text.is_none();
            outcome.text = text;
            is_damaged.then(|| {
                outcome.failure = Some(failure("the text of the answer"));
                "the text of the answer".to_owned()
            })
        }
        Event::Answered { .. } | Event::Cut { .. } | Event::Cancelled { .. } => {
            if let (Some(text), Some(answer)) = (&text, event.answer_mut()) {
                answer.text = Arc::clone(text);
                return None;
            }
            let attempt = event.attempt()?;
            let part = format!("the answer of {}", attempt.slot);
            *event = Event::Failed {
                attempt,
                failure: failure(&part),
                retry: Retry::Never,
                cost: event.cost(),
                elapsed_ms: event.answer()?.elapsed_ms,
            };
            Some(part)
        }
        // These carry no text: see `text_of`.
        Event::Started { .. }
        | Event::Sent { .. }
        | Event::Accepted { .. }
        | Event::Failed { .. }
        | Event::Skipped { .. }
        | Event::Reopened { .. }
        | Event::Reconciled { .. }
        | Event::Closed { .. } => None,
    }
}
