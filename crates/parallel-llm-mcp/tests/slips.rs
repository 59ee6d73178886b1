//! Slips of the hand, each of which would pay for another question than the one that was meant, and next steps that lead
//! to where the user wanted to go.

use parallel_llm_testkit::Sandbox;

use crate::ask::sandbox;
use crate::mistakes::{check, named, typed};

const ONE: &str = "x-ai/grok-4.7";
const KEY: &str = concat!("sk-or-v1-", "8f3a1c5e7b9d2f4a6c8e0b1d3f5a7c9e");

fn with_files(sandbox: &Sandbox) {
    sandbox.write("q.txt", "Why is the sky blue?");
    sandbox.write("src/lib.rs", "fn main() {}");
}

fn with_one_file(sandbox: &Sandbox) {
    sandbox.write("q.txt", "Why is the sky blue?");
}

/// What is sent to the model, and what is said about it.
fn asked(arguments: &[&str], stdin: Option<&str>) -> (String, String) {
    let sandbox = sandbox();
    with_files(&sandbox);
    let call = sandbox.call(["ask", "-m", ONE]).args(arguments);
    let output = if let Some(text) = stdin { call.stdin(text) } else { call }.run();
    assert_eq!(output.code, Some(0), "{arguments:?}\n{}", output.transcript());
    let chats = sandbox.chats();
    let content = &chats.last().expect("a model was asked").body["messages"][0]["content"];
    (content.as_str().unwrap_or_default().to_owned(), output.stderr)
}

#[test]
fn a_lone_name_of_a_file_is_not_the_question() {
    check([
        named(["ask", "q.txt"], "`q.txt` is a file, and its name would be sent", "ask @q.txt`, or type")
            .after(with_files),
        named(["ask", "./q.txt"], "`./q.txt` is a file", "ask -- ./q.txt`").after(with_files),
        named(["ask", "~/q.txt"], "`~/q.txt` is a file", "ask @~/q.txt`").after(with_files),
        named(["ask", "-m", ONE, "q.txt", "-q"], "is a file", "ask -m x-ai/grok-4.7 @q.txt -q`")
            .after(with_files),
        named(["ask", "src"], "`src` is a folder", "ask -a src \"QUESTION\"`").after(with_files),
        named(["ask", "."], "`.` is a folder", "ask -a . \"QUESTION\"`"),
        named(["ask", "/"], "`/` is a folder", "ask -- /`"),
        named(["q.txt"], "`q.txt` is a file", "type `parallel-llm-mcp ask @q.txt`").after(with_files),
        named(["ask", "-c", "q.txt"], "`q.txt` is a file", "ask -c @q.txt`").after(with_files),
    ]);
    assert_eq!(asked(&["--", "q.txt"], None).0, "q.txt");
    assert_eq!(asked(&["@q.txt"], None).0, "Why is the sky blue?");
}

#[test]
fn a_command_with_its_subcommand_is_not_the_question() {
    check([
        named(
            ["ask", "runs", "list"],
            "`runs list` is hardly a question",
            "type `parallel-llm-mcp runs list`",
        ),
        named(
            ["ask", "-q", "batch", "status"],
            "`batch status` is",
            "or type `parallel-llm-mcp ask -q \"batch status\"`",
        ),
        named(
            ["ask", "keys", "create", "a"],
            "`keys create` is hardly",
            "type `parallel-llm-mcp keys create a`",
        ),
    ]);
    assert_eq!(asked(&["runs list"], None).0, "runs list");
    assert_eq!(asked(&["runs", "in", "cricket"], None).0, "runs in cricket");
}

#[test]
fn a_lone_path_pattern_or_address_is_not_the_question() {
    check([
        named(
            ["ask", "./missing.txt"],
            "`./missing.txt` is the name of nothing here",
            "ask -- ./missing.txt`",
        ),
        named(["ask", "missing.sql"], "is the name of nothing here", "ask -- missing.sql`"),
        named(["ask", "~/gone"], "`~/gone` is the name of nothing here", "ask -- ~/gone`"),
        named(["ask", "Q.txt"], "is the name of nothing here", "did you mean `@q.txt`?").after(with_files),
        named(["ask", "*.sql"], "`*.sql` is a pattern that fits nothing here", "ask -- \"*.sql\"`"),
        named(["ask", "*.txt"], "`*.txt` is a pattern, and would be sent", "ask -a \"*.txt\" \"QUESTION\"`")
            .after(with_files),
        named(
            ["ask", "https://a.example/x.pdf"],
            "is an address, and nothing is fetched",
            "ask -- https://a.example/x.pdf`",
        ),
        named(["https://a.example/x.pdf"], "is an address, and nothing is fetched", "curl -LO"),
    ]);
    for words in [&["TCP/IP"][..], &["2*3"], &["什么是node.js"], &["what", "about", "./missing.txt"]] {
        assert_eq!(asked(words, None).0, words.join(" "));
    }
}

