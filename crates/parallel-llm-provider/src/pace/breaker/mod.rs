//! A circuit breaker for each model: a model that keeps failing is not called for a while.
//!
//! Each call to a model that is down costs its seat three tries and half a minute, and adds load to the provider. So
//! after many failures the circuit opens: calls fail at once, with the message of the last failure. After a while one
//! call is let through; if the model answers, the circuit closes, otherwise it stays open for as long again.
//!
//! Only failures of the server or the network count. Errors of the caller, limits, refusals and empty answers say
//! nothing about whether the model is up and are ignored. A call succeeds with its first text or reasoning; what
//! happens to it later is not counted.
//!
//! The streak should show that the model kept failing. Calls that ran at the same time may all have met one short
//! outage, so together they count as one step: a failure lengthens the streak only if its call was admitted after the
//! previous failure was recorded. The failure rate is counted per call.
//!
//! A request that was never sent is not counted: it cost nothing, and the connection broke, not the model. Without a
//! network, every model would otherwise be reported as failing. Calls to a server that cannot be reached are therefore
//! always tried; they fail quickly and with a better reason.
//!
//! Invariants: [`Breaker`] is pure, the time is passed in; a call counts at most once; a call that was admitted before
//! the circuit last changed does not count.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parallel_llm_engine::{Code, Failure, ModelRef};
use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

/// This many failures in a row open a circuit. One call has three tries, so the fifth failure comes from another call.
const STREAK_MAX: usize = 5;
/// A model that fails every second time opens its circuit too, after at least this many calls within [`WINDOW`].
const WINDOW_CALLS_MIN: usize = 10;
/// The period over which the failure rate is counted.
const WINDOW: Duration = Duration::from_secs(60);
/// The most calls that are counted; the newest are kept. As many as one key makes at once.
const WINDOW_CALLS_MAX: usize = 64;
/// How long an open circuit stays open: about as long as an overloaded model needs, and short enough for a person to
/// wait. If a probe has reported nothing after this time, the next call probes as well.
const OPEN_FOR: Duration = Duration::from_secs(30);
/// The wait that is reported while a probe is running, whose end is unknown.
const PROBE_WAIT: Duration = Duration::from_secs(1);
/// The most models that are remembered.
const BREAKERS_MAX: usize = 1024;
/// Characters of the last failure that are repeated.
const LAST_CHARS_MAX: usize = 160;
/// The codes that count as a failure of the model.
const COUNTED_FAILURES: [Code; 4] = [Code::Upstream, Code::Connection, Code::Timeout, Code::Protocol];

/// The state of a circuit that is not closed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Circuit {
    /// The model that is not called.
    pub model: ModelRef,
    /// Whether it is open or half open.
    pub state: CircuitState,
    /// The failures that opened it, plus those of the probes since.
    pub failures: usize,
    /// Milliseconds until a call may try again; 0 if the next one may.
    pub wait_ms: u64,
    /// The message of the last failure, shortened.
    pub last: String,
}

/// Whether a circuit is open or half open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CircuitState {
    /// Calls fail at once.
    Open,
    /// The wait is over: one call is probing, or the next one will.
    HalfOpen,
}

/// The circuits of all models.
#[derive(Debug, Default)]
pub(crate) struct Breakers {
    table: Mutex<BreakerTable>,
}

/// A call that was admitted and has to report its result. If it is dropped without a report, the next call becomes the
/// probe.
#[derive(Debug)]
pub(crate) struct Token {
    breakers: Arc<Breakers>,
    model: ModelRef,
    /// The number of the call among all admitted calls, from 1.
    number: u64,
    is_recorded: AtomicBool,
}

impl Breakers {
    /// Fails if the model is not called now.
    pub(crate) fn check(&self, model: &ModelRef) -> Result<(), Failure> {
        let (table, now) = (self.lock(), Instant::now());
        let Some(breaker) = table.breakers.get(model) else { return Ok(()) };
        breaker.verdict(now).map(|_| ()).map_err(|wait| breaker.refusal(model, wait))
    }

    /// Admits a call, as the probe if one is due.
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

    /// The call has failed; decides whether that counts.
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

/// The state of all models.
#[derive(Debug, Default)]
struct BreakerTable {
    breakers: BTreeMap<ModelRef, Breaker>,
    /// How many calls have been admitted.
    calls: u64,
}

impl BreakerTable {
    /// Records the result of a call: an error message, or success.
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

    /// Forgets the model with the oldest report, closed circuits first.
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

/// The state of one model.
#[derive(Debug, Default)]
struct Breaker {
    phase: Phase,
    /// The newest call that had been admitted when the circuit last opened or closed.
    changed_after: u64,
    /// Failures in a row; calls that ran at the same time count as one.
    streak: usize,
    /// The newest call that had been admitted when the streak last grew.
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
    /// A probe is running.
    Probed {
        /// The number of the probing call.
        by: u64,
        /// How long to wait for it.
        until: Instant,
    },
}

/// Which call reported, and when.
#[derive(Clone, Copy, Debug)]
struct CallReport {
    number: u64,
    /// The newest call that had been admitted by then.
    newest: u64,
    at: Instant,
}

impl Breaker {
    /// `Ok(true)` if a call may go as the probe, `Ok(false)` if it may simply go, or how long it should wait.
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

    /// Whether the streak is too long or the failure rate too high.
    fn is_failing(&self) -> bool {
        let are_enough = self.calls.len() >= WINDOW_CALLS_MIN;
        self.streak >= STREAK_MAX || (are_enough && 2 * self.failures_in_window() >= self.calls.len())
    }

    /// The failures among the counted calls.
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
        // The engine must not retry: the whole panel would wait for half a minute.
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
