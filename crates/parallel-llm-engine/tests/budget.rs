//! Money: refused before anything is sent, held while calls are under way, settled when they end.

use parallel_llm_engine::{Code, PicoUsd};

use crate::scene::scene;
use crate::script::{after, fails, failure, fuses, says};

/// The worst case of one call in every scene: a thousand tokens written and seven read.
const WORST_CALL: PicoUsd = PicoUsd(10_006_000_000);

#[tokio::test(start_paused = true)]
async fn a_seat_the_budget_does_not_hold_is_skipped() {
    let told = scene([
        ("ada", says(10, "one")),
        ("bob", says(10, "two")),
        ("cyd", says(10, "three")),
        ("fuser", says(10, "All.")),
    ])
    .plan(|plan| plan.budget = WORST_CALL.times(2));
    insta::assert_snapshot!(told.story().await, @"");
}

#[tokio::test(start_paused = true)]
async fn what_a_call_cost_less_is_free_again() {
    // At first nothing is left for the synthesizer; the panel costs a tenth of its worst case.
    let told =
        scene([("ada", says(10, "one")), ("bob", says(20, "two")), ("fuser", fuses(10, "two", "All."))])
            .plan(|plan| plan.budget = WORST_CALL.times(2));
    insta::assert_snapshot!(told.run().await.end(), @"");
}

#[tokio::test(start_paused = true)]
async fn an_unknown_cost_is_booked_as_the_worst() {
    let broken = || after(10).reasoning().fail(failure(Code::Upstream).with_status(502));
    let told = scene([("ada", broken()), ("ada", says(10, "The moon."))])
        .plan(|plan| plan.budget = WORST_CALL.times(1));
    insta::assert_snapshot!(told.story().await, @"");
    // Refused before anything had begun: that costs nothing, so there is enough for the retry.
    let refused = fails(10, failure(Code::Upstream).with_status(502));
    let told = scene([("ada", refused), ("ada", says(10, "The moon."))])
        .plan(|plan| plan.budget = WORST_CALL.times(1));
    insta::assert_snapshot!(told.story().await, @"");
}

#[tokio::test(start_paused = true)]
async fn a_cost_nobody_reports_is_computed_or_unknown() {
    let counted = after(10).text("The moon.").end_with(|end| {
        end.cost = None;
        end.usage.input_tokens = Some(7);
        end.usage.output_tokens = Some(100);
    });
    insta::assert_snapshot!(scene([("ada", counted)]).run().await.end(), @"");
    let silent = after(10).text("The moon.").end_with(|end| end.cost = None);
    insta::assert_snapshot!(scene([("ada", silent)]).run().await.end(), @"");
}

#[tokio::test(start_paused = true)]
async fn a_synthesizer_the_budget_does_not_hold_leaves_the_best_answer() {
    let dear = after(10).text("two and two").end_with(|end| end.cost = Some(WORST_CALL.times(2)));
    let told = scene([("ada", says(10, "one and one")), ("bob", dear), ("fuser", says(10, "All."))])
        .plan(|plan| plan.budget = WORST_CALL.times(2));
    insta::assert_snapshot!(told.story().await, @"");
}
