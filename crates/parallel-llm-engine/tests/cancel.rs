//! A run that is given up: how it stands, what is kept, and that every reply is dropped in the same instant.

use parallel_llm_engine::{Code, Failure};

use crate::scene::{Scene, scene};
use crate::script::{after, fails, failure, hangs, says};

fn three() -> Scene {
    scene([
        ("ada", says(100, "The moon.")),
        ("bob", after(50).accepted("gen-2").text("So f").wait(400).text("ar").end()),
        ("cyd", hangs()),
        ("fuser", after(10).text("Both").hang()),
    ])
}

async fn check(scene: Scene) -> String {
    let told = scene.run().await;
    format!("{}\n{}", told.story(), told.ledger())
}

#[tokio::test(start_paused = true)]
async fn before_any_answer() {
    insta::assert_snapshot!(check(three().cancel_at(70)).await, @"");
}

#[tokio::test(start_paused = true)]
async fn with_an_answer_in() {
    insta::assert_snapshot!(check(three().cancel_at(200)).await, @"");
}

#[tokio::test(start_paused = true)]
async fn during_synthesis() {
    let told = three().wait(parallel_llm_engine::quorum::Wait::Seats { count: 2 }).cancel_at(500);
    insta::assert_snapshot!(check(told).await, @"");
}

#[tokio::test(start_paused = true)]
async fn after_it_was_decided() {
    let told = three().wait(parallel_llm_engine::quorum::Wait::Seats { count: 1 }).cancel_at(200);
    insta::assert_snapshot!(check(told).await, @"");
}

#[tokio::test(start_paused = true)]
async fn at_once_and_while_waiting() {
    insta::assert_snapshot!(check(three().cancel_at(0)).await, @"");
    // Held back by the number of calls at once, and between two tries.
    let told = scene([("ada", hangs()), ("bob", says(10, "Never sent."))]);
    insta::assert_snapshot!(check(told.at_once(1).cancel_at(20)).await, @"");
    let again: Failure = failure(Code::Upstream).with_status(502);
    insta::assert_snapshot!(check(scene([("ada", fails(10, again))]).cancel_at(200)).await, @"");
}
