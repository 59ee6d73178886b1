//! The process: signals, limits, and what ends it.

use parallel_llm_testkit::seats;
use parallel_llm_testkit::simulator::{Fault, Script};
use tokio::time::{Duration, Instant};

use super::database::{self, Stranger};
use super::{HANGING, ONE, TWO, ask, done, hanging, holds, kept, stage, until_one_has_answered, word};

/// "At once", on a busy machine.
const AT_ONCE: Duration = Duration::from_secs(5);

#[test]
fn p04_sigint_twice() {
    let stage = hanging();
    let running = ask(&stage, &[ONE, HANGING]).start();
    until_one_has_answered(&stage);
    // Saving is held up, so that there is something to cut short.
    let mut stranger = Stranger::new(&database::path(&stage));
    stranger.execute("BEGIN IMMEDIATE");
    running.signal("INT");
    stage.until("the first signal is heard", || stage.chats().iter().any(|chat| chat.client_cancelled));
    running.signal("INT");
    let signalled = Instant::now();
    let output = running.wait();
    assert!(signalled.elapsed() < AT_ONCE, "it left after {:?}", signalled.elapsed());
    output.assert_no_key();
    assert_eq!(output.code, Some(130));
    assert!(output.stderr.contains("once more to stop at once"), "{}", output.stderr);
    stranger.execute("ROLLBACK");
    drop(stranger);
    let told = seats(&kept(&stage));
    assert!(
        told.contains("1 openai/gpt-6.1-sol answered x1") && told.contains("unknown interrupted x1"),
        "{told}"
    );
    holds(&stage);
}

#[test]
fn p06_sighup() {
    let stage = hanging();
    let running = ask(&stage, &[ONE, HANGING]).start();
    until_one_has_answered(&stage);
    running.signal("HUP");
    let output = running.wait();
    output.assert_no_key();
    assert_eq!(output.code, Some(129), "{}", output.stderr);
    assert!(output.stderr.contains("stopping: what has come is saved"), "{}", output.stderr);
    assert!(stage.chats().iter().any(|chat| chat.client_cancelled), "its connection was closed");
    let report = kept(&stage);
    assert_eq!(word(&report, "status"), "cancelled");
    assert!(seats(&report).starts_with("1 openai/gpt-6.1-sol answered x1"), "{}", seats(&report));
    holds(&stage);

    // As under `nohup`.
    let stage = hanging();
    let running = ask(&stage, &[ONE, HANGING]).under("trap '' HUP").start();
    until_one_has_answered(&stage);
    running.signal("HUP");
    running.signal("TERM");
    let output = running.wait();
    assert_eq!(output.code, Some(143), "only the second was heard: {}", output.stderr);
    holds(&stage);
}

#[test]
fn p08_little_memory() {
    // Address space, of which a thread's stack takes more than it uses; in kilobytes.
    const LITTLE: &str = "ulimit -v 524288";
    let stage = stage().scripted(HANGING, Script::fault(Fault::HugeLine));
    let output = done(ask(&stage, &[ONE, TWO, HANGING]).under(LITTLE));
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let report = output.json();
    assert_eq!(word(&report["answers"][2]["error"], "code"), "protocol");
    assert_eq!(kept(&stage)["answer"], report["answer"]);
    holds(&stage);
}
