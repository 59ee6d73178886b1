//! Databases of older versions are migrated; everything in them is kept and works with what is new.

use std::path::Path;

use crate::support;
use crate::support::place::only_in_a_file;
use crate::support::{CANARY, OpenRun as _, bytes_of, connect, holds, rows, run_id, value, write};
use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::{Event, Run, RunStatus, SeatNumber};
use parallel_llm_store::{
    CheckDepth, CostBy, CostQuery, HitSource, Integrity, RunFilter, RunScope, Store, StoreConfig, StoredRun,
};

/// A database written by a program of version 1, with times and owner simplified.
const VERSION_1: &str = include_str!("fixtures/version_1.sql");
/// Turns it into a database of version 2, with data that only version 2 has.
const VERSION_2: [&str; 2] =
    [include_str!("../migrations/sqlite/0002_ledger.sql"), include_str!("fixtures/version_2.sql")];

/// Turns that into a database of version 3, with data that only version 3 has.
const VERSION_3: [&str; 2] =
    [include_str!("../migrations/sqlite/0003_tokens.sql"), include_str!("fixtures/version_3.sql")];

/// A store on a database of version 1.
async fn migrated(path: &Path) -> Store {
    let old = connect(path);
    old.execute_batch(VERSION_1).unwrap();
    old.close().unwrap();
    Store::open(StoreConfig::new(path)).await.unwrap()
}

/// A store on a database of version 2.
async fn migrated_from_2(path: &Path) -> Store {
    let old = connect(path);
    for script in [VERSION_1].into_iter().chain(VERSION_2) {
        old.execute_batch(script).unwrap();
    }
    old.close().unwrap();
    Store::open(StoreConfig::new(path)).await.unwrap()
}

async fn loaded(store: &Store, number: u64) -> StoredRun {
    store.load(RunScope::All, run_id(number)).await.unwrap().unwrap()
}

#[tokio::test]
async fn runs_of_version_1_are_read_whole() {
    only_in_a_file!("it is about the migrations of the file");
    let folder = tempfile::tempdir().unwrap();
    let store = migrated(&folder.path().join("runs.db")).await;
    let listed = store.list(RunScope::All, RunFilter::default()).await.unwrap();
    let stand: Vec<_> = listed.iter().map(|run| run.status.as_str()).collect();
    assert_eq!(stand, ["cancelled", "failed", "interrupted", "complete", "complete"]);
    assert_eq!(listed[4].question_excerpt.as_deref(), Some("Warum singt der Zaunkönig?"));
    assert_eq!(listed[4].closed_at_ms, Some(1_767_268_800_000));
    let first = loaded(&store, 1).await;
    let run = Run::fold(first.plan.clone(), &first.events);
    assert_eq!((first.events.len(), run.status, run.closed), (12, RunStatus::Complete, true));
    assert_eq!(run.seats[1].text().unwrap(), format!("{CANARY} late words"));
    assert_eq!(run.outcome.unwrap().text.unwrap().as_ref(), format!("{CANARY} fused"));
    assert_eq!(loaded(&store, 2).await.plan.messages.len(), 0);
    let third = loaded(&store, 3).await;
    assert_eq!((third.interrupted, &*third.checkpoints[0].text), (true, "half a thought"));
    assert_eq!(store.follow(run_id(3), 3).await.unwrap().unwrap().events, third.events[3..]);
}

