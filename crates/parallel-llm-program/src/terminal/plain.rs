//! A run without a terminal: one line for each event on stderr, readable in a log.

use std::sync::Arc;

use parallel_llm_engine::call::hub::{Update, Watch};
use parallel_llm_engine::run::{Run, RunStatus, SeatView};
use parallel_llm_engine::{Event, Recorded, RunPlan};

use super::console::Console;
use parallel_llm_service::report::age::seconds;
use parallel_llm_service::report::event::sentence;
use parallel_llm_service::report::expected_cost::ExpectedCost;

/// Shows a run until it is decided.
pub async fn show(console: &Console, mut run: Run, mut watch: Watch) {
    while run.status == RunStatus::Running {
        show_next(console, &mut run, &mut watch).await;
    }
}

/// Shows the next event of a run, if it is worth a line.
pub async fn show_next(console: &Console, run: &mut Run, watch: &mut Watch) {
    let update = watch.next().await;
    let news = match &update {
        Update::Event(recorded) if recorded.seq > run.seq && is_shown(&recorded.event) => {
            Some(Arc::clone(recorded))
        }
        _ => None,
    };
    update.apply_to(run);
    if let Some(recorded) = news {
        console.say(&line(run, &recorded));
    }
}

/// The progress of a run that began before: who has answered and who is awaited.
pub fn progress(run: &Run) -> String {
    let awaited: Vec<String> = run.awaited().map(SeatView::who).collect();
    let awaited =
        if awaited.is_empty() { String::new() } else { format!(", waiting for {}", awaited.join(", ")) };
    let (id, answered, seats) = (run.plan.run_id, run.answered(), run.seats.len());
    format!("{} run {id} is under way: {answered} of {seats} answered{awaited}", moment(run.elapsed_ms))
}

/// Whether an event is worth a line while the run is awaited.
const fn is_shown(event: &Event) -> bool {
    !matches!(event, Event::Accepted { .. } | Event::Closed { .. })
}

/// The time since the start of the run.
fn moment(elapsed_ms: u64) -> String {
    format!("[{:>8}]", format!("+{}", seconds(elapsed_ms)))
}

/// An event as one line; the run includes it already.
pub fn line(run: &Run, recorded: &Recorded) -> String {
    format!("{} {}", moment(recorded.elapsed_ms), sentence::of(run, &recorded.event))
}

/// What a plan costs, in sentences that begin like this.
pub fn cost(plan: &RunPlan, beginning: &str) -> String {
    format!("{beginning} {}. The budget is {}.", ExpectedCost::of(plan).explained(), plan.budget)
}
