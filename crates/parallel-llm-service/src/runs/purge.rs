//! Purging: what is remembered of runs goes from the database and from the output folder. What they cost stays in the
//! ledger, and what became of their seats, without a word of text.

use std::collections::BTreeSet;
use std::path::PathBuf;

use parallel_llm_engine::{Code, Failure, RunId};
use serde::Serialize;

use super::history::History;
use crate::report::ErrorReport;
use crate::runs::files::{self, Erased};

/// Runs whose files are removed before they go from the database: it takes a second or so for them, a little after which the
/// caller is told how far it has come.
const RUNS_AT_ONCE: usize = 64;
/// The version of the shape.
const SCHEMA: u32 = 1;

/// Which runs are to go.
#[derive(Clone, Debug)]
pub enum Doomed {
    /// Those that began before this moment, in milliseconds since 1970.
    Before(i64),
    /// Those of these names, as [`History::find`] takes them.
    Named(Vec<String>),
}

/// How far a purge has come.
#[derive(Clone, Copy, Debug)]
pub enum PurgeStage {
    /// So many runs of so many are seen to.
    Removing {
        /// Those that are gone, or stay because they have to.
        done: usize,
        /// All that were meant.
        total: usize,
    },
    /// What is left of them is overwritten, and the space given back.
    Overwriting,
}

/// What goes, or would go.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Purging {
    /// The version of this shape.
    pub schema: u32,
    /// Whether it is gone; else this is what would go.
    pub done: bool,
    /// How many runs.
    pub runs: u64,
    /// When the oldest of them began, in milliseconds since 1970.
    pub oldest_ms: Option<u64>,
    /// When the newest of them began.
    pub newest_ms: Option<u64>,
    /// Runs that were meant, but are under way: they stay.
    pub under_way: Vec<RunId>,
    /// Why runs stay that were meant, one entry for each: their files could not be removed. Nothing of them is taken
    /// from the database.
    pub failed: Vec<ErrorReport>,
    /// Files removed from the output folder.
    pub files: u64,
    /// What was left in the folders of runs that are gone, because this program did not make it.
    pub left: Vec<PathBuf>,
    /// Whether no text of them is left in the database's log: another process that reads keeps it until it lets go.
    /// Null where nothing is gone yet.
    pub log_cleared: Option<bool>,
}

/// What is kept of runs, and what goes.
#[derive(Clone)]
pub struct Retention {
    pub(crate) history: History,
}

impl Retention {
    /// What would go.
    pub async fn purgeable(&self, doomed: &Doomed) -> Result<Purging, Failure> {
        self.history.principal.check_owner()?;
        let (runs, under_way) = self.doomed(doomed).await?;
        Ok(Purging::of(&runs, under_way))
    }

    /// Lets it go, some runs at a time, and tells how far it has come after each time. The files of a run go first: where they
    /// cannot, it stays in the database, and it can be tried again. Given up half-way, it is continued by purging again.
    pub async fn purge(
        &self,
        doomed: &Doomed,
        mut report: impl FnMut(PurgeStage) + Send,
    ) -> Result<Purging, Failure> {
        self.history.principal.check_owner()?;
        let (runs, mut under_way) = self.doomed(doomed).await?;
        let store = self.history.store.get().await?;
        let (mut gone, mut rest) = (Vec::new(), Purging::default());
        // Refused while another process purges, before a file is removed.
        store.purge(&[]).await?;
        for (number, some) in runs.chunks(RUNS_AT_ONCE).enumerate() {
            let without_files = self.erase_all(some, &mut rest).await;
            let purged = store.purge(&without_files).await?;
            gone.extend(purged.runs);
            // One may have been taken up again meanwhile.
            under_way.extend(purged.under_way);
            report(PurgeStage::Removing { done: number * RUNS_AT_ONCE + some.len(), total: runs.len() });
        }
        report(PurgeStage::Overwriting);
        let log_cleared = store.reclaim().await?;
        let Purging { failed, files, left, .. } = rest;
        let gone = Purging::of(&gone, under_way);
        Ok(Purging { done: true, failed, files, left, log_cleared: Some(log_cleared), ..gone })
    }

    /// Removes the files of these runs, and gives those of which none is left that could not be removed.
    async fn erase_all(&self, runs: &[RunId], purging: &mut Purging) -> Vec<RunId> {
        let mut without_files = Vec::new();
        for run_id in runs {
            match self.erase_files(*run_id).await {
                Ok(erased) => {
                    purging.files += erased.files;
                    purging.left.extend(erased.left);
                    without_files.push(*run_id);
                }
                Err(failure) => purging.failed.push(ErrorReport::of(&failure.with_run(*run_id))),
            }
        }
        without_files
    }

    /// The runs that are meant: those that can go, and those that are under way. Both oldest first.
    async fn doomed(&self, doomed: &Doomed) -> Result<(Vec<RunId>, Vec<RunId>), Failure> {
        let store = self.history.store.get().await?;
        let names = match doomed {
            Doomed::Before(ms) => {
                let free: BTreeSet<RunId> = store.purgeable(*ms).await?.into_iter().collect();
                let meant = self.history.run_ids(None, Some(*ms)).await?;
                return Ok(meant.into_iter().partition(|run_id| free.contains(run_id)));
            }
            Doomed::Named(names) => names,
        };
        let mut meant = BTreeSet::new();
        for name in names {
            meant.insert(self.history.run_id(name).await?);
        }
        let (mut free, mut under_way) = (Vec::new(), Vec::new());
        for run_id in meant {
            let runs = if store.is_over(run_id).await? { &mut free } else { &mut under_way };
            runs.push(run_id);
        }
        Ok((free, under_way))
    }

    async fn erase_files(&self, run_id: RunId) -> Result<Erased, Failure> {
        let base = self.history.output_dir.clone();
        if !files::has_folder(&base, run_id) {
            return Ok(Erased::default());
        }
        let run = match self.history.load(run_id).await {
            Ok(past) => past.run,
            // Another process has purged it meanwhile, with its files.
            Err(failure) if failure.code == Code::RunNotFound => return Ok(Erased::default()),
            Err(failure) => return Err(failure),
        };
        let failed = |error| Failure::new(Code::Internal, format!("the files were not removed: {error}"));
        tokio::task::spawn_blocking(move || files::erase(&base, &run)).await.map_err(failed)?
    }
}

impl Purging {
    /// These would go. Nothing has yet.
    fn of(runs: &[RunId], under_way: Vec<RunId>) -> Self {
        Self {
            schema: SCHEMA,
            done: false,
            runs: runs.len() as u64,
            oldest_ms: runs.iter().min().map(|run_id| run_id.unix_ms()),
            newest_ms: runs.iter().max().map(|run_id| run_id.unix_ms()),
            under_way,
            failed: Vec::new(),
            files: 0,
            left: Vec::new(),
            log_cleared: None,
        }
    }
}
