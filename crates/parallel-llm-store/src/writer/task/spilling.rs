//! Spills appends that the database did not accept, and imports them later.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use parallel_llm_engine::port::Lease;
use parallel_llm_engine::value::warning::Warning;
use parallel_llm_engine::{Code, Failure, Recorded, RunId};

use super::{Attempted, WriterTask};
use crate::database::Transaction;
use crate::row::Purpose;
use crate::row::event_batch::EventBatch;
use crate::row::integer;
use crate::row::new_run::keeps_texts;
use crate::spill::{self, Spill, Unreadable};
use crate::system::clock;
use crate::system::error::DatabaseError;
use crate::writer::cached_run::CachedRun;
use crate::writer::job::{Admission, Done, Work};
use crate::writer::leases::held_leases::Moment;
use crate::writer::leases::lease::overtaken;
use crate::writer::{append, merge};

/// Longest time for a file operation: a folder that does not respond must not block others.
const FILE_WAIT: Duration = Duration::from_secs(10);

/// The result of importing a file.
enum ImportResult {
    /// The events are in the database.
    Imported,
    /// Another process has taken over the run before they could be stored.
    Overtaken(Lease),
    /// The database does not have the run.
    SetAside,
    /// The file is damaged.
    Damaged,
    /// The file cannot be imported now.
    Waits,
}

impl WriterTask {
    /// Spills work that the database did not accept; `None` if it cannot be spilled or no folder accepts it.
    pub(super) fn keep(&mut self, work: &Work, failure: &Failure) -> Option<Attempted> {
        if matches!(work, Work::ImportSpills) {
            return Some(Attempted::Answered(Ok(Done::Written)));
        }
        let (lease, batch) = work.spillable()?;
        if self.local.opened(lease.run_id).is_some() {
            // The run has never begun.
            return None;
        }
        self.keep_in_file(lease, batch, failure)?;
        // Later events of this epoch must not be written before.
        self.spilled.insert(lease.run_id);
        // A request that another machine could send as well leaves only once the database knows of it.
        Some(if batch.sends() && self.connection.is_on_server() {
            Attempted::Kept(lease)
        } else {
            Attempted::Answered(Ok(Done::Written))
        })
    }

    /// Keeps what a run brought after another process had taken it over. Its requests do not leave: the lease is lost.
    pub(super) fn keep_overtaken(&mut self, lease: Lease, work: &Work) -> Admission<Done> {
        self.leases.overtake(lease.run_id, lease.epoch);
        let failure = overtaken(lease.run_id);
        let kept = work.spillable().and_then(|(lease, batch)| self.keep_in_file(lease, batch, &failure));
        kept.map(|()| Done::Written).ok_or(failure)
    }

    fn keep_in_file(&mut self, lease: Lease, batch: &EventBatch, failure: &Failure) -> Option<()> {
        let notice = self.spill(lease, batch, failure)?;
        self.cached.remove(&lease.run_id);
        self.spills_wait = true;
        self.local.put_notice(lease.run_id, notice);
        Some(())
    }

    /// Imports what it can, and answers for requests that waited for that.
    pub(super) fn attend_kept(&mut self) {
        if self.spills_wait {
            self.import_spills();
        }
        self.answer_kept();
    }

    /// Answers appends that the database has by now, and those whose lease has ended: the caller looks at it once more before
    /// it sends.
    pub(super) fn answer_kept(&mut self) {
        for (lease, job) in std::mem::take(&mut self.kept) {
            if self.spilled.contains(&lease.run_id) && self.leases.holds(lease) {
                self.kept.push((lease, job));
            } else {
                // The caller may have left.
                drop(job.reply.send(Ok(Done::Written)));
            }
        }
    }

