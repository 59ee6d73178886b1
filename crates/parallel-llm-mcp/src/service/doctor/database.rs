//! The database: whether it opens, made where there is none, and whether a run in it was left unfinished.

use parallel_llm_engine::{Failure, RunStatus};
use parallel_llm_store::RunFilter;

use super::{Finding, Service};

/// Interrupted runs that are looked for. More would say the same.
const INTERRUPTED_MAX: usize = 100;

pub(super) async fn look(service: &Service) -> Vec<Finding> {
    let filter =
        RunFilter { limit: INTERRUPTED_MAX, status: Some(RunStatus::Interrupted), ..RunFilter::default() };
    match service.list(filter).await {
        Ok(interrupted) => {
            let mut findings = vec![Finding::ok("it opens, and is of this program's version")];
            findings.extend(interrupted.first().map(|newest| {
                let count = interrupted.len();
                let runs = if count == 1 { "run was" } else { "runs were" };
                Finding::warning(
                    format!("{count} {runs} interrupted; the newest is {}", newest.run_id),
                    format!("`runs resume {}`, or leave it", newest.run_id),
                )
            }));
            findings
        }
        Err(failure) => vec![broken(&failure)],
    }
}

fn broken(failure: &Failure) -> Finding {
    Finding::failed(failure.message.clone(), failure.next_step())
}
