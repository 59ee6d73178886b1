//! The handle of the writer ([`task`]): queues work and returns when it is durable.

pub(crate) mod access;
pub(crate) mod admission;
mod append;
pub(crate) mod batches;
mod cached_run;
mod counting;
pub(crate) mod job;
pub(crate) mod leases;
mod merge;
mod purging;
pub(crate) mod task;
mod unconfirmed;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parallel_llm_engine::port::Lease;
use parallel_llm_engine::run::event::Attempt;
use parallel_llm_engine::{BatchId, Code, Failure, Recorded, RunId};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;

use crate::batch::{Claim, Claims, JobEnd};
use crate::database::{Transaction, WriteConnection};
use crate::row::event_batch::EventBatch;
use crate::row::ownership::Stamp;
use crate::spill::Spills;
use crate::system::clock;
use crate::system::error::{self, DatabaseError};
use crate::upkeep::purge::PurgeStep;

use job::{Admission, Done, Job, Work, Write};
use leases::heartbeat::Heartbeat;
use leases::held_leases::HeldLeases;
use leases::local_runs::LocalRuns;
use task::WriterTask;

/// Most queued jobs; further callers wait.
const QUEUE_MAX: usize = 256;
/// How long the beginning of a run waits for a server that is locked or away. With the time of an attempt, a question is refused
/// within ten seconds.
const ADMISSION_WAIT: Duration = Duration::from_secs(7);
/// Most threads for files in folders that may not respond; further files wait for one of them.
const FILE_THREADS_MAX: usize = 4;

/// The times that the store's configuration sets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WriterTimes {
    /// How long a write waits for the locks of other processes.
    pub(crate) wait: Duration,
    /// The same for the beginning of a run.
    pub(crate) admission: Duration,
    /// How often the leases of this process's runs are extended.
    pub(crate) heartbeat: Duration,
    /// How long a lease lasts.
    pub(crate) lease: Duration,
}

/// The handle of the writer.
#[derive(Debug)]
pub(crate) struct Writer {
    /// The runs of this process.
    pub(crate) runs: Arc<LocalRuns>,
    /// Their leases by this process's own clock.
    pub(crate) leases: Arc<HeldLeases>,
    queue: mpsc::Sender<Job>,
    commits: Arc<AtomicU64>,
    times: WriterTimes,
    stop: CancellationToken,
    /// Holds the thread until it has closed the connection.
    thread: TaskTracker,
    /// The same for the thread of the heartbeat, which ends with this value.
    heartbeat: (DropGuard, TaskTracker),
}

impl Writer {
    /// Starts the writer on a thread of its own, so that no runtime waits for the disk.
    pub(crate) fn start(
        connection: WriteConnection,
        spills: Spills,
        times: WriterTimes,
    ) -> Result<Self, Failure> {
        let (queue, jobs) = mpsc::channel(QUEUE_MAX);
        let admission = if connection.is_on_server() { ADMISSION_WAIT } else { times.wait };
        let times = WriterTimes { admission: times.wait.min(admission), ..times };
        let apart = connection.another();
        let task = WriterTask::new(connection, spills, times);
        let (runs, commits, leases) =
            (Arc::clone(&task.local), Arc::clone(&task.commits), Arc::clone(&task.leases));
        let beating = Heartbeat::new(apart, times, Arc::clone(&leases), Arc::clone(&commits));
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        let thread = on_thread("store writer", move || run_here(task.run(jobs, stopped)))?;
        let still = CancellationToken::new();
        let stilled = still.clone();
        let beats = on_thread("store heartbeat", move || run_here(beating.run(stilled)))?;
        Ok(Self { runs, leases, queue, commits, times, stop, thread, heartbeat: (still.drop_guard(), beats) })
    }

    /// Writes events, whole or not at all.
    pub(crate) async fn append(&self, lease: Lease, events: Vec<Recorded>) -> Result<(), Failure> {
        // Compressed here and not on the thread that all runs share: compressing takes longer than writing.
        let batch = EventBatch::of(events, self.runs.keeps_texts(lease.run_id));
        self.ask(Work::Append { lease, batch }).await.map(drop)
    }

    /// Writes a partial text of an unfinished reply.
    pub(crate) async fn checkpoint(
        &self,
        lease: Lease,
        attempt: Attempt,
        text: String,
    ) -> Result<(), Failure> {
        self.ask(Work::Checkpoint { lease, attempt, text }).await.map(drop)
    }

    /// Gives a run to this process, if its newest event is still `seq`.
    pub(crate) async fn take_over(&self, run_id: RunId, seq: Option<u64>) -> Result<Lease, Failure> {
        match self.ask(Work::TakeOver { run_id, seq }).await? {
            Done::TakenOver(taken) => {
                self.runs.note_texts(run_id, taken.keeps_texts);
                Ok(taken.lease)
            }
            other => Err(mistaken(&other)),
        }
    }

    /// Closes decided runs whose process is gone.
    pub(crate) async fn close_abandoned(&self) -> Result<(), Failure> {
        self.ask(Work::CloseAbandoned).await.map(drop)
    }

    /// Counts some runs and adds some texts of any runs to the index, and returns whether there are more.
    pub(crate) async fn index(&self) -> Result<bool, Failure> {
        match self.ask(Work::Index).await? {
            Done::Indexed(index_is_behind) => Ok(index_is_behind),
            other => Err(mistaken(&other)),
        }
    }

    /// Removes the first of these runs, as many as fit in one step.
    pub(crate) async fn purge(&self, runs: Vec<RunId>) -> Result<PurgeStep, Failure> {
        match self.ask(Work::Purge(runs)).await? {
            Done::Purged(step) => Ok(step),
            other => Err(mistaken(&other)),
        }
    }

