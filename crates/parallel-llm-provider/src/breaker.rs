//! A circuit breaker for each model: one that keeps failing is not asked for a while, and it is said so.
//!
//! Each call to a model that is down costs its seat three tries and half a minute, and the provider a load it cannot
//! bear. So after many failures the circuit opens: calls fail at once, with what the last failure said. After a while
//! one call goes through; if the model answers it the circuit closes, else it stays open for as long again.
//!
//! A failure is what is the server's or the network's fault. What is the caller's fault, a limit, a refusal or an empty
//! answer says nothing of whether the model is up, and counts neither way. A call succeeds with its first text or
//! reasoning; what becomes of it later is not counted.
//!
//! A row of failures is to say that the model went on failing. Calls that were under way together may all have met one
//! hiccup, so they are one step of the row: a failure lengthens it only if its call was let in after the failure before
//! was told. The share of failures goes by calls, because enough of them say so by themselves.
//!
//! A request that did not leave says nothing of the model either: it cost nothing, and what broke is the way there. Where
//! this machine has no network that way is broken to every model, and each would be said to fail. A server that cannot be
//! reached is so never kept from being tried; its calls fail by themselves, soon and with the better reason.
//!
//! What always holds: [`Breaker`] is pure, the time is given; a call counts once at most; what a call says that was let
//! in before the circuit last changed is old news and not counted.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parallel_llm_engine::{Code, Failure, ModelRef};
use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

/// So many failures in a row open a circuit. One call has three tries; the fifth failure is another call's.
const STREAK_MAX: usize = 5;
/// A model that fails every other time is no use either, once enough calls have shown it within [`WINDOW`].
const WINDOW_CALLS_MIN: usize = 10;
/// How far back calls are looked at.
const WINDOW: Duration = Duration::from_secs(60);
/// Calls that are looked at; the newest count. As many as a key makes at once.
const WINDOW_CALLS_MAX: usize = 64;
/// How long an open circuit stays so: an overloaded model needs about that long, and a person can bear it. A probe that
/// says nothing for as long is not waited for any longer, and the next call probes as well.
const OPEN_FOR: Duration = Duration::from_secs(30);
/// What is said to wait while a probe is out, whose end nobody knows.
const PROBE_WAIT: Duration = Duration::from_secs(1);
/// Models that are remembered.
const BREAKERS_MAX: usize = 1024;
/// Characters of the last failure that are repeated.
const LAST_CHARS_MAX: usize = 160;
/// What counts as a failure.
const COUNTED_FAILURES: [Code; 4] = [Code::Upstream, Code::Connection, Code::Timeout, Code::Protocol];

/// The state of a circuit that is not closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Circuit {
    /// Which model is not asked.
    pub model: ModelRef,
    /// How far it is open.
    pub state: CircuitState,
    /// The failures that opened it, and those of the probes since.
    pub failures: usize,
    /// How long until a call may try again, in milliseconds; 0 where the next one may.
    pub wait_ms: u64,
    /// What the last failure said, shortened.
    pub last: String,
}

/// How far a circuit is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CircuitState {
    /// Calls fail at once.
    Open,
    /// The time is over: one call tries, or the next one will.
    HalfOpen,
}

/// The circuits of all models.
#[derive(Debug, Default)]
pub(crate) struct Breakers {
    table: Mutex<BreakerTable>,
}

/// One call that was let in, and the duty to tell what became of it. Dropping it untold leaves the probe to the next.
#[derive(Debug)]
pub(crate) struct Token {
    breakers: Arc<Breakers>,
    model: ModelRef,
    /// Its place among all calls that were let in, from 1.
    number: u64,
    is_recorded: AtomicBool,
}

impl Breakers {
    /// Fails where the model is not asked now.
    pub(crate) fn check(&self, model: &ModelRef) -> Result<(), Failure> {
        let (table, now) = (self.lock(), Instant::now());
        let Some(breaker) = table.breakers.get(model) else { return Ok(()) };
        breaker.verdict(now).map(|_| ()).map_err(|wait| breaker.refusal(model, wait))
    }