#[tokio::test]
async fn the_ledger_and_seat_facts_of_version_1_follow_from_its_events() {
    only_in_a_file!("it is about the migrations of the file");
    let folder = tempfile::tempdir().unwrap();
    let old = migrated(&folder.path().join("old.db")).await;
    let new = Store::open(StoreConfig::new(folder.path().join("new.db"))).await.unwrap();
    for number in 1..=5 {
        let StoredRun { plan, events, .. } = loaded(&old, number).await;
        // All of them ask the same question, and one of them is running here.
        let plan = support::changed(plan, |plan| plan.idempotency_key = Some(number.to_string()));
        write(&new, plan, events).await;
    }
    let facts = async |store: &Store| {
        let mut facts = store.seat_facts(RunScope::All, None).await.unwrap();
        facts.sort_by_key(|fact| (fact.run_id, fact.seat));
        for fact in &mut facts {
            fact.decided_at_ms = 0;
            // Version 1 did not record which answers a text drew from, so these say nothing.
            fact.edit_ratio = None;
        }
        facts
    };
    assert_eq!(facts(&old).await, facts(&new).await);
    // Version 1 did not record the worst case of a call, and it no longer matters.
    let ledger = "SELECT run_id, place || attempt || provider || model || outcome || IFNULL(code, '-') \
                  || IFNULL(cost_pico_usd, '-') || cost_is_estimate || IFNULL(input_tokens, '-') \
                  || IFNULL(output_tokens, '-') || IFNULL(reasoning_tokens, '-') || IFNULL(cached_tokens, '-') \
                  || IFNULL(generation_id, '-') || (ended_at_ms IS NULL) || IFNULL(first_token_ms, '-') FROM calls ORDER BY run_id, place, attempt";
    let mut ledgers = Vec::new();
    for name in ["old.db", "new.db"] {
        let other_connection = connect(&folder.path().join(name));
        let calls: Vec<(String, String)> =
            rows(&other_connection, ledger, |row| Ok((row.get(0)?, row.get(1)?)));
        ledgers.push(calls);
    }
    assert_eq!((ledgers[0].len(), &ledgers[0]), (13, &ledgers[1]));
    let days = old.costs(RunScope::All, CostQuery { by: CostBy::Day, since_ms: None }).await.unwrap();
    assert_eq!((days.len(), &*days[0].name, days[0].calls), (1, "2026-01-01", 13));
}

#[tokio::test]
async fn runs_of_version_1_are_searched_found_continued_and_purged() {
    only_in_a_file!("it is about the migrations of the file");
    let folder = tempfile::tempdir().unwrap();
    let store = migrated(&folder.path().join("runs.db")).await;
    let found = store.search(RunScope::All, "zaunkönig", 9).await.unwrap().hits;
    let numbers: Vec<_> = found.iter().map(|found| found.run_id).collect();
    assert_eq!(numbers, [run_id(5), run_id(4), run_id(3), run_id(1)], "all that keep their texts");
    assert_eq!(
        store.search(RunScope::All, "late words", 9).await.unwrap().hits[0].source,
        HitSource::Seat(parallel_llm_engine::SeatNumber(2))
    );
    // Their hashes are of the plan, not of the request, so no question finds them now.
    let hash = "9829838ca3e58cacfbbb4d8201bada758668079c068cfc36ebb84ced036b9ba0";
    assert_eq!(store.find_same(hash, None, Store::now_ms()).await.unwrap(), Some(run_id(1)));
    let lease = store.take_over(run_id(3)).await.unwrap();
    assert_eq!((lease.epoch, lease.next_seq), (2, 5));
    let all: Vec<_> = (1..=5).map(run_id).collect();
    let purged = store.purge(&all).await.unwrap();
    assert_eq!(purged.under_way, [run_id(3)], "which is ours now");
    assert_eq!(store.reclaim().await, Ok(true));
    assert_eq!(store.search(RunScope::All, "late words", 9).await.unwrap().hits, []);
    assert!(!holds(&bytes_of(folder.path()), "late words"));
    let again = store.open_run(support::plan(1, StoreMode::Full)).await;
    assert_eq!(again.run_id, run_id(1));
}

#[tokio::test]
async fn costs_and_seat_facts_of_version_2_get_their_principals() {
    only_in_a_file!("it is about the migrations of the file");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    let store = migrated_from_2(&path).await;
    let query = CostQuery { by: CostBy::Provider, since_ms: None };
    let of = async |whose| {
        let costs = store.costs(whose, query).await.unwrap();
        let calls: u64 = costs.iter().map(|line| line.calls).sum();
        let runs = store.list(whose, RunFilter::default()).await.unwrap().len();
        (runs, calls, store.seat_facts(whose, None).await.unwrap().len())
    };
    assert_eq!(of(RunScope::All).await, (5, 13, 8));
    assert_eq!(of(RunScope::Principal("somebody")).await, (2, 6, 2), "an interrupted run has no facts yet");
    assert_eq!(of(RunScope::Principal("nobody")).await, (0, 0, 0));
    assert_eq!(
        store.load(RunScope::Principal("somebody"), run_id(2)).await.unwrap().map(|run| run.created_at_ms),
        None
    );
    assert_eq!(store.list_tokens().await.unwrap(), []);
    let version: i64 = value(&connect(&path), "PRAGMA user_version");
    assert_eq!(version, 13);
}

