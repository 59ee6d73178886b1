//! The one task that writes.
//!
//! It takes everything that is queued and commits it in one transaction, so that many runs share the wait for the
//! disk; whoever asked is answered after the commit. Each append goes in whole or not at all, and one that is
//! refused (because its process was overtaken, or its question is asked already) leaves its neighbours alone. The same
//! task extends the leases of this process's runs, and indexes their words when it has nothing better to do.
//!
//! What always holds: an acknowledged append is on the disk; after a failure nothing is believed of the
//! connection, or of the runs it was writing, that has not been read again. A run whose events could not be written is
//! let go of as soon as the database takes writes again, because the engine writes no more of it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parallel_llm_engine::event::Attempt;
use parallel_llm_engine::port::Lease;
use parallel_llm_engine::{Code, Failure, RunId};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions as _, Connection as _};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Interval, MissedTickBehavior};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::clock;
use crate::fault;
use crate::opened::Opened;
use crate::owner::Owner;
use crate::projection::{Entries, keeps_texts, text_of};
use crate::purge::Purged;
use crate::sqlite::purge;
use crate::sqlite::search::{self, Behind};
use crate::sqlite::tokens;
use crate::sqlite::write::{self, Known};
use crate::sqlite::{Admission, Stamp};
use crate::tokens::{NewToken, Token};

/// Pieces of work that may wait. Beyond, those who ask wait instead.
const QUEUE_MAX: usize = 256;
/// Without a word for so long, the owner of a run is taken for gone. Four heartbeats: a busy disk delays some.
const LEASE_MS: i64 = 60_000;
/// How often leases are extended.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// Runs kept at hand. Those beyond are read again when they are next written.
const RUNS_MAX: usize = 4_096;
/// Runs that wait to be let go of: those under way when the database stopped taking writes, and those that could not
/// begin since. The newest beyond are not remembered.
const LOST_MAX: usize = 4_096;
/// Without anything to write for so long, the writer indexes: longer than the gaps between the commits of a busy run.
const IDLE: Duration = Duration::from_millis(50);
/// Transactions of indexing that closing waits for: enough for the run that ended just now. The rest is left to whoever
/// comes next.
const INDEX_LAST_MAX: usize = 2;
/// Bytes written before the write-ahead log is brought home: about what SQLite itself waits for, 1,000 pages.
const LOG_BYTES: usize = 4 << 20;

/// What the writer is asked to do.
#[derive(Debug)]
enum Work {
    /// Write events.
    Append(Lease, Entries),
    /// Keep the text of a reply on its way.
    Checkpoint(Lease, Attempt, String),
    /// Give a run to this process, if nothing has happened in it after this event.
    TakeOver(RunId, Option<u64>),
    /// Give runs away that nobody here writes any more.
    LetGo(Vec<Lease>),
    /// Put texts into the index of words.
    Index,
    /// Take runs away.
    Purge(Vec<RunId>),
    /// Empty the write-ahead log, after the transaction.
    ClearLog,
    /// Make a token.
    CreateToken(NewToken),
    /// Revoke the token of this number.
    RevokeToken(i64),
    /// Note that the token of this number was used.
    NoteTokenUse(i64),
}

impl Work {
    /// The right to a run that is lost if this fails: the engine writes no more of it then.
    fn at_stake(&self) -> Option<Lease> {
        match self {
            // Of one that has not begun there is nothing to lose.
            Self::Append(lease, entries) => entries.go_on().then_some(*lease),
            _ => None,
        }
    }

    /// The run it is about, where it is about one whose events the writer may have at hand.
    const fn run_id(&self) -> Option<RunId> {
        match self {
            Self::Append(lease, _) | Self::Checkpoint(lease, ..) => Some(lease.run_id),
            Self::TakeOver(run_id, _) => Some(*run_id),
            _ => None,
        }
    }

    /// The run whose events these are.
    const fn appended(&self) -> Option<RunId> {
        match self {
            Self::Append(lease, _) => Some(lease.run_id),
            _ => None,
        }
    }

    /// About how much this writes; what a checkpoint does is known when it is done.
    fn bytes(&self) -> usize {
        match self {
            Self::Append(_, entries) => {
                let texts = entries.events.iter().filter_map(|recorded| text_of(&recorded.event));
                texts.map(|(_, text)| text.len()).chain(entries.bodies.iter().map(String::len)).sum()
            }
            _ => 0,
        }
    }
}

/// What came of it.
#[derive(Clone, Debug)]
enum Done {
    /// Nothing to tell.
    Written,
    /// The lease that holds now.
    Taken(Lease),
    /// Whether there is more to index.
    Indexed(bool),
    /// Which runs are gone.
    Purged(Purged),
    /// Whether the log is empty.
    LogCleared(bool),
    /// The token as it is now, where there is one.
    Token(Option<Token>),
}

