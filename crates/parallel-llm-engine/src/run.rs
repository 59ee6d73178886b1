//! What is known of a run: the fold of its events. The live view, the history, the report and resuming are all
//! this same fold, so they cannot disagree.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::answer::{Answer, Failure};
use crate::budget;
use crate::code::Code;
use crate::event::{Attempt, Event, Place, Recorded};
use crate::money::PicoUsd;
use crate::outcome::{Outcome, OutcomeKind, Warning};
use crate::panel::{ModelRef, Seat, SeatNumber};
use crate::plan::RunPlan;
use crate::reopening::Reopening;
use crate::retry::Retry;

/// How a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunStatus {
    /// It is under way.
    Running,
    /// Every seat answered and there is an answer.
    Complete,
    /// There is an answer, but a seat without one.
    Partial,
    /// There is no answer.
    Failed,
    /// The caller gave it up.
    Cancelled,
    /// The process that did it ended before it did.
    Interrupted,
}

impl RunStatus {
    /// The word used in JSON, columns and pages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Complete => "complete",
            Self::Partial => "partial",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Interrupted => "interrupted",
        }
    }
}

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
    pub place: Place,
    /// Which model.
    pub model: ModelRef,
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
    /// Whether an outcome has been settled since it gave what it gave.
    pub(crate) told_of: bool,
    /// How it stood before it was asked again, until that request leaves.
    stood: Option<SeatStatus>,
    /// Whether a request has left and nothing was heard of its end.
    under_way: bool,
    /// Requests that are over and of which nobody knows what they cost.
    unpriced: u32,
    /// Whether the cost of its newest request is not known.
    newest_unpriced: bool,
}

impl SeatView {
    fn new(place: Place, model: ModelRef) -> Self {
        Self {
            place,
            model,
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
            told_of: false,
            stood: None,
            under_way: false,
            unpriced: 0,
            newest_unpriced: false,
        }
    }

    /// What all its requests cost as far as known; `None` where nothing is, which is not the same as nothing.
    pub fn known_cost(&self) -> Option<PicoUsd> {
        self.cost?.unless_unknown(self.cost_is_estimate)
    }

    /// The text there is: the answer's, else what had come so far.
    pub fn text(&self) -> Option<&str> {
        let so_far = Some(self.partial.as_str()).filter(|text| !text.is_empty());
        self.answer.as_ref().map(|answer| &*answer.text).filter(|text| !text.is_empty()).or(so_far)
    }

    /// Whether the seat is not to be asked (again): it has a text, or it was sent and may have been paid.
    pub const fn is_settled(&self) -> bool {
        matches!(self.status, SeatStatus::Answered | SeatStatus::Cut | SeatStatus::Unknown)
    }

    /// The request of unknown cost, and its provider's name for it, where it can be looked up.
    pub fn unheard_of(&self) -> Option<(Attempt, &str)> {
        let attempt = Attempt { place: self.place, number: self.attempts };
        let is_over = self.stood.unwrap_or(self.status).is_final();
        self.generation_id.as_deref().filter(|_| is_over && self.newest_unpriced).map(|id| (attempt, id))
    }

