//! Calls through the engine's port, against a server that sends scripted bytes.
#![expect(clippy::unwrap_used, reason = "helpers of tests may panic as the tests do")]

mod account;
mod documents;
mod limits;
mod upstream;

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use parallel_llm_engine::port::{Call, Caller, ReplyEnd, ReplyPart, SendGuard};
use parallel_llm_engine::{Code, Failure, Finish, Lineage, PicoUsd, Usage};
use parallel_llm_provider::{Dialect, Endpoint, KeyFetch, Provider, ProviderConfig};
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;
use upstream::{Act, EVENTS, KEY, Upstream, answer_of, ask, call, id, json, provider, send};

const HELLO: &str = "data: {\"model\":\"a/b-1\",\"choices\":[{\"delta\":{\"content\":\"Hello\"}}]}\n\n";
const END: &str = concat!(
    "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}],",
    "\"usage\":{\"prompt_tokens\":3,\"completion_tokens\":1,\"cost\":0.25}}\n\ndata: [DONE]\n\n"
);

/// A stream as a single chunk, without the final chunk.
fn chunked(events: &str) -> String {
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
    format!("{head}{:x}\r\n{events}\r\n", events.len())
}

#[tokio::test]
async fn a_call_gives_its_parts_in_order() {
    let upstream =
        Upstream::start(vec![send(EVENTS), send(": OPENROUTER PROCESSING\n\n"), send(HELLO), send(END)])
            .await;
    let end = ReplyEnd {
        finish: Some(Finish::Stop),
        usage: Usage { input_tokens: Some(3), output_tokens: Some(1), ..Usage::default() },
        cost: PicoUsd::from_decimal("0.25"),
        served_model: Some("a/b-1".to_owned()),
        generation_id: None,
        refusal: None,
        filtered: false,
    };
    assert_eq!(
        ask(&upstream.provider()).await,
        [
            Ok(ReplyPart::Connected),
            Ok(ReplyPart::Accepted { generation_id: "gen-1".to_owned() }),
            Ok(ReplyPart::Text("Hello".to_owned())),
            Ok(ReplyPart::End(end)),
        ]
    );
}

#[tokio::test]
async fn a_request_has_the_headers_and_fields_of_openrouter() {
    let upstream = Upstream::start(vec![send(EVENTS), send(END)]).await;
    ask(&upstream.provider()).await;
    let request = upstream.requests().remove(0);
    assert!(request.starts_with("POST /api/v1/chat/completions HTTP/1.1\r\n"), "{request}");
    for line in [
        &format!("authorization: Bearer {KEY}"),
        "content-type: application/json",
        "accept-encoding: identity",
        "x-openrouter-title: parallel-llm-mcp",
    ] {
        assert!(request.contains(&format!("{line}\r\n")), "{line} is missing in {request}");
    }
    assert!(!request.contains("referer"), "no address is invented: {request}");
    assert!(request.contains(r#""session_id":"00000000010000000000000002""#), "{request}");
}

#[tokio::test]
async fn nothing_leaves_before_the_reply_is_polled() {
    let upstream = Upstream::start(vec![send(EVENTS), send(END)]).await;
    let provider = upstream.provider();
    let reply = provider.admit(call()).await.unwrap().send();
    drop(reply);
    drop(provider.admit(call()).await.unwrap());
    assert_eq!(upstream.connections(), 0);
}

#[tokio::test]
async fn nothing_leaves_once_the_guard_refuses_it() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/api/v1", listener.local_addr().unwrap());
    let hearing = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut heard = Vec::new();
        let _ = stream.read_to_end(&mut heard).await;
        heard
    };
    let over = || Failure::new(Code::Storage, "the lease is over").with_retryable(false).never_sent();
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    let guard = SendGuard::new(move || {
        counted.fetch_add(1, Ordering::SeqCst);
        Err(over())
    });
    let reply = provider(&url, Some(KEY)).admit(call()).await.unwrap().send_guarded(guard);
    let (heard, parts) = tokio::join!(hearing, reply.collect::<Vec<_>>());
    assert_eq!(parts, [Err(over())]);
    assert_eq!(asked.load(Ordering::SeqCst), 1, "it is asked once, when the connection stands");
    assert_eq!(heard, b"", "not even a head has left");
}

