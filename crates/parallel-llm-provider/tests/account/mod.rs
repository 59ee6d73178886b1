//! The cost of a call: whether closing the connection stops it, and the charge that the provider reports afterwards.

use std::time::Duration;

use parallel_llm_engine::port::{Caller, Charge};
use parallel_llm_engine::{Code, Failure, ModelRef, PicoUsd, ProviderId, Usage};
use parallel_llm_provider::{Dialect, Endpoint, Provider, ProviderConfig};

use crate::upstream::{Act, KEY, Upstream, call, call_to, id, json, provider, send};

/// Looks up the charge of this call.
async fn look_up(provider: &Provider, generation_id: &str) -> Result<Option<Charge>, Failure> {
    provider.look_up(&call().model, generation_id).await
}

#[tokio::test]
async fn a_permit_knows_whether_closing_the_connection_stops_billing() {
    let router = provider("http://127.0.0.1:1/api/v1", Some(KEY));
    let stops = async |provider: &Provider, model: &str| {
        provider.admit(call_to(model)).await.unwrap().stops_billing()
    };
    assert!(stops(&router, "~openai/gpt-sol-latest").await);
    assert!(!stops(&router, "google/gemini-4-argon").await);
    for (dialect, expected) in
        [(Dialect::OPENAI_COMPATIBLE, true), (Dialect::MISTRAL, false), (Dialect::XAI, true)]
    {
        let key = parallel_llm_provider::ApiKey::parse(KEY).unwrap();
        let endpoint = Endpoint::new(id(), "http://127.0.0.1:1/v1", key, dialect).unwrap();
        let config = ProviderConfig { endpoints: vec![endpoint], ..ProviderConfig::default() };
        assert_eq!(stops(&Provider::new(config).unwrap(), "google/x").await, expected, "{dialect:?}");
    }
}

#[tokio::test]
async fn a_charge_is_looked_up_by_its_generation_id() {
    let body =
        r#"{"data":{"id":"gen/1?&x= é","total_cost":"0.25","native_tokens_prompt":3,"tokens_completion":4}}"#;
    let upstream = Upstream::start(vec![json("200 OK", "", body)]).await;
    let usage = Usage { input_tokens: Some(3), output_tokens: Some(4), ..Usage::default() };
    let cost = PicoUsd::from_decimal("0.25").unwrap();
    assert_eq!(look_up(&upstream.provider(), "gen/1?&x= é").await, Ok(Some(Charge { cost, usage })));
    let request = upstream.requests().remove(0);
    assert!(
        request.starts_with("GET /api/v1/generation?id=gen%2F1%3F%26x%3D+%C3%A9 HTTP/1.1\r\n"),
        "{request}"
    );
    assert!(request.contains(&format!("authorization: Bearer {KEY}\r\n")), "{request}");
}

#[tokio::test]
async fn a_charge_that_cannot_be_looked_up_is_none_or_a_failure() {
    let echo = format!(r#"{{"error":{{"message":"bad header Bearer {KEY}","code":400}}}}"#);
    for (status, body, expected) in [
        (
            "404 Not Found",
            r#"{"error":{"message":"Generation gen-1 not found","code":404}}"#,
            Err(Code::Upstream),
        ),
        ("200 OK", r#"{"data":{"id":"gen-1"}}"#, Ok(None)),
        ("200 OK", r#"{"data":{"id":"gen-2","total_cost":1}}"#, Err(Code::Protocol)),
        ("200 OK", r#"{"data":{"id":"gen-1","total_cost":-1}}"#, Err(Code::Protocol)),
        ("200 OK", "<html>login</html>", Err(Code::Protocol)),
        ("401 Unauthorized", r#"{"error":{"message":"User not found.","code":401}}"#, Err(Code::Auth)),
        ("429 Too Many Requests", r#"{"error":{"message":"x","code":429}}"#, Err(Code::RateLimited)),
        ("500 Internal Server Error", "", Err(Code::Upstream)),
        ("302 Found", "", Err(Code::Redirect)),
        ("400 Bad Request", &echo, Err(Code::BadRequest)),
    ] {
        let upstream = Upstream::start(vec![json(status, "", body)]).await;
        let provider = upstream.provider();
        let found = look_up(&provider, "gen-1").await;
        assert!(!format!("{found:?}").contains(KEY), "{found:?}");
        assert_eq!(found.map_err(|failure| failure.code), expected, "{status} {body}");
        assert_eq!(upstream.requests().len(), 1, "{status}: it is asked once");
        assert!(provider.admit(call()).await.is_ok(), "{status}: it stops no call");
    }
}

#[tokio::test]
async fn a_lookup_is_limited_in_bytes_and_time() {
    let flood =
        vec![send("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"), Act::Repeat(vec![b' '; 1024 * 1024], 64)];
    let upstream = Upstream::start(flood).await;
    let failure = look_up(&upstream.provider(), "gen-1").await.unwrap_err();
    assert!(failure.message.contains("longer than 65536 bytes"), "{}", failure.message);

    let not_yet = json("404 Not Found", "", r#"{"error":{"message":"not found","code":404}}"#);
    let upstream = Upstream::in_turn(vec![vec![not_yet], vec![Act::AwaitClose]]).await;
    let provider = upstream.provider();
    let failure = look_up(&provider, "gen-1").await.unwrap_err();
    assert!(
        failure.retryable && failure.message == "openrouter has no account of the call yet",
        "{failure:?}"
    );
    let mut silent = std::pin::pin!(look_up(&provider, "gen-1"));
    while upstream.requests().len() < 2 {
        assert!(futures_util::poll!(&mut silent).is_pending());
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    tokio::time::pause();
    let failure = silent.await.unwrap_err();
    assert_eq!(failure.code, Code::Timeout);
    assert_eq!(failure.message, "openrouter gave no `generation` within 11000 ms");
}

#[tokio::test]
async fn charges_are_requested_only_from_a_router_and_only_by_id() {
    let upstream = Upstream::start(Vec::new()).await;
    assert_eq!(look_up(&upstream.provider(), "").await, Ok(None));
    let endpoint = Endpoint::new(id(), &upstream.url, None, Dialect::OPENAI_COMPATIBLE).unwrap();
    let config = ProviderConfig { endpoints: vec![endpoint], ..ProviderConfig::default() };
    assert_eq!(look_up(&Provider::new(config).unwrap(), "gen-1").await, Ok(None));
    let nobody = ModelRef { provider: ProviderId("nobody".to_owned()), model: "x".to_owned() };
    let failure = upstream.provider().look_up(&nobody, "gen-1").await.unwrap_err();
    assert_eq!(failure.code, Code::SettingsInvalid);
    assert_eq!(upstream.connections(), 0);
}
