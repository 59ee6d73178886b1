//! Faults of the process: signals and limits.

use parallel_llm_testkit::seats;
use parallel_llm_testkit::simulator::{Fault, Script};
use tokio::time::{Duration, Instant};

use super::database::{self, OutsideConnection};
use super::{
    HANGING, ONE, TWO, ask, assert_invariants, hanging, output_of, sandbox, stored_run,
    until_one_has_answered, word,
};

/// "At once", on a busy machine.
const AT_ONCE: Duration = Duration::from_secs(5);

#[test]
fn p04_sigint_twice() {
    let sandbox = hanging();
    let running = ask(&sandbox, &[ONE, HANGING]).start();
    until_one_has_answered(&sandbox);
    // The database is locked, so that there is something to interrupt.
    let mut outside = OutsideConnection::new(&database::path(&sandbox));
    outside.execute("BEGIN IMMEDIATE");
    running.signal("INT");
    sandbox.until("the first signal is handled", || sandbox.chats().iter().any(|chat| chat.client_cancelled));
    running.signal("INT");
    let signalled = Instant::now();
    let output = running.wait();
    assert!(signalled.elapsed() < AT_ONCE, "it ended after {:?}", signalled.elapsed());
    output.assert_no_key();
    assert_eq!(output.code, Some(130));
    assert!(output.stderr.contains("Ctrl-C stops at once"), "{}", output.stderr);
    outside.execute("ROLLBACK");
    drop(outside);
    let lines = seats(&stored_run(&sandbox));
    assert!(
        lines.contains("1 openai/gpt-6.1-sol answered x1") && lines.contains("unknown interrupted x1"),
        "{lines}"
    );
    assert_invariants(&sandbox);
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
    let report = stored_run(&sandbox);
    assert_eq!(word(&report, "status"), "cancelled");
    assert!(seats(&report).starts_with("1 openai/gpt-6.1-sol answered x1"), "{}", seats(&report));
    assert_invariants(&sandbox);

    // As with `nohup`.
    let sandbox = hanging();
    let running = ask(&sandbox, &[ONE, HANGING]).under("trap '' HUP").start();
    until_one_has_answered(&sandbox);
    running.signal("HUP");
    running.signal("TERM");
    let output = running.wait();
    assert_eq!(output.code, Some(143), "only the second signal was handled: {}", output.stderr);
    assert_invariants(&sandbox);
}

#[test]
fn p08_little_memory() {
    // A limit of the address space in kilobytes, of which the stack of a thread takes more than it uses.
    const LITTLE: &str = "ulimit -v 524288";
    let sandbox = sandbox().scripted(HANGING, Script::fault(Fault::HugeLine));
    let output = output_of(ask(&sandbox, &[ONE, TWO, HANGING]).under(LITTLE));
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let report = output.json();
    assert_eq!(word(&report["answers"][2]["error"], "code"), "protocol");
    assert_eq!(stored_run(&sandbox)["answer"], report["answer"]);
    assert_invariants(&sandbox);
}
