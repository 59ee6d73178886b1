//! Clients: replies, errors, streams, and that they leave no connection behind.

use std::error::Error as _;
use std::time::Duration;

use parallel_llm_mcp::client::{ChatPart, ChatRequest};
use parallel_llm_mcp::parallel::{Failed, Limiter, Parallel};
use parallel_llm_mcp::{Client, Code, Error};
use parallel_llm_testkit::simulator::{Fault, Script};

use super::upstream::{MODELS, Upstream};

fn question() -> ChatRequest {
    ChatRequest::new(MODELS[0], "Why is the sky blue?").max_tokens(200)
}

#[tokio::test]
async fn a_reply_is_whole_and_its_connection_is_used_again() {
    let upstream = Upstream::start().await.scripted(MODELS[0], Script::answering("It scatters."));
    let client = upstream.client().app_title("mine").header("X-Team", "blue").build().unwrap();
    for _ in 0..3 {
        let reply = client.chat(question().system("Be brief.").temperature(0.5)).await.unwrap();
        assert_eq!(reply.text, "It scatters.");
        assert_eq!(reply.end.finish.as_deref(), Some("stop"));
        assert!(reply.end.cost_usd.is_some() && reply.end.generation_id.is_some(), "{reply:?}");
    }
    assert_eq!(upstream.simulator.stats().connections, 1);
    let sent = &upstream.simulator.requests()[0];
    assert_eq!((sent.header("x-team"), sent.header("x-openrouter-title")), (Some("blue"), Some("mine")));
    assert!(client.models().await.unwrap().iter().any(|model| model.id == MODELS[0]));
    client.close().await;
    client.close().await;
    upstream.connections(0).await;
    assert!(matches!(client.chat(question()).await, Err(Error::Closed)));
}

#[tokio::test]
async fn a_reply_that_is_no_answer_is_a_typed_error() {
    let upstream = Upstream::start().await;
    let client = upstream.client().content_timeout(Duration::from_millis(200)).build().unwrap();
    for (fault, code) in [
        (Fault::EmptyChoices, Code::Empty),
        (Fault::NullContent, Code::Empty),
        (Fault::EmptyContent, Code::Empty),
        (Fault::Html200, Code::Protocol),
        (Fault::BadJsonChunk, Code::Protocol),
        (Fault::SseCut, Code::Incomplete),
        (Fault::ReasoningBurn, Code::ReasoningOnly),
        (Fault::Refusal, Code::Refused),
        (Fault::ContentFilter, Code::Moderated),
        (Fault::AuthBad, Code::Auth),
        (Fault::Credits, Code::Credits),
        (Fault::RateUpstream, Code::RateLimited),
        (Fault::Server500, Code::Upstream),
        (Fault::Redirect307, Code::Redirect),
        (Fault::Stall, Code::Timeout),
    ] {
        // Another model each time, because a model that fails is not asked for a while.
        let model = format!("sim/fault-{}", fault.name());
        let error = client.chat(ChatRequest::new(model, "Why?")).await.unwrap_err();
        assert_eq!(error.code(), code, "{fault:?}: {error:?}");
        assert!(matches!(error, Error::Call(_) | Error::Cut { .. }) && error.source().is_some(), "{error:?}");
        assert!(!error.next_step().is_empty());
    }
}

#[tokio::test]
async fn an_error_keeps_its_causes() {
    let client = Client::builder().key("sk-or-x").base_url("http://127.0.0.1:1/api/v1").build().unwrap();
    let error = client.chat(question()).await.unwrap_err();
    assert_eq!((error.code(), error.is_retryable()), (Code::Connection, true));
    let mut causes = vec![error.to_string()];
    let mut next = error.source();
    while let Some(cause) = next {
        causes.push(cause.to_string());
        next = cause.source();
    }
    assert!(causes.len() > 2, "{causes:?}");
    assert!(causes.last().unwrap().contains("refused"), "{causes:?}");
}

#[tokio::test]
async fn a_request_that_no_provider_would_take_is_not_sent() {
    let upstream = Upstream::start().await;
    let client = upstream.client().build().unwrap();
    for request in [
        ChatRequest::new(" ", "Why?"),
        ChatRequest::of(MODELS[0], []),
        question().temperature(3.0),
        question().temperature(f64::NAN),
        question().max_tokens(0),
    ] {
        assert!(matches!(client.chat(request).await, Err(Error::Call(_))));
    }
    let keyless = Client::builder().build().unwrap();
    let error = keyless.chat(question()).await.unwrap_err();
    let cause = error.source().unwrap();
    assert_eq!(
        format!("{cause} ({})", error.next_step()),
        "no API key is set for `openrouter` (give the builder a key for this provider)"
    );
    assert_eq!(upstream.requests(), 0);
}

#[tokio::test]
async fn a_stream_that_is_dropped_in_the_middle_closes_its_connection() {
    let upstream = Upstream::start().await.scripted(MODELS[0], Script::fault(Fault::Stall));
    let client = upstream.client().build().unwrap();
    let mut stream = client.stream(question()).await.unwrap();
    assert!(matches!(stream.next().await, Some(Ok(ChatPart::Text(_)))));
    upstream.connections(1).await;
    drop(stream);
    upstream.connections(0).await;
    assert_eq!(upstream.simulator.stats().client_cancelled, 1);
}