    /// Lets a call in, as the probe where the time for one has come.
    pub(crate) fn enter(self: &Arc<Self>, model: &ModelRef) -> Result<Token, Failure> {
        let (mut table, now) = (self.lock(), Instant::now());
        let number = table.calls + 1;
        if let Some(breaker) = table.breakers.get_mut(model)
            && breaker.verdict(now).map_err(|wait| breaker.refusal(model, wait))?
        {
            breaker.phase = Phase::Probed { by: number, until: now + OPEN_FOR };
        }
        table.calls = number;
        Ok(Token {
            breakers: Arc::clone(self),
            model: model.clone(),
            number,
            is_recorded: AtomicBool::default(),
        })
    }

    /// The circuits that are not closed, by model.
    pub(crate) fn circuits(&self) -> Vec<Circuit> {
        let (table, now) = (self.lock(), Instant::now());
        table.breakers.iter().filter_map(|(model, breaker)| breaker.circuit(model, now)).collect()
    }

    fn lock(&self) -> MutexGuard<'_, BreakerTable> {
        self.table.lock()
    }
}

impl Token {
    /// The model has begun to answer.
    pub(crate) fn succeeded(&self) {
        self.record(None);
    }

    /// The call has failed; whether that counts is decided here.
    pub(crate) fn failed(&self, failure: &Failure) {
        if COUNTED_FAILURES.contains(&failure.code) && !failure.unsent {
            self.record(Some(&failure.message));
        }
    }

    fn record(&self, error: Option<&str>) {
        if !self.is_recorded.swap(true, Ordering::Relaxed) {
            self.breakers.lock().record(&self.model, self.number, error, Instant::now());
        }
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        if !*self.is_recorded.get_mut()
            && let Some(breaker) = self.breakers.lock().breakers.get_mut(&self.model)
            && matches!(breaker.phase, Phase::Probed { by, .. } if by == self.number)
        {
            breaker.phase = Phase::Open { until: Instant::now() };
        }
    }
}

/// What is known of all models.
#[derive(Debug, Default)]
struct BreakerTable {
    breakers: BTreeMap<ModelRef, Breaker>,
    /// How many calls have been let in.
    calls: u64,
}

impl BreakerTable {
    /// Takes in what became of the call of this number: a fault, or none.
    fn record(&mut self, model: &ModelRef, number: u64, error: Option<&str>, now: Instant) {
        if !self.breakers.contains_key(model) {
            self.make_room();
            self.breakers.insert(model.clone(), Breaker::default());
        }
        let breaker = self.breakers.get_mut(model).expect("it was made above");
        if number > breaker.changed_after {
            breaker.record(CallReport { number, newest: self.calls, at: now }, error);
        }
    }

    /// Forgets the model that was heard of longest ago, one whose circuit is closed first.
    fn make_room(&mut self) {
        if self.breakers.len() < BREAKERS_MAX {
            return;
        }
        let age = |breaker: &Breaker| (breaker.phase != Phase::Closed, breaker.last_report_at);
        let oldest = self.breakers.iter().min_by_key(|(_, breaker)| age(breaker));
        if let Some(model) = oldest.map(|(model, _)| model.clone()) {
            self.breakers.remove(&model);
        }
    }
}

/// What is known of one model.
#[derive(Debug, Default)]
struct Breaker {
    phase: Phase,
    /// The newest call that had been let in when it last opened or closed.
    changed_after: u64,
    /// Failures in a row, those of calls under way together counted as one.
    streak: usize,
    /// The newest call that had been let in when the streak last grew.
    grown_after: u64,
    /// When calls ended and whether they failed, the newest last.
    calls: VecDeque<(Instant, bool)>,
    /// The failures that opened the circuit.
    failures: usize,
    last: String,
    last_report_at: Option<Instant>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Closed,
    Open {
        until: Instant,
    },
    /// The probe is on its way.
    Probed {
        /// The number of its call.
        by: u64,
        /// How long it is waited for.
        until: Instant,
    },
}

