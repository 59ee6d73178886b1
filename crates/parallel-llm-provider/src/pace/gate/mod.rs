//! A shared wait for rate limits: after a 429 no call is sent until the wait is over, and then one call goes first.
//!
//! A provider that answers 429 would answer it to every similar call. So a 429 closes a gate: that of the model, or of
//! all calls the limit applies to ([`Scope`]). When the wait is over one call passes as a probe, and the others wait
//! for the first byte of its answer instead of each getting a 429. If a probe gives no result, because it was dropped
//! or failed otherwise, the next call probes. Once the gate is open, the waiting calls are released one by one, not all
//! at once.
//!
//! Invariants: a waiting call holds nothing but a count, and leaves nothing behind when it is dropped; no call waits
//! longer than [`WAIT_TOTAL_MAX`] in total; a call that was sent before a gate closed does not close it again, so that
//! calls sent together count as one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parallel_llm_engine::{Code, Failure, ModelRef, ProviderId};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use crate::wire::classify::Scope;

/// The shortest and the longest wait if a 429 does not give one. A second is what providers usually ask for; after
/// eight a failure is better than more waiting, as with the engine's own waits.
const BACKOFF: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(8));
/// If a gate closes again within this time, its wait doubles; later it starts again from the shortest.
const BACKOFF_RESET_AFTER: Duration = Duration::from_secs(10);
/// A call that would have to wait longer fails at once, and its failure says how long. Equal to the engine's
/// `RETRY_AFTER_MAX`, for the same reason.
const WAIT_MAX: Duration = Duration::from_secs(60);
/// The longest a call waits in total, several waits and probes included. Otherwise a hundred calls at a limit that
/// stays would wait for their probes one by one, for a quarter of an hour.
const WAIT_TOTAL_MAX: Duration = Duration::from_secs(120);
/// After this time one call probes even if the provider asked for a longer wait: a daily limit may have been lifted,
/// and a 429 costs nothing.
const PROBE_AFTER_MAX: Duration = Duration::from_secs(10 * 60);
/// A probe without a 429 by then is running or stuck in a queue, so the next call may go as well. A 429 comes within a
/// second.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);
/// The average interval between the waiting calls when the gate opens: fifty calls a second.
const RELEASE_INTERVAL: Duration = Duration::from_millis(20);
/// The longest time over which they are released; above a hundred calls the interval is shorter.
const RELEASE_SPREAD_MAX: Duration = Duration::from_secs(2);
/// The most gates that are remembered. Only a 429 makes a gate, so this is far more than needed.
const GATES_MAX: usize = 1024;
/// 2⁶⁴ divided by the golden ratio: its multiples are spread evenly over the range, however many there are.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// All gates: one for each model, key and key's free models that ever got a 429.
#[derive(Debug, Default)]
pub(crate) struct Gates {
    table: Mutex<GateTable>,
    /// Wakes all waiting calls so that they check again. Gates change rarely.
    changed: Notify,
}

/// A waiting call, over all its waits.
#[derive(Debug, Default)]
pub(crate) struct Waiter {
    /// Its position in the release order, once it has had to wait.
    ticket: Option<u64>,
    waited: Duration,
}

/// The permission to send one call, which has to report its result. If it is dropped without a report, the next call
/// becomes the probe.
#[derive(Debug)]
pub(crate) struct Pass {
    gates: Arc<Gates>,
    model: ModelRef,
    /// How often gates had closed when it was given.
    closings: u64,
    /// The gates this call probes.
    probes: Vec<GateKey>,
}

impl Gates {
    /// Waits until a call to this model may try to [`enter`](Self::enter). Fails if that would take too long.
    pub(crate) async fn wait(&self, model: &ModelRef, waiter: &mut Waiter) -> Result<(), Failure> {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            // From here on no change is missed.
            changed.as_mut().enable();
            let now = Instant::now();
            let (waiting, until) = match self.lock().decide(model, &mut waiter.ticket, now) {
                Decision::Proceed => return Ok(()),
                Decision::Refuse(name, wait) => return Err(name.refusal(wait)),
                Decision::Wait(name, until) => (Waiting { gates: self, name }, until),
            };
            if waiter.waited + (until - now) > WAIT_TOTAL_MAX {
                return Err(waiting.name.refusal(until - now));
            }
            tokio::select! { () = changed => {}, () = sleep_until(until) => {} }
            drop(waiting);
            waiter.waited += now.elapsed();
        }
    }

    /// Enters all gates of the model at once, if they are open or due for a probe.
    pub(crate) fn enter(self: &Arc<Self>, model: &ModelRef) -> Option<Pass> {
        let (closings, probes) = self.lock().enter(model, Instant::now())?;
        Some(Pass { gates: Arc::clone(self), model: model.clone(), closings, probes })
    }

    fn lock(&self) -> MutexGuard<'_, GateTable> {
        self.table.lock()
    }
}