#[tokio::test]
async fn a_request_that_may_leave_tells_its_length() {
    let upstream = Upstream::start(vec![send(EVENTS), send(END)]).await;
    let reply = upstream.provider().admit(call()).await.unwrap().send_guarded(SendGuard::open());
    assert!(reply.collect::<Vec<_>>().await.iter().all(Result::is_ok));
    let request = upstream.requests().remove(0);
    assert!(request.contains("content-length: ") && !request.contains("chunked"), "{request}");
}

#[tokio::test]
async fn a_call_without_a_key_costs_nothing() {
    let upstream = Upstream::start(Vec::new()).await;
    let failure = provider(&upstream.url, Some("  ")).admit(call()).await.unwrap_err();
    assert_eq!(failure.code, Code::KeyMissing);
    assert!(failure.next_step().contains("OPENROUTER_API_KEY"));
    let nobody = Provider::new(ProviderConfig::default()).unwrap().admit(call()).await.unwrap_err();
    assert_eq!(nobody.code, Code::SettingsInvalid);
    assert_eq!(upstream.connections(), 0);
}

#[tokio::test]
async fn a_rejection_keeps_its_status_wait_and_message() {
    let body = r#"{"error":{"message":"Slow down","code":429}}"#;
    let upstream = Upstream::start(vec![json("429 Too Many Requests", "Retry-After: 2\r\n", body)]).await;
    let failure = ask(&upstream.provider()).await.remove(0).unwrap_err();
    assert_eq!(
        (failure.code, failure.status, failure.retry_after_ms),
        (Code::RateLimited, Some(429), Some(2000))
    );
    assert_eq!(failure.message, "openrouter answered 429: Slow down");
    assert_eq!(upstream.requests().len(), 1, "nothing is sent again");
}

#[tokio::test]
async fn a_key_that_is_echoed_is_not_shown() {
    let body = format!(r#"{{"error":{{"message":"bad header Bearer {KEY}","code":400}}}}"#);
    let upstream = Upstream::start(vec![json("400 Bad Request", "", &body)]).await;
    let failure = ask(&upstream.provider()).await.remove(0).unwrap_err();
    assert_eq!(failure.message, "openrouter answered 400: bad header Bearer ***");
    assert!(!format!("{:?}", upstream.provider()).contains("sk-or"));
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    for status in ["301 Moved", "302 Found", "307 Temporary Redirect", "308 Permanent Redirect"] {
        let thief = Upstream::start(vec![send(EVENTS), send(END)]).await;
        let location = format!("Location: {}/steal\r\n", thief.url.replace("127.0.0.1", "localhost"));
        let upstream = Upstream::start(vec![json(status, &location, "")]).await;
        let failure = ask(&upstream.provider()).await.remove(0).unwrap_err();
        assert_eq!(failure.code, Code::Redirect);
        assert!(failure.message.ends_with("points to localhost"), "{}", failure.message);
        assert_eq!(thief.connections(), 0, "{status}");
    }
}

#[tokio::test]
async fn a_connection_that_fails_names_the_host() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let failure =
        ask(&provider(&format!("http://{address}/secret/path"), Some(KEY))).await.remove(0).unwrap_err();
    assert_eq!((failure.code, failure.retryable), (Code::Connection, true));
    assert!(failure.message.contains(&address.to_string()), "{}", failure.message);
    assert!(
        failure.message.contains("refused") && !failure.message.contains("secret"),
        "{}",
        failure.message
    );
}

