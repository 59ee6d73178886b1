//! The cost of calls, the limits of a day, and the results of seats.

use std::sync::Arc;

use crate::support;
use crate::support::{
    Fixture, OpenRun as _, a_seat, answer, answered, changed, closed, expensive, failure, limit, model,
    outcome, plan, recorded, run_id, seat, sent, simple, started, synthesizer, value, values, write,
};
use parallel_llm_engine::plan::caller_slot::CallerSlot;
use parallel_llm_engine::port::{Journal as _, Lease};
use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::run::event::Attempt;
use parallel_llm_engine::value::retry::Retry;
use parallel_llm_engine::{
    Answer, Code, Event, Failure, OutcomeKind, PicoUsd, ProviderId, Reopening, Run, RunPlan, RunStatus,
    SeatNumber, SeatStatus, Usage,
};
use parallel_llm_store::{CostBy, CostLine, CostQuery, RunFilter, RunScope, SeatFact, Store};

const HALF_USD: PicoUsd = PicoUsd(500_000_000_000);

fn failed(number: u8, attempt: u32, retry: Retry, cost: Option<PicoUsd>) -> Event {
    Event::Failed { attempt: seat(number, attempt), failure: failure(), retry, cost, elapsed_ms: 5 }
}

/// The rows of the ledger, as `slot attempt model outcome code cost source worst tokens generation`.
fn calls(fixture: &Fixture) -> Vec<String> {
    let or_dash = |column: &str| format!("COALESCE(CAST({column} AS TEXT), '-')");
    let sql = format!(
        "SELECT CONCAT_WS(' ', place, attempt, model, outcome, {}, {}, \
         CASE WHEN cost_is_estimate THEN 'estimated' ELSE 'reported' END, {}, {}, {}, {}) \
         FROM calls ORDER BY run_id, place, attempt",
        or_dash("code"),
        or_dash("cost_pico_usd"),
        or_dash("worst_pico_usd"),
        or_dash("input_tokens"),
        or_dash("output_tokens"),
        or_dash(&support::text_column("generation_id")),
    );
    values(&fixture.other_connection(), &sql)
}

