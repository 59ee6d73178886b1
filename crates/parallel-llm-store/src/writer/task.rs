//! The one task that writes.
//!
//! It takes everything that is queued and commits it in one transaction, so that many runs share the wait for the
//! disk; whoever asked is answered after the commit. Each append goes in whole or not at all, and one that is
//! refused (because its process was overtaken, or its question is asked already) leaves its neighbours alone. The same
//! task extends the leases of this process's runs, and indexes their words when it has nothing better to do.
//!
//! What always holds: an acknowledged append is on the disk, in the database or in a file of its own ([`crate::spill`]);
//! after a failure nothing is believed of the connection, or of the runs it was writing, that has not been read again. A
//! run whose events could be written nowhere is let go of as soon as the database takes writes again, because the engine
//! writes no more of it.

mod spilling;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use parallel_llm_engine::port::Lease;
use parallel_llm_engine::value::warning::Warning;
use parallel_llm_engine::{Failure, RunId};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqlitePool};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _};
use tokio::sync::mpsc;
use tokio::time::{Instant, Interval, MissedTickBehavior};
use tokio_util::sync::CancellationToken;

use crate::clock;
use crate::fault;
use crate::file::{self, Identity};
use crate::row::entries::{Entries, keeps_texts};
use crate::row::owner::Owner;
use crate::spill::Spills;
use crate::sqlite::search::{self, Behind, INDEX_BYTES};
use crate::sqlite::write::{self, Known};
use crate::sqlite::{Admission, Sqlite, Stamp, purge, tokens};
use crate::writer::job::{Done, Job, Work};
use crate::writer::local_runs::Opened;

/// Pieces of work that are taken at once.
const JOBS_MAX: usize = 256;
/// How long one transaction waits for those of other processes. Answers that were paid for are spilled after it; what
/// cannot be spilled waits again and again, until its own deadline.
const PATIENCE: Duration = Duration::from_secs(10);
/// The same while something is spilled already: the database is known to be locked, and runs wait for each of their
/// steps.
const PATIENCE_SPILLED: Duration = Duration::from_millis(500);
/// Between two tries for those that wait longer: a lock may be refused at once.
const STALL_PAUSE: Duration = Duration::from_millis(50);
/// How often what was spilled is tried to be taken in.
const TAKE_IN_EVERY: Duration = Duration::from_secs(2);
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

/// What whoever reads a run is to know of how it is kept, for the runs of this process.
pub(crate) type Notices = Arc<Mutex<BTreeMap<RunId, Warning>>>;

/// What the task holds.
#[derive(Debug)]
pub(crate) struct Pen {
    options: SqliteConnectOptions,
    /// Connections that read, for what must be known while the database takes no writes.
    readers: SqlitePool,
    /// Which file the database was when it was opened.
    identity: Option<Identity>,
    /// How long a transaction waits for those of other processes, and for how long it does now.
    patience: Duration,
    patience_now: Duration,
    /// Whether there may be closed runs whose texts are not in the index of words.
    is_behind: bool,
    /// `None` after a failure: the next transaction begins on a new one.
    connection: Option<SqliteConnection>,
    /// Runs being written, as far as they are at hand.
    runs: BTreeMap<RunId, Known>,
    /// Runs whose texts are not to be kept.
    without_texts: BTreeSet<RunId>,
    /// Runs whose events could not be written, to be let go of.
    lost: Vec<Lease>,
    /// Work that waits for other processes longer than one transaction does.
    stalled: Vec<Job>,
    spills: Spills,
    /// Whether there may be files to take in.
    spills_wait: bool,
    /// Runs of this process that have files which are not taken in: what follows in them must not be written before.
    spilled: BTreeSet<RunId>,
    notices: Notices,
    /// Whether this process may have open runs, at hand or not.
    has_open: bool,
    opened: Arc<Opened>,
    owner: String,
    commits: Arc<AtomicU64>,
    /// Bytes written since the write-ahead log was last brought home.
    logged_bytes: usize,
}

/// What became of a piece of work that was tried.
enum Tried {
    /// It was done, or refused.
    Answered(Admission<Done>),
    /// Other processes have the database; it may be tried again.
    Locked(Failure),
    /// The database cannot do it.
    Failed(Failure),
}

impl Pen {
    /// A pen for this database. `wait` is how long a write waits for those of other processes.
    pub(crate) fn new(sqlite: Sqlite, spills: Spills, wait: Duration) -> Self {
        let patience = wait.min(PATIENCE);
        Self {
            identity: file::identity(sqlite.options.get_filename()).ok(),
            readers: sqlite.readers,
            options: sqlite.options.busy_timeout(patience),
            patience,
            // What the connection was opened with does not matter: the first transaction says how long it waits.
            patience_now: wait,
            // Another process may have left something.
            is_behind: true,
            spills_wait: spills.is_waiting(),
            connection: Some(sqlite.connection),
            runs: BTreeMap::new(),
            without_texts: BTreeSet::new(),
            lost: Vec::new(),
            stalled: Vec::new(),
            spills,
            spilled: BTreeSet::new(),
            notices: Arc::default(),
            has_open: false,
            opened: Arc::default(),
            owner: Owner::current().to_string(),
            commits: Arc::default(),
            logged_bytes: 0,
        }
    }

