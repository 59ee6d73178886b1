//! The user's own check command: real programs run on real answers, and only for the owner.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::ask::{ONE, THREE, TWO};
use crate::mcp::client::{Client, text};
use parallel_llm_testkit::simulator::Script;
use parallel_llm_testkit::{Call, Sandbox};
use serde_json::{Value, json};

const MODELS: [&str; 3] = ["openai/gpt-6.1-sol", "x-ai/grok-4.7", "mistralai/mistral-large-4-0"];
const ANSWERS: [&str; 3] = ["sort(list)", "list.sort()", "sorted(list) # $(touch hacked) `touch hacked`"];
const TASK: &str = "Write a function that sorts a list.";
const STRATEGY: &str = "best-of-n@by=check";

/// Three models whose answers differ.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_parallel-llm-mcp"));
    let answering = |sandbox: Sandbox, (model, answer)| sandbox.scripted(model, Script::answering(answer));
    MODELS.into_iter().zip(ANSWERS).fold(sandbox, answering)
}

/// The same models, and an executable shell script in the home.
fn with_script(name: &str, lines: &str) -> Sandbox {
    let sandbox = sandbox();
    program(&sandbox, name, &format!("#!/bin/sh\n{lines}\n"));
    sandbox
}

fn program(sandbox: &Sandbox, name: &str, text: &str) {
    let path = sandbox.write(name, text);
    fs::set_permissions(path, fs::Permissions::from_mode(0o700)).expect("the file is ours");
}

fn asking<'a>(sandbox: &'a Sandbox, arguments: &[&str]) -> Call<'a> {
    let models = MODELS.iter().flat_map(|model| ["-m", *model]);
    sandbox.call(["ask"]).args(models).args(arguments).arg(TASK)
}

/// How the answer was decided, and the result of each check.
fn outcome(report: &Value) -> String {
    let checks = report["checks"].as_array().map(Vec::as_slice).unwrap_or_default();
    let check = |check: &Value| {
        let score = check["score"].as_f64().map(|score| format!(" {score}")).unwrap_or_default();
        let code = check["code"].as_str().map(|code| format!(" {code}")).unwrap_or_default();
        format!("{}:{}{score}{code}", check["seat"], check["passed"])
    };
    let checks: Vec<String> = checks.iter().map(check).collect();
    let (kind, reason) = (&report["synthesis"]["kind"], &report["synthesis"]["reason"]);
    format!("{} {} | {reason} | {}", report["status"], kind, checks.join(" "))
}

