//! Access tokens, and the separation of principals: no run of another one is read, searched, summed or counted.

use std::sync::Arc;
use std::time::Duration;

use crate::support::place::only_in_a_file;
use crate::support::{
    Fixture, OpenRun as _, changed, expensive, limit, plan, query_plan, recorded, run_id, seat, sent, simple,
    started, write,
};
use parallel_llm_engine::plan::DayLimit;
use parallel_llm_engine::port::{Journal as _, Lease};
use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::{Code, Event, Failure, PicoUsd, Reopening, RunPlan, RunStatus};
use parallel_llm_store::{CostBy, CostQuery, NamedRuns, NewToken, RunFilter, RunScope, Store, Token};

fn new(name: &str, hash: u8) -> NewToken {
    NewToken {
        name: name.to_owned(),
        hash: [hash; 32],
        last_four: "0aZ9".to_owned(),
        scopes: vec!["ask".to_owned(), "read".to_owned()],
        budget_day: Some(PicoUsd::from_usd(2)),
        requests_per_minute: Some(60),
        expires_at_ms: Some(4_000_000_000_000),
    }
}

fn asked_by(plan: Arc<RunPlan>, who: &str) -> Arc<RunPlan> {
    changed(plan, |plan| plan.asked_by = Some(who.to_owned()))
}

#[tokio::test]
async fn a_token_is_found_by_its_hash_and_stays_found_when_it_is_revoked() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    let before_ms = Store::now_ms();
    let made = store.create_token(new("ci", 1)).await.unwrap();
    let expected = Token {
        token_id: 1,
        name: "ci".to_owned(),
        last_four: "0aZ9".to_owned(),
        scopes: vec!["ask".to_owned(), "read".to_owned()],
        budget_day: Some(PicoUsd::from_usd(2)),
        requests_per_minute: Some(60),
        created_at_ms: made.created_at_ms,
        expires_at_ms: Some(4_000_000_000_000),
        revoked_at_ms: None,
        last_used_at_ms: None,
    };
    assert!((before_ms..=Store::now_ms()).contains(&made.created_at_ms));
    assert_eq!(made, expected);
    assert_eq!(store.find_token([1; 32]).await.unwrap(), Some(made.clone()));
    assert_eq!(store.find_token([2; 32]).await.unwrap(), None);
    assert!(made.is_in_force(3_999_999_999_999) && !made.is_in_force(4_000_000_000_000));

    let revoked = store.revoke_token(1).await.unwrap().unwrap();
    assert!(revoked.revoked_at_ms.is_some() && !revoked.is_in_force(before_ms));
    assert_eq!(store.revoke_token(1).await.unwrap(), Some(revoked.clone()), "the first moment stands");
    assert_eq!(store.find_token([1; 32]).await.unwrap(), Some(revoked.clone()));
    assert_eq!(store.revoke_token(7).await.unwrap(), None);

    let second =
        NewToken { budget_day: None, requests_per_minute: None, expires_at_ms: None, ..new("laptop", 2) };
    let second = store.create_token(second).await.unwrap();
    assert_eq!((second.token_id, second.expires_at_ms, second.is_in_force(i64::MAX)), (2, None, true));
    let other = Store::open(fixture.config()).await.unwrap();
    assert_eq!(other.list_tokens().await.unwrap(), [revoked, second], "and so another process sees it");
}

#[tokio::test]
async fn a_token_that_this_program_did_not_write_admits_nobody() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    store.create_token(new("one", 1)).await.unwrap();
    store.create_token(new("two", 2)).await.unwrap();
    fixture
        .other_connection()
        .execute("UPDATE tokens SET checksum = NULL WHERE name = ?", &[&"one"])
        .unwrap();
    let failure = store.find_token([1; 32]).await.unwrap_err();
    assert_eq!(
        (failure.code, &*failure.message),
        (
            Code::Storage,
            "the run database holds a token that cannot be read: it is damaged: it does not match its checksum"
        )
    );
    let listed = store.list_tokens().await.unwrap();
    assert_eq!(listed.iter().map(|token| &*token.name).collect::<Vec<_>>(), ["two"]);
}