#[test]
fn a_unit_behind_a_number_is_not_the_question() {
    check([
        named(
            ["ask", "--budget", "1", "USD", "Why?"],
            "`USD` behind `--budget 1` would be sent as a word of the question",
            "type `parallel-llm-mcp ask --budget 1 \"Why?\"`",
        ),
        named(["ask", "--budget", "1", "dollar"], "`dollar` behind", "ask --budget 1 \"QUESTION\"`"),
        named(["ask", "--budget=50", "cents", "Why?"], "`cents` behind", "ask --budget=0.50 \"Why?\"`"),
        named(
            ["ask", "--max-tokens", "500", "tokens", "Why?"],
            "`tokens` behind",
            "ask --max-tokens 500 \"Why?\"`",
        ),
        named(["ask", "--max-tokens", "4", "k", "Why?"], "`k` behind", "ask --max-tokens 4000 \"Why?\"`"),
        named(
            ["ask", "--deadline", "5", "minutes", "Why?"],
            "`minutes` behind",
            "ask --deadline 5m \"Why?\"`",
        ),
        named(["ask", "Why so?", "--cache", "1", "hour"], "`hour` behind", "ask \"Why so?\" --cache 1h`"),
        named(
            ["ask", "--preset", "quick", "budget"],
            "`budget` behind `--preset quick`",
            "--preset quick \"QUESTION\"`",
        ),
        named(
            ["ask", "--effort", "high", "effort", "why"],
            "`effort` behind `--effort high`",
            "ask --effort high why`",
        ),
    ]);
    assert_eq!(asked(&["--max-tokens", "500", "why"], None).0, "why");
    assert_eq!(asked(&["--effort", "low", "effort", "is", "what"], None).0, "effort is what");
    assert_eq!(asked(&["--json", "explain", "json"], None).0, "explain json");
}

#[test]
fn stdin_by_the_name_of_a_file_is_read_once() {
    let text = "Is this safe?";
    for arguments in [&["@/dev/stdin"][..], &["@/dev/fd/0"], &["-"]] {
        let (sent, said) = asked(arguments, Some(text));
        assert_eq!(sent, text, "{arguments:?}");
        assert!(!said.contains("note:"), "{arguments:?}\n{said}");
    }
    let attached = |path: &str| asked(&["-a", path, "Why?"], Some(text)).0;
    assert_eq!(attached("/dev/stdin"), attached("-"));
}

