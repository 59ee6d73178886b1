//! Every timer, at its moment: its message names what did not come and its advice names the setting.

use parallel_llm_engine::plan::Timers;

use crate::scene::scene;
use crate::script::{Reply, after, hangs, says};

/// Timers far apart, so that each can be told from the others.
const TIMERS: Timers =
    Timers { first_text_ms: 300, idle_ms: 100, content_ms: 200, call_ms: 900, run_ms: 6_000 };

/// The story of one seat that is not tried again.
async fn check(reply: Reply) -> String {
    let one = scene([("ada", reply)]).plan(|plan| {
        plan.timers = TIMERS;
        plan.retries_max = 0;
    });
    one.story().await
}

#[tokio::test(start_paused = true)]
async fn first_text() {
    insta::assert_snapshot!(check(hangs()).await, @"");
    // Keep-alives are bytes, but neither text nor reasoning.
    insta::assert_snapshot!(check(after(0).alive(50, 50).hang()).await, @"");
    // The very moment counts as late only when it is past.
    insta::assert_snapshot!(check(says(300, "The moon.")).await, @"");
}

#[tokio::test(start_paused = true)]
async fn idle() {
    insta::assert_snapshot!(check(after(10).alive(1, 10).hang()).await, @"");
    insta::assert_snapshot!(check(after(10).text("The moon").hang()).await, @"");
}

#[tokio::test(start_paused = true)]
async fn content() {
    insta::assert_snapshot!(check(after(10).reasoning().alive(50, 50).hang()).await, @"");
    insta::assert_snapshot!(check(after(10).text("The moon").alive(50, 50).hang()).await, @"");
}

#[tokio::test(start_paused = true)]
async fn call() {
    let slow = (0..50).fold(after(0), |reply, _| reply.wait(80).text("moon "));
    insta::assert_snapshot!(check(slow.end()).await, @"");
    let thinking = (0..50).fold(after(0), |reply, _| reply.wait(80).reasoning());
    insta::assert_snapshot!(check(thinking.end()).await, @"");
}

#[tokio::test(start_paused = true)]
async fn run() {
    let patient = Timers { run_ms: 1_500, ..Timers::default() };
    let told = scene([("ada", hangs()), ("bob", after(10).text("The moon").alive(100, 50).hang())])
        .plan(|plan| plan.timers = patient);
    insta::assert_snapshot!(told.story().await, @"");
}

#[tokio::test(start_paused = true)]
async fn a_silence_may_pass_but_a_whole_call_is_not_repeated() {
    let requests = async |replies: [(&'static str, Reply); 2]| {
        let told = scene(replies).plan(|plan| plan.timers = TIMERS).run().await;
        told.asked.len()
    };
    assert_eq!(requests([("ada", hangs()), ("ada", says(10, "The moon."))]).await, 2);
    let thinking = (0..50).fold(after(0), |reply, _| reply.wait(80).reasoning());
    assert_eq!(requests([("ada", thinking), ("ada", says(10, "The moon."))]).await, 1);
}

#[tokio::test(start_paused = true)]
async fn no_request_leaves_after_the_end_of_the_run() {
    let told = scene([
        ("ada", says(10, "The moon pulls.")),
        ("bob", says(20, "The sun pulls.")),
        ("fuser-1", after(10).alive(1_000, 50).hang()),
        ("fuser-2", hangs()),
        ("fuser-3", hangs()),
    ])
    .plan(|plan| plan.timers.run_ms = 1_000)
    .run()
    .await;
    insta::assert_snapshot!(told.story(), @"");
    assert_eq!(told.asked.len(), 3, "only the first synthesizer was asked in time");
}

#[tokio::test(start_paused = true)]
async fn a_text_on_its_way_is_kept_each_second_or_sixteen_kilobytes() {
    let slow = (0..5).fold(after(0), |reply, _| reply.wait(600).text("moon "));
    let told = scene([("ada", slow.end())]).run().await;
    insta::assert_snapshot!(told.ledger(), @"");
    let block: &'static str = "m".repeat(10_000).leak();
    let fast = (0..4).fold(after(10), |reply, _| reply.text(block).wait(1));
    let told = scene([("ada", fast.end())]).run().await;
    insta::assert_snapshot!(told.ledger(), @"");
}
