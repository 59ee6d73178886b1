//! Names of runs: the one place that finds the run which a user, a command or an MCP client names.

use futures_util::future::{BoxFuture, FutureExt as _};
use parallel_llm_engine::text::safe::excerpt;
use parallel_llm_engine::value::next::{Advice, Next, Operation};
use parallel_llm_engine::{Code, Failure, RunId};
use parallel_llm_store::{NamedRuns, RunSummary};

use super::history::History;
use crate::access::Scope;
use crate::report::age::age;
use parallel_llm_settings::clock;

/// The longest part of a question that a candidate shows, in characters.
const QUESTION_CHARS_MAX: usize = 40;

impl History {
    /// The id of a run: of a whole id, of the only id that begins with this name, of `@` for the newest run, or of `@~1`
    /// for the one before it. Runs that the principal may not see have no name.
    pub fn run_id<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<RunId, Failure>> {
        async move {
            self.principal.check(Scope::Read)?;
            self.resolve(name).await
        }
        .boxed()
    }

    /// The same without the check of the scope, which the use case has done.
    pub(super) async fn resolve(&self, name: &str) -> Result<RunId, Failure> {
        match self.store.get().await?.named(self.principal.whose(), name).await? {
            NamedRuns::One(run_id) => Ok(run_id),
            NamedRuns::Several(runs) => Err(ambiguous(name, &runs)),
        }
    }
}

fn ambiguous(name: &str, runs: &[RunSummary]) -> Failure {
    let runs: Vec<String> = runs.iter().map(candidate).collect();
    let message = format!("more than one run has an id that begins with `{name}`: {}", runs.join(", "));
    let next = [Next::Do(Advice::GiveMoreOfId), Next::Use(Operation::FindRun)];
    Failure::new(Code::Usage, message).with_next(next)
}

/// A run as a candidate: its id, its age, and the beginning of its question if that is kept.
fn candidate(run: &RunSummary) -> String {
    let age = age(clock::unix_ms().saturating_sub(u64::try_from(run.created_at_ms).unwrap_or_default()));
    match run.question_excerpt.as_deref().filter(|_| !run.is_damaged) {
        Some(question) => {
            format!("{} ({age} ago, \"{}\")", run.run_id, excerpt(question, QUESTION_CHARS_MAX))
        }
        None => format!("{} ({age} ago)", run.run_id),
    }
}
