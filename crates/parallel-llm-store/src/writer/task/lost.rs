//! Runs that this process no longer writes, which are given back so that anybody can continue them.

use parallel_llm_engine::port::Lease;

use super::WriterTask;
use crate::writer::job::{Admission, Done, Work};

/// Most runs waiting to be released: those in progress when the database stopped accepting writes, and those that could
/// not begin since. Further ones are not remembered.
const LOST_MAX: usize = 4_096;

/// The lease of a run that the database may have given to this process although the commit was not confirmed: nobody would do it.
pub(super) fn taken_in_vain(answer: &Admission<Done>) -> Option<Lease> {
    match answer {
        Ok(Done::TakenOver(taken)) => Some(taken.lease),
        _ => None,
    }
}

impl WriterTask {
    /// Notes leases that this process does not use.
    pub(super) fn lose(&mut self, leases: impl IntoIterator<Item = Lease>) {
        self.lost.extend(leases);
        self.lost.truncate(LOST_MAX);
    }

    /// The lease of a run that may be in the database although its beginning is refused: its commit was not confirmed.
    pub(super) fn begun_in_vain(&self, work: &Work) -> Option<Lease> {
        let Work::Append { lease, batch } = work else { return None };
        (!batch.continues() && self.unconfirmed.has_run(lease.run_id)).then_some(*lease)
    }

    /// Releases lost runs in a transaction of its own, so that other work is not delayed. `false` if the database takes nothing
    /// at the moment, so that nothing else waits for it again.
    pub(super) fn release_lost(&mut self) -> bool {
        if self.lost.is_empty() {
            return true;
        }
        // On failure it is retried with the next beat and before the next work.
        match self.transact(&[&Work::Release(self.lost.clone())]) {
            Ok(_) => self.lost.clear(),
            Err(cause) => return !cause.is_passing(),
        }
        true
    }
}
