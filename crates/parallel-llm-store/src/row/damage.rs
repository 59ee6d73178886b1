//! Handles damaged data: reports it and never uses it as an answer.
//!
//! A damaged answer leaves its seat without one, so that nothing fuses, counts or exports it; the rest of its run is
//! shown.

use std::sync::Arc;

use parallel_llm_engine::value::retry::Retry;
use parallel_llm_engine::value::warning::Warning;
use parallel_llm_engine::{Code, Event, Failure};

use super::checksum;

/// A stored text, looked up by its hash.
#[derive(Clone, Debug)]
pub(crate) enum CheckedText {
    /// The text matches its hash.
    Whole(Arc<str>),
    /// The text was never stored.
    NotKept,
    /// The text is missing or does not match its hash.
    Damaged,
}

impl CheckedText {
    /// Verifies a text found under this hash. `is_kept`: a missing text counts as damage.
    pub(crate) fn of(found: Option<Arc<str>>, hash: &str, is_kept: bool) -> Self {
        match found {
            Some(text) if checksum::is_of_hash(&text, hash) => Self::Whole(text),
            None if !is_kept => Self::NotKept,
            _ => Self::Damaged,
        }
    }
}

/// The damaged parts of a run.
#[derive(Debug, Default)]
pub(crate) struct DamagedParts(Vec<String>);

impl DamagedParts {
    /// Adds a damaged part, such as ``event 7``.
    pub(crate) fn add(&mut self, what: String) {
        self.0.push(what);
    }

    /// One warning for all parts.
    pub(crate) fn warning(&self) -> Option<Warning> {
        (!self.0.is_empty())
            .then(|| Warning::of("something stored is not what was written", &failure(&self.0.join(", "))))
    }
}

/// The failure for a damaged part.
pub(crate) fn failure(what: &str) -> Failure {
    Failure::new(Code::Damaged, format!("{what} does not match its checksum in the run database"))
}

/// Puts a stored text back into its event. An answer with a damaged text becomes a failure of its seat, and an outcome
/// loses its text; returns the name of the damaged part.
pub(crate) fn restore_text(event: &mut Event, text: CheckedText) -> Option<String> {
    if let Event::Merged { held, .. } = event {
        return restore_text(held, text);
    }
    let text = match text {
        CheckedText::NotKept => return None,
        CheckedText::Whole(text) => Some(text),
        CheckedText::Damaged => None,
    };
    let stage = if let Event::StageDecided { stage, .. } = event { Some(*stage) } else { None };
    if let Some(outcome) = event.outcome_mut() {
        outcome.text = text;
        if outcome.text.is_some() {
            return None;
        }
        // A stage without its text counts as undecided: the text is made again of what was paid for.
        if let Some(stage) = stage {
            return Some(format!("the text of stage {stage}"));
        }
        outcome.failure = Some(failure("the text of the answer"));
        return Some("the text of the answer".to_owned());
    }
    let answer = event.answer_mut()?;
    if let Some(text) = text {
        answer.text = text;
        return None;
    }
    let elapsed_ms = answer.elapsed_ms;
    let attempt = event.attempt()?;
    let part = format!("the answer of {}", attempt.slot);
    let cost = event.cost();
    *event = Event::Failed { attempt, failure: failure(&part), retry: Retry::Never, cost, elapsed_ms };
    Some(part)
}
