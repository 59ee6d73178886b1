//! Repeated questions: the earlier run is found and named, no second run begins, and a stored answer can be reused.

use std::sync::Arc;

use crate::support;
use crate::support::place::only_in_a_file;
use crate::support::{
    Fixture, OpenRun as _, a_seat, changed, closed, plan, query_plan, recorded, run_id, same_question, seat,
    sent, simple, started, value, write,
};
use parallel_llm_engine::port::Journal as _;
use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::{Code, Event, PicoUsd, Reopening, RunId, RunPlan};
use parallel_llm_store::{RunFilter, RunScope, Store};

/// The question of this principal under this idempotency key.
fn keyed(plan: Arc<RunPlan>, asked_by: Option<&str>, key: &str) -> Arc<RunPlan> {
    changed(plan, |plan| {
        plan.asked_by = asked_by.map(str::to_owned);
        plan.idempotency_key = Some(key.to_owned());
    })
}

fn asked_by(plan: Arc<RunPlan>, who: &str) -> Arc<RunPlan> {
    changed(plan, |plan| plan.asked_by = Some(who.to_owned()))
}

/// The question with `fresh`, which ignores earlier runs.
fn fresh(plan: Arc<RunPlan>) -> Arc<RunPlan> {
    changed(plan, |plan| plan.fresh = true)
}

/// Begins a run; a refusal is its code and the run that it names.
async fn begin(store: &Store, plan: Arc<RunPlan>) -> Result<(), (Code, Option<RunId>)> {
    let lease = store.open_run(plan).await;
    let begun = store.append(lease, recorded(1, vec![started(), sent(seat(1, 1))])).await;
    begun.map_err(|failure| (failure.code, failure.run_id.map(|run_id| *run_id)))
}

#[tokio::test]
async fn a_key_names_one_question_of_one_caller_as_long_as_its_run_is_kept() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    write(store, keyed(plan(1, StoreMode::Full), None, "k"), simple("done long ago")).await;
    let repeated = Err((Code::Repeated, Some(run_id(1))));
    assert_eq!(begin(store, keyed(same_question(2), None, "k")).await, repeated);
    let conflict = Err((Code::IdempotencyConflict, Some(run_id(1))));
    assert_eq!(begin(store, keyed(plan(3, StoreMode::Full), None, "k")).await, conflict);
    assert_eq!(begin(store, keyed(same_question(4), None, "another")).await, Ok(()));
    assert_eq!(begin(store, keyed(same_question(5), Some("somebody"), "k")).await, Ok(()));
    let repeated = Err((Code::Repeated, Some(run_id(5))));
    assert_eq!(begin(store, keyed(same_question(6), Some("somebody"), "k")).await, repeated);
    store.purge(&[run_id(1)]).await.unwrap();
    assert_eq!(begin(store, keyed(plan(7, StoreMode::Full), None, "k")).await, Ok(()));
}

#[tokio::test]
async fn without_a_key_a_running_or_interrupted_run_counts() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    assert_eq!(begin(store, same_question(1)).await, Ok(()));
    let repeated = Err((Code::Repeated, Some(run_id(1))));
    assert_eq!(begin(store, same_question(2)).await, repeated);
    assert_eq!(begin(store, asked_by(same_question(3), "somebody")).await, Ok(()));
    let theirs = Err((Code::Repeated, Some(run_id(3))));
    assert_eq!(begin(store, asked_by(same_question(4), "somebody")).await, theirs);
    assert_eq!(begin(store, keyed(same_question(5), None, "on purpose")).await, Ok(()));
    let other_connection = fixture.other_connection();
    let long_ago = "UPDATE runs SET created_at_ms = created_at_ms - 600001";
    other_connection.execute_batch(long_ago).unwrap();
    assert_eq!(begin(store, same_question(6)).await, Ok(()), "nobody tries again after ten minutes");
    let abandon = "UPDATE runs SET owner = 'elsewhere/1/1', lease_until_ms = 1";
    other_connection.execute_batch(abandon).unwrap();
    assert_eq!(
        begin(store, same_question(7)).await,
        Err((Code::Repeated, Some(run_id(6)))),
        "it can be continued"
    );
    assert_eq!(begin(store, fresh(same_question(7))).await, Ok(()), "unless all is to be asked anew");
    let long_ago = "UPDATE runs SET created_at_ms = created_at_ms - 86400001";
    other_connection.execute_batch(abandon).unwrap();
    other_connection.execute_batch(long_ago).unwrap();
    assert_eq!(
        begin(store, same_question(8)).await,
        Ok(()),
        "what was said a day ago may not be so any more"
    );
    other_connection.execute_batch(abandon).unwrap();
    write(store, fresh(same_question(9)), simple("settled")).await;
    assert_eq!(begin(store, same_question(10)).await, Ok(()), "an answered question may be asked again");
}

