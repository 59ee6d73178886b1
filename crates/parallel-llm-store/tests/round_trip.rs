//! Writing and reading runs: events come back, unwanted texts are nowhere, and an overtaken process writes nothing.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::support::{
    CANARY, Fixture, OpenRun as _, answer, every_kind, plan, recorded, run_id, seat, sent, simple, started,
    synthesizer, values, without_texts, write,
};
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt as _, StreamExt as _};
use parallel_llm_engine::port::{Journal as _, Lease};
use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::{Code, Event, PicoUsd, RunStatus};
use parallel_llm_store::{Checkpoint, NamedRuns, RunFilter, RunScope, RunSummary, Store};
use tokio::task::coop::unconstrained;

#[tokio::test]
async fn every_kind_of_event_comes_back_with_its_text() {
    let fixture = Fixture::new().await;
    let (plan, events) = (plan(1, StoreMode::Full), every_kind());
    let lease = fixture.store.open_run(plan.clone()).await;
    for event in &events {
        fixture.store.append(lease, vec![event.clone()]).await.unwrap();
    }
    fixture.store.close().await;
    let store = Store::open(fixture.config()).await.unwrap();
    let stored = store.load(RunScope::All, plan.run_id).await.unwrap().unwrap();
    assert_eq!((stored.plan, stored.events, stored.interrupted), (plan, events, false));
    assert_eq!(stored.checkpoints, []);
    assert!(store.load(RunScope::All, run_id(2)).await.unwrap().is_none());
}

#[tokio::test]
async fn metadata_keeps_no_text_in_any_file() {
    let fixture = Fixture::new().await;
    for (number, mode) in [(1, StoreMode::Metadata), (2, StoreMode::Full)] {
        let lease = fixture.store.open_run(plan(number, mode)).await;
        let (first, rest) = every_kind().into_iter().partition(|recorded| recorded.seq < 5);
        fixture.store.append(lease, first).await.unwrap();
        fixture.store.checkpoint(lease, seat(1, 1), format!("{CANARY} on its way")).await.unwrap();
        if mode == StoreMode::Metadata {
            assert!(!fixture.place.holds(CANARY));
        }
        fixture.store.append(lease, rest).await.unwrap();
        if mode == StoreMode::Metadata {
            assert!(!fixture.place.holds(CANARY));
            let stored = fixture.store.load(RunScope::All, run_id(number)).await.unwrap().unwrap();
            assert_eq!(stored.events, without_texts(every_kind()));
            assert_eq!(stored.plan.messages.len(), 0);
            let listed = fixture.store.list(RunScope::All, RunFilter::default()).await.unwrap();
            assert_eq!(listed[0].question_excerpt, None);
        }
    }
    fixture.store.close().await;
    assert!(fixture.place.holds(CANARY), "the search finds what is there");
}

#[tokio::test]
async fn a_run_that_is_not_to_be_stored_is_refused() {
    let fixture = Fixture::new().await;
    let refusal = parallel_llm_engine::port::Journal::open(&fixture.store, plan(1, StoreMode::None)).await;
    assert_eq!(refusal.unwrap_err().code, Code::Internal);
}

#[tokio::test]
async fn the_list_shows_the_fold() {
    let fixture = Fixture::new().await;
    write(&fixture.store, plan(1, StoreMode::Full), every_kind()).await;
    let mut listed = fixture.store.list(RunScope::All, RunFilter::default()).await.unwrap();
    let run = listed.pop().unwrap();
    assert!(listed.is_empty() && run.created_at_ms > 1_700_000_000_000);
    assert_eq!((run.decided_at_ms, run.closed_at_ms), (Some(run.created_at_ms), Some(run.created_at_ms)));
    let question: String =
        format!("What does the {CANARY} sing, and {}", "why? ".repeat(60)).chars().take(200).collect();
    assert_eq!(
        run,
        RunSummary {
            run_id: run_id(1),
            status: RunStatus::Partial,
            asked_by: None,
            question_excerpt: Some(format!("{question}…")),
            strategy: "synthesize".into(),
            models: vec!["lab/one".into(), "lab/two".into()],
            seats: 2,
            answered: 1,
            cost: PicoUsd(3_000),
            cost_is_estimate: true,
            cost_lacks_calls: true,
            ..run.clone()
        }
    );
}