    /// What it shares with those who ask it.
    pub(crate) fn shared(&self) -> (Arc<Opened>, Arc<AtomicU64>, Notices) {
        (Arc::clone(&self.opened), Arc::clone(&self.commits), Arc::clone(&self.notices))
    }

    /// Writes until nobody asks any more.
    pub(crate) async fn run(mut self, mut queue: mpsc::Receiver<Job>, stop: CancellationToken) {
        let mut heartbeat = heartbeat();
        let mut jobs = Vec::new();
        loop {
            tokio::select! {
                biased;
                () = stop.cancelled(), if !queue.is_closed() => queue.close(),
                _ = heartbeat.tick() => self.beat().await,
                count = queue.recv_many(&mut jobs, JOBS_MAX) => match count {
                    0 => break,
                    _ => self.work(std::mem::take(&mut jobs)).await,
                },
                () = tokio::time::sleep(STALL_PAUSE), if !self.stalled.is_empty() => self.work(Vec::new()).await,
                () = tokio::time::sleep(TAKE_IN_EVERY), if self.spills_wait => drop(self.take_in().await),
                () = tokio::time::sleep(IDLE), if self.is_behind && !self.spills_wait => self.index_some().await,
            }
        }
        if self.spills_wait {
            // What is not taken in now is by whoever comes next.
            self.take_in().await;
        }
        for _ in 0..INDEX_LAST_MAX {
            if self.is_behind && !self.spills_wait {
                self.index_some().await;
            }
        }
        self.bring_log_home().await;
        if let Some(connection) = self.connection {
            // Everything acknowledged is on the disk already; a failure to say goodbye loses nothing.
            drop(connection.close().await);
        }
    }

