//! The invariants of every run. Each scenario checks them when its run ends.

use std::sync::Arc;

use parallel_llm_engine::plan::caller_slot::CallerSlot;
use parallel_llm_engine::run::event::{Event, Recorded};
use parallel_llm_engine::value::retry::Retry;
use parallel_llm_engine::{PicoUsd, Run, RunPlan, RunStatus, SeatStatus};

use crate::scenario::{RunResult, Scenario, ends_call};
use crate::script::COST;
use crate::transcript;

pub(crate) fn check(result: &RunResult) {
    let events = result.events();
    if result.is_fully_stored {
        events_are_in_order(&events);
        let folded = Run::fold(Arc::clone(&result.plan), &events);
        transcript::assert_same(&folded, &result.run, "the end is the fold of the events");
    }
    closes_once(&result.run, &events, result.is_fully_stored);
    let plan = &result.run.plan;
    let chain = plan.synthesizers.iter().map(|seat| CallerSlot::Synthesizer(seat.number));
    let steps = plan.steps.iter().map(|step| CallerSlot::Step(step.number));
    for slot in plan.seats.iter().map(|seat| CallerSlot::Seat(seat.number)).chain(chain).chain(steps) {
        ends_once(result, &events, slot);
    }
    if result.is_fully_stored {
        adds_up(&result.run, &events);
        stages_are_decided_in_order(&result.plan, &events);
    }
    outcomes_name_seats(&result.run.plan, &events);
}

/// Of a flow, each stage but the last is decided at most once in a part, and its text is recorded before any call of a
/// stage that reads it leaves.
pub(crate) fn stages_are_decided_in_order(plan: &RunPlan, events: &[Recorded]) {
    let Some(flow) = &plan.flow else {
        let is_of_stage = |recorded: &Recorded| matches!(recorded.event, Event::StageDecided { .. });
        assert!(!events.iter().any(is_of_stage), "only a flow has stages");
        return;
    };
    let mut decided = Vec::new();
    for recorded in events {
        match &recorded.event {
            // A further part makes one text of all answers.
            Event::Decided { .. } => return,
            Event::StageDecided { stage, .. } => {
                assert!(*stage < flow.last() && !decided.contains(stage), "stage {stage} is decided once");
                decided.push(*stage);
            }
            Event::Sent { attempt, .. } => {
                let stage = flow.of_slot(plan, attempt.slot).and_then(|number| flow.stage(number));
                let reads = stage.map(|stage| stage.from.as_slice()).unwrap_or_default();
                assert!(
                    reads.iter().all(|read| decided.contains(read)),
                    "{} reads what is recorded",
                    attempt.slot
                );
            }
            _ => {}
        }
    }
}

/// No outcome names an answer that is not a seat's.
pub(crate) fn outcomes_name_seats(plan: &RunPlan, events: &[Recorded]) {
    for recorded in events {
        let (Event::Decided { outcome } | Event::StageDecided { outcome, .. }) = &recorded.event else {
            continue;
        };
        let judging = outcome.judging.iter().flat_map(|judging| &judging.verdicts);
        let shown = outcome.reading.iter().flat_map(|reading| &reading.shown);
        let clusters = outcome.agreement.iter().flat_map(|agreement| &agreement.clusters);
        let worth = outcome.worth.iter().flat_map(|worth| worth.drawn_from.iter().chain([&worth.base_seat]));
        let named = outcome.base_seat.iter().chain(&outcome.considered).chain(&outcome.unshown).chain(shown);
        let named = named.chain(judging.flat_map(|verdict| &verdict.ranking)).chain(&outcome.same_vendor);
        let named = named.chain(outcome.shortened.iter().map(|cut| &cut.seat)).chain(worth);
        let named = named.chain(outcome.checks.iter().map(|check| &check.seat));
        let named = named.chain(outcome.suspected.iter().map(|one| &one.seat));
        for seat in named.chain(clusters.flat_map(|cluster| &cluster.seats)) {
            assert!(seat.index() < plan.seats.len(), "{seat} is no seat: {outcome:?}");
        }
    }
}

/// Sequence numbers increase by one, and times never decrease.
fn events_are_in_order(events: &[Recorded]) {
    let numbers: Vec<u64> = events.iter().map(|recorded| recorded.seq).collect();
    assert_eq!(numbers, (1..=events.len() as u64).collect::<Vec<_>>(), "events are numbered without gaps");
    assert!(events.is_sorted_by_key(|recorded| recorded.elapsed_ms), "time does not go back");
}