#[test]
fn values_as_other_programs_take_them_are_repaired() {
    check([
        named(["ask", "why", "-model", "x-ai/grok-4.7"], "has one hyphen", "ask why --model x-ai/grok-4.7`"),
        named(
            ["Why is it?", "-dry-run"],
            "has one hyphen",
            "type `parallel-llm-mcp \"Why is it?\" --dry-run`",
        ),
        named(["ask", "Why?", "--wait", "3"], "not `3`", "write it like `quorum:3`"),
        named(["ask", "Why?", "--wait", "90s"], "not `90s`", "write it like `until:90s`"),
        named(["ask", "Why?", "--max-tokens", "4.5k"], "not `4.5k`", "write it like `--max-tokens 4500`"),
        named(["models", "--min-context", "1M"], "not `1M`", "write it like `--min-context 1000000`"),
        named(["models", "--free"], "no flag `--free`", "models --max-price 0`"),
        named(["ask", "Why?", "--budget", "50c"], "not `50c`", "write it like `--budget 0.50`"),
        named(["ask", "Why?", "-t", "0.7"], "`0.7` cannot be the name", "write it like `--temperature 0.7`"),
        named(["ask", "file:///etc/hosts"], "is the address of a file", "ask @/etc/hosts`"),
        named(["runs", "cost", "--since", "last", "week"], "there is `week`", "runs cost --since 1w`"),
        named(
            ["doctor", "who", "wrote", "hamlet"],
            "there is `who`",
            "type `parallel-llm-mcp doctor`, or type `parallel-llm-mcp ask \"doctor who wrote hamlet\"`",
        ),
        named(
            ["ask", "Why?", "-m", "openrouter/x-ai/grok-4.7"],
            "the model `openrouter/x-ai/grok-4.7` is unknown",
            "did you mean `x-ai/grok-4.7`?",
        ),
        named(["logs"], "there is no command `logs`", "type `parallel-llm-mcp runs list`"),
    ]);
    check([
        named(["ask", "-system=In French", "why"], "has one hyphen", "ask \"--system=In French\" why`"),
        named(["ask", "-c", "-model", ONE, "why"], "has one hyphen", "ask -c --model x-ai/grok-4.7 why`"),
        named(
            ["ask", "-model", ONE, "-budget", "1", "why"],
            "has one",
            "--model x-ai/grok-4.7 --budget 1 why`",
        ),
        named(["doctor", "what", "is", "what"], "there is `what`", "type `parallel-llm-mcp doctor`"),
        named(["search", "idempotency"], "no command `search`", "runs search idempotency`"),
    ]);
    // What looks like one of these and is none.
    assert_eq!(asked(&["--budget", "2", "C or Rust?"], None).0, "C or Rust?");
    assert_eq!(asked(&["file:// addresses: why?"], None).0, "file:// addresses: why?");
    let help = sandbox().call(["ask", "-help"]).run();
    assert_eq!(help.code, Some(0), "{}", help.transcript());
    // A short flag may stand before its value without a blank.
    assert_eq!(asked(&["-mx-ai/grok-4.7", "Why?"], None).0, "Why?");
}

#[test]
fn a_lone_command_is_not_the_question() {
    check([
        named(
            ["ask", "doctor"],
            "`doctor` is hardly a question",
            "type `parallel-llm-mcp doctor`, or type `parallel-llm-mcp ask -- doctor`",
        ),
        named(["ask", "Models"], "`Models` is hardly a question", "type `parallel-llm-mcp models`"),
        named(["ask", "list"], "`list` is hardly a question", "type `parallel-llm-mcp runs list`"),
        named(["ask", "continue"], "`continue` is hardly a question", "ask -c \"QUESTION\"`"),
        named(["ask", "/help"], "`help` is hardly a question", "see `parallel-llm-mcp ask --help`"),
        named(["ask", "/models"], "is hardly a question", "type `parallel-llm-mcp models`"),
        named(["ask", "/clear"], "`/clear` is the name of nothing here", "ask -- /clear`"),
        named(["ask", "exit"], "`exit` is hardly a question", "type `parallel-llm-mcp ask -- exit`"),
        named(["ask", "yes"], "`yes` is hardly a question", "ask -c yes`, or type"),
        named(["exit"], "there is no command `exit`", "type `parallel-llm-mcp ask -- exit`"),
        named(["quit"], "there is no command `quit`", "type `parallel-llm-mcp ask -- quit`"),
    ]);
    assert_eq!(asked(&["--", "doctor"], None).0, "doctor");
    assert_eq!(asked(&["explain"], Some("fn main() {}")).0, "explain\n\nfn main() {}");
    assert_eq!(asked(&["--system", "Translate.", "yes"], None).0, "Translate.");
}

#[test]
fn files_and_empty_arguments_are_no_question() {
    check([
        typed(["ask", "-a", "q.txt"], 2, "the prompt is empty", "ask -a q.txt \"QUESTION\"`")
            .after(with_files),
        typed(["ask", "-a", "src"], 2, "the prompt is empty", "ask -a src \"QUESTION\"`").after(with_files),
        typed(["ask", "@src"], 2, "the prompt is empty", "ask @src \"QUESTION\"`").after(with_files),
        typed(
            ["ask", "Explain", ""],
            2,
            "an argument gives no text, and the question would go without it",
            "leave `\"\"` out",
        ),
        typed(["ask", " ", "Explain"], 2, "an argument gives no text", "leave `\"\"` out"),
    ]);
}