#[tokio::test]
async fn a_reply_that_breaks_off_says_how() {
    let cut = Upstream::start(vec![send(EVENTS), send(HELLO)]).await;
    let (text, failure) = answer_of(&cut.provider()).await;
    assert_eq!((text.as_str(), failure.unwrap_err().code), ("Hello", Code::Incomplete));

    let reset =
        Upstream::start(vec![send(EVENTS), send(HELLO), Act::Wait(Duration::from_millis(50)), Act::Reset])
            .await;
    let (text, failure) = answer_of(&reset.provider()).await;
    assert_eq!((text.as_str(), failure.unwrap_err().code), ("Hello", Code::Connection));

    let mid_chunk = Upstream::start(vec![send(chunked(HELLO)), send("ff\r\ndata"), Act::Reset]).await;
    assert_eq!(answer_of(&mid_chunk.provider()).await.1.unwrap_err().code, Code::Connection);

    let silent = Upstream::start(vec![Act::Reset]).await;
    let failure = answer_of(&silent.provider()).await.1.unwrap_err();
    assert_eq!((failure.code, failure.retryable), (Code::Connection, true));
}

#[tokio::test]
async fn what_is_no_http_is_a_protocol_failure() {
    let flood = "x-flood: 1\r\n".repeat(10_000);
    for answer in [
        "SMTP ready\r\n\r\n".to_owned(),
        chunked(HELLO) + "zz\r\n",
        format!("HTTP/1.1 200 OK\r\n{flood}\r\n"),
    ] {
        let upstream = Upstream::start(vec![send(&answer), Act::AwaitClose]).await;
        let failure = answer_of(&upstream.provider()).await.1.unwrap_err();
        assert_eq!(failure.code, Code::Protocol, "{} for {:.40}", failure.message, answer);
    }
}

/// If a response has both a length and chunks, the chunks determine its end (RFC 9112, 6.3). The answer is paid for, so it
/// is read; bytes after it belong to no request, so the connection is closed.
#[tokio::test]
async fn chunks_override_a_content_length_and_no_reply_is_smuggled_in() {
    let whole = format!("{}0\r\n\r\n", chunked(&[HELLO, END].concat()));
    let smuggled = whole.replace("Hello", "Stolen");
    for length in [0, 9, 100_000] {
        let both = format!("\r\nContent-Length: {length}\r\nTransfer");
        let upstream =
            Upstream::start(vec![send(whole.replacen("\r\nTransfer", &both, 1) + &smuggled)]).await;
        let provider = upstream.provider();
        for count in 1..=2 {
            assert_eq!(answer_of(&provider).await, ("Hello".to_owned(), Ok(())), "{length}");
            assert_eq!((upstream.requests().len(), upstream.connections()), (count, count), "{length}");
        }
    }
}

