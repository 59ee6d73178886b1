//! Habits of people at a terminal, each of which would pay for the wrong question: the question that is sent is the one
//! that was meant.

use parallel_llm_testkit::Sandbox;
use serde_json::Value;

use crate::ask::{ONE, sandbox};

/// The contents of the messages that were sent last.
fn sent(sandbox: &Sandbox) -> Vec<String> {
    let chats = sandbox.chats();
    let messages = chats.last().expect("a model was asked").body["messages"].as_array().cloned();
    let text = |message: Value| message["content"].as_str().unwrap_or_default().to_owned();
    messages.unwrap_or_default().into_iter().map(text).collect()
}

/// Asks one model, and returns the id of the run.
fn ask(sandbox: &Sandbox, question: &str) -> String {
    let report = sandbox.call(["ask", "--json", "-m", ONE, question]).run().json();
    report["run_id"].as_str().expect("a run has an id").to_owned()
}

#[test]
fn words_without_quotes_are_one_line() {
    let sandbox = sandbox();
    sandbox.write("main.rs", "fn main() {}");
    let asked = |words: &[&str]| {
        let output = sandbox.call(["ask", "-q", "-m", ONE]).args(words).run();
        assert_eq!(output.code, Some(0), "{}", output.transcript());
        sent(&sandbox).remove(0)
    };
    assert_eq!(asked(&["what", "is", "rust"]), "what is rust");
    assert_eq!(asked(&["what", "does", "a  b", "mean?"]), "what does a  b mean?");
    assert_eq!(asked(&["explain", "@main.rs", "in", "short"]), "explain\n\nfn main() {}\n\nin short");
    assert_eq!(asked(&["Part one.", "Part two."]), "Part one. Part two.".replace(". ", ".\n\n"));
}

#[test]
fn the_run_to_continue_may_follow_after_a_blank() {
    let sandbox = sandbox();
    let first = ask(&sandbox, "Which design?");
    let first = first.as_str();
    ask(&sandbox, "Which colour?");
    let follow_up = |arguments: &[&str]| {
        let output = sandbox.call(["ask", "-q", "-m", ONE]).args(arguments).run();
        assert_eq!(output.code, Some(0), "{}", output.transcript());
        let sent = sent(&sandbox);
        (sent[0].clone(), sent.last().cloned().unwrap_or_default())
    };
    let of = |before: &str, question: &str| (before.to_owned(), question.to_owned());
    for named in [["-c", first], ["--continue", first], ["-c", &first[..12]]] {
        let arguments: Vec<&str> = named.into_iter().chain(["Why?"]).collect();
        assert_eq!(follow_up(&arguments), of("Which design?", "Why?"), "{arguments:?}");
    }
    assert_eq!(follow_up(&["Why?", "-c", first]), of("Which design?", "Why?"));
    assert_eq!(follow_up(&["-c", first.to_ascii_lowercase().as_str(), "Why?"]), of("Which design?", "Why?"));
    assert_eq!(follow_up(&[format!("--continue={first}").as_str(), "Why?"]), of("Which design?", "Why?"));
    let newest = ask(&sandbox, "Which name?");
    assert_eq!(follow_up(&["-c", "Why that one?"]), of("Which name?", "Why that one?"));
    assert_eq!(follow_up(&["-c", "@~1", "And now?"]), of("Which name?", "And now?"));
    assert_eq!(follow_up(&["-c", newest.as_str(), "how", "so"]), of("Which name?", "how so"));
    assert_eq!(follow_up(&["and", "-c", "now", "what"]), of("Which name?", "and now what"));
}

#[test]
fn the_name_of_a_run_may_be_written_like_in_a_sentence() {
    let sandbox = sandbox();
    let first = ask(&sandbox, "Which design?");
    ask(&sandbox, "Which colour?");
    let letter = first.replacen('0', "O", 1);
    for name in [
        format!("{first} "),
        format!("{first}:"),
        format!("`{first}`"),
        format!("{}...", &first[..12]),
        letter,
    ] {
        let output = sandbox.call(["ask", "-q", "-m", ONE, "-c", &name, "Why?"]).run();
        assert_eq!(output.code, Some(0), "{name}\n{}", output.transcript());
        assert_eq!(sent(&sandbox)[0], "Which design?", "{name}");
        assert_eq!(sent(&sandbox).last().map(String::as_str), Some("Why?"), "{name}");
    }
}

