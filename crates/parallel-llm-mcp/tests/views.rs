//! What a user sees of a run in progress and afterwards: its possible cost, its progress and its final cost; and that
//! output which cannot be written is an error.

use parallel_llm_testkit::simulator::{Behaviour, Fault, Latency, Script};
use parallel_llm_testkit::{Output, Sandbox};

const QUICK: &str = "openai/gpt-6.1-sol";
const HANGING: &str = "x-ai/grok-4.7";
const MORE: &str = "mistralai/mistral-large-4-0";
/// Closing its connection saves nothing, so its replies are read to the end.
const FUSER: &str = "google/gemini-3.8-flash";

/// Names the newest run.
const NEWEST: &str = "@";

fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_parallel-llm-mcp"))
        .scripted(QUICK, Script::answering("The first word."))
        .scripted(HANGING, Script::fault(Fault::Stall))
}

/// A model whose first text comes after this many milliseconds.
fn slow(ms: u64) -> Script {
    Script::behaving(Behaviour { ttft_ms: Latency::of(ms), ..Behaviour::instant() })
}

fn runs(sandbox: &Sandbox, arguments: &[&str]) -> Output {
    let output = sandbox.call(["runs"]).args(arguments).run();
    output.assert_no_key();
    output
}

/// stderr with masked times.
fn masked_stderr(output: &Output) -> String {
    output.masked(&output.stderr)
}