    /// Does all of it in one transaction, then answers. What other processes are in the way of waits for its next turn.
    async fn work(&mut self, jobs: Vec<Job>) {
        let jobs: Vec<Job> = self.stalled.drain(..).chain(jobs).collect();
        let (works, others): (Vec<Work>, Vec<_>) =
            jobs.into_iter().map(|job| (job.work, (job.reply, job.deadline))).unzip();
        let tried = self.write(&works).await;
        for ((work, (reply, deadline)), tried) in works.into_iter().zip(others).zip(tried) {
            let answer = match tried {
                Tried::Locked(_) if work.is_patient() && Instant::now() < deadline => {
                    self.stalled.push(Job { work, reply, deadline });
                    continue;
                }
                Tried::Answered(Ok(Done::LogCleared(_))) => Ok(Done::LogCleared(self.clear_log().await)),
                Tried::Answered(answer) => answer,
                Tried::Locked(failure) | Tried::Failed(failure) => {
                    self.lose(work.at_stake());
                    Err(failure)
                }
            };
            if let Some(run_id) = work.appended() {
                self.opened.remove(run_id);
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
    async fn write(&mut self, works: &[Work]) -> Vec<Tried> {
        if let Err(failure) = self.check_identity() {
            return self.keep_what_can_be(works, |_| Tried::Failed(failure.clone())).await;
        }
        let takes_over = works.iter().any(|work| matches!(work, Work::TakeOver(..)));
        if (self.spills_wait || takes_over) && !self.take_in().await {
            let failure = fault::locked();
            return self.keep_what_can_be(works, |_| Tried::Locked(failure.clone())).await;
        }
        self.let_go().await;
        // What follows events that wait in a file waits there too.
        let is_held_back =
            works.iter().any(|work| work.appended().is_some_and(|id| self.spilled.contains(&id)));
        let mut cause = if is_held_back {
            None
        } else {
            match self.transact(works).await {
                Ok(answers) => return answers.into_iter().map(Tried::Answered).collect(),
                Err(cause) => Some(cause),
            }
        };
        let mut tried = Vec::with_capacity(works.len());
        for work in works {
            let is_held_back = work.appended().is_some_and(|id| self.spilled.contains(&id));
            // A lock that was waited for in vain once is not waited for again by each of them.
            let is_locked = cause.as_ref().is_some_and(fault::is_locked);
            let is_alone = works.len() == 1 && cause.is_some();
            if !is_held_back && !is_locked && !is_alone {
                match self.transact(std::slice::from_ref(work)).await {
                    Ok(answer) => {
                        tried.extend(answer.into_iter().map(Tried::Answered));
                        continue;
                    }
                    Err(newer) => cause = Some(newer),
                }
            }
            let failure = cause.as_ref().map_or_else(fault::held_back, fault::unwritten);
            let is_locked = cause.as_ref().is_some_and(fault::is_locked);
            tried.push(match self.keep(work, &failure).await {
                Some(answer) => Tried::Answered(answer),
                None if is_locked => Tried::Locked(failure),
                None => Tried::Failed(failure),
            });
        }
        tried
    }

    /// Where the database takes nothing at all: what can be spilled is, and the others are told this.
    async fn keep_what_can_be(&mut self, works: &[Work], else_tell: impl Fn(&Work) -> Tried) -> Vec<Tried> {
        let mut tried = Vec::with_capacity(works.len());
        for work in works {
            let told = else_tell(work);
            let (Tried::Locked(failure) | Tried::Failed(failure)) = &told else { continue };
            tried.push(self.keep(work, failure).await.map_or(told, Tried::Answered));
        }
        tried
    }

    /// Refuses to write to a database that is not at its place any more: what is written to a file that nobody finds is
    /// lost when this process ends.
    fn check_identity(&self) -> Result<(), Failure> {
        let path = self.options.get_filename();
        match file::identity(path) {
            Ok(now) if self.identity.is_none_or(|then| then == now) => Ok(()),
            // Where nothing can be said of the file, the database itself says what is wrong.
            Err(cause) if cause.kind() != std::io::ErrorKind::NotFound => Ok(()),
            _ => Err(fault::replaced(path)),
        }
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
            Work::Checkpoint(lease, ..) if self.without_texts.contains(&lease.run_id) => {
                Ok(Ok(Done::Written))
            }
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
            Work::Index => {
                self.logged_bytes += INDEX_BYTES as usize;
                Ok(Ok(Done::Indexed(search::index(connection, Behind::All).await?)))
            }
            Work::Purge(runs) => {
                let step = purge::purge(connection, runs, stamp.now_ms).await?;
                self.logged_bytes += step.bytes;
                Ok(Ok(Done::Purged(step)))
            }
            Work::Reclaim { is_first } => {
                let step = purge::reclaim(connection, *is_first).await?;
                self.logged_bytes += step.bytes;
                Ok(Ok(Done::Reclaimed(step)))
            }
            Work::ClearLog => Ok(Ok(Done::LogCleared(false))),
            Work::TakeIn => Ok(Ok(Done::Written)),
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
                self.keep_at_hand(known);
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
        if entries.close() {
            self.without_texts.remove(&lease.run_id);
        } else if !keeps_texts(&known.run.plan) && self.without_texts.len() < RUNS_MAX {
            self.without_texts.insert(lease.run_id);
        }
        // What was refused is no longer ours to know, and a closed run is hardly written again.
        if admission.is_ok() && !entries.close() {
            self.keep_at_hand(known);
        }
        self.is_behind |= entries.close();
        Ok(admission.map(|()| Done::Written))
    }

    /// Keeps a run at hand. The oldest makes room where there are too many.
    fn keep_at_hand(&mut self, known: Known) {
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
        if self.spills_wait || self.spills.is_waiting() {
            self.take_in().await;
        }
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
        if self.logged_bytes >= LOG_BYTES {
            self.bring_log_home().await;
        }
    }

    async fn try_index(&mut self) -> Result<bool, sqlx::Error> {
        let mut connection = self.take_connection().await?;
        let is_behind = search::unindexed(&mut connection, Behind::Closed).await?.is_some();
        let mut has_more = false;
        if is_behind {
            let mut transaction = connection.begin_with("BEGIN IMMEDIATE").await?;
            has_more = search::index(&mut transaction, Behind::Closed).await?;
            transaction.commit().await?;
            self.logged_bytes += INDEX_BYTES as usize;
        }
        self.connection = Some(connection);
        Ok(has_more)
    }

    /// Empties the write-ahead log, unless a reader is in the way.
    async fn clear_log(&mut self) -> bool {
        // What is brought home before keeps nobody from writing; the emptying does.
        self.bring_log_home().await;
        let Ok(mut connection) = self.take_connection().await else { return false };
        let Ok(is_clear) = purge::clear_log(&mut connection, self.patience_now).await else { return false };
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
        let mut connection = if let Some(connection) = self.connection.take() {
            connection
        } else {
            self.patience_now = self.patience;
            self.options.connect().await?
        };
        let patience = if self.spills_wait { self.patience.min(PATIENCE_SPILLED) } else { self.patience };
        if self.patience_now != patience {
            let sql = format!("PRAGMA busy_timeout = {}", patience.as_millis());
            sqlx::query(AssertSqlSafe(sql)).execute(&mut connection).await?;
            self.patience_now = patience;
        }
        Ok(connection)
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