#[tokio::test]
async fn the_list_is_read_page_by_page() {
    let fixture = Fixture::new().await;
    for number in 1..=7 {
        let events = if number % 2 == 0 { every_kind() } else { recorded(1, vec![started()]) };
        write(&fixture.store, plan(number, StoreMode::Full), events).await;
    }
    let list = async |limit, before, status| {
        let runs = fixture.store.list(RunScope::All, RunFilter { limit, before, status }).await.unwrap();
        runs.iter().map(|run| run.run_id.unix_ms() - run_id(0).unix_ms()).collect::<Vec<u64>>()
    };
    assert_eq!(list(3, None, None).await, [7, 6, 5]);
    assert_eq!(list(3, Some(run_id(5)), None).await, [4, 3, 2]);
    assert_eq!(list(3, Some(run_id(2)), None).await, [1]);
    assert_eq!(list(0, None, None).await, [0; 0]);
    assert_eq!(list(2, None, Some(RunStatus::Partial)).await, [6, 4]);
    assert_eq!(list(2, Some(run_id(4)), Some(RunStatus::Partial)).await, [2]);
    assert_eq!(list(9, None, Some(RunStatus::Running)).await, [7, 5, 3, 1]);
    assert_eq!(list(9, None, Some(RunStatus::Interrupted)).await, [0; 0]);
}

#[tokio::test]
async fn a_run_is_found_by_the_beginning_of_its_id() {
    let fixture = Fixture::new().await;
    let find = async |prefix: &str| {
        let found = fixture.store.named(RunScope::All, prefix).await.map_err(|failure| failure.code)?;
        Ok(match found {
            NamedRuns::One(id) => vec![id],
            NamedRuns::Several(runs) => runs.into_iter().map(|run| run.run_id).collect(),
        })
    };
    assert_eq!(find("@").await, Err(Code::RunNotFound));
    write(&fixture.store, plan(1, StoreMode::Full), recorded(1, vec![started()])).await;
    write(&fixture.store, plan(2, StoreMode::Full), recorded(1, vec![started()])).await;
    let id = run_id(1).to_string();
    assert_eq!(find("@").await, Ok(vec![run_id(2)]));
    assert_eq!(find("@~0").await, Ok(vec![run_id(2)]));
    assert_eq!(find("@~").await, Ok(vec![run_id(1)]));
    assert_eq!(find("@~1").await, Ok(vec![run_id(1)]));
    assert_eq!(find("@~2").await, Err(Code::RunNotFound));
    assert_eq!(find("@~4294967295").await, Err(Code::RunNotFound));
    for odd in ["@~4294967296", "@~-1", "@~x", "@1", "@@"] {
        assert_eq!(find(odd).await, Err(Code::Usage), "{odd}");
    }
    assert_eq!(find(&id).await, Ok(vec![run_id(1)]));
    assert_eq!(find(&id[..10].to_lowercase()).await, Ok(vec![run_id(1)]));
    assert_eq!(find(&id[..8]).await, Ok(vec![run_id(2), run_id(1)]));
    assert_eq!(find("").await, Ok(vec![run_id(2), run_id(1)]));
    assert_eq!(find("7ZZ").await, Err(Code::RunNotFound));
    assert_eq!(find("%' OR 1=1").await, Err(Code::RunNotFound));
}

#[tokio::test]
async fn a_run_made_while_the_clock_was_ahead_is_the_newest_only_until_the_next() {
    let fixture = Fixture::new().await;
    let newest = async |name: &str| match fixture.store.named(RunScope::All, name).await.unwrap() {
        NamedRuns::One(id) => id,
        NamedRuns::Several(runs) => panic!("{name} is one run, not {}", runs.len()),
    };
    let ahead = 900_000_000_000;
    for number in [1, ahead, 2] {
        write(&fixture.store, plan(number, StoreMode::Full), recorded(1, vec![started()])).await;
        assert_eq!(newest("@").await, run_id(number));
        // Times in the store are of milliseconds.
        tokio::time::sleep(std::time::Duration::from_millis(3)).await;
    }
    assert_eq!(newest("@~1").await, run_id(ahead));
    assert_eq!(newest("@~2").await, run_id(1));
}