impl Pass {
    /// The provider has begun to answer: the probed gates are open.
    pub(crate) fn reply_began(&mut self) {
        self.settle(Gate::open);
    }

    /// The provider has answered 429 and possibly how long to wait.
    pub(crate) fn limited(&mut self, scope: Scope, requested: Option<Duration>) {
        let name = GateKey::of(&self.model, scope, requested);
        self.probes.retain(|probe| *probe != name);
        self.gates.lock().close(name, requested, self.closings, Instant::now());
        self.gates.changed.notify_waiters();
    }

    fn settle(&mut self, change: impl Fn(&mut Gate, Instant)) {
        if self.probes.is_empty() {
            return;
        }
        let (mut table, now) = (self.gates.lock(), Instant::now());
        for name in self.probes.drain(..) {
            // The gate may have been forgotten meanwhile and made again.
            if let Some(gate) = table.gates.get_mut(&name).filter(|gate| gate.closing <= self.closings) {
                change(gate, now);
            }
        }
        drop(table);
        self.gates.changed.notify_waiters();
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        self.settle(Gate::release_probe);
    }
}

/// Counts a call as waiting at a gate while it exists.
struct Waiting<'a> {
    gates: &'a Gates,
    name: GateKey,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some(gate) = self.gates.lock().gates.get_mut(&self.name) {
            gate.waiting = gate.waiting.saturating_sub(1);
        }
    }
}

/// Which calls a gate stops.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum GateKey {
    Model(ModelRef),
    Free(ProviderId),
    Key(ProviderId),
}

impl GateKey {
    /// The gate that a 429 of this scope closes. A limit on free models does not affect paid ones. Limits on a whole
    /// key are short; a longer wait is something else, and one call's answer is not enough to refuse all others.
    fn of(model: &ModelRef, scope: Scope, requested: Option<Duration>) -> Self {
        match scope {
            Scope::Key if requested.is_none_or(|wait| wait <= WAIT_MAX) => Self::Key(model.provider.clone()),
            Scope::FreeModels if is_free(model) => Self::Free(model.provider.clone()),
            _ => Self::Model(model.clone()),
        }
    }

    /// The gates a call passes.
    fn all_of(model: &ModelRef) -> impl Iterator<Item = Self> {
        let free = is_free(model).then(|| Self::Free(model.provider.clone()));
        [Self::Model(model.clone()), Self::Key(model.provider.clone())].into_iter().chain(free)
    }

    fn refusal(&self, wait: Duration) -> Failure {
        let seconds = wait.as_secs().max(1);
        let (provider, what) = match self {
            Self::Model(model) => (&model.provider, format!("`{}` is", model.model)),
            Self::Free(provider) => (provider, "free models are".to_owned()),
            Self::Key(provider) => (provider, "everything with this key is".to_owned()),
        };
        let message =
            format!("{provider} told an earlier call to wait: {what} limited for another {seconds} s");
        Failure::new(Code::RateLimited, message).with_retry_after(Some(wait)).never_sent()
    }
}

/// OpenRouter's suffix for a free model, which shares a limit with all other free models.
fn is_free(model: &ModelRef) -> bool {
    model.model.ends_with(":free")
}

/// The state of all gates. Pure: the time is passed in.
#[derive(Debug, Default)]
struct GateTable {
    gates: BTreeMap<GateKey, Gate>,
    /// How often a gate has closed.
    closings: u64,
    /// How many calls have waited.
    tickets: u64,
}

/// The next action of a call.
enum Decision {
    Proceed,
    Wait(GateKey, Instant),
    Refuse(GateKey, Duration),
}

impl GateTable {
    /// Counts the call as waiting if it has to wait.
    fn decide(&mut self, model: &ModelRef, ticket: &mut Option<u64>, now: Instant) -> Decision {
        if self.gates.is_empty() {
            return Decision::Proceed;
        }
        for name in GateKey::all_of(model) {
            let Some(gate) = self.gates.get_mut(&name) else { continue };
            match gate.verdict(*ticket, now) {
                Verdict::Pass | Verdict::Probe => {}
                Verdict::Refuse(wait) => return Decision::Refuse(name, wait),
                Verdict::Wait(until) => {
                    gate.waiting += 1;
                    ticket.get_or_insert_with(|| {
                        self.tickets += 1;
                        self.tickets
                    });
                    return Decision::Wait(name, until);
                }
            }
        }
        Decision::Proceed
    }

    /// Enters all gates or none. Returns how often gates have closed so far, and the gates that are probed.
    fn enter(&mut self, model: &ModelRef, now: Instant) -> Option<(u64, Vec<GateKey>)> {
        if self.gates.is_empty() {
            return Some((self.closings, Vec::new()));
        }
        let mut probes = Vec::new();
        for name in GateKey::all_of(model) {
            match self.gates.get(&name).map(|gate| gate.verdict(None, now)) {
                None | Some(Verdict::Pass) => {}
                Some(Verdict::Probe) => probes.push(name),
                Some(Verdict::Wait(_) | Verdict::Refuse(_)) => return None,
            }
        }
        for name in &probes {
            self.gates.get_mut(name).expect("it was found above").state = State::Probed { since: now };
        }
        Some((self.closings, probes))
    }