#[tokio::test]
async fn the_name_of_a_token_is_never_reused() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    store.create_token(new("ci", 1)).await.unwrap();
    store.revoke_token(1).await.unwrap();
    for again in [new("ci", 2), new("laptop", 1)] {
        let refused = store.create_token(again).await.unwrap_err();
        assert_eq!(refused.code, Code::Usage, "{}", refused.message);
    }
    let refused = store.create_token(new("ci", 3)).await.unwrap_err();
    assert_eq!(refused.message, "there is a token `ci` already, or there was one");
    assert_eq!(store.list_tokens().await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_use_is_recorded_once_a_minute_and_nobody_waits_for_it() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    let made = store.create_token(new("ci", 1)).await.unwrap();
    store.note_token_use(&made);
    let used = loop {
        let token = store.find_token([1; 32]).await.unwrap().unwrap();
        if token.last_used_at_ms.is_some() {
            break token;
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    };
    let commits = store.commits();
    store.note_token_use(&used);
    // A token that was read before its first use was recorded: its use is recorded already.
    store.note_token_use(&made);
    store.create_token(new("laptop", 2)).await.unwrap();
    assert!(store.commits() <= commits + 2, "the second is not even queued");
    assert_eq!(store.find_token([1; 32]).await.unwrap(), Some(used.clone()));
    let earlier = "UPDATE tokens SET last_used_at_ms = last_used_at_ms - 60000 WHERE name = 'ci'";
    fixture.other_connection().execute_batch(earlier).unwrap();
    store.note_token_use(&store.find_token([1; 32]).await.unwrap().unwrap());
    // The writer does its jobs in order.
    store.create_token(new("desk", 3)).await.unwrap();
    let later = store.find_token([1; 32]).await.unwrap().unwrap().last_used_at_ms;
    assert!(later >= used.last_used_at_ms, "{later:?}");
}

#[tokio::test]
async fn to_a_principal_no_other_run_exists() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    // In the order of their ids: the newest is the one that was stored last.
    for (number, who) in [(1, Some("a")), (2, Some("b")), (3, None), (4, Some("a"))] {
        let plan = plan(number, StoreMode::Full);
        let plan = match who {
            Some(who) => asked_by(plan, who),
            None => plan,
        };
        write(store, plan, simple("gold")).await;
    }
    let running = asked_by(plan(5, StoreMode::Full), "b");
    write(store, running, recorded(1, vec![started(), sent(seat(1, 1))])).await;

    let all = [1, 2, 3, 4, 5];
    for (whose, own) in [
        (RunScope::All, &all[..]),
        (RunScope::Principal("a"), &[1, 4]),
        (RunScope::Principal("b"), &[2, 5]),
        (RunScope::Principal(""), &[]),
    ] {
        let ids: Vec<_> = own.iter().rev().map(|number| run_id(*number)).collect();
        let listed = async |filter| -> Vec<_> {
            store.list(whose, filter).await.unwrap().iter().map(|run| run.run_id).collect()
        };
        assert_eq!(listed(RunFilter::default()).await, ids, "{whose:?}");
        let running = RunFilter { status: Some(RunStatus::Running), ..RunFilter::default() };
        assert_eq!(listed(running).await.contains(&run_id(5)), own.contains(&5), "{whose:?}");
        let before = RunFilter { before: Some(run_id(4)), ..RunFilter::default() };
        assert_eq!(
            listed(before).await,
            ids.iter().copied().filter(|id| *id < run_id(4)).collect::<Vec<_>>()
        );

        let found = store.search(whose, "gold", 9).await.unwrap().hits;
        let found: Vec<_> = found.iter().map(|found| found.run_id).collect();
        assert_eq!(found, ids.iter().copied().filter(|id| *id != run_id(5)).collect::<Vec<_>>(), "{whose:?}");
        let named = async |name: &str| match store.named(whose, name).await {
            Ok(NamedRuns::One(id)) => Some(id),
            Ok(NamedRuns::Several(runs)) => {
                assert!(runs.iter().all(|run| ids.contains(&run.run_id)), "{whose:?} {runs:?}");
                None
            }
            Err(_) => None,
        };
        assert_eq!(named("@").await, ids.first().copied(), "{whose:?}");
        assert_eq!(named("@~1").await, ids.get(1).copied(), "{whose:?}");
        // The common beginning of all ids names only the own runs.
        let beginning = run_id(1).to_string()[..8].to_owned();
        assert_eq!(named(&beginning).await, ids.first().copied().filter(|_| ids.len() == 1), "{whose:?}");
        for number in all {
            let is_own = own.contains(&number);
            let id = run_id(number);
            assert_eq!(store.load(whose, id).await.unwrap().is_some(), is_own, "{whose:?} {number}");
            assert_eq!(named(&id.to_string()).await.is_some(), is_own, "{whose:?} {number}");
        }
        let costs = store.costs(whose, CostQuery { by: CostBy::Day, since_ms: None }).await.unwrap();
        assert_eq!(costs.first().map_or(0, |line| line.runs), own.len() as u64, "{whose:?}");
        let facts = store.seat_facts(whose, None).await.unwrap();
        assert_eq!(facts.len(), 2 * own.iter().filter(|number| **number != 5).count(), "{whose:?}");
    }

    // The costs and seat facts of a purged run still belong to its principal.
    store.purge(&[run_id(1), run_id(2), run_id(3), run_id(4)]).await.unwrap();
    for (who, runs) in [("a", 2), ("b", 2), ("c", 0)] {
        let query = CostQuery { by: CostBy::Provider, since_ms: None };
        let costs = store.costs(RunScope::Principal(who), query).await.unwrap();
        assert_eq!(costs.first().map_or(0, |line| line.runs), runs, "{who}");
    }
    assert_eq!(store.seat_facts(RunScope::Principal("a"), None).await.unwrap().len(), 4);
}

