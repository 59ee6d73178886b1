//! What is known of one seat, or of one synthesizer: the part of the fold that is about it alone.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::plan::caller_slot::CallerSlot;
use crate::request::panel::{ModelRef, Seat, SeatNumber};
use crate::request::persona_prompt::PersonaPrompt;
use crate::run::event::{Attempt, Event};
use crate::value::answer::{Answer, Failure};
use crate::value::code::Code;
use crate::value::money::PicoUsd;
use crate::value::retry::Retry;

/// How a seat stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SeatStatus {
    /// Not yet sent, or sent and silent so far.
    Waiting,
    /// Thinking or writing.
    Streaming,
    /// It gave a whole answer.
    Answered,
    /// Its answer stopped before the end.
    Cut,
    /// It gave nothing.
    Failed,
    /// It declined.
    Refused,
    /// It was given up.
    Cancelled,
    /// It was never sent.
    Skipped,
    /// It was sent, and the process ended before anyone knew what came of it.
    Unknown,
}

impl SeatStatus {
    /// The word used in JSON, columns and pages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Streaming => "streaming",
            Self::Answered => "answered",
            Self::Cut => "cut",
            Self::Failed => "failed",
            Self::Refused => "refused",
            Self::Cancelled => "cancelled",
            Self::Skipped => "skipped",
            Self::Unknown => "unknown",
        }
    }

    /// Whether nothing more will happen to the seat.
    pub const fn is_final(self) -> bool {
        !matches!(self, Self::Waiting | Self::Streaming)
    }
}

/// What is known of one seat, or of one synthesizer.
#[derive(Clone, Debug, PartialEq)]
pub struct SeatView {
    /// Which place.
    pub slot: CallerSlot,
    /// Which model.
    pub model: ModelRef,
    /// Its persona and stance, if it has any.
    pub persona_prompt: Option<Arc<PersonaPrompt>>,
    /// How it stands.
    pub status: SeatStatus,
    /// Whether its answer came too late to be considered for the run's.
    pub late: bool,
    /// What it gave: whole, cut, or so far when it was cancelled.
    pub answer: Option<Answer>,
    /// Why there is no answer, or why it stopped early; while a retry waits, why it is tried again.
    pub failure: Option<Failure>,
    /// When the next try leaves, in milliseconds from the start of the run.
    pub retry_at_ms: Option<u64>,
    /// Requests sent.
    pub attempts: u32,
    /// Fields of the request that the provider rejected and that were left out of the next.
    pub without: Vec<String>,
    /// The provider's name for the newest request.
    pub generation_id: Option<String>,
    /// The cost of all its requests as far as known.
    pub cost: Option<PicoUsd>,
    /// Whether a part of the cost is unknown or computed from prices.
    pub cost_is_estimate: bool,
    /// When its first request left, in milliseconds from the start of the run.
    pub sent_ms: Option<u64>,
    /// From there to its end, in milliseconds.
    pub elapsed_ms: Option<u64>,
    /// The text so far, while it is on its way. Shown, never the truth.
    pub partial: String,
    /// Of a text that was begun early: whose answers were there then.
    pub(crate) reads: Vec<SeatNumber>,
    /// Whether an outcome has been settled since it gave what it gave.
    pub(crate) is_reported: bool,
    /// What its requests had cost when the newest outcome was settled, and of how many nobody knew.
    reported: Spending,
    /// Its status before it was asked again, until that request leaves.
    earlier_status: Option<SeatStatus>,
    /// Whether a request has left and nothing was heard of its end.
    under_way: bool,
    /// Requests that are over and of which nobody knows what they cost.
    pub(super) unpriced: u32,
    /// Whether the cost of its newest request is not known.
    newest_unpriced: bool,
    /// Whether those asked before it were enough.
    is_unneeded: bool,
}

/// What requests have cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Spending {
    /// As far as known.
    cost: PicoUsd,
    /// Requests that are over and of which nobody knows it.
    unpriced: u32,
}

impl SeatView {
    pub(super) fn new(slot: CallerSlot, model: ModelRef) -> Self {
        Self {
            slot,
            model,
            persona_prompt: None,
            status: SeatStatus::Waiting,
            late: false,
            answer: None,
            failure: None,
            retry_at_ms: None,
            attempts: 0,
            without: Vec::new(),
            generation_id: None,
            cost: None,
            cost_is_estimate: false,
            sent_ms: None,
            elapsed_ms: None,
            partial: String::new(),
            reads: Vec::new(),
            is_reported: false,
            reported: Spending::default(),
            earlier_status: None,
            under_way: false,
            unpriced: 0,
            newest_unpriced: false,
            is_unneeded: false,
        }
    }

