//! The writer: the way to the one task that writes ([`task`]). What is asked of it is queued, and answered when it is on the
//! disk.

mod append;
mod cached_run;
pub(crate) mod job;
pub(crate) mod lease;
pub(crate) mod limits;
mod local_runs;
mod purging;
pub(crate) mod repeats;
mod task;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parallel_llm_engine::port::Lease;
use parallel_llm_engine::run::event::Attempt;
use parallel_llm_engine::{Code, Failure, Recorded, RunId};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::database::Opened;
use crate::error;
use crate::purge::PurgeStep;
use crate::row::event_batch::EventBatch;
use crate::spill::Spills;
use crate::tokens::{NewToken, Token};

use job::{Done, Job, Work};
use local_runs::LocalRuns;
use task::WriterTask;

/// Pieces of work that may wait. Beyond, those who ask wait instead.
const QUEUE_MAX: usize = 256;

/// The way to the writer.
#[derive(Debug)]
pub(crate) struct Writer {
    /// The runs of this process.
    pub(crate) runs: Arc<LocalRuns>,
    queue: mpsc::Sender<Job>,
    commits: Arc<AtomicU64>,
    /// How long a write waits for those of other processes.
    wait: Duration,
    stop: CancellationToken,
    task: TaskTracker,
}

impl Writer {
    /// Starts the task on this runtime.
    pub(crate) fn start(opened: Opened, spills: Spills, wait: Duration) -> Self {
        let (queue, jobs) = mpsc::channel(QUEUE_MAX);
        let task = WriterTask::new(opened, spills, wait);
        let (runs, commits) = (Arc::clone(&task.local), Arc::clone(&task.commits));
        let stop = CancellationToken::new();
        let tracker = TaskTracker::new();
        tracker.spawn(task.run(jobs, stop.clone()));
        tracker.close();
        Self { runs, queue, commits, wait, stop, task: tracker }
    }

    /// Writes events, whole or not at all.
    pub(crate) async fn append(&self, lease: Lease, events: Vec<Recorded>) -> Result<(), Failure> {
        // Here and not in the task, which all runs share: compressing takes longer than writing.
        let batch = EventBatch::of(events, self.runs.keeps_texts(lease.run_id));
        self.ask(Work::Append { lease, batch }).await.map(drop)
    }

    /// Keeps the text of a reply on its way.
    pub(crate) async fn checkpoint(
        &self,
        lease: Lease,
        attempt: Attempt,
        text: String,
    ) -> Result<(), Failure> {
        self.ask(Work::Checkpoint { lease, attempt, text }).await.map(drop)
    }

    /// Gives a run to this process, if nothing has happened in it after the event `seq`.
    pub(crate) async fn take_over(&self, run_id: RunId, seq: Option<u64>) -> Result<Lease, Failure> {
        match self.ask(Work::TakeOver { run_id, seq }).await? {
            Done::TakenOver(taken) => {
                self.runs.note_texts(run_id, taken.keeps_texts);
                Ok(taken.lease)
            }
            other => Err(mistaken(&other)),
        }
    }

    /// Puts some texts into the index of words, whosever they are, and says whether there is more to do.
    pub(crate) async fn index(&self) -> Result<bool, Failure> {
        match self.ask(Work::Index).await? {
            Done::Indexed(index_is_behind) => Ok(index_is_behind),
            other => Err(mistaken(&other)),
        }
    }

    /// Takes the first of these runs away, as many as one step does.
    pub(crate) async fn purge(&self, runs: Vec<RunId>) -> Result<PurgeStep, Failure> {
        match self.ask(Work::Purge(runs)).await? {
            Done::Purged(step) => Ok(step),
            other => Err(mistaken(&other)),
        }
    }

    /// Overwrites what is left of purged runs, as far as one step goes, and says whether there is more to do.
    pub(crate) async fn reclaim(&self, is_first: bool) -> Result<bool, Failure> {
        match self.ask(Work::Reclaim { is_first }).await? {
            Done::Reclaimed(step) => Ok(step.has_more),
            other => Err(mistaken(&other)),
        }
    }

    /// Empties the write-ahead log; `false` where a reader is in the way.
    pub(crate) async fn truncate_wal(&self) -> Result<bool, Failure> {
        match self.ask(Work::TruncateWal).await? {
            Done::WalTruncated(is_empty) => Ok(is_empty),
            other => Err(mistaken(&other)),
        }
    }

    /// Takes in what was spilled, as far as the database takes it now.
    pub(crate) async fn import_spills(&self) {
        // What cannot be taken in is attempted again, and read from its file until then.
        drop(self.ask(Work::ImportSpills).await);
    }

    /// Makes a token.
    pub(crate) async fn create_token(&self, new: NewToken) -> Result<Token, Failure> {
        match self.ask(Work::CreateToken(new)).await? {
            Done::Token(Some(token)) => Ok(token),
            other => Err(mistaken(&other)),
        }
    }

    /// Revokes a token.
    pub(crate) async fn revoke_token(&self, token_id: i64) -> Result<Option<Token>, Failure> {
        match self.ask(Work::RevokeToken(token_id)).await? {
            Done::Token(token) => Ok(token),
            other => Err(mistaken(&other)),
        }
    }

    /// Lets it be noted that a token was used, unless there is too much to do.
    pub(crate) fn note_token_use(&self, token_id: i64) {
        let (reply, _) = oneshot::channel();
        let deadline = Instant::now() + self.wait;
        drop(self.queue.try_send(Job { work: Work::NoteTokenUse(token_id), reply, deadline }));
    }

    /// Has the work done and returns when it is on the disk. Once queued it is done even if nobody waits for it.
    async fn ask(&self, work: Work) -> Result<Done, Failure> {
        let (reply, answer) = oneshot::channel();
        let deadline = Instant::now() + self.wait;
        self.queue.send(Job { work, reply, deadline }).await.map_err(|_| error::closed())?;
        answer.await.map_err(|_| error::closed())?
    }

    /// Transactions committed so far.
    pub(crate) fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    /// Takes no more work, does what is queued and closes the connection.
    pub(crate) async fn close(&self) {
        self.stop.cancel();
        self.task.wait().await;
    }
}

/// The writer answers each kind of work in its own way, so this is a defect.
fn mistaken(done: &Done) -> Failure {
    Failure::new(Code::Internal, format!("the writer of the run database did something else: {done:?}"))
}