#[tokio::test]
async fn an_abandoned_run_counts_as_long_as_its_answers_are_kept() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    let now_ms = u64::try_from(Store::now_ms()).unwrap();
    let named = |number: u64, plan: Arc<RunPlan>| {
        changed(plan, |plan| plan.run_id = RunId::from_parts(now_ms + number, 7))
    };
    let given_up = || {
        let cancelled = parallel_llm_engine::Failure::new(Code::Cancelled, "given up");
        let outcome = Box::new(parallel_llm_engine::Outcome::none(cancelled));
        recorded(1, vec![started(), Event::Decided { outcome }, closed()])
    };
    let metadata = changed(same_question(1), |plan| plan.store = StoreMode::Metadata);
    write(store, named(1, metadata), given_up()).await;
    write(store, named(2, asked_by(same_question(1), "somebody")), given_up()).await;
    assert_eq!(begin(store, named(3, fresh(same_question(1)))).await, Ok(()));
    write(store, named(4, fresh(same_question(1))), given_up()).await;
    let left = Some(RunId::from_parts(now_ms + 4, 7));
    assert_eq!(begin(store, named(5, same_question(1))).await, Err((Code::Repeated, left)));
    write(store, named(6, fresh(same_question(1))), simple("settled")).await;
    let under_way = Some(RunId::from_parts(now_ms + 3, 7));
    assert_eq!(begin(store, named(7, same_question(1))).await, Err((Code::Repeated, under_way)));
}

#[tokio::test]
async fn a_continued_run_answers_only_its_key() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    let key = |plan| keyed(plan, None, "k");
    for (number, plan) in [(1, same_question(1)), (2, key(same_question(2)))] {
        write(store, Arc::clone(&plan), simple("done")).await;
        let lease = store.reopen(run_id(number), 7).await.unwrap();
        let reopening =
            Reopening { seats: vec![a_seat(3, "lab/four")], ..Reopening::resume(&plan, Vec::new()) };
        let reopened = Event::Reopened { reopening, reserved: PicoUsd::ZERO };
        store.append(lease, recorded(8, vec![reopened, sent(seat(3, 1))])).await.unwrap();
    }
    assert_eq!(begin(store, key(same_question(3))).await, Err((Code::Repeated, Some(run_id(2)))));
    assert_eq!(begin(store, same_question(4)).await, Ok(()), "others are asked too, by now");
    assert_eq!(begin(store, same_question(5)).await, Err((Code::Repeated, Some(run_id(4)))));
}

#[tokio::test]
async fn a_resumed_run_is_joined() {
    let fixture = Fixture::new().await;
    let (store, plan) = (&fixture.store, same_question(1));
    write(store, Arc::clone(&plan), simple("done")).await;
    let lease = store.reopen(run_id(1), 7).await.unwrap();
    let reopening = Reopening::resume(&plan, vec![parallel_llm_engine::SeatNumber(2)]);
    let reopened = Event::Reopened { reopening, reserved: PicoUsd::ZERO };
    store.append(lease, recorded(8, vec![reopened, sent(seat(2, 2))])).await.unwrap();
    assert_eq!(begin(store, same_question(2)).await, Err((Code::Repeated, Some(run_id(1)))));
}

#[tokio::test]
async fn of_two_equal_questions_at_once_one_begins() {
    let fixture = Fixture::new().await;
    let other = Store::open(fixture.config()).await.unwrap();
    let (one, two) = tokio::join!(
        begin(&fixture.store, keyed(same_question(1), None, "k")),
        begin(&other, keyed(same_question(2), None, "k")),
    );
    let refusals: Vec<_> = [one, two].into_iter().filter_map(Result::err).collect();
    let winner = fixture.store.list(RunScope::All, RunFilter::default()).await.unwrap();
    assert_eq!((winner.len(), refusals), (1, vec![(Code::Repeated, Some(winner[0].run_id))]));
}

