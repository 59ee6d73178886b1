//! The facts behind the figures about models.

use crate::support::place::only_in_a_file;
use crate::support::{
    Fixture, answer, answered, changed, expensive, failure, plan, query_plan, recorded, run_id, seat, sent,
    simple, started, synthesizer, write,
};
use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::value::retry::Retry;
use parallel_llm_engine::{Code, Event, PicoUsd};
use parallel_llm_store::{CallResult, CheckDepth, HourSpend, Integrity, RunScope, Store};

const HOUR_MS: i64 = 3_600_000;

#[tokio::test]
async fn each_call_tells_how_it_ended_how_long_it_took_and_what_it_cost() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    let failed = Event::Failed {
        attempt: seat(2, 1),
        failure: failure(),
        retry: Retry::Never,
        cost: Some(PicoUsd::ZERO),
        elapsed_ms: 5,
    };
    let cut = Event::Cut { attempt: seat(1, 2), answer: answer("half"), failure: failure() };
    let stopped = Event::Cancelled { attempt: synthesizer(1), answer: None, cost: None };
    let events = vec![
        started(),
        sent(seat(1, 1)),
        sent(seat(2, 1)),
        answered(seat(1, 1), "words"),
        failed,
        sent(seat(1, 2)),
        cut,
        sent(synthesizer(1)),
        stopped,
        sent(seat(2, 2)),
    ];
    write(store, plan(1, StoreMode::Metadata), recorded(1, events)).await;
    let times = "UPDATE calls SET sent_at_ms = 1000 * attempt, ended_at_ms = 1000 * attempt + 70 + LENGTH(place) \
                 WHERE ended_at_ms IS NOT NULL; UPDATE calls SET sent_at_ms = 9000 WHERE ended_at_ms IS NULL; \
                 UPDATE calls SET sent_at_ms = 3000, ended_at_ms = 2990 WHERE outcome = 'cancelled'; \
                 UPDATE calls SET sent_at_ms = 1001, ended_at_ms = 1081 WHERE outcome = 'failed'";
    fixture.other_connection().execute_batch(times).unwrap();
    let facts = store.call_facts(RunScope::All, 1_000).await.unwrap();
    let rows = facts.calls.iter().map(|call| {
        let cost = call.cost.map(|cost| cost.0);
        (&*call.model.model, call.sent_at_ms, call.result, call.elapsed_ms, call.first_token_ms, cost)
    });
    let upstream = Some(Code::Upstream);
    assert_eq!(
        rows.collect::<Vec<_>>(),
        [
            ("lab/two", 9_000, CallResult::UnderWay, None, None, None),
            // The clock was set back meanwhile.
            ("lab/three", 3_000, CallResult::Cancelled, None, None, None),
            ("lab/one", 2_000, CallResult::Cut(upstream), Some(80), Some(12), Some(1_000)),
            ("lab/two", 1_001, CallResult::Failed(upstream), Some(80), None, Some(0)),
            ("lab/one", 1_000, CallResult::Answered, Some(80), Some(12), Some(1_000)),
        ]
    );
    assert!(facts.is_complete);
    assert_eq!(store.call_facts(RunScope::All, 9_001).await.unwrap().calls, []);
    store.purge(&[run_id(1)]).await.unwrap();
    assert_eq!(store.call_facts(RunScope::Principal("a"), 0).await.unwrap().calls, []);
}

#[tokio::test]
async fn the_spending_of_a_day_is_counted_by_the_hour() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    for number in 1..=3 {
        let plan = changed(expensive(plan(number, StoreMode::Metadata)), |plan| {
            plan.asked_by = (number == 3).then(|| "a".to_owned());
        });
        write(store, plan, simple("words")).await;
    }
    let day = Store::now_ms() - 10 * HOUR_MS;
    let other_connection = fixture.other_connection();
    for (number, hour, cost) in [(1, 0, None), (2, 2, Some(500_i64)), (3, 2, Some(700))] {
        let cost = cost.map_or("NULL".to_owned(), |cost| cost.to_string());
        let sql = format!("UPDATE calls SET sent_at_ms = ?, cost_pico_usd = {cost} WHERE run_id = ?");
        other_connection.execute(&sql, &[&(day + hour * HOUR_MS + 1), &run_id(number)]).unwrap();
    }
    let unknown = HourSpend {
        hour: 0,
        cost: PicoUsd::ZERO,
        calls_of_unknown_cost: 2,
        unknown_cost_max: PicoUsd::from_usd(1),
    };
    let known = |cost| HourSpend { hour: 2, cost: PicoUsd(cost), ..HourSpend::default() };
    assert_eq!(store.spent_by_hour(RunScope::All, day).await.unwrap(), [unknown, known(2_400)]);
    assert_eq!(store.spent_by_hour(RunScope::Principal("a"), day).await.unwrap(), [known(1_400)]);
}

#[tokio::test]
async fn figures_read_an_index_only() {
    only_in_a_file!("it reads SQLite's query plans");
    let fixture = Fixture::new().await;
    let columns = "provider, model, sent_at_ms, ended_at_ms, outcome, code, first_token_ms, cost_pico_usd, \
                   cost_is_estimate, worst_pico_usd";
    for (whose, index) in [("TRUE", "calls_by_time"), ("asked_by = 'a'", "calls_by_asker")] {
        let sql =
            format!("SELECT {columns} FROM calls WHERE sent_at_ms >= 1 AND {whose} ORDER BY sent_at_ms DESC");
        let plan = query_plan(&fixture.other_connection(), &sql);
        assert!(plan.contains(&format!("COVERING INDEX {index}")) && !plan.contains("SORT"), "{plan}");
    }
}

#[tokio::test]
async fn a_time_that_was_not_written_is_reported() {
    let fixture = Fixture::new().await;
    let events = vec![started(), sent(seat(1, 1)), answered(seat(1, 1), "words")];
    write(&fixture.store, plan(1, StoreMode::Metadata), recorded(1, events)).await;
    let sql = "UPDATE calls SET first_token_ms = 13 WHERE first_token_ms = 12";
    assert_eq!(fixture.other_connection().execute(sql, &[]).unwrap(), 1);
    let within = std::time::Duration::from_secs(60);
    let found = fixture.store.check(CheckDepth::Full, within).await.unwrap();
    let Integrity::Damaged(damage) = found else { panic!("{found:?}") };
    assert_eq!(damage.problems.len(), 1, "{:?}", damage.problems);
}
