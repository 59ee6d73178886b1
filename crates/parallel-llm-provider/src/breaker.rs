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
//! What always holds: [`Breaker`] is pure, the time is given; a call counts once at most; what a call says that was let
//! in before the circuit last changed is old news and not counted.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use parallel_llm_engine::{Code, Failure, ModelRef};
use tokio::time::Instant;

/// So many failures in a row open a circuit. One call has three tries; the fifth failure is another call's.
const STREAK_MAX: usize = 5;
/// A model that fails every other time is no use either, once enough calls have shown it within [`WINDOW`].
const WINDOW_CALLS_MIN: usize = 10;
/// How far back calls are looked at.
const WINDOW: Duration = Duration::from_secs(60);
/// Calls that are looked at; the newest count. As many as a key makes at once.
const WINDOW_CALLS_MAX: usize = 64;
/// How long an open circuit stays so: an overloaded model needs about that long, and a person can bear it.
const OPEN_FOR: Duration = Duration::from_secs(30);
/// What is said to wait while a probe is out, whose end nobody knows.
const PROBE_WAIT: Duration = Duration::from_secs(1);
/// Models that are remembered.
const BREAKERS_MAX: usize = 1024;
/// Characters of the last failure that are repeated.
const LAST_CHARS_MAX: usize = 160;
/// What counts as a failure.
const FAULTS: [Code; 4] = [Code::Upstream, Code::Connection, Code::Timeout, Code::Protocol];

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
    book: Mutex<Book>,
}

/// One call that was let in, and the duty to tell what became of it. Dropping it untold leaves the probe to the next.
#[derive(Debug)]
pub(crate) struct Token {
    breakers: Arc<Breakers>,
    model: ModelRef,
    /// How often circuits had changed when it was given.
    changes: u64,
    is_probe: bool,
    is_told: bool,
}

impl Breakers {
    /// Fails where the model is not asked now.
    pub(crate) fn check(&self, model: &ModelRef) -> Result<(), Failure> {
        let (book, now) = (self.book(), Instant::now());
        let Some(breaker) = book.breakers.get(model) else { return Ok(()) };
        breaker.verdict(now).map(|_| ()).map_err(|wait| breaker.refusal(model, wait))
    }

    /// Lets a call in, as the probe where the time for one has come.
    pub(crate) fn enter(self: &Arc<Self>, model: &ModelRef) -> Result<Token, Failure> {
        let (mut book, now) = (self.book(), Instant::now());
        let mut is_probe = false;
        if let Some(breaker) = book.breakers.get_mut(model) {
            is_probe = breaker.verdict(now).map_err(|wait| breaker.refusal(model, wait))?;
            if is_probe {
                breaker.phase = Phase::Probed;
            }
        }
        let (breakers, model, changes) = (Arc::clone(self), model.clone(), book.changes);
        Ok(Token { breakers, model, changes, is_probe, is_told: false })
    }

