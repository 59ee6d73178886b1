//! What is tried again, how often and when; what is kept; what is given up.

use parallel_llm_engine::event::Event;
use parallel_llm_engine::retry::Retry;
use parallel_llm_engine::{Code, Failure, Finish};
use std::time::Duration;

use crate::scene::{Told, scene};
use crate::script::{Reply, after, fails, failure, says};
use crate::story;

async fn one(reply: Reply) -> Told {
    scene([("ada", reply)]).run().await
}

/// Waits before each retry, in milliseconds.
fn waits(told: &Told) -> Vec<u64> {
    let wait = |event: &Event| match event {
        Event::Failed { retry: Retry::After { ms }, .. } => Some(*ms),
        _ => None,
    };
    told.events().iter().filter_map(|recorded| wait(&recorded.event)).collect()
}

#[tokio::test(start_paused = true)]
async fn each_kind_of_failure_has_its_number_of_requests() {
    let mut requests = Vec::new();
    for code in Code::ALL {
        let told = one(fails(10, failure(*code))).await;
        requests.push(format!("{code} {}", told.asked.len()));
        assert!(told.run.outcome.is_some_and(|outcome| outcome.failure.is_some_and(|why| why.code == *code)));
    }
    insta::assert_snapshot!(requests.join(", "), @"");
}

#[tokio::test(start_paused = true)]
async fn a_seat_is_sent_again_until_it_answers() {
    let upstream = || fails(10, failure(Code::Upstream).with_status(503));
    let told = scene([("ada", upstream()), ("ada", upstream()), ("ada", says(10, "The moon."))]);
    insta::assert_snapshot!(told.story().await, @"");
    let told = scene([("ada", upstream()), ("ada", fails(10, failure(Code::Auth)))]);
    insta::assert_snapshot!(told.story().await, @"");
    let told = scene([("ada", upstream())]).plan(|plan| plan.retries_max = 0);
    insta::assert_snapshot!(told.story().await, @"");
}

#[tokio::test(start_paused = true)]
async fn waits_are_spread_and_bounded() {
    let mut all = (Vec::new(), Vec::new());
    for seed in 0..200 {
        let told =
            scene([("ada", fails(10, failure(Code::Upstream)))]).plan(|plan| plan.seed = seed).run().await;
        let [first, second] = waits(&told)[..] else { panic!("two retries") };
        all.0.push(first);
        all.1.push(second);
    }
    let bounds = |mut waits: Vec<u64>| {
        waits.sort_unstable();
        (waits[0], waits[waits.len() / 2], waits[waits.len() - 1])
    };
    insta::assert_snapshot!(format!("{:?} {:?}", bounds(all.0), bounds(all.1)), @"");
}

