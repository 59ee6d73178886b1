//! Spills appends that the database did not accept, and imports them later.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use parallel_llm_engine::port::Lease;
use parallel_llm_engine::value::warning::Warning;
use parallel_llm_engine::{Code, Failure};

use super::WriterTask;
use crate::clock;
use crate::error::DatabaseError;
use crate::row::Purpose;
use crate::row::event_batch::EventBatch;
use crate::spill::{self, Spill, Unreadable};
use crate::writer::append;
use crate::writer::cached_run::CachedRun;
use crate::writer::job::{Admission, Done, Work};
use crate::writer::lease::overtaken;

/// Longest time for a file operation: a folder that does not respond must not block others.
const FILE_WAIT: Duration = Duration::from_secs(10);
/// Longest wait for locks to read the epoch of a run.
const EPOCH_WAIT: Duration = Duration::from_secs(2);

/// The result of importing a file.
enum ImportResult {
    /// The events are in the database.
    Imported,
    /// The events do not follow the database's: the run was continued without them, or no longer exists.
    SetAside,
    /// The file is damaged.
    Damaged,
    /// The file cannot be imported now.
    Waits,
}

impl WriterTask {
    /// Spills work that the database did not accept; `None` if it cannot be spilled or no folder accepts it.
    pub(super) fn keep(&mut self, work: &Work, failure: &Failure) -> Option<Admission<Done>> {
        if matches!(work, Work::ImportSpills) {
            return Some(Ok(Done::Written));
        }
        let (lease, batch) = work.spillable()?;
        if self.local.opened(lease.run_id).is_some() {
            // The run has never begun.
            return None;
        }
        // Reading waits for no writer. If it fails too, the epoch is compared when the file is imported.
        let epoch = self.connection.read(EPOCH_WAIT, |reader| reader.epoch(lease.run_id));
        if let Ok(Some(epoch)) = epoch
            && epoch != lease.epoch
        {
            return Some(Err(overtaken(lease.run_id)));
        }
        let notice = self.spill(lease, batch, failure)?;
        self.cached.remove(&lease.run_id);
        self.spills_wait = true;
        self.spilled.insert(lease.run_id);
        self.local.put_notice(lease.run_id, notice);
        Some(Ok(Done::Written))
    }

    fn spill(&self, lease: Lease, batch: &EventBatch, failure: &Failure) -> Option<Warning> {
        let keeps_texts = self.local.keeps_texts(lease.run_id);
        let content = spill::Content::of(lease, batch, keeps_texts, clock::now_ms());
        let spills = self.spills.clone();
        let written = off_thread(move || spills.write(&content))?.ok()?;
        Some(Warning::of(
            "a part of the run was kept in a file of its own",
            &spill::notice(&written, failure),
        ))
    }

    /// Imports all spill files, also of ended processes, each in its own transaction; `false` if other processes hold
    /// the lock.
    pub(super) fn import_spills(&mut self) -> bool {
        let spills = self.spills.clone();
        let Some(state) = off_thread(move || spills.state()) else { return true };
        // Importing into a file that was removed or replaced would lose the events.
        if self.connection.check_in_place().is_err() {
            return true;
        }
        let mut left = BTreeSet::new();
        let mut is_refused = false;
        for path in state.waiting {
            let of = spill::run_of(&path);
            // Events after a file that stays would seem to have a gap before them.
            if of.is_some_and(|run_id| left.contains(&run_id)) {
                continue;
            }
            match self.import_file(&path) {
                Ok(ImportResult::Imported) => drop(std::fs::remove_file(&path)),
                Ok(ImportResult::SetAside) => spill::set_aside(&path, spill::ASIDE),
                Ok(ImportResult::Damaged) => spill::set_aside(&path, spill::DAMAGED),
                Ok(ImportResult::Waits) => left.extend(of),
                Err(cause) if cause.is_passing() => {
                    self.spills_wait = true;
                    return false;
                }
                Err(_) => {
                    is_refused = true;
                    left.extend(of);
                }
            }
        }
        self.spilled.retain(|run_id| left.contains(run_id));
        self.spills_wait = is_refused;
        true
    }

    fn import_file(&mut self, path: &Path) -> Result<ImportResult, DatabaseError> {
        let own = path.to_owned();
        match off_thread(move || Spill::read(&own)) {
            Some(Ok(spill)) => self.import_spill(&spill),
            Some(Err(Unreadable::Gone)) => Ok(ImportResult::Imported),
            Some(Err(Unreadable::Damaged)) => Ok(ImportResult::Damaged),
            Some(Err(Unreadable::NotNow)) | None => Ok(ImportResult::Waits),
        }
    }

    /// Writes the events of a file if they follow the run's newest one. Events that are already there came from this
    /// file or from its writer, since a run has one writer per epoch.
    fn import_spill(&mut self, spill: &Spill) -> Result<ImportResult, DatabaseError> {
        let run_id = spill.lease.run_id;
        self.cached.remove(&run_id);
        let mut transaction = self.begin(Purpose::Write)?;
        // Another process of this machine may be importing the same file.
        transaction.lock_run(&run_id.to_string())?;
        let fate = match CachedRun::read(&transaction.reader(), run_id)? {
            Err(failure) if failure.code == Code::Damaged => ImportResult::Waits,
            Err(_) => ImportResult::SetAside,
            Ok(cached) if cached.epoch != spill.lease.epoch => ImportResult::SetAside,
            Ok(cached) if cached.run.seq >= spill.batch.last_seq() => ImportResult::Imported,
            Ok(cached) if !spill.batch.follows(cached.run.seq) => ImportResult::SetAside,
            Ok(mut cached) => {
                let mut stamp = self.stamp(transaction.reader().now_ms());
                // The events happened when they were spilled.
                stamp.now_ms = spill.at_ms;
                self.index_is_behind |= spill.batch.closes();
                match append::append(&mut transaction, &mut cached, &spill.batch, None, &stamp)? {
                    Ok(()) => ImportResult::Imported,
                    Err(_) => ImportResult::SetAside,
                }
            }
        };
        self.connection.commit(transaction)?;
        Ok(fate)
    }
}

/// Runs a file operation on another thread; `None` if it takes too long.
fn off_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (reply, done) = mpsc::sync_channel(1);
    tokio::task::spawn_blocking(move || {
        // Nobody listens any more if it took too long.
        drop(reply.send(work()));
    });
    done.recv_timeout(FILE_WAIT).ok()
}