#[test]
fn flags_behind_the_end_of_flags_are_not_sent_as_text() {
    check([
        named(
            ["ask", "--", "-what", "-m", ONE],
            "`-m` behind `--` would be sent as text",
            "ask -m x-ai/grok-4.7 -- -what`, or type `parallel-llm-mcp ask -- \"-what -m x-ai/grok-4.7\"`",
        ),
        named(["ask", "--", "-m", ONE], "`-m` behind `--`", "ask -m x-ai/grok-4.7 \"QUESTION\"`"),
        named(["ask", "--", "Why?", "--quiet"], "`--quiet` behind `--`", "ask --quiet -- \"Why?\"`"),
    ]);
    assert_eq!(asked(&["--", "--json"], None).0, "--json");
    assert_eq!(asked(&["--", "what does -m mean"], None).0, "what does -m mean");
}

#[test]
fn the_panel_of_a_preset_that_is_not_asked_is_noted() {
    let note = "note: `-m` names the panel, so that of the preset `quick` is not asked";
    let said = asked(&["--preset", "quick", "Why?"], None).1;
    assert_eq!(said.matches(note).count(), 1, "{said}");
    assert!(!asked(&["Why?"], None).1.contains("note:"));
}

#[test]
fn a_key_among_the_arguments_is_not_shown() {
    let pair = format!("openrouter={KEY}");
    for arguments in [
        &["keys", "set", "openrouter", KEY][..],
        &["keys", "set", "mistral", "--force", KEY],
        &["keys", "set", "--force", "mistral", KEY],
        &["keys", "set", &pair],
        &["keys", "set", KEY],
        &["keys", KEY],
        &[KEY],
    ] {
        let output = sandbox().call(arguments).run();
        assert_eq!(output.code, Some(2), "{arguments:?}\n{}", output.stderr);
        assert!(!output.stderr.contains("8f3a1c5e"), "{}", output.stderr);
        assert!(output.stderr.contains("is now in the history of your shell"), "{}", output.stderr);
        let provider = if arguments.contains(&"mistral") { "mistral" } else { "openrouter" };
        let next = format!("type `parallel-llm-mcp keys set {provider}`");
        assert!(output.stderr.contains(&next), "{arguments:?}\n{}", output.stderr);
    }
    check([
        named(["keys", "set", "mistral"], "is a key of `openrouter`", "keys set openrouter")
            .with(|_, call| call.stdin(KEY)),
        named(["keys", "set", "deepseek"], "is a key of `anthropic`", "keys set anthropic")
            .with(|_, call| call.stdin("sk-ant-api03-0123456789")),
    ]);
}

#[test]
fn a_star_between_words_is_put_into_quotes() {
    check([
        named(
            ["ask", "what", "is", "2", "q.txt", "src", "2"],
            "`q.txt`, `src` are there",
            "type `parallel-llm-mcp ask \"what is 2 * 2\"`, or type",
        )
        .after(with_files),
        named(["ask", "-m", ONE, "2", "q.txt", "2"], "`q.txt` is there", "ask -m x-ai/grok-4.7 \"2 * 2\"`")
            .after(with_one_file),
        named(["ask", "review", "q.txt"], "`q.txt` is there", "type `parallel-llm-mcp ask review -a q.txt`")
            .after(with_files),
    ]);
}

