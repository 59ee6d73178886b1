//! Appends that the database did not take, and how they come into it after all.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::PoisonError;
use std::time::Duration;

use parallel_llm_engine::port::Lease;
use parallel_llm_engine::value::warning::Warning;
use parallel_llm_engine::{Code, Failure};
use sqlx::Connection as _;

use super::{Pen, RUNS_MAX};
use crate::fault;
use crate::row::entries::Entries;
use crate::spill::{self, Spill, Unreadable};
use crate::sqlite::{Admission, read, write};
use crate::writer::job::{Done, Work};

/// How long a file may take. A folder that does not answer is no place for what others wait for.
const FILE_WAIT: Duration = Duration::from_secs(10);
/// How long the epoch of a run may take to read.
const EPOCH_WAIT: Duration = Duration::from_secs(2);

/// What becomes of a file.
enum Fate {
    /// Its events are in the database.
    Taken,
    /// Its events do not follow what is there: the run has gone on without them, or is gone.
    Aside,
    /// It is not what was written.
    Damaged,
    /// It cannot be said now.
    Waits,
}

impl Pen {
    /// Keeps what the database did not take, if it is of that kind; `None` where it is not, or no folder takes it.
    pub(super) async fn keep(&mut self, work: &Work, failure: &Failure) -> Option<Admission<Done>> {
        if matches!(work, Work::TakeIn) {
            return Some(Ok(Done::Written));
        }
        let (lease, entries) = work.spillable()?;
        if self.opened.find(lease.run_id).is_some() {
            // It never began.
            return None;
        }
        // Readers are in nobody's way. Where they cannot read either, the epoch is compared when the file is taken in.
        let epoch = tokio::time::timeout(EPOCH_WAIT, read::epoch(&self.readers, lease.run_id)).await;
        if let Ok(Ok(Some(epoch))) = epoch
            && epoch != lease.epoch
        {
            return Some(Err(write::overtaken(lease.run_id)));
        }
        let notice = self.spill(lease, entries, failure).await?;
        self.runs.remove(&lease.run_id);
        self.spills_wait = true;
        self.spilled.insert(lease.run_id);
        let mut notices = self.notices.lock().unwrap_or_else(PoisonError::into_inner);
        if notices.len() >= RUNS_MAX {
            notices.pop_first();
        }
        // The first reason is the one that counts: what follows is held back by it.
        notices.entry(lease.run_id).or_insert(notice);
        Some(Ok(Done::Written))
    }

    async fn spill(&self, lease: Lease, entries: &Entries, failure: &Failure) -> Option<Warning> {
        let keeps_texts = !self.without_texts.contains(&lease.run_id);
        let content = spill::Content::of(lease, (entries, keeps_texts), self.stamp().now_ms);
        let spills = self.spills.clone();
        let written = off_thread(move || spills.write(&content)).await?.ok()?;
        Some(Warning::of(
            "a part of the run was kept in a file of its own",
            &spill::notice(&written, failure),
        ))
    }

    /// Takes in what was spilled, by this process or by one that is gone, each file in a transaction of its own; `false`
    /// where other processes have the database.
    pub(super) async fn take_in(&mut self) -> bool {
        let spills = self.spills.clone();
        let Some(state) = off_thread(move || spills.state()).await else { return true };
        // Nothing is taken into a database that nobody will find.
        if self.check_identity().is_err() {
            return true;
        }
        let mut left = BTreeSet::new();
        let mut is_refused = false;
        for path in state.waiting {
            let of = spill::run_of(&path);
            // What comes after a file that stays would seem to follow nothing.
            if of.is_some_and(|run_id| left.contains(&run_id)) {
                continue;
            }
            match self.take_file_in(&path).await {
                Ok(Fate::Taken) => drop(std::fs::remove_file(&path)),
                Ok(Fate::Aside) => spill::set_aside(&path),
                Ok(Fate::Damaged) => spill::set_damaged_aside(&path),
                Ok(Fate::Waits) => left.extend(of),
                Err(cause) if fault::is_locked(&cause) => {
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

    async fn take_file_in(&mut self, path: &Path) -> Result<Fate, sqlx::Error> {
        let own = path.to_owned();
        match off_thread(move || Spill::read(&own)).await {
            Some(Ok(spill)) => self.take_spill_in(&spill).await,
            Some(Err(Unreadable::Gone)) => Ok(Fate::Taken),
            Some(Err(Unreadable::Damaged)) => Ok(Fate::Damaged),
            Some(Err(Unreadable::NotNow)) | None => Ok(Fate::Waits),
        }
    }

    /// Writes the events of a file, where they follow what is there. Those that are there already came from this file, or
    /// from the process that wrote it: a run has one writer in each epoch.
    async fn take_spill_in(&mut self, spill: &Spill) -> Result<Fate, sqlx::Error> {
        let run_id = spill.lease.run_id;
        self.runs.remove(&run_id);
        let mut connection = self.take_connection().await?;
        let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
        let fate = match write::know(&mut transaction, run_id).await? {
            Err(failure) if failure.code == Code::Damaged => Fate::Waits,
            Err(_) => Fate::Aside,
            Ok(known) if known.epoch != spill.lease.epoch => Fate::Aside,
            Ok(known) if known.run.seq >= spill.last_seq() => Fate::Taken,
            Ok(mut known) => {
                let mut stamp = self.stamp();
                // It happened when it was spilled.
                stamp.now_ms = spill.at_ms;
                if spill.entries.follow(known.run.seq) {
                    known.apply(&spill.entries, stamp.now_ms);
                    self.is_behind |= spill.entries.close();
                    let entries = (&spill.entries, None);
                    match write::append(&mut transaction, &known, entries, &stamp).await? {
                        Ok(()) => Fate::Taken,
                        Err(_) => Fate::Aside,
                    }
                } else {
                    Fate::Aside
                }
            }
        };
        transaction.commit().await?;
        self.connection = Some(connection);
        Ok(fate)
    }
}

/// Runs what may wait for a disk where nobody else waits for it; `None` where it takes too long.
async fn off_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    tokio::time::timeout(FILE_WAIT, tokio::task::spawn_blocking(work)).await.ok()?.ok()
}
