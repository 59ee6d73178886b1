//! The task that does all writing, on a thread of its own.
//!
//! It commits everything that is queued in one transaction, so that many runs share one flush of the disk, and answers
//! callers after the commit. Each append is written whole or not at all; one that is refused (because its question is a
//! repeat) does not affect the others. The task also indexes texts while it is idle.
//!
//! Invariants: an acknowledged append is on disk, in the database or in a file ([`crate::spill`]). After an error, the
//! connection and the cached runs of the failed work are discarded and read again. Where other machines share the database,
//! a request whose `Sent` is in a file does not leave before the database has it, since another machine could send it as
//! well. A run whose events could not be written anywhere is released as soon as the database accepts writes again, since the engine has stopped writing to
//! it.

pub(crate) mod closing;
mod lost;
mod spilling;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use parallel_llm_engine::port::Lease;
use parallel_llm_engine::{Failure, RunId};
use tokio::sync::mpsc;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use super::cached_run::CachedRun;
use super::job::{Admission, Done, Job, Work};
use super::leases::held_leases::{HeldLeases, Moment};
use super::leases::lease;
use super::leases::lease::EPOCH_FIRST;
use super::leases::local_runs::{LocalRuns, RUNS_MAX};
use super::unconfirmed::Unconfirmed;
use super::{WriterTimes, append, batches, counting, purging};
use crate::database::{Transaction, WriteConnection};
use crate::row::Purpose;
use crate::row::event_batch::EventBatch;
use crate::row::integer;
use crate::row::ownership::{Owner, Stamp};
use crate::row::text_row::IndexScope;
use crate::search::index::{self, INDEX_BYTES};
use crate::spill::Spills;
use crate::system::clock;
use crate::system::error::{self, DatabaseError, DatabaseErrorKind};
use lost::taken_in_vain;

/// Most jobs in one transaction.
const JOBS_MAX: usize = 256;
/// How long one transaction waits for the locks of other processes. After that, paid answers are spilled; other work
/// retries until its own deadline. With that deadline, a question is refused within ten seconds.
const LOCK_WAIT_MAX: Duration = Duration::from_secs(3);
/// The same while something is spilled: the database is known to be locked, and runs wait at every step.
const LOCK_WAIT_SPILLED_MAX: Duration = Duration::from_millis(500);
/// Pause between retries of stalled work, since a lock may be refused immediately.
const STALL_PAUSE: Duration = Duration::from_millis(50);
/// Pause between looks whether requests that wait in files may leave.
const KEPT_PAUSE: Duration = Duration::from_millis(100);
/// How often importing spill files is tried.
const IMPORT_INTERVAL: Duration = Duration::from_secs(2);
/// Idle time before the writer indexes: longer than the gaps between the commits of a busy run.
const IDLE: Duration = Duration::from_millis(50);
/// Most index transactions on closing: enough for the run that just ended. The next process does the rest.
const INDEX_LAST_MAX: usize = 2;
/// A transaction that takes longer than this part of a lease extends it once more as it commits.
const LEASE_PART: u32 = 8;
/// Bytes written before a checkpoint of the write-ahead log: a thousand pages.
const WAL_BYTES_MAX: usize = 4 << 20;

/// The task and its state.
#[derive(Debug)]
pub(super) struct WriterTask {
    connection: WriteConnection,
    times: WriterTimes,
    /// Whether closed runs may be missing from the index.
    index_is_behind: bool,
    /// Runs being written; others are read again before their next write.
    cached: BTreeMap<RunId, CachedRun>,
    /// Runs to be released because their events could not be written.
    lost: Vec<Lease>,
    /// Work that is still waiting for the locks of other processes.
    stalled: Vec<Job>,
    /// Appends in files whose requests leave once the database has them, or never if the lease ends first.
    kept: Vec<(Lease, Job)>,
    /// Whether the last transaction failed for a reason that passes.
    is_failing: bool,
    /// When a server last did not answer in time, and what that came to.
    silent: Option<(Instant, Failure)>,
    spills: Spills,
    /// Whether there may be files to import.
    spills_wait: bool,
    /// Whether there are files to merge into runs that other processes do.
    merges_wait: bool,
    /// Runs of this process with files to import: their later events must not be written before.
    spilled: BTreeSet<RunId>,
    unconfirmed: Unconfirmed,
    pub(super) leases: Arc<HeldLeases>,
    pub(super) local: Arc<LocalRuns>,
    owner: String,
    pub(super) commits: Arc<AtomicU64>,
    /// Bytes written since the last checkpoint of the write-ahead log.
    wal_bytes: usize,
}

