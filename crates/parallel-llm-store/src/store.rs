//! The store's public face: opening, reading, closing. What is written comes through the engine's journal.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parallel_llm_engine::port::Lease;
use parallel_llm_engine::{CallerSlot, Failure, RunId, RunPlan};
use tokio::time::Instant;

use crate::backup::Backup;
use crate::clock;
use crate::costs::{CostLine, CostQuery};
use crate::database::Database;
use crate::inspection::{CheckDepth, DatabaseState, Integrity};
use crate::purge::Purged;
use crate::runs::RunScope;
use crate::search::query::SearchQuery;
use crate::search::results::SearchResults;
use crate::search::search;
use crate::spill::{SpillState, Spills};
use crate::tokens::{self, NewToken, StoredToken, Token};
use crate::writer::{Writer, limits, repeats};

/// How long a write waits for those of other processes. Theirs take milliseconds; a backup may take a while, and
/// an answer that was paid for is worth the wait.
const WAIT: Duration = Duration::from_secs(60);

/// Runs that the writer is given at once to purge. Of small ones it takes a dozen away in a step.
const PURGE_RUNS: usize = 32;
/// Steps after which a purge is given up, to be continued later: a day at fifty a second.
const STEPS_MAX: usize = 5_000_000;
/// How much longer than a step the writer is left to others after it, and for how long at most: who waits for the
/// database's lock looks for it again every hundred milliseconds.
const PAUSE_FACTOR: u32 = 2;
const PAUSE_MAX: Duration = Duration::from_millis(250);
/// How often, and how long apart, the write-ahead log is attempted to be emptied while others read: five seconds.
const CLEAR_TRIES: usize = 100;
const CLEAR_PAUSE: Duration = Duration::from_millis(50);
/// How long a search lets the index catch up before it searches what there is: some megabytes of texts, and no longer than
/// people wait without wondering.
const CATCH_UP_MAX: Duration = Duration::from_secs(1);

/// Which database, and how it is used.
#[derive(Clone, Debug)]
pub struct StoreConfig {
    /// The database file. Its folder is made where it is missing.
    pub path: PathBuf,
    /// How long a write waits for those of other processes before it fails.
    pub wait: Duration,
    /// Where answers are kept that neither the database nor its own folder takes, in the order in which they are attempted.
    pub spill_folders: Vec<PathBuf>,
}

impl StoreConfig {
    /// The database of this path, used as is best for most.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), wait: WAIT, spill_folders: Vec::new() }
    }
}

