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
    insta::assert_snapshot!(notes(&["What does `src/lib.rs` do, and main.rs?"]), @"
    note: the text names `src/lib.rs`, which is not sent; to send it, add `@src/lib.rs` as an argument of its own
    note: the text names `main.rs`, which is not sent; to send it, add `@main.rs` as an argument of its own
    ");
    for named_apart in [
        &["explain main.rs", "@main.rs"][..],
        &["explain main.rs", "-a", "main.rs"],
        &["ask @nobody or me@example.org, e.g. about main"],
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
    Strategy: synthesize.
    It would send:
      the instructions of `--system`, 9 bytes
      the template `review`, 22 bytes
      the text of the question, 4 bytes
      the file `main.rs`, 12 bytes
      stdin, 10 bytes
      the attachment `notes/a.md`, 7 bytes
      the conversation of run <run>, 35 bytes
    Attached: 1 file, 7 bytes, about 9 tokens for each model.
    Cost: about $0.015 with 1500 tokens for each reply, at most $0.16. The budget is $3.00.
    --- stderr
    going on with the conversation of run <run>
    ");
    let report = call().arg("--json").run().json();
    let id = report["sends"][6]["name"].as_str().unwrap();
    insta::assert_snapshot!(report["sends"].to_string().replace(id, "<run>"), @r#"[{"bytes":9,"source":"system"},{"bytes":22,"name":"review","source":"template"},{"bytes":4,"source":"text"},{"bytes":12,"name":"main.rs","source":"file"},{"bytes":10,"source":"stdin"},{"bytes":7,"name":"notes/a.md","source":"attachment"},{"bytes":35,"name":"<run>","source":"conversation"}]"#);
    assert_eq!(sandbox.chats().len(), asked, "nothing was asked");
}
