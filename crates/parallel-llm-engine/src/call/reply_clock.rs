//! The clock of one reply within a run: how long a provider may be silent, and how long the run has time.

use std::time::Duration;

use futures_util::StreamExt;
use tokio::time::{Instant, timeout_at};

use crate::call::deadline::Deadline;
use crate::call::reply_timers::{ReplyTimers, seconds};
use crate::call::text_budget::Turn;
use crate::plan::Timers;
use crate::port::{ReplyPart, ReplyStream};
use crate::value::answer::Failure;
use crate::value::code::Code;
use crate::value::next::{Limit, Next};

/// The timers of one reply and those of its run.
pub(crate) struct ReplyClock {
    limits: Timers,
    timers: ReplyTimers,
    deadline: Deadline,
    /// Since when nothing is read, because other runs use up the text budget.
    paused: Option<Instant>,
}

impl ReplyClock {
    pub(crate) fn starting_now(limits: &Timers, deadline: Deadline) -> Self {
        Self { limits: *limits, timers: ReplyTimers::starting_now(limits), deadline, paused: None }
    }

    /// When the request left.
    pub(crate) const fn sent(&self) -> Instant {
        self.timers.sent
    }

    /// How long after its request the newest part came.
    pub(crate) fn heard_after(&self) -> Duration {
        self.timers.heard - self.timers.sent
    }

    /// How long after the request the first text or reasoning came.
    pub(crate) fn first_after(&self) -> Option<Duration> {
        self.timers.first.map(|first| first - self.timers.sent)
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
        let (limit, timer) = self.timers.next_limit();
        if let Ok(part) = timeout_at(limit.min(self.deadline.call), reply.next()).await {
            if let Some(Ok(part)) = &part {
                self.timers.note(part);
            }
            return part;
        }
        if self.deadline.call <= limit {
            return Some(Err(time_over(&self.limits, &self.deadline)));
        }
        let failure = self.timers.timeout(timer);
        reply.timed_out(&failure);
        Some(Err(failure))
    }

    /// Reads nothing until it is the run's turn. The pause does not count for the provider's timers, but for the deadline.
    async fn pause(&mut self, turn: &Turn) -> Result<(), Failure> {
        // In `self`, because this future may be dropped half-way and be started again.
        let since = *self.paused.get_or_insert_with(Instant::now);
        let came = timeout_at(self.deadline.call, turn.comes()).await;
        self.timers.pause(since.elapsed());
        self.paused = None;
        came.map_err(|_| {
            let failure = time_over(&self.limits, &self.deadline);
            let message = format!("{} while other runs had all the room for text", failure.message);
            Failure { message, ..failure }
        })
    }
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
