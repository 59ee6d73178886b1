//! What has happened in a run, in one sentence: the lines of a run without a terminal, and the list of events on its page.

use parallel_llm_engine::run::event::Attempt;
use parallel_llm_engine::run::{Run, SeatView};
use parallel_llm_engine::text::safe;
use parallel_llm_engine::value::retry::Retry;
use parallel_llm_engine::{CallerSlot, Event, Failure, OutcomeKind, SeatStatus};

use crate::report::age::seconds;
use crate::report::cost::Cost;
use crate::report::counted::counted;
use crate::report::expected_cost::ExpectedCost;

/// What has happened, in one sentence; the run includes the event already.
pub fn of(run: &Run, event: &Event) -> String {
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
            let why = match same_reason(run, *attempt, failure) {
                Some(other) => format!(", as {other}"),
                None => format!(": {}", safe::for_terminal(&failure.message)),
            };
            of_call(run, *attempt, &format!("failed [{}]{why}{next}", failure.code))
        }
        Event::Cancelled { attempt, .. } => of_call(run, *attempt, "cancelled"),
        Event::Reconciled { attempt, cost, .. } => {
            of_call(run, *attempt, &format!("had cost {cost}, its provider says"))
        }
        Event::Merged { held, .. } => format!("taken in later: {}", of(run, held)),
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

/// The call that failed earlier for the same reason, so that the reason need not be repeated. From the second try on, only a
/// call with a lower number stands in: otherwise two calls could name each other, and nobody would give the reason.
fn same_reason(run: &Run, attempt: Attempt, failure: &Failure) -> Option<CallerSlot> {
    let may_tell = |slot| if attempt.number == 1 { slot != attempt.slot } else { slot < attempt.slot };
    let has_it = |view: &&SeatView| {
        let known = view.failure.as_ref().filter(|_| may_tell(view.slot));
        known.is_some_and(|known| known.says_the_same(failure))
    };
    run.views().find(has_it).map(|view| view.slot)
}