#[tokio::test]
async fn rows_of_version_3_have_no_checksums_and_are_read_as_before() {
    only_in_a_file!("it is about the migrations of the file");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    let old = connect(&path);
    for script in [VERSION_1].into_iter().chain(VERSION_2).chain(VERSION_3) {
        old.execute_batch(script).unwrap();
    }
    old.close().unwrap();
    let store = Store::open(StoreConfig::new(&path)).await.unwrap();
    let tokens = store.list_tokens().await.unwrap();
    assert_eq!((&*tokens[0].name, tokens[0].requests_per_minute), ("somebody", Some(30)));
    let listed = store.list(RunScope::All, RunFilter::default()).await.unwrap();
    assert!(listed.iter().all(|run| !run.is_damaged));
    let third = loaded(&store, 3).await;
    assert_eq!((third.run().warnings().len(), &*third.checkpoints[0].text), (0, "half a thought"));
    // A continued run has checksums in its new rows, beside old rows without them.
    let lease = store.take_over(run_id(3)).await.unwrap();
    let events = support::recorded(lease.next_seq, vec![support::closed()]);
    parallel_llm_engine::port::Journal::append(&store, lease, events).await.unwrap();
    assert!(!store.list(RunScope::All, RunFilter::default()).await.unwrap()[2].is_damaged);
    let soundness = store.check(CheckDepth::Full, std::time::Duration::from_secs(60)).await;
    assert_eq!(soundness, Ok(Integrity::Intact));
}

#[tokio::test]
async fn groups_of_answers_and_times_of_first_tokens_follow_from_the_events_of_version_5() {
    only_in_a_file!("it is about the migrations of the file");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    let store = Store::open(StoreConfig::new(&path)).await.unwrap();
    for number in 1..=2 {
        let mut events = support::every_kind();
        for recorded in &mut events {
            if let Event::Decided { outcome } = &mut recorded.event {
                outcome.considered = vec![SeatNumber(1), SeatNumber(2)];
                outcome.agreement = Some(support::agreement(&[&[2], &[1]]));
            }
        }
        write(&store, support::plan(number, StoreMode::Metadata), events).await;
    }
    let found = async |store: &Store| {
        let facts = store.seat_facts(RunScope::All, None).await.unwrap();
        let groups: Vec<_> = facts.iter().map(|fact| fact.agreement_group).collect();
        let calls = store.call_facts(RunScope::All, 0).await.unwrap().calls;
        (groups, calls.iter().map(|call| call.first_token_ms).collect::<Vec<_>>())
    };
    let expected = found(&store).await;
    assert_eq!(expected.0, [Some(2), Some(1), Some(2), Some(1)]);
    assert!(expected.1.contains(&Some(12)) && expected.1.contains(&None), "{:?}", expected.1);
    store.close().await;
    // A database of version 5 lacks these columns, which the checksum of a run covers, and its indexes are narrower. A program
    // of version 4 that goes on with it stores plans in the rows of runs.
    let sql = "DROP TABLE sessions; DROP TABLE form_key; DROP TABLE batch_jobs; DROP TABLE batches; DROP TABLE counted_runs; DROP TABLE run_counts; DROP INDEX runs_uncounted; \
               ALTER TABLE runs DROP COLUMN models; ALTER TABLE runs DROP COLUMN is_counted; ALTER TABLE runs DROP COLUMN cancel_epoch; \
               UPDATE runs SET checksum = NULL; \
               DROP INDEX calls_by_time; DROP INDEX calls_by_asker; \
               CREATE INDEX calls_by_time ON calls (sent_at_ms); CREATE INDEX calls_by_asker ON calls (asked_by); \
               ALTER TABLE calls DROP COLUMN first_token_ms; ALTER TABLE calls DROP COLUMN first_token_checksum; \
               ALTER TABLE seats DROP COLUMN agreement_group; PRAGMA user_version = 5; \
               ALTER TABLE runs ADD COLUMN plan TEXT NOT NULL DEFAULT ''; \
               UPDATE runs SET plan = CAST(texts.body AS TEXT) FROM texts WHERE texts.run_id = runs.run_id AND hash = ''; \
               DELETE FROM texts WHERE hash = '' AND run_id = (SELECT MIN(run_id) FROM runs)";
    connect(&path).execute_batch(sql).unwrap();
    let store = Store::open(StoreConfig::new(&path)).await.unwrap();
    assert_eq!(found(&store).await, expected);
    let soundness = store.check(CheckDepth::Full, std::time::Duration::from_secs(60)).await;
    assert_eq!(soundness, Ok(Integrity::Intact));
}
