//! The progress of a run in one line, for callers that wait for it.

use parallel_llm_engine::Run;
use parallel_llm_engine::run::SeatView;

use crate::report::cost::Cost;

/// The most models named as awaited; of the others the number is given.
const NAMES_MAX: usize = 3;

/// One line such as `3 of 5 answered, waiting for grok-latest (429, retry in 4 s), 42 s, $0.03`, at this age of the
/// run.
pub fn of(run: &Run, age_ms: u64) -> String {
    let mut parts = vec![format!("{} of {} answered", run.answered(), run.seats.len())];
    let mut by_task: Vec<(String, Vec<&SeatView>)> = Vec::new();
    for view in run.awaited() {
        let task = run.task(view.slot).map_or("waiting for".to_owned(), |task| format!("{task} with"));
        match by_task.last_mut().filter(|(last, _)| *last == task) {
            Some((_, views)) => views.push(view),
            None => by_task.push((task, vec![view])),
        }
    }
    parts.extend(by_task.into_iter().map(|(task, views)| format!("{task} {}", names(&views, age_ms))));
    parts.push(format!("{} s", age_ms / 1000));
    parts.extend(Cost::of(run).described_if_known());
    parts.join(", ")
}

fn names(views: &[&SeatView], age_ms: u64) -> String {
    let mut names: Vec<String> = views.iter().take(NAMES_MAX).map(|view| name(view, age_ms)).collect();
    if views.len() > NAMES_MAX {
        names.push(format!("{} more", views.len() - NAMES_MAX));
    }
    names.join(", ")
}

/// The last part of a model's name, with the retry it waits for.
fn name(view: &SeatView, age_ms: u64) -> String {
    let model = view.model.model.rsplit('/').next().unwrap_or_default();
    let Some((failure, retry_at_ms)) = view.failure.as_ref().zip(view.retry_at_ms) else {
        return model.to_owned();
    };
    let reason = failure.status.map_or_else(|| failure.code.to_string(), |status| status.to_string());
    match retry_at_ms.saturating_sub(age_ms).div_ceil(1000) {
        0 => format!("{model} ({reason}, retry due)"),
        seconds => format!("{model} ({reason}, retry in {seconds} s)"),
    }
}
