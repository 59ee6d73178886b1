//! Blocking calls: without a runtime they work, inside of one they are refused.

use parallel_llm_mcp::Error;
use parallel_llm_mcp::client::ChatRequest;
use parallel_llm_mcp::parallel::Parallel;
use parallel_llm_testkit::simulator::{Fault, Script};

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
         (await the async method, over many items in `Parallel::map`, or call from a thread of its own)"
    );
    let client = upstream.client().build().unwrap();
    let request = || ChatRequest::new(MODELS[0], "Why?");
    assert!(matches!(client.chat_blocking(request()), Err(Error::InsideRuntime)));
    assert!(matches!(client.close_blocking(), Err(Error::InsideRuntime)));
    assert!(matches!(panel.close_blocking(), Err(Error::InsideRuntime)));
    assert!(matches!(panel.resume_blocking("@"), Err(Error::InsideRuntime)));
    assert!(matches!(panel.replay_blocking("@", "vote"), Err(Error::InsideRuntime)));
    assert!(matches!(panel.report_blocking("@"), Err(Error::InsideRuntime)));
    assert_eq!(upstream.requests(), 0);
    // From a thread of its own it works.
    let asked = std::thread::spawn(move || client.chat_blocking(request()));
    let asked = tokio::task::spawn_blocking(move || asked.join().unwrap()).await.unwrap();
    assert!(asked.is_ok(), "{asked:?}");
}

#[test]
fn a_program_without_a_runtime_continues_reads_and_closes() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let upstream = runtime.block_on(Upstream::start()).scripted(MODELS[0], Script::fault(Fault::Server500));
    let folder = tempfile::tempdir().unwrap();
    let panel = upstream.panel().folder(folder.path()).build().unwrap();
    let first = panel.ask_blocking("Why?").unwrap();
    assert_eq!(first.status, "partial");
    upstream.simulator.script(MODELS[0], Script::answering("Because."));
    assert_eq!(panel.resume_blocking(&first.run_id).unwrap().status, "complete");
    assert_eq!(panel.replay_blocking(&first.run_id, "panel").unwrap().strategy, "panel");
    assert_eq!(panel.report_blocking(&first.run_id).unwrap().strategy, "panel");
    panel.close_blocking().unwrap();
    assert!(matches!(panel.ask_blocking("Why?"), Err(Error::Closed)));
    let client = upstream.client().build().unwrap();
    client.close_blocking().unwrap();
    assert!(matches!(client.chat_blocking(ChatRequest::new(MODELS[0], "Why?")), Err(Error::Closed)));
    runtime.block_on(upstream.connections(0));
}

#[test]
fn a_panel_that_blocks_records_the_end_of_late_seats_when_it_is_dropped() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let upstream = runtime.block_on(Upstream::start()).scripted(MODELS[0], Script::fault(Fault::Stall));
    let folder = tempfile::tempdir().unwrap();
    let panel = || upstream.panel().wait("quorum:1").folder(folder.path()).build().unwrap();
    let first = panel();
    let report = first.ask_blocking("Why?").unwrap();
    drop(first);
    let report = panel().report_blocking(&report.run_id).unwrap();
    assert_eq!((report.status.as_str(), report.answers[0].status.as_str()), ("partial", "cancelled"));
}

#[tokio::test]
async fn the_closure_of_map_blocking_may_block() {
    let upstream = Upstream::start().await;
    let (panel, client) = (upstream.panel().build().unwrap(), upstream.client().build().unwrap());
    let (ask, chat) = (panel.clone(), client.clone());
    let asked = Parallel::new(2).map_blocking([1, 2], move |_| {
        ask.ask_blocking("Why?")?;
        chat.chat_blocking(ChatRequest::new(MODELS[0], "Why?"))
    });
    assert!(asked.await.iter().all(Result::is_ok));
    // Another thread of the runtime that may block cannot be told apart from one that must not.
    let other = tokio::task::spawn_blocking(move || panel.ask_blocking("Why?")).await.unwrap();
    assert!(matches!(other, Err(Error::InsideRuntime)));
}
