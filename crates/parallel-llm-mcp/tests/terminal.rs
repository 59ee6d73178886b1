//! The program among other programs: piped input, piped output, and readers that stop reading.

use std::os::unix::fs::PermissionsExt;

use parallel_llm_testkit::simulator::Script;
use parallel_llm_testkit::{Output, Sandbox};

const ONE: &str = "openai/gpt-6.1-sol";

fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_parallel-llm-mcp"))
}

/// The question that the model received.
fn sent_question(sandbox: &Sandbox) -> String {
    sandbox.chats()[0].body["messages"][0]["content"].as_str().expect("a question is text").to_owned()
}

/// The question that the model received, or the refusal, if these bytes are piped to `ask` with these arguments.
fn piped(arguments: &[&str], bytes: &[u8]) -> String {
    let sandbox = sandbox();
    sandbox.write("note.md", "From the file.");
    let output = sandbox.call(["ask", "-q", "-m", ONE]).args(arguments).stdin(bytes).run();
    if output.code == Some(0) { sent_question(&sandbox) } else { refusal(&sandbox, &output) }
}

fn refusal(sandbox: &Sandbox, output: &Output) -> String {
    assert_eq!(sandbox.chats(), [], "nothing is sent");
    output.transcript()
}

#[test]
fn piped_text_follows_the_arguments() {
    assert_eq!(piped(&["Summarise this."], b"line 1\nline 2\n"), "Summarise this.\n\nline 1\nline 2\n");
    assert_eq!(piped(&["A", "@note.md"], b"piped"), "A\n\nFrom the file.\n\npiped");
    // `-` puts it elsewhere.
    assert_eq!(piped(&["-", "Summarise that."], b"piped"), "piped\n\nSummarise that.");
    let long = "x".repeat(90_000);
    assert_eq!(piped(&["A"], long.as_bytes()), format!("A\n\n{long}"), "longer than the capacity of a pipe");
    for nothing in [&b""[..], b"\n", b" \n\t"] {
        assert_eq!(piped(&["A"], nothing), "A");
    }
}

