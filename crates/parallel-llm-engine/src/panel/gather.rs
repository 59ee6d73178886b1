//! The fan-out: one task per seat, whose ends are taken until the quorum decides.
//!
//! Invariants: an answer counts only once its event is staged; late seats continue and are collected later.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::agreement::AnswerText;
use crate::call::reply_clock::run_timeout;
use crate::call::run_context::RunContext;
use crate::call::stop::Cancellation;
use crate::call::upstream_call::{Admission, UpstreamCall};
use crate::panel::escalation;
use crate::panel::quorum::WaitDecision;
use crate::panel::quorums::Quorums;
use crate::plan::caller_slot::{CallerSlot, StepNumber};
use crate::prompt::reply::Reveal;
use crate::request::StoreMode;
use crate::request::panel::{Seat, SeatNumber};
use crate::run::event::{Attempt, CallEnd, Event};
use crate::run::prompt_record::Prompt;
use crate::run::{Run, SeatStatus, SeatView};
use crate::value::answer::{Answer, Failure};
use crate::value::code::Code;
use crate::value::money::PicoUsd;
use crate::value::retry::Retry;

/// Why joining the task of a seat cannot fail.
const JOIN_CANNOT_FAIL: &str = "a call catches its own panics and is never aborted";

/// A usable answer: whole, or long enough.
#[derive(Clone, Debug)]
pub(crate) struct Usable {
    pub(crate) seat: SeatNumber,
    pub(crate) answer: Answer,
    /// Whether it was cut.
    pub(crate) cut: bool,
    /// The step that gave it; `None` for the seat's call of the panel.
    pub(crate) step: Option<StepNumber>,
}

impl<'a> From<&'a Usable> for AnswerText<'a> {
    fn from(usable: &'a Usable) -> Self {
        let text = Self::from(&usable.answer);
        Self { is_whole: text.is_whole && !usable.cut, ..text }
    }
}

/// Why the run stops waiting for the panel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gathered {
    /// There are enough answers.
    Enough,
    /// The answers so far do not settle the question, and seats are held back.
    Unsettled,
    /// There is no answer, and none can come.
    Nothing,
    /// The run is cancelled.
    Cancelled,
}

/// The open calls of the panel and the answers so far.
pub(crate) struct Panel {
    context: Arc<RunContext>,
    seats: JoinSet<Event>,
    quorum: Quorums,
    /// Seats that are asked only if the earlier ones do not settle the question, in the order of the panel.
    held_back: Vec<Seat>,
    /// Ends of calls other than seats that nobody has taken yet.
    other_ends: Vec<Event>,
    /// Calls other than seats that were revoked.
    revoked: BTreeSet<CallerSlot>,
    /// The calls of seats that were asked in this part.
    cancellations: BTreeMap<SeatNumber, Cancellation>,
    /// The seats the user skips.
    skips: watch::Receiver<BTreeSet<SeatNumber>>,
    /// Seats that were skipped before they had ended. Their ends are recorded, but no longer counted.
    skipped: BTreeSet<SeatNumber>,
    pub(crate) usable: Vec<Usable>,
    pub(crate) failures: Vec<(SeatNumber, Failure)>,
}

impl Panel {
    /// Begins every call that `before` leaves open. The calls that are admitted at once go into one commit with the events
    /// that are staged already, and nothing is sent before that commit is durable.
    pub(crate) async fn begin(context: &Arc<RunContext>, before: &Run) -> Result<Self, Failure> {
        let quorum = Quorums::new(&context.plan);
        let mut panel = Self {
            context: Arc::clone(context),
            seats: JoinSet::new(),
            quorum,
            held_back: Vec::new(),
            other_ends: Vec::new(),
            revoked: BTreeSet::new(),
            cancellations: BTreeMap::new(),
            skips: context.stop.skipped(),
            skipped: BTreeSet::new(),
            usable: Vec::new(),
            failures: Vec::new(),
        };
        // If the run has an outcome already, the user asked for more answers: no seat is held back then.
        let first = if before.outcome.is_none() { escalation::first(&context.plan) } else { usize::MAX };
        let mut at_once = Vec::new();
        for (index, (seat, view)) in context.plan.seats.iter().zip(&before.seats).enumerate() {
            match view {
                view if view.status.is_final() => panel.remember(seat.number, view),
                view if index >= first && view.attempts == 0 => panel.held_back.push(seat.clone()),
                _ => at_once.push(seat.clone()),
            }
        }
        let admitted = panel.admit(&at_once);
        context.log.commit().await?;
        context.has_begun.store(true, Ordering::Relaxed);
        panel.ask(admitted);
        Ok(panel)
    }

