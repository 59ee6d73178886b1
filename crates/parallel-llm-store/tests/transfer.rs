//! A history goes from a file to a server and back, and is what it was.

use std::path::Path;

use crate::support::place::only_on_a_server;
use crate::support::{
    CANARY, OpenRun as _, Place, connect, every_kind, plan, recorded, run_id, seat, sent, started, write,
};
use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::{BatchId, Code, Failure, PicoUsd};
use parallel_llm_store::{
    Batch, BatchChange, CheckDepth, CostBy, CostQuery, Integrity, JobFilter, JobRequest, JobsPage, NewBatch,
    NewJob, NewToken, RunFilter, RunScope, Store, StoreConfig, copy_history,
};

const VERSION_1: &str = include_str!("fixtures/version_1.sql");

fn batch_id() -> BatchId {
    BatchId::from_parts(1, 1)
}

/// A store in a file with some of everything.
async fn filled(path: &Path) -> Store {
    let store = Store::open(StoreConfig::new(path)).await.unwrap();
    write(&store, plan(1, StoreMode::Full), every_kind()).await;
    write(&store, plan(2, StoreMode::Metadata), every_kind()).await;
    let token = NewToken {
        name: "ci".to_owned(),
        hash: [7; 32],
        last_four: "0aZ9".to_owned(),
        scopes: vec!["ask".to_owned()],
        budget_day: None,
        requests_per_minute: Some(9),
        expires_at_ms: None,
    };
    store.create_token(token).await.unwrap();
    let new = NewBatch { id: batch_id(), name: "q\u{e9}.jsonl".to_owned(), budget: PicoUsd::from_usd(1) };
    store.create_batch(new).await.unwrap();
    let long = format!("{{\"question\":\"{}\"}}", "why ".repeat(500));
    let jobs = ["{}".to_owned(), long].into_iter().zip(1..).map(|(json, line)| NewJob {
        line,
        custom_id: Some(format!("q{line}")),
        content: Ok(JobRequest { json, worst_case: PicoUsd(5) }),
    });
    let bad = NewJob { line: 9, custom_id: None, content: Err(Failure::new(Code::Usage, "no")) };
    store.add_jobs(batch_id(), jobs.chain([bad]).collect()).await.unwrap();
    store.change_batch(batch_id(), BatchChange::Begin).await.unwrap();
    store
}

/// Everything that can be asked of a store, but for where it is.
async fn seen(store: &Store) -> String {
    let listed = store.list(RunScope::All, RunFilter::default()).await.unwrap();
    let mut whole = format!("{listed:#?}\n");
    for run in &listed {
        let stored = store.load(RunScope::All, run.run_id).await.unwrap().unwrap();
        whole += &format!("{:#?}\n{:#?}\n{:?}\n", stored.plan, stored.events, stored.checkpoints);
    }
    let costs = store.costs(RunScope::All, CostQuery { by: CostBy::Model, since_ms: None }).await.unwrap();
    let facts = store.seat_facts(RunScope::All, None).await.unwrap();
    let tokens = store.list_tokens().await.unwrap();
    let batch: Option<Batch> = store.batch(batch_id()).await.unwrap();
    let page = JobsPage { batch_id: batch_id(), filter: JobFilter::All, after_line: 0, limit: 9 };
    let jobs = store.batch_jobs(page).await.unwrap();
    let found = store.search(RunScope::All, CANARY, 9).await.unwrap();
    let found: Vec<_> = found.hits.iter().map(|hit| (hit.run_id, hit.excerpt.clone())).collect();
    whole + &format!("{costs:#?}\n{facts:#?}\n{tokens:#?}\n{batch:#?}\n{jobs:#?}\n{found:#?}")
}

async fn assert_sound(store: &Store) {
    let checked = store.check(CheckDepth::Full, std::time::Duration::from_secs(60)).await.unwrap();
    assert_eq!(checked, Integrity::Intact);
}

#[tokio::test]
async fn a_history_goes_to_a_server_and_back() {
    only_on_a_server!();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("here.db");
    let store = filled(&path).await;
    let before = seen(&store).await;
    let place = Place::fresh(folder.path().join("there/runs.db"));
    let copied = copy_history(StoreConfig::new(&path), &place.config().location).await.unwrap();
    assert_eq!(copied.runs, 2);
    assert!(copied.rows > 20, "{copied:?}");

    let there = Store::open(place.config()).await.unwrap();
    assert_sound(&there).await;
    assert_eq!(seen(&there).await, before);
    let back = StoreConfig::new(folder.path().join("back.db"));
    assert_eq!(copy_history(place.config(), &back.location).await.unwrap(), copied);
    let back = Store::open(back).await.unwrap();
    assert_sound(&back).await;
    assert_eq!(seen(&back).await, before);

    // What is written next follows what was copied.
    for store in [&there, &back] {
        write(store, plan(3, StoreMode::Full), every_kind()).await;
        let token = store.create_token(NewToken { name: "next".to_owned(), hash: [8; 32], ..token() }).await;
        assert_eq!(token.unwrap().token_id, 2);
        assert_eq!(store.claim_jobs(batch_id(), 9).await.unwrap().unwrap().jobs.len(), 2);
        assert_sound(store).await;
    }
}

fn token() -> NewToken {
    NewToken {
        name: String::new(),
        hash: [0; 32],
        last_four: "aaaa".to_owned(),
        scopes: Vec::new(),
        budget_day: None,
        requests_per_minute: None,
        expires_at_ms: None,
    }
}

#[tokio::test]
async fn a_history_of_the_first_version_goes_to_a_server() {
    only_on_a_server!();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("old.db");
    let old = connect(&path);
    old.execute_batch(VERSION_1).unwrap();
    old.close().unwrap();
    let store = Store::open(StoreConfig::new(&path)).await.unwrap();
    let place = Place::fresh(folder.path().join("there/runs.db"));
    assert_eq!(copy_history(StoreConfig::new(&path), &place.config().location).await.unwrap().runs, 5);
    let there = Store::open(place.config()).await.unwrap();
    assert_sound(&there).await;
    let whole = seen(&there).await + &seen(&store).await;
    assert!(whole.contains("Zaunkönig") && whole.contains("late words"), "{whole}");
    // The search in it waited until both had caught up.
    assert_eq!(seen(&there).await, seen(&store).await);
}

#[tokio::test]
async fn what_is_in_progress_or_would_be_mixed_is_not_copied() {
    only_on_a_server!();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("here.db");
    let store = filled(&path).await;
    let place = Place::fresh(folder.path().join("there/runs.db"));
    let lease = store.open_run(plan(5, StoreMode::Full)).await;
    let begun = recorded(1, vec![started(), sent(seat(1, 1))]);
    parallel_llm_engine::port::Journal::append(&store, lease, begun).await.unwrap();
    let busy = copy_history(StoreConfig::new(&path), &place.config().location).await.unwrap_err();
    assert_eq!((busy.code, &*busy.message), (Code::Busy, "1 runs or questions of batches are in progress"));
    store.close().await;

    let there = Store::open(place.config()).await.unwrap();
    assert_eq!(there.list(RunScope::All, RunFilter::default()).await.unwrap(), []);
    write(&there, plan(1, StoreMode::Full), every_kind()).await;
    filled(&folder.path().join("other.db")).await.close().await;
    let mixed = copy_history(StoreConfig::new(folder.path().join("other.db")), &place.config().location)
        .await
        .unwrap_err();
    assert!(mixed.message.contains("is not empty: its table `runs` has rows"), "{mixed}");
    assert_eq!(there.list(RunScope::All, RunFilter::default()).await.unwrap()[0].run_id, run_id(1));
}