/// `Started` comes first. Each part has at most one `Decided` and at most one `Closed`, and `Closed` comes last.
fn closes_once(run: &Run, events: &[Recorded], is_fully_stored: bool) {
    assert!(run.closed && run.status != RunStatus::Running, "the run is over");
    let count = |is: fn(&Event) -> bool| events.iter().filter(|recorded| is(&recorded.event)).count();
    assert!(matches!(events.first().map(|first| &first.event), Some(Event::Started { .. })));
    if is_fully_stored {
        assert_eq!(count(|event| matches!(event, Event::Started { .. })), 1);
        let reopened = count(|event| matches!(event, Event::Reopened { .. }));
        let decided = count(|event| matches!(event, Event::Decided { .. }));
        let closed = count(|event| matches!(event, Event::Closed { .. }));
        assert!((1..=reopened + 1).contains(&decided), "{decided} decided in {} parts", reopened + 1);
        assert!((1..=reopened + 1).contains(&closed), "{closed} closed in {} parts", reopened + 1);
        assert!(matches!(events.last().map(|last| &last.event), Some(Event::Closed { .. })));
    }
}

/// A seat ends exactly once unless it was not needed; a synthesizer or a step at most once. Each sent one request,
/// and one for each retry.
fn ends_once(result: &RunResult, events: &[Recorded], slot: CallerSlot) {
    let own = || {
        let is_own = move |event: &&Event| event.attempt().is_some_and(|attempt| attempt.slot == slot);
        events.iter().map(|recorded| &recorded.event).filter(is_own)
    };
    let view = result.run.view(slot).expect("every slot has a view");
    if matches!(slot, CallerSlot::Seat(_)) {
        assert!(view.status.is_final(), "{slot} has ended");
    }
    if !result.is_fully_stored || result.is_resumed {
        return;
    }
    let (ended, sent) =
        (own().filter(|event| ends_call(event)), own().filter(|event| matches!(event, Event::Sent { .. })));
    let (ended, sent) = (ended.count(), sent.count());
    let tried = own().count() > 0;
    assert_eq!(ended, usize::from(tried), "{slot} ends once");
    assert!(
        tried || view.is_unneeded() || !matches!(slot, CallerSlot::Seat(_)),
        "{slot} was called or not needed"
    );
    assert!(own().next_back().is_none_or(ends_call), "{slot} has no event after its end");
    let again = |event: &&Event| matches!(event, Event::Failed { retry, .. } if *retry != Retry::Never);
    let retries = own().filter(again).count();
    // A call may be cancelled before its first request, or before an announced retry.
    assert!(sent == retries + 1 || sent == retries, "{slot}: {sent} sent, {retries} retries");
    assert_eq!(view.attempts as usize, sent, "{slot} counts its requests");
    let left = result.asked.iter().filter(|asked| asked.call.attempt.slot == slot).count();
    // A cancelled call may end after its `Sent` event and before its first byte.
    assert!(left == sent || left + 1 == sent, "{slot}: {left} requests, {sent} `Sent` events");
}

/// The final cost is the sum of the costs in the events.
fn adds_up(run: &Run, events: &[Recorded]) {
    let sum: PicoUsd = events.iter().filter_map(|recorded| recorded.event.cost()).sum();
    let closed = events.iter().rev().find_map(|recorded| match recorded.event {
        Event::Closed { cost } => Some(cost),
        _ => None,
    });
    assert_eq!((closed, run.cost()), (Some(sum), sum), "costs add up");
}

/// Resumes a run after each commit before its decision, and asserts that no call that may have been paid is repeated.
/// Returns the resumed runs whose panel was already complete.
pub(crate) async fn never_pays_twice(scenario: impl Fn() -> Scenario) -> Vec<RunResult> {
    let whole = scenario().run().await;
    let is_open = |commit: &&Vec<Recorded>| {
        !commit.iter().any(|recorded| matches!(recorded.event, Event::Decided { .. }))
    };
    let mut resumed = Vec::new();
    for commits in 1..=whole.commits.iter().take_while(is_open).count() {
        let before = &whole.commits[..commits];
        let result = scenario().after(before).run().await;
        for asked in &result.asked {
            let attempt = asked.call.attempt;
            let is_own = |event: &&Event| event.attempt().is_some_and(|own| own.slot == attempt.slot);
            let own = before.iter().flatten().map(|recorded| &recorded.event).rfind(is_own);
            let is_free = own.is_none_or(|event| matches!(event, Event::Failed { .. }));
            assert!(is_free, "after {commits} commits {} is paid twice\n{}", attempt.slot, result.end());
        }
        if result.run.seats.iter().all(|seat| seat.status == SeatStatus::Answered) {
            resumed.push(result);
        }
    }
    assert!(resumed.len() > 1, "there are commits between its calls");
    resumed
}

/// Asserts that the run cost what its requests cost. Every request must have ended normally.
pub(crate) fn cost_matches_requests(result: &RunResult) {
    assert_eq!(result.run.cost(), COST.times(result.asked.len() as u64), "{}", result.end());
    assert!(
        result.run.cost() <= result.plan.worst_case.known_part(),
        "{} is more than was planned",
        result.run.cost()
    );
}