#[tokio::test(start_paused = true)]
async fn a_provider_is_given_the_time_it_asks_for() {
    let limited =
        |s| failure(Code::RateLimited).with_status(429).with_retry_after(Some(Duration::from_secs(s)));
    for seed in 0..50 {
        let told = scene([("ada", fails(10, limited(7))), ("ada", says(5, "Yes."))])
            .plan(|plan| plan.seed = seed)
            .run()
            .await;
        let [wait] = waits(&told)[..] else { panic!("one retry") };
        assert!((7_000..=7_700).contains(&wait), "{wait}");
        assert_eq!(told.asked[1].at_ms, 10 + wait);
    }
    insta::assert_snapshot!(one(fails(10, limited(3_600))).await.story(), @"");
    // More than the run has left.
    let told = scene([("ada", fails(10, limited(50)))]).plan(|plan| plan.timers.run_ms = 30_000);
    insta::assert_snapshot!(told.story().await, @"");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_asked_for_once_more() {
    insta::assert_snapshot!(one(after(10).end()).await.story(), @"");
    insta::assert_snapshot!(one(after(10).text(" \n ").end()).await.end(), @"");
    let told = scene([("ada", after(10).end()), ("ada", says(10, "The moon."))]);
    insta::assert_snapshot!(told.run().await.end(), @"");
}

#[tokio::test(start_paused = true)]
async fn what_will_not_change_is_not_asked_again() {
    let thought = after(10).reasoning().end_as(Finish::Length);
    insta::assert_snapshot!(one(thought).await.story(), @"");
    let counted = after(10).end_with(|end| {
        end.finish = Some(Finish::Length);
        end.usage.reasoning_tokens = Some(900);
    });
    insta::assert_snapshot!(one(counted).await.end(), @"");
    let refused = after(10).end_with(|end| end.refusal = Some("I cannot help with that.".to_owned()));
    insta::assert_snapshot!(one(refused).await.story(), @"");
    let filtered = after(10).end_as(Finish::Other("content_filter".to_owned()));
    insta::assert_snapshot!(one(filtered).await.end(), @"");
    let filtered_late = after(10).text("The moon").end_as(Finish::Other("content_filter".to_owned()));
    insta::assert_snapshot!(one(filtered_late).await.end(), @"");
}

#[tokio::test(start_paused = true)]
async fn a_rejected_field_is_left_out_and_sent_once_more() {
    let rejected = |field: &str| {
        let mut failure = failure(Code::BadRequest).with_status(400);
        failure.rejected_field = Some(field.to_owned());
        fails(10, failure)
    };
    let told = scene([
        ("ada", rejected("temperature")),
        ("ada", fails(10, failure(Code::Upstream).with_status(502))),
        ("ada", rejected("reasoning")),
        ("ada", fails(10, failure(Code::Upstream).with_status(502))),
        ("ada", says(10, "The moon.")),
    ])
    .run()
    .await;
    insta::assert_snapshot!(told.story(), @"");
    let without: Vec<_> = told.asked.iter().map(|asked| asked.call.without.join("+")).collect();
    assert_eq!(without, ["", "temperature", "temperature", "temperature+reasoning", "temperature+reasoning"]);
    insta::assert_snapshot!(one(rejected("temperature")).await.story(), @"");
}

#[tokio::test(start_paused = true)]
async fn a_begun_text_is_kept_and_not_asked_for_again() {
    async fn check(length: usize) -> String {
        let text: &'static str = "m".repeat(length).leak();
        let cut = after(10).text(text).wait(5).fail(failure(Code::Connection));
        scene([("ada", cut)]).story().await
    }
    insta::assert_snapshot!(check(199).await, @"");
    insta::assert_snapshot!(check(200).await, @"");
    let wide: &'static str = "潮".repeat(200).leak();
    let told = one(after(10).text(wide).fail(failure(Code::Upstream))).await;
    assert_eq!(told.run.answered(), 0);
    assert_eq!(told.run.outcome.and_then(|outcome| outcome.text).as_deref(), Some(wide));
    // The stream stops without saying that it is whole.
    let told = scene([("ada", after(10).text("The moon")), ("bob", after(10).accepted("gen-7"))]);
    insta::assert_snapshot!(told.run().await.end(), @"");
}

#[tokio::test(start_paused = true)]
async fn status_comes_from_the_protocol_never_from_the_text() {
    insta::assert_snapshot!(one(says(10, "Error: 429 rate limited, try again")).await.end(), @"");
    insta::assert_snapshot!(one(after(10).text("The moon pulls").end_as(Finish::Length)).await.end(), @"");
}

#[tokio::test(start_paused = true)]
async fn a_key_has_a_purse_of_retries() {
    // Thirty seats earn three retries beside the twenty a key has: 23 of 60 wishes are granted.
    let names: Vec<&'static str> = (1..=30).map(|number| &*format!("model-{number}").leak()).collect();
    let told = scene(names.into_iter().map(|name| (name, fails(0, failure(Code::Upstream))))).run().await;
    let waited = told.events().iter().map(|recorded| recorded.elapsed_ms).max().unwrap_or(0);
    let earned = 23 + waited * 2 / 1_000;
    let retries = waits(&told).len() as u64;
    assert!((23..=earned).contains(&retries), "{retries} of at most {earned}");
    assert_eq!(told.asked.len() as u64, 30 + retries);
}

#[tokio::test(start_paused = true)]
async fn money_of_a_broken_call_is_free_only_where_nothing_had_begun() {
    let costs = async |reply: Reply| {
        let told = scene([("ada", reply)]).plan(|plan| plan.retries_max = 0).run().await;
        let seat = &told.run.seats[0];
        format!("{:?} {}", seat.cost.map(|cost| cost.0), seat.cost_is_estimate)
    };
    let gone = || failure(Code::Connection);
    insta::assert_snapshot!(costs(after(10).fail(gone())).await, @"");
    insta::assert_snapshot!(costs(after(10).accepted("gen-1").fail(gone())).await, @"");
    insta::assert_snapshot!(costs(after(10).reasoning().fail(gone())).await, @"");
    insta::assert_snapshot!(costs(after(10).fail(failure(Code::Upstream).with_status(502))).await, @"");
    insta::assert_snapshot!(costs(after(10).fail(Failure::new(Code::Protocol, "?"))).await, @"");
    insta::assert_snapshot!(costs(after(10).text("So far").fail(gone())).await, @"");
}

#[tokio::test(start_paused = true)]
async fn a_strangers_words_stay_one_line() {
    let told = one(fails(10, Failure::new(Code::Forbidden, "no\u{1b}[2J\nway\u{202e}!"))).await;
    let failure = told.run.seats[0].failure.clone().expect("it failed");
    insta::assert_snapshot!(story::reason(&failure), @"");
}
