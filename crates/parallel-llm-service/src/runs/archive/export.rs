//! Export: rebuilds the files of runs, and lists the runs to export.

use std::path::{Path, PathBuf};

use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::value::next::{Advice, Next, Operation};
use parallel_llm_engine::{Code, Failure, RunId};

use super::history::History;
use crate::access::Scope;
use crate::files;
use parallel_llm_store::RunFilter;

/// The runs read from the list at once.
const PAGE_RUNS: usize = 500;

impl History {
    /// The ids of the runs that began in this period (milliseconds since 1970), oldest first. Only ids, of sixteen
    /// bytes each, so that the list stays small.
    pub async fn run_ids(
        &self,
        since_ms: Option<i64>,
        before_ms: Option<i64>,
    ) -> Result<Vec<RunId>, Failure> {
        self.principal.check(Scope::Read)?;
        let store = self.store.get().await?;
        let unix_ms = |ms: Option<i64>| ms.map(|ms| u64::try_from(ms).unwrap_or(0));
        let since_ms = unix_ms(since_ms).unwrap_or(0);
        let mut before = unix_ms(before_ms).map(|ms| RunId::from_parts(ms, 0));
        let filter = |before| RunFilter { limit: PAGE_RUNS, before, status: None };
        let mut found = Vec::new();
        loop {
            let page = store.list(self.principal.whose(), filter(before)).await?;
            let ids = page.iter().map(|run| run.run_id);
            found.extend(ids.take_while(|run_id| run_id.unix_ms() >= since_ms));
            before = page.last().map(|run| run.run_id).filter(|run_id| run_id.unix_ms() >= since_ms);
            if before.is_none() {
                break;
            }
        }
        found.reverse();
        Ok(found)
    }

    /// Rebuilds the files of a run in its folder inside `dir`, or in the output folder. Returns the run's folder.
    pub async fn export(&self, run_id: RunId, dir: Option<&Path>) -> Result<PathBuf, Failure> {
        self.principal.check_owner()?;
        let run = self.load(run_id).await?.run;
        if run.plan.store != StoreMode::Full {
            let message = format!("the texts of run {run_id} were not kept, so it has no files");
            let next = [Next::Use(Operation::ShowRun), Next::Use(Operation::ExportReport)];
            return Err(Failure::new(Code::Usage, message).with_next(next));
        }
        // A decided run may still wait for late seats, and then writes their files itself.
        if !self.store.get().await?.is_over(run_id).await? {
            let message = format!("the run {run_id} is under way and writes its files itself");
            return Err(Failure::new(Code::Busy, message).with_next(Advice::WaitForItsEnd));
        }
        let calibration = self.calibration.get().await;
        let base = dir.map_or_else(|| self.output_dir.clone(), Path::to_owned);
        let write = move || files::rebuild(&base, &run, &calibration);
        let failed = |error| Failure::new(Code::Internal, format!("the files were not written: {error}"));
        tokio::task::spawn_blocking(write).await.map_err(failed)?
    }
}
