//! Extends the leases of this process's runs and jobs, on a thread and a connection of their own: whatever the writer waits
//! for, a healthy process keeps its runs.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parallel_llm_engine::RunId;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use super::held_leases::{HeldLeases, Moment};
use crate::database::WriteConnection;
use crate::row::ownership::Owner;
use crate::system::error::DatabaseError;
use crate::writer::WriterTimes;

/// The part of a lease that one attempt may wait for locks of others.
const LOCK_WAIT_PART: u32 = 6;

/// The heartbeat of a store.
#[derive(Debug)]
pub(crate) struct Heartbeat {
    connection: WriteConnection,
    times: WriterTimes,
    leases: Arc<HeldLeases>,
    owner: String,
    commits: Arc<AtomicU64>,
}

impl Heartbeat {
    pub(crate) fn new(
        connection: WriteConnection,
        times: WriterTimes,
        leases: Arc<HeldLeases>,
        commits: Arc<AtomicU64>,
    ) -> Self {
        Self { connection, times, leases, owner: Owner::current().to_string(), commits }
    }

    /// Beats until it is stopped.
    pub(crate) async fn run(mut self, stop: CancellationToken) {
        let mut ticks = tokio::time::interval(self.times.heartbeat);
        // Missed heartbeats are not made up for, since one is as good as three.
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled() => return,
                _ = ticks.tick() => {}
            }
            // Another heartbeat follows long before the leases end, so a failure is not reported.
            if self.leases.is_wanted() && self.beat().is_ok() {
                self.commits.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    fn beat(&mut self) -> Result<(), DatabaseError> {
        let wait = self.wait();
        let held = self.leases.held();
        let since = Moment::now();
        self.leases.set_jobs(false);
        let extended = self.connection.extend_leases(&self.owner, self.times.lease, wait);
        let extended = extended.inspect_err(|_| self.leases.set_jobs(true))?;
        if extended.jobs > 0 {
            self.leases.set_jobs(true);
        }
        for (run_id, epoch) in &extended.runs {
            self.leases.refresh(*run_id, *epoch, since);
        }
        if !self.connection.is_on_server() {
            // In a file, an owner that is alive keeps its runs.
            return Ok(());
        }
        // A run may be missing because it is closed, because its row is locked at the moment, or because it is lost.
        let known: BTreeSet<(RunId, u64)> = extended.runs.into_iter().collect();
        let missing: Vec<(RunId, u64)> = held.into_iter().filter(|held| !known.contains(held)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        // One read for all: the next beat must come before the leases end.
        let ids: Vec<RunId> = missing.iter().map(|(run_id, _)| *run_id).collect();
        let newest = self.connection.read(wait, |reader| reader.epochs(&ids))?;
        for (run_id, epoch) in missing {
            match newest.get(&run_id) {
                Some((newest, _)) if *newest > epoch => self.leases.overtake(run_id, epoch),
                // Its row is locked at the moment.
                Some((_, false)) => {}
                Some((_, true)) | None => self.leases.drop_epoch(run_id, epoch),
            }
        }
        Ok(())
    }

    fn wait(&self) -> Duration {
        self.times.wait.min(self.times.lease / LOCK_WAIT_PART)
    }
}
