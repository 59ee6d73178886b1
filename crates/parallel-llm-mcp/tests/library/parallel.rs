//! The parallel helper: order, bounds, failures and panics of single items, and cancelling.

use std::convert::Infallible;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier};
use std::time::Duration;

use parallel_llm_mcp::CancellationToken;
use parallel_llm_mcp::parallel::{Failed, Limiter, Parallel};

/// How many are at work, and how many were at most.
#[derive(Default)]
struct Load {
    now: AtomicUsize,
    most: AtomicUsize,
    begun: AtomicUsize,
}

impl Load {
    fn begin(&self) {
        self.begun.fetch_add(1, Ordering::SeqCst);
        self.most.fetch_max(self.now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
    }

    fn end(&self) {
        self.now.fetch_sub(1, Ordering::SeqCst);
    }

    fn most(&self) -> usize {
        self.most.load(Ordering::SeqCst)
    }

    fn begun(&self) -> usize {
        self.begun.load(Ordering::SeqCst)
    }
}

#[tokio::test(start_paused = true)]
async fn results_come_in_the_order_of_the_items() {
    let doubled = Parallel::new(3).map(0..10_u64, async |item| {
        tokio::time::sleep(Duration::from_millis(100 - 10 * item)).await;
        Ok::<_, Infallible>(2 * item)
    });
    assert_eq!(doubled.await, (0..10).map(|item| Ok(2 * item)).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_slow_item_holds_back_no_other() {
    let start = tokio::time::Instant::now();
    let waited = Parallel::new(2).map([900, 300, 300, 300], async |ms| {
        tokio::time::sleep(Duration::from_millis(ms)).await;
        Ok::<_, Infallible>(())
    });
    waited.await;
    assert_eq!(start.elapsed().as_millis(), 900);
}

#[tokio::test(start_paused = true)]
async fn no_more_than_the_bound_work_at_once() {
    for (bound, expected) in [(0, 1), (1, 1), (4, 4), (100, 20)] {
        let load = Load::default();
        let work = async |_| {
            load.begin();
            tokio::time::sleep(Duration::from_millis(10)).await;
            load.end();
            Ok::<_, Infallible>(())
        };
        assert_eq!(Parallel::new(bound).map(0..20, work).await.len(), 20);
        assert_eq!(load.most(), expected, "bound {bound}");
    }
}

#[tokio::test(start_paused = true)]
async fn calls_that_share_a_limiter_share_its_bound() {
    let (limiter, load) = (Limiter::new(3), Load::default());
    let work = async |_| {
        load.begin();
        tokio::time::sleep(Duration::from_millis(10)).await;
        load.end();
        Ok::<_, Infallible>(())
    };
    let parallel = Parallel::new(10).within(&limiter);
    tokio::join!(parallel.clone().map(0..10, work), parallel.map(0..10, work));
    assert_eq!((load.most(), load.begun()), (3, 20));
}

#[tokio::test]
async fn an_empty_list_gives_an_empty_list_and_calls_nothing() {
    let nothing: [u8; 0] = [];
    let never = Parallel::new(2).map(nothing, async |_| -> Result<(), ()> { panic!("there is no item") });
    assert_eq!(never.await, []);
    let never = Parallel::new(2).map_blocking(nothing, |_| -> Result<(), ()> { panic!("there is no item") });
    assert_eq!(never.await, []);
}

#[tokio::test]
async fn an_error_and_a_panic_stay_with_their_items() {
    fn outcome(item: u8) -> Result<u8, String> {
        match item {
            1 => Err("one".to_owned()),
            2 => panic!("two"),
            3 => panic!("{}", item + 30),
            4 => std::panic::panic_any(4),
            item => Ok(item),
        }
    }
    let expected = [
        Ok(0),
        Err(Failed::Error("one".to_owned())),
        Err(Failed::Panicked("two".to_owned())),
        Err(Failed::Panicked("33".to_owned())),
        Err(Failed::Panicked("a panic without a message".to_owned())),
        Ok(5),
    ];
    assert_eq!(Parallel::new(2).map(0..6, async |item| outcome(item)).await, expected);
    assert_eq!(Parallel::new(2).map_blocking(0..6, outcome).await, expected);
    // A closure that panics before it has made its future.
    let early = Parallel::new(2).map(0..6, |item| std::future::ready(outcome(item)));
    assert_eq!(early.await, expected);
}

#[test]
fn a_failure_keeps_the_error_as_its_source() {
    let error = std::io::Error::other("the disk is full");
    let failed = Failed::Error(error);
    assert_eq!(failed.to_string(), "the work on this item failed");
    let source = std::error::Error::source(&failed).map(ToString::to_string);
    assert_eq!(source.as_deref(), Some("the disk is full"));
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_token_stops_what_has_not_begun() {
    let cancel = CancellationToken::new();
    let parallel = Parallel::new(2).until(&cancel);
    let results = parallel.clone().map(0..5, async |item| {
        tokio::time::sleep(Duration::from_millis(10)).await;
        if item == 1 {
            cancel.cancel();
        }
        Ok::<_, Infallible>(item)
    });
    let results = results.await;
    // Item 2 began in the moment in which item 0 ended, if that was before the token was cancelled.
    assert_eq!((&results[0], &results[1]), (&Ok(0), &Ok(1)));
    assert_eq!(results[3..], [Err(Failed::NotBegun), Err(Failed::NotBegun)]);
    assert_eq!(parallel.map_blocking([1], Ok::<u8, Infallible>).await, [Err(Failed::NotBegun)]);
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_token_ends_the_wait_for_the_limiter() {
    let (limiter, cancel) = (Limiter::new(1), CancellationToken::new());
    let held = Parallel::new(1).within(&limiter);
    let held = held.map([()], async |()| std::future::pending::<Result<(), Infallible>>().await);
    let waiting = Parallel::new(1).within(&limiter).until(&cancel);
    let waiting = waiting.map([()], async |()| Ok::<_, Infallible>(()));
    let cancelled = async {
        tokio::time::sleep(Duration::from_millis(10)).await;
        cancel.cancel();
    };
    let results = tokio::select! {
        biased;
        _ = held => unreachable!("it waits for ever"),
        (results, ()) = async { tokio::join!(waiting, cancelled) } => results,
    };
    assert_eq!(results, [Err(Failed::NotBegun)]);
}

#[tokio::test(start_paused = true)]
async fn dropping_the_future_begins_nothing_more() {
    let load = Load::default();
    let work = async |_| {
        load.begin();
        std::future::pending::<Result<(), Infallible>>().await
    };
    let given_up = tokio::time::timeout(Duration::from_millis(10), async {
        Parallel::new(3).map(0..10, work).await;
    });
    assert!(given_up.await.is_err());
    assert_eq!(load.begun(), 3);
}

#[test]
fn a_dropped_future_calls_no_blocking_closure_that_waits_for_a_thread() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(1).build();
    let runtime = runtime.expect("a runtime");
    let (load, gate) = (Arc::new(Load::default()), Arc::new(Barrier::new(2)));
    runtime.block_on(async {
        let (counted, closed) = (Arc::clone(&load), Arc::clone(&gate));
        let parallel = Parallel::new(3);
        let working = parallel.map_blocking(0..5, move |_| {
            counted.begin();
            closed.wait();
            Ok::<_, Infallible>(())
        });
        let mut working = std::pin::pin!(working);
        while load.begun() == 0 {
            let _ = tokio::time::timeout(Duration::from_millis(5), &mut working).await;
        }
    });
    gate.wait();
    drop(runtime);
    assert_eq!(load.begun(), 1, "the others were still waiting for the only thread");
}

#[tokio::test]
async fn a_blocking_closure_runs_once_for_each_item_beside_the_runtime() {
    let (counts, here) = (Arc::new([const { AtomicUsize::new(0) }; 50]), std::thread::current().id());
    let counted = Arc::clone(&counts);
    let results = Parallel::new(8).map_blocking(0..50, move |item: usize| {
        counted[item].fetch_add(1, Ordering::SeqCst);
        if std::thread::current().id() == here { Err("on the thread of the runtime") } else { Ok(item) }
    });
    assert_eq!(results.await, (0..50).map(Ok).collect::<Vec<_>>());
    assert!(counts.iter().all(|count| count.load(Ordering::SeqCst) == 1));
}

#[tokio::test]
async fn an_async_closure_need_neither_be_send_nor_outlive_its_caller() {
    let words = [String::from("one"), String::from("two")];
    let seen = Rc::new(AtomicUsize::new(0));
    let lengths = Parallel::new(2).map(&words, async |word: &String| {
        seen.fetch_add(1, Ordering::SeqCst);
        Ok::<_, Infallible>(word.len())
    });
    assert_eq!(lengths.await, [Ok(3), Ok(3)]);
    assert_eq!(seen.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn the_future_can_be_spawned_if_the_closure_allows() {
    let mut tasks = tokio::task::JoinSet::new();
    tasks.spawn(async {
        Parallel::new(2).map([1, 2], |item| async move { Ok::<_, Infallible>(item + 1) }).await
    });
    assert_eq!(tasks.join_next().await.expect("a task").expect("no panic"), [Ok(2), Ok(3)]);
}

#[test]
fn a_blocking_closure_that_waits_for_a_thread_does_not_begin_once_the_work_is_cancelled() {
    let runtime = tokio::runtime::Builder::new_current_thread().max_blocking_threads(1).build().unwrap();
    runtime.block_on(async {
        let (held, cancel) = (Arc::new(Barrier::new(2)), CancellationToken::new());
        let holding = Arc::clone(&held);
        let holder = tokio::task::spawn_blocking(move || holding.wait());
        let working = Parallel::new(1).until(&cancel).map_blocking([1], Ok::<i32, Infallible>);
        let (done, ()) = tokio::join!(working, async {
            // The item is queued behind the closure that holds the only thread.
            cancel.cancel();
            held.wait();
        });
        assert_eq!(done, [Err(Failed::NotBegun)]);
        holder.await.unwrap();
    });
}