    /// The run goes on: the seat is asked (again) now, or left as it is. A whole answer is never asked for again.
    fn reopen(&mut self, is_asked: bool) {
        self.retry_at_ms = None;
        if is_asked && self.status != SeatStatus::Answered {
            self.stood = self.status.is_final().then_some(self.status);
            self.status = SeatStatus::Waiting;
            self.late = false;
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
        self.stood = None;
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
        self.told_of = false;
        self.failure = None;
        self.partial = String::new();
        self.end(status, at_ms);
    }

    /// Nobody will hear of its request any more, where one was under way: a call that waits to be sent (again) has
    /// none.
    fn lose_track(&mut self) {
        if let Some(stood) = self.stood.take() {
            self.status = stood;
        } else if self.hear_end(None) {
            self.status = SeatStatus::Unknown;
            self.cost_is_estimate = true;
            let message = "the process that did the run ended before this was known";
            self.failure = Some(Failure::new(Code::Interrupted, message));
        }
    }

    fn apply(&mut self, attempt: Attempt, event: &Event, at_ms: u64) {
        if matches!(event, Event::Sent { .. }) && !self.status.is_final() {
            // Sent again although nothing was heard of the request before: another process took over.
            self.lose_track();
        }
        if let (Some(stood), Event::Failed { .. } | Event::Cancelled { answer: None, .. }) =
            (self.stood, event)
            && matches!(stood, SeatStatus::Unknown | SeatStatus::Cancelled)
        {
            // It was to be asked again and was not: what may have been paid before is as unknown as it was.
            return self.lose_track();
        }
        self.attempts = self.attempts.max(attempt.number);
        match event {
            Event::Sent { .. } => {
                self.sent_ms.get_or_insert(at_ms);
                self.retry_at_ms = None;
                (self.stood, self.under_way, self.newest_unpriced) = (None, true, true);
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
            Event::Cancelled { answer, .. } => {
                match answer {
                    Some(answer) => self.give(answer, SeatStatus::Cancelled, at_ms),
                    None => self.end(SeatStatus::Cancelled, at_ms),
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
            Event::Started { .. } | Event::Reopened { .. } | Event::Decided { .. } | Event::Closed { .. } => {
            }
        }
    }
}

/// The most one request of this place can cost, where its price is known: a synthesizer reads every answer.
pub fn worst_request(plan: &RunPlan, place: Place, seat: &Seat) -> Option<PicoUsd> {
    match place {
        Place::Seat(_) => budget::worst_call(seat, plan.input_bytes()),
        Place::Synthesizer(_) => seat
            .price
            .map(|_| budget::worst_fusing(&plan.seats, std::slice::from_ref(seat), plan.input_bytes())),
    }
}

fn failed_status(failure: &Failure, attempt: Attempt) -> SeatStatus {
    match failure.code {
        Code::Refused | Code::Moderated => SeatStatus::Refused,
        _ if attempt.number == 0 => SeatStatus::Skipped,
        _ => SeatStatus::Failed,
    }
}

/// What is known of a run.
#[derive(Clone, Debug)]
pub struct Run {
    /// What was planned.
    pub plan: Arc<RunPlan>,
    /// Names what was asked; empty before the run has started.
    pub plan_hash: String,
    /// How it stands.
    pub status: RunStatus,
    /// The panel, in the order of the plan.
    pub seats: Vec<SeatView>,
    /// The synthesizers of all parts of the run, each in the order of its chain; those never asked are `waiting`.
    pub synthesizers: Vec<SeatView>,
    /// How many of them belong to earlier parts.
    pub synthesizers_before: usize,
    /// What came of it, once settled.
    pub outcome: Option<Outcome>,
    /// What came of its earlier parts, oldest first: a run that goes on after its answer has another one later.
    pub earlier: Vec<Outcome>,
    /// When the outcome was settled, in milliseconds from the start.
    pub decided_ms: Option<u64>,
    /// When the newest event happened, in milliseconds from the start.
    pub elapsed_ms: u64,
    /// The number of the newest event.
    pub seq: u64,
    /// Whether nothing more will happen.
    pub closed: bool,
}

impl Run {
    /// A run nothing has happened in.
    pub fn new(plan: Arc<RunPlan>) -> Self {
        let seats = plan.seats.iter().map(|seat| SeatView::new(Place::Seat(seat.number), seat.model.clone()));
        let chain = plan.synthesizers.iter();
        let synthesizers =
            chain.map(|seat| SeatView::new(Place::Synthesizer(seat.number), seat.model.clone()));
        Self {
            seats: seats.collect(),
            synthesizers: synthesizers.collect(),
            plan_hash: String::new(),
            status: RunStatus::Running,
            synthesizers_before: 0,
            outcome: None,
            earlier: Vec::new(),
            decided_ms: None,
            elapsed_ms: 0,
            seq: 0,
            closed: false,
            plan,
        }
    }

    /// The run these events tell of.
    pub fn fold(plan: Arc<RunPlan>, events: &[Recorded]) -> Self {
        let mut run = Self::new(plan);
        for recorded in events {
            run.apply(recorded);
        }
        run
    }

    /// Takes one more event in. Events that are in already change nothing.
    pub fn apply(&mut self, recorded: &Recorded) {
        if recorded.seq <= self.seq {
            return;
        }
        self.seq = recorded.seq;
        self.elapsed_ms = recorded.elapsed_ms;
        let settled = self.outcome.is_some();
        match &recorded.event {
            Event::Started { plan_hash, .. } => self.plan_hash.clone_from(plan_hash),
            Event::Reopened { reopening, .. } => self.reopen(reopening),
            Event::Decided { outcome } => self.settle(outcome, recorded.elapsed_ms),
            Event::Closed { .. } => {
                // Those of a process that is gone; a run that was not resumed has none.
                self.lose_track();
                self.closed = true;
                self.status = self.final_status();
            }
            event => {
                let Some(attempt) = event.attempt() else { return };
                if let Some(seat) = self.place_mut(attempt.place) {
                    seat.apply(attempt, event, recorded.elapsed_ms);
                    seat.late |= settled && event.answer().is_some() && seat.status != SeatStatus::Cancelled;
                }
                if settled {
                    self.status = self.final_status();
                }
            }
        }
    }

    /// What is known of a place.
    pub fn place(&self, place: Place) -> Option<&SeatView> {
        match place {
            Place::Seat(number) => self.seats.get(number.index()),
            Place::Synthesizer(number) => self.synthesizers.get(number.index()),
        }
    }

    /// As [`Run::place`], for showing text that is on its way.
    pub fn place_mut(&mut self, place: Place) -> Option<&mut SeatView> {
        match place {
            Place::Seat(number) => self.seats.get_mut(number.index()),
            Place::Synthesizer(number) => self.synthesizers.get_mut(number.index()),
        }
    }

    /// The process that did the run is gone: what was under way is unknown.
    pub fn interrupt(&mut self) {
        if self.closed {
            return;
        }
        self.lose_track();
        self.status = if self.outcome.is_some() { self.final_status() } else { RunStatus::Interrupted };
    }

    /// The run goes on, in the same process or another. What was under way is lost; what was settled is kept.
    pub(crate) fn reopen(&mut self, reopening: &Reopening) {
        self.lose_track();
        for seat in &mut self.seats {
            let Place::Seat(number) = seat.place else { continue };
            seat.reopen(reopening.ask.contains(&number));
        }
        let view = |place: fn(SeatNumber) -> Place| {
            move |seat: &Seat| SeatView::new(place(seat.number), seat.model.clone())
        };
        self.seats.extend(reopening.seats.iter().map(view(Place::Seat)));
        if !reopening.synthesizers.is_empty() {
            self.synthesizers_before = self.synthesizers.len();
            self.synthesizers.extend(reopening.synthesizers.iter().map(view(Place::Synthesizer)));
        }
        self.plan = Arc::new(reopening.extend(&self.plan));
        self.earlier.extend(self.outcome.take());
        self.decided_ms = None;
        self.closed = false;
        self.status = RunStatus::Running;
    }

    /// Nobody will hear of requests still under way any more.
    fn lose_track(&mut self) {
        for seat in self.seats.iter_mut().chain(&mut self.synthesizers).filter(|seat| !seat.status.is_final())
        {
            seat.lose_track();
        }
    }

    /// What all requests cost as far as known; `None` where nothing is, which is not the same as nothing.
    pub fn known_cost(&self) -> Option<PicoUsd> {
        self.cost().unless_unknown(self.cost_is_estimate())
    }

    /// What all requests cost as far as known, to be reckoned with.
    pub fn cost(&self) -> PicoUsd {
        self.seats.iter().chain(&self.synthesizers).filter_map(|seat| seat.cost).sum()
    }

    /// What all requests may have cost: those that are over and of which nobody knows it count with their worst case,
    /// as far as prices are known. A further part of the run may spend the rest of its budget.
    pub fn cost_max(&self) -> PicoUsd {
        let seats = self.plan.seats.iter().chain(&self.plan.synthesizers);
        let worst = |(seat, view): (&Seat, &SeatView)| {
            Some(worst_request(&self.plan, view.place, seat)?.times(u64::from(view.unpriced)))
        };
        self.cost().plus(seats.zip(self.seats.iter().chain(&self.synthesizers)).filter_map(worst).sum())
    }

    /// Whether a part of the cost is unknown or computed from prices.
    pub fn cost_is_estimate(&self) -> bool {
        self.seats
            .iter()
            .chain(&self.synthesizers)
            .any(|seat| seat.cost_is_estimate || seat.status == SeatStatus::Streaming)
    }

    /// Seats that answered in full.
    pub fn answered(&self) -> usize {
        self.seats.iter().filter(|seat| seat.status == SeatStatus::Answered).count()
    }

    /// Seats without a whole answer.
    pub fn missing(&self) -> impl Iterator<Item = &SeatView> {
        self.seats.iter().filter(|seat| seat.status != SeatStatus::Answered)
    }

    /// The view of a seat of the panel.
    pub fn seat(&self, number: SeatNumber) -> Option<&SeatView> {
        self.place(Place::Seat(number))
    }

    fn settle(&mut self, outcome: &Outcome, at_ms: u64) {
        // An answer that came while another was being made of the rest is as late as one that came after.
        if outcome.kind != OutcomeKind::None {
            for (seat, number) in self.seats.iter_mut().zip((1..).map(SeatNumber)) {
                seat.late = seat.status == SeatStatus::Answered && !outcome.considered.contains(&number);
            }
        }
        self.synthesizers.iter_mut().for_each(|synthesizer| synthesizer.told_of = true);
        self.outcome = Some(self.best_of(outcome));
        self.decided_ms = Some(at_ms);
        self.status = self.final_status();
    }

    /// A further part of a run that came to no text does not take away the one there is; it is told as a warning.
    fn best_of(&mut self, outcome: &Outcome) -> Outcome {
        let failure = outcome.failure.as_ref().filter(|_| outcome.kind == OutcomeKind::None);
        match (failure, self.earlier.pop_if(|earlier| earlier.kind != OutcomeKind::None)) {
            (Some(failure), Some(mut kept)) => {
                kept.warnings.push(Warning::of("going on with the run gave no other text", failure));
                kept
            }
            (_, kept) => {
                self.earlier.extend(kept);
                outcome.clone()
            }
        }
    }

    fn final_status(&self) -> RunStatus {
        match &self.outcome {
            Some(outcome) if outcome.kind == OutcomeKind::None => match &outcome.failure {
                Some(failure) if failure.code == Code::Cancelled => RunStatus::Cancelled,
                _ => RunStatus::Failed,
            },
            Some(_) if self.answered() == self.seats.len() => RunStatus::Complete,
            Some(_) => RunStatus::Partial,
            None => RunStatus::Running,
        }
    }
}