/// What is remembered of runs. Cheap to clone; all clones are the same store.
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
    /// Opens the database, made or brought up to date where that is needed. Its writer runs as a task of the
    /// runtime this is called on.
    ///
    /// A file that is not ours, that a newer version of this program wrote, or that may not be written is refused
    /// and left as it is.
    pub async fn open(config: StoreConfig) -> Result<Self, Failure> {
        let opened = Database::open(&config.path, config.wait).await?;
        let database = opened.database.clone();
        let spills = Spills::of(database.path(), &config.spill_folders);
        let writer = Writer::start(opened, spills.clone(), config.wait);
        if spills.is_waiting() {
            writer.import_spills().await;
        }
        Ok(Self { shared: Arc::new(Shared { database, writer, spills }) })
    }

    /// The newest run that asked the same, for the same caller, and has an answer that is kept, not settled longer ago
    /// than `within_ms`. `plan_hash` is [`parallel_llm_engine::RunPlan::plan_hash`].
    pub async fn find_same(
        &self,
        plan_hash: &str,
        asked_by: Option<&str>,
        within_ms: i64,
    ) -> Result<Option<RunId>, Failure> {
        repeats::find_same(&self.shared.database, plan_hash, asked_by, within_ms).await
    }

    /// Whether the day's limits of this plan hold one more request of this place, by what is durable.
    pub async fn check_call(&self, plan: &RunPlan, slot: CallerSlot) -> Result<(), Failure> {
        limits::check_call(&self.shared.database, plan, slot).await
    }

    /// What was spent, added up: the most expensive first, or the newest day.
    pub async fn costs(&self, whose: RunScope<'_>, query: CostQuery) -> Result<Vec<CostLine>, Failure> {
        Ok(self.shared.database.connection().await?.reader().costs(whose.name(), query).await?)
    }

    /// The runs in whose question, or in one of whose answers, each of these words begins a word; newest first, up to
    /// 500. Case and accents do not matter. Only runs whose texts are kept are searched, and of those the ones that are in
    /// the index, which has a second to catch up. Fails with `usage` where there is no word to look for.
    pub async fn search(
        &self,
        whose: RunScope<'_>,
        words: &str,
        limit: usize,
    ) -> Result<SearchResults, Failure> {
        let query = SearchQuery::of(words)?;
        // Whatever keeps the index from catching up, what is in it can be searched, and what is not is counted.
        let catch_up = async { while in_turn(self.shared.writer.index()).await.unwrap_or(false) {} };
        let _ = tokio::time::timeout(CATCH_UP_MAX, catch_up).await;
        search(&self.shared.database, whose, &query, limit).await
    }

    /// Takes these runs away, step by step, so that nobody who writes a run waits for it. A run under way stays. Where it
    /// fails or is given up half-way, every run is there whole or gone, and what is left can be purged again. Words of
    /// what is gone may stand in the index, and texts in the log, until [`Store::reclaim`] is through. Fails with `busy` while
    /// another process purges, whatever the runs.
    pub async fn purge(&self, runs: &[RunId]) -> Result<Purged, Failure> {
        let _lock = self.shared.database.lock_purge()?;
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

    /// Overwrites what is left of all purged runs, so that no byte of their texts is in the database's files, and gives the
    /// space back; step by step as [`Store::purge`]. `false` where another process kept on reading: texts may stand in the
    /// write-ahead log until it has ended. It may be given up at any time, and begun again; [`DatabaseState`] says whether
    /// that is due.
    pub async fn reclaim(&self) -> Result<bool, Failure> {
        let _lock = self.shared.database.lock_purge()?;
        for number in 0..STEPS_MAX {
            if !in_turn(self.shared.writer.reclaim(number == 0)).await? {
                break;
            }
        }
        for _ in 0..CLEAR_TRIES {
            if self.shared.writer.truncate_wal().await? {
                return Ok(true);
            }
            tokio::time::sleep(CLEAR_PAUSE).await;
        }
        Ok(false)
    }

    /// Makes a token. Fails with `usage` where its name was ever given to another.
    pub async fn create_token(&self, new: NewToken) -> Result<Token, Failure> {
        self.shared.writer.create_token(new).await
    }

    /// Every token that was ever made, the oldest first; up to 10,000.
    pub async fn list_tokens(&self) -> Result<Vec<Token>, Failure> {
        let tokens = self.shared.database.connection().await?.reader().tokens().await?;
        tokens.into_iter().map(StoredToken::checked).collect()
    }

    /// The token of this hash, in force or not. Made to be called for every request.
    pub async fn find_token(&self, hash: [u8; 32]) -> Result<Option<Token>, Failure> {
        let token = self.shared.database.connection().await?.reader().token(hash).await?;
        token.map(StoredToken::checked).transpose()
    }

    /// Revokes a token, from the next time it is looked for on. One that was revoked before stays as it was; `None` where
    /// there is none of this number.
    pub async fn revoke_token(&self, token_id: i64) -> Result<Option<Token>, Failure> {
        self.shared.writer.revoke_token(token_id).await
    }

    /// Notes that a token was used just now, at most once a minute. Nobody waits for it: where the writer has too much to
    /// do it is left out.
    pub fn note_token_use(&self, token: &Token) {
        if token.last_used_at_ms.is_none_or(|used_ms| used_ms <= clock::now_ms() - tokens::USED_MS) {
            self.shared.writer.note_token_use(token.token_id);
        }
    }

    /// The files that wait to be taken in, and those that were set aside.
    pub fn spills(&self) -> SpillState {
        self.shared.spills.state()
    }

    /// What the database is, and how much is in it.
    pub async fn state(&self) -> Result<DatabaseState, Failure> {
        Ok(self.shared.database.state().await?)
    }

    /// Whether the database is whole, as far as can be seen within this time. Nobody else waits for it.
    pub async fn check(&self, depth: CheckDepth, within: Duration) -> Result<Integrity, Failure> {
        Ok(self.shared.database.check(depth, within).await?)
    }

    /// Writes the database as it stands now to a new file, for its owner's eyes only, whole or not at all. Nobody else waits
    /// for it. What waits in files beside the database is not in it ([`Store::spills`]).
    pub async fn back_up(&self, to: &Path) -> Result<Backup, Failure> {
        self.shared.database.back_up(to).await
    }

    /// The store's clock, in milliseconds since 1970: what moments in its answers and questions refer to.
    pub fn now_ms() -> i64 {
        clock::now_ms()
    }

    /// Takes the right to write on in a run: whoever had it before is refused from now on. Fails with `busy`
    /// where another process is still at the run.
    pub async fn take_over(&self, run_id: RunId) -> Result<Lease, Failure> {
        self.shared.writer.take_over(run_id, None).await
    }

    /// Transactions this store has committed for runs since it was opened; the index of words is another matter.
    pub fn commits(&self) -> u64 {
        self.shared.writer.commits()
    }

    /// Writes what is still queued, brings the write-ahead log home and lets the database go. Whatever is asked of
    /// the store afterwards fails.
    pub async fn close(&self) {
        self.shared.database.close().await;
        self.shared.writer.close().await;
    }
}

/// Has a step of long work done, then leaves the writer to others for longer than it took.
async fn in_turn<T>(step: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let begun = Instant::now();
    let done = step.await?;
    tokio::time::sleep((begun.elapsed() * PAUSE_FACTOR).min(PAUSE_MAX)).await;
    Ok(done)
}