/// Which call has told something, and when.
#[derive(Clone, Copy, Debug)]
struct CallReport {
    number: u64,
    /// The newest call that had been let in by then.
    newest: u64,
    at: Instant,
}

impl Breaker {
    /// Whether a call may go, and if so whether it is the probe; otherwise how long it should wait.
    fn verdict(&self, now: Instant) -> Result<bool, Duration> {
        match self.phase {
            Phase::Closed => Ok(false),
            Phase::Open { until } | Phase::Probed { until, .. } if now >= until => Ok(true),
            Phase::Open { until } => Err(until - now),
            Phase::Probed { .. } => Err(PROBE_WAIT),
        }
    }

    /// Counts a call, which may open or close the circuit.
    fn record(&mut self, report: CallReport, error: Option<&str>) {
        self.last_report_at = Some(report.at);
        if let Some(message) = error {
            self.last = message.chars().take(LAST_CHARS_MAX).collect();
        }
        if self.phase == Phase::Closed {
            self.count(report, error.is_some());
            if error.is_none() || !self.is_failing() {
                return;
            }
            self.failures = self.failures_in_window().max(self.streak);
        } else {
            self.failures += usize::from(error.is_some());
        }
        self.phase =
            if error.is_some() { Phase::Open { until: report.at + OPEN_FOR } } else { Phase::Closed };
        self.changed_after = report.newest;
        self.streak = 0;
        self.calls.clear();
    }

    fn count(&mut self, report: CallReport, failed: bool) {
        if !failed {
            self.streak = 0;
        } else if report.number > self.grown_after {
            self.streak += 1;
            self.grown_after = report.newest;
        }
        self.calls.push_back((report.at, failed));
        let is_old = |(at, _): &(Instant, bool)| report.at - *at > WINDOW;
        while self.calls.len() > WINDOW_CALLS_MAX || self.calls.front().is_some_and(is_old) {
            self.calls.pop_front();
        }
    }

    /// Whether it went on failing, or half of enough calls did.
    fn is_failing(&self) -> bool {
        let are_enough = self.calls.len() >= WINDOW_CALLS_MIN;
        self.streak >= STREAK_MAX || (are_enough && 2 * self.failures_in_window() >= self.calls.len())
    }

    /// The failures among the calls that are looked at.
    fn failures_in_window(&self) -> usize {
        self.calls.iter().filter(|(_, failed)| *failed).count()
    }

    fn refusal(&self, model: &ModelRef, wait: Duration) -> Failure {
        let until = match self.phase {
            Phase::Probed { .. } => "while another call tries it".to_owned(),
            _ => format!("for another {} s", wait.as_secs().max(1)),
        };
        let ModelRef { provider, model } = model;
        let Self { failures, last, .. } = self;
        let message = format!(
            "{provider}: `{model}` failed {failures} times and is not asked {until}; the last time: {last}"
        );
        // Not tried again by the engine: the half minute would be everybody's on the panel.
        let failure = Failure::new(Code::CircuitOpen, message).with_retryable(false).never_sent();
        failure.with_retry_after(Some(wait))
    }

    fn circuit(&self, model: &ModelRef, now: Instant) -> Option<Circuit> {
        let (state, wait) = match self.phase {
            Phase::Closed => return None,
            Phase::Open { until } if now < until => (CircuitState::Open, until - now),
            Phase::Open { .. } | Phase::Probed { .. } => (CircuitState::HalfOpen, Duration::ZERO),
        };
        let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        let (failures, last) = (self.failures, self.last.clone());
        Some(Circuit { model: model.clone(), state, failures, wait_ms, last })
    }
}

#[cfg(test)]
mod tests;
