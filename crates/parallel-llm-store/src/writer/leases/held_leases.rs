//! The leases of this process's runs by its own monotonic clock.
//!
//! A lease counts from the moment before the database was asked to extend it, so it ends here no later than there. Invariant:
//! what [`HeldLeases::holds`] denies may belong to another process, and nothing may be sent for it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use parallel_llm_engine::RunId;
use parallel_llm_engine::port::Lease;
use parking_lot::Mutex;
use tokio::sync::watch;

use super::local_runs::RUNS_MAX;
use crate::system::clock;

/// The part of a lease that is kept back, so that a request that leaves at its end is on its way before another process may
/// begin: one second of twelve.
const MARGIN_PART: u32 = 12;

/// The leases of this process's runs.
#[derive(Debug)]
pub(crate) struct HeldLeases {
    leases: Mutex<Leases>,
    /// How long a lease lasts.
    length: Duration,
    /// Whether a lease that is over may be taken: not where all processes see that its owner is alive.
    ends: bool,
    /// Whether this process may have claimed jobs of batches, whose leases the database alone knows.
    has_jobs: AtomicBool,
    /// Sent when a run is found to be taken over.
    changed: watch::Sender<()>,
}

#[derive(Debug, Default)]
struct Leases {
    held: BTreeMap<RunId, HeldLease>,
    /// Runs that other processes have taken over, with the epoch that this process had.
    overtaken: BTreeSet<(RunId, u64)>,
}

/// A lease as it was last extended.
#[derive(Clone, Copy, Debug)]
struct HeldLease {
    epoch: u64,
    /// The moment before the database was asked for it.
    since: Moment,
}

/// A moment on two clocks. The monotonic one stands still while the machine sleeps; the wall clock does not, but may be set.
/// A lease is over if either says so.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    monotonic: Instant,
    wall_ms: i64,
}

impl Moment {
    pub(crate) fn now() -> Self {
        Self { monotonic: clock::shared_now(), wall_ms: clock::now_ms() }
    }

    /// The time since then.
    pub(crate) fn elapsed(self) -> Duration {
        let now = Self::now();
        let by_wall = u64::try_from(now.wall_ms - self.wall_ms).unwrap_or_default();
        (now.monotonic - self.monotonic).max(Duration::from_millis(by_wall))
    }
}

impl HeldLeases {
    pub(crate) fn new(length: Duration, ends: bool) -> Self {
        Self {
            leases: Mutex::default(),
            length,
            ends,
            has_jobs: AtomicBool::new(false),
            changed: watch::Sender::default(),
        }
    }

    /// The database extended the lease of a run; it was asked at this moment or later.
    pub(crate) fn extended(&self, run_id: RunId, epoch: u64, since: Moment) {
        let mut leases = self.leases.lock();
        if leases.held.len() >= RUNS_MAX && !leases.held.contains_key(&run_id) {
            leases.held.pop_first();
        }
        leases.held.insert(run_id, HeldLease { epoch, since });
    }

    /// The same for a beat, whose answer may come late: only for a lease that is still held under this epoch.
    pub(super) fn refresh(&self, run_id: RunId, epoch: u64, since: Moment) {
        let mut leases = self.leases.lock();
        if let Some(held) = leases.held.get_mut(&run_id).filter(|held| held.epoch == epoch) {
            held.since = since;
        }
    }

    /// Whether this process may act for the run.
    pub(crate) fn holds(&self, lease: Lease) -> bool {
        let leases = self.leases.lock();
        if !self.ends {
            return !leases.overtaken.contains(&(lease.run_id, lease.epoch));
        }
        let usable = self.length.saturating_sub(self.length / MARGIN_PART);
        let held = leases.held.get(&lease.run_id).filter(|held| held.epoch == lease.epoch);
        held.is_some_and(|held| held.since.elapsed() < usable)
    }

    /// Another process has taken the run over since this epoch.
    pub(crate) fn overtake(&self, run_id: RunId, epoch: u64) {
        let mut leases = self.leases.lock();
        if leases.held.get(&run_id).is_some_and(|held| held.epoch <= epoch) {
            leases.held.remove(&run_id);
        }
        if leases.overtaken.len() >= RUNS_MAX {
            leases.overtaken.pop_first();
        }
        leases.overtaken.insert((run_id, epoch));
        drop(leases);
        self.changed.send_replace(());
    }

    /// Returns when another process is known to have taken the run over.
    pub(crate) async fn overtaken(&self, lease: Lease) {
        let mut changed = self.changed.subscribe();
        while !self.leases.lock().overtaken.contains(&(lease.run_id, lease.epoch)) {
            // The sender lives in `self`, so waiting cannot fail.
            let _ = changed.changed().await;
        }
    }

    /// Forgets the lease of a run that is closed.
    pub(crate) fn drop_lease(&self, run_id: RunId) {
        self.leases.lock().held.remove(&run_id);
    }

    /// The same, unless a later epoch is held by now.
    pub(super) fn drop_epoch(&self, run_id: RunId, epoch: u64) {
        let mut leases = self.leases.lock();
        if leases.held.get(&run_id).is_some_and(|held| held.epoch == epoch) {
            leases.held.remove(&run_id);
        }
    }

    /// The runs whose leases are to be extended.
    pub(super) fn held(&self) -> Vec<(RunId, u64)> {
        self.leases.lock().held.iter().map(|(run_id, held)| (*run_id, held.epoch)).collect()
    }

    /// Notes whether this process may have claimed jobs.
    pub(crate) fn set_jobs(&self, has_jobs: bool) {
        self.has_jobs.store(has_jobs, Ordering::SeqCst);
    }

    /// Whether there is anything to extend.
    pub(super) fn is_wanted(&self) -> bool {
        self.has_jobs.load(Ordering::SeqCst) || !self.leases.lock().held.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_ends_by_its_own_clock_and_belongs_to_one_epoch() {
        let leases = HeldLeases::new(Duration::from_millis(120), true);
        let run_id = RunId::from_parts(1, 1);
        let lease = |epoch| Lease { run_id, epoch, next_seq: 1 };
        assert!(!leases.holds(lease(1)), "nothing is known of it");
        let long_ago = Moment { wall_ms: clock::now_ms() - 115, ..Moment::now() };
        leases.extended(run_id, 1, long_ago);
        assert!(!leases.holds(lease(1)), "an old answer extends nothing");
        leases.extended(run_id, 1, Moment::now());
        assert_eq!((leases.holds(lease(1)), leases.holds(lease(2))), (true, false));
        leases.overtake(run_id, 1);
        assert!(!leases.holds(lease(1)) && !leases.is_wanted());
    }

    #[test]
    fn an_owner_that_is_seen_to_be_alive_keeps_its_runs() {
        let leases = HeldLeases::new(Duration::from_millis(120), false);
        let lease = Lease { run_id: RunId::from_parts(1, 1), epoch: 1, next_seq: 1 };
        assert!(leases.holds(lease), "nobody else may take it");
        leases.overtake(lease.run_id, lease.epoch);
        assert!(!leases.holds(lease));
    }
}
