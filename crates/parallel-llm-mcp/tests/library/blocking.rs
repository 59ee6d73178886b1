//! Blocking calls: without a runtime they work, inside of one they are refused.

use parallel_llm_mcp::Error;
use parallel_llm_mcp::client::ChatRequest;

use super::upstream::{MODELS, Upstream};

#[test]
fn a_program_without_a_runtime_blocks() {
    // The simulator needs a runtime, and the caller must be outside of it.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let upstream = runtime.block_on(Upstream::start());
    let panel = upstream.panel().panel([MODELS[0]]).build().unwrap();
    for question in ["Why?", "Why not?"] {
        assert_eq!(panel.ask_blocking(question).unwrap().status, "complete");
    }
    let client = upstream.client().build().unwrap();
    assert!(!client.chat_blocking(ChatRequest::new(MODELS[0], "Why?")).unwrap().text.is_empty());
    drop((panel, client));
    runtime.block_on(upstream.connections(0));
}

#[tokio::test]
async fn inside_a_runtime_a_blocking_call_is_refused_and_says_what_to_do() {
    let upstream = Upstream::start().await;
    let panel = upstream.panel().build().unwrap();
    let refused = panel.ask_blocking("Why?").unwrap_err();
    assert!(matches!(refused, Error::InsideRuntime));
    assert_eq!(
        format!("{refused} ({})", refused.next_step()),
        "a blocking call inside an async runtime would stop its other tasks: await the async method instead \
         (await `ask` or `chat`, or call from a thread of its own)"
    );
    let client = upstream.client().build().unwrap();
    let request = || ChatRequest::new(MODELS[0], "Why?");
    assert!(matches!(client.chat_blocking(request()), Err(Error::InsideRuntime)));
    assert_eq!(upstream.requests(), 0);
    // From a thread of its own it works.
    let asked = std::thread::spawn(move || client.chat_blocking(request()));
    let asked = tokio::task::spawn_blocking(move || asked.join().unwrap()).await.unwrap();
    assert!(asked.is_ok(), "{asked:?}");
}