    /// The circuits that are not closed, by model.
    pub(crate) fn circuits(&self) -> Vec<Circuit> {
        let (book, now) = (self.book(), Instant::now());
        book.breakers.iter().filter_map(|(model, breaker)| breaker.circuit(model, now)).collect()
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Token {
    /// The model has begun to answer.
    pub(crate) fn succeeded(&mut self) {
        self.tell(None);
    }

    /// The call has failed; whether that counts is decided here.
    pub(crate) fn failed(&mut self, failure: &Failure) {
        if FAULTS.contains(&failure.code) {
            self.tell(Some(&failure.message));
        }
    }

    fn tell(&mut self, fault: Option<&str>) {
        if !std::mem::replace(&mut self.is_told, true) {
            self.breakers.book().tell(&self.model, self.changes, fault, Instant::now());
        }
    }
}

impl Drop for Token {
    fn drop(&mut self) {
        if self.is_probe
            && !self.is_told
            && let Some(breaker) = self.breakers.book().breakers.get_mut(&self.model)
            && breaker.changed <= self.changes
            && breaker.phase == Phase::Probed
        {
            breaker.phase = Phase::Open { until: Instant::now() };
        }
    }
}

/// What is known of all models.
#[derive(Debug, Default)]
struct Book {
    breakers: BTreeMap<ModelRef, Breaker>,
    /// How often a circuit has opened or closed.
    changes: u64,
}

impl Book {
    /// Takes in what became of a call that was let in when circuits had changed `seen` times: a fault, or none.
    fn tell(&mut self, model: &ModelRef, seen: u64, fault: Option<&str>, now: Instant) {
        if !self.breakers.contains_key(model) {
            self.make_room();
            self.breakers.insert(model.clone(), Breaker::default());
        }
        let breaker = self.breakers.get_mut(model).expect("it was made above");
        if breaker.changed <= seen && breaker.tell(fault, now) {
            self.changes += 1;
            breaker.changed = self.changes;
        }
    }

    /// Forgets the model that was heard of longest ago, one whose circuit is closed first.
    fn make_room(&mut self) {
        if self.breakers.len() < BREAKERS_MAX {
            return;
        }
        let age = |breaker: &Breaker| (breaker.phase != Phase::Closed, breaker.heard_at);
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
    /// The number of its last opening or closing.
    changed: u64,
    /// When calls ended and whether they failed, the newest last.
    calls: VecDeque<(Instant, bool)>,
    /// The failures that opened the circuit.
    failures: usize,
    last: String,
    heard_at: Option<Instant>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Phase {
    #[default]
    Closed,
    Open {
        until: Instant,
    },
    /// The probe is on its way.
    Probed,
}

impl Breaker {
    /// Whether a call may go, and if so whether it is the probe; otherwise how long it should wait.
    fn verdict(&self, now: Instant) -> Result<bool, Duration> {
        match self.phase {
            Phase::Closed => Ok(false),
            Phase::Open { until } if now >= until => Ok(true),
            Phase::Open { until } => Err(until - now),
            Phase::Probed => Err(PROBE_WAIT),
        }
    }

    /// Counts a call, and says whether that opened or closed the circuit.
    fn tell(&mut self, fault: Option<&str>, now: Instant) -> bool {
        self.heard_at = Some(now);
        if let Some(words) = fault {
            self.last = words.chars().take(LAST_CHARS_MAX).collect();
        }
        if self.phase == Phase::Closed {
            self.count(fault.is_some(), now);
            let opens = fault.is_some() && self.is_failing();
            if opens {
                self.failures = self.calls.iter().filter(|(_, failed)| *failed).count();
                self.phase = Phase::Open { until: now + OPEN_FOR };
            }
            return opens;
        }
        self.calls.clear();
        self.failures += usize::from(fault.is_some());
        self.phase = if fault.is_some() { Phase::Open { until: now + OPEN_FOR } } else { Phase::Closed };
        true
    }

    fn count(&mut self, failed: bool, now: Instant) {
        self.calls.push_back((now, failed));
        // A streak may be older than the window, so as many as make one are kept.
        let is_old = |(at, _): &(Instant, bool)| now - *at > WINDOW;
        while self.calls.len() > WINDOW_CALLS_MAX
            || (self.calls.len() > STREAK_MAX && self.calls.front().is_some_and(is_old))
        {
            self.calls.pop_front();
        }
    }

    /// Whether the newest calls all failed, or half of enough.
    fn is_failing(&self) -> bool {
        let streak = self.calls.iter().rev().take_while(|(_, failed)| *failed).count();
        let failures = self.calls.iter().filter(|(_, failed)| *failed).count();
        streak >= STREAK_MAX || (self.calls.len() >= WINDOW_CALLS_MIN && 2 * failures >= self.calls.len())
    }

    fn refusal(&self, model: &ModelRef, wait: Duration) -> Failure {
        let until = match self.phase {
            Phase::Probed => "while another call tries it".to_owned(),
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
            Phase::Open { .. } | Phase::Probed => (CircuitState::HalfOpen, Duration::ZERO),
        };
        let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        let (failures, last) = (self.failures, self.last.clone());
        Some(Circuit { model: model.clone(), state, failures, wait_ms, last })
    }
}

#[cfg(test)]
mod tests;