    /// Asks for admission of these seats. `Sent` is staged for those that are admitted at once.
    fn admit(&mut self, seats: &[Seat]) -> Vec<(Admission, UpstreamCall)> {
        let ask = |seat: &Seat| {
            self.quorum.ask(seat);
            let prompt = Prompt { messages: seat.sent(&self.context.plan.messages), record: None };
            let slot = CallerSlot::Seat(seat.number);
            let reveal = if seat.asks_line { Reveal::without_line() } else { Reveal::all() };
            let upstream = UpstreamCall::new(&self.context, slot, seat, prompt, reveal);
            let (mut upstream, cancellation) = upstream.cancellable();
            self.cancellations.insert(seat.number, cancellation);
            (upstream.admit(), upstream)
        };
        seats.iter().map(ask).collect()
    }

    fn ask(&mut self, admitted: Vec<(Admission, UpstreamCall)>) {
        for (admission, upstream) in admitted {
            // Boxed, because spawning copies a task several times, and this one has kilobytes.
            self.seats.spawn(Box::pin(upstream.finish(admission)));
        }
    }

    /// Whether the held-back seats must be asked: the answers so far do not settle the question.
    fn needs_held_back(&self) -> bool {
        let answers = self.usable.iter().map(|one| (one.seat, AnswerText::from(one)));
        let may_ask = !self.held_back.is_empty() && !self.is_late() && !self.quorum.is_hurried();
        may_ask && !escalation::is_settled(&self.context, answers)
    }

    /// Asks the next of the seats that are held back.
    pub(crate) fn ask_next(&mut self) {
        let next = escalation::next(&self.context.plan, self.held_back.len());
        let seats: Vec<Seat> = self.held_back.drain(..next).collect();
        let admitted = self.admit(&seats);
        self.ask(admitted);
    }

    /// When the next seats are asked even if no call ends.
    fn hedge_at(&self) -> Option<Instant> {
        let plan = &self.context.plan;
        let after_ms = escalation::hedge_ms(plan, plan.seats.len() - self.held_back.len())?;
        self.needs_held_back().then(|| self.context.deadline.at_ms(after_ms))
    }

    /// Stages the ends of held-back seats, which are not asked any more.
    pub(crate) fn release_held_back(&mut self, gathered: Gathered) {
        let seats: Vec<SeatNumber> = self.held_back.drain(..).map(|seat| seat.number).collect();
        if seats.is_empty() {
            return;
        }
        if gathered == Gathered::Enough && !self.is_late() {
            self.context.log.stage(Event::Skipped { seats });
            return;
        }
        for seat in seats {
            let (attempt, cost) = (Attempt { slot: CallerSlot::Seat(seat), number: 0 }, Some(PicoUsd::ZERO));
            self.context.log.stage(if gathered == Gathered::Cancelled {
                Event::Cancelled { attempt, answer: None, cost }
            } else {
                let failure = run_timeout(&self.context.plan.timers);
                Event::Failed { attempt, failure, retry: Retry::Never, cost, elapsed_ms: 0 }
            });
        }
    }

    fn is_late(&self) -> bool {
        Instant::now() >= self.context.deadline.panel
    }

    /// Takes the result of a seat from an earlier part of the run.
    fn remember(&mut self, seat: SeatNumber, view: &SeatView) {
        let usable = earlier(seat, view);
        self.quorum.remember(seat, usable.is_some());
        match (usable, &view.failure) {
            (Some(usable), _) => self.usable.push(usable),
            (None, Some(failure)) => self.failures.push((seat, failure.clone())),
            (None, None) => {}
        }
    }