    /// Takes a step of overwriting purged data, and returns whether there is more to do.
    pub(crate) async fn reclaim(&self, is_first: bool) -> Result<bool, Failure> {
        match self.ask(Work::Reclaim { is_first }).await? {
            Done::Reclaimed(step) => Ok(step.has_more),
            other => Err(mistaken(&other)),
        }
    }

    /// Truncates the write-ahead log; `false` if a reader prevents it.
    pub(crate) async fn truncate_wal(&self) -> Result<bool, Failure> {
        match self.ask(Work::TruncateWal).await? {
            Done::WalTruncated(is_empty) => Ok(is_empty),
            other => Err(mistaken(&other)),
        }
    }

    /// Imports spill files, as far as the database accepts them now.
    pub(crate) async fn import_spills(&self) {
        // A failed import is retried later; until then reads use the file.
        drop(self.ask(Work::ImportSpills).await);
    }

    /// Writes something, and returns the result when it is durable. It is called again if its transaction has to be repeated.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        write: impl Fn(&mut Transaction, &Stamp) -> Result<Admission<T>, DatabaseError> + Send + 'static,
    ) -> Result<T, Failure> {
        self.written(Write::new(write)).await
    }

    /// Writes something about a batch, of about so many bytes.
    pub(crate) async fn write_batch<T: Send + 'static>(
        &self,
        batch_id: BatchId,
        bytes: usize,
        write: impl Fn(&mut Transaction, &Stamp) -> Result<Admission<T>, DatabaseError> + Send + 'static,
    ) -> Result<T, Failure> {
        self.written(Write { batch_id: Some(batch_id), bytes, ..Write::new(write) }).await
    }

    async fn written<T: Send + 'static>(&self, write: Write) -> Result<T, Failure> {
        match self.ask(Work::Write(write)).await? {
            Done::Replied(reply) => Ok(reply.take()),
            other => Err(mistaken(&other)),
        }
    }

    /// Writes something that nobody waits for, unless the queue is full. It does not wait for locks.
    pub(crate) fn note(
        &self,
        write: impl Fn(&mut Transaction, &Stamp) -> Result<(), DatabaseError> + Send + 'static,
    ) {
        let write = move |transaction: &mut Transaction, stamp: &Stamp| Ok(Ok(write(transaction, stamp)?));
        let work = Work::Write(Write { can_wait: false, ..Write::new(write) });
        let (reply, _) = oneshot::channel();
        let deadline = clock::shared_now() + self.times.wait;
        drop(self.queue.try_send(Job { work, reply, deadline }));
    }

    /// Claims jobs of a batch for this process; `None` if it is unknown.
    pub(crate) async fn claim_jobs(
        &self,
        batch_id: BatchId,
        limit: usize,
    ) -> Result<Option<Claims>, Failure> {
        match self.ask(Work::Claim { batch_id, limit }).await? {
            Done::Claimed(claims) => Ok(claims.map(|claims| *claims)),
            other => Err(mistaken(&other)),
        }
    }

    /// Ends a claim.
    pub(crate) async fn settle_job(&self, claim: Claim, end: JobEnd) -> Result<(), Failure> {
        self.ask(Work::Settle { claim, end: Box::new(end) }).await.map(drop)
    }

    /// Queues the work and returns when it is durable. Queued work is done even if the caller has left.
    async fn ask(&self, work: Work) -> Result<Done, Failure> {
        let (reply, answer) = oneshot::channel();
        let wait = if work.is_admission() { self.times.admission } else { self.times.wait };
        let deadline = clock::shared_now() + wait;
        self.queue.send(Job { work, reply, deadline }).await.map_err(|_| error::closed())?;
        answer.await.map_err(|_| error::closed())?
    }

    /// Jobs in the queue.
    pub(crate) fn queued(&self) -> usize {
        self.queue.max_capacity() - self.queue.capacity()
    }

    /// Takes a transaction through the queue that writes nothing.
    pub(crate) async fn check(&self) -> Result<(), Failure> {
        self.written(Write { can_wait: false, ..Write::new(|_, _| Ok(Ok(()))) }).await
    }

    /// Transactions committed so far.
    pub(crate) fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    /// Accepts no more work, finishes what is queued and closes the connection.
    pub(crate) async fn close(&self) {
        // First, because the last connection to a file tidies it up.
        let (still, beats) = &self.heartbeat;
        still.token().cancel();
        beats.wait().await;
        self.stop.cancel();
        self.thread.wait().await;
    }
}

/// Does this on a thread of its own, to which the tracker is held.
fn on_thread(name: &str, work: impl FnOnce() + Send + 'static) -> Result<TaskTracker, Failure> {
    let thread = TaskTracker::new();
    let running = thread.token();
    thread.close();
    let begun = std::thread::Builder::new().name(name.to_owned()).spawn(move || {
        work();
        drop(running);
    });
    begun.map(|_| thread).map_err(|cause| error::threadless(&cause))
}

/// Runs the writer to its end on this thread. It waits for nothing but time and its queue.
fn run_here(writer: impl Future<Output = ()>) {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().max_blocking_threads(FILE_THREADS_MAX).build();
    let runtime = runtime.expect("a runtime without input and output opens nothing");
    runtime.block_on(writer);
    // A folder that does not respond must not keep the writer from ending.
    runtime.shutdown_background();
}

/// The result of another kind of work, which would be a bug.
fn mistaken(done: &Done) -> Failure {
    Failure::new(Code::Internal, format!("the writer of the run database did something else: {done:?}"))
}
