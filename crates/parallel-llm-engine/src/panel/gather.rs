//! The bounded fan-out: one task per seat, ends taken in as they come, until the quorum says enough.
//!
//! What always holds: an answer counts only once it is noted; seats left behind go on and are collected later.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::call::reply_clock::run_timeout;
use crate::call::run_context::RunContext;
use crate::call::upstream_call::{Admission, UpstreamCall};
use crate::panel::escalation;
use crate::panel::quorum::{Quorum, WaitDecision};
use crate::plan::caller_slot::{CallerSlot, StepNumber};
use crate::prompt::reply::Reveal;
use crate::request::panel::{Seat, SeatNumber};
use crate::run::event::{Attempt, CallEnd, Event};
use crate::run::{Run, SeatStatus, SeatView};
use crate::value::answer::{Answer, Failure};
use crate::value::money::PicoUsd;
use crate::value::retry::Retry;

/// Why joining a seat cannot fail.
const GUARDED: &str = "a call catches its own panics and is never aborted";

/// An answer that can be used, whole or long enough.
#[derive(Clone, Debug)]
pub(crate) struct Usable {
    pub(crate) seat: SeatNumber,
    pub(crate) answer: Answer,
    /// Whether it stopped before its end.
    pub(crate) cut: bool,
    /// The call that gave it, where that is not the seat's own of the panel.
    pub(crate) step: Option<StepNumber>,
}

/// Why the panel is waited for no longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gathered {
    /// There are answers to use.
    Enough,
    /// There is none, and none can come.
    Nothing,
    /// The caller gave the run up.
    Cancelled,
}

/// The panel at work.
pub(crate) struct Panel {
    context: Arc<RunContext>,
    seats: JoinSet<Event>,
    quorum: Quorum,
    /// Seats that are asked only where those before them do not settle it, in the order of the panel.
    held_back: Vec<Seat>,
    /// Ends of calls beside the seats, not looked at yet.
    beside: Vec<Event>,
    /// Calls beside the seats that were given up.
    set_aside: BTreeSet<CallerSlot>,
    pub(crate) usable: Vec<Usable>,
    pub(crate) failures: Vec<(SeatNumber, Failure)>,
}