/// The lines of `runs list` without ids, ages and questions.
fn listed(sandbox: &Sandbox) -> String {
    let output = runs(sandbox, &["list"]);
    let lines = output.text().lines().map(|line| line[28..66].trim_end().to_owned());
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn output_that_cannot_be_written_is_an_error() {
    let sandbox = sandbox();
    let asked = sandbox.call(["ask", "-q", "-m", QUICK, "Why?"]).run();
    assert_eq!(asked.code, Some(0), "{}", asked.stderr);
    let full = std::path::Path::new("/dev/full").exists().then_some("exec >/dev/full");
    // A stdout that is open only for reading.
    for first in full.into_iter().chain(["exec 1</dev/null"]) {
        for arguments in [
            "ask -q -m openai/gpt-6.1-sol Why?",
            "ask --json -m openai/gpt-6.1-sol Why?",
            "runs show @",
            "runs show @ --json",
            "runs list",
            "runs cost",
            "runs export --all --jsonl",
            "models",
            "config show",
            "keys list",
            "doctor",
            "explain",
            "explain timeout",
        ] {
            let output = sandbox.call(arguments.split(' ')).under(first).run();
            let expected = "error[output_unwritable]: stdout cannot be written: ";
            assert!(output.stderr.contains(expected), "{first}: {arguments}: {}", output.stderr);
            assert_eq!(output.code, Some(7), "{first}: {arguments}");
        }
    }
    if let Some(full) = full {
        assert_eq!(sandbox.call(["--version"]).under(full).run().code, Some(7));
    }
    let output = sandbox.call(["ask", "-q", "-m", QUICK, "Why?"]).under("exec 1</dev/null").run();
    insta::assert_snapshot!(output.transcript(), @"
    exit 7
    --- stdout
    --- stderr
    error[output_unwritable]: stdout cannot be written: Bad file descriptor (os error 9)
      next: write the output to a place that is writable, or look at the run with `parallel-llm-mcp runs show`
    ");
}

#[test]
fn an_unknown_cost_is_never_shown_as_zero() {
    let sandbox = sandbox();
    let until_asked = |count: usize| {
        sandbox.until("it is being answered", || {
            let chats = sandbox.chats();
            chats.len() == count
                && chats.iter().any(|chat| {
                    chat.model.as_deref() == Some(HANGING)
                        && chat.first_byte_us.is_some()
                        && !chat.client_cancelled
                })
        });
    };
    let alone = sandbox.call(["ask", "-m", HANGING, "Why?"]).start();
    until_asked(1);
    alone.signal("KILL");
    alone.wait();
    assert_eq!(listed(&sandbox), "interrupted   0 of 1     unknown");
    insta::assert_snapshot!(masked_stderr(&runs(&sandbox, &["show", NEWEST])), @"
    no answer: the run is interrupted

    No answer: the process that did the run ended before it had an answer.
    Missing: 1 x-ai/grok-4.7 unknown: the process that did the run ended before this was known (next: ask again what may have been paid already with `parallel-llm-mcp runs resume --resend`)
    Cost unknown, up to $0.096, <time>.
    Kept as run <run>; `parallel-llm-mcp runs resume <run> --resend` (which may pay a second time) goes on with it.
      ? 1 x-ai/grok-4.7  unknown
          the process that did the run ended before this was known
    ");
    let report = runs(&sandbox, &["list", "--json"]).json();
    assert_eq!(
        (&report["cost_usd"], &report["cost_is_estimate"], &report["cost_lacks_calls"]),
        (&serde_json::Value::Null, &true.into(), &true.into())
    );
    let resumed = runs(&sandbox, &["resume", NEWEST]);
    assert_eq!(resumed.code, Some(1), "{}", resumed.stderr);
    insta::assert_snapshot!(runs(&sandbox, &["show", NEWEST, "--events"]).transcript(), @"
    exit 0
    --- stdout
    [ +<time>] run <run> started: 1 model, about $0.0090, at most $0.096 if no call fails
    [ +<time>] seat 1 x-ai/grok-4.7: asked
    [ +<time>] run <run> goes on: 0 of 1 seats are asked, at most $0.00
    [ +<time>] decided: no model answered (x-ai/grok-4.7: the process that did the run ended before this was known)
    [ +<time>] closed: cost unknown, up to $0.096
    --- stderr
    ");
    assert_eq!(listed(&sandbox), "failed        0 of 1     unknown");
}

#[test]
fn a_cost_that_lacks_a_call_is_shown_as_a_minimum() {
    let broken = Script::fault(Fault::AcceptAndClose).fail_first(1);
    let sandbox = sandbox().scripted(MORE, broken);
    let output = sandbox.call(["ask", "-m", QUICK, "-m", MORE, "--synthesizer", FUSER, "Why?"]).run();
    insta::assert_snapshot!(output.summary(), @"
    According to google/gemini-3.8-flash, no model contradicts another. Fused by google/gemini-3.8-flash from 2 answers, starting from 2 mistralai/mistral-large-4-0 (0 % changed).
    Cost at least $0.0011, up to $0.035 (fusing $0.00100), <time>.
    Kept as run <run>: `parallel-llm-mcp runs show @`; files in ~/.local/share/parallel-llm-mcp/runs/<run>.
    ");
    assert_eq!(listed(&sandbox), "complete      2 of 2    ≥$0.0011");
    let report = runs(&sandbox, &["show", NEWEST, "--json"]).json();
    assert_eq!(report["cost_lacks_calls"], true);
    let events = runs(&sandbox, &["show", NEWEST, "--events"]).transcript();
    insta::assert_snapshot!(events.lines().rfind(|line| line.contains("closed")).unwrap_or_default(), @"[ +<time>] closed: at least $0.0011, up to $0.035 in all");
}

#[test]
fn a_continuation_is_shown_like_the_first_part() {
    let sandbox = sandbox();
    let asked = sandbox.call(["ask", "-m", QUICK, "--synthesizer", FUSER, "Why?"]).run();
    insta::assert_snapshot!(masked_stderr(&asked), @"
    [ +<time>] run <run> started: 1 model, about $0.015, at most $0.16 if no call fails
    [ +<time>] seat 1 openai/gpt-6.1-sol: asked
    [ +<time>] seat 1 openai/gpt-6.1-sol: answered, 15 bytes, 4 tokens, $0.000042
    [ +<time>] decided: one model was asked, so there was nothing to fuse


    Answer by 1 openai/gpt-6.1-sol: one model was asked, so there was nothing to fuse.
    Cost $0.000042, <time>.
    Kept as run <run>: `parallel-llm-mcp runs show @`; files in ~/.local/share/parallel-llm-mcp/runs/<run>.
    ");
    insta::assert_snapshot!(masked_stderr(&runs(&sandbox, &["add", NEWEST, "-m", MORE, "--synthesizer", FUSER])), @"
    [ +<time>] run <run> goes on: 1 of 2 seats are asked, at most $0.13 if no call fails
    [ +<time>] seat 2 mistralai/mistral-large-4-0: asked
    [ +<time>] seat 2 mistralai/mistral-large-4-0: answered, 148 bytes, 37 tokens, $0.000078
    [ +<time>] synthesizer 4 google/gemini-3.8-flash: asked
    [ +<time>] synthesizer 4 google/gemini-3.8-flash: answered, 479 bytes, 120 tokens, $0.00100
    [ +<time>] decided: the synthesizer started from one answer and patched it from the others


    According to google/gemini-3.8-flash, no model contradicts another. Fused by google/gemini-3.8-flash from 2 answers, starting from 2 mistralai/mistral-large-4-0 (0 % changed).
    Cost $0.0011 (fusing $0.00100), <time>.
    Kept as run <run>; files in ~/.local/share/parallel-llm-mcp/runs/<run>.
    ");
    insta::assert_snapshot!(masked_stderr(&runs(&sandbox, &["synthesize", NEWEST, "--synthesizer", FUSER])), @"
    [ +<time>] run <run> goes on: 0 of 2 seats are asked, at most $0.093 if no call fails
    [ +<time>] synthesizer 7 google/gemini-3.8-flash: asked
    [ +<time>] synthesizer 7 google/gemini-3.8-flash: answered, 479 bytes, 120 tokens, $0.00100
    [ +<time>] decided: the synthesizer started from one answer and patched it from the others


    According to google/gemini-3.8-flash, no model contradicts another. Fused by google/gemini-3.8-flash from 2 answers, starting from 2 mistralai/mistral-large-4-0 (0 % changed).
    Cost $0.0021 (fusing $0.00100), <time>.
    Kept as run <run>; files in ~/.local/share/parallel-llm-mcp/runs/<run>.
    ");
    let events = runs(&sandbox, &["show", NEWEST, "--events"]).transcript();
    let parts: Vec<&str> =
        events.lines().filter(|line| line.contains("at most") || line.contains("closed")).collect();
    insta::assert_snapshot!(parts.join("\n"), @"
    [ +<time>] run <run> started: 1 model, about $0.015, at most $0.16 if no call fails
    [ +<time>] closed: $0.000042 in all
    [ +<time>] run <run> goes on: 1 of 2 seats are asked, at most $0.13 if no call fails
    [ +<time>] closed: $0.0011 in all
    [ +<time>] run <run> goes on: 0 of 2 seats are asked, at most $0.093 if no call fails
    [ +<time>] closed: $0.0021 in all
    ");
}

#[test]
fn a_terminal_first_shows_what_a_run_may_cost() {
    let sandbox = sandbox();
    let first = |arguments: &[&str]| {
        let output = sandbox.call(arguments).on_terminal()?.run();
        let lines: Vec<&str> = output.text().lines().collect();
        // The rest of a wrapped first line is indented.
        let more = lines.iter().skip(1).take_while(|line| line.starts_with("  ")).count();
        let whole: Vec<&str> = lines[..=more].iter().map(|line| line.trim()).collect();
        Some(output.masked(&whole.join(" ")))
    };
    let Some(asked) = first(&["ask", "-m", QUICK, "Why?"]) else { return };
    insta::assert_snapshot!(asked, @"[ +<time>] run <run> started: 1 model, about $0.015, at most $0.16 if no call fails");
    insta::assert_snapshot!(first(&["runs", "add", NEWEST, "-m", MORE]).unwrap_or_default(), @"[ +<time>] run <run> goes on: 1 of 2 seats are asked, at most $0.26 if no call fails");
}

#[test]
fn wait_first_shows_how_far_the_run_is() {
    let sandbox = sandbox().scripted(MORE, slow(6_000));
    let asking = sandbox.call(["ask", "-m", QUICK, "-m", MORE, "--synthesizer", FUSER, "Why?"]).start();
    sandbox.until("one has answered", || {
        let shown = runs(&sandbox, &["show", NEWEST, "--json"]);
        shown.code == Some(0) && shown.json()["answers"][0]["status"] == "answered"
    });
    // The times that `wait` shows count from the start of the run.
    sandbox.pause(std::time::Duration::from_millis(1_100));
    let waited = runs(&sandbox, &["wait", NEWEST]);
    asking.wait();
    let first = waited.stderr.lines().next().unwrap_or_default();
    assert!(!first.starts_with("[  +0."), "{first}");
    let before_answer = waited.stderr.lines().take_while(|line| !line.is_empty());
    insta::assert_snapshot!(waited.masked(&before_answer.collect::<Vec<_>>().join("\n")), @"
    [ +<time>] run <run> is under way: 1 of 2 answered, waiting for mistralai/mistral-large-4-0
    [ +<time>] seat 2 mistralai/mistral-large-4-0: answered, 148 bytes, 37 tokens, $0.000078
    [ +<time>] synthesizer 1 google/gemini-3.8-flash: asked
    [ +<time>] synthesizer 1 google/gemini-3.8-flash: answered, 479 bytes, 120 tokens, $0.00100
    [ +<time>] decided: the synthesizer started from one answer and patched it from the others
    ");
}

#[test]
fn a_stopped_run_shows_its_result() {
    let sandbox =
        sandbox().scripted(FUSER, slow(4_000)).scripted(MORE, Script::answering("The second word."));
    let running = sandbox.call(["ask", "-m", QUICK, "-m", MORE, "--synthesizer", FUSER, "Why?"]).start();
    sandbox.until("it is being fused", || sandbox.asked(FUSER) == 1);
    running.signal("INT");
    let output = running.wait();
    assert_eq!((output.code, output.text()), (Some(130), ""));
    insta::assert_snapshot!(output.summary(), @"
    stopping: what has come is saved in run <run>; Ctrl-C stops at once
    waiting up to 25 s for an answer that is paid for either way; Ctrl-C leaves at once
    Fused by google/gemini-3.8-flash from 2 answers, starting from 2 mistralai/mistral-large-4-0 (0 % changed).
    Cost $0.00066 (fusing $0.00061), <time>.
    Kept as run <run>; files in ~/.local/share/parallel-llm-mcp/runs/<run>.
    its answer is kept: see it with `parallel-llm-mcp runs show <run>`
    ");
    let report = runs(&sandbox, &["show", NEWEST, "--json"]).json();
    assert!(report["answer"].is_string(), "{report}");
}

#[test]
fn an_empty_list_says_why_it_is_empty() {
    let sandbox = sandbox();
    let asked = sandbox.call(["ask", "--json", "-m", QUICK, "Why?"]).run().json();
    let id = asked["run_id"].as_str().unwrap_or_default();
    let refused = [
        &["list", "-n", "0"] as &[&str],
        &["list", "--before", id],
        &["search", "word", "-n", "0"],
        &["insights", "--since", "2999-01-01"],
        &["purge", "--older-than", "2026-11-31"],
        &["cost", "--since", "2026-02-30"],
    ];
    insta::assert_snapshot!(refused.map(|arguments| runs(&sandbox, arguments).transcript()).join("\n"), @"
    exit 2
    --- stdout
    --- stderr
    error[usage]: `--limit` takes a whole number from 1 on, not `0`
      next: see `parallel-llm-mcp runs list --help`

    exit 0
    --- stdout
    --- stderr
    no run is older than <run>

    exit 2
    --- stdout
    --- stderr
    error[usage]: `--limit` takes a whole number from 1 on, not `0`
      next: see `parallel-llm-mcp runs search --help`

    exit 0
    --- stdout
    --- stderr
    no run in this time that tells which of its answers the text was made of: there is nothing to learn from

    exit 2
    --- stdout
    --- stderr
    error[usage]: `--older-than` takes a time ago such as 7d or 12h, or a day such as 2026-11-01, not `2026-11-31`
      next: see `parallel-llm-mcp runs purge --help`

    exit 2
    --- stdout
    --- stderr
    error[usage]: `--since` takes a time ago such as 7d or 12h, or a day such as 2026-11-01, not `2026-02-30`
      next: see `parallel-llm-mcp runs cost --help`
    ");
}
