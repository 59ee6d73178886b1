//! What people type out of habit, and where the answer was untrue, silent, or different from command to command.

use parallel_llm_testkit::Sandbox;
use parallel_llm_testkit::simulator::Script;

use crate::mistakes::{check, typed};

const ONE: &str = "x-ai/grok-4.7";
const TWO: &str = "openai/gpt-6.1-sol";
const FUSER: &str = "~google/gemini-pro-latest";
const CONFIG: &str = ".config/parallel-llm-mcp/config.toml";

fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_parallel-llm-mcp"))
}

/// Asks two models, and has their answers fused by one that answers with this.
fn fuse(sandbox: &Sandbox, fused: &str) {
    sandbox.simulator().script(FUSER, Script::answering(fused));
    let asked = ["ask", "-q", "-m", ONE, "-m", TWO, "--synthesizer", FUSER, "--fresh", "Why does it rain?"];
    let output = sandbox.call(asked).run();
    assert_eq!(output.code, Some(0), "{}", output.stderr);
}

fn stderr(sandbox: &Sandbox, arguments: &[&str]) -> String {
    sandbox.call(arguments).run().stderr
}

#[test]
fn insights_say_why_a_run_tells_nothing() {
    let sandbox = sandbox();
    fuse(&sandbox, "Air that rises cools, and what it held as vapour falls as drops of rain.");
    let asked = ["ask", "-q", "-m", ONE, "-m", TWO, "--strategy", "panel", "--fresh", "Why does it rain?"];
    assert_eq!(sandbox.call(asked).run().code, Some(0));
    insta::assert_snapshot!(stderr(&sandbox, &["runs", "insights"]), @"
    no run yet that tells which of its answers the text was made of: there is nothing to learn from
    1 run of two answers or more tells nothing: nothing was fused or chosen
    1 run of two answers or more tells nothing: the synthesizer named no answer that it started from
    ");
    let object = sandbox.call(["runs", "insights", "--json"]).run().json();
    insta::assert_snapshot!(object["runs_untold_by_reason"], @r#"{"no_base_named":1,"nothing_fused":1,"too_long":0}"#);
}

#[test]
fn one_bound_of_the_output_cap_is_told_everywhere() {
    let told = "a whole number from 1 to 1000000";
    check([
        typed(["ask", "--max-tokens", "9999999999", "Why?"], 2, told, "ask --help"),
        typed(["ask", "--max-tokens", "2000000", "Why?"], 2, told, "ask --help"),
        typed(["runs", "add", "@", "-m", ONE, "--max-tokens", "2000000"], 2, told, "runs add --help"),
        typed(["batch", "submit", "q", "--max-tokens", "2000000"], 2, told, "batch submit --help"),
        typed(["ask", "-m", "x-ai/grok-4.7@max_tokens=2000000", "Why?"], 2, told, "@max_tokens=2000"),
        typed(["ask", "Why?"], 2, told, "correct the value")
            .with(|_, call| call.settings([("max_tokens", "2000000")])),
    ]);
}

#[test]
fn what_is_said_of_flags_and_files_is_true() {
    fn with_file(sandbox: &Sandbox) {
        sandbox.write("q.txt", "What is a tide?");
        sandbox.write("q.jsonl", "{\"prompt\": \"Why?\"}\n");
    }
    check([
        typed(
            ["--preset", "quick"],
            2,
            "`--preset` is a flag of `ask`, and no question stands behind it",
            "type `parallel-llm-mcp ask --preset quick`",
        )
        .with(|_, call| call.stdin("What is a tide?")),
        typed(
            ["batch", "submit", "q.jsonl", "-m", "gpt5"],
            2,
            "the model `gpt5` is unknown",
            "choose one of",
        )
        .after(with_file),
        typed(["ask", "Review", "-", "-"], 2, "`-` stands there 2 times", "leave `-` out")
            .with(|_, call| call.stdin("fn main() {}")),
        typed(
            ["flow", "check", "q.txt"],
            2,
            "a file of that name is named with its folder",
            "did you mean `./q.txt`?",
        )
        .after(with_file),
    ]);
}

#[test]
fn the_cost_of_a_model_that_nobody_lists_is_unknown_and_not_nothing() {
    let sandbox = sandbox();
    for panel in ["['opuss']", "['opuss', 'x-ai/grok-4.7']"] {
        sandbox.write(CONFIG, format!("panel = {panel}\n"));
        let output = sandbox.call(["ask", "--dry-run", "Why?"]).run();
        assert_eq!(output.code, Some(2), "{}", output.transcript());
        let cost = output.text().lines().last().unwrap_or_default();
        assert!(cost.contains("unknown, because no price is known for `opuss`"), "{cost}");
        assert!(!cost.contains("$0.00"), "{cost}");
        let report = sandbox.call(["ask", "--dry-run", "--json", "Why?"]).run();
        assert!(report.text().contains("\"cost_max_usd\": null"), "{}", report.text());
    }
}

#[test]
fn a_dry_run_tells_that_the_limit_of_the_day_is_in_the_way() {
    let sandbox = sandbox();
    let call = |flags: &[&str]| {
        sandbox.call(["ask", "-m", ONE, "Why?"]).args(flags).settings([("budget_day_usd", "0.0001")]).run()
    };
    let (dry, real) = (call(&["--dry-run"]), call(&[]));
    assert_eq!((dry.code, real.code), (Some(5), Some(5)), "{}", dry.transcript());
    assert_eq!(dry.stderr, real.stderr);
    assert!(dry.stderr.contains("of the day's limit of $0.00010, $0.00 is spent"), "{}", dry.stderr);
    assert!(sandbox.chats().is_empty());
}

#[test]
fn doctor_reports_settings_that_cannot_be_read_and_checks_the_rest() {
    let sandbox = sandbox();
    for (file, text, found) in [
        (CONFIG, "pannel = ['a/b']\n", "config.toml:1:1: there is no setting `pannel`"),
        (".parallel-llm.toml", "panel = [\n", ".parallel-llm.toml:1:10: unclosed array"),
    ] {
        let path = sandbox.write(file, text);
        let output = sandbox.call(["doctor"]).run();
        assert_eq!(output.code, Some(1), "{}", output.transcript());
        let failed = output.text().lines().find(|line| line.starts_with("failed ")).unwrap_or_default();
        assert!(failed.contains("settings: ") && failed.contains(found), "{}", output.text());
        assert!(output.text().contains("checks passed: program, "), "{}", output.text());
        let deep = sandbox.call(["doctor", "--deep", "--yes"]).run();
        assert_eq!((deep.code, sandbox.chats().len()), (Some(1), 0), "{}", deep.transcript());
        std::fs::remove_file(path).expect("it was written");
    }
}

#[test]
fn an_unknown_name_keeps_no_other_run_from_its_export() {
    let sandbox = sandbox();
    assert_eq!(sandbox.call(["ask", "-q", "-m", ONE, "Why?"]).run().code, Some(0));
    let output = sandbox.call(["runs", "export", "@", "01ZZZ", "--dir", "copies"]).run();
    assert_eq!(output.code, Some(3), "{}", output.transcript());
    assert!(output.text().contains("copies/"), "{}", output.transcript());
    assert!(output.stderr.contains("no run has an id that begins with `01ZZZ`"), "{}", output.stderr);
    assert_eq!(sandbox.call(["runs", "export", "01ZZZ", "--dir", "copies"]).run().code, Some(2));
}

#[test]
fn flags_that_contradict_each_other_are_refused() {
    for flags in [&["--events"][..], &["--seat", "1"]] {
        let output = sandbox().call(["runs", "show", "--json"]).args(flags).run();
        assert_eq!(output.code, Some(2), "{}", output.transcript());
        assert!(output.stderr.contains("cannot be combined with"), "{}", output.stderr);
    }
    check([
        typed(
            ["runs", "show", "--seat", "1", "--events"],
            2,
            "`--seat` cannot be combined",
            "runs show --help",
        ),
        typed(["ask", "--no-files", "--output-dir", "x", "Why?"], 2, "cannot be combined with", "ask --help"),
        typed(["ask", "--system", "", "Why?"], 2, "`--system` needs a value", "ask --help"),
        typed(
            ["ask", "-m", ONE, "-m", TWO, "--synthesizer", "x-ai/grok-4.7*2", "Why?"],
            2,
            "a synthesizer has one seat, and `x-ai/grok-4.7*2` names 2",
            "write it like `x-ai/grok-4.7`",
        ),
    ]);
}

#[test]
fn what_is_not_confirmed_is_not_done_and_says_so_in_its_exit_code() {
    let sandbox = sandbox();
    assert_eq!(sandbox.call(["ask", "-q", "-m", ONE, "Why?"]).run().code, Some(0));
    assert_eq!(sandbox.call(["keys", "create", "ci"]).run().code, Some(0));
    let file = sandbox.write("q.jsonl", "{\"prompt\": \"Why?\"}\n").display().to_string();
    assert_eq!(sandbox.call(["batch", "submit", &file, "-m", ONE]).run().code, Some(0));
    let listed = sandbox.call(["batch", "list", "--json"]).run().json();
    let batch = listed["batches"][0]["batch_id"].as_str().expect("it was submitted").to_owned();
    for arguments in [&["runs", "purge", "@"][..], &["keys", "revoke", "ci"], &["batch", "remove", &batch]] {
        let output = sandbox.call(arguments).run();
        assert_eq!(output.code, Some(2), "{}", output.transcript());
        let line = arguments.join(" ");
        let next = format!("next: type `parallel-llm-mcp {line} --yes`");
        assert!(output.stderr.contains(&next), "{}", output.stderr);
        assert!(output.stderr.contains("yet"), "{}", output.stderr);
        assert_eq!(sandbox.call(arguments).arg("--yes").run().code, Some(0), "{line}");
    }
}

#[test]
fn names_of_ours_are_taken_in_any_case() {
    let sandbox = sandbox();
    for arguments in [
        &["ask", "--dry-run", "--preset", "QUICK", "--effort", "HIGH", "--wait", "ALL", "Why?"][..],
        &["ask", "--dry-run", "--wait", "Quorum:2", "--strategy", "Vote@first=2", "--store", "None", "Why?"],
        &["ask", "--dry-run", "-m", "OpenRouter:x-ai/grok-4.7", "Why?"],
        &["ask", "-m", ONE, "--progress", "PLAIN", "Why?"],
        &["models", "--provider", "OpenRouter", "--sort", "PRICE", "--limit", "1"],
        &["runs", "cost", "--by", "DAY"],
    ] {
        let settings = [("files", "FALSE"), ("store", "FULL"), ("log_level", "Off")];
        let output = sandbox.call(arguments).settings(settings).run();
        assert_eq!(output.code, Some(0), "{arguments:?}\n{}", output.transcript());
    }
    let key = "sk-or-v1-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
    assert_eq!(sandbox.call(["keys", "set", "OpenRouter"]).stdin(key).run().code, Some(0));
    let lines = sandbox.call(["keys", "list"]).without("OPENROUTER_API_KEY").run();
    assert!(
        lines.text().lines().any(|line| line.starts_with("openrouter ") && line.ends_with(" kept")),
        "{}",
        lines.text()
    );
}

#[test]
fn values_are_repaired_wherever_they_are_written() {
    check([
        typed(
            ["ask", "--wait", "straggler", "-m", ONE, "Why?"],
            2,
            "`until:DURATION` or `stragglers`, not `straggler`",
            "did you mean `stragglers`?",
        ),
        typed(["ask", "--wait", "until:5", "-m", ONE, "Why?"], 2, "not `until:5`", "`until:90s`"),
        typed(["ask", "Why?"], 2, "not `quorum=3`", "write it like `quorum:3`")
            .with(|_, call| call.settings([("wait", "quorum=3")])),
        typed(["runs", "add", "@", "-m", "opus,gpt-sol"], 2, "`-m` takes one model", "`-m opus -m gpt-sol`"),
        typed(["batch", "submit", "q.jsonl", "-m", "opus,gpt-sol"], 2, "`-m` takes one model", "`-m opus")
            .after(|sandbox| drop(sandbox.write("q.jsonl", "{\"prompt\": \"Why?\"}\n"))),
        typed(
            ["ask", "--synthesizer", "opus,gpt-sol", "Why?"],
            2,
            "`--synthesizer` takes one model, not the list `opus,gpt-sol`",
            "`--synthesizer opus`",
        ),
        typed(["models", "--max-price", "5$"], 2, "not `5$`", "write it like `--max-price 5`"),
        typed(["models", "--min-context", "200k"], 2, "not `200k`", "`--min-context 200000`"),
        typed(["ask", "--temperature", "0,7", "Why?"], 2, "not `0,7`", "write it like `--temperature 0.7`"),
        typed(["runs", "show", "last"], 2, "no run has an id that begins with `last`", "did you mean `@`?"),
    ]);
}

#[test]
fn the_model_that_was_meant_is_named() {
    let asked = |model| ["ask", "-m", model, "Why?"];
    check([
        typed(asked("claude-opus-5-5"), 2, "is unknown", "did you mean `anthropic/claude-opus-5.5`?"),
        typed(asked("grok-4.7-2026-08-06"), 2, "is unknown", "did you mean `x-ai/grok-4.7`?"),
        typed(asked("x-ai/grok-4.7:free"), 2, "is not offered for free", "did you mean `x-ai/grok-4.7`?"),
        typed(
            asked("quick"),
            2,
            "`quick` is a preset, and `-m` takes a model",
            "type `parallel-llm-mcp ask --preset quick \"Why?\"`",
        ),
    ]);
}

#[test]
fn a_message_about_settings_names_the_file_and_the_command() {
    check([
        typed(
            ["ask", "Why?"],
            2,
            "config.toml:1:1: a key is never read from this file",
            "`parallel-llm-mcp keys set openrouter`",
        )
        .after(|sandbox| drop(sandbox.write(CONFIG, "OPENROUTER_API_KEY = 'sk-or-v1-0123'\n"))),
        typed(
            ["config", "set", "budget", "1"],
            2,
            "parallel-llm-mcp/config.toml`, which you write",
            "budget_usd",
        ),
    ]);
    let sandbox = sandbox();
    let file = "your own file: ~/.config/parallel-llm-mcp/config.toml";
    assert_eq!(stderr(&sandbox, &["config", "show"]).trim_end(), format!("{file}, which is not there yet"));
    sandbox.write(CONFIG, "max_tokens = 100\n");
    assert_eq!(stderr(&sandbox, &["config", "show"]).trim_end(), file);
}

#[test]
fn what_is_wrong_with_a_file_is_told_in_words() {
    fn with_file(sandbox: &Sandbox) {
        sandbox.write("q.txt", "What is a tide?");
    }
    check([
        typed(["ask", "--output-dir", "q.txt", "-m", ONE, "Why?"], 7, "cannot be written: it is a file", "")
            .after(with_file),
        typed(["man", "nope"], 7, "cannot be written to `nope`: there is no such folder", "man FOLDER"),
        typed(
            ["ask", "@"],
            2,
            "`@` stands alone, without the name of a file",
            "name a readable file after `@`",
        ),
        typed(
            ["ask", "@joe what do you think?"],
            2,
            "`@joe what do you think?` begins with `@`, which names a file",
            "with a blank in front, if it is text",
        ),
    ]);
}

#[test]
fn a_batch_says_what_a_line_of_its_file_is() {
    let line = "for example {\"prompt\": \"Why?\"}, one question a line";
    let sandbox = sandbox();
    for (text, wrong) in [
        ("", "no line of the file can be used"),
        ("{\n  \"prompt\": \"Why?\"\n}\n", "line 1: a JSON object begins there and does not end"),
    ] {
        let file = sandbox.write("q.jsonl", text).display().to_string();
        let output = sandbox.call(["batch", "submit", &file]).run();
        assert_eq!(output.code, Some(2), "{}", output.transcript());
        assert!(output.stderr.contains(wrong) && output.stderr.contains(line), "{}", output.stderr);
    }
}

#[test]
fn a_question_that_is_to_be_typed_is_asked_for() {
    for (arguments, invited) in [
        (&["-"][..], "type the question, then Ctrl-D"),
        (&["-a", "-", "What is this?"], "type what to attach, then Ctrl-D"),
    ] {
        let sandbox = sandbox();
        let mut terminal = sandbox.call(["ask", "-m", ONE, "--no-files"]).args(arguments).on_screen(80, 24);
        terminal.until(invited, |text| text.contains(invited));
        terminal.press("A tide.\r\u{4}");
        assert_eq!(terminal.wait(), 0, "{}", terminal.text());
        assert_eq!(sandbox.chats().len(), 1);
    }
}

#[test]
fn a_dumb_terminal_gets_whole_words_too() {
    let sandbox = sandbox();
    let call = sandbox.call(["ask", "-m", "claude", "Why?"]).env("TERM", "dumb");
    let mut terminal = call.on_screen(80, 24);
    assert_eq!(terminal.wait(), 2);
    let rows: Vec<String> = terminal.screen().rows(0, 80).collect();
    for name in
        ["~anthropic/claude-sonnet-latest,", "anthropic/claude-sonnet-5.5,", "anthropic/claude-haiku-5.5"]
    {
        assert!(rows.iter().any(|row| row.contains(name)), "{rows:#?}");
    }
}
