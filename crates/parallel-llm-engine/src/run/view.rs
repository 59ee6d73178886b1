//! The view of one caller slot: the part of the fold about one seat, synthesizer or step.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::plan::caller_slot::CallerSlot;
use crate::request::panel::{ModelRef, Seat, SeatNumber};
use crate::request::persona_prompt::PersonaPrompt;
use crate::run::event::{Attempt, Event, EventPhase};
use crate::value::answer::{Answer, Failure};
use crate::value::code::Code;
use crate::value::money::PicoUsd;
use crate::value::next::Operation;
use crate::value::retry::Retry;

/// The status of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SeatStatus {
    /// Not sent yet, or sent without output so far.
    Waiting,
    /// Reasoning or writing.
    Streaming,
    /// It gave a whole answer.
    Answered,
    /// Its answer broke off before the end.
    Cut,
    /// It failed.
    Failed,
    /// The model or a filter declined.
    Refused,
    /// It was cancelled.
    Cancelled,
    /// It was never sent.
    Skipped,
    /// It was sent, and the process ended before the reply was known.
    Unknown,
}

impl SeatStatus {
    /// Its name in JSON, columns and pages.
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

    /// Whether the call has ended.
    pub const fn is_final(self) -> bool {
        !matches!(self, Self::Waiting | Self::Streaming)
    }
}

/// The view of one seat, synthesizer or step.
#[derive(Clone, Debug, PartialEq)]
pub struct SeatView {
    /// The slot.
    pub slot: CallerSlot,
    /// The model.
    pub model: ModelRef,
    /// Its persona and stance, if it has any.
    pub persona_prompt: Option<Arc<PersonaPrompt>>,
    /// The status.
    pub status: SeatStatus,
    /// Whether its answer came too late for the outcome.
    pub late: bool,
    /// Its answer: whole, cut, or the text so far when it was cancelled.
    pub answer: Option<Answer>,
    /// Why there is no whole answer; while a retry waits, the reason for it.
    pub failure: Option<Failure>,
    /// When the next try is due, in milliseconds from the start of the run.
    pub retry_at_ms: Option<u64>,
    /// Requests sent.
    pub attempts: u32,
    /// Request fields that are left out, because the provider rejected them.
    pub without: Vec<String>,
    /// The provider's id of the newest request.
    pub generation_id: Option<String>,
    /// The known cost of all its requests.
    pub cost: Option<PicoUsd>,
    /// Whether a part of the cost is unknown or computed from prices.
    pub cost_is_estimate: bool,
    /// When its first request was sent, in milliseconds from the start of the run.
    pub sent_ms: Option<u64>,
    /// From then to its end, in milliseconds.
    pub elapsed_ms: Option<u64>,
    /// The streaming text so far, for display only.
    pub partial: String,
    /// For an early draft and an equivalence: the seats whose answers it reads.
    pub(crate) reads: Vec<SeatNumber>,
    /// Whether an outcome was decided after its newest answer.
    pub(crate) is_reported: bool,
    /// What its requests had cost when the newest outcome was decided.
    reported: Spending,
    /// Its status before it was asked again, until that request leaves.
    earlier_status: Option<SeatStatus>,
    /// Whether a request was sent whose end is not known.
    under_way: bool,
    /// Requests that have ended with an unknown cost.
    pub(super) unpriced: u32,
    /// The most one of its requests can cost, if that is more than the plan says.
    pub(super) worst_case: Option<PicoUsd>,
    /// Whether the cost of its newest request is unknown.
    newest_unpriced: bool,
    /// Requests whose cost was looked up.
    reconciled: Vec<u32>,
    /// Whether it was skipped, because the others were enough.
    is_unneeded: bool,
}

