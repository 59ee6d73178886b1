//! Watching a run while it happens: a watcher that lags gets a snapshot, sees only what is meant for the user, and
//! never slows the run.

use std::time::Duration;

use parallel_llm_engine::call::hub::{Phase, Update};
use parallel_llm_engine::plan::caller_slot::CallerSlot;
use parallel_llm_engine::request::wait::Wait;
use parallel_llm_engine::{Code, Run};
use tokio::time::{Instant, sleep};

use crate::scenario::scenario;
use crate::script::{Reply, after, fails, failure, fuses, says};
use crate::transcript;

/// Applies an update, as a page or a terminal does.
fn apply_update(run: &mut Run, update: Update) {
    match update {
        Update::Event(recorded) => run.apply(&recorded),
        Update::Begun(_) => {}
        Update::Snapshot(snapshot) => *run = *snapshot,
        Update::Text { slot, offset, text } => {
            let seat = run.view_mut(slot).expect("the slot is in the plan");
            if !seat.status.is_final() {
                assert_eq!(offset, seat.partial.len(), "pieces come in order and without gaps");
                seat.partial.push_str(&text);
            }
        }
    }
}

/// This many pieces of five bytes, one each millisecond.
fn pieces(count: usize) -> Reply {
    (0..count).fold(after(0), |reply, _| reply.wait(1).text("moon "))
}

#[tokio::test(start_paused = true)]
async fn text_is_shown_while_it_streams() {
    let result = scenario([
        ("ada", after(10).reasoning().wait(10).text("The ").wait(10).text("moon.").end()),
        ("bob", says(20, "The sun.")),
        (
            "fuser",
            after(10)
                .text("<<analysis 1>>\n{\"base\"")
                .wait(10)
                .text(": \"A\"}\n<<answer 1>>\nno marker of ours")
                .end(),
        ),
    ]);
    let (_, shown) = result
        .run_with_watcher(async |hub| {
            let (mut run, mut watch) = hub.watch();
            let (began, mut shown) = (Instant::now(), Vec::new());
            while !run.closed {
                let update = watch.next().await;
                let ms = began.elapsed().as_millis();
                match &update {
                    Update::Begun(slot) => shown.push(format!("{ms} {slot} begins")),
                    Update::Text { slot, offset, text } => {
                        shown.push(format!("{ms} {slot} {offset} {text:?}"));
                    }
                    Update::Event(recorded) => {
                        shown.push(format!("{ms} {}", transcript::short(&recorded.event)));
                    }
                    Update::Snapshot(_) => shown.push(format!("{ms} snapshot")),
                }
                apply_update(&mut run, update);
            }
            shown.join("\n")
        })
        .await;
    insta::assert_snapshot!(shown, @r#"
    10 seat 1 begins
    20 seat 2 0 "The sun."
    20 seat 1 0 "The "
    20 answered 2
    30 seat 1 4 "moon."
    30 answered 1
    30 sent s1
    50 synthesizer 1 0 "no marker of ours"
    50 answered s1
    50 decided
    50 closed
    "#);
}

#[tokio::test(start_paused = true)]
async fn only_the_answer_in_a_synthesizers_reply_is_shown() {
    let result = scenario([
        ("ada", says(10, "The moon.")),
        ("bob", says(20, "The sun.")),
        ("fuser", fuses(10, "The sun", "Both of them.")),
    ]);
    let (_, shown) = result
        .run_with_watcher(async |hub| {
            let (mut run, mut watch) = hub.watch();
            let mut shown = String::new();
            while !run.closed {
                let update = watch.next().await;
                if let Update::Text { slot: CallerSlot::Synthesizer(_), text, .. } = &update {
                    shown.push_str(text);
                }
                apply_update(&mut run, update);
            }
            shown
        })
        .await;
    assert_eq!(shown, "Both of them.");
}

#[tokio::test(start_paused = true)]
async fn a_lagging_watcher_gets_a_snapshot_and_continues() {
    let result =
        scenario([("ada", pieces(1_000).end()), ("bob", pieces(1_200).end()), ("fuser", says(10, "Both."))]);
    let (result, (lagged, seen)) = result
        .run_with_watcher(async |hub| {
            let (mut run, mut watch) = hub.watch();
            let mut lagged = Vec::new();
            while !run.closed {
                if lagged.len() < 2 {
                    sleep(Duration::from_millis(450)).await;
                }
                let update = watch.next().await;
                let is_snapshot = matches!(update, Update::Snapshot(_));
                apply_update(&mut run, update);
                if is_snapshot {
                    lagged.push((run.seats[0].partial.len(), run.seats[1].partial.len()));
                }
            }
            (lagged, run)
        })
        .await;
    insta::assert_snapshot!(format!("{lagged:?}"), @"[(2245, 2245), (4495, 4495)]");
    assert_eq!(transcript::recorded_state(&seen), transcript::recorded_state(&result.run));
}

#[tokio::test(start_paused = true)]
async fn a_watcher_that_sleeps_through_the_run_sees_its_end() {
    let failing = |name: &'static str| (name, fails(1, failure(Code::Auth)));
    let names: Vec<&'static str> = (1..=64).map(|number| &*format!("model-{number}").leak()).collect();
    let again = names.iter().flat_map(|name| {
        let upstream = || (*name, fails(1, failure(Code::Upstream)));
        [upstream(), upstream(), failing(name)]
    });
    let result = scenario(again).plan(|plan| plan.budget = parallel_llm_engine::PicoUsd::MAX);
    let (result, seen) = result
        .run_with_watcher(async |hub| {
            let (mut run, mut watch) = hub.watch_events();
            sleep(Duration::from_secs(100)).await;
            while !run.closed {
                apply_update(&mut run, watch.next().await);
            }
            run
        })
        .await;
    assert_eq!(transcript::recorded_state(&seen), transcript::recorded_state(&result.run));
}

#[tokio::test(start_paused = true)]
async fn a_waiter_is_woken_at_each_phase() {
    let result = scenario([("ada", says(100, "The moon.")), ("bob", says(700, "Late."))]);
    let (_, woken) = result
        .wait(Wait::Seats { count: 1 })
        .run_with_watcher(async |hub| {
            let began = Instant::now();
            hub.reached(Phase::Running).await;
            hub.reached(Phase::Decided).await;
            let decided = (began.elapsed().as_millis(), hub.with_run(|run| run.outcome.is_some()));
            hub.reached(Phase::Closed).await;
            (decided, began.elapsed().as_millis())
        })
        .await;
    assert_eq!(woken, ((100, true), 700));
}