#[tokio::test]
async fn a_checkpoint_is_replaced_and_ends_with_its_request() {
    let fixture = Fixture::new().await;
    let events = vec![
        started(),
        Event::Sent { attempt: seat(1, 1), prompt: None, worst_case: None },
        Event::Sent { attempt: synthesizer(1), prompt: None, worst_case: None },
    ];
    let lease = write(&fixture.store, plan(1, StoreMode::Full), recorded(1, events)).await;
    for (attempt, text) in [(seat(1, 1), "a"), (synthesizer(1), "x"), (seat(1, 1), "ab")] {
        fixture.store.checkpoint(lease, attempt, text.into()).await.unwrap();
    }
    let kept = async || fixture.store.load(RunScope::All, run_id(1)).await.unwrap().unwrap().checkpoints;
    let texts = |kept: &[Checkpoint]| {
        kept.iter().map(|kept| format!("{}: {}", kept.attempt.slot, kept.text)).collect::<Vec<_>>()
    };
    assert_eq!(texts(&kept().await), ["seat 1: ab", "synthesizer 1: x"]);
    let answered = Event::Answered { attempt: seat(1, 1), answer: answer("whole") };
    fixture.store.append(lease, recorded(4, vec![answered])).await.unwrap();
    fixture.store.checkpoint(lease, seat(1, 1), "too late".into()).await.unwrap();
    assert_eq!(texts(&kept().await), ["synthesizer 1: x"]);
    fixture.store.append(lease, recorded(5, vec![Event::Closed { cost: PicoUsd(1) }])).await.unwrap();
    assert_eq!(texts(&kept().await), [""; 0]);
    assert!(fixture.store.checkpoint(lease, seat(1, 1), "much too late".into()).await.is_err());
}

#[tokio::test]
async fn a_run_of_another_store_is_followed_event_by_event() {
    let fixture = Fixture::new().await;
    let watcher = Store::open(fixture.config()).await.unwrap();
    let events = every_kind();
    let lease = fixture.store.open_run(plan(1, StoreMode::Full)).await;
    assert!(watcher.follow(run_id(1), 0).await.unwrap().is_none());
    let mut seen = Vec::new();
    for batch in events.chunks(3) {
        fixture.store.append(lease, batch.to_vec()).await.unwrap();
        let look = watcher.follow(run_id(1), seen.len() as u64).await.unwrap().unwrap();
        assert_eq!((&look.events[..], look.interrupted), (batch, false));
        seen.extend(look.events);
        let look = watcher.follow(run_id(1), seen.len() as u64).await.unwrap().unwrap();
        assert_eq!(look.events, []);
    }
    assert_eq!(seen, events);
    assert_eq!(watcher.follow(run_id(1), 12).await.unwrap().unwrap().events, events[12..]);

    let begun = vec![
        started(),
        Event::Sent { attempt: seat(1, 1), prompt: None, worst_case: None },
        Event::Sent { attempt: seat(2, 1), prompt: None, worst_case: None },
    ];
    let lease = write(&fixture.store, plan(2, StoreMode::Full), recorded(1, begun)).await;
    fixture.store.checkpoint(lease, seat(1, 1), "so far".into()).await.unwrap();
    let texts = async || {
        let look = watcher.follow(run_id(2), 3).await.unwrap().unwrap();
        look.checkpoints.into_iter().map(|kept| kept.text).collect::<Vec<_>>()
    };
    assert_eq!(texts().await, ["so far"]);
    let answered = Event::Answered { attempt: seat(1, 1), answer: answer("whole") };
    fixture.store.append(lease, recorded(4, vec![answered])).await.unwrap();
    fixture.store.checkpoint(lease, seat(1, 1), "too late".into()).await.unwrap();
    assert_eq!(texts().await, [""; 0]);
    let abandon = "UPDATE runs SET owner = 'elsewhere/1/1', lease_until_ms = 1";
    fixture.other_connection().execute_batch(abandon).unwrap();
    assert!(watcher.follow(run_id(2), 4).await.unwrap().unwrap().interrupted);
}

#[tokio::test]
async fn concurrent_appends_share_a_commit() {
    const RUNS: u64 = 100;
    let fixture = Fixture::new().await;
    let mut tasks = tokio::task::JoinSet::new();
    for number in 1..=RUNS {
        let store = fixture.store.clone();
        tasks.spawn(async move { write(&store, plan(number, StoreMode::Full), every_kind()).await });
    }
    tasks.join_all().await;
    assert!(fixture.store.commits() <= 20, "{} commits for {RUNS} appends", fixture.store.commits());
    for number in 1..=RUNS {
        assert_eq!(
            fixture.store.load(RunScope::All, run_id(number)).await.unwrap().unwrap().events,
            every_kind()
        );
    }
}