#[tokio::test]
async fn a_client_that_is_closed_ends_its_streams_even_those_that_nobody_reads() {
    let upstream = Upstream::start().await.scripted(MODELS[0], Script::fault(Fault::Stall));
    let client = upstream.client().build().unwrap();
    let mut held = client.stream(question()).await.unwrap();
    held.next().await.unwrap().unwrap();
    let mut reading = tokio::task::JoinSet::new();
    {
        let mut read = client.stream(question()).await.unwrap();
        reading.spawn(async move {
            let mut last = None;
            while let Some(part) = read.next().await {
                last = Some(part);
            }
            last
        });
    }
    upstream.in_flight(2).await;
    client.close().await;
    upstream.connections(0).await;
    assert!(matches!(reading.join_all().await[..], [Some(Err(Error::Closed))]));
    let rest: Vec<_> = futures_util::StreamExt::collect(held).await;
    assert!(matches!(rest.last(), Some(Err(Error::Closed))), "{rest:?}");
}

#[tokio::test]
async fn a_limiter_bounds_calls_of_several_clients() {
    let upstream = Upstream::start().await;
    let one = Limiter::new(1);
    let clients = [(); 2].map(|()| upstream.client().within(&one).build().unwrap());
    let calls = clients.iter().flat_map(|client| [(); 4].map(|()| client.chat(question())));
    assert!(futures_util::future::join_all(calls).await.iter().all(Result::is_ok));
    assert_eq!(upstream.simulator.stats().concurrent_high_water, 1);
}

#[tokio::test]
async fn what_has_come_of_a_reply_that_is_cut_is_in_its_error() {
    let upstream = Upstream::start().await;
    let client = upstream.client().content_timeout(Duration::from_millis(200)).build().unwrap();
    let cut = async |fault: Fault| {
        let model = format!("sim/fault-{}", fault.name());
        let error = client.chat(ChatRequest::new(model, "Why?")).await.unwrap_err();
        let reply = error.reply().unwrap_or_else(|| panic!("{fault:?}: {error:?}")).clone();
        assert!(reply.end.generation_id.is_some(), "{fault:?}: {reply:?}");
        reply
    };
    for fault in [Fault::SseCut, Fault::SseReset, Fault::Stall, Fault::SseErrorMid, Fault::BadJsonChunk] {
        let reply = cut(fault).await;
        assert!(!reply.text.is_empty() && reply.end.cost_usd.is_none(), "{fault:?}: {reply:?}");
    }
    for fault in [Fault::ReasoningBurn, Fault::EmptyContent, Fault::ContentFilter] {
        let reply = cut(fault).await;
        assert!(
            reply.end.cost_usd.is_some() && reply.end.usage.output_tokens.is_some(),
            "{fault:?}: {reply:?}"
        );
    }
}

#[tokio::test]
async fn a_model_that_thinks_in_silence_is_not_idle() {
    let upstream = Upstream::start().await.scripted(MODELS[0], Script::fault(Fault::AcceptNoReply));
    let upstream = upstream.scripted(MODELS[1], Script::fault(Fault::Stall));
    let client = upstream.client().idle_timeout(Duration::from_millis(50));
    let client = client.first_text_timeout(Duration::from_millis(400)).build().unwrap();
    let error = client.chat(question()).await.unwrap_err();
    insta::assert_snapshot!(error.source().unwrap(), @"no text or reasoning came within 0.4 s");
    let error = client.chat(ChatRequest::new(MODELS[1], "Why?")).await.unwrap_err();
    insta::assert_snapshot!(error.source().unwrap(), @"nothing came within 0.05 s");
}

#[tokio::test]
async fn a_limiter_that_waits_for_itself_ends_with_an_error_that_says_so() {
    let upstream = Upstream::start().await;
    let one = Limiter::new(1);
    let client = upstream.client().within(&one).call_timeout(Duration::from_millis(200)).build().unwrap();
    let asked = Parallel::new(2).within(&one).map([1, 2], async |_| client.chat(question()).await).await;
    let [Err(Failed::Error(error)), Err(Failed::Error(_))] = &asked[..] else { panic!("{asked:?}") };
    assert_eq!(error.code(), Code::Timeout);
    insta::assert_snapshot!(error.source().unwrap(), @"the call was not sent within 0.2 s: no place of its `Limiter` came free (a `Limiter` that is also given to the `Parallel` around the call waits for itself)");
    assert_eq!(upstream.requests(), 0);
    // Given to one of the two, it bounds both.
    let client = upstream.client().build().unwrap();
    let asked = Parallel::new(2).within(&one).map([1, 2], async |_| client.chat(question()).await).await;
    assert!(asked.iter().all(Result::is_ok), "{asked:?}");
    assert_eq!(upstream.simulator.stats().concurrent_high_water, 1);
}
