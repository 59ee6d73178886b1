//! A wait that all calls share: after a 429 nobody asks again until its time is over, and then one call goes first.
//!
//! A provider that says "too many" says it to everyone who would ask the same. So a 429 closes a gate: that of the
//! model, or of all the calls its limit is about ([`Scope`]). When the time is over one call passes as a probe, and
//! the others wait for the first byte of its answer: they need not each earn a 429 to learn what one can. A probe that
//! tells nothing, because it was dropped or failed otherwise, leaves its turn to the next. Once the gate is open, those
//! who waited leave one after the other, not as the wave that closed it.
//!
//! What always holds: who waits holds nothing but its place in a count, and leaves nothing behind when it is dropped;
//! nobody waits longer than [`WAIT_TOTAL_MAX`] in all; an answer to a call that was sent before a gate closed does not close it
//! anew, so that one wave counts as one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parallel_llm_engine::{Code, Failure, ModelRef, ProviderId};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use crate::classify::Scope;

/// The shortest and the longest wait of our own choosing, where a 429 does not say. A second is what those ask for that
/// do say; after eight a person is better served by a failure, as with the engine's own waits.
const BACKOFF: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(8));
/// A gate that closes so soon after it opened has met the same crowd, so its own wait doubles; later it begins anew.
const BACKOFF_RESET_AFTER: Duration = Duration::from_secs(10);
/// Who would have to wait longer fails at once and is told when. The engine's `RETRY_AFTER_MAX`, for the same reason.
const WAIT_MAX: Duration = Duration::from_secs(60);
/// Who has waited so long in all fails too: the limit has outlived the longest wait, its probe and more. Otherwise a
/// hundred calls at a limit that stays would wait for their probes one by one, for a quarter of an hour.
const WAIT_TOTAL_MAX: Duration = Duration::from_secs(120);
/// After so long one call asks though the provider has said to wait longer: a day's limit may have been lifted by hand,
/// and a 429 costs nothing.
const PROBE_AFTER_MAX: Duration = Duration::from_secs(10 * 60);
/// A probe that has met no 429 by then is at work or stuck in a queue: the next goes as well. A 429 comes in a second.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);
/// What those who waited keep between them on average when the gate opens: fifty calls a second.
const RELEASE_INTERVAL: Duration = Duration::from_millis(20);
/// The longest that the last of them waits for that; from a hundred on they leave closer together.
const RELEASE_SPREAD_MAX: Duration = Duration::from_secs(2);
/// Gates that are remembered. A gate is made by a 429 only, so this is far more than the models anyone asks.
const GATES_MAX: usize = 1024;
/// 2⁶⁴ divided by the golden ratio: the multiples of it lie evenly over the range, however many there are.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// All gates. One for each model, key and key's free models that ever met a 429.
#[derive(Debug, Default)]
pub(crate) struct Gates {
    table: Mutex<GateTable>,
    /// Wakes all who wait, to look again. Gates change seldom.
    changed: Notify,
}

/// One who waits, through all the rounds it takes.
#[derive(Debug, Default)]
pub(crate) struct Waiter {
    /// Its place in the spread, once it has had to wait.
    ticket: Option<u64>,
    waited: Duration,
}

/// The right to send one call, and the duty to tell what became of it. Dropping it untold leaves the turn to the next.
#[derive(Debug)]
pub(crate) struct Pass {
    gates: Arc<Gates>,
    model: ModelRef,
    /// How often gates had closed when it was given.
    closings: u64,
    /// The gates whose probe this is.
    probes: Vec<GateKey>,
}

impl Gates {
    /// Waits until a call to this model may try to [`enter`](Self::enter). Fails where that would take too long.
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

    /// Passes all gates of the model at once, where they are open or have time for a probe.
    pub(crate) fn enter(self: &Arc<Self>, model: &ModelRef) -> Option<Pass> {
        let (closings, probes) = self.lock().enter(model, Instant::now())?;
        Some(Pass { gates: Arc::clone(self), model: model.clone(), closings, probes })
    }

    fn lock(&self) -> MutexGuard<'_, GateTable> {
        self.table.lock()
    }
}

impl Pass {
    /// The provider has begun to answer: what this call probed is open.
    pub(crate) fn reply_began(&mut self) {
        self.settle(Gate::open);
    }

    /// The provider has answered 429 and, where it said so, how long to wait.
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
            // It may have been forgotten meanwhile, and made anew.
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

/// Counts one who waits at a gate, as long as it does.
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
    /// The gate that a 429 of this scope closes. A limit on free models says nothing of a paid one. What limits a whole
    /// key is counted at once or by the minute; who is told to wait longer has met something else, and one call's word
    /// is not enough to refuse all others.
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

/// OpenRouter's mark of a model that costs nothing and shares a limit with all others such.
fn is_free(model: &ModelRef) -> bool {
    model.model.ends_with(":free")
}

/// What is known of all gates. Pure: the time is given.
#[derive(Debug, Default)]
struct GateTable {
    gates: BTreeMap<GateKey, Gate>,
    /// How often a gate has closed.
    closings: u64,
    /// How many have waited.
    tickets: u64,
}

/// What who wants to pass is told.
enum Decision {
    Proceed,
    Wait(GateKey, Instant),
    Refuse(GateKey, Duration),
}

impl GateTable {
    /// Counts the asker among those who wait, where it has to.
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

    /// Passes all gates or none. Returns how often gates have closed so far, and the gates that are probed.
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
            self.gates.get_mut(name).expect("it was looked at above").state = State::Probed { since: now };
        }
        Some((self.closings, probes))
    }

    /// Closes a gate. `seen` is how often gates had closed when the call was let in that brings the news.
    fn close(&mut self, name: GateKey, requested: Option<Duration>, seen: u64, now: Instant) {
        // A wait of nothing would let them all ask again at once.
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

    /// Forgets the gate that has closed longest ago, an open one first.
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
    /// How long the provider wants to be left alone.
    until: Instant,
    /// When a probe may ask: then, or as long as the provider is believed.
    probe_at: Instant,
    /// How often it has closed in a row.
    closings_in_a_row: u32,
    /// Who waits.
    waiting: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Closed,
    /// One call is on its way.
    Probed {
        since: Instant,
    },
    /// Those who waited leave within the spread.
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
    /// A gate that has been open for ever.
    const fn new(now: Instant) -> Self {
        let state = State::Open { since: now, spread: Duration::ZERO };
        Self { state, closing: 0, until: now, probe_at: now, closings_in_a_row: 0, waiting: 0 }
    }

    /// What one is told who has waited with this ticket, or not waited.
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

    /// Takes in what another call of the same wave was told.
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

    /// The probe has told nothing: the next may ask.
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

/// A ticket's place in the spread, from 0 up to 1. Tickets that follow each other lie far apart.
fn share(ticket: u64) -> f64 {
    (ticket.wrapping_mul(GOLDEN) >> 11) as f64 / (1u64 << 53) as f64
}

#[cfg(test)]
mod tests;
