//! The store's public type: opening, purging, tokens, backups, closing. `reading` holds the reads, `journal` the
//! writes.

use parallel_llm_engine::PicoUsd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parallel_llm_engine::port::Lease;
use parallel_llm_engine::{CallerSlot, Failure, RunId, RunPlan};

use crate::access::sessions::{self, NewSession, SessionLimits, StoredSession};
use crate::access::tokens::{self, NewToken, StoredToken, Token};
use crate::database::{Database, Location, Reader, ServerUrl, Transaction};
use crate::history::changes::Changes;
use crate::history::costs::{CostLine, CostQuery};
use crate::history::runs::RunScope;
use crate::list::page;
use crate::list::results::{RunsPage, RunsQuery};
use crate::row::ownership::Stamp;
use crate::search::query::SearchQuery;
use crate::search::results::SearchResults;
use crate::search::search;
use crate::spill::{SpillState, Spills};
use crate::system::clock;
use crate::upkeep::backup::Backup;
use crate::upkeep::inspection::{CheckDepth, DatabaseState, Integrity};
use crate::upkeep::purge::Purged;
use crate::writer::admission::{limits, repeats};
use crate::writer::task::closing::CLOSED_MAX;
use crate::writer::{Writer, WriterTimes, access};

/// How long a write waits for the locks of other processes. Those take milliseconds; a backup may take longer, and a
/// paid answer is worth the wait.
pub(crate) const WAIT: Duration = Duration::from_secs(60);
/// How often leases are extended: four times before one ends, since a busy disk delays some.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// How long a lease lasts without a heartbeat. In a file, another process sees at once that an owner has ended; the lease
/// serves owners that cannot be seen.
const LEASE: Duration = Duration::from_secs(60);
/// The same on a server, where the lease alone says that a machine is gone: another one continues its runs within fifteen
/// seconds.
const SERVER_HEARTBEAT: Duration = Duration::from_secs(3);
const SERVER_LEASE: Duration = Duration::from_secs(12);

/// Runs handed to the writer at once for purging; it removes about a dozen small ones per step.
const PURGE_RUNS: usize = 32;
/// Most steps of one purge; the rest is left to the next one. At fifty steps a second this is more than a day.
const STEPS_MAX: usize = 5_000_000;
/// Pause after a step: longer than the pause between two attempts of another process to get the lock, so that nobody waits
/// for more than one step.
const STEP_PAUSE: Duration = Duration::from_millis(3);
/// How often, and how far apart, truncating the write-ahead log is tried while others read: five seconds in all.
const CLEAR_TRIES: usize = 100;
const CLEAR_PAUSE: Duration = Duration::from_millis(50);
/// How long a search waits for the index to catch up: enough for some megabytes of text.
const CATCH_UP_MAX: Duration = Duration::from_secs(1);

/// The location of the database, and how to use it.
#[derive(Clone, Debug)]
pub struct StoreConfig {
    /// The database: a file, or a server.
    pub location: Location,
    /// How long a write waits for the locks of other processes before it fails.
    pub wait: Duration,
    /// How often the leases of this process's runs are extended; longer than zero.
    pub heartbeat: Duration,
    /// How long a lease lasts; several heartbeats.
    pub lease: Duration,
    /// Folders for answers that neither the database nor its own folder accepts, in the order they are tried.
    pub spill_folders: Vec<PathBuf>,
}

impl StoreConfig {
    /// The database at this path, with default settings.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            location: Location::File(path.into()),
            wait: WAIT,
            heartbeat: HEARTBEAT,
            lease: LEASE,
            spill_folders: Vec::new(),
        }
    }

    /// The database on this server, with default settings. `folder` is on this machine, for answers that the server does
    /// not accept at the moment.
    pub fn on_server(url: ServerUrl, folder: impl Into<PathBuf>) -> Self {
        Self {
            location: Location::Server { url, folder: folder.into() },
            wait: WAIT,
            heartbeat: SERVER_HEARTBEAT,
            lease: SERVER_LEASE,
            spill_folders: Vec::new(),
        }
    }
}

/// The stored runs. Cheap to clone; all clones share one writer.
#[derive(Clone, Debug)]
pub struct Store {
    pub(crate) shared: Arc<Shared>,
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) database: Database,
    pub(crate) writer: Writer,
    pub(crate) spills: Spills,
}

