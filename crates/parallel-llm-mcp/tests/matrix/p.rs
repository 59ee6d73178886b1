//! The process: signals, limits, and what ends it.

use parallel_llm_testkit::seats;
use parallel_llm_testkit::simulator::{Fault, Script};
use tokio::time::{Duration, Instant};

use super::database::{self, Stranger};
use super::{HANGING, ONE, TWO, ask, done, hanging, holds, kept, sandbox, until_one_has_answered, word};

/// "At once", on a busy machine.
const AT_ONCE: Duration = Duration::from_secs(5);

#[test]
fn p04_sigint_twice() {
    let sandbox = hanging();
    let running = ask(&sandbox, &[ONE, HANGING]).start();
    until_one_has_answered(&sandbox);
    // Saving is held up, so that there is something to cut short.
    let mut stranger = Stranger::new(&database::path(&sandbox));
    stranger.execute("BEGIN IMMEDIATE");
    running.signal("INT");
    sandbox.until("the first signal is heard", || sandbox.chats().iter().any(|chat| chat.client_cancelled));
    running.signal("INT");
    let signalled = Instant::now();
    let output = running.wait();
    assert!(signalled.elapsed() < AT_ONCE, "it left after {:?}", signalled.elapsed());
    output.assert_no_key();
    assert_eq!(output.code, Some(130));
    assert!(output.stderr.contains("Ctrl-C stops at once"), "{}", output.stderr);
    stranger.execute("ROLLBACK");
    drop(stranger);
    let told = seats(&kept(&sandbox));
    assert!(
        told.contains("1 openai/gpt-6.1-sol answered x1") && told.contains("unknown interrupted x1"),
        "{told}"
    );
    holds(&sandbox);
}

#[test]
fn p06_sighup() {
    let sandbox = hanging();
    let running = ask(&sandbox, &[ONE, HANGING]).start();
    until_one_has_answered(&sandbox);
    running.signal("HUP");
    let output = running.wait();
    output.assert_no_key();
    assert_eq!(output.code, Some(129), "{}", output.stderr);
    assert!(output.stderr.contains("stopping: what has come is saved"), "{}", output.stderr);
    assert!(sandbox.chats().iter().any(|chat| chat.client_cancelled), "its connection was closed");
    let report = kept(&sandbox);
    assert_eq!(word(&report, "status"), "cancelled");
    assert!(seats(&report).starts_with("1 openai/gpt-6.1-sol answered x1"), "{}", seats(&report));
    holds(&sandbox);

    // As under `nohup`.
    let sandbox = hanging();
    let running = ask(&sandbox, &[ONE, HANGING]).under("trap '' HUP").start();
    until_one_has_answered(&sandbox);
    running.signal("HUP");
    running.signal("TERM");
    let output = running.wait();
    assert_eq!(output.code, Some(143), "only the second was heard: {}", output.stderr);
    holds(&sandbox);
}

#[test]
fn p08_little_memory() {
    // Address space, of which a thread's stack takes more than it uses; in kilobytes.
    const LITTLE: &str = "ulimit -v 524288";
    let sandbox = sandbox().scripted(HANGING, Script::fault(Fault::HugeLine));
    let output = done(ask(&sandbox, &[ONE, TWO, HANGING]).under(LITTLE));
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let report = output.json();
    assert_eq!(word(&report["answers"][2]["error"], "code"), "protocol");
    assert_eq!(kept(&sandbox)["answer"], report["answer"]);
    holds(&sandbox);
}