#[test]
fn the_answer_with_the_best_check_is_selected() {
    let sandbox = with_script("check.sh", "grep -q 'list' || exit 1\necho \"0.$PARALLEL_LLM_SEAT\"");
    let output = asking(&sandbox, &["--check", "./check.sh"]).run();
    insta::assert_snapshot!(output.summary(), @"
    Answer by 3 mistralai/mistral-large-4-0, chosen by your check: 3 of 3 answers pass the check; this one has the highest score.
    Checked: seat 1 passes with 0.1, seat 2 passes with 0.2, seat 3 passes with 0.3.
    Cost $0.00012, <time>.
    Kept as run <run>: `parallel-llm-mcp runs show @`; files in ~/.local/share/parallel-llm-mcp/runs/<run>.
    ");
    assert_eq!(output.text().trim_end(), ANSWERS[2]);
    let hacked = sandbox.files().into_iter().any(|(path, _)| path.ends_with("hacked"));
    assert!(!hacked, "no part of an answer is executed");
    // No model outside the panel is asked.
    assert_eq!(sandbox.chats().len(), MODELS.len());
}

#[test]
fn a_check_is_named_by_flag_setting_or_variable() {
    let sandbox = with_script("my checks/check.sh", "grep -q \"^$1\" && echo 1");
    sandbox.write(
        ".config/parallel-llm-mcp/config.toml",
        "check_command = ['~/my checks/check.sh', 'list.sort']\ncheck_timeout_ms = 50_000\n",
    );
    let outcome = |arguments: &[&str], settings: &[(&str, &str)]| {
        let call = asking(&sandbox, arguments).arg("--json").settings(settings.iter().copied());
        outcome(&call.run().json())
    };
    let flag = "'my checks/check.sh' sorted";
    let lines = [
        outcome(&["--strategy", STRATEGY], &[]),
        outcome(&["--strategy", "auto"], &[]),
        outcome(&["--check", flag], &[]),
        outcome(&["--check", flag, "--strategy", "auto"], &[]),
        outcome(&["--check", flag, "--strategy", "best-of-n@by=judge"], &[]),
        outcome(&["--strategy", STRATEGY], &[("check_command", "~/'my checks'/check.sh 'sort('")]),
    ];
    insta::assert_snapshot!(lines.join("\n"), @r#"
    "complete" "selected" | "it is the only one of 3 answers that passes the check" | 1:false 2:true 1 3:false
    "complete" "selected" | "it is the only one of 3 answers that passes the check" | 1:false 2:true 1 3:false
    "complete" "selected" | "it is the only one of 3 answers that passes the check" | 1:false 2:false 3:true 1
    "complete" "selected" | "it is the only one of 3 answers that passes the check" | 1:false 2:false 3:true 1
    "complete" "selected" | "it is the only one of 3 answers that passes the check" | 1:false 2:false 3:true 1
    "complete" "selected" | "it is the only one of 3 answers that passes the check" | 1:true 1 2:false 3:false
    "#);
}

#[test]
fn auto_checks_open_answers_and_compares_short_ones() {
    let sandbox = with_script("check.sh", "exit 0");
    let report = |question: &str| {
        let models = MODELS.iter().flat_map(|model| ["-m", *model]);
        let call = sandbox.call(["ask", "--json", "--strategy", "auto", question]).args(models);
        call.settings([("check_command", "~/check.sh")]).run().json()
    };
    let (open, short) = (report("Which design?"), report("How many legs has a spider?"));
    insta::assert_snapshot!(open["strategy_reason"].as_str().unwrap(), @"a check command is set, and what an answer does when it is run says more of it than any judge");
    assert_eq!((&open["strategy"], &short["strategy"]), (&json!("best-of-n"), &json!("cascade")));
    assert_eq!(short.get("checks"), None);
}

#[test]
fn without_a_passing_answer_or_a_working_check_there_is_still_an_answer() {
    let sandbox = with_script("check.sh", "exit 1");
    program(&sandbox, "odd.sh", "#!/no/such/shell\n");
    let outcome = |check: &str, timeout_ms: &str| {
        let call =
            asking(&sandbox, &["--json", "--check", check]).settings([("check_timeout_ms", timeout_ms)]);
        let report = call.run().json();
        let home = sandbox.home().display().to_string();
        format!("{}\n", outcome(&report).replace(&home, "HOME"))
    };
    let lines = outcome("./check.sh", "60000")
        + &outcome("./odd.sh", "60000")
        + &outcome("/bin/sh -c 'sleep 600'", "300");
    insta::assert_snapshot!(lines, @r#"
    "complete" "verbatim" | "none of the 3 answers passes the check; this is the answer closest to the others, word for word" | 1:false 2:false 3:false
    "complete" "verbatim" | "no answer could be checked: the check command cannot be started: No such file or directory (os error 2); this is the answer closest to the others, word for word" | 1:null check_unavailable 2:null check_unavailable 3:null check_unavailable
    "complete" "verbatim" | "no answer could be checked: the check command did not end within 300 ms; this is the answer closest to the others, word for word" | 1:null timeout 2:null timeout 3:null timeout
    "#);
    let output = asking(&sandbox, &["--check", "./check.sh"]).run();
    insta::assert_snapshot!(output.summary(), @"
    Answer by 1 openai/gpt-6.1-sol: none of the 3 answers passes the check; this is the answer closest to the others, word for word.
    warning[check_failed]: the check has chosen none, for the same reason
    Checked: seat 1 does not pass, seat 2 does not pass, seat 3 does not pass.
    Cost $0.00012, <time>.
    Kept as run <run>; `parallel-llm-mcp runs synthesize <run> --check COMMAND` checks the answers again; files in ~/.local/share/parallel-llm-mcp/runs/<run>.
    ");
    assert_eq!(output.code, Some(0));
}

#[test]
fn with_strict_the_exit_code_says_whether_an_answer_passes() {
    let sandbox = with_script("check.sh", "exit $1");
    let strict = |check: &str, models: &[&str]| {
        let models = models.iter().flat_map(|model| ["-m", *model]);
        sandbox.call(["ask", "--strict", "--check", check, TASK]).args(models).run().code
    };
    let codes = [&MODELS[..], &MODELS[..1]]
        .map(|models| ["0", "1"].map(|end| strict(&format!("./check.sh {end}"), models)));
    assert_eq!(codes, [[Some(0), Some(3)]; 2]);
}

#[test]
fn a_check_may_run_this_program() {
    let program = env!("CARGO_BIN_EXE_parallel-llm-mcp");
    let sandbox = with_script(
        "check.sh",
        &format!("{program} explain budget >/dev/null && {program} config show >/dev/null"),
    );
    let report = asking(&sandbox, &["--check", "./check.sh", "--json"]).run().json();
    assert_eq!(outcome(&report).matches("true").count(), 3, "{report}");
}

#[test]
fn an_unusable_check_is_refused_before_anything_is_paid() {
    let sandbox = sandbox();
    sandbox.write("check.py", "exit()\n");
    let attempt = |arguments: &[&str]| {
        let output = asking(&sandbox, arguments).run();
        format!("{:?} {}", output.code, output.transcript())
    };
    let lines = [
        attempt(&["--strategy", STRATEGY]),
        attempt(&["--strategy", "best-of-n@by=check,first=2"]),
        attempt(&["--check", "./check.sh", "--strategy", "vote"]),
        attempt(&["--check", "./gone.sh"]),
        attempt(&["--check", "no-such-program --twice"]),
        attempt(&["--check", "sh check.py"]),
        attempt(&["--check", "  "]),
        attempt(&["--check", "'open"]),
    ];
    insta::assert_snapshot!(lines.join("\n"), @"
    Some(2) exit 2
    --- stdout
    --- stderr
    error[check_unavailable]: `best-of-n@by=check` needs a check command, and none is set
      next: set `check_command`, name a check command with `--check`, or name another strategy, such as `best-of-n`

    Some(2) exit 2
    --- stdout
    --- stderr
    error[usage]: `first` cannot go with `by=check`: a check reads every answer, whole and once, whatever they agree in
      next: leave one of them out

    Some(2) exit 2
    --- stdout
    --- stderr
    error[usage]: `--check` lets a command choose the answer, and `vote` chooses otherwise
      next: leave `--strategy` out

    Some(2) exit 2
    --- stdout
    --- stderr
    error[check_unavailable]: the check command `<home>/gone.sh` is not there, or is no program
      next: set `check_command`, name a check command with `--check`, or name another strategy, such as `best-of-n`

    Some(2) exit 2
    --- stdout
    --- stderr
    error[check_unavailable]: the check command `no-such-program` is not there, or is no program
      next: set `check_command`, name a check command with `--check`, or name another strategy, such as `best-of-n`

    Some(2) exit 2
    --- stdout
    --- stderr
    error[check_unavailable]: the check command runs in an empty folder, where there is no file `check.py`
      next: write the whole path of the file

    Some(2) exit 2
    --- stdout
    --- stderr
    error[settings_invalid]: flag --check: `check_command` names no program
      next: correct the value at the place the message names

    Some(2) exit 2
    --- stdout
    --- stderr
    error[settings_invalid]: flag --check: `check_command` has a quote that is not closed
      next: close the quote
    ");
    assert_eq!(sandbox.chats().len(), 0);
}

#[test]
fn a_stopped_run_ends_its_checks_and_keeps_its_answers() {
    let sandbox = with_script("check.sh", "echo $$ > \"$HOME/$PARALLEL_LLM_SEAT.pid\"\nsleep 600");
    let running = asking(&sandbox, &["--check", "./check.sh"]).start();
    let pids = || {
        let read = |seat| fs::read_to_string(sandbox.home().join(format!("{seat}.pid"))).ok();
        (1..=3).filter_map(read).filter(|text| text.ends_with('\n')).collect::<Vec<_>>()
    };
    sandbox.until("all checks have begun", || pids().len() == 3);
    running.signal("INT");
    assert_eq!(running.wait().code, Some(130));
    for pid in pids() {
        let process = format!("/proc/{}", pid.trim());
        sandbox.until("the check has ended", || !std::path::Path::new(&process).exists());
    }
    let shown = sandbox.call(["runs", "show", "@", "--json"]).run().json();
    let texts: Vec<&str> =
        shown["answers"].as_array().unwrap().iter().filter_map(|seat| seat["text"].as_str()).collect();
    assert_eq!(texts, ANSWERS);
}

#[test]
fn paid_answers_are_checked_without_paying_again() {
    let sandbox = with_script("check.sh", "grep -q list.sort");
    asking(&sandbox, &["--strategy", "vote"]).run();
    let paid = sandbox.chats().len();
    let call = sandbox.call(["runs", "replay", "@", "--strategy", STRATEGY, "--json"]);
    assert_eq!(call.run().code, Some(2), "there is no check command");
    let unused =
        sandbox.call(["runs", "replay", "@", "--strategy", "best-of-n", "--check", "./check.sh"]).run();
    insta::assert_snapshot!(unused.transcript(), @"
    exit 2
    --- stdout
    --- stderr
    error[usage]: `best-of-n` checks nothing, so `--check` would do nothing
      next: name a strategy that checks answers with `--strategy best-of-n@by=check`
    ");
    let call = sandbox.call(["runs", "replay", "@", "--strategy", STRATEGY, "--json"]);
    let report = call.args(["--check", "./check.sh"]).run().json();
    insta::assert_snapshot!(outcome(&report), @r#""complete" "selected" | "it is the only one of 3 answers that passes the check" | 1:false 2:true 3:false"#);
    assert_eq!(sandbox.chats().len(), paid);
}

#[test]
fn a_client_on_pipes_may_use_the_check() {
    let sandbox = with_script("check.sh", "grep -q list.sort");
    let path = sandbox.home().join("check.sh").display().to_string();
    let question = json!({"prompt": TASK, "models": MODELS, "strategy": STRATEGY});
    let mut client = Client::new(&sandbox, &[("PARALLEL_LLM_CHECK_COMMAND", &path)]);
    let result = client.call("process_prompt", question.clone());
    insta::assert_snapshot!(outcome(&client.report(&result)), @r#""complete" "selected" | "it is the only one of 3 answers that passes the check" | 1:false 2:true 3:false"#);
    let mut client = Client::new(&sandbox, &[]);
    let refused = client.call("process_prompt", question);
    insta::assert_snapshot!(text(&refused), @"check_unavailable: `best-of-n@by=check` needs a check command, and none is set (next: name another strategy, such as `best-of-n`, or ask the user to set `check_command`)");
    assert_eq!(refused["isError"], true);
}

#[test]
fn a_flow_says_itself_which_stage_checks() {
    let sandbox = with_script("check.sh", "grep -q 'list'");
    let flow = |strategy: &str| {
        format!(
            "[stages.a]\npanel = [\"{ONE}\", \"{TWO}\"]\nstrategy = \"{strategy}\"\n[stages.b]\npanel = \"{THREE}\"\n\
             [stages.end]\nfrom = [\"a\", \"b\"]\n"
        )
    };
    sandbox.write("checked.toml", flow(STRATEGY));
    sandbox.write("plain.toml", flow("vote"));
    let ask =
        |file: &str| sandbox.call(["ask", "--json", "--check", "./check.sh", "--preset", file, "How?"]).run();
    let checked = ask("./checked.toml");
    assert_eq!(checked.code, Some(0), "{}", checked.transcript());
    let asked = sandbox.chats().len();
    insta::assert_snapshot!(ask("./plain.toml").stderr, @r#"
    error[usage]: no stage of the flow `plain` checks its answers
      next: write it like `strategy = "best-of-n@by=check"`
    "#);
    assert_eq!(sandbox.chats().len(), asked);
}
