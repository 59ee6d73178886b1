//! The page of runs: stored runs with facets, and the runs in progress in this process as they are now.

use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::run::{Run, RunStatus, SeatView};
use parallel_llm_engine::{CallerSlot, Failure};
use parallel_llm_store::{RunLine, RunSummary, RunsPage, RunsQuery, SeatBar};

use super::history::History;
use crate::access::Scope;
use crate::runs::progress::handle::RunHandle;

impl History {
    /// A page of the list of runs: those in progress, the others newest first, and facets. Fails with `usage` if the query
    /// has a text without a word.
    pub async fn page(&self, query: RunsQuery) -> Result<RunsPage, Failure> {
        self.principal.check(Scope::Read)?;
        let (filter, is_first, has_words) =
            (query.filter.clone(), query.before.is_none(), query.words.is_some());
        let mut page = self.store.get().await?.page(self.principal.whose(), query).await?;
        let Some(runs) = self.live.made() else { return Ok(page) };
        for handle in runs.in_progress() {
            let is_visible = handle.with_run(|run| self.principal.may_see(&run.plan));
            if let Some(line) = page.live.iter_mut().find(|line| line.run.run_id == handle.id()) {
                handle.with_run(|run| refresh(line, run, handle.age_ms()));
            } else if is_visible && is_first && !has_words && is_kept_nowhere(&handle) {
                page.add_live(handle.with_run(|run| unstored_line(run, handle.age_ms())), &filter);
            }
        }
        Ok(page)
    }
}

fn is_kept_nowhere(handle: &RunHandle) -> bool {
    handle.with_run(|run| run.plan.store == StoreMode::None && run.status == RunStatus::Running)
}

/// Updates a line from the run in memory, which may be ahead of the store.
fn refresh(line: &mut RunLine, run: &Run, age_ms: u64) {
    line.run.answered = run.answered() as u64;
    line.run.cost = run.cost();
    line.run.cost_is_estimate = run.cost_is_estimate();
    line.run.cost_lacks_calls = run.cost_lacks_calls();
    line.elapsed_ms = Some(run.decided_ms.unwrap_or(age_ms));
    line.seats = run.seats.iter().filter_map(bar).collect();
}

/// The line of a run that is stored nowhere. As in the store, its question is not shown.
fn unstored_line(run: &Run, age_ms: u64) -> RunLine {
    let mut models: Vec<String> = Vec::new();
    for model in run.seats.iter().map(|view| view.model.to_string()) {
        if !models.contains(&model) {
            models.push(model);
        }
    }
    let summary = RunSummary {
        run_id: run.plan.run_id,
        status: run.status,
        question_excerpt: None,
        asked_by: run.plan.asked_by.clone(),
        strategy: run.plan.strategy.name().to_owned(),
        preset: run.plan.preset.clone(),
        models,
        seats: run.seats.len() as u64,
        answered: 0,
        cost: run.cost(),
        cost_is_estimate: false,
        cost_lacks_calls: false,
        created_at_ms: i64::try_from(run.plan.run_id.unix_ms()).unwrap_or(i64::MAX),
        decided_at_ms: None,
        closed_at_ms: None,
        is_damaged: false,
    };
    let mut line = RunLine { run: summary, elapsed_ms: None, seats: Vec::new(), hit: None };
    refresh(&mut line, run, age_ms);
    line
}

fn bar(view: &SeatView) -> Option<SeatBar> {
    let CallerSlot::Seat(seat) = view.slot else { return None };
    Some(SeatBar {
        seat,
        model: view.model.to_string(),
        status: view.status,
        late: view.late,
        sent_after_ms: view.sent_ms,
        elapsed_ms: view.elapsed_ms,
    })
}