#[tokio::test]
async fn an_overtaken_process_writes_nothing() {
    let fixture = Fixture::new().await;
    let old = write(&fixture.store, plan(1, StoreMode::Full), recorded(1, vec![started()])).await;
    let new = fixture.store.take_over(run_id(1)).await.unwrap();
    assert_eq!(new, Lease { run_id: run_id(1), epoch: 2, next_seq: 2 });
    let neighbour = fixture.store.open_run(plan(2, StoreMode::Full)).await;
    let sent = |seat_number| {
        recorded(2, vec![Event::Sent { attempt: seat(seat_number, 1), prompt: None, worst_case: None }])
    };
    let (kept, saved, beside, written) = tokio::join!(
        fixture.store.append(old, sent(1)),
        fixture.store.checkpoint(old, seat(1, 1), "late words".into()),
        fixture.store.append(neighbour, every_kind()),
        fixture.store.append(new, sent(2)),
    );
    assert_eq!((kept, fixture.store.may_send(old)), (Ok(()), false), "it waits in a file to be merged");
    assert_eq!((saved.unwrap_err().code, beside, written), (Code::Storage, Ok(()), Ok(())));
    let stored = fixture.store.load(RunScope::All, run_id(1)).await.unwrap().unwrap();
    assert_eq!(stored.events[1..], sent(2));
    assert_eq!(stored.checkpoints, []);
}

#[tokio::test]
async fn a_process_that_lacks_events_takes_nothing_over() {
    let fixture = Fixture::new().await;
    let lease = write(&fixture.store, plan(1, StoreMode::Full), recorded(1, vec![started()])).await;
    let sent = recorded(2, vec![Event::Sent { attempt: seat(1, 1), prompt: None, worst_case: None }]);
    fixture.store.append(lease, sent).await.unwrap();
    assert_eq!(fixture.store.reopen(run_id(1), 1).await.unwrap_err().code, Code::Busy);
    let closed = recorded(3, vec![Event::Closed { cost: PicoUsd::ZERO }]);
    assert_eq!(fixture.store.append(lease, closed).await, Ok(()), "whoever had the run has it still");
    assert_eq!(fixture.store.reopen(run_id(1), 2).await.unwrap_err().code, Code::Busy);
    let listed = fixture.store.list(RunScope::All, RunFilter::default()).await.unwrap();
    assert!(listed[0].closed_at_ms.is_some(), "a refusal leaves a closed run closed");
    assert_eq!(fixture.store.reopen(run_id(1), 3).await.unwrap().next_seq, 4);
}

#[tokio::test]
async fn a_run_taken_over_by_another_store_is_lost_to_this_one() {
    let fixture = Fixture::new().await;
    let old = write(&fixture.store, plan(1, StoreMode::Full), recorded(1, vec![started()])).await;
    let other = Store::open(fixture.config()).await.unwrap();
    let new = other.take_over(run_id(1)).await.unwrap();
    let sent = recorded(2, vec![Event::Sent { attempt: seat(1, 1), prompt: None, worst_case: None }]);
    assert_eq!(fixture.store.append(old, sent.clone()).await, Ok(()), "it waits in a file to be merged");
    assert_eq!(other.append(new, sent).await, Ok(()));
    assert_eq!(fixture.store.append(old, recorded(3, vec![started()])).await, Ok(()));
    assert!(!fixture.store.may_send(old));
    assert_eq!(other.load(RunScope::All, run_id(1)).await.unwrap().unwrap().events.len(), 2);
}

#[tokio::test]
async fn events_that_do_not_follow_are_refused() {
    let fixture = Fixture::new().await;
    let lease = write(&fixture.store, plan(1, StoreMode::Full), recorded(1, vec![started()])).await;
    for (first, count) in [(1, 1), (3, 1), (2, 0)] {
        let refusal = fixture.store.append(lease, recorded(first, vec![started(); count])).await;
        assert_eq!(refusal.unwrap_err().code, Code::Internal);
    }
    let unopened = Lease { run_id: run_id(9), epoch: 1, next_seq: 1 };
    assert_eq!(fixture.store.append(unopened, every_kind()).await.unwrap_err().code, Code::Storage);
    let twice = fixture.store.open_run(plan(1, StoreMode::Full)).await;
    assert!(fixture.store.append(twice, every_kind()).await.unwrap_err().message.ends_with("exists already"));
    assert_eq!(fixture.store.load(RunScope::All, run_id(1)).await.unwrap().unwrap().events.len(), 1);
    assert_eq!(fixture.store.append(lease, recorded(2, vec![started()])).await, Ok(()));
}

