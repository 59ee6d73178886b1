//! The timers of one reply: how long a provider may be silent, and how long a call may take.
//!
//! A time-out names the timer that ran out, its limit, and the setting that changes it.

use std::time::Duration;

use futures_util::StreamExt;
use tokio::time::{Instant, timeout_at};

use crate::call::deadline::Deadline;
use crate::call::text_budget::Turn;
use crate::plan::Timers;
use crate::port::{ReplyPart, ReplyStream};
use crate::value::answer::Failure;
use crate::value::code::Code;
use crate::value::next::{Limit, Next};

/// The timers of one reply.
pub(crate) struct ReplyClock {
    timers: Timers,
    pub(crate) sent: Instant,
    call_end: Instant,
    first_text_end: Instant,
    deadline: Deadline,
    /// When the newest part came.
    pub(crate) heard: Instant,
    /// Whether the provider sends keep-alive comments.
    keeps_alive: bool,
    /// When the first text or reasoning came.
    pub(crate) first: Option<Instant>,
    last: Instant,
    /// Since when nothing is read, because other runs use up the text budget.
    paused: Option<Instant>,
}

impl ReplyClock {
    pub(crate) fn starting_now(timers: &Timers, deadline: Deadline) -> Self {
        let now = Instant::now();
        let call_end = now + Duration::from_millis(timers.call_ms);
        Self {
            timers: *timers,
            sent: now,
            call_end,
            first_text_end: now + Duration::from_millis(timers.first_text_ms),
            deadline,
            heard: now,
            keeps_alive: false,
            first: None,
            last: now,
            paused: None,
        }
    }

    /// Notes that text or reasoning has come. Returns whether it is the first.
    pub(crate) fn content(&mut self) -> bool {
        self.last = self.heard;
        let is_first = self.first.is_none();
        self.first.get_or_insert(self.heard);
        is_first
    }

    /// Notes a keep-alive comment.
    pub(crate) fn alive(&mut self) {
        self.keeps_alive = true;
    }

    /// The next part of a reply, or the failure of the first timer that runs out. The reply learns that it was too slow,
    /// unless the time of the run is over, which is not the provider's fault.
    pub(crate) async fn next(
        &mut self,
        reply: &mut ReplyStream,
        turn: &Turn,
    ) -> Option<Result<ReplyPart, Failure>> {
        if (self.paused.is_some() || !turn.may_proceed())
            && let Err(failure) = self.pause(turn).await
        {
            return Some(Err(failure));
        }
        let (limit, timer) = self.next_limit();
        if let Ok(part) = timeout_at(limit, reply.next()).await {
            self.heard = Instant::now();
            return part;
        }
        let failure = self.timeout(timer);
        if !matches!(timer, Timer::Run) {
            reply.timed_out(&failure);
        }
        Some(Err(failure))
    }

    /// Reads nothing until it is the run's turn. The pause does not count for the provider's timers, but for the deadline.
    async fn pause(&mut self, turn: &Turn) -> Result<(), Failure> {
        // In `self`, because this future may be dropped half-way and be started again.
        let since = *self.paused.get_or_insert_with(Instant::now);
        let came = timeout_at(self.deadline.call, turn.comes()).await;
        let pause = since.elapsed();
        for moment in [&mut self.heard, &mut self.last, &mut self.first_text_end, &mut self.call_end] {
            *moment += pause;
        }
        self.paused = None;
        came.map_err(|_| {
            let failure = time_over(&self.timers, &self.deadline);
            let message = format!("{} while other runs had all the room for text", failure.message);
            Failure { message, ..failure }
        })
    }

    fn next_limit(&self) -> (Instant, Timer) {
        let idle = (self.heard + Duration::from_millis(self.timers.idle_ms), Timer::Idle);
        let content = match self.first {
            None => (self.first_text_end, Timer::FirstText),
            Some(_) => (self.last + Duration::from_millis(self.timers.content_ms), Timer::Content),
        };
        let whole = [(self.call_end, Timer::Call), (self.deadline.call, Timer::Run), content];
        // A model may think in silence before its first text. Only a provider that sends keep-alives can be idle then.
        let can_be_idle = self.first.is_some() || self.keeps_alive;
        whole.into_iter().fold(if can_be_idle { idle } else { whole[0] }, |soonest, limit| {
            if limit.0 < soonest.0 { limit } else { soonest }
        })
    }

    fn timeout(&self, timer: Timer) -> Failure {
        let (what, ms, setting) = match timer {
            Timer::Run => return time_over(&self.timers, &self.deadline),
            Timer::FirstText => {
                ("no text or reasoning came", self.timers.first_text_ms, "first_text_timeout_ms")
            }
            Timer::Idle => ("nothing came", self.timers.idle_ms, "idle_timeout_ms"),
            Timer::Content => {
                ("no more text or reasoning came", self.timers.content_ms, "content_timeout_ms")
            }
            Timer::Call => ("the answer was not whole", self.timers.call_ms, "call_timeout_ms"),
        };
        // A silence may be temporary; a call that used up its whole time would do so again.
        let failure = Failure::new(Code::Timeout, format!("{what} within {}", seconds(ms)));
        failure
            .with_retryable(!matches!(timer, Timer::Call))
            .with_next(Next::Raise(Limit::Setting { name: setting.into(), now: Some(ms) }))
    }
}

#[derive(Clone, Copy)]
enum Timer {
    FirstText,
    Idle,
    Content,
    Call,
    Run,
}

/// The failure of a call whose share of the run's time is over.
pub(crate) fn time_over(timers: &Timers, deadline: &Deadline) -> Failure {
    let failure = run_timeout(timers);
    if deadline.is_share || deadline.call < deadline.run {
        let message = format!("its share of the time limit of {} was used up", duration(timers.run_ms));
        return Failure { message, ..failure };
    }
    failure
}

pub(crate) fn run_timeout(timers: &Timers) -> Failure {
    let ms = timers.run_ms;
    Failure::new(Code::Timeout, format!("the time limit of {} was reached", duration(ms)))
        .with_retryable(false)
        .with_next([
            Next::Raise(Limit::Deadline),
            Next::Raise(Limit::Setting { name: "run_timeout_ms".into(), now: Some(ms) }),
        ])
}

/// A limit as people write it: whole minutes as `5 min`, else seconds.
fn duration(ms: u64) -> String {
    const MINUTE_MS: u64 = 60_000;
    if ms >= MINUTE_MS && ms.is_multiple_of(MINUTE_MS) {
        format!("{} min", ms / MINUTE_MS)
    } else {
        seconds(ms)
    }
}

fn seconds(ms: u64) -> String {
    format!("{} s", ms as f64 / 1e3)
}
