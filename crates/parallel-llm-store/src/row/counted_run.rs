//! The rows by which the list of runs is filtered and counted.

use std::collections::BTreeMap;

use parallel_llm_engine::RunId;

use super::run_row::RunRow;
use crate::history::day::Day;

/// The scope of all principals, any model, and all days.
pub(crate) const ALL: &str = "";

/// A run under one scope and one model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CountedRun {
    pub(crate) scope: String,
    pub(crate) model: String,
    pub(crate) run_id: String,
    pub(crate) status: String,
    pub(crate) strategy: String,
}

/// The key of a count.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CountKey {
    pub(crate) scope: String,
    pub(crate) day: String,
    pub(crate) model: String,
    pub(crate) status: String,
    pub(crate) strategy: String,
}

/// Changes of counts, added up before they are written, because runs that follow each other are often alike.
#[derive(Debug, Default)]
pub(crate) struct CountChanges(pub(crate) BTreeMap<CountKey, i64>);

impl CountChanges {
    /// Adds so many runs, 1 or -1, to the counts of one.
    pub(crate) fn add(&mut self, rows: &[CountedRun], runs: i64) {
        for row in rows {
            let began: Option<RunId> = row.run_id.parse().ok();
            let day = began.and_then(|run_id| Day::of_ms(run_id.unix_ms())).map(|day| day.to_string());
            for day in [Some(ALL.to_owned()), day].into_iter().flatten() {
                let CountedRun { scope, model, status, strategy, .. } = row.clone();
                *self.0.entry(CountKey { scope, day, model, status, strategy }).or_default() += runs;
            }
        }
    }
}

/// The rows of a run: in the scope of all principals and that of its own, for any model and for each of its models.
pub(crate) fn counted_runs(row: &RunRow) -> Vec<CountedRun> {
    let mut models = row.models();
    models.push(ALL.to_owned());
    let scopes = [Some(ALL), row.asked_by.as_deref()];
    let each = scopes.into_iter().flatten().flat_map(|scope| models.iter().map(move |model| (scope, model)));
    each.map(|(scope, model)| CountedRun {
        scope: scope.to_owned(),
        model: model.clone(),
        run_id: row.run_id.clone(),
        status: row.status.clone(),
        strategy: row.strategy.clone(),
    })
    .collect()
}
