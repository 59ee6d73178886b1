//! The text budget that runs share: which run continues while it is used up, which runs wait, and that none loses any
//! text.

use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::future::join_all;
use parallel_llm_engine::call::hub::Hub;
use parallel_llm_engine::engine::Underway;
use parallel_llm_engine::plan::Timers;
use parallel_llm_engine::port::memory::MemoryJournal;
use parallel_llm_engine::{Code, Engine, Run, RunId, SeatStatus, Stop};
use tokio::join;
use tokio::time::sleep;

use crate::ledger::Ledger;
use crate::scenario::scenario;
use crate::script::{Models, Reply, ScriptedCaller, after, says};
use crate::transcript;

/// Timers that a pause of one second exceeds, except for the timer of the run.
const TIMERS: Timers =
    Timers { first_text_ms: 300, idle_ms: 100, content_ms: 200, call_ms: 900, run_ms: 9_000 };
/// Timers that nothing here exceeds.
const LONG: Timers =
    Timers { first_text_ms: 9_000, idle_ms: 9_000, content_ms: 9_000, call_ms: 9_000, run_ms: 9_000 };

/// Several runs on one engine.
struct SharedEngine {
    replies: Vec<(&'static str, Reply)>,
    models: Arc<Models>,
    engine: Engine,
    ledger: Ledger,
}

/// One of the runs.
struct StartedRun {
    hub: Arc<Hub>,
    stop: Stop,
    underway: Underway,
}

impl SharedEngine {
    fn new(text_bytes_max: usize, replies: &[(&'static str, Reply)], in_flight_max: usize) -> Self {
        let ledger = Ledger::new();
        let models = Models::new(&ledger, replies, in_flight_max);
        let engine =
            Engine::new(Arc::new(ScriptedCaller(Arc::clone(&models))), Arc::new(MemoryJournal::default()))
                .with_text_bytes_max(text_bytes_max);
        Self { replies: replies.to_vec(), models, engine, ledger }
    }

    /// Begins the run with this number and these models.
    async fn begin(&self, number: u128, names: &[&str], timers: Timers) -> StartedRun {
        let replies = self.replies.iter().filter(|(name, _)| names.contains(name)).cloned();
        let mut plan = scenario(replies).planned();
        plan.run_id = RunId::from_parts(1_700_000_000_000, number);
        plan.timers = timers;
        let (hub, stop) = (Arc::new(Hub::new(Arc::new(plan))), Stop::default());
        let underway = self.engine.open(Arc::clone(&hub), stop.clone()).await.expect("the run is new");
        StartedRun { hub, stop, underway }
    }

    fn asked_at_ms(&self, name: &str) -> Vec<u64> {
        let asked = self.models.asked().into_iter();
        asked.filter(|asked| asked.call.model.model == name).map(|asked| asked.at_ms).collect()
    }
}

impl StartedRun {
    /// Finishes the run and returns its final state.
    async fn end(self) -> String {
        self.underway.finish().await;
        transcript::view(&self.hub.snapshot())
    }
}

#[tokio::test(start_paused = true)]
async fn the_first_run_is_read_on_and_the_others_wait_without_loss() {
    let replies = [
        ("ada", after(0).text("12345678").wait(90).text("90").wait(90).end()),
        ("bob", after(10).text("abcdefgh").wait(10).text("ijkl").end()),
        ("cyd", says(100, "late")),
        ("dan", says(10, "short")),
    ];
    let shared = SharedEngine::new(16, &replies, 9);
    let first = shared.begin(1, &["ada"], TIMERS).await;
    let second = shared.begin(2, &["bob", "cyd"], TIMERS).await;
    let third = async {
        sleep(Duration::from_millis(50)).await;
        Box::pin(shared.begin(3, &["dan"], TIMERS).await.end()).await
    };
    let (first, second, _) = join!(first.end(), second.end(), third);
    insta::assert_snapshot!(first, @"
    complete decided at 180, closed at 180
      verbatim by ada from 1: `1234567890`
      because one model was asked, so there was nothing to fuse
      1 ada answered, 1 request 180 ms, $0.0010
    ");
    // Its texts arrived at 20 ms and at 100 ms, but had to wait.
    insta::assert_snapshot!(second, @"
    complete decided at 190, closed at 190
      verbatim by bob from 1: `abcdefghijkl`
      because no synthesizer is configured; this is the answer closest to the others, word for word
      1 bob answered, 1 request 190 ms, $0.0010
      2 cyd answered, 1 request 180 ms, $0.0010
    ");
    assert_eq!(shared.asked_at_ms("dan"), [180], "what is not sent is not paid for");
}

#[tokio::test(start_paused = true)]
async fn waiting_for_text_space_fires_no_call_timer_and_ends_with_the_run() {
    let replies = [
        ("ada", after(0).text("12345678").wait(3_000).text("90").end()),
        ("bob", after(10).text("abcdefgh").wait(10).text("ijkl").end()),
    ];
    let shared = SharedEngine::new(16, &replies, 9);
    let first = shared.begin(1, &["ada"], LONG).await;
    let whole = shared.begin(2, &["bob"], TIMERS).await;
    let late = shared.begin(3, &["bob"], Timers { run_ms: 2_000, ..TIMERS }).await;
    let stopped = shared.begin(4, &["bob"], TIMERS).await;
    let stop = stopped.stop.clone();
    let stopping = async {
        sleep(Duration::from_millis(1_000)).await;
        stop.cancel();
    };
    let (_, whole, late, stopped, ()) = join!(first.end(), whole.end(), late.end(), stopped.end(), stopping);
    insta::assert_snapshot!(whole, @"
    complete decided at 3010, closed at 3010
      verbatim by bob from 1: `abcdefghijkl`
      because one model was asked, so there was nothing to fuse
      1 bob answered, 1 request 3010 ms, $0.0010
    ");
    insta::assert_snapshot!(late, @"
    failed decided at 2000, closed at 2000
      none
      because timeout: no model answered (bob: the time limit of 2 s was reached while other runs had all the room for text) (raise the deadline, or raise the setting `run_timeout_ms` (now 2000))
      1 bob cut, 1 request 2000 ms, ~?: timeout: the time limit of 2 s was reached while other runs had all the room for text (raise the deadline, or raise the setting `run_timeout_ms` (now 2000))
    ");
    insta::assert_snapshot!(stopped, @"
    cancelled decided at 1000, closed at 1000
      none
      because cancelled: the run was cancelled
      1 bob cancelled, 1 request 1000 ms, ~?: cancelled: given up before an answer came
    ");
}

#[tokio::test(start_paused = true)]
async fn a_run_full_of_text_cuts_its_answers_and_sends_no_more_requests() {
    let replies = [
        ("ada", after(0).text("12345678").wait(90).end()),
        ("bob", after(10).text("abc").wait(10).text("defgh").wait(90).end()),
        ("cyd", says(10, "late").admitted_after(30)),
    ];
    let mut shared = SharedEngine::new(1_000, &replies, 9);
    shared.engine = shared.engine.with_run_text_bytes_max(12);
    let full = shared.begin(1, &["ada", "bob", "cyd"], LONG).await;
    let hub = Arc::clone(&full.hub);
    full.underway.finish().await;
    let run = hub.snapshot();
    let texts: Vec<_> = run.seats.iter().map(|seat| (seat.status, seat.text())).collect();
    let expected = [
        (SeatStatus::Answered, Some("12345678")),
        (SeatStatus::Cut, Some("abcd")),
        (SeatStatus::Skipped, None),
    ];
    assert_eq!(texts, expected);
    let codes: Vec<_> =
        run.seats.iter().map(|seat| seat.failure.as_ref().map(|failure| failure.code)).collect();
    assert_eq!(codes, [None, Some(Code::AnswerTooLarge), Some(Code::AnswerTooLarge)]);
    assert_eq!(shared.asked_at_ms("cyd"), [0; 0], "what is not sent is not paid for");
}

#[tokio::test(start_paused = true)]
async fn text_space_is_freed_when_a_run_has_no_more_readers() {
    let replies = [("ada", says(10, "12345678")), ("bob", says(200, "a")), ("cyd", says(50, "b"))];
    let shared = SharedEngine::new(8, &replies, 9);
    let first = shared.begin(1, &["ada"], LONG).await;
    let reader = Arc::clone(&first.hub);
    let reading = async {
        sleep(Duration::from_millis(100)).await;
        drop(reader);
    };
    let (second, third) = (shared.begin(2, &["bob"], LONG).await, shared.begin(3, &["cyd"], LONG).await);
    let (_, _, third, ()) = join!(first.end(), second.end(), third.end(), reading);
    insta::assert_snapshot!(third, @"
    complete decided at 100, closed at 100
      verbatim by cyd from 1: `b`
      because one model was asked, so there was nothing to fuse
      1 cyd answered, 1 request 100 ms, $0.0010
    ");
}

#[tokio::test(start_paused = true)]
async fn waiting_for_text_space_does_not_block_admission() {
    let replies = [
        ("ada", says(100, "first").admitted_after(10)),
        ("bob", says(100, "second").admitted_after(10)),
        ("cyd", after(0).text("abcdefgh").wait(100).text("ijkl").end()),
        ("dan", after(0).text("abcdefgh").wait(100).text("mnop").end()),
    ];
    let shared = SharedEngine::new(8, &replies, 2);
    let first = shared.begin(1, &["ada", "bob"], LONG).await;
    let second = shared.begin(2, &["cyd", "dan"], LONG).await;
    let (first, second) = join!(first.end(), second.end());
    insta::assert_snapshot!(first, @"
    complete decided at 200, closed at 200
      verbatim by ada from 1: `first`
      because no synthesizer is configured; this is the answer closest to the others, word for word
      1 ada answered, 1 request 100 ms, $0.0010
      2 bob answered, 1 request 100 ms, $0.0010
    ");
    insta::assert_snapshot!(second, @"
    complete decided at 200, closed at 200
      verbatim by cyd from 1: `abcdefghijkl`
      because no synthesizer is configured; this is the answer closest to the others, word for word
      1 cyd answered, 1 request 100 ms, $0.0010
      2 dan answered, 1 request 100 ms, $0.0010
    ");
}

#[tokio::test(start_paused = true)]
async fn all_runs_together_stay_within_the_limit_plus_one_run() {
    const BOUND: usize = 400;
    const PIECE_BYTES: usize = 10;
    const RUNS: u128 = 20;
    let pieces =
        |piece: &str, every_ms| (0..10).fold(after(0), |reply, _| reply.wait(every_ms).text(piece)).end();
    let replies = [
        ("ada", pieces("Tides are ", 3)),
        ("bob", pieces("made from ", 5)),
        ("cyd", pieces("the moon. ", 7)),
        ("fuser", pieces("They come ", 2)),
    ];
    let shared = SharedEngine::new(BOUND, &replies, 64);
    let mut runs = Vec::new();
    for number in 1..=RUNS {
        runs.push(shared.begin(number, &["ada", "bob", "cyd", "fuser"], Timers::default()).await);
    }
    let hubs: Vec<_> = runs.iter().map(|run| Arc::downgrade(&run.hub)).collect();
    let text = |run: &Run| run.views().map(|view| view.partial.len()).sum::<usize>() + run.text_bytes();
    let measuring = async {
        let mut most = 0;
        while hubs.iter().any(|hub| hub.strong_count() > 0) {
            let held = hubs.iter().filter_map(Weak::upgrade).map(|hub| hub.with_run(text)).sum();
            most = most.max(held);
            sleep(Duration::from_millis(1)).await;
        }
        most
    };
    let (ends, most) = join!(join_all(runs.into_iter().map(StartedRun::end)), measuring);
    for end in &ends {
        assert!(end.starts_with("complete") && end.contains("fused by fuser"), "{end}");
    }
    // Each reply may receive one more piece after the limit is reached.
    let one_run = 4 * 10 * PIECE_BYTES;
    assert!(most <= BOUND + one_run + 64 * PIECE_BYTES, "{most} bytes were held");
    assert!(most >= BOUND, "{most} bytes were held, too few to test the limit");
    assert!(
        shared.ledger.lines().iter().all(|line| !line.contains("dropped")),
        "a reply was not read to its end"
    );
}