#[test]
fn a_next_step_keeps_what_was_typed() {
    check([
        named(
            ["runs", "synthesize", "@", "opus"],
            "takes no further argument",
            "runs synthesize @ --synthesizer opus`",
        ),
        named(["runs", "add", "@", "opus"], "takes no further argument", "runs add @ -m opus`"),
        named(["runs", "replay", "@", "vote"], "takes no further argument", "runs replay @ --strategy vote`"),
        named(["runs", "show", "@", "@"], "takes no further argument", "runs show @`"),
        named(
            ["runs", "add", "@", "@~1", "-m", ONE],
            "takes no further argument",
            "runs add @ -m x-ai/grok-4.7`",
        ),
        named(["install", "cursor", "codex", "--yes"], "takes no further argument", "install cursor --yes`"),
        named(
            ["serve", "--tls-cert", "x.pem"],
            "works only with `--http`",
            "serve --http 127.0.0.1:8930 --tls-cert x.pem`",
        ),
        named(["ask", "--deltas", "Why?"], "works only with `--jsonl`", "ask --jsonl --deltas \"Why?\"`"),
        named(["ask", "--timeout=2m", "Why?"], "no flag `--timeout", "`--deadline 2m`"),
        named(["ask", "--max-cost", "$2", "Why?"], "no flag `--max-cost`", "`--budget 2`"),
        named(["ask", "-n", "5", "Why?"], "no flag `-n`", "`-m 'MODEL*5'`"),
        named(["ask", "--prompt", "Why so?"], "no flag `--prompt`", "ask \"Why so?\"`"),
        named(["ask", "--thinking", "low", "Why?"], "no flag `--thinking`", "`--effort low`"),
        named(["ask", "--think", "Why?"], "no flag `--think`", "`--effort high`"),
        named(["show", "01KB3V"], "no command `show`", "did you mean `parallel-llm-mcp runs show 01KB3V`?"),
        named(
            ["01KB3VD0ZZZZZZZZZZZZZZZZZZ"],
            "no command `01KB3V",
            "type `parallel-llm-mcp runs show 01KB3VD0",
        ),
        named(["runs", "01KB3VD0"], "`01KB3VD0` is a run", "type `parallel-llm-mcp runs show 01KB3VD0`"),
        named(["runs", "@"], "`@` is a run", "type `parallel-llm-mcp runs show @`"),
        named(
            ["uninstall", "cursor"],
            "no command `uninstall`",
            "type `parallel-llm-mcp install cursor --remove`",
        ),
        named(
            ["keys", "delete", "laptop"],
            "no command `delete`",
            "type `parallel-llm-mcp keys revoke laptop`",
        ),
        named(["init"], "no command `init`", "type `parallel-llm-mcp keys set openrouter`"),
    ]);
}

#[test]
fn a_next_step_is_not_refused_in_turn() {
    check([
        named(["ask", "--deadline", "-5m", "Why?"], "is no flag", "write it like `--deadline 5m`"),
        named(["ask", "--cache", "-1h", "Why?"], "is no flag", "write it like `--cache 1h`"),
        named(["runs", "cost", "--since", "-7d"], "is no flag", "write it like `--since 7d`"),
        named(["runs", "purge", "--older-than", "-90d"], "is no flag", "write it like `--older-than 90d`"),
        named(
            ["ask", "--deadline", "5 minutes", "Why?"],
            "is not a duration",
            "write it like `--deadline 5m`",
        ),
        named(
            ["ask", "-m", "Why so?"],
            "`Why so?` is rather the question",
            "type `parallel-llm-mcp ask \"Why so?\"`",
        ),
        named(
            ["ask", "-m", "openai / gpt-4o", "Why?"],
            "`-m` takes one model",
            "write it like `-m openai/gpt-4o`",
        ),
        named(
            ["ask", "-m", "[opus,gpt-sol]", "Why?"],
            "`-m` takes one model",
            "write it like `-m opus -m gpt-sol`",
        ),
        named(["ask", "-m", "gpt 4o", "Why?"], "`-m` takes one model", "write it like `-m gpt-4o`"),
        named(["ask", "-m", "2*gpt-4o", "Why?"], "the number after `*`", "write it like `gpt-4o*2`"),
        named(
            ["ask", "-m", ONE, "--synthesizer", "none", "Why?"],
            "`--synthesizer` takes a model",
            "`--strategy panel`",
        ),
    ]);
}

#[test]
fn a_word_with_a_question_mark_is_a_question() {
    for word in ["what?", "Really?", "wieso?"] {
        let sandbox = sandbox();
        let output = sandbox.call([word, "-q", "-m", ONE]).run();
        assert_eq!(output.code, Some(0), "{word}\n{}", output.stderr);
    }
}

#[test]
fn a_demo_without_runs_or_a_folder_is_told_what_it_can_do() {
    let sandbox = sandbox();
    let listed = sandbox.call(["runs", "list", "--demo"]).run();
    assert_eq!(listed.stderr, "no runs yet: try `parallel-llm-mcp demo`\n");
    check([named(["runs", "show", "--demo"], "there are no runs yet", "try `parallel-llm-mcp demo`")]);
    let refused = sandbox.call(["demo"]).settings([("data_dir", "/proc/nothing")]).run();
    assert_eq!(refused.code, Some(7), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("next: choose another data folder with `PARALLEL_LLM_DATA_DIR`"),
        "{}",
        refused.stderr
    );
    assert!(!refused.stderr.contains("--output-dir"), "{}", refused.stderr);
}