    /// Closes a gate. `seen` is how often gates had closed when the reporting call was admitted.
    fn close(&mut self, name: GateKey, requested: Option<Duration>, seen: u64, now: Instant) {
        // With a wait of zero all calls would be sent again at once.
        let requested = requested.filter(|wait| !wait.is_zero());
        let known = self.gates.get_mut(&name);
        if let Some(gate) = known.filter(|gate| gate.closing > seen) {
            return gate.extend(requested, now);
        }
        self.closings += 1;
        let gate = self.gates.entry(name).or_insert_with(|| Gate::new(now));
        gate.closing = self.closings;
        gate.close(requested, now);
        if self.gates.len() > GATES_MAX {
            self.forget_one();
        }
    }

    /// Forgets the gate that closed longest ago, open ones first.
    fn forget_one(&mut self) {
        let oldest = self.gates.iter().min_by_key(|(_, gate)| (!gate.is_open(), gate.closing));
        if let Some(name) = oldest.map(|(name, _)| name.clone()) {
            self.gates.remove(&name);
        }
    }
}

/// One gate.
#[derive(Debug)]
struct Gate {
    state: State,
    /// The number of its last closing.
    closing: u64,
    /// How long the provider asked to wait.
    until: Instant,
    /// When a probe may be sent: at `until`, or earlier if that is too far away.
    probe_at: Instant,
    /// How often it has closed in a row.
    closings_in_a_row: u32,
    /// How many calls are waiting.
    waiting: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Closed,
    /// A probe is running.
    Probed {
        since: Instant,
    },
    /// The waiting calls are released over the spread.
    Open {
        since: Instant,
        spread: Duration,
    },
}

#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Pass,
    Probe,
    /// Until then, or until something changes.
    Wait(Instant),
    Refuse(Duration),
}

impl Gate {
    /// A gate that has always been open.
    const fn new(now: Instant) -> Self {
        let state = State::Open { since: now, spread: Duration::ZERO };
        Self { state, closing: 0, until: now, probe_at: now, closings_in_a_row: 0, waiting: 0 }
    }

    /// The verdict for a call with this ticket, or for one that has not waited.
    fn verdict(&self, ticket: Option<u64>, now: Instant) -> Verdict {
        let left = self.until.saturating_duration_since(now);
        match self.state {
            State::Open { since, spread } => {
                let leaves_at = since + spread.mul_f64(ticket.map_or(0.0, share));
                if now >= leaves_at { Verdict::Pass } else { Verdict::Wait(leaves_at) }
            }
            State::Closed if now >= self.probe_at => Verdict::Probe,
            State::Probed { since } if now - since >= PROBE_TIMEOUT => Verdict::Probe,
            _ if left > WAIT_MAX => Verdict::Refuse(left),
            State::Closed => Verdict::Wait(self.probe_at),
            State::Probed { since } => Verdict::Wait(since + PROBE_TIMEOUT),
        }
    }

    fn close(&mut self, requested: Option<Duration>, now: Instant) {
        self.closings_in_a_row = match self.state {
            State::Open { since, .. } if self.closings_in_a_row == 0 || now - since > BACKOFF_RESET_AFTER => {
                1
            }
            _ => self.closings_in_a_row.saturating_add(1),
        };
        let (shortest, longest) = BACKOFF;
        let doublings = (self.closings_in_a_row - 1).min(u32::BITS - 1);
        let own = shortest.checked_mul(1 << doublings).map_or(longest, |wait| wait.min(longest));
        self.state = State::Closed;
        self.close_for(requested.unwrap_or(own), now);
    }

    /// Applies the wait that another call sent at the same time got.
    fn extend(&mut self, requested: Option<Duration>, now: Instant) {
        if let Some(requested) =
            requested.filter(|requested| self.state == State::Closed && now + *requested > self.until)
        {
            self.close_for(requested, now);
        }
    }

    fn close_for(&mut self, wait: Duration, now: Instant) {
        self.until = now + wait;
        self.probe_at = now + wait.min(PROBE_AFTER_MAX);
    }

    fn open(&mut self, now: Instant) {
        self.state =
            State::Open { since: now, spread: (RELEASE_INTERVAL * self.waiting).min(RELEASE_SPREAD_MAX) };
    }

    /// The probe gave no result: the next call may probe.
    fn release_probe(&mut self, now: Instant) {
        if matches!(self.state, State::Probed { .. }) {
            self.state = State::Closed;
            self.probe_at = now;
        }
    }

    const fn is_open(&self) -> bool {
        matches!(self.state, State::Open { .. })
    }
}

/// The position of a ticket in the spread, from 0 up to 1. Consecutive tickets are far apart.
fn share(ticket: u64) -> f64 {
    (ticket.wrapping_mul(GOLDEN) >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests;
