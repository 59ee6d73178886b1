//! The short name of the program, `pllm`, which is installed beside it.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::mcp::client::Client;
use parallel_llm_testkit::{Output, Sandbox, seats};

const ONE: &str = "openai/gpt-6.1-sol";

fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_pllm"))
}

fn run(arguments: &[&str]) -> Output {
    sandbox().call(arguments).run()
}

#[test]
fn it_does_what_the_program_does() {
    let sandbox = sandbox();
    let answered = sandbox.call(["ask", "--json", "-m", ONE, "Why?"]).run();
    assert_eq!(answered.code, Some(0), "{}", answered.stderr);
    insta::assert_snapshot!(seats(&answered.json()), @"1 openai/gpt-6.1-sol answered x1 444 bytes");
    let refused = sandbox.call(["ask", "--budget", "0.001", "-m", ONE, "Why?"]).run();
    assert_eq!(refused.code, Some(5), "{}", refused.stderr);
    let piped = sandbox.call(["ask", "-q", "-m", ONE, "-"]).stdin("How?").run();
    assert_eq!(piped.code, Some(0), "{}", piped.stderr);
    assert_eq!(sandbox.chats()[1].body["messages"][0]["content"], "How?");
}

#[test]
fn it_serves_mcp_on_pipes() {
    let sandbox = sandbox();
    let mut client = Client::new(&sandbox, &[]);
    let models = client.call("list_models", serde_json::json!({"search": "gpt-6.1-sol"}));
    assert_eq!(models["isError"], false, "{models}");
}

#[test]
fn a_signal_reaches_the_run() {
    use parallel_llm_testkit::simulator::{Fault, Script};
    let sandbox = sandbox().scripted(ONE, Script::fault(Fault::AcceptNoReply));
    let running = sandbox.call(["ask", "-m", ONE, "Why?"]).start();
    sandbox.until("the model is asked", || sandbox.asked(ONE) == 1);
    running.signal("TERM");
    assert_eq!(running.wait().code, Some(143));
}

#[test]
fn what_is_to_be_typed_is_written_with_the_name_that_was_typed() {
    let page = run(&["--help"]);
    assert!(!page.text().contains("parallel-llm-mcp"), "{}", page.text());
    assert!(page.text().contains("pllm \"Which of two designs is safer, and why?\""), "{}", page.text());
    let page = run(&["ask", "--help"]);
    assert!(page.text().contains("Usage: pllm ask [OPTIONS] [PROMPT]..."), "{}", page.text());
    insta::assert_snapshot!(run(&["frobnicate"]).transcript(), @r#"
    exit 2
    --- stdout
    --- stderr
    error[usage]: there is no command `frobnicate`
      next: see `pllm --help`, or type `pllm ask "frobnicate"`
    "#);
    insta::assert_snapshot!(run(&["ask", "--modle", "a/b", "Why?"]).transcript(), @"
    exit 2
    --- stdout
    --- stderr
    error[usage]: there is no flag `--modle`
      next: did you mean `--model`?
    ");
    insta::assert_snapshot!(sandbox().call(["ask", "Why?"]).without("OPENROUTER_API_KEY").run().transcript(), @"
    exit 4
    --- stdout
    --- stderr
    error[key_missing]: no API key is set for `openrouter`
      next: set `OPENROUTER_API_KEY`, keep the key with `pllm keys set openrouter`, or try `pllm demo`, which needs no key
    ");
    insta::assert_snapshot!(run(&["strategies", "race"]).transcript(), @r#"
    exit 0
    --- stdout
    The first answer is selected.

    For:    An answer as fast as possible
    Calls:  5 with your panel of 5
    Use:    pllm ask --strategy race "..."

    Options, written as in `race@hedge_after_ms=1`:
      hedge_after_ms=1..600000  Milliseconds until the next seat is asked, too.
    --- stderr
    "#);
    insta::assert_snapshot!(run(&["runs", "list"]).transcript(), @r#"
    exit 0
    --- stdout
    --- stderr
    no runs yet: try `pllm ask "..."`
    "#);
}

#[test]
fn its_completions_and_manual_pages_are_its_own() {
    let sandbox = sandbox();
    let script = sandbox.write("script", sandbox.call(["completions", "bash"]).run().text());
    let line = format!(
        "source {}; COMP_WORDS=(pllm runs sy); COMP_CWORD=2; _pllm pllm sy runs; echo \"${{COMPREPLY[@]}}\"",
        script.display()
    );
    let completed = Command::new("bash").args(["-c", &line]).output().expect("bash runs");
    assert_eq!(String::from_utf8_lossy(&completed.stdout).trim(), "synthesize");
    let folder = sandbox.home().join("man1");
    std::fs::create_dir(&folder).expect("a folder can be made");
    assert_eq!(sandbox.call(["man", folder.to_str().unwrap()]).run().code, Some(0));
    assert!(folder.join("pllm.1").is_file());
    let page = std::fs::read_to_string(folder.join("pllm-ask.1")).expect("each command has a page");
    assert!(page.contains("pllm ask") && !page.contains("parallel\\-llm\\-mcp ask"), "{page}");
}

#[test]
fn a_client_is_set_up_to_start_the_program_itself() {
    let sandbox = sandbox();
    let output = sandbox.call(["install", "cursor", "--yes"]).run();
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let written = std::fs::read_to_string(sandbox.home().join(".cursor/mcp.json")).expect("it was written");
    let written: serde_json::Value = serde_json::from_str(&written).expect("it is JSON");
    let command = written["mcpServers"]["parallel-llm"]["command"].as_str().unwrap_or_default();
    let expected = Path::new(env!("CARGO_BIN_EXE_parallel-llm-mcp"));
    assert_eq!(Path::new(command), expected);
}

/// A copy of the short name alone in a folder.
fn alone(sandbox: &Sandbox) -> PathBuf {
    let folder = sandbox.home().join("bin");
    std::fs::create_dir(&folder).expect("a folder can be made");
    let copy = folder.join("pllm");
    std::fs::copy(env!("CARGO_BIN_EXE_pllm"), &copy).expect("a file can be copied");
    copy
}

#[test]
fn without_the_program_beside_it_it_says_what_is_missing() {
    let sandbox = sandbox();
    let copy = alone(&sandbox);
    let output = Command::new(&copy).arg("--help").output().expect("it starts");
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(70), &b""[..]));
    let folder = copy.parent().unwrap().canonicalize().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).replace(folder.to_str().unwrap(), "<folder>");
    insta::assert_snapshot!(said, @"
    error[internal]: `pllm` cannot start the program beside it, `<folder>/parallel-llm-mcp`: No such file or directory (os error 2)
      next: install both again, or call `parallel-llm-mcp` itself
    ");
}

#[test]
fn a_link_to_it_finds_the_program() {
    let sandbox = sandbox();
    let link = sandbox.home().join("p");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_pllm"), &link).expect("a link can be made");
    let output = Command::new(&link).args(["ask", "--help"]).output().expect("it starts");
    let page = String::from_utf8_lossy(&output.stdout);
    assert!(page.contains("Usage: pllm ask"), "{page}");
}