#[tokio::test]
async fn every_request_has_a_row_with_its_result() {
    let fixture = Fixture::new().await;
    let lease = fixture.store.open_run(expensive(plan(1, StoreMode::Metadata))).await;
    let used = Usage { input_tokens: Some(7), output_tokens: Some(9), ..Usage::default() };
    let estimated = Answer { usage: used, cost_is_estimate: true, ..answer("late") };
    let batches = [
        vec![started(), sent(seat(1, 1)), sent(seat(2, 1))],
        vec![Event::Accepted { attempt: seat(1, 1), generation_id: "gen-0".into() }],
        vec![failed(1, 1, Retry::After { ms: 1 }, None)],
        vec![sent(seat(1, 2))],
        vec![Event::Answered { attempt: seat(1, 2), answer: estimated }],
        // Its next try was refused before it left; the request before had already ended.
        vec![failed(2, 1, Retry::After { ms: 1 }, None), failed(2, 1, Retry::Never, Some(PicoUsd::ZERO))],
        vec![sent(synthesizer(1))],
        vec![Event::Decided { outcome: Box::new(outcome()) }],
        vec![closed()],
    ];
    let mut seq = 1;
    for batch in batches {
        let count = batch.len() as u64;
        fixture.store.append(lease, recorded(seq, batch)).await.unwrap();
        seq += count;
    }
    assert_eq!(
        calls(&fixture),
        [
            r#"{"seat":1} 1 lab/one failed upstream - reported 500000000000 - - gen-0"#,
            r#"{"seat":1} 2 lab/one answered - 1000 estimated 500000000000 7 9 gen-1"#,
            r#"{"seat":2} 1 lab/two failed upstream - reported 500000000000 - - -"#,
            r#"{"synthesizer":1} 1 lab/three unknown - - reported 0 - - -"#,
        ]
    );
    let lease = fixture.store.take_over(run_id(1)).await.unwrap();
    let reconciled = Event::Reconciled { attempt: synthesizer(1), cost: PicoUsd(77), usage: used };
    let reopening = Reopening::resume(&plan(1, StoreMode::Metadata), Vec::new());
    let reopened = Event::Reopened { reopening, reserved: PicoUsd::ZERO };
    fixture.store.append(lease, recorded(lease.next_seq, vec![reopened, reconciled])).await.unwrap();
    assert_eq!(calls(&fixture)[3], r#"{"synthesizer":1} 1 lab/three unknown - 77 reported 0 7 9 -"#);
}

#[tokio::test]
async fn a_row_keeps_the_id_and_the_first_end_of_events_in_one_append() {
    let fixture = Fixture::new().await;
    let lease = fixture.store.open_run(plan(1, StoreMode::Metadata)).await;
    let named = |number, id: &str| Event::Accepted { attempt: seat(number, 1), generation_id: id.into() };
    let events = vec![
        started(),
        sent(seat(1, 1)),
        sent(seat(2, 1)),
        named(2, "gen-2"),
        named(1, "gen-0"),
        failed(1, 1, Retry::After { ms: 1 }, None),
        failed(1, 1, Retry::Never, Some(PicoUsd::ZERO)),
        // Never sent, so it has no row.
        failed(2, 0, Retry::Never, Some(PicoUsd::ZERO)),
    ];
    fixture.store.append(lease, recorded(1, events)).await.unwrap();
    let first = r#"{"seat":1} 1 lab/one failed upstream - reported - - - gen-0"#;
    assert_eq!(calls(&fixture), [first, r#"{"seat":2} 1 lab/two sent - - reported - - - gen-2"#]);
    let unnamed = Answer { generation_id: None, ..answer("late") };
    let ended = Event::Answered { attempt: seat(2, 1), answer: unnamed };
    fixture.store.append(lease, recorded(9, vec![ended])).await.unwrap();
    assert_eq!(calls(&fixture), [first, r#"{"seat":2} 1 lab/two answered - 1000 reported - - - gen-2"#]);
}

#[tokio::test]
async fn costs_are_added_up_and_outlive_their_runs() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    for number in 1..=3 {
        let elsewhere = changed(plan(number, StoreMode::Full), |plan| {
            plan.seats[1].model.provider = ProviderId("ollama".into());
        });
        write(store, elsewhere, simple("words")).await;
    }
    let other_connection = fixture.other_connection();
    let day = "UPDATE calls SET sent_at_ms = 1767268800000 WHERE run_id = ?";
    other_connection.execute(day, &[&run_id(1)]).unwrap();
    let unknown = "UPDATE calls SET cost_pico_usd = NULL WHERE model = 'lab/two' AND run_id = ?";
    other_connection.execute(unknown, &[&run_id(2)]).unwrap();
    store.purge(&[run_id(3)]).await.unwrap();
    let costs = async |by, since_ms| store.costs(RunScope::All, CostQuery { by, since_ms }).await.unwrap();
    let line = |name: &str, runs, cost| CostLine {
        name: name.into(),
        runs,
        calls: runs,
        failed: 0,
        cost: PicoUsd(cost),
        calls_of_unknown_cost: 0,
        unknown_cost_max: PicoUsd::ZERO,
        calls_of_estimated_cost: 0,
        input_tokens: 0,
        output_tokens: 0,
    };
    // It has no known price either.
    let unbounded = |line| CostLine { unknown_cost_max: PicoUsd::MAX, ..line };
    let failing = |name| unbounded(CostLine { failed: 3, calls_of_unknown_cost: 1, ..line(name, 3, 0) });
    assert_eq!(costs(CostBy::Model, None).await, [line("lab/one", 3, 3_000), failing("ollama:lab/two")]);
    assert_eq!(costs(CostBy::Provider, None).await, [line("openrouter", 3, 3_000), failing("ollama")]);
    let days = costs(CostBy::Day, None).await;
    let first = CostLine { calls: 2, failed: 1, ..line("2026-01-01", 1, 1_000) };
    assert_eq!((days.len(), &days[1]), (2, &first), "the newest day comes first");
    let recent = costs(CostBy::Model, Some(1_767_268_800_001)).await;
    assert_eq!(recent[0], line("lab/one", 2, 2_000));
    assert_eq!(costs(CostBy::Model, Some(Store::now_ms() + 60_000)).await, []);
}

/// Begins an expensive run, changed like this, with these requests sent.
async fn begin(
    store: &Store,
    number: u64,
    change: impl FnOnce(&mut RunPlan),
    requests: Vec<Event>,
) -> Result<Lease, Failure> {
    let plan = changed(expensive(plan(number, StoreMode::Full)), change);
    let lease = store.open_run(plan).await;
    let events = std::iter::once(started()).chain(requests).collect();
    store.append(lease, recorded(1, events)).await.map(|()| lease)
}

#[tokio::test]
async fn a_day_limit_counts_spent_reserved_and_requested_money() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    let limited = |plan: &mut RunPlan| plan.limits = vec![limit(None, 3)];
    let both = || vec![sent(seat(1, 1)), sent(seat(2, 1))];
    let first = begin(store, 1, |_| (), both()).await.unwrap();
    begin(store, 2, limited, vec![sent(seat(1, 1))]).await.unwrap();
    let full = begin(store, 3, limited, both()).await;
    assert_eq!(full.clone().map(drop), Ok(()));
    let refused = begin(store, 4, limited, both()).await.unwrap_err();
    assert_eq!(
        (refused.code, &*refused.message),
        (
            Code::Budget,
            "the run may cost up to $1.00; of the day's limit of $3.00, $0.00 is spent and $3.00 held for runs under \
             way"
        )
    );
    let next = refused.next_step();
    assert!(
        next.starts_with("raise the setting `budget_day_usd`, or wait until the day ends at 00:00 UTC, in ")
    );
    assert!(next.ends_with(" min"), "{next}");

    // A request of known cost counts with its cost, one of unknown cost with its worst case.
    let paid = Event::Answered { attempt: seat(1, 1), answer: answer("cheap") };
    store.append(first, recorded(4, vec![paid, failed(2, 1, Retry::Never, None)])).await.unwrap();
    let refused = begin(store, 5, limited, both()).await.unwrap_err();
    let expected =
        "is spent, up to $0.50 more by calls whose cost is unknown and $2.00 held for runs under way";
    assert!(refused.message.ends_with(expected), "{}", refused.message);
    assert!(!refused.message.contains("$0.50 is spent"), "{}", refused.message);
    // Closing a run releases its reservations.
    let lease = full.unwrap();
    let nothing = Event::Cancelled { attempt: seat(1, 1), answer: None, cost: None };
    let reconciled = Event::Reconciled { attempt: seat(1, 1), cost: PicoUsd::ZERO, usage: Usage::default() };
    let reconciled_late = Event::Reconciled { attempt: seat(2, 1), cost: HALF_USD, usage: Usage::default() };
    store.append(lease, recorded(4, vec![nothing, reconciled, closed(), reconciled_late])).await.unwrap();
    assert_eq!(begin(store, 6, |plan| plan.limits = vec![limit(None, 4)], both()).await.map(drop), Ok(()));
}

#[tokio::test]
async fn a_provider_that_bills_above_its_price_is_stopped_at_the_limit() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    let limited = |plan: &mut RunPlan| plan.limits = vec![limit(None, 1)];
    let plan = changed(expensive(plan(1, StoreMode::Full)), limited);
    let lease = begin(store, 1, limited, vec![sent(seat(1, 1))]).await.unwrap();
    let next = seat(2, 1).slot;
    assert_eq!(
        store.check_call(&plan, next, plan.worst_request(next)).await,
        Ok(()),
        "half a dollar may be spent, and half is left"
    );
    let paid = Event::Answered {
        attempt: seat(1, 1),
        answer: Answer { cost: Some(PicoUsd::from_usd(3)), ..answer("expensive") },
    };
    store.append(lease, recorded(3, vec![paid])).await.unwrap();
    let refused = store.check_call(&plan, next, plan.worst_request(next)).await.unwrap_err();
    assert_eq!(
        (refused.code, &*refused.message),
        (
            Code::Budget,
            "the call may cost up to $0.50; of the day's limit of $1.00, $3.00 is spent and $0.00 held for runs under \
             way"
        )
    );
    let elsewhere = changed(plan, |plan| plan.limits = vec![limit(Some("groq"), 1)]);
    assert_eq!(
        store.check_call(&elsewhere, next, elsewhere.worst_request(next)).await,
        Ok(()),
        "another provider's limit is not touched"
    );
}

#[tokio::test]
async fn a_limit_of_one_provider_counts_only_its_calls() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    let elsewhere = |limits: Vec<_>| {
        move |plan: &mut RunPlan| {
            plan.seats[1].model.provider = ProviderId("ollama".into());
            plan.limits = limits;
        }
    };
    begin(store, 1, elsewhere(Vec::new()), vec![sent(seat(1, 1))]).await.unwrap();
    let one = vec![limit(Some("openrouter"), 1), limit(Some("groq"), 0), limit(None, 9)];
    begin(store, 2, elsewhere(one.clone()), vec![sent(seat(1, 1)), sent(seat(2, 1))]).await.unwrap();
    let refused = begin(store, 3, elsewhere(one), Vec::new()).await.unwrap_err();
    assert_eq!(
        refused.message,
        "the run may cost up to $0.50; of the day's limit of $1.00 for `openrouter`, $0.00 is spent and $1.00 held \
         for runs under way"
    );
    let held = "SELECT place || ' ' || provider || ' ' || pico_usd FROM holds";
    let held: Vec<String> = values(&fixture.other_connection(), held);
    assert_eq!(
        held,
        [r#"{"seat":2} ollama 500000000000"#],
        "what was sent is in the ledger and not held twice"
    );
}

#[tokio::test]
async fn a_retry_is_reserved_again_and_a_seat_never_sent_is_not() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    let lease = begin(store, 1, |_| (), vec![sent(seat(1, 1))]).await.unwrap();
    let held = || -> Vec<String> {
        let sql = "SELECT place FROM holds ORDER BY place";
        values(&fixture.other_connection(), sql)
    };
    assert_eq!(held(), [r#"{"seat":2}"#]);
    let again = failed(1, 1, Retry::After { ms: 1 }, Some(PicoUsd::ZERO));
    store.append(lease, recorded(3, vec![again])).await.unwrap();
    assert_eq!(held(), [r#"{"seat":1}"#, r#"{"seat":2}"#]);
    let never = failed(2, 0, Retry::Never, Some(PicoUsd::ZERO));
    store.append(lease, recorded(4, vec![never, sent(seat(1, 2))])).await.unwrap();
    assert_eq!(held(), [""; 0]);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn money_is_reserved_only_while_a_process_executes_the_run() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    begin(store, 1, |_| (), Vec::new()).await.unwrap();
    let other_connection = fixture.other_connection();
    let me: String = value(&other_connection, "SELECT owner FROM runs");
    let (machine, _) = me.split_once('/').unwrap();
    let ended_process = format!("{machine}/{}/1", u32::MAX);
    let cases = [
        ("elsewhere/1/1", 60_000, "held"),
        ("elsewhere/1/1", -1_000, "not held"),
        (&*ended_process, 60_000, "not held"),
        // Its lease ended an hour ago, but its process still has it; not so on a server, whose other users cannot see that.
        (&*me, -3_600_000, if support::place::server().is_none() { "held" } else { "not held" }),
        // It was released.
        ("", -1_000, "not held"),
    ];
    for (number, (owner, lease_ms, expected)) in (2..).zip(cases) {
        let sql = "UPDATE runs SET owner = ?, lease_until_ms = ?";
        other_connection.execute(sql, &[&owner, &(Store::now_ms() + lease_ms)]).unwrap();
        let begun = begin(store, number, |plan| plan.limits = vec![limit(None, 1)], Vec::new()).await;
        let is_held = begun.is_err_and(|failure| failure.code == Code::Budget);
        assert_eq!(if is_held { "held" } else { "not held" }, expected, "{owner} {lease_ms}");
    }
}

#[tokio::test]
async fn continuing_a_run_is_limited_and_a_refusal_changes_nothing() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    // The limit in force at the beginning no longer counts.
    let old = expensive(changed(plan(1, StoreMode::Full), |plan| plan.limits = vec![limit(None, 1)]));
    write(store, Arc::clone(&old), simple("one answer")).await;
    let before = store.list(RunScope::All, RunFilter::default()).await.unwrap();
    let new = |number| support::a_seat(number, "lab/four");
    let priced = |number| parallel_llm_engine::Seat { price: old.seats[0].price, ..new(number) };
    let reopening = |seat, usd| {
        let ask = vec![SeatNumber(1), SeatNumber(2)];
        let limits = vec![limit(None, usd)];
        let reopening = Reopening { seats: vec![seat], limits, ..Reopening::resume(&old, ask) };
        Event::Reopened { reserved: PicoUsd::ZERO, reopening }
    };
    let lease = store.take_over(run_id(1)).await.unwrap();
    let too_much = reopening(priced(3), 1);
    let refused = store.append(lease, recorded(lease.next_seq, vec![too_much])).await.unwrap_err();
    assert!(refused.message.starts_with("the run may cost up to $1.50"), "{}", refused.message);
    assert_eq!(store.list(RunScope::All, RunFilter::default()).await.unwrap(), before);
    assert!(!store.load(RunScope::All, run_id(1)).await.unwrap().unwrap().interrupted);

    let lease = store.take_over(run_id(1)).await.unwrap();
    let enough = vec![reopening(priced(3), 9), sent(seat(2, 2)), sent(seat(3, 1))];
    store.append(lease, recorded(lease.next_seq, enough)).await.unwrap();
    let run = store.list(RunScope::All, RunFilter::default()).await.unwrap().pop().unwrap();
    assert_eq!((run.seats, run.status, run.closed_at_ms), (3, RunStatus::Running, None));
    let rows = calls(&fixture);
    assert_eq!(
        rows[2..],
        [
            r#"{"seat":2} 2 lab/two sent - - reported 500000000000 - - -"#,
            r#"{"seat":3} 1 lab/four sent - - reported 500000000000 - - -"#,
        ]
    );
    assert_eq!(a_seat(3, "lab/four"), new(3));
}

#[tokio::test]
async fn seat_facts_are_written_when_a_run_is_decided_and_again_when_it_is_closed() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    let lease = store.open_run(plan(1, StoreMode::Metadata)).await;
    let mut fused = outcome();
    fused.considered = vec![SeatNumber(1)];
    fused.worth.as_mut().unwrap().drawn_from = vec![SeatNumber(2)];
    let decided = vec![
        started(),
        sent(seat(1, 1)),
        sent(seat(2, 1)),
        answered(seat(1, 1), "first"),
        Event::Decided { outcome: Box::new(fused) },
    ];
    store.append(lease, recorded(1, decided)).await.unwrap();
    let facts = store.seat_facts(RunScope::All, None).await.unwrap();
    let first = SeatFact {
        run_id: run_id(1),
        seat: SeatNumber(1),
        model: model("lab/one"),
        status: SeatStatus::Answered,
        late: false,
        considered: true,
        is_base: true,
        drawn_from: false,
        alone: true,
        cost: Some(PicoUsd(1_000)),
        elapsed_ms: Some(20),
        decided_at_ms: facts[0].decided_at_ms,
        outcome: OutcomeKind::Fused,
        edit_ratio: Some(0.25),
        agreement_group: None,
    };
    let waiting = SeatFact {
        seat: SeatNumber(2),
        model: model("lab/two"),
        status: SeatStatus::Waiting,
        considered: false,
        is_base: false,
        drawn_from: true,
        alone: false,
        cost: None,
        elapsed_ms: None,
        ..first.clone()
    };
    assert_eq!(facts, [first.clone(), waiting.clone()]);
    store.append(lease, recorded(6, vec![answered(seat(2, 1), "late"), closed()])).await.unwrap();
    let late = SeatFact {
        status: SeatStatus::Answered,
        late: true,
        cost: Some(PicoUsd(1_000)),
        elapsed_ms: Some(30),
        ..waiting
    };
    assert_eq!(store.seat_facts(RunScope::All, None).await.unwrap(), [first.clone(), late.clone()]);
    store.purge(&[run_id(1)]).await.unwrap();
    assert_eq!(
        store.seat_facts(RunScope::All, Some(first.decided_at_ms)).await.unwrap(),
        [first.clone(), late]
    );
    assert_eq!(store.seat_facts(RunScope::All, Some(first.decided_at_ms + 1)).await.unwrap(), []);
}

#[tokio::test]
async fn a_resumed_part_reserves_for_its_own_synthesizer() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    let plan = expensive(plan(1, StoreMode::Full));
    write(store, Arc::clone(&plan), simple("one answer")).await;
    let own = parallel_llm_engine::Seat { price: plan.seats[0].price, ..a_seat(2, "lab/four") };
    let resuming = Reopening::resume(&plan, Vec::new());
    let first = Reopening { synthesizers: vec![own], ..resuming.clone() };
    let mut newest = None;
    for reopening in [first, resuming] {
        let abandon = "UPDATE runs SET owner = 'elsewhere/1/1', lease_until_ms = 1 WHERE lease_until_ms > 0";
        fixture.other_connection().execute_batch(abandon).unwrap();
        let lease = store.take_over(run_id(1)).await.unwrap();
        let reopened = Event::Reopened { reopening, reserved: PicoUsd::ZERO };
        store.append(lease, recorded(lease.next_seq, vec![reopened])).await.unwrap();
        let held: Vec<String> = values(&fixture.other_connection(), "SELECT place FROM holds");
        assert_eq!(held, [r#"{"synthesizer":2}"#]);
        newest = Some(lease);
    }
    // A request that was recorded but never left has cost nothing.
    let attempt = Attempt { slot: CallerSlot::Synthesizer(SeatNumber(2)), number: 1 };
    let unsent = Event::Cancelled { attempt, answer: None, cost: Some(PicoUsd::ZERO) };
    let lease = newest.unwrap();
    store.append(lease, recorded(lease.next_seq + 1, vec![sent(attempt), unsent])).await.unwrap();
    let rows = calls(&fixture);
    let expected = r#"{"synthesizer":2} 1 lab/four cancelled - 0 reported"#;
    assert!(rows.iter().any(|row| row.starts_with(expected)), "{rows:#?}");
}

#[test]
fn a_cost_that_was_looked_up_is_not_added_again_by_what_is_merged() {
    let plan = plan(1, StoreMode::Full);
    let looked_up =
        || Event::Reconciled { attempt: seat(1, 1), cost: PicoUsd(1_000), usage: Usage::default() };
    for late in [answered(seat(1, 1), "sings"), looked_up()] {
        let reopening = Reopening::resume(&plan, Vec::new());
        let reopened = Event::Reopened { reopening, reserved: PicoUsd::ZERO };
        let merged = Event::Merged { epoch: 1, held_seq: 3, held_number: None, held: Box::new(late) };
        let events = vec![started(), sent(seat(1, 1)), reopened, looked_up(), closed(), merged];
        assert_eq!(Run::fold(Arc::clone(&plan), &recorded(1, events)).cost(), PicoUsd(1_000));
    }
}
