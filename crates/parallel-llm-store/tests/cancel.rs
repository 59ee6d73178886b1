//! Giving up a run that another process does.

use crate::support::{Fixture, every_kind, plan, recorded, run_id, seat, sent, started, write};
use parallel_llm_engine::request::StoreMode;
use parallel_llm_store::Store;

async fn check(store: &Store, requested: &[u64], owners_since: Option<u64>) {
    let expected: Vec<_> = requested.iter().map(|number| run_id(*number)).collect();
    assert_eq!(store.requested_cancels().await.unwrap(), expected);
    assert_eq!(store.owners_since_cancel(run_id(1)).await.unwrap(), owners_since);
}

#[tokio::test]
async fn the_process_of_a_run_is_asked_and_a_later_one_is_not() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    for number in [1, 2] {
        write(store, plan(number, StoreMode::Full), recorded(1, vec![started(), sent(seat(1, 1))])).await;
    }
    check(store, &[], None).await;
    let other = Store::open(fixture.config()).await.unwrap();
    for _ in 0..2 {
        other.request_cancel(run_id(1)).await.unwrap();
        check(store, &[1], Some(0)).await;
    }
    other.take_over(run_id(1)).await.unwrap();
    check(store, &[], Some(1)).await;
    store.request_cancel(run_id(1)).await.unwrap();
    check(store, &[1], Some(0)).await;
}

#[tokio::test]
async fn nobody_is_asked_about_a_closed_or_an_unknown_run() {
    let fixture = Fixture::new().await;
    write(&fixture.store, plan(1, StoreMode::Full), every_kind()).await;
    for number in [1, 2] {
        fixture.store.request_cancel(run_id(number)).await.unwrap();
    }
    check(&fixture.store, &[], None).await;
}
