//! The way to the one task that writes ([`Pen`]): what is asked of it is queued, and answered when it is on the disk.

pub(crate) mod job;
pub(crate) mod local_runs;
pub(crate) mod task;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use parallel_llm_engine::port::Lease;
use parallel_llm_engine::run::event::Attempt;
use parallel_llm_engine::value::warning::Warning;
use parallel_llm_engine::{Code, Failure, RunId};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::fault;
use crate::purge::PurgeStep;
use crate::row::entries::Entries;
use crate::spill::Spills;
use crate::sqlite::Sqlite;
use crate::tokens::{NewToken, Token};
use crate::writer::job::{Done, Job, Work};
use crate::writer::local_runs::Opened;
use crate::writer::task::{Notices, Pen};

/// Pieces of work that may wait. Beyond, those who ask wait instead.
pub(crate) const QUEUE_MAX: usize = 256;
/// The way to the writer.
#[derive(Debug)]
pub(crate) struct Writer {
    pub(crate) opened: Arc<Opened>,
    queue: mpsc::Sender<Job>,
    commits: Arc<AtomicU64>,
    notices: Notices,
    /// How long a write waits for those of other processes.
    wait: Duration,
    stop: CancellationToken,
    task: TaskTracker,
}

impl Writer {
    /// Starts the task on this runtime.
    pub(crate) fn start(sqlite: Sqlite, spills: Spills, wait: Duration) -> Self {
        let (queue, jobs) = mpsc::channel(QUEUE_MAX);
        let pen = Pen::new(sqlite, spills, wait);
        let (opened, commits, notices) = pen.shared();
        let stop = CancellationToken::new();
        let task = TaskTracker::new();
        task.spawn(pen.run(jobs, stop.clone()));
        task.close();
        Self { opened, queue, commits, notices, wait, stop, task }
    }

    /// Writes events, whole or not at all.
    pub(crate) async fn append(&self, lease: Lease, entries: Entries) -> Result<(), Failure> {
        self.ask(Work::Append(lease, entries)).await.map(drop)
    }

    /// Keeps the text of a reply on its way.
    pub(crate) async fn checkpoint(
        &self,
        lease: Lease,
        (attempt, text): (Attempt, String),
    ) -> Result<(), Failure> {
        self.ask(Work::Checkpoint(lease, attempt, text)).await.map(drop)
    }

    /// Gives a run to this process.
    pub(crate) async fn take_over(&self, run_id: RunId, seq: Option<u64>) -> Result<Lease, Failure> {
        match self.ask(Work::TakeOver(run_id, seq)).await? {
            Done::Taken(lease) => Ok(lease),
            other => Err(mistaken(&other)),
        }
    }

    /// Puts some texts into the index of words, whosever they are, and tells whether there is more to do.
    pub(crate) async fn index(&self) -> Result<bool, Failure> {
        match self.ask(Work::Index).await? {
            Done::Indexed(is_behind) => Ok(is_behind),
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

    /// Overwrites what is left of purged runs, as far as one step goes, and tells whether there is more to do.
    pub(crate) async fn reclaim(&self, is_first: bool) -> Result<bool, Failure> {
        match self.ask(Work::Reclaim { is_first }).await? {
            Done::Reclaimed(step) => Ok(step.has_more),
            other => Err(mistaken(&other)),
        }
    }

    /// Empties the write-ahead log; `false` where a reader is in the way.
    pub(crate) async fn clear_log(&self) -> Result<bool, Failure> {
        match self.ask(Work::ClearLog).await? {
            Done::LogCleared(is_clear) => Ok(is_clear),
            other => Err(mistaken(&other)),
        }
    }

    /// Takes in what was spilled, as far as the database takes it now.
    pub(crate) async fn take_in(&self) {
        // What cannot be taken in is tried again, and read from its file until then.
        drop(self.ask(Work::TakeIn).await);
    }

    /// What whoever reads this run of this process is to know of how it is kept.
    pub(crate) fn notice(&self, run_id: RunId) -> Option<Warning> {
        self.notices.lock().unwrap_or_else(PoisonError::into_inner).get(&run_id).cloned()
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
        self.queue.send(Job { work, reply, deadline }).await.map_err(|_| fault::closed())?;
        answer.await.map_err(|_| fault::closed())?
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
