//! The timers of one reply as a state machine: its reader notes what comes, and asks until when to wait for more.
//!
//! The time of the run and pauses are left to [`super::reply_clock`]; whoever calls a model without a run has no more timers
//! than these. A time-out names the timer that ran out, its limit, and the setting that changes it.

use std::time::Duration;

use tokio::time::Instant;

use crate::plan::Timers;
use crate::port::ReplyPart;
use crate::value::answer::Failure;
use crate::value::code::Code;
use crate::value::next::{Limit, Next};

/// The timers of one reply.
#[derive(Clone, Debug)]
pub struct ReplyTimers {
    limits: Timers,
    pub(crate) sent: Instant,
    call_end: Instant,
    first_text_end: Instant,
    /// When the newest part came.
    pub(crate) heard: Instant,
    /// Whether the provider sends keep-alive comments.
    keeps_alive: bool,
    /// When the first text or reasoning came.
    pub(crate) first: Option<Instant>,
    last: Instant,
}

/// A timer of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Timer {
    /// No text or reasoning has come.
    FirstText,
    /// Nothing at all comes.
    Idle,
    /// No further text or reasoning comes.
    Content,
    /// The reply is not whole.
    Call,
}

impl ReplyTimers {
    /// The timers of a reply whose request leaves now.
    pub fn starting_now(limits: &Timers) -> Self {
        let now = Instant::now();
        Self {
            limits: *limits,
            sent: now,
            call_end: now + Duration::from_millis(limits.call_ms),
            first_text_end: now + Duration::from_millis(limits.first_text_ms),
            heard: now,
            keeps_alive: false,
            first: None,
            last: now,
        }
    }

    /// Notes that this part has come.
    pub fn note(&mut self, part: &ReplyPart) {
        self.heard = Instant::now();
        match part {
            ReplyPart::Alive => self.keeps_alive = true,
            ReplyPart::Reasoning | ReplyPart::Text(_) => {
                self.last = self.heard;
                self.first.get_or_insert(self.heard);
            }
            ReplyPart::Connected | ReplyPart::Accepted { .. } | ReplyPart::End(_) => {}
        }
    }

    /// Until when to wait for the next part, and the timer that ends then.
    pub fn next_limit(&self) -> (Instant, Timer) {
        let idle = (self.heard + Duration::from_millis(self.limits.idle_ms), Timer::Idle);
        let content = match self.first {
            None => (self.first_text_end, Timer::FirstText),
            Some(_) => (self.last + Duration::from_millis(self.limits.content_ms), Timer::Content),
        };
        let call = (self.call_end, Timer::Call);
        // A model may think in silence before its first text. Only a provider that sends keep-alives can be idle then.
        let can_be_idle = self.first.is_some() || self.keeps_alive;
        let sooner =
            |one: (Instant, Timer), other: (Instant, Timer)| if other.0 < one.0 { other } else { one };
        sooner(sooner(if can_be_idle { idle } else { call }, call), content)
    }

    /// The failure of a reply for which this timer ran out.
    pub fn timeout(&self, timer: Timer) -> Failure {
        let (what, ms, setting) = match timer {
            Timer::FirstText => {
                ("no text or reasoning came", self.limits.first_text_ms, "first_text_timeout_ms")
            }
            Timer::Idle => ("nothing came", self.limits.idle_ms, "idle_timeout_ms"),
            Timer::Content => {
                ("no more text or reasoning came", self.limits.content_ms, "content_timeout_ms")
            }
            Timer::Call => ("the answer was not whole", self.limits.call_ms, "call_timeout_ms"),
        };
        // A silence may be temporary; a call that used up its whole time would do so again.
        let failure = Failure::new(Code::Timeout, format!("{what} within {}", seconds(ms)));
        failure
            .with_retryable(timer != Timer::Call)
            .with_next(Next::Raise(Limit::Setting { name: setting.into(), now: Some(ms) }))
    }

    /// Moves every timer by a time in which nothing was read.
    pub(crate) fn pause(&mut self, pause: Duration) {
        for moment in [&mut self.heard, &mut self.last, &mut self.first_text_end, &mut self.call_end] {
            *moment += pause;
        }
    }
}

/// A limit in seconds.
pub(crate) fn seconds(ms: u64) -> String {
    format!("{} s", ms as f64 / 1e3)
}