#[tokio::test]
async fn a_connection_is_reused_even_if_its_body_ends_late() {
    let end =
        [send(chunked(&[HELLO, END].concat())), Act::Wait(Duration::from_millis(20)), send("0\r\n\r\n")];
    let upstream = Upstream::start(end.to_vec()).await;
    let provider = upstream.provider();
    for _ in 0..3 {
        assert!(answer_of(&provider).await.1.is_ok());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!((upstream.requests().len(), upstream.connections()), (3, 1));
    provider.close();
    assert!(answer_of(&provider).await.1.is_ok());
    assert_eq!(upstream.connections(), 2, "idle connections are closed");
}

#[tokio::test]
async fn a_call_right_after_another_reuses_its_connection() {
    let upstream = Upstream::start(vec![send(chunked(&[HELLO, END].concat()) + "0\r\n\r\n")]).await;
    let provider = upstream.provider();
    for _ in 0..5 {
        assert!(answer_of(&provider).await.1.is_ok());
    }
    // An unneeded second connection would be accepted a moment later.
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!((upstream.requests().len(), upstream.connections()), (5, 1));
}

#[tokio::test]
async fn the_end_does_not_wait_for_the_connection() {
    let upstream = Upstream::start(vec![send(chunked(&[HELLO, END].concat())), Act::AwaitClose]).await;
    let done = tokio::time::timeout(Duration::from_millis(500), answer_of(&upstream.provider())).await;
    assert!(done.unwrap().1.is_ok());
}

#[tokio::test]
async fn dropping_a_reply_closes_its_connection_and_frees_its_slot() {
    let upstream = Upstream::start(vec![send(EVENTS), send(HELLO), Act::AwaitClose]).await;
    let endpoint =
        Endpoint::new(id(), &upstream.url, None, Dialect::OPENAI_COMPATIBLE).unwrap().with_calls_max(1);
    let provider =
        Provider::new(ProviderConfig { endpoints: vec![endpoint], ..ProviderConfig::default() }).unwrap();
    let mut reply = provider.admit(call()).await.unwrap().send();
    assert!(reply.next().await.unwrap().is_ok());
    assert!(provider.admit(call()).now_or_never().is_none(), "the only slot is taken");
    drop(reply);
    assert!(provider.admit(call()).now_or_never().is_some());
}

#[tokio::test]
async fn a_server_learns_through_which_servers_a_question_came() {
    let replies = vec![send(chunked(&[HELLO, END].concat())); 2];
    let upstream = Upstream::start(replies).await;
    let endpoint = || Endpoint::new(id(), &upstream.url, None, Dialect::OPENAI_COMPATIBLE).unwrap();
    let config = |process_id: &str| ProviderConfig {
        endpoints: vec![endpoint()],
        process_id: process_id.to_owned(),
        ..ProviderConfig::default()
    };
    let lineage = Lineage { via: vec!["A1".to_owned(), "B2".to_owned()], trace: None, batch: None };
    for process_id in ["C3", ""] {
        let provider = Provider::new(config(process_id)).unwrap();
        let call = Call { lineage: lineage.clone().into(), ..call() };
        provider.admit(call).await.unwrap().send().collect::<Vec<_>>().await;
    }
    let via = |request: &String| request.lines().find(|line| line.contains("-via:")).map(str::to_owned);
    let sent: Vec<Option<String>> = upstream.requests().iter().map(via).collect();
    assert_eq!(sent, [Some("x-parallel-llm-via: A1, B2, C3".to_owned()), None]);
}

#[tokio::test]
async fn a_compressed_flood_is_bounded() {
    let mut zip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    zip.write_all(b"data: ").unwrap();
    for _ in 0..256 {
        zip.write_all(&vec![b'x'; 1024 * 1024]).unwrap();
    }
    let body = zip.finish().unwrap();
    let head = EVENTS.replace("Connection", "Content-Encoding: gzip\r\nConnection");
    let upstream = Upstream::start(vec![send(head), Act::Send(body)]).await;
    assert_eq!(answer_of(&upstream.provider()).await.1.unwrap_err().code, Code::Protocol);
}

#[tokio::test]
async fn a_line_of_64_mib_and_a_flood_of_text_are_bounded() {
    let line =
        Upstream::start(vec![send(EVENTS), send("data: "), Act::Repeat(vec![b'x'; 1024 * 1024], 64)]).await;
    assert_eq!(answer_of(&line.provider()).await.1.unwrap_err().code, Code::Protocol);

    let event = HELLO.replace("Hello", &"x".repeat(100_000));
    let flood = Upstream::start(vec![send(EVENTS), Act::Repeat(event.into_bytes(), 1000)]).await;
    let (text, failure) = answer_of(&flood.provider()).await;
    assert_eq!((text.len(), failure.unwrap_err().code), (8 * 1024 * 1024, Code::AnswerTooLarge));
}

#[tokio::test]
async fn a_compressed_stream_is_read() {
    let mut zip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    zip.write_all([HELLO, END].concat().as_bytes()).unwrap();
    let head = EVENTS.replace("Connection", "Content-Encoding: gzip\r\nConnection");
    let upstream = Upstream::start(vec![send(head), Act::Send(zip.finish().unwrap())]).await;
    assert_eq!(answer_of(&upstream.provider()).await.0, "Hello");
}

#[tokio::test]
async fn the_body_of_an_error_is_limited_in_time_and_size() {
    let head = "HTTP/1.1 500 Internal Server Error\r\nConnection: close\r\n\r\n";
    let upstream = Upstream::start(vec![send(head), Act::Repeat(vec![b'x'; 1024 * 1024], 64)]).await;
    let failure = answer_of(&upstream.provider()).await.1.unwrap_err();
    let expected = format!("openrouter answered 500: {}…", "x".repeat(160));
    assert_eq!((failure.code, failure.message), (Code::Upstream, expected));
}

#[tokio::test]
async fn the_catalogue_is_fetched_and_bounded() {
    let body = r#"{"data":[{"id":"a/b","pricing":{"prompt":"0.000002","completion":"-1"}}],"total_count":1}"#;
    let upstream = Upstream::start(vec![json("200 OK", "", body)]).await;
    let catalogue = upstream.provider().fetch_catalogue(&id()).await.unwrap();
    assert!(catalogue.is_live() && catalogue.find("a/b").unwrap().price.is_none());
    assert!(upstream.requests()[0].starts_with("GET /api/v1/models "));
    upstream.provider().fetch_catalogue_keyless(&id()).await.unwrap();
    let has_key: Vec<bool> = upstream.requests().iter().map(|request| request.contains(KEY)).collect();
    assert_eq!(has_key, [true, false]);

    let refused =
        Upstream::start(vec![json("401 Unauthorized", "", r#"{"error":{"message":"User not found."}}"#)])
            .await;
    assert_eq!(refused.provider().fetch_catalogue(&id()).await.unwrap_err().code, Code::Auth);
    let endless = Upstream::start(vec![
        send("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"),
        Act::Repeat(vec![b' '; 1024 * 1024], 64),
    ]);
    let failure = endless.await.provider().fetch_catalogue(&id()).await.unwrap_err();
    assert!(failure.message.contains("longer than"), "{}", failure.message);
}

/// An https address on this machine whose server has a self-signed certificate.
fn untrusted() -> String {
    let certificate = include_bytes!("upstream/self_signed.der").to_vec().into();
    let key =
        rustls::pki_types::PrivatePkcs8KeyDer::from(include_bytes!("upstream/self_signed_key.der").to_vec());
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], key.into())
        .unwrap();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://localhost:{}/api/v1", listener.local_addr().unwrap().port());
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut server = rustls::ServerConnection::new(std::sync::Arc::new(tls)).unwrap();
        let _ = server.complete_io(&mut stream);
    });
    url
}