    /// Takes ends of calls until the quorum decides. The last ends are staged but not committed, so that they share a commit
    /// with what the strategy does next.
    pub(crate) async fn gather(&mut self) -> Gathered {
        let context = Arc::clone(&self.context);
        loop {
            if let Some(gathered) = self.more().await {
                return gathered;
            }
            // An end that comes during a commit is given to the journal at once, and not after it.
            loop {
                tokio::select! {
                    biased;
                    // A failure appears when the next call is sent, and in the report.
                    _ = context.log.commit() => break,
                    more = self.more() => if let Some(gathered) = more {
                        return gathered;
                    },
                }
            }
        }
    }

    /// Takes the next ends of calls; `None` if the panel must still be awaited. The events are staged, not committed.
    pub(crate) async fn more(&mut self) -> Option<Gathered> {
        let context = Arc::clone(&self.context);
        loop {
            // Before the quorum decides: whoever is in a hurry asks none of the seats that are held back.
            if context.stop.is_hurried() {
                self.quorum.hurry();
            }
            let until = match self.quorum.decision(context.deadline.part_ms()) {
                WaitDecision::Impossible if context.stop.is_cancelled() => return Some(Gathered::Cancelled),
                WaitDecision::Enough | WaitDecision::Impossible if self.needs_held_back() => {
                    let is_cancelled = context.stop.is_cancelled();
                    return Some(if is_cancelled { Gathered::Cancelled } else { Gathered::Unsettled });
                }
                WaitDecision::Enough => return Some(Gathered::Enough),
                WaitDecision::Impossible => return Some(Gathered::Nothing),
                WaitDecision::Wait { until_ms } => until_ms,
            };
            // Without a usable answer the wait goes on: the seats end with the run at the latest.
            let patience = until.map(|ms| context.deadline.at_ms(ms));
            let patience = patience.unwrap_or(context.deadline.panel).min(context.deadline.panel);
            let hedge_at = self.hedge_at();
            tokio::select! {
                biased;
                () = context.stop.cancelled() => return Some(Gathered::Cancelled),
                () = context.stop.hurried(), if !self.quorum.is_hurried() => self.quorum.hurry(),
                Ok(()) = self.skips.changed() => self.skip(),
                Some(ended) = self.seats.join_next() => {
                    self.take(ended.expect(JOIN_CANNOT_FAIL));
                    // Ends that came during the last commit share the next one.
                    while let Some(ended) = self.seats.try_join_next() {
                        self.take(ended.expect(JOIN_CANNOT_FAIL));
                    }
                }
                () = sleep_until(hedge_at.unwrap_or(patience)), if hedge_at.is_some() => self.ask_next(),
                () = sleep_until(patience), if !self.usable.is_empty() => {
                    if self.is_late() {
                        return Some(Gathered::Enough);
                    }
                }
            }
            if matches!(self.quorum.decision(context.deadline.part_ms()), WaitDecision::Wait { .. }) {
                return None;
            }
        }
    }

    /// Cancels the calls of the seats that the user skips, and waits for them no longer.
    fn skip(&mut self) {
        let elapsed_ms = self.context.deadline.part_ms();
        let wanted = self.skips.borrow_and_update().clone();
        for seat in wanted {
            // `None`: the seat has ended, was not asked or is skipped already.
            let Some(cancellation) = self.cancellations.remove(&seat) else { continue };
            cancellation.cancel();
            self.skipped.insert(seat);
            self.quorum.observe(seat, false, elapsed_ms);
            self.failures.push((seat, Failure::new(Code::Cancelled, "skipped before it had answered")));
        }
    }

    /// Takes the next end of a call without asking the quorum. Returns `Cancelled` if the run is cancelled first.
    pub(crate) async fn one_more(&mut self) -> Option<Gathered> {
        let context = Arc::clone(&self.context);
        tokio::select! {
            biased;
            () = context.stop.cancelled() => return Some(Gathered::Cancelled),
            Some(ended) = self.seats.join_next() => self.take(ended.expect(JOIN_CANNOT_FAIL)),
            else => {}
        }
        None
    }