/// The result of attempted work.
enum Attempted {
    /// Done or refused.
    Answered(Admission<Done>),
    /// Other processes hold locks; it may be attempted again.
    Locked(Failure),
    /// The database cannot do it.
    Failed(Failure),
    /// It is in a file, and a request of it must not leave yet.
    Kept(Lease),
}

impl WriterTask {
    /// The task for this connection.
    pub(super) fn new(connection: WriteConnection, spills: Spills, times: WriterTimes) -> Self {
        // In a file, all processes see that this one is alive, and wait for it.
        let leases_end = connection.is_on_server() || Owner::current().is_alive().is_none();
        Self {
            connection,
            times,
            // Another process may have left something.
            index_is_behind: true,
            spills_wait: spills.is_waiting(),
            cached: BTreeMap::new(),
            lost: Vec::new(),
            stalled: Vec::new(),
            kept: Vec::new(),
            is_failing: false,
            silent: None,
            spills,
            merges_wait: false,
            spilled: BTreeSet::new(),
            unconfirmed: Unconfirmed::default(),
            leases: Arc::new(HeldLeases::new(times.lease, leases_end)),
            local: Arc::default(),
            owner: Owner::current().to_string(),
            commits: Arc::default(),
            wal_bytes: 0,
        }
    }

    /// Runs until the queue is closed and empty.
    pub(super) async fn run(mut self, mut queue: mpsc::Receiver<Job>, stop: CancellationToken) {
        let mut heartbeat = tokio::time::interval(self.times.heartbeat);
        // Missed heartbeats are not made up for, since one is as good as three.
        heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut jobs = Vec::new();
        let log_alarm = self.connection.log_alarm();
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled(), if !queue.is_closed() => queue.close(),
                _ = heartbeat.tick() => self.beat(),
                () = log_alarm.notified() => drop(self.connection.check_in_place()),
                count = queue.recv_many(&mut jobs, JOBS_MAX) => match count {
                    0 => break,
                    _ => self.work(std::mem::take(&mut jobs)),
                },
                () = tokio::time::sleep(STALL_PAUSE), if !self.stalled.is_empty() => self.work(Vec::new()),
                () = tokio::time::sleep(KEPT_PAUSE), if !self.kept.is_empty() => self.attend_kept(),
                () = tokio::time::sleep(IMPORT_INTERVAL), if self.spills_wait || self.merges_wait => drop(self.import_spills()),
                () = tokio::time::sleep(IDLE), if self.index_is_behind && !self.spills_wait => self.index_some(),
            }
        }
        if self.spills_wait {
            // The next process imports the rest.
            self.import_spills();
        }
        for _ in 0..INDEX_LAST_MAX {
            if self.index_is_behind && !self.spills_wait {
                self.index_some();
            }
        }
        self.checkpoint_wal();
    }

    /// Does all jobs in one transaction and answers them. Jobs that wait for other processes stay for the next turn.
    fn work(&mut self, jobs: Vec<Job>) {
        let jobs: Vec<Job> = self.stalled.drain(..).chain(jobs).collect();
        let jobs = self.refuse_late(jobs);
        let works: Vec<&Work> = jobs.iter().map(|job| &job.work).collect();
        let attempted = self.write(&works);
        for (job, attempted) in jobs.into_iter().zip(attempted) {
            let answer = match attempted {
                Attempted::Locked(_) if job.work.can_wait() && clock::shared_now() < job.deadline => {
                    self.stalled.push(job);
                    continue;
                }
                // Possible only between transactions, hence done here.
                Attempted::Answered(Ok(Done::WalTruncated(_))) => Ok(Done::WalTruncated(self.truncate_wal())),
                Attempted::Answered(Ok(Done::Overtaken(lease))) => self.keep_overtaken(lease, &job.work),
                Attempted::Answered(answer) => answer,
                Attempted::Kept(lease) => {
                    self.kept.push((lease, job));
                    continue;
                }
                Attempted::Locked(failure) | Attempted::Failed(failure) => {
                    self.lose(job.work.lease_at_risk().into_iter().chain(self.begun_in_vain(&job.work)));
                    Err(failure)
                }
            };
            if let Some(run_id) = job.work.appended() {
                self.local.begun(run_id);
            }
            // The caller may have left; its work is done regardless.
            drop(job.reply.send(answer));
        }
        self.answer_kept();
        if self.wal_bytes >= WAL_BYTES_MAX {
            self.checkpoint_wal();
        }
    }

    /// Refuses beginnings of runs that have waited for long while the database takes nothing, or have waited through the
    /// silence of a server, which would be as long again.
    fn refuse_late(&self, jobs: Vec<Job>) -> Vec<Job> {
        let mut rest = Vec::with_capacity(jobs.len());
        for job in jobs {
            let came = job.deadline.checked_sub(self.times.admission);
            let silence = self.silent.as_ref().filter(|(at, _)| came.is_some_and(|came| came <= *at));
            let is_late = silence.is_some() || clock::shared_now() >= job.deadline;
            if !(self.is_failing && job.work.is_admission() && is_late) {
                rest.push(job);
                continue;
            }
            if let Some(run_id) = job.work.appended() {
                self.local.begun(run_id);
            }
            let failure = silence.map_or_else(error::locked, |(_, failure)| failure.clone());
            drop(job.reply.send(Err(failure)));
        }
        rest
    }

    /// Does all work in one transaction. If that fails for another reason than a lock, each piece is done in its own,
    /// so that one defect does not affect the others.
    fn write(&mut self, works: &[&Work]) -> Vec<Attempted> {
        if let Err(failure) = self.connection.check_in_place() {
            let attempted = if failure.retryable { Attempted::Locked } else { Attempted::Failed };
            return self.spill_or(works, &failure, attempted);
        }
        // Spilled events must be imported before later ones, and before a run is taken over, which folds all its
        // events.
        let takes_over =
            works.iter().any(|work| matches!(work, Work::TakeOver { .. } | Work::CloseAbandoned));
        if (self.spills_wait || takes_over) && !self.import_spills() {
            return self.spill_or(works, &error::locked(), Attempted::Locked);
        }
        if !self.release_lost() {
            return self.spill_or(works, &error::locked(), Attempted::Locked);
        }
        // Later events of a run with a waiting file have to wait in a file too.
        let is_held_back =
            works.iter().any(|work| work.appended().is_some_and(|id| self.spilled.contains(&id)));
        let mut cause = if is_held_back {
            None
        } else {
            match self.transact(works) {
                Ok(answers) => return answers.into_iter().map(Attempted::Answered).collect(),
                Err(cause) => Some(cause),
            }
        };
        let mut attempted = Vec::with_capacity(works.len());
        for work in works {
            let is_held_back = work.appended().is_some_and(|id| self.spilled.contains(&id));
            // After waiting in vain for a lock once, the individual pieces do not wait again.
            let is_locked = cause.as_ref().is_some_and(DatabaseError::is_passing);
            let is_alone = works.len() == 1 && cause.is_some();
            if !is_held_back && !is_locked && !is_alone {
                match self.transact(&[*work]) {
                    Ok(answer) => {
                        attempted.extend(answer.into_iter().map(Attempted::Answered));
                        continue;
                    }
                    Err(newer) => cause = Some(newer),
                }
            }
            let failure = cause.as_ref().map_or_else(error::held_back, DatabaseError::unwritten);
            let is_locked = cause.as_ref().is_some_and(DatabaseError::is_passing);
            // A server that is silent for so long would be for as long again.
            let is_silent = cause.as_ref().is_some_and(|cause| cause.kind == DatabaseErrorKind::Silent);
            attempted.push(match self.keep(work, &failure) {
                Some(kept) => kept,
                None if is_silent && work.is_admission() => Attempted::Failed(failure),
                None if is_locked => Attempted::Locked(failure),
                None => Attempted::Failed(failure),
            });
        }
        attempted
    }

    /// When the database accepts nothing: spills what can be spilled; `otherwise` makes the result of the rest.
    fn spill_or(
        &mut self,
        works: &[&Work],
        failure: &Failure,
        otherwise: fn(Failure) -> Attempted,
    ) -> Vec<Attempted> {
        let mut attempted = Vec::with_capacity(works.len());
        for work in works {
            let kept = self.keep(work, failure);
            attempted.push(kept.unwrap_or_else(|| otherwise(failure.clone())));
        }
        attempted
    }

    fn transact(&mut self, works: &[&Work]) -> Result<Vec<Admission<Done>>, DatabaseError> {
        let done = self.try_transact(works);
        self.is_failing = done.as_ref().is_err_and(DatabaseError::is_passing);
        let cause = done.as_ref().err().filter(|cause| cause.kind == DatabaseErrorKind::Silent);
        self.silent = cause.map(|cause| (clock::shared_now(), cause.unwritten()));
        if done.is_err() {
            // The cached runs include events that were not written, so they have to be read again.
            works
                .iter()
                .filter_map(|work| work.run_id())
                .for_each(|run_id| drop(self.cached.remove(&run_id)));
        }
        done
    }

    fn try_transact(&mut self, works: &[&Work]) -> Result<Vec<Admission<Done>>, DatabaseError> {
        let admits = works.iter().any(|work| work.is_admission());
        let mut since = Moment::now();
        let mut transaction = self.begin(if admits { Purpose::Admit } else { Purpose::Write })?;
        // Taken after waiting for other processes, which may have been long.
        let stamp = self.stamp(transaction.reader().now_ms);
        let batch_ids: BTreeSet<String> =
            works.iter().filter_map(|work| Some(work.batch_id()?.to_string())).collect();
        if !batch_ids.is_empty() {
            transaction.lock_batches(&batch_ids.into_iter().collect::<Vec<_>>())?;
        }
        let mut answers = Vec::with_capacity(works.len());
        for work in works {
            answers.push(self.admit(&mut transaction, work, &stamp)?);
        }
        // A transaction across a slow network may take as long as a lease.
        if since.elapsed() > self.times.lease / LEASE_PART {
            since = Moment::now();
            transaction.renew_leases(&self.owner, self.times.lease);
        }
        // A crash before this line leaves nothing, and no caller was answered; a crash after it leaves everything.
        let committed = self.connection.commit(transaction);
        if let Err(cause) = committed {
            self.unconfirmed.doubt(works);
            self.lose(answers.iter().filter_map(taken_in_vain));
            return Err(cause);
        }
        self.unconfirmed.confirm(works, &answers);
        self.commits.fetch_add(1, Ordering::Relaxed);
        self.wal_bytes += works.iter().map(|work| work.bytes()).sum::<usize>();
        works.iter().zip(&answers).for_each(|(work, answer)| self.note_lease(work, answer, since));
        Ok(answers)
    }

    /// Notes the lease that a commit has given or extended.
    fn note_lease(&self, work: &Work, answer: &Admission<Done>, since: Moment) {
        match (work, answer) {
            (Work::Append { lease, batch }, Ok(Done::Written)) if batch.closes() => {
                self.leases.drop_lease(lease.run_id);
            }
            (Work::Append { lease, .. }, Ok(Done::Written)) => {
                self.leases.extended(lease.run_id, lease.epoch, since);
            }
            (_, Ok(Done::TakenOver(taken))) => {
                self.leases.extended(taken.lease.run_id, taken.lease.epoch, since);
            }
            (Work::Claim { .. } | Work::Settle { .. }, Ok(_)) => self.leases.set_jobs(true),
            _ => {}
        }
    }

    fn admit(
        &mut self,
        transaction: &mut Transaction,
        work: &Work,
        stamp: &Stamp,
    ) -> Result<Admission<Done>, DatabaseError> {
        match work {
            Work::Append { lease, batch } => self.append(transaction, *lease, batch, stamp),
            Work::Checkpoint { lease, .. } if !self.local.keeps_texts(lease.run_id) => Ok(Ok(Done::Written)),
            Work::Checkpoint { lease, attempt, text } => {
                let kept = append::checkpoint(transaction, *lease, *attempt, text, stamp.now_ms)?;
                self.wal_bytes += kept.as_ref().copied().unwrap_or_default();
                Ok(kept.map(|_| Done::Written))
            }
            Work::TakeOver { run_id, seq } => {
                self.cached.remove(run_id);
                Ok(lease::take_over(transaction, *run_id, *seq, stamp)?.map(Done::TakenOver))
            }
            Work::CloseAbandoned => self.close_abandoned(transaction, stamp),
            Work::Release(leases) => {
                for lease in leases {
                    lease::release(transaction, *lease)?;
                }
                Ok(Ok(Done::Written))
            }
            Work::Index => {
                self.wal_bytes += INDEX_BYTES;
                let has_more_runs = counting::fill(transaction)?;
                Ok(Ok(Done::Indexed(index::fill(transaction, IndexScope::All)? || has_more_runs)))
            }
            Work::Purge(runs) => {
                let step = purging::purge(transaction, runs, stamp.now_ms)?;
                self.wal_bytes += step.bytes;
                Ok(Ok(Done::Purged(step)))
            }
            Work::Reclaim { is_first } => {
                let step = transaction.reclaim(*is_first, purging::STEP_TIME)?;
                self.wal_bytes += step.bytes;
                Ok(Ok(Done::Reclaimed(step)))
            }
            Work::TruncateWal => Ok(Ok(Done::WalTruncated(false))),
            Work::ImportSpills => Ok(Ok(Done::Written)),
            Work::Claim { batch_id, limit } => {
                if let Some(lines) = self.unconfirmed.lines_beside(*batch_id) {
                    transaction.give_back_jobs(*batch_id, &stamp.owner, &lines)?;
                }
                let claims = batches::claim(transaction, *batch_id, *limit, stamp)?;
                Ok(Ok(Done::Claimed(claims.map(Box::new))))
            }
            Work::Settle { claim, end } => {
                Ok(batches::settle(transaction, *claim, end, stamp.now_ms)?.map(|()| Done::Written))
            }
            Work::Write(write) => Ok((write.function)(transaction, stamp)?.map(Done::Replied)),
        }
    }

    fn append(
        &mut self,
        transaction: &mut Transaction,
        lease: Lease,
        batch: &EventBatch,
        stamp: &Stamp,
    ) -> Result<Admission<Done>, DatabaseError> {
        if self.unconfirmed.has_run(lease.run_id) && append::is_written(&transaction.reader(), lease, batch)?
        {
            return Ok(Ok(Done::Written));
        }
        let new = self.local.opened(lease.run_id);
        let mut cached = match (&new, self.cached.remove(&lease.run_id)) {
            (Some(new), _) => CachedRun::new(new, stamp.now_ms),
            (None, Some(cached)) => cached,
            (None, None) => match CachedRun::read(&transaction.reader(), lease.run_id)? {
                Ok(cached) => cached,
                Err(refusal) => return Ok(Err(refusal)),
            },
        };
        if new.is_none() && lease.epoch < cached.epoch && batch.reopening().is_none() {
            self.cache(cached);
            return Ok(Ok(Done::Overtaken(lease)));
        }
        if let Err(refusal) = cached.check(lease, batch) {
            // A new run is not in the database yet.
            if new.is_none() {
                self.cache(cached);
            }
            return Ok(Err(refusal));
        }
        let demanded = match append::admit(transaction, &cached, new.as_deref(), batch, stamp)? {
            Ok(demanded) => demanded,
            Err(refusal) => {
                // A refused further part leaves the run released for the next caller.
                if new.is_none() {
                    lease::release(transaction, lease)?;
                }
                return Ok(Err(refusal));
            }
        };
        if let Some(new) = &new
            && !transaction.insert_run(new, EPOCH_FIRST, stamp)?
        {
            return Ok(Err(error::refused(format!("the run {} exists already", lease.run_id))));
        }
        let admission = append::append(transaction, &mut cached, batch, demanded, stamp)?;
        if admission.is_err() && new.is_none() && batch.reopening().is_none() {
            return Ok(Ok(Done::Overtaken(lease)));
        }
        self.index_is_behind |= batch.closes();
        if batch.closes() {
            self.local.closed(lease.run_id);
        } else if admission.is_ok() {
            // A refused run is not ours any more, and a closed run is rarely written again.
            self.cache(cached);
        }
        Ok(admission.map(|()| Done::Written))
    }

    /// Caches a run for its next events; drops the oldest if there are too many.
    fn cache(&mut self, run: CachedRun) {
        if self.cached.len() >= RUNS_MAX {
            self.cached.pop_first();
        }
        self.cached.insert(run.run.plan.run_id, run);
    }

    /// Looks after what waits for the database.
    fn beat(&mut self) {
        // Noticed here even by a process that neither reads nor writes.
        drop(self.connection.check_in_place());
        if self.spills_wait || self.spills.is_waiting() {
            self.import_spills();
        }
        self.release_lost();
        // Beats may come more often than looks at what is kept.
        self.answer_kept();
    }

    /// Counts closed runs and adds their texts to the index, as many as fit in one transaction.
    fn index_some(&mut self) {
        // On failure it is retried after the next run and before the next search.
        self.index_is_behind = self.try_index().unwrap_or(false);
        if self.wal_bytes >= WAL_BYTES_MAX {
            self.checkpoint_wal();
        }
    }

    fn try_index(&mut self) -> Result<bool, DatabaseError> {
        // Checked outside a transaction first, which would block other processes. Not on the database's readers, which
        // are already closed when the writer closes.
        let wait = self.wait();
        let is_behind = self.connection.read(wait, |reader| {
            Ok(reader.unindexed_run(IndexScope::Closed)?.is_some() || reader.has_uncounted_run()?)
        })?;
        if !is_behind {
            return Ok(false);
        }
        let mut transaction = self.begin(Purpose::Write)?;
        let has_more_runs = counting::fill(&mut transaction)?;
        let has_more = index::fill(&mut transaction, IndexScope::Closed)? || has_more_runs;
        self.connection.commit(transaction)?;
        self.wal_bytes += INDEX_BYTES;
        Ok(has_more)
    }

    /// Truncates the write-ahead log, unless a reader prevents it.
    fn truncate_wal(&mut self) -> bool {
        // The checkpoint blocks no one; only truncating does, and it is short after a checkpoint.
        self.checkpoint_wal();
        self.connection.truncate_wal()
    }

    fn checkpoint_wal(&mut self) {
        self.wal_bytes = 0;
        self.connection.checkpoint_wal(self.wait());
    }

    fn begin(&mut self, purpose: Purpose) -> Result<Transaction, DatabaseError> {
        self.connection.begin(purpose, self.wait())
    }

    /// How long a transaction waits for the locks of other processes now.
    fn wait(&self) -> Duration {
        self.times.wait.min(if self.spills_wait { LOCK_WAIT_SPILLED_MAX } else { LOCK_WAIT_MAX })
    }

    fn stamp(&self, now_ms: i64) -> Stamp {
        let lease_until_ms = now_ms + integer(self.times.lease.as_millis() as u64);
        Stamp { owner: self.owner.clone(), now_ms, lease_until_ms }
    }
}
