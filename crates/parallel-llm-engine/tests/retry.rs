//! Retries: what is retried, how often and when; what is kept, and what is given up.

use parallel_llm_engine::call::hub::{Hub, Update};
use parallel_llm_engine::plan::caller_slot::CallerSlot;
use parallel_llm_engine::run::event::Event;
use parallel_llm_engine::value::retry::Retry;
use parallel_llm_engine::{Code, Failure, Finish};
use std::sync::Arc;
use std::time::Duration;

use crate::scenario::{RunResult, scenario};
use crate::script::{Reply, after, fails, failure, fuses, says};
use crate::transcript;

async fn one_seat(reply: Reply) -> RunResult {
    scenario([("ada", reply)]).run().await
}

/// What a synthesizer shows on its way, as pieces.
async fn every_text(hub: Arc<Hub>) -> String {
    let (mut run, mut watch) = hub.watch();
    let mut shown = Vec::new();
    while !run.closed {
        match watch.next().await {
            Update::Text { slot: CallerSlot::Synthesizer(_), text, .. } => shown.push(format!("{text:?}")),
            update => update.apply_to(&mut run),
        }
    }
    shown.join(" ")
}

/// The waits before the retries, in milliseconds.
fn waits(result: &RunResult) -> Vec<u64> {
    let wait = |event: &Event| match event {
        Event::Failed { retry: Retry::After { ms }, .. } => Some(*ms),
        _ => None,
    };
    result.events().iter().filter_map(|recorded| wait(&recorded.event)).collect()
}

#[tokio::test(start_paused = true)]
async fn every_error_code_has_its_number_of_requests() {
    let mut requests = Vec::new();
    for code in Code::ALL {
        let result = one_seat(fails(10, failure(*code))).await;
        requests.push(format!("{code} {}", result.asked.len()));
        assert!(
            result.run.outcome.is_some_and(|outcome| outcome.failure.is_some_and(|why| why.code == *code))
        );
    }
    insta::assert_snapshot!(requests.join(", "), @"prompt_empty 1, prompt_too_long 1, prompt_not_utf8 1, usage 1, settings_invalid 1, key_missing 1, insecure_url 1, attachment_invalid 1, secret_found 1, attachment_unsupported 1, panel_size 1, model_invalid 1, model_unknown 1, output_unwritable 1, storage 3, damaged 1, spilled 1, run_not_found 1, price_unknown 1, prices_old 1, budget 1, auth 1, credits 1, credits_in_flight 3, key_limit 1, forbidden 1, refused 1, moderated 1, context_length 1, too_large 1, bad_request 1, rate_limited 3, upstream 3, connection 3, timeout 3, protocol 1, redirect 1, empty 2, reasoning_only 1, incomplete 1, answer_too_large 1, all_failed 3, no_majority 1, synthesis_unusable 1, circuit_open 3, check_failed 1, check_unavailable 1, unneeded 1, repeated 1, idempotency_conflict 1, cancelled 3, interrupted 3, busy 3, token_refused 1, scope_missing 1, host_refused 1, recursion 1, suspected_injection 1, link_unknown 1, hidden_text 1, internal 1");
}

