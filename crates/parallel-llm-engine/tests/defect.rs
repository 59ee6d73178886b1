//! A panic, in a provider or in us, costs one call only.

use parallel_llm_engine::event::{Attempt, Place};
use parallel_llm_engine::port::{Call, Caller, Permit};
use parallel_llm_engine::{Code, Failure, SeatNumber};

use crate::scene::scene;
use crate::script::{after, fails, failure, fuses, says};

#[tokio::test(start_paused = true)]
async fn a_panicking_seat_is_alone() {
    let told = scene([
        ("ada", says(30, "The moon pulls.")),
        ("bob", after(10).text("So far").panic()),
        ("cyd", after(0).panic()),
        ("dan", fails(5, failure(Code::Upstream).with_status(502))),
        ("dan", after(5).panic()),
        ("eve", says(40, "The sun pulls.")),
        ("fuser", fuses(10, "The sun", "Both.")),
    ]);
    insta::assert_snapshot!(told.story().await, @"");
}

#[tokio::test(start_paused = true)]
async fn a_panicking_synthesizer_leaves_the_answers() {
    let told = scene([
        ("ada", says(30, "The moon pulls.")),
        ("bob", says(40, "The sun pulls.")),
        ("fuser", after(10).text("Bo").panic()),
    ]);
    insta::assert_snapshot!(told.story().await, @"");
}

/// Panics where it is asked for admission: for the second seat where the answer is polled, for all others at once.
struct Broken;

impl Caller for Broken {
    fn admit(&self, call: Call) -> futures_util::future::BoxFuture<'static, Result<Permit, Failure>> {
        let Attempt { place, .. } = call.attempt;
        let panics = || std::panic::resume_unwind(Box::new("scripted"));
        if place == Place::Seat(SeatNumber(2)) { Box::pin(async move { panics() }) } else { panics() }
    }
}

#[tokio::test(start_paused = true)]
async fn admission_is_guarded_too() {
    let told = scene([("ada", says(1, "x")), ("bob", says(1, "y")), ("cyd", says(1, "z"))]);
    insta::assert_snapshot!(told.with_caller(Broken).story().await, @"");
}