    /// Makes another call, whose end is joined with those of the seats.
    pub(crate) fn spawn_other(&mut self, upstream: UpstreamCall, admission: Admission) {
        self.seats.spawn(Box::pin(upstream.finish(admission)));
    }

    /// Takes the end of such a call, if it has come.
    pub(crate) fn take_other_end(&mut self, is_wanted: impl Fn(CallerSlot) -> bool) -> Option<Event> {
        let is_its_end = |event: &Event| event.attempt().is_some_and(|attempt| is_wanted(attempt.slot));
        let index = self.other_ends.iter().position(is_its_end)?;
        Some(self.other_ends.remove(index))
    }

    /// Records the end of a revoked call as cancelled, even if its answer is already on its way.
    pub(crate) fn mark_revoked(&mut self, slot: CallerSlot) {
        self.revoked.insert(slot);
    }

    /// Does `work` and meanwhile takes the ends of late seats. Their answers are made durable at once, because they are paid
    /// for like the others.
    pub(crate) async fn collect_during<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = std::pin::pin!(work);
        tokio::select! {
            biased;
            done = &mut work => done,
            () = self.collect_rest() => work.await,
        }
    }

    /// Takes the ends of all remaining calls.
    pub(crate) async fn collect_rest(&mut self) {
        let context = Arc::clone(&self.context);
        let mut is_behind = false;
        loop {
            tokio::select! {
                biased;
                Some(ended) = self.seats.join_next() => {
                    self.take(ended.expect(JOIN_CANNOT_FAIL));
                    is_behind = true;
                }
                _ = context.log.commit(), if is_behind => is_behind = false,
                else => return,
            }
        }
    }

    fn take(&mut self, event: Event) {
        let elapsed_ms = self.context.deadline.part_ms();
        let is_revoked = event.attempt().is_some_and(|attempt| self.revoked.contains(&attempt.slot));
        let event = if is_revoked { event.into_cancelled() } else { event };
        if let Some(Attempt { slot: CallerSlot::Seat(seat), .. }) = event.attempt() {
            let end = event.end();
            let usable = match end {
                Some(CallEnd::Answered(answer)) => usable(seat, answer, false),
                Some(CallEnd::Cut(answer, _)) => {
                    usable(seat, answer, true).or_else(|| self.earlier_answer(seat))
                }
                // Asked again without success: its earlier answer remains.
                Some(CallEnd::Failed(_) | CallEnd::Cancelled) | None => self.earlier_answer(seat),
            };
            let is_skipped = self.skipped.contains(&seat);
            self.cancellations.remove(&seat);
            if !is_skipped {
                self.quorum.observe(seat, usable.is_some(), elapsed_ms);
            }
            match (usable, end) {
                (Some(usable), _) => self.usable.push(usable),
                (None, Some(CallEnd::Cut(_, failure) | CallEnd::Failed(failure))) if !is_skipped => {
                    self.failures.push((seat, failure.clone()));
                }
                (None, _) => {}
            }
        } else if !is_revoked {
            self.other_ends.push(event.clone());
        }
        // It is text, which such a run does not keep.
        let is_kept = self.context.plan.store != StoreMode::Metadata;
        self.context.log.stage(if is_kept { event } else { event.without_line() });
    }

    fn earlier_answer(&self, seat: SeatNumber) -> Option<Usable> {
        self.context.hub.with_run(|run| run.seat(seat).and_then(|view| earlier(seat, view)))
    }
}

/// The usable answer of a seat from an earlier part of the run.
pub(crate) fn earlier(seat: SeatNumber, view: &SeatView) -> Option<Usable> {
    view.answer.as_ref().and_then(|answer| usable(seat, answer, view.status != SeatStatus::Answered))
}

fn usable(seat: SeatNumber, answer: &Answer, cut: bool) -> Option<Usable> {
    answer.is_usable(!cut).then(|| Usable { seat, answer: answer.clone(), cut, step: None })
}