#[tokio::test]
async fn a_run_whose_process_renews_no_lease_is_interrupted() {
    let fixture = Fixture::new().await;
    write(&fixture.store, plan(1, StoreMode::Full), recorded(1, vec![started()])).await;
    let stands = async || {
        let status = fixture.store.list(RunScope::All, RunFilter::default()).await.unwrap()[0].status;
        (status, fixture.store.load(RunScope::All, run_id(1)).await.unwrap().unwrap().interrupted)
    };
    assert_eq!(stands().await, (RunStatus::Running, false));
    let other_connection = fixture.other_connection();
    let elsewhere = "UPDATE runs SET owner = 'elsewhere/1/1'";
    other_connection.execute_batch(elsewhere).unwrap();
    assert_eq!(stands().await, (RunStatus::Running, false), "the lease holds");
    assert_eq!(fixture.store.take_over(run_id(1)).await.unwrap_err().code, Code::Busy);
    other_connection.execute_batch("UPDATE runs SET lease_until_ms = 1").unwrap();
    assert_eq!(stands().await, (RunStatus::Interrupted, true));
    assert_eq!(fixture.store.take_over(run_id(1)).await.unwrap().epoch, 2);
    assert_eq!(stands().await, (RunStatus::Running, false));
    assert_eq!(fixture.store.take_over(run_id(5)).await.unwrap_err().code, Code::RunNotFound);
}

#[tokio::test]
async fn a_running_process_renews_its_leases() {
    const HEARTBEAT: Duration = Duration::from_millis(20);
    let fixture = Fixture::beating(HEARTBEAT).await;
    write(&fixture.store, plan(1, StoreMode::Full), recorded(1, vec![started()])).await;
    write(&fixture.store, plan(2, StoreMode::Full), every_kind()).await;
    let other_connection = fixture.other_connection();
    other_connection.execute_batch("UPDATE runs SET lease_until_ms = 1").unwrap();
    let sql = "SELECT lease_until_ms > 1 FROM runs ORDER BY run_id";
    let extended = async {
        // Only the lease of the run that is still open.
        while values::<bool>(&other_connection, sql) != [true, false] {
            tokio::time::sleep(HEARTBEAT).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), extended).await.unwrap();
}

#[tokio::test]
async fn a_closed_store_says_so() {
    let fixture = Fixture::new().await;
    let lease = fixture.store.open_run(plan(1, StoreMode::Full)).await;
    // Jobs queued before closing are still done.
    let (written, ()) =
        tokio::join!(biased; fixture.store.append(lease, every_kind()), fixture.store.close());
    assert_eq!(written, Ok(()));
    fixture.store.close().await;
    let refused = fixture.store.append(lease, every_kind()).await.unwrap_err();
    assert_eq!((refused.code, &*refused.message), (Code::Storage, "the run database has been closed"));
    assert_eq!(
        fixture.store.list(RunScope::All, RunFilter::default()).await.unwrap_err().code,
        Code::Storage
    );
    if fixture.place.url.is_some() {
        return;
    }
    let left = std::fs::read_dir(fixture.path().parent().unwrap()).unwrap().count();
    assert_eq!(left, 2, "only the database and its lock file stay");
}

/// Answers of many runs come one after the other on a machine that is busy with other things: each is on the disk before any
/// that came later.
#[tokio::test]
async fn under_foreign_load_no_answer_overtakes_another() {
    const RUNS: u64 = 24;
    const ROUNDS: u64 = 8;
    let fixture = Fixture::new().await;
    let mut leases = Vec::new();
    for number in 1..=RUNS {
        leases.push(write(&fixture.store, plan(number, StoreMode::Full), simple("x")[..1].to_vec()).await);
    }
    let is_over = Arc::new(AtomicBool::new(false));
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    for _ in 0..2 * cores {
        let is_over = Arc::clone(&is_over);
        std::thread::spawn(move || while !is_over.load(Ordering::Relaxed) {});
    }
    // All are queued at once, in this order; some share a commit.
    let durable = Arc::new(Mutex::new(Vec::new()));
    let answers = FuturesUnordered::new();
    for round in 0..ROUNDS {
        for lease in leases.iter().copied() {
            let durable = Arc::clone(&durable);
            let events = recorded(2 + round, vec![sent(seat(1, 1 + round as u32))]);
            let mut append = fixture.store.append(lease, events);
            assert!(unconstrained(&mut append).now_or_never().is_none());
            answers.push(async move {
                append.await.unwrap();
                durable.lock().unwrap().push((round, lease.run_id));
            });
        }
    }
    unconstrained(answers.collect::<()>()).await;
    is_over.store(true, Ordering::Relaxed);
    let came: Vec<_> =
        (0..ROUNDS).flat_map(|round| (1..=RUNS).map(move |number| (round, run_id(number)))).collect();
    assert_eq!(*durable.lock().unwrap(), came);
}
