//! A run without a terminal: one line for each event on stderr, readable in a log.

use std::sync::Arc;

use parallel_llm_engine::call::hub::{Update, Watch};
use parallel_llm_engine::run::event::Attempt;
use parallel_llm_engine::run::{Run, RunStatus, SeatView};
use parallel_llm_engine::value::retry::Retry;
use parallel_llm_engine::{CallerSlot, Event, OutcomeKind, Recorded, RunPlan, SeatStatus};

use super::console::Console;
use super::missing;
use super::vocabulary::counted;
use parallel_llm_engine::text::safe;
use parallel_llm_service::report::age::seconds;
use parallel_llm_service::report::cost::Cost;
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
    format!("{} {}", moment(recorded.elapsed_ms), what(run, &recorded.event))
}

fn what(run: &Run, event: &Event) -> String {
    match event {
        Event::Started { .. } => {
            let (id, seats) = (run.plan.run_id, counted(run.seats.len(), "model"));
            format!("run {id} started: {seats}, {}", ExpectedCost::of_begun(&run.plan))
        }
        Event::Reopened { reopening, reserved } => {
            let (asked, _) = reopening.asked(&run.plan, run.chain());
            let (id, count, seats) = (run.plan.run_id, asked.len(), run.seats.len());
            let cost = ExpectedCost::of_part(reopening, run, *reserved);
            format!("run {id} goes on: {count} of {seats} seats are asked, {}", cost.bound())
        }
        Event::Skipped { seats } => {
            let seats: Vec<String> = seats.iter().map(|seat| CallerSlot::Seat(*seat).to_string()).collect();
            format!("not asked, because the others are enough: {}", seats.join(", "))
        }
        Event::StageDecided { stage, outcome } => {
            format!("stage {}: {}", run.stage_name(*stage), outcome.reason)
        }
        // Each seat has just given its reason.
        Event::Decided { outcome } if outcome.kind == OutcomeKind::None && all_have_failed(run) => {
            "decided: no model answered".to_owned()
        }
        Event::Decided { outcome } => format!("decided: {}", outcome.reason),
        Event::Closed { .. } => {
            let cost = Cost::of(run);
            format!("closed: {}{}", cost.described(), if cost.known.is_some() { " in all" } else { "" })
        }
        Event::Sent { attempt, .. } if attempt.number > 1 => {
            of_call(run, *attempt, &format!("asked again (try {})", attempt.number))
        }
        Event::Sent { attempt, .. } => of_call(run, *attempt, "asked"),
        Event::Accepted { attempt, generation_id } => {
            of_call(run, *attempt, &format!("accepted as {}", safe::for_terminal(generation_id)))
        }
        Event::Answered { attempt, answer } => {
            let tokens =
                answer.usage.output_tokens.map(|tokens| format!(", {tokens} tokens")).unwrap_or_default();
            let cost = answer.cost.map(|cost| format!(", {cost}")).unwrap_or_default();
            of_call(run, *attempt, &format!("answered, {} bytes{tokens}{cost}", answer.text_bytes))
        }
        Event::Cut { attempt, answer, failure } => {
            let why = safe::for_terminal(&failure.message);
            of_call(run, *attempt, &format!("cut after {} bytes: {why}", answer.text_bytes))
        }
        Event::Failed { attempt, failure, retry, .. } => {
            let next = match retry {
                Retry::Never => String::new(),
                Retry::After { ms } => format!("; trying again in {}", seconds(*ms)),
                Retry::Without { field } => format!("; trying again without `{field}`"),
            };
            let why = match missing::same_reason(run, attempt.slot, failure) {
                Some(other) => format!(", as {other}"),
                None => format!(": {}", safe::for_terminal(&failure.message)),
            };
            of_call(run, *attempt, &format!("failed [{}]{why}{next}", failure.code))
        }
        Event::Cancelled { attempt, .. } => of_call(run, *attempt, "cancelled"),
        Event::Reconciled { attempt, cost, .. } => {
            of_call(run, *attempt, &format!("had cost {cost}, its provider says"))
        }
        Event::Merged { held, .. } => format!("taken in later: {}", what(run, held)),
    }
}

/// Whether each of several seats has failed, so that a list of them would be the whole panel.
fn all_have_failed(run: &Run) -> bool {
    run.seats.len() > 2 && run.seats.iter().all(|seat| seat.status == SeatStatus::Failed)
}

/// An event of a request, with its caller in front.
fn of_call(run: &Run, attempt: Attempt, what: &str) -> String {
    let model = run.view(attempt.slot).map(SeatView::who).unwrap_or_default();
    format!("{} {model}: {what}", attempt.slot)
}

/// What a plan costs, in sentences that begin like this.
pub fn cost(plan: &RunPlan, beginning: &str) -> String {
    format!("{beginning} {}. The budget is {}.", ExpectedCost::of(plan).explained(), plan.budget)
}