impl Panel {
    /// Begins every call that `before` leaves to be made. Those admitted at once are noted in one commit with what has
    /// been noted already, and nothing is sent before that is durable.
    pub(crate) async fn begin(context: &Arc<RunContext>, before: &Run) -> Result<Self, Failure> {
        let quorum = Quorum::new(context.plan.wait);
        let mut panel = Self {
            context: Arc::clone(context),
            seats: JoinSet::new(),
            quorum,
            held_back: Vec::new(),
            beside: Vec::new(),
            set_aside: BTreeSet::new(),
            usable: Vec::new(),
            failures: Vec::new(),
        };
        // Whoever wants more than the answer there is does not want it later.
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

    /// Asks for the admission of these seats. Those that get it at once are noted.
    fn admit(&mut self, seats: &[Seat]) -> Vec<(Admission, UpstreamCall)> {
        let ask = |seat: &Seat| {
            self.quorum.ask(seat);
            let messages = seat.sent(&self.context.plan.messages);
            let mut upstream = UpstreamCall::new(
                &self.context,
                CallerSlot::Seat(seat.number),
                seat,
                messages,
                Reveal::all(),
            );
            (upstream.admit(), upstream)
        };
        seats.iter().map(ask).collect()
    }

    fn ask(&mut self, admitted: Vec<(Admission, UpstreamCall)>) {
        for (admission, upstream) in admitted {
            // Boxed, because a task is copied several times while it is spawned and ended, and this one is kilobytes.
            self.seats.spawn(Box::pin(upstream.finish(admission)));
        }
    }

    /// Whether the seats held back are to be asked now: what has come leaves open what they are there for.
    fn is_open(&self) -> bool {
        let answers = self.usable.iter().map(|one| (one.seat, &*one.answer.text));
        !self.held_back.is_empty() && !self.is_late() && !escalation::is_settled(&self.context.plan, answers)
    }

    fn ask_next(&mut self) {
        let next = escalation::next(&self.context.plan, self.held_back.len());
        let seats: Vec<Seat> = self.held_back.drain(..next).collect();
        let admitted = self.admit(&seats);
        self.ask(admitted);
    }

    /// When the next seats are asked by time alone.
    fn hedge_at(&self) -> Option<Instant> {
        let plan = &self.context.plan;
        let after_ms = escalation::hedge_ms(plan, plan.seats.len() - self.held_back.len())?;
        self.is_open().then(|| self.context.deadline.at_ms(after_ms))
    }

    /// Notes what becomes of seats that were held back and are not asked any more.
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

    /// Takes in what an earlier part of the run knows of a seat.
    fn remember(&mut self, seat: SeatNumber, view: &SeatView) {
        let usable = earlier(seat, view);
        self.quorum.remember(usable.is_some());
        match (usable, &view.failure) {
            (Some(usable), _) => self.usable.push(usable),
            (None, Some(failure)) => self.failures.push((seat, failure.clone())),
            (None, None) => {}
        }
    }

    /// Takes ends in until there is enough. The last end is noted, not committed: it goes along with what the
    /// strategy does next.
    pub(crate) async fn gather(&mut self) -> Gathered {
        loop {
            if let Some(gathered) = self.more().await {
                return gathered;
            }
            // A failed write shows where the next call wants to be sent, and in the report.
            let _ = self.context.log.commit().await;
        }
    }

    /// Takes in what comes next; `None` where more is waited for. What is noted is not committed.
    pub(crate) async fn more(&mut self) -> Option<Gathered> {
        let context = Arc::clone(&self.context);
        loop {
            let until = match self.quorum.decision(context.deadline.part_ms()) {
                WaitDecision::Impossible if context.stop.is_cancelled() => return Some(Gathered::Cancelled),
                WaitDecision::Enough | WaitDecision::Impossible if self.is_open() => {
                    self.ask_next();
                    return None;
                }
                WaitDecision::Enough => return Some(Gathered::Enough),
                WaitDecision::Impossible => return Some(Gathered::Nothing),
                WaitDecision::Wait { until_ms } => until_ms,
            };
            // Without an answer there is nothing to stop for: the seats end by themselves with the run.
            let patience = until.map(|ms| context.deadline.at_ms(ms));
            let patience = patience.unwrap_or(context.deadline.panel).min(context.deadline.panel);
            let hedge_at = self.hedge_at();
            tokio::select! {
                biased;
                () = context.stop.cancelled() => return Some(Gathered::Cancelled),
                Some(ended) = self.seats.join_next() => {
                    self.take(ended.expect(GUARDED));
                    // Those that ended during the last commit share the next.
                    while let Some(ended) = self.seats.try_join_next() {
                        self.take(ended.expect(GUARDED));
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

    /// Takes in the next end, whether or not there is enough; says whether the run was given up before it came.
    pub(crate) async fn one_more(&mut self) -> Option<Gathered> {
        let context = Arc::clone(&self.context);
        tokio::select! {
            biased;
            () = context.stop.cancelled() => return Some(Gathered::Cancelled),
            Some(ended) = self.seats.join_next() => self.take(ended.expect(GUARDED)),
            else => {}
        }
        None
    }

    /// Makes a call beside those of the seats, which comes to its end among them.
    pub(crate) fn ask_beside(&mut self, upstream: UpstreamCall, admission: Admission) {
        self.seats.spawn(Box::pin(upstream.finish(admission)));
    }

    /// The end of a call made beside those of the seats, told once.
    pub(crate) fn ended_beside(&mut self) -> Option<Event> {
        self.beside.pop()
    }

    /// What this call comes to is kept and told, but as given up: its end may be on its way already.
    pub(crate) fn set_aside(&mut self, slot: CallerSlot) {
        self.set_aside.insert(slot);
    }

    /// Collects the seats left behind while something else is done with the answers there are. What they give is
    /// made durable at once: it was paid for like the others.
    pub(crate) async fn meanwhile<T>(&mut self, work: impl Future<Output = T>) -> T {
        let mut work = std::pin::pin!(work);
        loop {
            let ended = tokio::select! {
                biased;
                done = &mut work => return done,
                Some(ended) = self.seats.join_next() => ended,
            };
            self.take(ended.expect(GUARDED));
            // Both go on together, because the work may hold the pen that the commit waits for; and the commit
            // is always finished, because a dropped one would lose what it has taken.
            let mut commit = std::pin::pin!(self.context.log.commit());
            tokio::select! {
                biased;
                done = &mut work => {
                    let _ = commit.await;
                    return done;
                }
                _ = &mut commit => {}
            }
        }
    }

    /// Collects the seats left behind.
    pub(crate) async fn rest(mut self) {
        while let Some(ended) = self.seats.join_next().await {
            self.take(ended.expect(GUARDED));
            let _ = self.context.log.commit().await;
        }
    }

    fn take(&mut self, event: Event) {
        let elapsed_ms = self.context.deadline.part_ms();
        let is_set_aside = event.attempt().is_some_and(|attempt| self.set_aside.contains(&attempt.slot));
        let event = if is_set_aside { event.given_up() } else { event };
        if let Some(Attempt { slot: CallerSlot::Seat(seat), .. }) = event.attempt() {
            let end = event.end();
            let usable = match end {
                Some(CallEnd::Answered(answer)) => usable(seat, answer, false),
                Some(CallEnd::Cut(answer, _)) => {
                    usable(seat, answer, true).or_else(|| self.given_before(seat))
                }
                // Asked again in vain: what it gave before is still there.
                Some(CallEnd::Failed(_) | CallEnd::Cancelled) | None => self.given_before(seat),
            };
            self.quorum.observe(seat, usable.is_some(), elapsed_ms);
            match (usable, end) {
                (Some(usable), _) => self.usable.push(usable),
                (None, Some(CallEnd::Cut(_, failure) | CallEnd::Failed(failure))) => {
                    self.failures.push((seat, failure.clone()));
                }
                (None, Some(CallEnd::Answered(_) | CallEnd::Cancelled) | None) => {}
            }
        } else if !is_set_aside {
            self.beside.push(event.clone());
        }
        self.context.log.stage(event);
    }

    fn given_before(&self, seat: SeatNumber) -> Option<Usable> {
        self.context.hub.with_run(|run| run.seat(seat).and_then(|view| earlier(seat, view)))
    }
}

/// What a seat gave in an earlier part of the run, as far as it can be used.
fn earlier(seat: SeatNumber, view: &SeatView) -> Option<Usable> {
    view.answer.as_ref().and_then(|answer| usable(seat, answer, view.status != SeatStatus::Answered))
}

fn usable(seat: SeatNumber, answer: &Answer, cut: bool) -> Option<Usable> {
    answer.is_usable(!cut).then(|| Usable { seat, answer: answer.clone(), cut, step: None })
}
