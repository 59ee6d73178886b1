//! What may be in the database although its commit was not confirmed: a connection may be cut before the answer.
//!
//! An append is looked for before it is written again. A claim has no worker, and the leases of this process keep others away,
//! so it is given back before this process claims again.

use std::collections::{BTreeMap, BTreeSet};

use parallel_llm_engine::{BatchId, RunId};

use super::job::{Admission, Done, Work};
use super::leases::local_runs::RUNS_MAX;
use crate::row::integer;

/// What is unconfirmed, and the claims that are confirmed.
#[derive(Debug, Default)]
pub(super) struct Unconfirmed {
    /// Runs of this process with an append that may be in the database.
    runs: BTreeSet<RunId>,
    /// Batches with claims that may be in the database.
    batches: BTreeSet<BatchId>,
    /// The lines that workers of this process were told of, and have not ended.
    claimed: BTreeMap<BatchId, BTreeSet<i64>>,
}

impl Unconfirmed {
    /// Whether an append to this run may be in the database.
    pub(super) fn has_run(&self, run_id: RunId) -> bool {
        self.runs.contains(&run_id)
    }

    /// If the database may have more claims on a batch than workers were told of: the lines that they were told of.
    pub(super) fn lines_beside(&self, batch_id: BatchId) -> Option<Vec<i64>> {
        let lines = || self.claimed.get(&batch_id).into_iter().flatten().copied().collect();
        self.batches.contains(&batch_id).then(lines)
    }

    /// Notes a commit that was confirmed.
    pub(super) fn confirm(&mut self, works: &[&Work], answers: &[Admission<Done>]) {
        for (work, answer) in works.iter().zip(answers) {
            match (work, answer) {
                (Work::Append { lease, .. }, _) => drop(self.runs.remove(&lease.run_id)),
                (Work::Claim { batch_id, .. }, Ok(Done::Claimed(claims))) => {
                    self.batches.remove(batch_id);
                    let jobs = claims.iter().flat_map(|claims| &claims.jobs);
                    let lines = jobs.map(|job| integer(job.claim.line));
                    self.claimed.entry(*batch_id).or_default().extend(lines);
                }
                (Work::Settle { claim, .. }, _) => {
                    if let Some(lines) = self.claimed.get_mut(&claim.batch_id) {
                        lines.remove(&integer(claim.line));
                    }
                }
                _ => {}
            }
        }
        self.claimed.retain(|_, lines| !lines.is_empty());
    }

    /// Notes a commit that failed.
    pub(super) fn doubt(&mut self, works: &[&Work]) {
        for work in works {
            match work {
                Work::Append { lease, .. } if self.runs.len() < RUNS_MAX => {
                    self.runs.insert(lease.run_id);
                }
                Work::Claim { batch_id, .. } => drop(self.batches.insert(*batch_id)),
                _ => {}
            }
        }
    }
}
