//! Calls that wait for their turn: never more at once than allowed, and `Sent` only when the turn has come.

use parallel_llm_engine::Code;

use crate::scene::scene;
use crate::script::{failure, hangs, says, unadmitted};

#[tokio::test(start_paused = true)]
async fn one_at_a_time() {
    let told = scene([
        ("ada", says(100, "one")),
        ("bob", says(100, "two")),
        ("cyd", says(100, "three")),
        ("fuser", says(100, "All.")),
    ])
    .at_once(1)
    .run()
    .await;
    insta::assert_snapshot!(told.story(), @"");
    assert_eq!(told.high_water, 1);
}

#[tokio::test(start_paused = true)]
async fn a_few_of_many_at_a_time() {
    let names: Vec<&'static str> = (1..=64).map(|number| &*format!("model-{number}").leak()).collect();
    let told = scene(names.into_iter().map(|name| (name, says(100, "one")))).at_once(5).run().await;
    assert_eq!((told.high_water, told.run.answered(), told.run.decided_ms), (5, 64, Some(1_300)));
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_never_comes_ends_with_the_run() {
    let told = scene([("ada", hangs()), ("bob", says(100, "two"))]).at_once(1).plan(|plan| {
        plan.timers.run_ms = 10_000;
    });
    insta::assert_snapshot!(told.story().await, @"");
}

#[tokio::test(start_paused = true)]
async fn a_refused_admission_is_a_skipped_seat() {
    let missing = failure(Code::KeyMissing).with_next("set `OLLAMA_API_KEY`");
    let told = scene([("ada", unadmitted(missing)), ("bob", says(10, "two"))]);
    insta::assert_snapshot!(told.story().await, @"");
}
