//! When the panel is waited for no longer, and what becomes of the seats left behind.

use parallel_llm_engine::quorum::Wait;

use crate::scene::scene;
use crate::script::{after, fails, failure, fuses, hangs, says};
use parallel_llm_engine::Code;

#[tokio::test(start_paused = true)]
async fn stragglers_are_left_behind_and_their_answers_kept() {
    let told = scene([
        ("ada", says(5_000, "one")),
        ("bob", says(6_000, "two")),
        ("cyd", says(10_000, "three")),
        ("dan", says(60_000, "four, late")),
        ("eve", fails(50_000, failure(Code::Forbidden))),
        ("fuser", fuses(1_000, "two", "All.")),
    ]);
    insta::assert_snapshot!(told.story().await, @"");
}

#[tokio::test(start_paused = true)]
async fn slow_panels_give_stragglers_three_times_the_median() {
    let told = scene([
        ("ada", says(20_000, "one")),
        ("bob", says(30_000, "two")),
        ("cyd", says(100_000, "three")),
        ("fuser", fuses(1_000, "two", "All.")),
    ]);
    let run = told.run().await.run;
    assert_eq!((run.decided_ms, run.elapsed_ms, run.seats[2].late), (Some(91_000), 100_000, true));
}

#[tokio::test(start_paused = true)]
async fn the_few_that_answered_are_not_enough() {
    // One of two is less than sixty per cent.
    let told = scene([("ada", says(10, "one")), ("bob", says(200_000, "two")), ("fuser", says(10, "All."))]);
    assert_eq!(told.run().await.run.decided_ms, Some(200_010));
    // A failed seat is not counted among those that can answer.
    let told = scene([
        ("ada", says(10, "one")),
        ("bob", fails(20, failure(Code::Auth))),
        ("cyd", fails(20, failure(Code::Auth))),
        ("dan", says(30, "two")),
        ("eve", says(100_000, "three")),
        ("fuser", says(10, "All.")),
    ]);
    assert_eq!(told.run().await.run.decided_ms, Some(45_010));
}

#[tokio::test(start_paused = true)]
async fn all_means_all() {
    let told = scene([
        ("ada", says(10, "one")),
        ("bob", says(20, "two")),
        ("cyd", says(290_000, "three")),
        ("fuser", says(10, "All.")),
    ]);
    assert_eq!(told.wait(Wait::All).run().await.run.decided_ms, Some(290_010));
}

#[tokio::test(start_paused = true)]
async fn so_many_answers_are_enough() {
    let told = scene([
        ("ada", fails(5, failure(Code::Auth))),
        ("bob", says(20, "two")),
        ("cyd", says(90, "three")),
        ("dan", says(30, "four")),
        ("fuser", fuses(10, "four", "All.")),
    ]);
    insta::assert_snapshot!(told.wait(Wait::Seats { count: 2 }).story().await, @"");
}

#[tokio::test(start_paused = true)]
async fn a_moment_is_enough_once_there_is_an_answer() {
    let told = scene([("ada", says(10, "one")), ("bob", says(5_000, "two")), ("fuser", hangs())]);
    insta::assert_snapshot!(told.wait(Wait::Until { ms: 1_000 }).story().await, @"");
    let told = scene([("ada", says(2_000, "one")), ("bob", says(5_000, "two")), ("fuser", hangs())]);
    assert_eq!(told.wait(Wait::Until { ms: 1_000 }).run().await.run.decided_ms, Some(2_000));
}

#[tokio::test(start_paused = true)]
async fn the_strongest_is_waited_for() {
    let told = scene([
        ("ada", says(10, "one")),
        ("bob", says(20, "two")),
        ("cyd", says(250_000, "three")),
        ("dan", says(260_000, "four")),
        ("fuser", says(10, "All.")),
    ]);
    let told = told.plan(|plan| plan.seats[2].strongest = true).run().await;
    assert_eq!((told.run.decided_ms, told.run.seats[3].late), (Some(250_010), true));
}

#[tokio::test(start_paused = true)]
async fn a_third_of_the_run_is_kept_for_fusing() {
    let told = scene([
        ("ada", says(10, "one")),
        ("bob", says(20, "two")),
        ("cyd", says(9_990, "three")),
        ("fuser", says(10, "All.")),
    ])
    .plan(|plan| {
        plan.wait = Wait::All;
        plan.timers.run_ms = 9_000;
    });
    insta::assert_snapshot!(told.run().await.end(), @"");
    // Nobody by then: the first answer after it is the answer.
    let told = scene([("ada", says(7_000, "one")), ("bob", says(8_500, "two")), ("fuser", hangs())]);
    let told = told.plan(|plan| plan.timers.run_ms = 9_000).run().await;
    assert_eq!(told.run.decided_ms, Some(7_000));
}

#[tokio::test(start_paused = true)]
async fn a_cut_answer_counts_where_it_is_long_enough() {
    let long: &'static str = "moon ".repeat(50).leak();
    let told = scene([
        ("ada", after(10).text(long).fail(failure(Code::Connection))),
        ("bob", says(20, "two")),
        ("cyd", says(400_000, "three")),
        ("fuser", fuses(10, "two", "All.")),
    ]);
    insta::assert_snapshot!(told.run().await.end(), @"");
}