#[tokio::test]
async fn each_query_of_a_principal_uses_an_index() {
    only_in_a_file!("it reads SQLite's query plans");
    let fixture = Fixture::new().await;
    let other_connection = fixture.other_connection();
    for (sql, index) in [
        (
            "SELECT run_id FROM runs WHERE run_id < 'z' AND asked_by = 'a' ORDER BY run_id DESC",
            "runs_by_asker",
        ),
        ("SELECT TOTAL(cost_pico_usd) FROM calls WHERE sent_at_ms >= 1 AND asked_by = 'a'", "calls_by_asker"),
        ("SELECT seat FROM seats WHERE decided_at_ms >= 1 AND asked_by = 'a'", "seats_by_asker"),
        ("SELECT name FROM tokens WHERE hash = x'01'", "sqlite_autoindex_tokens_2"),
    ] {
        let plan = query_plan(&other_connection, sql);
        assert!(plan.contains(index), "{index}: {plan}");
    }
}

/// The day limit of this principal.
fn own_limit(who: &str, usd: i64) -> DayLimit {
    DayLimit { asked_by: Some(who.to_owned()), setting: "budget_day".to_owned(), ..limit(None, usd) }
}

/// Begins a run that may cost a dollar, half a dollar for each seat.
async fn begin(store: &Store, number: u64, who: &str, limits: Vec<DayLimit>) -> Result<Lease, Failure> {
    let plan = expensive(asked_by(plan(number, StoreMode::Full), who));
    let lease = store.open_run(changed(plan, |plan| plan.limits = limits)).await;
    store
        .append(lease, recorded(1, vec![started(), sent(seat(1, 1)), sent(seat(2, 1))]))
        .await
        .map(|()| lease)
}

#[tokio::test]
async fn a_limit_of_one_principal_counts_only_its_own_runs() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    begin(store, 1, "b", vec![own_limit("b", 9)]).await.unwrap();
    begin(store, 2, "a", vec![own_limit("a", 2)]).await.unwrap();
    let lease = begin(store, 3, "a", vec![own_limit("a", 2)]).await.unwrap();
    let refused = begin(store, 4, "a", vec![own_limit("a", 2)]).await.unwrap_err();
    assert_eq!(
        (refused.code, &*refused.message),
        (
            Code::Budget,
            "the run may cost up to $1.00; of the day's limit of $2.00 of this token, $0.00 is spent and $2.00 held \
             for runs under way"
        )
    );
    let next = refused.next_step();
    assert!(next.starts_with("make a token with a higher daily limit, or wait until"), "{next}");

    // A further part is checked against the limits now in force, and the cost so far still counts.
    let closed = Event::Closed { cost: PicoUsd::from_usd(1) };
    store.append(lease, recorded(4, vec![closed])).await.unwrap();
    store.purge(&[run_id(2)]).await.unwrap();
    let reopened = async |limits| {
        let lease = store.take_over(run_id(3)).await.unwrap();
        let plan = plan(3, StoreMode::Full);
        let ask = plan.seats.iter().map(|seat| seat.number).collect();
        let reopening = Reopening { limits, ..Reopening::resume(&plan, ask) };
        let event = Event::Reopened { reopening, reserved: PicoUsd::ZERO };
        store.append(lease, recorded(lease.next_seq, vec![event])).await.map_err(|failure| failure.code)
    };
    assert_eq!(reopened(vec![own_limit("a", 2)]).await, Err(Code::Budget));
    assert_eq!(reopened(vec![own_limit("a", 3)]).await, Ok(()));
}

#[tokio::test]
async fn a_principal_is_not_told_what_others_have_spent() {
    let fixture = Fixture::new().await;
    let store = &fixture.store;
    begin(store, 1, "b", Vec::new()).await.unwrap();
    let refused = begin(store, 2, "a", vec![own_limit("a", 9), limit(None, 1)]).await.unwrap_err();
    assert_eq!(
        refused.message,
        "the run may cost up to $1.00, more than the owner's limit leaves of this day"
    );
    let one = begin(store, 3, "a", vec![limit(Some("openrouter"), 1)]).await.unwrap_err();
    assert_eq!(
        one.message,
        "the run may cost up to $1.00, more than the owner's limit for `openrouter` leaves of this day"
    );
}

/// Two stores that begin runs at the same moment share one limit.
#[tokio::test]
async fn the_limit_of_a_principal_holds_between_stores_that_begin_at_once() {
    let fixture = Fixture::new().await;
    let other = Store::open(fixture.config()).await.unwrap();
    let stores = [&fixture.store, &other];
    let begun =
        (1..=12).map(|number| begin(stores[(number % 2) as usize], number, "a", vec![own_limit("a", 5)]));
    let begun = futures_util::future::join_all(begun).await;
    assert_eq!(begun.iter().filter(|begun| begun.is_ok()).count(), 5);
}