    pub(super) fn of_seat(seat: &Seat) -> Self {
        Self {
            persona_prompt: seat.persona_prompt.clone(),
            ..Self::new(CallerSlot::Seat(seat.number), seat.model.clone())
        }
    }

    /// Its model, and in brackets who it is asked to be.
    pub fn who(&self) -> String {
        match &self.persona_prompt {
            Some(persona_prompt) => format!("{} ({persona_prompt})", self.model),
            None => self.model.to_string(),
        }
    }

    /// What all its requests cost as far as known; `None` where nothing is, which is not the same as nothing.
    pub fn known_cost(&self) -> Option<PicoUsd> {
        self.cost?.unless_unknown(self.cost_is_estimate)
    }

    /// Whether a request is missing in what is known of its cost: one under way, or one that is over and of which nobody
    /// knows what it cost.
    pub const fn cost_lacks_calls(&self) -> bool {
        self.under_way || self.unpriced > 0
    }

    /// What its requests have cost since the newest outcome was settled; `None` where that is not known of one.
    pub(crate) fn unreported_cost(&self) -> Option<PicoUsd> {
        let is_known = !self.under_way && self.unpriced <= self.reported.unpriced;
        is_known.then(|| self.cost.unwrap_or_default().minus(self.reported.cost))
    }

    /// An outcome is settled: it reports what the seat has given and what that has cost.
    pub(super) fn report(&mut self) {
        self.is_reported = true;
        self.reported = Spending { cost: self.cost.unwrap_or_default(), unpriced: self.unpriced };
    }

    /// Whether it was not asked because those asked before it were enough.
    pub const fn is_unneeded(&self) -> bool {
        self.is_unneeded
    }

    /// It is not asked: those asked before it were enough.
    pub(super) fn skip(&mut self) {
        self.status = SeatStatus::Skipped;
        self.is_unneeded = true;
        self.failure = Some(Failure::new(Code::Unneeded, "those asked before it were enough"));
    }

    /// Whether a request has left and nothing was heard of its end.
    pub(super) const fn is_under_way(&self) -> bool {
        self.under_way
    }

    /// The text there is: the answer's, else what had come so far.
    pub fn text(&self) -> Option<&str> {
        let so_far = Some(self.partial.as_str()).filter(|text| !text.is_empty());
        self.answer.as_ref().map(|answer| &*answer.text).filter(|text| !text.is_empty()).or(so_far)
    }

    /// Whether the seat is not to be asked (again): it has a text, or it was sent and may have been paid, or it was not
    /// needed.
    pub const fn is_settled(&self) -> bool {
        matches!(self.status, SeatStatus::Answered | SeatStatus::Cut | SeatStatus::Unknown)
            || self.is_unneeded
    }

    /// Whether it has given an answer that can be used.
    pub(super) fn has_given(&self) -> bool {
        let is_whole = self.status == SeatStatus::Answered;
        let is_over = is_whole || self.status == SeatStatus::Cut;
        is_over && self.answer.as_ref().is_some_and(|answer| answer.is_usable(is_whole))
    }

    /// The request of unknown cost, and its provider's name for it, where it can be looked up.
    pub fn unheard_of(&self) -> Option<(Attempt, &str)> {
        let attempt = Attempt { slot: self.slot, number: self.attempts };
        let is_over = self.earlier_status.unwrap_or(self.status).is_final();
        self.generation_id.as_deref().filter(|_| is_over && self.newest_unpriced).map(|id| (attempt, id))
    }

    /// The run goes on: the seat is asked (again) now, or left as it is. A whole answer is never asked for again.
    pub(super) fn reopen(&mut self, is_asked: bool) {
        self.retry_at_ms = None;
        if is_asked && self.status != SeatStatus::Answered {
            self.earlier_status = self.status.is_final().then_some(self.status);
            self.status = SeatStatus::Waiting;
            self.late = false;
            self.is_unneeded = false;
        } else if !self.status.is_final() && self.attempts > 0 {
            // It was to be sent again; why it was is told already.
            self.status = SeatStatus::Failed;
        } else if !self.status.is_final() {
            self.status = SeatStatus::Skipped;
            self.failure =
                Some(Failure::new(Code::Interrupted, "the run was interrupted before it was asked"));
        }
    }

    fn add_cost(&mut self, cost: Option<PicoUsd>, is_estimate: bool) {
        match cost {
            Some(cost) => self.cost = Some(self.cost.unwrap_or_default().plus(cost)),
            None => self.cost_is_estimate = true,
        }
        self.cost_is_estimate |= is_estimate;
    }

    /// Its request is over, where one was under way. Says whether one was.
    fn hear_end(&mut self, cost: Option<PicoUsd>) -> bool {
        self.earlier_status = None;
        let was_under_way = std::mem::take(&mut self.under_way);
        if was_under_way {
            self.newest_unpriced = cost.is_none();
            self.unpriced += u32::from(cost.is_none());
        }
        was_under_way
    }

