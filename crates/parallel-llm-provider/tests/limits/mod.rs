//! Limits shared between calls: a rate limit that one of them met, and a model that keeps failing.

use std::time::Duration;

use futures_util::future::join_all;
use futures_util::{FutureExt, StreamExt};
use parallel_llm_engine::port::{Caller, ReplyPart};
use parallel_llm_engine::{Code, Failure};
use parallel_llm_provider::{Circuit, CircuitState, Provider};
use tokio::time::Instant;

use crate::upstream::{Act, EVENTS, KEY, Upstream, answer_of, call, call_to, json, provider, send};
use crate::{END, HELLO};

/// A response for too many requests, with these headers.
fn limited(headers: &str) -> Vec<Act> {
    vec![json("429 Too Many Requests", headers, r#"{"error":{"message":"Slow down","code":429}}"#)]
}

fn hello() -> Vec<Act> {
    vec![send(EVENTS), send(HELLO), send(END)]
}

/// Makes a call that meets a limit, and checks how long the next call waits. The limit is met between two readings of the
/// clock, and the wait passes in paused time, so the speed of the machine does not matter.
async fn check_wait(provider: &Provider, expected: Duration) {
    let before = Instant::now();
    assert_eq!(fail(provider).await.code, Code::RateLimited);
    let after = Instant::now();
    tokio::time::pause();
    assert!(provider.admit(call()).await.is_ok());
    let (most, least) = (before.elapsed(), after.elapsed());
    tokio::time::resume();
    // Timers count whole milliseconds.
    let least = least.saturating_sub(Duration::from_millis(2));
    assert!((least..=most).contains(&expected), "{least:?} to {most:?} is not {expected:?}");
}

/// Whether a call to this model is admitted at once.
fn is_admitted(provider: &Provider, model: &str) -> bool {
    provider.admit(call_to(model)).now_or_never().is_some_and(|admitted| admitted.is_ok())
}

async fn fail(provider: &Provider) -> Failure {
    answer_of(provider).await.1.unwrap_err()
}

#[tokio::test]
async fn of_a_hundred_calls_only_those_under_way_meet_the_limit_and_one_asks_for_the_rest() {
    let probe_wait = Duration::from_millis(300);
    let mut acts = vec![limited("Retry-After: 1\r\n"); 64];
    acts.push([vec![Act::Wait(probe_wait)], hello()].concat());
    acts.push(hello());
    let upstream = Upstream::in_turn(acts).await;
    let provider = upstream.provider();
    let answers = join_all((0..100).map(|_| answer_of(&provider))).await;
    let limited = answers.iter().filter_map(|(_, end)| end.as_ref().err());
    let codes: Vec<Code> = limited.map(|failure| failure.code).collect();
    assert_eq!(codes, [Code::RateLimited; 64], "as many as have a slot at once");
    assert_eq!(answers.iter().filter(|(text, _)| text == "Hello").count(), 36);
    let request_times = upstream.request_times();
    assert_eq!(request_times.len(), 100, "each is sent once");
    let first_of_rest = request_times[65..].iter().min().unwrap();
    assert!(*first_of_rest >= request_times[64] + probe_wait, "the rest waits until the probe is answered");
}

#[tokio::test]
async fn the_others_wait_as_long_as_one_was_told() {
    let date = httpdate::fmt_http_date(std::time::UNIX_EPOCH);
    for (headers, expected) in [
        ("Retry-After: 2\r\n", 2_000),
        ("Retry-After: 1.5\r\n", 1_500),
        ("Retry-After-Ms: 250\r\n", 250),
        // No usable hint: the default of a second.
        ("", 1_000),
        ("Retry-After: soon\r\n", 1_000),
        ("Retry-After: -1\r\n", 1_000),
        ("Retry-After: 0\r\n", 1_000),
        (&format!("Retry-After: {date}\r\n"), 1_000),
    ] {
        let upstream = Upstream::start(limited(headers)).await;
        let provider = upstream.provider();
        check_wait(&provider, Duration::from_millis(expected)).await;
        assert_eq!(upstream.requests().len(), 1, "{headers}");
    }
}

#[tokio::test]
async fn a_wait_that_is_too_long_fails_at_once_and_says_when() {
    let upstream = Upstream::start(limited("Retry-After: 86400\r\n")).await;
    let provider = upstream.provider();
    assert_eq!(fail(&provider).await.retry_after_ms, Some(86_400_000));
    let failure = provider.admit(call()).now_or_never().unwrap().unwrap_err();
    assert_eq!((failure.code, failure.unsent), (Code::RateLimited, true));
    assert!(failure.retry_after_ms.is_some_and(|wait| wait > 86_000_000));
    let said = "openrouter told an earlier call to wait: `a/b` is limited for another ";
    assert!(failure.message.starts_with(said), "{}", failure.message);
    assert_eq!(upstream.requests().len(), 1);
}

#[tokio::test]
async fn a_limit_of_a_key_or_of_free_models_stops_all_its_calls() {
    let limited_by = |message: &str| {
        let body = serde_json::json!({"error": {"message": message, "code": 429}}).to_string();
        Upstream::start(vec![json("429 Too Many Requests", "Retry-After: 30\r\n", &body)])
    };
    let admitted_after = async |upstream: Upstream, model: &str| {
        let provider = upstream.provider();
        let reply: Vec<_> = provider.admit(call_to(model)).await.unwrap().send().collect().await;
        assert!(reply.last().unwrap().is_err());
        ["a/b", "a/c", "a/b:free", "a/c:free"].map(|model| is_admitted(&provider, model))
    };
    let of_free = limited_by("Rate limit exceeded: free-models-per-min.").await;
    assert_eq!(admitted_after(of_free, "a/b:free").await, [true, true, false, false]);
    let of_key = limited_by("Your account x request reached max organization concurrency: 1").await;
    assert_eq!(admitted_after(of_key, "a/b").await, [false; 4]);
    let of_model = limited_by("Rate limit reached for model `a/b` in organization x").await;
    assert_eq!(admitted_after(of_model, "a/b").await, [false, true, true, true]);
}

#[tokio::test]
async fn a_dropped_probe_is_replaced_by_the_next_call() {
    let upstream = Upstream::in_turn(vec![limited(""), vec![Act::AwaitClose]]).await;
    let provider = upstream.provider();
    fail(&provider).await;
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(1)).await;
    tokio::time::resume();
    let probe = provider.admit(call()).now_or_never().unwrap().unwrap();
    assert!(!is_admitted(&provider, "a/b"));
    drop(probe);
    let mut reply = provider.admit(call()).now_or_never().unwrap().unwrap().send();
    while upstream.requests().len() < 2 {
        assert!(reply.next().now_or_never().is_none());
        tokio::task::yield_now().await;
    }
    assert!(!is_admitted(&provider, "a/b"), "nothing has come yet");
    drop(reply);
    assert!(is_admitted(&provider, "a/b"));
}

#[tokio::test]
async fn a_limit_reported_inside_a_reply_also_closes_the_gate() {
    let error = "data: {\"error\":{\"code\":429,\"message\":\"Slow down\",\"metadata\":{\"retry_after_seconds\":3}}}\n\n";
    let upstream = Upstream::start(vec![send(EVENTS), send(error)]).await;
    let provider = upstream.provider();
    check_wait(&provider, Duration::from_secs(3)).await;
}

#[tokio::test]
async fn a_model_that_keeps_failing_is_not_asked_for_half_a_minute() {
    let broken = json("502 Bad Gateway", "", &format!(r#"{{"error":{{"message":"no {KEY}","code":502}}}}"#));
    let mut acts = vec![vec![broken]; 6];
    acts.push(hello());
    let upstream = Upstream::in_turn(acts).await;
    let provider = upstream.provider();
    for _ in 0..5 {
        assert_eq!(provider.circuits(), []);
        assert_eq!(fail(&provider).await.code, Code::Upstream);
    }
    let failure = provider.admit(call()).now_or_never().unwrap().unwrap_err();
    assert_eq!((failure.code, failure.retryable, failure.unsent), (Code::CircuitOpen, false, true));
    assert!(failure.retry_after_ms.is_some_and(|wait| (20_000..=30_000).contains(&wait)));
    assert!(failure.message.starts_with("openrouter: `a/b` failed 5 times and is not asked for another "));
    assert!(
        failure.message.ends_with(" s; the last time: openrouter answered 502: no ***"),
        "{}",
        failure.message
    );
    assert!(is_admitted(&provider, "a/other"));
    let open_circuits = |provider: &Provider| {
        let described =
            |Circuit { model, state, failures, last, .. }: Circuit| (model.model, state, failures, last);
        provider.circuits().into_iter().map(described).collect::<Vec<_>>()
    };
    let last = || "openrouter answered 502: no ***".to_owned();
    assert_eq!(open_circuits(&provider), [("a/b".to_owned(), CircuitState::Open, 5, last())]);

    let half_a_minute = async || {
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(30)).await;
        tokio::time::resume();
    };
    half_a_minute().await;
    assert_eq!(open_circuits(&provider), [("a/b".to_owned(), CircuitState::HalfOpen, 5, last())]);
    assert_eq!(fail(&provider).await.code, Code::Upstream, "one tries, in vain");
    assert_eq!(open_circuits(&provider), [("a/b".to_owned(), CircuitState::Open, 6, last())]);

    half_a_minute().await;
    let mut probe = provider.admit(call()).await.unwrap().send();
    let failure = provider.admit(call()).await.unwrap_err();
    assert!(failure.message.contains("not asked while another call tries it"), "{}", failure.message);
    while probe.next().await.unwrap().unwrap() != ReplyPart::Text("Hello".to_owned()) {}
    assert_eq!(provider.circuits(), [], "its first word closes the circuit");
    assert_eq!(upstream.requests().len(), 7);
    assert_eq!(answer_of(&provider).await.0, "Hello");
}

/// Sends a call, receives nothing, and drops the reply; a timeout is reported first if there is one.
async fn hang_up(upstream: &Upstream, provider: &Provider, timeout: Option<&Failure>) {
    let before = upstream.requests().len();
    let mut reply = provider.admit(call()).await.unwrap().send();
    while upstream.requests().len() == before {
        assert!(reply.next().now_or_never().is_none());
        tokio::task::yield_now().await;
    }
    if let Some(failure) = timeout {
        reply.timed_out(failure);
    }
}

#[tokio::test]
async fn timeouts_open_the_circuit_and_dropped_replies_do_not() {
    let upstream = Upstream::start(vec![Act::AwaitClose]).await;
    let provider = upstream.provider();
    for _ in 0..6 {
        hang_up(&upstream, &provider, None).await;
    }
    assert_eq!(provider.circuits(), []);
    let timeout = Failure::new(Code::Timeout, "no text or reasoning came within 300 s");
    for _ in 0..5 {
        hang_up(&upstream, &provider, Some(&timeout)).await;
    }
    let failure = provider.admit(call()).await.unwrap_err();
    assert_eq!((failure.code, upstream.requests().len()), (Code::CircuitOpen, 11));
    assert!(
        failure.message.ends_with(" s; the last time: no text or reasoning came within 300 s"),
        "{}",
        failure.message
    );
}

#[tokio::test]
async fn a_timeout_after_the_first_text_does_not_count() {
    let upstream = Upstream::start(vec![send(EVENTS), send(HELLO), Act::AwaitClose]).await;
    let provider = upstream.provider();
    let timeout = Failure::new(Code::Timeout, "no more text or reasoning came within 180 s");
    for _ in 0..6 {
        let mut reply = provider.admit(call()).await.unwrap().send();
        while reply.next().await.unwrap().unwrap() != ReplyPart::Text("Hello".to_owned()) {}
        reply.timed_out(&timeout);
    }
    assert_eq!(provider.circuits(), []);
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_is_tried_again_each_time() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let provider = provider(&format!("http://{}/api/v1", listener.local_addr().unwrap()), Some(KEY));
    drop(listener);
    for _ in 0..6 {
        let failure = fail(&provider).await;
        assert_eq!((failure.code, failure.unsent), (Code::Connection, true));
    }
    assert_eq!(provider.circuits(), []);
}

#[tokio::test]
async fn one_batch_of_failures_does_not_open_the_circuit() {
    let broken = json("502 Bad Gateway", "", r#"{"error":{"message":"no","code":502}}"#);
    let hiccup = vec![Act::Wait(Duration::from_millis(50)), broken];
    let upstream = Upstream::in_turn([vec![hiccup; 5], vec![hello()]].concat()).await;
    let provider = upstream.provider();
    // All are admitted before the first has failed.
    let batch = join_all((0..5).map(|_| provider.admit(call()))).await;
    let replies = batch.into_iter().map(|permit| permit.unwrap().send().collect::<Vec<_>>());
    for parts in join_all(replies).await {
        assert_eq!(parts.last().unwrap().as_ref().unwrap_err().code, Code::Upstream);
    }
    assert_eq!(provider.circuits(), []);
    assert_eq!(answer_of(&provider).await.0, "Hello");
}

#[tokio::test]
async fn failures_that_the_model_did_not_cause_do_not_count() {
    let end = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    for acts in [
        vec![json("400 Bad Request", "", r#"{"error":{"message":"no","code":400}}"#)],
        vec![json("401 Unauthorized", "", r#"{"error":{"message":"User not found.","code":401}}"#)],
        vec![send(EVENTS), send(end)],
        // An answer that broke off after its beginning.
        vec![send(EVENTS), send(HELLO)],
    ] {
        let upstream = Upstream::start(acts).await;
        let provider = upstream.provider();
        for _ in 0..6 {
            let _ = answer_of(&provider).await;
        }
        assert_eq!((provider.circuits(), upstream.requests().len()), (Vec::new(), 6));
    }
}
