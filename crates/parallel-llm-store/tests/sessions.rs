//! Sessions of browsers: found by every store of a database until they end, and bounded in number.

use crate::support::Fixture;
use parallel_llm_store::{NewSession, SessionLimits, Store};

const LIMITS: SessionLimits =
    SessionLimits { count_max: 5, of_holder_max: 2, unused_ms_max: 60_000, life_ms_max: 600_000 };

fn of_owner(number: u8) -> NewSession {
    NewSession { hash: [number; 32], holder: None, sealed: None }
}

fn of_holder(number: u8, holder: u8) -> NewSession {
    NewSession { hash: [number; 32], holder: Some([holder; 32]), sealed: Some(vec![number, 0, 255]) }
}

/// Which of these sessions there are.
async fn there(store: &Store, numbers: impl IntoIterator<Item = u8>) -> Vec<u8> {
    let mut there = Vec::new();
    for number in numbers {
        if store.find_session([number; 32], &LIMITS).await.unwrap().is_some() {
            there.push(number);
        }
    }
    there
}

#[tokio::test]
async fn a_session_is_found_by_every_store_of_the_database_until_it_is_ended() {
    let fixture = Fixture::new().await;
    let other = Store::open(fixture.config()).await.unwrap();
    fixture.store.begin_session(of_owner(1), LIMITS).await.unwrap();
    other.begin_session(of_holder(2, 7), LIMITS).await.unwrap();
    for store in [&fixture.store, &other] {
        assert_eq!(there(store, 0..4).await, [1, 2]);
        let sealed = store.find_session([2; 32], &LIMITS).await.unwrap().unwrap().sealed;
        assert_eq!(sealed, Some(vec![2, 0, 255]));
    }
    assert_eq!(fixture.store.form_key().await.unwrap(), other.form_key().await.unwrap());
    assert_eq!(other.form_key().await.unwrap().len(), 32);
    other.end_session([1; 32]).await.unwrap();
    assert_eq!(there(&fixture.store, 0..4).await, [2]);
    fixture.store.close().await;
    let again = Store::open(fixture.config()).await.unwrap();
    assert_eq!(there(&again, 0..4).await, [2], "after a restart");
}

#[tokio::test]
async fn of_too_many_sessions_the_least_recently_used_end_and_nobody_ends_those_of_others() {
    let fixture = Fixture::new().await;
    let (store, raw) = (&fixture.store, fixture.other_connection());
    // Uses are recorded to the minute, so the order of these is set from outside.
    let age = |number: u8, ms: i64| {
        let byte = format!("{number:02x}").repeat(32);
        let literal = if store.is_on_server() { format!("'\\x{byte}'::BYTEA") } else { format!("x'{byte}'") };
        let sql = format!("UPDATE sessions SET used_at_ms = used_at_ms - {ms} WHERE hash = {literal}");
        raw.execute_batch(&sql).unwrap();
    };
    for new in [of_owner(1), of_holder(2, 7), of_holder(3, 7)] {
        let number = new.hash[0];
        store.begin_session(new, LIMITS).await.unwrap();
        age(number, 10_000 - i64::from(number) * 1_000);
    }
    store.begin_session(of_holder(4, 7), LIMITS).await.unwrap();
    assert_eq!(there(store, 1..9).await, [1, 3, 4], "the third of one holder ends its own first");
    for number in 5..=7 {
        store.begin_session(of_owner(number), LIMITS).await.unwrap();
        age(number, 1_000);
    }
    assert_eq!(there(store, 1..9).await, [3, 4, 5, 6, 7], "the least recently used of all");
    age(4, 120_000);
    assert_eq!(there(store, 1..9).await, [3, 5, 6, 7], "unused for too long");
    store.begin_session(of_owner(8), LIMITS).await.unwrap();
    let rows: i64 = crate::support::value(&raw, "SELECT COUNT(*) FROM sessions");
    assert_eq!(rows, 5, "what has ended is deleted");
}
