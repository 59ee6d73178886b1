//! What the fold makes of events that a process held when it had lost the run to another one.
//!
//! They come after those of the process that went on. Invariant: an answer or outcome that was shown stays what it was; what
//! is merged joins it as a late answer, or as an earlier outcome.

use crate::run::Run;
use crate::run::event::Event;
use crate::run::outcome::{Outcome, OutcomeKind};
use crate::value::answer::Failure;
use crate::value::code::Code;
use crate::value::next::Operation;
use crate::value::warning::Warning;

impl Run {
    /// Applies an event of a process that had lost the run.
    pub(super) fn merge(&mut self, held: &Event, at_ms: u64) {
        let is_decided = self.is_decided();
        if let Event::Decided { outcome } = held {
            return self.merge_outcome(outcome, at_ms);
        }
        let Some(attempt) = held.attempt() else { return };
        if let Some(view) = self.view_mut(attempt.slot) {
            let was_usable = view.has_usable_answer();
            view.merge(attempt, held, at_ms);
            view.late |= is_decided && !was_usable && view.has_usable_answer();
        }
        if is_decided {
            self.status = self.final_status();
        }
    }

    /// A text that another process gave stands where there was none. Otherwise it is kept beside the current one: both were
    /// shown to somebody.
    fn merge_outcome(&mut self, outcome: &Outcome, at_ms: u64) {
        let has_text = self.outcome.as_ref().is_some_and(|current| current.kind != OutcomeKind::None);
        if !self.is_decided() || !has_text {
            return self.settle(outcome, at_ms);
        }
        let Some(current) = &mut self.outcome else { return };
        if outcome.kind == OutcomeKind::None || current.text_hash == outcome.text_hash {
            return;
        }
        let message = "another server also gave an answer, when it could not reach the run database";
        let failure = Failure::new(Code::Interrupted, message).with_next(Operation::ShowRun);
        current.warnings.push(Warning::of(
            "the run has two answers, and the other one is kept as an earlier one",
            &failure,
        ));
        self.earlier.push(outcome.clone());
    }
}