    fn spill(&self, lease: Lease, batch: &EventBatch, failure: &Failure) -> Option<Warning> {
        let keeps_texts = self.local.keeps_texts(lease.run_id);
        let content = spill::Content::of(lease, batch, keeps_texts, clock::now_ms());
        let spills = self.spills.clone();
        let written = off_thread(move || spills.write(&content))?.ok()?;
        Some(Warning::of(
            "the run database does not have a part of this run yet, and takes it in later",
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
        let mut lost: BTreeMap<(RunId, u64), Vec<PathBuf>> = BTreeMap::new();
        let mut is_refused = false;
        for path in state.waiting {
            let of = spill::run_of(&path);
            // Events after a file that stays would seem to have a gap before them.
            if of.is_some_and(|run_id| left.contains(&run_id)) {
                continue;
            }
            match self.import_file(&path) {
                Ok(ImportResult::Imported) => drop(std::fs::remove_file(&path)),
                Ok(ImportResult::Overtaken(lease)) => {
                    lost.entry((lease.run_id, lease.epoch)).or_default().push(path);
                }
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
        self.merges_wait = !lost.is_empty();
        for ((run_id, _), spills) in lost {
            match self.merge_files(&spills) {
                Ok(true) => spills.iter().for_each(|path| drop(std::fs::remove_file(path))),
                Ok(false) => drop(left.insert(run_id)),
                Err(cause) if cause.is_passing() => {
                    self.spills_wait = true;
                    return false;
                }
                Err(_) => is_refused |= left.insert(run_id),
            }
        }
        self.spilled.retain(|run_id| left.contains(run_id));
        self.spills_wait = is_refused;
        true
    }

    /// Merges the files of a lost epoch into their run; `false` if another process is still doing it.
    fn merge_files(&mut self, paths: &[PathBuf]) -> Result<bool, DatabaseError> {
        let own = paths.to_vec();
        // A file that is gone was merged by another process, and is known to the run. One that cannot be read at the moment
        // must not be removed with the others.
        let read = |path: &PathBuf| match Spill::read(path) {
            Err(Unreadable::Gone) => None,
            read => Some(read),
        };
        let read = off_thread(move || own.iter().filter_map(read).collect::<Result<Vec<_>, _>>());
        let Some(Ok(spills)) = read else { return Ok(false) };
        let Some(last) = spills.last() else { return Ok(true) };
        let mut transaction = self.begin(Purpose::Write)?;
        let is_merged = self.merge(&mut transaction, &spills, last)?;
        self.connection.commit(transaction)?;
        Ok(is_merged)
    }

    fn merge(
        &mut self,
        transaction: &mut Transaction,
        spills: &[Spill],
        last: &Spill,
    ) -> Result<bool, DatabaseError> {
        let run_id = last.lease.run_id;
        self.cached.remove(&run_id);
        transaction.lock_run(&run_id.to_string())?;
        let Some(ownership) = transaction.reader().ownership(run_id)? else { return Ok(true) };
        let mut stamp = self.stamp(transaction.reader().now_ms);
        // Whoever does the run counts its events.
        if !ownership.is_over(stamp.now_ms) {
            return Ok(false);
        }
        let Ok(mut cached) = CachedRun::read(&transaction.reader(), run_id)? else { return Ok(false) };
        let rows = transaction.reader().events(run_id, 0)?;
        let id = run_id.to_string();
        let stored: Vec<Recorded> = rows.iter().filter_map(|row| row.recorded(&id).ok()).collect();
        let is_stored =
            |seq: u64, body: &str| rows.iter().any(|row| row.seq == integer(seq) && row.body == body);
        let held = spills.iter().flat_map(|spill| spill.batch.events.iter().zip(&spill.batch.bodies));
        let held = held.filter(|(recorded, body)| !is_stored(recorded.seq, body));
        let held: Vec<Recorded> = held.map(|(recorded, _)| recorded.clone()).collect();
        let mut events = merge::merged(&stored, last.lease.epoch, &held);
        for (recorded, seq) in events.iter_mut().zip(cached.run.seq + 1..) {
            recorded.seq = seq;
        }
        if !events.is_empty() {
            let batch = EventBatch::of(events, keeps_texts(&cached.run.plan));
            // The events happened when they were spilled, and whoever owned the run still does.
            (stamp.now_ms, stamp.lease_until_ms) = (last.at_ms, ownership.lease_until_ms);
            if append::append(transaction, &mut cached, &batch, None, &stamp)?.is_err() {
                return Ok(false);
            }
            transaction.index_again(&id)?;
            self.index_is_behind = true;
        }
        Ok(true)
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
        let since = Moment::now();
        let mut transaction = self.begin(Purpose::Write)?;
        // Another process of this machine may be importing the same file.
        transaction.lock_run(&run_id.to_string())?;
        let fate = match CachedRun::read(&transaction.reader(), run_id)? {
            Err(failure) if failure.code == Code::Damaged => ImportResult::Waits,
            Err(_) => ImportResult::SetAside,
            Ok(cached) if cached.epoch > spill.lease.epoch => {
                self.leases.overtake(run_id, spill.lease.epoch);
                ImportResult::Overtaken(spill.lease)
            }
            Ok(cached) if cached.run.seq >= spill.batch.last_seq() => ImportResult::Imported,
            // A gap, or a history that was put back to an earlier moment.
            Ok(cached) if cached.epoch < spill.lease.epoch || !spill.batch.follows(cached.run.seq) => {
                ImportResult::Overtaken(spill.lease)
            }
            Ok(mut cached) => {
                let mut stamp = self.stamp(transaction.reader().now_ms);
                // The events happened when they were spilled.
                stamp.now_ms = spill.at_ms;
                self.index_is_behind |= spill.batch.closes();
                match append::append(&mut transaction, &mut cached, &spill.batch, None, &stamp)? {
                    Ok(()) => {
                        self.connection.commit(transaction)?;
                        // It extended the lease, if the run is of this process and goes on.
                        if spill.batch.closes() {
                            self.leases.drop_lease(run_id);
                        } else if self.spilled.contains(&run_id) {
                            self.leases.extended(run_id, spill.lease.epoch, since);
                        }
                        return Ok(ImportResult::Imported);
                    }
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
