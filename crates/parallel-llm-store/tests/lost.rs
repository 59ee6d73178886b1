//! A database that takes no writes for a while: runs whose events could not be written are let go of, the others keep
//! their leases.

use std::time::Duration;

use crate::support::{
    Fixture, OpenRun as _, plan, recorded, run_id, same_question, seat, sent, simple, started, write,
};
use parallel_llm_engine::port::{Journal as _, Lease};
use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::{Code, Event, PicoUsd, Recorded, Reopening, RunId, RunStatus};
use parallel_llm_store::{RunFilter, RunScope, Store};
use sqlx::SqliteConnection;

/// No row of the runs changes any more.
const BREAK: &str = "CREATE TRIGGER broken BEFORE UPDATE ON runs BEGIN SELECT RAISE(ABORT, 'no room'); END";
const MEND: &str = "DROP TRIGGER broken";

/// A store whose database alone can keep anything: there is no room for files of its own beside it.
async fn fixture() -> Fixture {
    let fixture = Fixture::new().await;
    std::fs::write(fixture.folder.path().join("data/runs.db.spill"), "in the way").unwrap();
    fixture
}

async fn execute(stranger: &mut SqliteConnection, sql: &'static str) {
    sqlx::query(sql).execute(stranger).await.unwrap();
}

/// How the runs stand, newest first.
async fn stands(store: &Store) -> Vec<(RunId, RunStatus)> {
    let runs = store.list(RunScope::All, RunFilter::default()).await.unwrap();
    runs.iter().map(|run| (run.run_id, run.status)).collect()
}

/// Lets so much time pass that the writer's heart beats, and waits until it has made so many commits.
async fn beat(store: &Store, commits: u64) {
    let before = store.commits();
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(16)).await;
    tokio::time::resume();
    let beat = async {
        while store.commits() < before + commits {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), beat).await.unwrap();
}

/// Begins a run with a request under way.
async fn begin(store: &Store, number: u64) -> Lease {
    write(store, same_question(number), recorded(1, vec![started(), sent(seat(1, 1))])).await
}

/// The next event of such a run.
fn next() -> Vec<Recorded> {
    recorded(3, vec![sent(seat(2, 1))])
}

#[tokio::test]
async fn a_run_that_could_not_be_written_is_let_go_of_before_the_next_write() {
    let fixture = fixture().await;
    let store = &fixture.store;
    let lease = begin(store, 1).await;
    let mut stranger = fixture.stranger().await;
    execute(&mut stranger, BREAK).await;
    assert_eq!(store.append(lease, next()).await.unwrap_err().code, Code::Storage);
    let again = store.open_run(same_question(2)).await;
    let repeated = store.append(again, recorded(1, vec![started()])).await.unwrap_err();
    assert_eq!(repeated.code, Code::Repeated, "nothing could be let go of");
    assert_eq!(stands(store).await, [(run_id(1), RunStatus::Running)]);
    execute(&mut stranger, MEND).await;
    let again = store.open_run(same_question(3)).await;
    let repeated = store.append(again, recorded(1, vec![started()])).await.unwrap_err();
    assert!(repeated.message.contains("not answered to its end"), "it is under way no more: {repeated:?}");
    assert_eq!(stands(store).await, [(run_id(1), RunStatus::Interrupted)]);
    let taken = store.reopen(run_id(1), 2).await.unwrap();
    assert_eq!(taken, Lease { run_id: run_id(1), epoch: 2, next_seq: 3 });
    assert_eq!(store.append(taken, next()).await, Ok(()));
    assert_eq!(stands(store).await, [(run_id(1), RunStatus::Running)]);
}

#[tokio::test]
async fn the_heart_beats_for_the_other_runs_and_lets_go_of_lost_ones() {
    let fixture = fixture().await;
    let store = &fixture.store;
    let lease = begin(store, 1).await;
    write(store, plan(9, StoreMode::Full), recorded(1, vec![started()])).await;
    let mut stranger = fixture.stranger().await;
    execute(&mut stranger, BREAK).await;
    assert_eq!(store.append(lease, next()).await.unwrap_err().code, Code::Storage);
    execute(&mut stranger, MEND).await;
    execute(&mut stranger, "UPDATE runs SET lease_until_ms = 1").await;
    beat(store, 2).await;
    let sql = "SELECT owner = '', lease_until_ms > 1 FROM runs ORDER BY run_id";
    let leases: Vec<(bool, bool)> = sqlx::query_as(sql).fetch_all(&mut stranger).await.unwrap();
    assert_eq!(leases, [(true, false), (false, true)]);
    let expected = [(run_id(9), RunStatus::Running), (run_id(1), RunStatus::Interrupted)];
    assert_eq!(stands(store).await, expected);
}

#[tokio::test]
async fn a_text_that_could_not_be_kept_costs_a_run_nothing() {
    let fixture = fixture().await;
    let store = &fixture.store;
    let lease = begin(store, 1).await;
    let mut stranger = fixture.stranger().await;
    let no_room = "CREATE TRIGGER broken BEFORE INSERT ON pieces BEGIN SELECT RAISE(ABORT, 'no room'); END";
    execute(&mut stranger, no_room).await;
    assert_eq!(store.checkpoint(lease, seat(1, 1), "so far".into()).await.unwrap_err().code, Code::Storage);
    execute(&mut stranger, "UPDATE runs SET lease_until_ms = 1").await;
    beat(store, 1).await;
    let sql = "SELECT lease_until_ms > 1 FROM runs";
    assert!(sqlx::query_scalar::<_, bool>(sql).fetch_one(&mut stranger).await.unwrap(), "the heart beats on");
    assert_eq!(store.append(lease, next()).await, Ok(()));
}

#[tokio::test]
async fn a_run_that_could_not_be_gone_on_with_is_over_as_before() {
    let fixture = fixture().await;
    let store = &fixture.store;
    write(store, plan(1, StoreMode::Full), simple("one answer")).await;
    let before = store.list(RunScope::All, RunFilter::default()).await.unwrap();
    let lease = store.take_over(run_id(1)).await.unwrap();
    let mut stranger = fixture.stranger().await;
    execute(&mut stranger, BREAK).await;
    let reopening = Reopening::resume(&plan(1, StoreMode::Full), Vec::new());
    let reopened = Event::Reopened { reopening, reserved: PicoUsd::ZERO };
    let refused = store.append(lease, recorded(lease.next_seq, vec![reopened])).await;
    assert_eq!(refused.unwrap_err().code, Code::Storage);
    execute(&mut stranger, MEND).await;
    beat(store, 1).await;
    assert_eq!(store.list(RunScope::All, RunFilter::default()).await.unwrap(), before);
}
