//! A database that refuses writes for a while: runs whose events could not be written are released, and the others keep
//! their leases.

use std::time::Duration;

use crate::support::{
    Fixture, OpenRun as _, plan, recorded, run_id, same_question, seat, sent, simple, started, value, values,
    write,
};
use parallel_llm_engine::port::{Journal as _, Lease};
use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::{Code, Event, PicoUsd, Recorded, Reopening, RunId, RunStatus};
use parallel_llm_store::{RunFilter, RunScope, Store};

/// The interval between heartbeats of a [`beating`] store.
const HEARTBEAT: Duration = Duration::from_millis(20);

/// A store that cannot spill: a file is in the place of its spill folder.
async fn fixture() -> Fixture {
    unable_to_spill(Fixture::new().await)
}

/// Such a store that has many heartbeats within a test.
async fn beating() -> Fixture {
    unable_to_spill(Fixture::beating(HEARTBEAT).await)
}

fn unable_to_spill(fixture: Fixture) -> Fixture {
    let folder = fixture.place.spill_folder();
    std::fs::create_dir_all(folder.parent().unwrap()).unwrap();
    std::fs::write(folder, "in the way").unwrap();
    fixture
}

/// The status of each run, newest first.
async fn statuses(store: &Store) -> Vec<(RunId, RunStatus)> {
    let runs = store.list(RunScope::All, RunFilter::default()).await.unwrap();
    runs.iter().map(|run| (run.run_id, run.status)).collect()
}

/// Waits until the heartbeats of a [`beating`] store have brought this about.
async fn eventually(is_so: impl AsyncFn() -> bool) {
    let waiting = async {
        while !is_so().await {
            tokio::time::sleep(HEARTBEAT).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), waiting).await.unwrap();
}

/// Begins a run with a request in flight.
async fn begin(store: &Store, number: u64) -> Lease {
    write(store, same_question(number), recorded(1, vec![started(), sent(seat(1, 1))])).await
}

/// The next event of such a run, as an append.
fn next() -> Vec<Recorded> {
    recorded(3, vec![sent(seat(2, 1))])
}

#[tokio::test]
async fn a_run_that_could_not_be_written_is_released_before_the_next_write() {
    let fixture = fixture().await;
    let store = &fixture.store;
    let lease = begin(store, 1).await;
    let other_connection = fixture.other_connection();
    other_connection.refuse("UPDATE", "runs", "TRUE");
    assert_eq!(store.append(lease, next()).await.unwrap_err().code, Code::Storage);
    let again = store.open_run(same_question(2)).await;
    let repeated = store.append(again, recorded(1, vec![started()])).await.unwrap_err();
    assert_eq!(repeated.code, Code::Repeated, "nothing could be let go of");
    assert_eq!(statuses(store).await, [(run_id(1), RunStatus::Running)]);
    other_connection.repair("runs");
    let again = store.open_run(same_question(3)).await;
    let repeated = store.append(again, recorded(1, vec![started()])).await.unwrap_err();
    assert!(
        repeated.message.contains("not answered to its end"),
        "it is no longer in progress: {repeated:?}"
    );
    assert_eq!(statuses(store).await, [(run_id(1), RunStatus::Interrupted)]);
    let taken = store.reopen(run_id(1), 2).await.unwrap();
    assert_eq!(taken, Lease { run_id: run_id(1), epoch: 2, next_seq: 3 });
    assert_eq!(store.append(taken, next()).await, Ok(()));
    assert_eq!(statuses(store).await, [(run_id(1), RunStatus::Running)]);
}

#[tokio::test]
async fn a_heartbeat_renews_the_other_leases_and_releases_lost_runs() {
    let fixture = beating().await;
    let store = &fixture.store;
    let lease = begin(store, 1).await;
    write(store, plan(9, StoreMode::Full), recorded(1, vec![started()])).await;
    let other_connection = fixture.other_connection();
    other_connection.refuse("UPDATE", "runs", "TRUE");
    assert_eq!(store.append(lease, next()).await.unwrap_err().code, Code::Storage);
    other_connection.repair("runs");
    other_connection.execute_batch("UPDATE runs SET lease_until_ms = 1").unwrap();
    let sql = "SELECT CASE WHEN owner = '' THEN 'nobody' WHEN lease_until_ms > 1 THEN 'renewed' END FROM runs \
               ORDER BY run_id";
    let expected_leases = ["nobody", "renewed"].map(|lease| Some(lease.to_owned()));
    eventually(async || values::<Option<String>>(&other_connection, sql) == expected_leases).await;
    let expected = [(run_id(9), RunStatus::Running), (run_id(1), RunStatus::Interrupted)];
    assert_eq!(statuses(store).await, expected);
}

#[tokio::test]
async fn a_checkpoint_that_cannot_be_written_does_not_harm_its_run() {
    let fixture = beating().await;
    let store = &fixture.store;
    let lease = begin(store, 1).await;
    let other_connection = fixture.other_connection();
    other_connection.refuse("INSERT", "pieces", "TRUE");
    assert_eq!(store.checkpoint(lease, seat(1, 1), "so far".into()).await.unwrap_err().code, Code::Storage);
    other_connection.execute_batch("UPDATE runs SET lease_until_ms = 1").unwrap();
    eventually(async || value(&other_connection, "SELECT lease_until_ms > 1 FROM runs")).await;
    assert_eq!(store.append(lease, next()).await, Ok(()));
}

#[tokio::test]
async fn a_run_that_could_not_be_continued_stays_as_it_was() {
    let fixture = beating().await;
    let store = &fixture.store;
    write(store, plan(1, StoreMode::Full), simple("one answer")).await;
    let before = store.list(RunScope::All, RunFilter::default()).await.unwrap();
    let lease = store.take_over(run_id(1)).await.unwrap();
    let other_connection = fixture.other_connection();
    other_connection.refuse("UPDATE", "runs", "TRUE");
    let reopening = Reopening::resume(&plan(1, StoreMode::Full), Vec::new());
    let reopened = Event::Reopened { reopening, reserved: PicoUsd::ZERO };
    let refused = store.append(lease, recorded(lease.next_seq, vec![reopened])).await;
    assert_eq!(refused.unwrap_err().code, Code::Storage);
    other_connection.repair("runs");
    eventually(async || store.list(RunScope::All, RunFilter::default()).await.unwrap() == before).await;
}
