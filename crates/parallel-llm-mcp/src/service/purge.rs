//! Purging: what is remembered of runs goes from the database and from the output folder. What they cost stays in the
//! ledger, and what became of their seats, without a word of text.

use std::collections::BTreeSet;
use std::path::PathBuf;

use parallel_llm_engine::{Code, Failure, RunId};
use serde::Serialize;

use super::Service;
use crate::files::{self, Erased};
use crate::output::report::ErrorReport;

/// The version of the shape.
const SCHEMA: u32 = 1;

/// Which runs are to go.
#[derive(Clone, Debug)]
pub enum Doomed {
    /// Those that began before this moment, in milliseconds since 1970.
    Before(i64),
    /// Those of these names, as [`Service::find`] takes them.
    Named(Vec<String>),
}

/// What goes, or would go.
#[derive(Clone, Debug, Serialize)]
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

impl Service {
    /// What would go.
    pub async fn purgeable(&self, doomed: &Doomed) -> Result<Purging, Failure> {
        self.asker().check_owner()?;
        let (runs, under_way) = self.doomed(doomed).await?;
        Ok(Purging::of(&runs, under_way))
    }

    /// Lets it go. The files of a run go first: where they cannot, it stays in the database, and it can be tried again.
    pub async fn purge(&self, doomed: &Doomed) -> Result<Purging, Failure> {
        self.asker().check_owner()?;
        let (runs, mut under_way) = self.doomed(doomed).await?;
        let (mut files, mut left) = (0, Vec::new());
        let (mut without_files, mut failed) = (Vec::new(), Vec::new());
        for run_id in runs {
            match self.erase_files(run_id).await {
                Ok(erased) => {
                    files += erased.files;
                    left.extend(erased.left);
                    without_files.push(run_id);
                }
                Err(failure) => {
                    failed.push(ErrorReport::of(&failure.with_run(run_id)));
                }
            }
        }
        let purged = self.store().await?.purge(without_files).await?;
        // One may have been taken up again meanwhile.
        under_way.extend(purged.under_way);
        let gone = Purging::of(&purged.runs, under_way);
        Ok(Purging { done: true, failed, files, left, log_cleared: Some(purged.log_cleared), ..gone })
    }

    /// The runs that are meant: those that can go, and those that are under way. Both oldest first.
    async fn doomed(&self, doomed: &Doomed) -> Result<(Vec<RunId>, Vec<RunId>), Failure> {
        let store = self.store().await?;
        let names = match doomed {
            Doomed::Before(ms) => {
                let free: BTreeSet<RunId> = store.purgeable(*ms).await?.into_iter().collect();
                let meant = self.run_ids(None, Some(*ms)).await?;
                return Ok(meant.into_iter().partition(|run_id| free.contains(run_id)));
            }
            Doomed::Named(names) => names,
        };
        let mut meant = BTreeSet::new();
        for name in names {
            meant.insert(self.run_id(name).await?);
        }
        let (mut free, mut under_way) = (Vec::new(), Vec::new());
        for run_id in meant {
            let runs = if store.is_over(run_id).await? { &mut free } else { &mut under_way };
            runs.push(run_id);
        }
        Ok((free, under_way))
    }

    async fn erase_files(&self, run_id: RunId) -> Result<Erased, Failure> {
        let base = self.output_dir();
        if !files::has_folder(&base, run_id) {
            return Ok(Erased::default());
        }
        let run = match self.load(run_id).await {
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