    fn end(&mut self, status: SeatStatus, at_ms: u64) {
        self.hear_end(None);
        self.status = status;
        self.retry_at_ms = None;
        self.elapsed_ms = self.sent_ms.map(|sent| at_ms.saturating_sub(sent));
    }

    fn give(&mut self, answer: &Answer, status: SeatStatus, at_ms: u64) {
        self.hear_end(answer.cost);
        self.add_cost(answer.cost, answer.cost_is_estimate);
        self.generation_id = answer.generation_id.clone().or_else(|| self.generation_id.take());
        // Half a text does not take the place of a longer one that was paid for before.
        let is_longer = |old: &Answer| status != SeatStatus::Answered && old.text_bytes > answer.text_bytes;
        if !self.answer.as_ref().is_some_and(is_longer) {
            self.answer = Some(answer.clone());
        }
        self.is_reported = false;
        self.failure = None;
        self.partial = String::new();
        self.end(status, at_ms);
    }

    /// Nobody will hear of its request any more, where one was under way: a call that waits to be sent (again) has
    /// none.
    pub(super) fn lose_track(&mut self) {
        if let Some(status) = self.earlier_status.take() {
            self.status = status;
        } else if self.hear_end(None) {
            self.status = SeatStatus::Unknown;
            self.cost_is_estimate = true;
            let message = "the process that did the run ended before this was known";
            self.failure = Some(Failure::new(Code::Interrupted, message));
        }
    }

    pub(super) fn apply(&mut self, attempt: Attempt, event: &Event, at_ms: u64) {
        if event.lets_bytes_leave() && !self.status.is_final() {
            // Sent again although nothing was heard of the request before: another process took over.
            self.lose_track();
        }
        if let Some(earlier) = self.earlier_status
            && event.is_without_text()
            && matches!(earlier, SeatStatus::Unknown | SeatStatus::Cancelled)
        {
            // It was to be asked again and was not: what may have been paid before is as unknown as it was.
            return self.lose_track();
        }
        self.attempts = self.attempts.max(attempt.number);
        match event {
            Event::Sent { .. } => {
                self.sent_ms.get_or_insert(at_ms);
                self.retry_at_ms = None;
                (self.earlier_status, self.under_way, self.newest_unpriced) = (None, true, true);
                // The name of the request before is not its own.
                self.generation_id = None;
                self.status = SeatStatus::Waiting;
            }
            Event::Accepted { generation_id, .. } => self.generation_id = Some(generation_id.clone()),
            Event::Answered { answer, .. } => self.give(answer, SeatStatus::Answered, at_ms),
            Event::Cut { answer, failure, .. } => {
                self.give(answer, SeatStatus::Cut, at_ms);
                self.failure = Some(failure.clone());
            }
            Event::Cancelled { answer, cost, .. } => {
                if let Some(answer) = answer {
                    self.give(answer, SeatStatus::Cancelled, at_ms);
                } else {
                    self.hear_end(*cost);
                    self.cost = cost.map(|cost| cost.plus(self.cost.unwrap_or_default())).or(self.cost);
                    self.end(SeatStatus::Cancelled, at_ms);
                }
                self.cost_is_estimate |= self.unpriced > 0;
                self.failure = Some(Failure::new(Code::Cancelled, "given up before it had answered"));
            }
            Event::Failed { failure, retry, cost, .. } => {
                self.hear_end(*cost);
                self.add_cost(*cost, false);
                self.failure = Some(failure.clone());
                self.partial = String::new();
                match retry {
                    Retry::Never => self.end(failed_status(failure, attempt), at_ms),
                    Retry::After { ms } => self.retry_at_ms = Some(at_ms + ms),
                    Retry::Without { field } => {
                        self.without.push(field.clone());
                        self.retry_at_ms = Some(at_ms);
                    }
                }
                if *retry != Retry::Never {
                    self.status = SeatStatus::Waiting;
                }
            }
            Event::Reconciled { cost, .. } => {
                // With one request the cost is known now; with several, those before may still be unknown.
                self.cost_is_estimate &= self.attempts > 1;
                self.unpriced = self.unpriced.saturating_sub(1);
                self.newest_unpriced &= attempt.number != self.attempts;
                self.add_cost(Some(*cost), false);
            }
            Event::Started { .. }
            | Event::Skipped { .. }
            | Event::Reopened { .. }
            | Event::Decided { .. }
            | Event::Closed { .. } => {}
        }
    }
}

fn failed_status(failure: &Failure, attempt: Attempt) -> SeatStatus {
    match failure.code {
        Code::Refused | Code::Moderated => SeatStatus::Refused,
        _ if attempt.number == 0 => SeatStatus::Skipped,
        _ => SeatStatus::Failed,
    }
}