/// What was asked, and where the answer goes.
#[derive(Debug)]
struct Job {
    work: Work,
    reply: oneshot::Sender<Result<Done, Failure>>,
}

/// The way to the writer.
#[derive(Debug)]
pub(crate) struct Writer {
    pub(crate) opened: Arc<Opened>,
    queue: mpsc::Sender<Job>,
    commits: Arc<AtomicU64>,
    stop: CancellationToken,
    task: TaskTracker,
}

impl Writer {
    /// Starts the task on this runtime. `options` open a new connection where the given one fails.
    pub(crate) fn start(options: SqliteConnectOptions, connection: SqliteConnection, wait: Duration) -> Self {
        let (queue, jobs) = mpsc::channel(QUEUE_MAX);
        let (opened, commits) = (Arc::default(), Arc::default());
        let stop = CancellationToken::new();
        let pen = Pen {
            options,
            wait,
            // Another process may have left something.
            is_behind: true,
            connection: Some(connection),
            runs: BTreeMap::new(),
            lost: Vec::new(),
            has_open: false,
            opened: Arc::clone(&opened),
            owner: Owner::current().to_string(),
            commits: Arc::clone(&commits),
            logged_bytes: 0,
        };
        let task = TaskTracker::new();
        task.spawn(pen.run(jobs, stop.clone()));
        task.close();
        Self { opened, queue, commits, stop, task }
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

    /// Takes these runs away in one transaction, all but those under way.
    pub(crate) async fn purge(&self, runs: Vec<RunId>) -> Result<Purged, Failure> {
        match self.ask(Work::Purge(runs)).await? {
            Done::Purged(purged) => Ok(purged),
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
        drop(self.queue.try_send(Job { work: Work::NoteTokenUse(token_id), reply }));
    }

    /// Has the work done and returns when it is on the disk. Once queued it is done even if nobody waits for it.
    async fn ask(&self, work: Work) -> Result<Done, Failure> {
        let (reply, answer) = oneshot::channel();
        self.queue.send(Job { work, reply }).await.map_err(|_| fault::closed())?;
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

/// What the task holds.
struct Pen {
    options: SqliteConnectOptions,
    /// How long a write waits for those of other processes.
    wait: Duration,
    /// Whether there may be closed runs whose texts are not in the index of words.
    is_behind: bool,
    /// `None` after a failure: the next transaction begins on a new one.
    connection: Option<SqliteConnection>,
    /// Runs being written, as far as they are at hand.
    runs: BTreeMap<RunId, Known>,
    /// Runs whose events could not be written, to be let go of.
    lost: Vec<Lease>,
    /// Whether this process may have open runs, at hand or not.
    has_open: bool,
    opened: Arc<Opened>,
    owner: String,
    commits: Arc<AtomicU64>,
    /// Bytes written since the write-ahead log was last brought home.
    logged_bytes: usize,
}

impl Pen {
    async fn run(mut self, mut queue: mpsc::Receiver<Job>, stop: CancellationToken) {
        let mut heartbeat = heartbeat();
        let mut jobs = Vec::new();
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled(), if !queue.is_closed() => queue.close(),
                _ = heartbeat.tick() => self.beat().await,
                count = queue.recv_many(&mut jobs, QUEUE_MAX) => match count {
                    0 => break,
                    _ => self.work(std::mem::take(&mut jobs)).await,
                },
                () = tokio::time::sleep(IDLE), if self.is_behind => self.index_some().await,
            }
        }
        for _ in 0..INDEX_LAST_MAX {
            if self.is_behind {
                self.index_some().await;
            }
        }
        self.bring_log_home().await;
        if let Some(connection) = self.connection {
            // Everything acknowledged is on the disk already; a failure to say goodbye loses nothing.
            drop(connection.close().await);
        }
    }

    /// Does all of it in one transaction, then answers.
    async fn work(&mut self, jobs: Vec<Job>) {
        self.let_go().await;
        let (works, replies): (Vec<Work>, Vec<_>) = jobs.into_iter().map(|job| (job.work, job.reply)).unzip();
        let answers = self.write(&works).await;
        works.iter().filter_map(Work::appended).for_each(|run_id| self.opened.remove(run_id));
        drop(works);
        for (reply, mut answer) in replies.into_iter().zip(answers) {
            if matches!(answer, Ok(Done::LogCleared(_))) {
                answer = Ok(Done::LogCleared(self.clear_log().await));
            }
            // Whoever asked may have gone; what was asked is done all the same.
            drop(reply.send(answer));
        }
        if self.logged_bytes >= LOG_BYTES {
            self.bring_log_home().await;
        }
    }

    /// Does all of it in one transaction. Where that fails for another reason than a lock, each is done by itself: what is
    /// wrong with one of them is not to cost its neighbours anything.
    async fn write(&mut self, works: &[Work]) -> Vec<Admission<Done>> {
        let mut answers = Vec::with_capacity(works.len());
        let mut cause = match self.transact(works).await {
            Ok(answers) => return answers,
            Err(cause) => cause,
        };
        for work in works {
            // A lock that was waited for in vain once is not waited for again by each of them.
            if works.len() > 1 && !fault::is_locked(&cause) {
                match self.transact(std::slice::from_ref(work)).await {
                    Ok(answer) => {
                        answers.extend(answer);
                        continue;
                    }
                    Err(newer) => cause = newer,
                }
            }
            self.lose(work.at_stake());
            answers.push(Err(fault::database("cannot write to the run database", &cause)));
        }
        answers
    }

    async fn transact(&mut self, works: &[Work]) -> Result<Vec<Admission<Done>>, sqlx::Error> {
        let done = self.try_transact(works).await;
        if done.is_err() {
            // What these runs have taken in was not written: they are read again.
            works.iter().filter_map(Work::run_id).for_each(|run_id| drop(self.runs.remove(&run_id)));
        }
        done
    }

    async fn try_transact(&mut self, works: &[Work]) -> Result<Vec<Admission<Done>>, sqlx::Error> {
        let mut connection = self.take_connection().await?;
        let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
        // The time is taken after the wait for other processes, which may have been long.
        let stamp = self.stamp();
        let mut answers = Vec::with_capacity(works.len());
        for work in works {
            answers.push(self.admit(&mut transaction, work, &stamp).await?);
        }
        transaction.commit().await?;
        self.commits.fetch_add(1, Ordering::Relaxed);
        self.logged_bytes += works.iter().map(Work::bytes).sum::<usize>();
        self.has_open = true;
        self.connection = Some(connection);
        Ok(answers)
    }

    async fn admit(
        &mut self,
        connection: &mut SqliteConnection,
        work: &Work,
        stamp: &Stamp,
    ) -> Result<Admission<Done>, sqlx::Error> {
        match work {
            Work::Append(lease, entries) => self.append(connection, *lease, entries, stamp).await,
            Work::Checkpoint(lease, ..) if self.leaves_texts_out(lease.run_id) => Ok(Ok(Done::Written)),
            Work::Checkpoint(lease, attempt, text) => {
                let admission = write::checkpoint(connection, *lease, (*attempt, text), stamp).await?;
                self.logged_bytes += admission.as_ref().copied().unwrap_or_default();
                Ok(admission.map(|_| Done::Written))
            }
            Work::TakeOver(run_id, seq) => {
                self.runs.remove(run_id);
                Ok(write::take_over(connection, (*run_id, *seq), stamp).await?.map(Done::Taken))
            }
            Work::LetGo(leases) => {
                for lease in leases {
                    write::let_go(connection, *lease).await?;
                }
                Ok(Ok(Done::Written))
            }
            Work::Index => Ok(Ok(Done::Indexed(search::index(connection, Behind::All).await?))),
            Work::Purge(runs) => Ok(Ok(Done::Purged(purge::purge(connection, runs, stamp.now_ms).await?))),
            Work::ClearLog => Ok(Ok(Done::LogCleared(false))),
            Work::CreateToken(new) => {
                let made = tokens::create(connection, new, stamp.now_ms).await?;
                Ok(made.map(|token| Done::Token(Some(token))))
            }
            Work::RevokeToken(id) => {
                Ok(Ok(Done::Token(tokens::revoke(connection, *id, stamp.now_ms).await?)))
            }
            Work::NoteTokenUse(id) => {
                tokens::note_use(connection, *id, stamp.now_ms).await?;
                Ok(Ok(Done::Written))
            }
        }
    }

    async fn append(
        &mut self,
        connection: &mut SqliteConnection,
        lease: Lease,
        entries: &Entries,
        stamp: &Stamp,
    ) -> Result<Admission<Done>, sqlx::Error> {
        let new = self.opened.find(lease.run_id);
        let mut known = match (&new, self.runs.remove(&lease.run_id)) {
            (Some(new), _) => Known::new(new, stamp.now_ms),
            (None, Some(known)) => known,
            (None, None) => match write::know(connection, lease.run_id).await? {
                Ok(known) => known,
                Err(refusal) => return Ok(Err(refusal)),
            },
        };
        if let Err(refusal) = known.check(lease, entries) {
            // A new run is in no table yet.
            if new.is_none() {
                self.keep(known);
            }
            return Ok(Err(refusal));
        }
        let demanded = match write::admit(connection, &known, (new.as_deref(), entries), stamp).await? {
            Ok(demanded) => demanded,
            Err(refusal) => {
                if new.is_none() {
                    write::let_go(connection, lease).await?;
                }
                return Ok(Err(refusal));
            }
        };
        if let Some(new) = &new
            && let Err(refusal) = write::begin(connection, new, stamp).await?
        {
            return Ok(Err(refusal));
        }
        known.apply(entries, stamp.now_ms);
        let admission = write::append(connection, &known, (entries, demanded), stamp).await?;
        // What was refused is no longer ours to know, and a closed run is hardly written again.
        if admission.is_ok() && !entries.close() {
            self.keep(known);
        }
        self.is_behind |= entries.close();
        Ok(admission.map(|()| Done::Written))
    }

    /// Whether only the run's metadata is kept.
    fn leaves_texts_out(&self, run_id: RunId) -> bool {
        self.runs.get(&run_id).is_some_and(|known| !keeps_texts(&known.run.plan))
    }

    /// Keeps a run at hand. The oldest makes room where there are too many.
    fn keep(&mut self, known: Known) {
        if self.runs.len() >= RUNS_MAX {
            self.runs.pop_first();
        }
        self.runs.insert(known.run.plan.run_id, known);
    }

    /// These could not be written.
    fn lose(&mut self, leases: impl IntoIterator<Item = Lease>) {
        self.lost.extend(leases);
        self.lost.truncate(LOST_MAX);
    }

    /// Gives lost runs away. In a transaction of its own: work that can be done is not held up by what cannot.
    async fn let_go(&mut self) {
        if self.lost.is_empty() {
            return;
        }
        // Where it fails it is tried again with the next beat, and before the next work.
        if self.transact(&[Work::LetGo(self.lost.clone())]).await.is_ok() {
            self.lost.clear();
        }
    }

    /// Tells other processes which runs this one is still at. One that has none leaves the database alone.
    async fn beat(&mut self) {
        self.let_go().await;
        if !self.has_open {
            return;
        }
        let stamp = self.stamp();
        let Ok(mut connection) = self.take_connection().await else { return };
        // Another beat follows long before the leases end, so a failure is not worth telling.
        if let Ok(runs) = write::extend_leases(&mut connection, &stamp).await {
            self.has_open = runs > 0;
            self.commits.fetch_add(1, Ordering::Relaxed);
            self.connection = Some(connection);
        }
    }

    /// Puts texts of closed runs into the index of words, as many as one transaction takes.
    async fn index_some(&mut self) {
        // Where it fails it is tried again after the next run, and before the next search.
        self.is_behind = self.try_index().await.unwrap_or(false);
    }

    async fn try_index(&mut self) -> Result<bool, sqlx::Error> {
        let mut connection = self.take_connection().await?;
        let is_behind = search::unindexed(&mut connection, Behind::Closed).await?.is_some();
        let mut has_more = false;
        if is_behind {
            let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
            has_more = search::index(&mut transaction, Behind::Closed).await?;
            transaction.commit().await?;
        }
        self.connection = Some(connection);
        Ok(has_more)
    }

    /// Empties the write-ahead log, unless a reader is in the way.
    async fn clear_log(&mut self) -> bool {
        let Ok(mut connection) = self.take_connection().await else { return false };
        let Ok(is_clear) = purge::clear_log(&mut connection, self.wait).await else { return false };
        self.connection = Some(connection);
        is_clear
    }

    /// Moves what is in the write-ahead log into the database, as far as no reader is in the way. It is done
    /// between transactions, so that nobody's commit waits for it.
    async fn bring_log_home(&mut self) {
        self.logged_bytes = 0;
        let Ok(mut connection) = self.take_connection().await else { return };
        // What stays in the log is as safe there.
        if sqlx::query("PRAGMA wal_checkpoint(PASSIVE)").execute(&mut connection).await.is_ok() {
            self.connection = Some(connection);
        }
    }

    /// The connection, to be put back by whoever had no trouble with it.
    async fn take_connection(&mut self) -> Result<SqliteConnection, sqlx::Error> {
        match self.connection.take() {
            Some(connection) => Ok(connection),
            None => self.options.connect().await,
        }
    }

    fn stamp(&self) -> Stamp {
        let now_ms = clock::now_ms();
        Stamp { owner: self.owner.clone(), now_ms, lease_until_ms: now_ms + LEASE_MS }
    }
}

/// Beats that were missed are not made up for: one is as good as three.
fn heartbeat() -> Interval {
    let mut interval = tokio::time::interval(HEARTBEAT);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    interval
}