impl Store {
    /// Opens the database; creates or migrates it if necessary. The writer runs on a thread of its own.
    ///
    /// A file that is not ours, that a newer version wrote, or that is read-only is refused and left unchanged.
    pub async fn open(config: StoreConfig) -> Result<Self, Failure> {
        let opened = Database::open(&config.location, config.wait).await?;
        let database = opened.database;
        let spills = database.spills(&config.location, &config.spill_folders);
        let StoreConfig { wait, heartbeat, lease, .. } = config;
        let times = WriterTimes { wait, admission: wait, heartbeat, lease };
        let writer = Writer::start(opened.connection, spills.clone(), times)?;
        // An earlier version set aside what it could not take in; it can be merged.
        spills.revive();
        if spills.is_waiting() {
            writer.import_spills().await;
        }
        let store = Self { shared: Arc::new(Shared { database, writer, spills }) };
        // What nobody looks at yet is no reason not to open.
        let _ = store.close_abandoned().await;
        Ok(store)
    }

    /// Closes runs that have their answer and whose process ended before it could close them, so that lists, counts and
    /// figures have them.
    pub async fn close_abandoned(&self) -> Result<(), Failure> {
        let is_any = |reader: &Reader<'_>| {
            for run_id in reader.decided_runs(CLOSED_MAX)? {
                let ownership = reader.ownership(run_id)?;
                if ownership.is_some_and(|ownership| ownership.is_interrupted(reader.now_ms)) {
                    return Ok(true);
                }
            }
            Ok(false)
        };
        if self.shared.database.read(is_any).await? {
            self.shared.writer.close_abandoned().await?;
        }
        Ok(())
    }

    /// The newest run of the same question and caller whose answer is stored and was settled within the last
    /// `within_ms` milliseconds. `plan_hash` is [`parallel_llm_engine::RunPlan::plan_hash`].
    pub async fn find_same(
        &self,
        plan_hash: &str,
        asked_by: Option<&str>,
        within_ms: i64,
    ) -> Result<Option<RunId>, Failure> {
        let (plan_hash, asked_by) = (plan_hash.to_owned(), asked_by.map(str::to_owned));
        let find = move |reader: &Reader<'_>| {
            Ok(repeats::find_same(reader, &plan_hash, asked_by.as_deref(), within_ms)?)
        };
        self.shared.database.read(find).await
    }

    /// The run of this caller under this idempotency key.
    pub async fn find_keyed(&self, asked_by: Option<&str>, key: &str) -> Result<Option<RunId>, Failure> {
        let (asked_by, key) = (asked_by.map(str::to_owned), key.to_owned());
        let find = move |reader: &Reader<'_>| Ok(reader.run_of_key(asked_by.as_deref(), &key)?);
        let known = self.shared.database.read(find).await?;
        Ok(known.map(|known| known.run_id))
    }

    /// Checks that the day's limits of this plan leave room for it. Beginning the run checks again.
    pub async fn check_limits(&self, plan: &RunPlan) -> Result<(), Failure> {
        limits::check_plan(&self.shared.database, plan).await
    }

    /// Checks that the day's limits of this plan leave room for one more request of this slot, counting durable
    /// requests.
    pub async fn check_call(
        &self,
        plan: &RunPlan,
        slot: CallerSlot,
        worst_case: Option<PicoUsd>,
    ) -> Result<(), Failure> {
        limits::check_call(&self.shared.database, plan, slot, worst_case).await
    }

    /// Costs added up, the most expensive or the newest day first.
    pub async fn costs(&self, whose: RunScope<'_>, query: CostQuery) -> Result<Vec<CostLine>, Failure> {
        let asked_by = whose.name().map(str::to_owned);
        self.shared.database.read(move |reader| Ok(reader.costs(asked_by.as_deref(), query)?)).await
    }

    /// Finds the runs in whose question, or in one of whose answers, every given word begins a word; newest first, up
    /// to 500. Ignores case and accents. Searches only indexed runs with stored texts, after waiting up to a second for
    /// the index. Fails with `usage` if there is no word to search for.
    pub async fn search(
        &self,
        whose: RunScope<'_>,
        words: &str,
        limit: usize,
    ) -> Result<SearchResults, Failure> {
        let query = SearchQuery::of(words)?;
        self.catch_up_index().await;
        let asked_by = whose.name().map(str::to_owned);
        self.shared.database.read(move |reader| search(reader, asked_by.as_deref(), &query, limit)).await
    }

    /// A page of runs with those in progress and facets. Waits up to a second for the index if there are words to search for,
    /// or if many runs are not counted yet; fails with `usage` if what was typed has no word.
    pub async fn page(&self, whose: RunScope<'_>, query: RunsQuery) -> Result<RunsPage, Failure> {
        let words = query.words.as_deref().map(SearchQuery::of).transpose()?;
        if words.is_some() {
            self.catch_up_index().await;
        }
        let asked_by = whose.name().map(str::to_owned);
        let read = move |reader: &Reader<'_>| page(reader, asked_by.as_deref(), &query, words.as_ref());
        let page = self.shared.database.read(read.clone()).await?;
        let is_cut = page.facets.statuses.iter().any(|count| count.is_lower_bound);
        if !is_cut || page.search.is_some() {
            return Ok(page);
        }
        // The writer was too busy to count the newest runs.
        self.catch_up_index().await;
        self.shared.database.read(read).await
    }

    /// Waits a while for runs that are not counted and texts that are not indexed yet. A search works without a complete index: it counts the runs that
    /// are missing.
    async fn catch_up_index(&self) {
        let catch_up = async { while in_turn(self.shared.writer.index()).await.unwrap_or(false) {} };
        let _ = tokio::time::timeout(CATCH_UP_MAX, catch_up).await;
    }

    /// Removes these runs in short steps, so that writers of other runs do not wait. A run in progress stays. If this
    /// fails or is dropped half-way, every run is either whole or removed, and the rest can be purged again. Until
    /// [`Store::reclaim`] has finished, words may remain in the index and texts in the write-ahead log. Fails with
    /// `busy` while another process purges.
    pub async fn purge(&self, runs: &[RunId]) -> Result<Purged, Failure> {
        let _lock = self.shared.database.lock_purge().await?;
        let mut purged = Purged::default();
        let mut rest = runs;
        for _ in 0..STEPS_MAX {
            if rest.is_empty() {
                break;
            }
            let next = rest[..rest.len().min(PURGE_RUNS)].to_vec();
            let step = in_turn(self.shared.writer.purge(next)).await?;
            self.shared.spills.forget(&step.purged.runs);
            purged.runs.extend(step.purged.runs);
            purged.under_way.extend(step.purged.under_way);
            rest = &rest[step.done..];
        }
        Ok(purged)
    }

    /// Overwrites the remains of all purged runs in the database's files and frees the space, in short steps like
    /// [`Store::purge`]. Returns `false` if another process kept reading: texts may then remain in the write-ahead log
    /// until that process ends. It can be dropped at any time and started again; [`DatabaseState`] says whether that
    /// is due. A server frees the space and overwrites it later; its own log and its backups are in the hands of its
    /// administrator.
    pub async fn reclaim(&self) -> Result<bool, Failure> {
        let _lock = self.shared.database.lock_purge().await?;
        for number in 0..STEPS_MAX {
            if !in_turn(self.shared.writer.reclaim(number == 0)).await? {
                break;
            }
        }
        self.shared.database.vacuum().await?;
        for _ in 0..CLEAR_TRIES {
            if self.shared.writer.truncate_wal().await? {
                return Ok(true);
            }
            tokio::time::sleep(CLEAR_PAUSE).await;
        }
        Ok(false)
    }

    /// Creates a token. Fails with `usage` if any token, revoked ones included, has its name.
    pub async fn create_token(&self, new: NewToken) -> Result<Token, Failure> {
        self.shared.writer.write(move |into, stamp| access::create_token(into, &new, stamp.now_ms)).await
    }

    /// All tokens ever created, oldest first; up to 10,000. Damaged ones, which admit nobody, are left out; a check reports
    /// them.
    pub async fn list_tokens(&self) -> Result<Vec<Token>, Failure> {
        let tokens = self.shared.database.read(|reader| Ok(reader.tokens()?)).await?;
        Ok(tokens.into_iter().filter_map(|token| token.checked().ok()).collect())
    }

    /// The token of this hash, whether valid or not. Fast enough to be called for every request.
    pub async fn find_token(&self, hash: [u8; 32]) -> Result<Option<Token>, Failure> {
        let token = self.shared.database.read(move |reader| Ok(reader.token(hash)?)).await?;
        token.map(StoredToken::checked).transpose()
    }

    /// Revokes a token with immediate effect. A token that is already revoked keeps its time; `None` if there is no
    /// such token.
    pub async fn revoke_token(&self, token_id: i64) -> Result<Option<Token>, Failure> {
        self.shared.writer.write(move |into, stamp| access::revoke_token(into, token_id, stamp.now_ms)).await
    }

    /// Records that a token was used just now, at most once a minute. Does not wait, and is dropped if the writer's
    /// queue is full.
    pub fn note_token_use(&self, token: &Token) {
        if token.last_used_at_ms.is_none_or(|used_ms| used_ms <= clock::now_ms() - tokens::USED_MS) {
            let token_id = token.token_id;
            let stands_ms = tokens::USED_MS;
            self.shared
                .writer
                .note(move |into, stamp| into.note_token_use(token_id, stamp.now_ms, stands_ms));
        }
    }

    /// Begins a session of a browser. Sessions that have ended are deleted, and of too many those that were used least
    /// recently.
    pub async fn begin_session(&self, new: NewSession, limits: SessionLimits) -> Result<(), Failure> {
        let begin = move |into: &mut Transaction, stamp: &Stamp| {
            access::begin_session(into, &new, &limits, stamp.now_ms)
        };
        self.shared.writer.write(begin).await
    }

    /// The session of this hash, unless it has ended. Fast enough to be called for every request. It counts as used now,
    /// which is recorded at most once a minute.
    pub async fn find_session(
        &self,
        hash: [u8; 32],
        limits: &SessionLimits,
    ) -> Result<Option<StoredSession>, Failure> {
        let found = self.shared.database.read(move |reader| Ok(reader.session(hash)?)).await?;
        let now_ms = clock::now_ms();
        let found = found.filter(|session| session.is_in_force(limits, now_ms));
        if found.as_ref().is_some_and(|session| session.used_at_ms <= now_ms - sessions::USED_MS) {
            self.shared.writer.note(move |into, stamp| into.note_session_use(hash, stamp.now_ms));
        }
        Ok(found)
    }

    /// Ends a session.
    pub async fn end_session(&self, hash: [u8; 32]) -> Result<(), Failure> {
        self.shared.writer.write(move |into, _| Ok(Ok(into.delete_session(hash)?))).await
    }

    /// The key that the forms of the page are marked with, the same for every server of this database.
    pub async fn form_key(&self) -> Result<Vec<u8>, Failure> {
        self.shared.database.read(|reader| Ok(reader.form_key()?)).await
    }

    /// The files waiting to be imported, and those that were set aside.
    pub fn spills(&self) -> SpillState {
        self.shared.spills.state()
    }

    /// The version, size and contents of the database.
    pub async fn state(&self) -> Result<DatabaseState, Failure> {
        self.shared.database.state().await
    }

    /// Checks the integrity of the database within this time, without blocking anybody.
    pub async fn check(&self, depth: CheckDepth, within: Duration) -> Result<Integrity, Failure> {
        self.shared.database.check(depth, within).await
    }

    /// Writes a complete backup to a new file readable only by its owner, without blocking anybody. Files waiting
    /// beside the database ([`Store::spills`]) are not part of it.
    pub async fn back_up(&self, to: &Path) -> Result<Backup, Failure> {
        self.shared.database.back_up(to).await
    }

    /// The changes of runs from now on, for a watcher that would otherwise look at its run all the time.
    pub fn changes(&self) -> Changes {
        self.shared.database.changes()
    }

    /// Whether the database is on a server, where other machines may continue a run.
    pub fn is_on_server(&self) -> bool {
        self.shared.database.is_on_server()
    }

    /// The store's clock in milliseconds since 1970, to compare with its timestamps.
    pub fn now_ms() -> i64 {
        clock::now_ms()
    }

    /// Takes over a run: its previous owner can no longer write to it. Fails with `busy` if another process is still
    /// running it.
    pub async fn take_over(&self, run_id: RunId) -> Result<Lease, Failure> {
        self.shared.writer.take_over(run_id, None).await
    }

    /// Transactions committed for runs since the store was opened, without those for the index.
    pub fn commits(&self) -> u64 {
        self.shared.writer.commits()
    }

    /// Jobs that wait for the next commit.
    pub fn queued(&self) -> usize {
        self.shared.writer.queued()
    }

    /// Fails if the database would not take an append now. Writes nothing to the disk.
    pub async fn check_writable(&self) -> Result<(), Failure> {
        self.shared.writer.check().await
    }

    /// Writes what is queued, moves the write-ahead log into the database and closes it. Later calls fail.
    pub async fn close(&self) {
        self.shared.database.close().await;
        self.shared.writer.close().await;
    }
}

/// Runs one step of a long task, then lets others write.
async fn in_turn<T>(step: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let done = step.await?;
    tokio::time::sleep(STEP_PAUSE).await;
    Ok(done)
}