#[tokio::test]
async fn an_untrusted_certificate_is_refused_and_not_retried() {
    let failure = answer_of(&provider(&untrusted(), Some(KEY))).await.1.unwrap_err();
    assert_eq!((failure.code, failure.retryable), (Code::Connection, false), "{}", failure.message);
    assert!(failure.message.contains("certificate of openrouter at localhost"), "{}", failure.message);
}

#[tokio::test]
async fn a_handshake_that_stalls_is_given_up_by_the_connect_timer() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/v1", listener.local_addr().unwrap());
    let failure = answer_of(&provider(&url, Some(KEY))).await.1.unwrap_err();
    assert_eq!((failure.code, failure.retryable), (Code::Timeout, true), "{}", failure.message);
    assert!(failure.message.contains("timer `connect` of 1000 ms"), "{}", failure.message);
    assert!(failure.next_step().contains("connect_timeout_ms"));
}

#[tokio::test]
async fn a_failure_of_a_key_program_is_reported_without_keys() {
    let token = format!("sk-or-v1-{}", "0".repeat(64));
    let said = format!("the keeper says: token {token} expired");
    let fetch: KeyFetch = Box::new(move || {
        let failure = Failure::new(Code::KeyMissing, said.clone());
        Box::pin(async move { Err(failure) })
    });
    let endpoint = Endpoint::new(id(), "http://127.0.0.1:1/api/v1", None, Dialect::OPENROUTER).unwrap();
    let endpoints = vec![endpoint.with_key_fetch(fetch)];
    let provider = Provider::new(ProviderConfig { endpoints, ..ProviderConfig::default() }).unwrap();
    let failures = [
        provider.check_key(&id()).await.unwrap_err(),
        provider.fetch_credit(&id()).await.unwrap_err(),
        provider.admit(call()).await.unwrap_err(),
    ];
    for failure in failures {
        assert_eq!(failure.message, "the keeper says: token *** expired");
    }
}