#[tokio::test(start_paused = true)]
async fn a_seat_is_retried_until_it_answers() {
    let upstream = || fails(10, failure(Code::Upstream).with_status(503));
    let result = scenario([("ada", upstream()), ("ada", upstream()), ("ada", says(10, "The moon."))]);
    insta::assert_snapshot!(result.transcript().await, @"
    0 started | 0 sent 1
    10 failed 1 upstream, again in 818
    828 sent 1#2
    838 failed 1#2 upstream, again in 694
    1532 sent 1#3
    1542 answered 1#3 `The moon.` | 1542 decided verbatim
    1542 closed $0.0010
    complete decided at 1542, closed at 1542
      verbatim by ada from 1: `The moon.`
      because one model was asked, so there was nothing to fuse
      1 ada answered, 3 requests 1542 ms, $0.0010
    ");
    let result = scenario([("ada", upstream()), ("ada", fails(10, failure(Code::Auth)))]);
    insta::assert_snapshot!(result.transcript().await, @"
    0 started | 0 sent 1
    10 failed 1 upstream, again in 818
    828 sent 1#2
    838 failed 1#2 auth, never again | 838 decided none
    838 closed $0.00
    failed decided at 838, closed at 838
      none
      because auth: no model answered (ada: scripted auth)
      1 ada failed, 2 requests 838 ms, ~$0.00: auth: scripted auth
    ");
    let result = scenario([("ada", upstream())]).plan(|plan| plan.retries_max = 0);
    insta::assert_snapshot!(result.transcript().await, @"
    0 started | 0 sent 1
    10 failed 1 upstream, never again | 10 decided none
    10 closed $0.00
    failed decided at 10, closed at 10
      none
      because upstream: no model answered (ada: scripted upstream)
      1 ada failed, 1 request 10 ms, $0.00: upstream: scripted upstream
    ");
}

#[tokio::test(start_paused = true)]
async fn waits_are_spread_and_bounded() {
    let mut all = (Vec::new(), Vec::new());
    for seed in 0..200 {
        let result =
            scenario([("ada", fails(10, failure(Code::Upstream)))]).plan(|plan| plan.seed = seed).run().await;
        let [first, second] = waits(&result)[..] else { panic!("two retries") };
        all.0.push(first);
        all.1.push(second);
    }
    let bounds = |mut waits: Vec<u64>| {
        waits.sort_unstable();
        (waits[0], waits[waits.len() / 2], waits[waits.len() - 1])
    };
    insta::assert_snapshot!(format!("{:?} {:?}", bounds(all.0), bounds(all.1)), @"(500, 738, 999) (511, 1262, 1996)");
}

#[tokio::test(start_paused = true)]
async fn the_providers_retry_after_is_respected() {
    let limited =
        |s| failure(Code::RateLimited).with_status(429).with_retry_after(Some(Duration::from_secs(s)));
    for seed in 0..50 {
        let result = scenario([("ada", fails(10, limited(7))), ("ada", says(5, "Yes."))])
            .plan(|plan| plan.seed = seed)
            .run()
            .await;
        let [wait] = waits(&result)[..] else { panic!("one retry") };
        assert!((7_000..=7_700).contains(&wait), "{wait}");
        assert_eq!(result.asked[1].at_ms, 10 + wait);
    }
    insta::assert_snapshot!(one_seat(fails(10, limited(3_600))).await.transcript(), @"
    0 started | 0 sent 1
    10 failed 1 rate_limited, never again | 10 decided none
    10 closed $0.00
    failed decided at 10, closed at 10
      none
      because rate_limited: no model answered (ada: scripted rate_limited)
      1 ada failed, 1 request 10 ms, $0.00: rate_limited: scripted rate_limited
    ");
    // Longer than the run has left.
    let result = scenario([("ada", fails(10, limited(50)))]).plan(|plan| plan.timers.run_ms = 30_000);
    insta::assert_snapshot!(result.transcript().await, @"
    0 started | 0 sent 1
    10 failed 1 rate_limited, never again | 10 decided none
    10 closed $0.00
    failed decided at 10, closed at 10
      none
      because rate_limited: no model answered (ada: scripted rate_limited)
      1 ada failed, 1 request 10 ms, $0.00: rate_limited: scripted rate_limited
    ");
}

#[tokio::test(start_paused = true)]
async fn an_empty_answer_is_retried_once() {
    insta::assert_snapshot!(one_seat(after(10).end()).await.transcript(), @"
    0 started | 0 sent 1
    10 failed 1 empty, again in 818
    828 sent 1#2
    838 failed 1#2 empty, never again | 838 decided none
    838 closed $0.0020
    failed decided at 838, closed at 838
      none
      because empty: no model answered (ada: the model answered with nothing)
      1 ada failed, 2 requests 838 ms, $0.0020: empty: the model answered with nothing
    ");
    insta::assert_snapshot!(one_seat(after(10).text(" \n ").end()).await.end(), @"
    failed decided at 838, closed at 838
      none
      because empty: no model answered (ada: the model answered with nothing)
      1 ada failed, 2 requests 838 ms, $0.0020: empty: the model answered with nothing
    ");
    let result = scenario([("ada", after(10).end()), ("ada", says(10, "The moon."))]);
    insta::assert_snapshot!(result.run().await.end(), @"
    complete decided at 838, closed at 838
      verbatim by ada from 1: `The moon.`
      because one model was asked, so there was nothing to fuse
      1 ada answered, 2 requests 838 ms, $0.0020
    ");
}

#[tokio::test(start_paused = true)]
async fn blanks_of_a_first_try_leave_the_second_as_it_is() {
    let blanks = || after(10).text(&" \n".repeat(60)).end();
    let seats = [("ada", blanks()), ("ada", says(10, "It has 8 legs.")), ("bob", says(10, "8"))];
    let counted = scenario(seats).asks("How many legs has a spider?", "vote");
    insta::assert_snapshot!(counted.run().await.end(), @"
    complete decided at 838, closed at 838
      selected by ada from 1: `It has 8 legs.`
      because 2 of 2 answers say `8`
      1 ada answered, 2 requests 838 ms, $0.0020
      2 bob answered, 1 request 10 ms, $0.0010
    ");
    let seats = [("ada", says(10, "one")), ("bob", says(10, "two"))];
    let chain = [("fuser", blanks()), ("fuser", fuses(10, "one", "All."))];
    let (result, shown) = scenario(seats.into_iter().chain(chain)).run_with_watcher(every_text).await;
    insta::assert_snapshot!(result.end(), @"
    complete decided at 738, closed at 738
      fused by fuser from 1: `All.`
      because the synthesizer started from one answer and patched it from the others
      edited 1 for $0.0010 in 728 ms
      1 ada answered, 1 request 10 ms, $0.0010
      2 bob answered, 1 request 10 ms, $0.0010
      s1 fuser answered, 2 requests 728 ms, $0.0020
    ");
    insta::assert_snapshot!(shown, @r#""All.""#);
}

#[tokio::test(start_paused = true)]
async fn failures_that_would_repeat_are_not_retried() {
    let thought = after(10).reasoning().end_as(Finish::Length);
    insta::assert_snapshot!(one_seat(thought).await.transcript(), @"
    0 started | 0 sent 1
    10 failed 1 reasoning_only, never again | 10 decided none
    10 closed $0.0010
    failed decided at 10, closed at 10
      none
      because reasoning_only: no model answered (ada: the whole output was reasoning; no text was written)
      1 ada failed, 1 request 10 ms, $0.0010: reasoning_only: the whole output was reasoning; no text was written
    ");
    let counted = after(10).end_with(|end| {
        end.finish = Some(Finish::Length);
        end.usage.reasoning_tokens = Some(900);
    });
    insta::assert_snapshot!(one_seat(counted).await.end(), @"
    failed decided at 10, closed at 10
      none
      because reasoning_only: no model answered (ada: the whole output was reasoning; no text was written)
      1 ada failed, 1 request 10 ms, $0.0010: reasoning_only: the whole output was reasoning; no text was written
    ");
    let refused = after(10).end_with(|end| end.refusal = Some("I cannot help with that.".to_owned()));
    insta::assert_snapshot!(one_seat(refused).await.transcript(), @"
    0 started | 0 sent 1
    10 failed 1 refused, never again | 10 decided none
    10 closed $0.0010
    failed decided at 10, closed at 10
      none
      because refused: no model answered (ada: the model declined: I cannot help with that.)
      1 ada refused, 1 request 10 ms, $0.0010: refused: the model declined: I cannot help with that.
    ");
    let filtered = after(10).end_with(|end| end.filtered = true);
    insta::assert_snapshot!(one_seat(filtered).await.end(), @"
    failed decided at 10, closed at 10
      none
      because moderated: no model answered (ada: the provider's content filter stopped the answer)
      1 ada refused, 1 request 10 ms, $0.0010: moderated: the provider's content filter stopped the answer
    ");
    let filtered_late = after(10).text("The moon").end_with(|end| end.filtered = true);
    insta::assert_snapshot!(one_seat(filtered_late).await.end(), @"
    failed decided at 10, closed at 10
      none
      because moderated: no model answered (ada: the provider's content filter stopped the answer)
      1 ada cut, 1 request 10 ms, $0.0010: moderated: the provider's content filter stopped the answer
    ");
}

#[tokio::test(start_paused = true)]
async fn a_request_is_resent_without_the_rejected_field() {
    let rejected = |field: &str| {
        let mut failure = failure(Code::BadRequest).with_status(400);
        failure.rejected_field = Some(field.to_owned());
        fails(10, failure)
    };
    let result = scenario([
        ("ada", rejected("temperature")),
        ("ada", fails(10, failure(Code::Upstream).with_status(502))),
        ("ada", rejected("reasoning")),
        ("ada", fails(10, failure(Code::Upstream).with_status(502))),
        ("ada", says(10, "The moon.")),
    ])
    .run()
    .await;
    insta::assert_snapshot!(result.transcript(), @"
    0 started | 0 sent 1
    10 failed 1 bad_request, again without temperature
    10 sent 1#2
    20 failed 1#2 upstream, again in 564
    584 sent 1#3
    594 failed 1#3 bad_request, again without reasoning
    594 sent 1#4
    604 failed 1#4 upstream, again in 753
    1357 sent 1#5
    1367 answered 1#5 `The moon.` | 1367 decided verbatim
    1367 closed $0.0010
    complete decided at 1367, closed at 1367
      verbatim by ada from 1: `The moon.`
      because one model was asked, so there was nothing to fuse
      1 ada answered, 5 requests 1367 ms, $0.0010
    ");
    let without: Vec<_> = result.asked.iter().map(|asked| asked.call.without.join("+")).collect();
    assert_eq!(without, ["", "temperature", "temperature", "temperature+reasoning", "temperature+reasoning"]);
    insta::assert_snapshot!(one_seat(rejected("temperature")).await.transcript(), @"
    0 started | 0 sent 1
    10 failed 1 bad_request, again without temperature
    10 sent 1#2
    20 failed 1#2 bad_request, never again | 20 decided none
    20 closed $0.00
    failed decided at 20, closed at 20
      none
      because bad_request: no model answered (ada: scripted bad_request)
      1 ada failed, 2 requests 20 ms, $0.00: bad_request: scripted bad_request
    ");
}

#[tokio::test(start_paused = true)]
async fn no_seat_retries_with_a_refused_key() {
    let result = scenario([
        ("ada", fails(10, failure(Code::Auth).with_status(401))),
        ("bob", fails(20, failure(Code::Upstream).with_status(502))),
        ("ollama:cyd", fails(30, failure(Code::Upstream).with_status(502))),
        ("ollama:cyd", says(10, "The moon.")),
    ])
    .run()
    .await;
    insta::assert_snapshot!(result.end(), @"
    failed decided at 20, closed at 20
      none
      because all_failed: no model answered (ada: scripted auth; bob: scripted upstream; ollama:cyd: scripted model_unknown)
      1 ada failed, 1 request 10 ms, $0.00: auth: scripted auth
      2 bob failed, 1 request 20 ms, $0.00: upstream: scripted upstream
      3 ollama:cyd failed, 1 request 0 ms, ~?: model_unknown: scripted model_unknown
    ");
}

#[tokio::test(start_paused = true)]
async fn an_announced_retry_is_called_off_if_the_key_is_refused() {
    let result = scenario([
        ("ada", fails(10, failure(Code::Upstream).with_status(502))),
        ("bob", fails(100, failure(Code::Auth).with_status(401))),
    ]);
    insta::assert_snapshot!(result.transcript().await, @"
    0 started | 0 sent 1 | 0 sent 2
    10 failed 1 upstream, again in 818
    100 failed 2 auth, never again
    828 failed 1 upstream, never again | 828 decided none
    828 closed $0.00
    failed decided at 828, closed at 828
      none
      because all_failed: no model answered (ada: scripted upstream; bob: scripted auth)
      1 ada failed, 1 request 828 ms, $0.00: upstream: scripted upstream
      2 bob failed, 1 request 100 ms, $0.00: auth: scripted auth
    ");
}

#[tokio::test(start_paused = true)]
async fn partial_text_is_kept_and_not_retried() {
    async fn check(length: usize) -> String {
        let text: &'static str = "m".repeat(length).leak();
        let cut = after(10).text(text).wait(5).fail(failure(Code::Connection));
        scenario([("ada", cut)]).transcript().await
    }
    insta::assert_snapshot!(check(199).await, @"
    0 started | 0 sent 1
    15 cut 1 `mmmmmmmmmmmm…` (199) by connection | 15 decided none
    15 closed $0.00
    failed decided at 15, closed at 15
      none
      because connection: no model answered (ada: scripted connection)
      1 ada cut, 1 request 15 ms, ~?: connection: scripted connection
    ");
    insta::assert_snapshot!(check(200).await, @"
    0 started | 0 sent 1
    15 cut 1 `mmmmmmmmmmmm…` (200) by connection | 15 decided verbatim
    15 closed $0.00
    partial decided at 15, closed at 15
      verbatim by ada from 1: `mmmmmmmmmmmm…` (200)
      because one model was asked, so there was nothing to fuse
      1 ada cut, 1 request 15 ms, ~?: connection: scripted connection
    ");
    let wide: &'static str = "潮".repeat(200).leak();
    let result = one_seat(after(10).text(wide).fail(failure(Code::Upstream))).await;
    assert_eq!(result.run.answered(), 1);
    assert_eq!(result.run.outcome.and_then(|outcome| outcome.text).as_deref(), Some(wide));
    // The stream ends without a final part.
    let result = scenario([("ada", after(10).text("The moon")), ("bob", after(10).accepted("gen-7"))]);
    insta::assert_snapshot!(result.run().await.end(), @"
    failed decided at 2530, closed at 2530
      none
      because connection: no model answered (ada, bob: the reply ended before it was whole)
      1 ada cut, 1 request 10 ms, ~?: connection: the reply ended before it was whole
      2 bob failed, 3 requests 2530 ms, ~?: connection: the reply ended before it was whole
    ");
}

#[tokio::test(start_paused = true)]
async fn status_comes_from_the_protocol_never_from_the_text() {
    insta::assert_snapshot!(one_seat(says(10, "Error: 429 rate limited, try again")).await.end(), @"
    complete decided at 10, closed at 10
      verbatim by ada from 1: `Error: 429 rate limited, try again`
      because one model was asked, so there was nothing to fuse
      1 ada answered, 1 request 10 ms, $0.0010
    ");
    insta::assert_snapshot!(one_seat(after(10).text("The moon pulls").end_as(Finish::Length)).await.end(), @"
    complete decided at 10, closed at 10
      verbatim by ada from 1: `The moon pulls`
      because one model was asked, so there was nothing to fuse
      1 ada answered, 1 request 10 ms, $0.0010
    ");
}

#[tokio::test(start_paused = true)]
async fn a_key_has_a_retry_budget() {
    // Thirty seats earn three retries in addition to the twenty of a key, so 23 of 60 retries are granted.
    let names: Vec<&'static str> = (1..=30).map(|number| &*format!("model-{number}").leak()).collect();
    let result =
        scenario(names.into_iter().map(|name| (name, fails(0, failure(Code::Upstream))))).run().await;
    let waited = result.events().iter().map(|recorded| recorded.elapsed_ms).max().unwrap_or(0);
    let earned = 23 + waited * 2 / 1_000;
    let retries = waits(&result).len() as u64;
    assert!((23..=earned).contains(&retries), "{retries} of at most {earned}");
    assert_eq!(result.asked.len() as u64, 30 + retries);
}

#[tokio::test(start_paused = true)]
async fn a_failed_call_is_free_only_if_nothing_had_begun() {
    let costs = async |reply: Reply| {
        let result = scenario([("ada", reply)]).plan(|plan| plan.retries_max = 0).run().await;
        let seat = &result.run.seats[0];
        format!("{:?} {}", seat.cost.map(|cost| cost.0), seat.cost_is_estimate)
    };
    let gone = || failure(Code::Connection);
    insta::assert_snapshot!(costs(after(10).fail(gone())).await, @"None true");
    insta::assert_snapshot!(costs(after(10).fail(gone().never_sent())).await, @"Some(0) false");
    insta::assert_snapshot!(costs(after(10).fail(failure(Code::Upstream).with_status(504))).await, @"None true");
    insta::assert_snapshot!(costs(after(10).accepted("gen-1").fail(gone())).await, @"None true");
    insta::assert_snapshot!(costs(after(10).reasoning().fail(gone())).await, @"None true");
    insta::assert_snapshot!(costs(after(10).fail(failure(Code::Upstream).with_status(502))).await, @"Some(0) false");
    insta::assert_snapshot!(costs(after(10).fail(Failure::new(Code::Protocol, "?"))).await, @"None true");
    insta::assert_snapshot!(costs(after(10).text("So far").fail(gone())).await, @"None true");
}

#[tokio::test(start_paused = true)]
async fn a_foreign_error_message_stays_on_one_line() {
    let result = one_seat(fails(10, Failure::new(Code::Forbidden, "no\u{1b}[2J\nway\u{202e}!"))).await;
    let failure = result.run.seats[0].failure.clone().expect("it failed");
    insta::assert_snapshot!(transcript::reason(&failure), @"forbidden: no [2J way !");
}