#[test]
fn a_word_behind_continue_that_is_no_run_is_not_sent_beside_a_question() {
    let sandbox = sandbox();
    let run = ask(&sandbox, "Which design?");
    let asked = sandbox.chats().len();
    let inside = format!("{run} And why?");
    let behind = format!("run {run}");
    let colon = format!("{run}: and why?");
    let (inside, behind, colon) = (inside.as_str(), behind.as_str(), colon.as_str());
    for arguments in [
        &["-c", "last", "And why?"][..],
        &["-c", "latest", "And why?"],
        &["-c", "1", "And why?"],
        &["-c", "-1", "And why?"],
        &["-c", "#3", "And why?"],
        &["-c", "~1", "And why?"],
        &["-c", "@-1", "And why?"],
        &["-c", "nosuchrun", "And why?"],
        &["And why is that?", "-c", "nosuchrun"],
        &["-c", "last", "Why?"],
        &["-c", "last"],
        &["-c", "", "And why?"],
        &["-c", "01X", "And why?"],
        &["-c", "01X9", "Why?"],
        &["-c", inside],
        &["-c", colon],
        &["-c", behind],
        &["-c", behind, "And why?"],
    ] {
        let output = sandbox.call(["ask", "-m", ONE]).args(arguments).run();
        assert_eq!(output.code, Some(2), "{arguments:?}\n{}", output.stderr);
        assert!(output.stderr.contains("  next: "), "{arguments:?}\n{}", output.stderr);
    }
    assert_eq!(sandbox.chats().len(), asked, "nothing was sent");
    insta::assert_snapshot!(sandbox.call(["ask", "-c", "last", "And why?"]).run().transcript(), @r#"
    exit 2
    --- stdout
    --- stderr
    error[usage]: `last` behind `--continue` is no name of a run
      next: type `parallel-llm-mcp ask -c @ "And why?"`, or look for the run with `parallel-llm-mcp runs list`
    "#);
    insta::assert_snapshot!(sandbox.call(["ask", "-c", inside]).run().transcript(), @r#"
    exit 2
    --- stdout
    --- stderr
    error[usage]: `<run>` is the id of a run, and no question
      next: type `parallel-llm-mcp ask -c <run> "And why?"`
    "#);
    for arguments in
        [&["-c", "3", "more", "examples"][..], &["-c", "last", "time", "was", "better"], &["-c", "Why?"]]
    {
        let output = sandbox.call(["ask", "-q", "-m", ONE]).args(arguments).run();
        assert_eq!(output.code, Some(0), "{arguments:?}\n{}", output.stderr);
        assert_eq!(sent(&sandbox).last().cloned(), Some(arguments[1..].join(" ")));
    }
}

#[test]
fn the_id_of_a_run_is_never_sent_as_text() {
    let sandbox = sandbox();
    let run = ask(&sandbox, "Which design?");
    let run = run.as_str();
    let asked = sandbox.chats().len();
    let absent = "01ZZZZZZZZZZZZZZZZZZZZZZZZ";
    for arguments in [
        vec!["-c", absent, "Why?"],
        vec!["-c", "01ZZZZZZ", "Why?"],
        vec!["Why?", "-c", absent],
        vec!["-c", "Why?", run],
        vec![run, "Why?"],
        vec!["-c", "-m", ONE, run, "Why?"],
    ] {
        let output = sandbox.call(["ask"]).args(&arguments).run();
        assert_eq!(output.code, Some(2), "{arguments:?}\n{}", output.stderr);
    }
    assert_eq!(sandbox.chats().len(), asked, "nothing was sent");
    insta::assert_snapshot!(sandbox.call(["ask", run, "Why?"]).run().transcript(), @r#"
    exit 2
    --- stdout
    --- stderr
    error[usage]: `<run>` is the id of a run, and no question
      next: type `parallel-llm-mcp ask -c <run> "QUESTION"`
    "#);
}

#[test]
fn a_file_named_within_a_text_is_noted() {
    let sandbox = sandbox();
    sandbox.write("main.rs", "fn main() {}");
    sandbox.write("src/lib.rs", "");
    let notes = |arguments: &[&str]| {
        let stderr = sandbox.call(["ask", "-m", ONE, "--progress", "quiet"]).args(arguments).run().stderr;
        stderr.lines().filter(|line| line.starts_with("note: ")).collect::<Vec<_>>().join("\n")
    };
    insta::assert_snapshot!(notes(&["explain @main.rs please"]), @"note: the text names `main.rs`, which is not sent; to send it, add `@main.rs` as an argument of its own");
    let alone = notes(&["explain @main.rs please"]);
    for text in [
        "explain “@main.rs” please",
        "explain @“main.rs” please",
        "explain '@main.rs', \"@main.rs\" and @main.rs's purpose",
        "explain@main.rs now",
        "explain @main.rs and @missing.rs please",
    ] {
        assert_eq!(notes(&[text]), alone, "{text}");
    }
    insta::assert_snapshot!(notes(&["explain @src/*.rs please"]), @"note: the text names `src/*.rs`, which is not sent; to send it, add `@src/*.rs` as an argument of its own");
    insta::assert_snapshot!(notes(&["what", "does", "src", "do"]), @"note: the text names `src`, which is not sent; to send it, add `@src` as an argument of its own");
    insta::assert_snapshot!(notes(&["What does `src/lib.rs` do, and main.rs?"]), @"
    note: the text names `src/lib.rs`, which is not sent; to send it, add `@src/lib.rs` as an argument of its own
    note: the text names `main.rs`, which is not sent; to send it, add `@main.rs` as an argument of its own
    ");
    for named_apart in [
        &["explain main.rs", "@main.rs"][..],
        &["explain main.rs", "-a", "main.rs"],
        &["explain main.rs", "-a", "./main.rs"],
        &["ask @nobody or me@example.org, e.g. about main"],
        &["explain @missing.rs and @missing/*.rs please"],
    ] {
        assert_eq!(notes(named_apart), "", "{named_apart:?}");
    }
}

#[test]
fn a_dry_run_lists_everything_that_would_be_sent() {
    let sandbox = sandbox();
    sandbox.write("main.rs", "fn main() {}");
    sandbox.write("notes/a.md", "A note.");
    sandbox.write(".config/parallel-llm-mcp/templates/review.md", "Review this:\n{{input}}");
    ask(&sandbox, "Which design?");
    let asked = sandbox.chats().len();
    let call = || {
        sandbox
            .call(["ask", "--dry-run", "-c", "-m", ONE, "-t", "review", "--system", "Be brief."])
            .args(["Why?", "@main.rs", "-a", "notes"])
            .stdin("piped text")
    };
    insta::assert_snapshot!(call().run().transcript(), @"
    exit 0
    --- stdout
    Nothing was asked. The question would go to:
      1 openai/gpt-6.1-sol
    Strategy: one answer, as it is.
    It would send:
      the instructions of `--system`, 9 bytes
      the template `review`, 22 bytes
      the text of the question, 4 bytes
      the file `main.rs`, 12 bytes
      stdin, 10 bytes
      the attachment `notes/a.md`, 7 bytes
      the conversation of run <run>, 35 bytes
    Attached: 1 file, 7 bytes, about 9 tokens for each model.
    Cost: about $0.015 with 1500 tokens for each reply, at most $0.16 if no call fails. The budget is $3.00.
    --- stderr
    going on with the conversation of run <run>
    ");
    let report = call().arg("--json").run().json();
    let id = report["sends"][6]["name"].as_str().unwrap();
    insta::assert_snapshot!(report["sends"].to_string().replace(id, "<run>"), @r#"[{"bytes":9,"source":"system"},{"bytes":22,"name":"review","source":"template"},{"bytes":4,"source":"text"},{"bytes":12,"name":"main.rs","source":"file"},{"bytes":10,"source":"stdin"},{"bytes":7,"name":"notes/a.md","source":"attachment"},{"bytes":35,"name":"<run>","source":"conversation"}]"#);
    assert_eq!(sandbox.chats().len(), asked, "nothing was asked");
}

/// A folder as people have them.
fn with_files(sandbox: &Sandbox) {
    for name in ["a.txt", "b.txt", "my notes.txt", "src/lib.rs", "main"] {
        sandbox.write(name, "a text");
    }
    sandbox.write("empty.txt", " \n");
}

/// What is refused, with what is wrong in the first line and what to type in the second.
fn refused(arguments: &[&str], stdin: Option<&str>) -> String {
    let sandbox = sandbox();
    with_files(&sandbox);
    let call = sandbox.call(arguments);
    let output = match stdin {
        Some(text) => call.stdin(text),
        None => call,
    }
    .run();
    assert_eq!(output.code, Some(2), "{arguments:?}\n{}", output.transcript());
    assert_eq!(sandbox.chats().len(), 0, "{arguments:?} was paid for");
    format!("{arguments:?}\n{}", output.stderr)
}

#[test]
fn a_flag_behind_another_dash_is_not_sent_as_text() {
    let refusals = [
        &["ask", "—help"][..],
        &["—help"],
        &["ask", "what is a tide", "—budget 0.01"],
        &["what is a tide", "—budget", "0.01"],
        &["ask", "hello", "–-dry-run"],
        &["ask", "hello", "−−dry-run"],
        &["ask", "—m", "gpt-sol", "hello"],
        &["ask", "hello", "—json=1"],
        &["ask", "hello", "\u{a0}--dry-run"],
        &["ask", "hello", "—frobnicate"],
    ];
    insta::assert_snapshot!(refusals.map(|arguments| refused(arguments, None)).concat(), @r#"
    ["ask", "—help"]
    error[usage]: `—help` does not begin with the hyphen of a flag, and would be sent as text
      next: did you mean `--help`?
    ["—help"]
    error[usage]: `—help` does not begin with the hyphen of a flag, and would be sent as text
      next: did you mean `--help`?
    ["ask", "what is a tide", "—budget 0.01"]
    error[usage]: `—budget 0.01` does not begin with the hyphen of a flag, and would be sent as text
      next: did you mean `--budget 0.01`?
    ["what is a tide", "—budget", "0.01"]
    error[usage]: `—budget` does not begin with the hyphen of a flag, and would be sent as text
      next: did you mean `--budget`?
    ["ask", "hello", "–-dry-run"]
    error[usage]: `–-dry-run` does not begin with the hyphen of a flag, and would be sent as text
      next: did you mean `--dry-run`?
    ["ask", "hello", "−−dry-run"]
    error[usage]: `−−dry-run` does not begin with the hyphen of a flag, and would be sent as text
      next: did you mean `--dry-run`?
    ["ask", "—m", "gpt-sol", "hello"]
    error[usage]: `—m` does not begin with the hyphen of a flag, and would be sent as text
      next: did you mean `-m`?
    ["ask", "hello", "—json=1"]
    error[usage]: `—json=1` does not begin with the hyphen of a flag, and would be sent as text
      next: did you mean `--json=1`?
    ["ask", "hello", "\u{a0}--dry-run"]
    error[usage]: `--dry-run` does not begin with the hyphen of a flag, and would be sent as text
      next: did you mean `--dry-run`?
    ["ask", "hello", "—frobnicate"]
    error[usage]: `—frobnicate` does not begin with the hyphen of a flag, and would be sent as text
      next: see `parallel-llm-mcp ask --help`
    "#);
}

#[test]
fn files_and_models_are_not_sent_as_words() {
    let refusals = [
        &["ask", "-a", "a.txt", "b.txt", "my notes.txt", "Compare these files"][..],
        &["ask", "2", "a.txt", "b.txt", "main", "src", "2"],
        &["ask", "explain", "a.txt"],
        &["ask", "explain this", "my notes.txt"],
        &["ask", "-m", "opus", "gpt-sol", "What is a tide?"],
        &["ask", "-m", "opus", "sonnet"],
        &["ask", "-m", "opus", "gpt-sol", "grok-4.7", "why"],
        &["ask", "--system", "@main.rs", "What?"],
        &["ask", "--system=a.txt", "What?"],
        &["ask", "--system", "-", "What?"],
        &["ask", "explain", "@empty.txt"],
        &["ask", "help"],
        &["ask", "\u{feff}"],
        &["ask", "\u{200b} \u{200b}"],
        &["ask", "-o", "a.txt", "@a.txt", "improve"],
        &["ask", "-o", "./a.txt", "-a", "a.txt", "improve"],
    ];
    insta::assert_snapshot!(refusals.map(|arguments| refused(arguments, None)).concat(), @r#"
    ["ask", "-a", "a.txt", "b.txt", "my notes.txt", "Compare these files"]
    error[usage]: `b.txt`, `my notes.txt` are there, and their names would be sent as words
      next: type `parallel-llm-mcp ask -a a.txt -a b.txt -a "my notes.txt" "Compare these files"`
    ["ask", "2", "a.txt", "b.txt", "main", "src", "2"]
    error[usage]: `a.txt`, `b.txt`, `main` and 1 more are there, and their names would be sent as words
      next: type `parallel-llm-mcp ask 2 -a a.txt -a b.txt -a main -a src 2`
    ["ask", "explain", "a.txt"]
    error[usage]: `a.txt` is there, and its name would be sent as a word
      next: type `parallel-llm-mcp ask explain -a a.txt`
    ["ask", "explain this", "my notes.txt"]
    error[usage]: `my notes.txt` is there, and its name would be sent as a word
      next: type `parallel-llm-mcp ask "explain this" -a "my notes.txt"`
    ["ask", "-m", "opus", "gpt-sol", "What is a tide?"]
    error[usage]: `-m` takes one model, and `gpt-sol` behind it would be sent as text
      next: type `parallel-llm-mcp ask -m opus -m gpt-sol "What is a tide?"`
    ["ask", "-m", "opus", "sonnet"]
    error[usage]: `-m` takes one model, and `sonnet` behind it would be sent as text
      next: type `parallel-llm-mcp ask -m opus -m sonnet`
    ["ask", "-m", "opus", "gpt-sol", "grok-4.7", "why"]
    error[usage]: `-m` takes one model, and `gpt-sol`, `grok-4.7` behind it would be sent as text
      next: type `parallel-llm-mcp ask -m opus -m gpt-sol -m grok-4.7 why`
    ["ask", "--system", "@main.rs", "What?"]
    error[usage]: `--system` takes a text, and `@main.rs` would be sent as these characters
      next: type `parallel-llm-mcp ask --system "$(cat main.rs)" "What?"`
    ["ask", "--system=a.txt", "What?"]
    error[usage]: `--system` takes a text, and `a.txt` would be sent as these characters
      next: type `parallel-llm-mcp ask --system="$(cat a.txt)" "What?"`
    ["ask", "--system", "-", "What?"]
    error[usage]: `--system` takes a text, and `-` would be sent as these characters
      next: type `parallel-llm-mcp ask --system "$(cat)" "What?"`
    ["ask", "explain", "@empty.txt"]
    error[prompt_empty]: the prompt file `empty.txt` gives no text, and the question would go without it
      next: leave `@empty.txt` out
    ["ask", "help"]
    error[usage]: `help` is hardly a question
      next: see `parallel-llm-mcp ask --help`, or type `parallel-llm-mcp ask -- help`
    ["ask", "\u{feff}"]
    error[prompt_empty]: the prompt is empty
      next: give a prompt as an argument, as `@file` or on stdin
    ["ask", "\u{200b} \u{200b}"]
    error[prompt_empty]: the prompt is empty
      next: give a prompt as an argument, as `@file` or on stdin
    ["ask", "-o", "a.txt", "@a.txt", "improve"]
    error[usage]: `--output a.txt` would replace a file of the question
      next: write it like `--output a.answer.txt`
    ["ask", "-o", "./a.txt", "-a", "a.txt", "improve"]
    error[usage]: `--output ./a.txt` would replace a file of the question
      next: write it like `--output ./a.answer.txt`
    "#);
}

#[test]
fn stdin_without_text_or_without_a_command_is_no_question() {
    insta::assert_snapshot!(refused(&["ask", "explain", "-"], Some("")), @r#"
    ["ask", "explain", "-"]
    error[prompt_empty]: stdin gives no text, and the question would go without it
      next: leave `-` out
    "#);
    insta::assert_snapshot!(refused(&[], Some("what is a tide?\n")), @r#"
    []
    error[usage]: without a question this is an MCP server, and what came on stdin is no message of MCP
      next: type `parallel-llm-mcp ask -`
    "#);
}

#[test]
fn the_file_that_was_meant_is_named() {
    for (argument, meant) in [
        (&["@a.txt:10"][..], "did you mean `@a.txt`?"),
        (&["@a.txt\r"], "did you mean `@a.txt`?"),
        (&["@A.txt"], "did you mean `@a.txt`?"),
        (&["@ a.txt"], "did you mean `@a.txt`?"),
        (&["@a.txt explain"], "did you mean `@a.txt explain`?"),
        (&["@a.txt,b.txt"], "did you mean `@a.txt @b.txt`?"),
        (&["@-"], "did you mean `-`?"),
        (&["-a", "my\\ notes.txt"], "did you mean `-a \"my notes.txt\"`?"),
        (&["-a", "a.txt:10:3"], "did you mean `-a a.txt`?"),
    ] {
        let arguments: Vec<&str> = ["ask", "explain"].iter().chain(argument).copied().collect();
        let shown = refused(&arguments, None);
        assert!(shown.contains(meant), "{shown}");
    }
    let sandbox = sandbox();
    with_files(&sandbox);
    for argument in ["@~/a.txt", "--attach=~/a.txt"] {
        let output = sandbox.call(["ask", "-q", "-m", ONE, "explain", argument]).run();
        assert_eq!(output.code, Some(0), "{argument}\n{}", output.stderr);
    }
}

#[test]
fn a_secret_that_is_typed_is_refused_like_one_that_is_piped() {
    let key = concat!("sk-or-v1-", "8f3a1c5e7b9d2f4a6c8e0b1d3f5a7c9e8f3a1c5e7b9d2f4a6c8e0b1d3f5a7c9e");
    let quoted = format!("keys set openrouter {key}");
    let question = format!("is {key} a key?");
    let refusals = [
        &["ask", &question][..],
        &[&question],
        &["ask", "--system", &question, "What?"],
        &["ask", "is", key, "a", "key"],
        &[&quoted],
        &["keys add openai abcd1234efgh"],
    ];
    let shown = refusals.map(|arguments| refused(arguments, None)).concat();
    assert!(!shown.lines().any(|line| !line.starts_with('[') && line.contains("8f3a1c5e")), "{shown}");
    insta::assert_snapshot!(shown.replace(key, "<key>"), @r#"
    ["ask", "is <key> a key?"]
    error[secret_found]: the question is not sent: it holds a token in line 1
      next: remove the secrets, because they cannot be recalled once sent, or send it as it is with `--allow-secret-file`
    ["is <key> a key?"]
    error[secret_found]: the question is not sent: it holds a token in line 1
      next: remove the secrets, because they cannot be recalled once sent, or send it as it is with `--allow-secret-file`
    ["ask", "--system", "is <key> a key?", "What?"]
    error[secret_found]: the text of `--system` is not sent: it holds a token in line 1
      next: remove the secrets, because they cannot be recalled once sent, or send it as it is with `--allow-secret-file`
    ["ask", "is", "<key>", "a", "key"]
    error[secret_found]: the question is not sent: it holds a token in line 1
      next: remove the secrets, because they cannot be recalled once sent, or send it as it is with `--allow-secret-file`
    ["keys set openrouter <key>"]
    error[usage]: `keys set ...` in quotes is a command, not a question, and seems to hold a key
      next: type `parallel-llm-mcp keys set openrouter`
    ["keys add openai abcd1234efgh"]
    error[usage]: `keys ...` in quotes is a command, not a question, and seems to hold a key
      next: type `parallel-llm-mcp keys set openrouter`
    "#);
    let sandbox = sandbox();
    let output = sandbox.call(["ask", "-q", "-m", ONE, "--allow-secret-file", &question]).run();
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert_eq!(sent(&sandbox), [question]);
}

#[test]
fn a_command_in_quotes_is_refused_even_if_it_is_wrong() {
    let refusals = [
        "runs purge --all",
        "doctor --fix",
        "serve --port 80",
        "runs resume",
        "config set budget 1",
        "ask --file x what",
        "ask what is a tide? --json",
        "runs delete @",
        "pllm runs list",
        "models opus",
    ];
    insta::assert_snapshot!(refusals.map(|text| refused(&[text], None)).concat(), @r#"
    ["runs purge --all"]
    error[usage]: `runs purge --all` in quotes is a command, not a question
      next: see `parallel-llm-mcp runs purge --help`, or type `parallel-llm-mcp ask "runs purge --all"`
    ["doctor --fix"]
    error[usage]: `doctor --fix` in quotes is a command, not a question
      next: type `parallel-llm-mcp doctor`, or type `parallel-llm-mcp ask "doctor --fix"`
    ["serve --port 80"]
    error[usage]: `serve --port 80` in quotes is a command, not a question
      next: type `parallel-llm-mcp serve --http 127.0.0.1:80`, or type `parallel-llm-mcp ask "serve --port 80"`
    ["runs resume"]
    error[usage]: `runs resume` in quotes is a command, not a question
      next: type `parallel-llm-mcp runs resume @`, see `parallel-llm-mcp runs resume --help`, or type `parallel-llm-mcp ask "runs resume"`
    ["config set budget 1"]
    error[usage]: `config set budget 1` in quotes is a command, not a question
      next: set `budget_usd` in your own file or as `PARALLEL_LLM_BUDGET_USD`, see `parallel-llm-mcp config show`, or type `parallel-llm-mcp ask "config set budget 1"`
    ["ask --file x what"]
    error[usage]: `ask --file x what` in quotes is a command, not a question
      next: write it like `--attach x`, or type `parallel-llm-mcp ask "ask --file x what"`
    ["ask what is a tide? --json"]
    error[usage]: `ask what is a tide? --json` in quotes is a command, not a question
      next: type `parallel-llm-mcp ask what is a tide? --json`, or type `parallel-llm-mcp ask "ask what is a tide? --json"`
    ["runs delete @"]
    error[usage]: `runs delete @` in quotes is a command, not a question
      next: type `parallel-llm-mcp runs purge @`, or type `parallel-llm-mcp ask "runs delete @"`
    ["pllm runs list"]
    error[usage]: `pllm runs list` in quotes is a command, not a question
      next: type `parallel-llm-mcp runs list`, or type `parallel-llm-mcp ask "pllm runs list"`
    ["models opus"]
    error[usage]: `models opus` in quotes is a command, not a question
      next: type `parallel-llm-mcp models opus`, or type `parallel-llm-mcp ask "models opus"`
    "#);
}

#[test]
fn what_may_be_a_question_is_asked() {
    let sandbox = sandbox();
    with_files(&sandbox);
    for text in [
        "models of the atom",
        "ask not what your country can do",
        "runs in the family",
        "runs list of the year",
        "keys set in stone",
        "batch process explained",
        "explain photosynthesis",
        "explain AES-256",
        "config show me the way",
        "serve the people",
        "store check valves",
        "— what is this dash?",
        "−40 °C in °F?",
        "–all the best",
        "What does the flag —help do?",
        "what is in a.txt, and in @missing.txt",
        "What does `password` mean?",
    ] {
        let output = sandbox.call([text, "-q", "-m", ONE]).run();
        assert_eq!(output.code, Some(0), "{text}\n{}", output.transcript());
        assert_eq!(sent(&sandbox), [text]);
    }
    for words in [
        &["what", "does", "main", "do"][..],
        &["what", "does", "src", "do"],
        &["help", "me"],
        &["pro", "and", "contra"],
        &["--", "—help"],
    ] {
        let output = sandbox.call(["ask", "-q", "-m", ONE]).args(words).run();
        assert_eq!(output.code, Some(0), "{words:?}\n{}", output.transcript());
        assert_eq!(sent(&sandbox), [words.join(" ").replace("-- ", "")]);
    }
}

#[test]
fn a_dash_as_the_answer_file_is_stdout() {
    let sandbox = sandbox();
    let output = sandbox.call(["ask", "-q", "-m", ONE, "-o", "-", "Why?"]).run();
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert!(!output.text().is_empty() && !sandbox.home().join("-").exists());
}

#[test]
fn a_line_to_type_keeps_the_flags_that_limit_it() {
    let sandbox = sandbox();
    sandbox.write("lines.jsonl", "{\"prompt\": \"Why?\"}\n");
    let mut said = String::new();
    for line in [
        "What is love --budget 0.01 -m openai/gpt-6.1-sol --dry-run",
        "why -m openai/gpt-6.1-sol --dry-run",
        "prompt Why? --dry-run --budget 0.01",
        "batch lines.jsonl --dry-run --budget 0.01",
        "batch run lines.jsonl --dry-run",
        "batch retry --budget 1",
        "runs rm @~1 --demo",
        "runs retry @ --demo --budget 0.1",
        "runs delete --older-than 1d",
        "runs 01M8PWZ8K5Q2W7V9X4B6N1C0A7 --demo",
        "setup --api-key sk-or-v1-0123456789abcdef0123456789abcdef",
        "ask -p hi --dry-run",
        "ask --prompt=hi --dry-run",
        "ask hi there --question",
    ] {
        let output = sandbox.call(line.split(' ')).run();
        assert_eq!(output.code, Some(2), "{}", output.transcript());
        let next = output.stderr.lines().filter_map(|line| line.trim().strip_prefix("next: "));
        said += &format!("{line}\n  {}\n", next.collect::<Vec<_>>().join(" "));
    }
    insta::assert_snapshot!(said, @r#"
    What is love --budget 0.01 -m openai/gpt-6.1-sol --dry-run
      write it like `parallel-llm-mcp "What is love" --budget 0.01 -m openai/gpt-6.1-sol --dry-run`
    why -m openai/gpt-6.1-sol --dry-run
      see `parallel-llm-mcp --help`, or type `parallel-llm-mcp ask "why" -m openai/gpt-6.1-sol --dry-run`
    prompt Why? --dry-run --budget 0.01
      type `parallel-llm-mcp ask "Why?" --dry-run --budget 0.01`
    batch lines.jsonl --dry-run --budget 0.01
      type `parallel-llm-mcp batch submit lines.jsonl --dry-run --budget 0.01`
    batch run lines.jsonl --dry-run
      type `parallel-llm-mcp batch submit lines.jsonl --dry-run`
    batch retry --budget 1
      type `parallel-llm-mcp batch retry-failed --budget 1`
    runs rm @~1 --demo
      type `parallel-llm-mcp runs purge @~1 --demo`
    runs retry @ --demo --budget 0.1
      type `parallel-llm-mcp runs resume @ --demo --budget 0.1`
    runs delete --older-than 1d
      type `parallel-llm-mcp runs purge --older-than 1d`
    runs 01M8PWZ8K5Q2W7V9X4B6N1C0A7 --demo
      type `parallel-llm-mcp runs show 01M8PWZ8K5Q2W7V9X4B6N1C0A7 --demo`
    setup --api-key sk-or-v1-0123456789abcdef0123456789abcdef
      type `parallel-llm-mcp keys set openrouter`
    ask -p hi --dry-run
      type `parallel-llm-mcp ask hi --dry-run`
    ask --prompt=hi --dry-run
      type `parallel-llm-mcp ask hi --dry-run`
    ask hi there --question
      type `parallel-llm-mcp ask hi there "QUESTION"`
    "#);
    assert!(sandbox.chats().is_empty());
}