#[tokio::test]
async fn a_refused_run_leaves_nothing_behind() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    assert_eq!(begin(store, same_question(1)).await, Ok(()));
    let lease = store.open_run(same_question(2)).await;
    let first = recorded(1, vec![started()]);
    assert_eq!(store.append(lease, first.clone()).await.unwrap_err().code, Code::Repeated);
    assert_eq!(store.append(lease, first.clone()).await.unwrap_err().code, Code::Storage, "it is not known");
    let gap = store.open_run(plan(3, StoreMode::Full)).await;
    assert_eq!(store.append(gap, recorded(2, vec![started()])).await.unwrap_err().code, Code::Internal);
    assert_eq!(store.append(gap, first.clone()).await.unwrap_err().code, Code::Storage);
    assert!(
        store.load(RunScope::All, run_id(2)).await.unwrap().is_none()
            && store.load(RunScope::All, run_id(3)).await.unwrap().is_none()
    );
    assert_eq!(store.take_over(run_id(2)).await.unwrap_err().code, Code::RunNotFound);
    let rows = "SELECT COUNT(DISTINCT run_id) FROM (SELECT run_id FROM runs UNION ALL SELECT run_id FROM calls \
                UNION ALL SELECT run_id FROM holds UNION ALL SELECT run_id FROM texts) AS stored";
    let runs: i64 = value(&fixture.other_connection(), rows);
    assert_eq!(runs, 1);
    let again = store.open_run(plan(3, StoreMode::Full)).await;
    assert_eq!(store.append(again, first).await, Ok(()), "the same run may be begun after all");
}

#[tokio::test]
async fn the_newest_kept_answer_is_found_for_its_asker() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    let hash = same_question(1).plan_hash.clone();
    let find = async |who, within_ms| store.find_same(&hash, who, within_ms).await.unwrap();
    assert_eq!(find(None, i64::MAX).await, None);
    write(store, same_question(1), simple("first")).await;
    write(store, same_question(2), simple("second")).await;
    write(store, asked_by(same_question(3), "somebody"), simple("theirs")).await;
    write(store, changed(same_question(4), |plan| plan.store = StoreMode::Metadata), simple("not kept"))
        .await;
    let nothing = vec![
        started(),
        Event::Decided { outcome: Box::new(parallel_llm_engine::Outcome::none(support::failure())) },
        closed(),
    ];
    write(store, same_question(5), recorded(1, nothing)).await;
    begin(store, same_question(6)).await.unwrap();
    assert_eq!(find(None, 60_000).await, Some(run_id(2)));
    assert_eq!(find(Some("somebody"), 60_000).await, Some(run_id(3)));
    assert_eq!(find(Some("nobody"), 60_000).await, None);
    assert_eq!(find(None, -60_000).await, None, "nothing is as new as that");
    let old = "UPDATE runs SET decided_at_ms = decided_at_ms - 70000 WHERE run_id = ?";
    let other_connection = fixture.other_connection();
    other_connection.execute(old, &[&run_id(2)]).unwrap();
    assert_eq!(find(None, 60_000).await, Some(run_id(1)));
}

#[tokio::test]
async fn looking_for_the_same_question_uses_an_index() {
    only_in_a_file!("it reads SQLite's query plans");
    let fixture = Fixture::new().await;
    let other_connection = fixture.other_connection();
    let key = "SELECT 1 FROM runs WHERE IFNULL(asked_by, '') = 'a' AND idempotency_key = 'k'";
    assert!(query_plan(&other_connection, key).contains("runs_by_key"));
    let under_way = "SELECT 1 FROM runs WHERE plan_hash = 'h' AND status = 'running' ORDER BY run_id DESC";
    assert!(query_plan(&other_connection, under_way).contains("runs_under_way"));
    let answered = "SELECT 1 FROM runs WHERE plan_hash = 'h' AND status IN ('complete', 'partial') \
                    AND store_mode = 'full' ORDER BY run_id DESC LIMIT 1";
    assert!(query_plan(&other_connection, answered).contains("runs_answered"));
    let day = "SELECT provider, TOTAL(CASE WHEN outcome <> 'sent' THEN COALESCE(cost_pico_usd, worst_pico_usd) END) \
               FROM calls WHERE sent_at_ms >= 1 GROUP BY provider";
    assert!(query_plan(&other_connection, day).contains("COVERING INDEX calls_by_time"));
}