/// The cost of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Spending {
    /// The known cost.
    cost: PicoUsd,
    /// Requests that have ended with an unknown cost.
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
            worst_case: None,
            newest_unpriced: false,
            reconciled: Vec::new(),
            is_unneeded: false,
        }
    }

    pub(super) fn of_seat(seat: &Seat) -> Self {
        Self {
            persona_prompt: seat.persona_prompt.clone(),
            ..Self::new(CallerSlot::Seat(seat.number), seat.model.clone())
        }
    }

    /// Its model, with its persona in brackets.
    pub fn who(&self) -> String {
        match &self.persona_prompt {
            Some(persona_prompt) => format!("{} ({persona_prompt})", self.model),
            None => self.model.to_string(),
        }
    }

    /// The known cost of all its requests; `None` if nothing is known, which is not the same as zero.
    pub fn known_cost(&self) -> Option<PicoUsd> {
        self.cost?.unless_unknown(self.cost_is_estimate)
    }

    /// Whether the known cost lacks a request: one under way, or one that ended with an unknown cost.
    pub const fn cost_lacks_calls(&self) -> bool {
        self.under_way || self.unpriced > 0
    }

    /// The cost of its requests since the newest outcome; `None` if that of one is unknown.
    pub(crate) fn unreported_cost(&self) -> Option<PicoUsd> {
        let is_known = !self.under_way && self.unpriced <= self.reported.unpriced;
        is_known.then(|| self.cost.unwrap_or_default().minus(self.reported.cost))
    }

    /// Notes that an outcome is decided, which reports this answer and its cost.
    pub(super) fn report(&mut self) {
        self.is_reported = true;
        self.reported = Spending { cost: self.cost.unwrap_or_default(), unpriced: self.unpriced };
    }

    /// Whether it was skipped, because the others were enough.
    pub const fn is_unneeded(&self) -> bool {
        self.is_unneeded
    }

    /// Marks it as skipped, because the others were enough.
    pub(super) fn skip(&mut self) {
        self.status = SeatStatus::Skipped;
        self.is_unneeded = true;
        self.failure = Some(Failure::new(Code::Unneeded, "those asked before it were enough"));
    }

    /// Whether a request was sent whose end is not known.
    pub(super) const fn is_under_way(&self) -> bool {
        self.under_way
    }

    /// The text of the answer, else the streaming text so far.
    pub fn text(&self) -> Option<&str> {
        let so_far = Some(self.partial.as_str()).filter(|text| !text.is_empty());
        self.answer.as_ref().map(|answer| &*answer.text).filter(|text| !text.is_empty()).or(so_far)
    }

    /// Whether the seat must not be asked (again): it has a text, it may have been paid for, or it was not needed.
    pub const fn is_settled(&self) -> bool {
        matches!(self.status, SeatStatus::Answered | SeatStatus::Cut | SeatStatus::Unknown)
            || self.is_unneeded
    }

    /// Whether it has a usable answer.
    pub(super) fn has_usable_answer(&self) -> bool {
        let is_whole = self.status == SeatStatus::Answered;
        let is_over = is_whole || self.status == SeatStatus::Cut;
        is_over && self.answer.as_ref().is_some_and(|answer| answer.is_usable(is_whole))
    }

    /// The request whose cost is unknown and can be looked up, with its provider's id.
    pub fn unreconciled_request(&self) -> Option<(Attempt, &str)> {
        let attempt = Attempt { slot: self.slot, number: self.attempts };
        let is_over = self.earlier_status.unwrap_or(self.status).is_final();
        self.generation_id.as_deref().filter(|_| is_over && self.newest_unpriced).map(|id| (attempt, id))
    }

    /// Applies a reopening: the seat is asked (again) or left as it is. A seat with a whole answer is never asked again.
    pub(super) fn reopen(&mut self, is_asked: bool) {
        self.retry_at_ms = None;
        if is_asked && self.status != SeatStatus::Answered {
            self.earlier_status = self.status.is_final().then_some(self.status);
            self.status = SeatStatus::Waiting;
            self.late = false;
            self.is_unneeded = false;
        } else if !self.status.is_final() && self.attempts > 0 {
            // It was waiting for a retry; `failure` holds the reason already.
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

    /// Ends the request under way. Returns whether there was one.
    fn end_request(&mut self, cost: Option<PicoUsd>) -> bool {
        self.earlier_status = None;
        let was_under_way = std::mem::take(&mut self.under_way);
        if was_under_way {
            self.newest_unpriced = cost.is_none();
            self.unpriced += u32::from(cost.is_none());
        }
        was_under_way
    }

    fn end(&mut self, status: SeatStatus, at_ms: u64) {
        self.end_request(None);
        self.status = status;
        self.retry_at_ms = None;
        self.elapsed_ms = self.sent_ms.map(|sent| at_ms.saturating_sub(sent));
    }

    fn set_answer(&mut self, answer: &Answer, status: SeatStatus, at_ms: u64) {
        self.end_request(answer.cost);
        self.add_cost(answer.cost, answer.cost_is_estimate);
        self.generation_id = answer.generation_id.clone().or_else(|| self.generation_id.take());
        // A cut text does not replace a longer one that was paid for earlier.
        let is_longer = |old: &Answer| status != SeatStatus::Answered && old.text_bytes > answer.text_bytes;
        if !self.answer.as_ref().is_some_and(is_longer) {
            self.answer = Some(answer.clone());
        }
        self.is_reported = false;
        self.failure = None;
        self.partial = String::new();
        self.end(status, at_ms);
    }

    /// Gives up on the request under way: its end will never be known. A call that waits to be sent (again) has none.
    pub(super) fn lose_track(&mut self) {
        if let Some(status) = self.earlier_status.take() {
            self.status = status;
        } else if self.end_request(None) {
            self.status = SeatStatus::Unknown;
            self.cost_is_estimate = true;
            self.failure = Some(self.lost_track());
        }
    }

    pub(super) fn apply(&mut self, attempt: Attempt, event: &Event, at_ms: u64) {
        if event.phase() == EventPhase::Leaves && !self.status.is_final() {
            // Sent again although the end of the last request is unknown: another process took over.
            self.lose_track();
        }
        if let Some(earlier) = self.earlier_status
            && event.is_without_text()
            && matches!(earlier, SeatStatus::Unknown | SeatStatus::Cancelled)
        {
            // It was to be asked again and was not: the earlier request stays as unknown as it was.
            return self.lose_track();
        }
        self.attempts = self.attempts.max(attempt.number);
        match event {
            Event::Sent { worst_case, .. } => {
                self.worst_case = self.worst_case.max(*worst_case);
                self.sent_ms.get_or_insert(at_ms);
                self.retry_at_ms = None;
                (self.earlier_status, self.under_way, self.newest_unpriced) = (None, true, true);
                // The id belongs to the request before.
                self.generation_id = None;
                self.status = SeatStatus::Waiting;
            }
            Event::Accepted { generation_id, .. } => self.generation_id = Some(generation_id.clone()),
            Event::Answered { answer, .. } => self.set_answer(answer, SeatStatus::Answered, at_ms),
            Event::Cut { answer, failure, .. } => {
                self.set_answer(answer, SeatStatus::Cut, at_ms);
                self.failure = Some(failure.clone());
            }
            Event::Cancelled { answer, cost, .. } => {
                if let Some(answer) = answer {
                    self.set_answer(answer, SeatStatus::Cancelled, at_ms);
                } else {
                    self.end_request(*cost);
                    self.cost = cost.map(|cost| cost.plus(self.cost.unwrap_or_default())).or(self.cost);
                    self.end(SeatStatus::Cancelled, at_ms);
                }
                self.cost_is_estimate |= self.unpriced > 0;
                self.failure = Some(given_up());
            }
            Event::Failed { failure, retry, cost, .. } => {
                self.end_request(*cost);
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
                self.reconciled.push(attempt.number);
                // With one request the cost is now known; with several, an earlier one may still be unknown.
                self.cost_is_estimate &= self.attempts > 1;
                self.unpriced = self.unpriced.saturating_sub(1);
                self.newest_unpriced &= attempt.number != self.attempts;
                self.add_cost(Some(*cost), false);
            }
            Event::Started { .. }
            | Event::Skipped { .. }
            | Event::Reopened { .. }
            | Event::StageDecided { .. }
            | Event::Decided { .. }
            | Event::Closed { .. }
            | Event::Merged { .. } => {}
        }
    }

    /// Applies what a process held that had lost the run. It never replaces a whole answer: an outcome may have been made of
    /// that one.
    pub(super) fn merge(&mut self, attempt: Attempt, held: &Event, at_ms: u64) {
        if self.under_way && attempt.number == self.attempts {
            // Nobody has asked again meanwhile.
            return self.apply(attempt, held, at_ms);
        }
        let is_newest = attempt.number >= self.attempts;
        self.attempts = self.attempts.max(attempt.number);
        if held.phase() == EventPhase::Leaves {
            if let Event::Sent { worst_case, .. } = held {
                self.worst_case = self.worst_case.max(*worst_case);
            }
            self.sent_ms.get_or_insert(at_ms);
            self.unpriced += 1;
            self.newest_unpriced |= is_newest;
            self.cost_is_estimate = true;
            if self.answer.is_none() {
                self.status = SeatStatus::Unknown;
                self.failure = Some(self.lost_track());
            }
            return;
        }
        if let Event::Accepted { generation_id, .. } = held {
            self.generation_id =
                Some(generation_id.clone()).filter(|_| is_newest).or(self.generation_id.take());
            return;
        }
        // A cost that was looked up is not added again by the end that tells it.
        let is_counted = self.reconciled.contains(&attempt.number);
        if matches!(held, Event::Reconciled { .. }) && !is_counted {
            self.reconciled.push(attempt.number);
        }
        if held.cost().is_some() && !is_counted {
            self.cost_is_estimate &= self.attempts > 1;
            self.unpriced = self.unpriced.saturating_sub(1);
            self.newest_unpriced &= !is_newest;
            let is_estimate = held.answer().is_some_and(|answer| answer.cost_is_estimate);
            self.add_cost(held.cost(), is_estimate);
        }
        self.merge_end(attempt, held);
    }

    /// Shows the end of a request that had been unknown, unless a request since then brought a whole answer.
    fn merge_end(&mut self, attempt: Attempt, held: &Event) {
        let has_whole = self.status == SeatStatus::Answered;
        let status = match held {
            Event::Answered { .. } => SeatStatus::Answered,
            Event::Cut { .. } => SeatStatus::Cut,
            Event::Cancelled { .. } => SeatStatus::Cancelled,
            Event::Failed { failure, .. } => failed_status(failure, attempt),
            _ => return,
        };
        let brings_text = held.answer().is_some_and(|answer| answer.text_bytes > 0);
        if has_whole || (!brings_text && self.status != SeatStatus::Unknown) {
            return;
        }
        self.status = status;
        self.failure = match held {
            Event::Cut { failure, .. } | Event::Failed { failure, .. } => Some(failure.clone()),
            Event::Cancelled { .. } => Some(given_up()),
            _ => None,
        };
        if let Some(answer) = held.answer() {
            self.generation_id = answer.generation_id.clone().or_else(|| self.generation_id.take());
            self.elapsed_ms = Some(answer.elapsed_ms);
            let is_longer =
                |old: &Answer| status != SeatStatus::Answered && old.text_bytes > answer.text_bytes;
            if !self.answer.as_ref().is_some_and(is_longer) {
                self.answer = Some(answer.clone());
            }
            self.is_reported = false;
            self.partial = String::new();
        }
    }

    /// The failure of a request whose end nobody knows.
    fn lost_track(&self) -> Failure {
        let failure =
            Failure::new(Code::Interrupted, "the process that did the run ended before this was known");
        // Resuming the run leaves a seat alone that may have been paid; other calls it makes again.
        let is_seat = matches!(self.slot, CallerSlot::Seat(_));
        if is_seat { failure.with_next(Operation::Resend) } else { failure }
    }
}

fn given_up() -> Failure {
    Failure::new(Code::Cancelled, "given up before an answer came")
}

fn failed_status(failure: &Failure, attempt: Attempt) -> SeatStatus {
    match failure.code {
        Code::Refused | Code::Moderated => SeatStatus::Refused,
        _ if attempt.number == 0 => SeatStatus::Skipped,
        _ => SeatStatus::Failed,
    }
}
