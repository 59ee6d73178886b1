//! The examples of the guide, each run against the simulator inside of a runtime that is there already.

#[path = "../../examples/ask.rs"]
mod ask;
#[path = "../../examples/events.rs"]
mod events;
#[path = "../../examples/journal.rs"]
mod journal;
#[path = "../../examples/parallel.rs"]
mod parallel;
#[path = "../../examples/provider.rs"]
mod provider;
#[path = "../../examples/server.rs"]
mod server;

use parallel_llm_mcp::CancellationToken;
use parallel_llm_testkit::simulator::Script;

use super::upstream::{MODELS, Upstream, WRITER};

async fn upstream() -> Upstream {
    let upstream = Upstream::start().await.scripted(WRITER, Script::answering("9.9 is larger."));
    upstream.scripted(MODELS[0], Script::answering("9.9.")).scripted(MODELS[1], Script::answering("9.11."))
}

#[tokio::test]
async fn ask() {
    let upstream = upstream().await;
    let text = ask::run(upstream.panel()).await.unwrap();
    let without_cost = text.split("\ncost").next().unwrap();
    insta::assert_snapshot!(without_cost, @r"
    9.9 is larger.
    openai/gpt-6.1-sol: answered
    x-ai/grok-4.7: answered
    ");
    upstream.connections(0).await;
}

#[tokio::test]
async fn events() {
    let upstream = upstream().await;
    let mut shown = Vec::new();
    events::run(upstream.panel(), &mut |line| shown.push(line.to_owned())).await.unwrap();
    let answered = |model: &str| shown.contains(&format!("{model} has answered"));
    assert!(MODELS.into_iter().all(answered), "{shown:?}");
    assert_eq!(shown.last().map(String::as_str), Some("9.9 is larger."));
    upstream.connections(0).await;
}

#[tokio::test]
async fn parallel() {
    let upstream = upstream().await;
    let text = parallel::run(upstream.client(), MODELS[0]).await.unwrap();
    assert_eq!(text, "Name a prime. 9.9.\nName a colour. 9.9.\nName a river. 9.9.");
    upstream.connections(0).await;
}

#[tokio::test]
async fn server() {
    let upstream = upstream().await;
    let (stop, mut url) = (CancellationToken::new(), String::new());
    stop.cancel();
    server::run(upstream.panel(), &stop, |served| served.clone_into(&mut url)).await.unwrap();
    assert!(url.starts_with("http://127.0.0.1:"), "{url}");
}

#[tokio::test]
async fn provider() {
    insta::assert_snapshot!(provider::run().await.unwrap(), @r"
    red says: Who is there?
    green says: Who is there?
    ");
}

#[tokio::test]
async fn journal() {
    let upstream = upstream().await;
    let lines = journal::run(upstream.panel().panel([MODELS[0]])).await.unwrap();
    let events = lines.lines().map(|line| {
        let event: serde_json::Value = serde_json::from_str(line).unwrap();
        event["event"].as_str().unwrap().to_owned()
    });
    insta::assert_snapshot!(events.collect::<Vec<_>>().join(" "), @"started sent accepted answered decided closed");
}
