//! Purging: deletes runs from the database and the output folder. The ledger keeps their cost and the status of their
//! seats, without any text.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::PathBuf;

use futures_util::future::{BoxFuture, FutureExt as _};
use parallel_llm_engine::{Code, Failure, RunId};
use serde::Serialize;

use super::history::History;
use crate::report::ErrorReport;
use crate::runs::files::{self, Erased};

/// Runs purged in one batch: it takes about a second at most, after which progress is reported.
const RUNS_AT_ONCE: usize = 64;
/// The version of the format.
const SCHEMA: u32 = 1;

/// The runs to purge.
#[derive(Clone, Debug)]
pub enum PurgeSelection {
    /// Runs that began before this moment, in milliseconds since 1970.
    Before(i64),
    /// Runs of these names, as in [`History::find`].
    Named(Vec<String>),
}

/// The progress of a purge.
#[derive(Clone, Copy, Debug)]
pub enum PurgeStage {
    /// Runs are being removed.
    Removing {
        /// Runs handled so far, removed or kept.
        done: usize,
        /// All selected runs.
        total: usize,
    },
    /// Their remains are overwritten, and the space is released.
    Overwriting,
}

/// The result of a purge, or its preview.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Purging {
    /// The version of this format.
    pub schema: u32,
    /// Whether the runs are purged; else this is a preview.
    pub done: bool,
    /// The number of runs.
    pub runs: u64,
    /// The start of the oldest run, in milliseconds since 1970.
    pub oldest_ms: Option<u64>,
    /// The start of the newest run.
    pub newest_ms: Option<u64>,
    /// Selected runs that are in progress: they stay.
    pub under_way: Vec<RunId>,
    /// Failures, one for each selected run whose files could not be removed. Such a run stays whole in the database.
    pub failed: Vec<ErrorReport>,
    /// The number of files removed from the output folder.
    pub files: u64,
    /// Files left in the folders of purged runs, because this program did not write them.
    pub left: Vec<PathBuf>,
    /// Whether the database's log is free of their texts: another process that reads keeps the log until it ends its
    /// transaction. Null in a preview.
    pub log_cleared: Option<bool>,
}

/// Purges the runs of a data folder.
#[derive(Clone)]
pub struct Retention {
    pub(crate) history: History,
}

impl Retention {
    /// A preview of a purge.
    pub fn purgeable<'a>(&'a self, selection: &'a PurgeSelection) -> BoxFuture<'a, Result<Purging, Failure>> {
        async move {
            self.history.principal.check_owner()?;
            let (runs, under_way) = self.selection(selection).await?;
            Ok(Purging::of(&runs, under_way))
        }
        .boxed()
    }

    /// Purges the runs in batches, and reports progress after each. A run's files are removed first: if that fails, the
    /// run stays in the database for another attempt. If `report` breaks the purge off, it removes no more runs, and gives
    /// back the space of those that it has removed; it continues when it is called again.
    pub fn purge<'a>(
        &'a self,
        selection: &'a PurgeSelection,
        report: &'a mut (dyn FnMut(PurgeStage) -> ControlFlow<()> + Send),
    ) -> BoxFuture<'a, Result<Purging, Failure>> {
        async move {
            self.history.principal.check_owner()?;
            let (runs, mut under_way) = self.selection(selection).await?;
            let store = self.history.store.get().await?;
            let (mut purged_runs, mut rest) = (Vec::new(), Purging::default());
            // Fails before any file is removed if another process is purging.
            store.purge(&[]).await?;
            for (number, some) in runs.chunks(RUNS_AT_ONCE).enumerate() {
                let without_files = self.erase_all(some, &mut rest).await;
                let purged = store.purge(&without_files).await?;
                purged_runs.extend(purged.runs);
                // A run may have been continued in the meantime.
                under_way.extend(purged.under_way);
                let done = number * RUNS_AT_ONCE + some.len();
                if report(PurgeStage::Removing { done, total: runs.len() }).is_break() {
                    break;
                }
            }
            // The space is given back in any case.
            let _ = report(PurgeStage::Overwriting);
            let log_cleared = store.reclaim().await?;
            let Purging { failed, files, left, .. } = rest;
            let counts = Purging::of(&purged_runs, under_way);
            Ok(Purging { done: true, failed, files, left, log_cleared: Some(log_cleared), ..counts })
        }
        .boxed()
    }

    /// Removes the files of these runs; returns the runs for which that succeeded.
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

    /// The selected runs: those that can be purged, and those in progress, both oldest first.
    async fn selection(&self, selection: &PurgeSelection) -> Result<(Vec<RunId>, Vec<RunId>), Failure> {
        let store = self.history.store.get().await?;
        let names = match selection {
            PurgeSelection::Before(ms) => {
                let free: BTreeSet<RunId> = store.purgeable(*ms).await?.into_iter().collect();
                let selected = self.history.run_ids(None, Some(*ms)).await?;
                return Ok(selected.into_iter().partition(|run_id| free.contains(run_id)));
            }
            PurgeSelection::Named(names) => names,
        };
        let mut selected = BTreeSet::new();
        for name in names {
            selected.insert(self.history.run_id(name).await?);
        }
        let (mut free, mut under_way) = (Vec::new(), Vec::new());
        for run_id in selected {
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
            // Another process purged it and its files in the meantime.
            Err(failure) if failure.code == Code::RunNotFound => return Ok(Erased::default()),
            Err(failure) => return Err(failure),
        };
        let failed = |error| Failure::new(Code::Internal, format!("the files were not removed: {error}"));
        tokio::task::spawn_blocking(move || files::erase(&base, &run)).await.map_err(failed)?
    }
}

impl Purging {
    /// The preview of a purge of these runs.
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