#[test]
fn unusable_piped_text_is_refused_before_anything_is_paid() {
    insta::assert_snapshot!(piped(&["A"], b"caf\xe9"), @"
    exit 2
    --- stdout
    --- stderr
    error[prompt_not_utf8]: stdin is not UTF-8: the byte at offset 3 is wrong
      next: convert it, such as with `iconv -f latin1 -t utf-8 OLD > NEW`
    ");
    insta::assert_snapshot!(piped(&["A"], "x".repeat(100_000).as_bytes()), @"
    exit 2
    --- stdout
    --- stderr
    error[prompt_too_long]: the prompt has 100003 characters; the limit is 100000
      next: shorten the prompt, or raise the setting `prompt_chars_max`
    ");
    let key = format!("+-----{} OPENSSH PRIVATE KEY-----\n+b3BlbnNzaC1rZXktdjEA\n", "BEGIN");
    insta::assert_snapshot!(piped(&["A"], key.as_bytes()), @"
    exit 2
    --- stdout
    --- stderr
    error[secret_found]: stdin is not sent: it holds a private key
      next: remove the secrets, because they cannot be recalled once sent, or send it as it is with `--allow-secret-file`
    ");
    assert_eq!(piped(&["A", "--allow-secret-file"], key.as_bytes()), format!("A\n\n{key}"));
}

#[test]
fn a_diff_or_a_log_with_a_secret_is_refused_with_its_place() {
    let head = |path: &str| {
        format!("diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1 +1,2 @@\n context\n")
    };
    let token = format!("gh{}_{}", "p", "Zq3vT8mKx1Lp9WbR4sYn0aH7cE2dF5gJ6uI8");
    for (text, why) in [
        (format!("{}+PORT=1\n", head("deploy/.env")), "it changes `deploy/.env`, which by its name holds"),
        (format!("{}+client = new('{token}')\n", head("a.js")), "it changes `a.js`, which holds a token"),
        (format!("INFO start\nDEBUG using {token}\n"), "it holds a token in line 2"),
        ("FROM a\nENV DB_PASSWORD=Xk9mP2vL5n\nRUN b\n".to_owned(), "it holds a secret in line 2"),
    ] {
        let refused = piped(&["A"], text.as_bytes());
        assert!(refused.contains(&format!("error[secret_found]: stdin is not sent: {why}")), "{refused}");
    }
    let harmless = format!("{}+let token = read(path)?;\n", head("src/a.rs"));
    assert_eq!(piped(&["A"], harmless.as_bytes()), format!("A\n\n{harmless}"));
}

#[test]
fn a_stdin_that_is_closed_or_empty_adds_nothing() {
    for first in ["exec <&-", "exec </dev/null"] {
        let sandbox = sandbox();
        let output = sandbox.call(["ask", "-q", "-m", ONE, "A"]).under(first).run();
        assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""), "{first}");
        assert_eq!(sent_question(&sandbox), "A", "{first}");
    }
}

fn fifo(sandbox: &Sandbox, name: &str) -> std::path::PathBuf {
    let path = sandbox.home().join(name);
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(made.is_ok_and(|status| status.success()), "a pipe can be made");
    path
}

/// Takes the five seconds that the program waits for such a pipe.
#[test]
fn a_pipe_left_open_on_stdin_is_named_and_does_not_block_the_question() {
    let (sandbox, other) = (sandbox(), sandbox());
    let running = sandbox.call(["ask", "-q", "-m", ONE, "A"]).listening().start();
    fifo(&other, "pipe");
    let unread = other.call(["ask", "-q", "-m", ONE, "A", "-o", "pipe"]).start();
    sandbox.until("it is asked", || sandbox.asked(ONE) == 1);
    let output = running.wait();
    assert_eq!((output.code, sent_question(&sandbox).as_str()), (Some(0), "A"));
    insta::assert_snapshot!(refusal(&other, &unread.wait()), @"
    exit 7
    --- stdout
    --- stderr
    error[output_unwritable]: the file `<home>/pipe` cannot be written: nobody has read it for 5 s
      next: start its reader first, or name a file
    ");
    insta::assert_snapshot!(output.stderr, @"note: nothing came on stdin within 5 s, so the question goes without it; write `-` behind the prompt to wait for it, or `< /dev/null` where there is nothing to come");
}

#[test]
fn a_file_of_secrets_is_sent_only_with_the_flag() {
    let ask_with = |arguments: &[&str]| {
        let sandbox = sandbox();
        sandbox.write(".env", "PORT=1\n");
        sandbox.write("notes.txt", "OPENAI_API_KEY=sk-proj-0a1B2c3D4e5F6g7H\n");
        let output = sandbox.call(["ask", "-q", "-m", ONE, "A"]).args(arguments).run();
        if output.code == Some(0) { sent_question(&sandbox) } else { refusal(&sandbox, &output) }
    };
    insta::assert_snapshot!(ask_with(&["-a", ".env"]), @"
    exit 2
    --- stdout
    --- stderr
    error[secret_found]: the attachment `.env` is not sent: by its name it holds environment variables with secrets
      next: remove the secrets, because they cannot be recalled once sent, or send it as it is with `--allow-secret-file`
    ");
    insta::assert_snapshot!(ask_with(&["@notes.txt"]), @"
    exit 2
    --- stdout
    --- stderr
    error[secret_found]: the prompt file `notes.txt` is not sent: it holds variables with secrets
      next: remove the secrets, because they cannot be recalled once sent, or send it as it is with `--allow-secret-file`
    ");
    let allowed = ask_with(&["-a", ".env", "--allow-secret-file"]);
    assert_eq!(allowed, "A\n\n.env:\n```\nPORT=1\n```");
}

/// A sandbox for a run of forty seats whose report exceeds any pipe and any queue.
fn with_long_answers() -> Sandbox {
    sandbox().scripted(ONE, Script::answering(&"word ".repeat(8_000)))
}

const FORTY: [&str; 8] =
    ["ask", "--budget", "9", "--strategy", "panel", "-m", "openai/gpt-6.1-sol*40", "Why?"];

#[test]
fn an_unread_stdout_blocks_no_run_and_a_signal_ends_the_program() {
    let sandbox = with_long_answers();
    let running = sandbox.call(FORTY).arg("--jsonl").ignores_stdout().start();
    let runs = || sandbox.call(["runs", "list", "--json"]).run().text().to_owned();
    sandbox.until("all answers are stored", || runs().contains("\"answered\":40"));
    running.signal("INT");
    let output = running.wait();
    assert_eq!(output.code, Some(130), "{}", output.stderr);
    let report = sandbox.call(["runs", "show", "@", "--json"]).run().json();
    let answers = report["answers"].as_array().unwrap();
    assert!(answers.len() == 40 && answers.iter().all(|seat| seat["status"] == "answered"));
    // A program that prints to a reader that never reads can be ended, too.
    let running = sandbox.call(["runs", "show", "@", "--json"]).ignores_stdout().start();
    running.signal("TERM");
    assert_ne!(running.wait().code, Some(0));
}

#[test]
fn an_unread_stderr_blocks_nothing() {
    let sandbox = sandbox();
    let full = "mkfifo p; exec 3<>p; head -c 65536 /dev/zero >&3; exec 2>&3";
    let output = sandbox.call(["ask", "-m", ONE, "A"]).under(full).run();
    assert_eq!(output.code, Some(0));
    assert!(!output.text().is_empty());
}

#[test]
fn an_answer_is_written_to_a_private_file_or_to_a_pipe() {
    let sandbox = sandbox().scripted(ONE, Script::answering("Take the first."));
    sandbox.write("old.md", "old");
    let output = sandbox.call(["ask", "-q", "-m", ONE, "A", "-o", "old.md"]).under("umask 000").run();
    assert_eq!((output.code, output.text(), output.stderr.as_str()), (Some(0), "", ""));
    let file = sandbox.home().join("old.md");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "Take the first.");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let path = fifo(&sandbox, "pipe");
    let reader = std::thread::spawn(move || std::fs::read_to_string(path));
    let output = sandbox.call(["ask", "-q", "-m", ONE, "A", "-o", "pipe"]).run();
    assert_eq!((output.code, output.stderr.as_str()), (Some(0), ""));
    assert_eq!(reader.join().unwrap().unwrap(), "Take the first.");
}

#[test]
fn without_utf8_or_on_a_dumb_terminal_the_output_is_ascii() {
    for (name, value) in [("LANG", "C"), ("LC_ALL", "POSIX"), ("TERM", "dumb")] {
        let sandbox = sandbox();
        let output = sandbox.call(["ask", "-m", ONE, "A"]).env(name, value).run();
        assert!(output.stderr.is_ascii(), "{}", output.stderr);
        assert!(output.stderr.contains("\nCost $"), "{}", output.stderr);
    }
}

#[test]
fn a_usage_error_has_the_format_of_all_errors() {
    let transcript_of = |arguments: &[&str]| sandbox().call(arguments).run().transcript();
    insta::assert_snapshot!(transcript_of(&["ask", "--jsno", "A"]), @"
    exit 2
    --- stdout
    --- stderr
    error[usage]: there is no flag `--jsno`
      next: did you mean `--json`?
    ");
    insta::assert_snapshot!(transcript_of(&["runs", "wait"]), @"
    exit 2
    --- stdout
    --- stderr
    error[run_not_found]: there are no runs yet
      next: ask something first
    ");
    insta::assert_snapshot!(transcript_of(&["modles"]), @"
    exit 2
    --- stdout
    --- stderr
    error[usage]: there is no command `modles`
      next: did you mean `models`?
    ");
    insta::assert_snapshot!(transcript_of(&["ask", "A", "--check", "grep -q X | cat"]), @"
    exit 2
    --- stdout
    --- stderr
    error[settings_invalid]: flag --check: `check_command` is run without a shell, which alone understands `|`
      next: quote it to use it literally, or run a shell: `sh -c '...'`
    ");
}
