//! What is stored of a run, and where: exact texts, the names and modes of files, and nothing that the store mode
//! excludes.

use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use parallel_llm_testkit::simulator::{Answer, Behaviour, Fault, Script, SimulatorConfig};
use parallel_llm_testkit::{Output, Sandbox, seats};
use serde_json::Value;

const ONE: &str = "openai/gpt-6.1-sol";
const TWO: &str = "x-ai/grok-4.7";
const SYNTHESIZER: &str = "google/gemini-4-argon";

/// Names the newest run.
const NEWEST: &str = "@";

/// Text in many scripts: composed and combining, right to left, emoji of several code points, control characters.
const TEXTS: [&str; 6] = [
    "Größe, café, cafe\u{301}, ﬁ",
    "你好，世界 · 再試行 · 한국어 · हिन्दी",
    "🙂🚀👩‍👩‍👧🏳️‍🌈 and a lone \u{fe0f}",
    "שלום \u{202e}drawkcab\u{202c} مرحبا",
    "bell \u{7}, escape \u{1b}[31mred\u{1b}[0m, tab\t, backspace \u{8}, C1 \u{9b}2J, DEL \u{7f}",
    "lines\nof\r\nmany\rkinds\u{2028}and\u{85}ends \u{feff}mark \u{ffff}",
];

fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_parallel-llm-mcp"))
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn read(folder: &Path, name: &str) -> String {
    std::fs::read_to_string(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The entries of a folder with their modes, one per line.
fn listing(folder: &Path) -> String {
    let mut names: Vec<_> =
        std::fs::read_dir(folder).expect("the folder is there").flatten().map(|entry| entry.path()).collect();
    names.sort();
    let mode = |path: &Path| path.metadata().expect("the file exists").permissions().mode() & 0o7777;
    let mut listing = format!("{:o} .\n", mode(folder));
    for path in names {
        let name = path.file_name().expect("an entry has a name").to_string_lossy();
        writeln!(listing, "{:o} {name}", mode(&path)).expect("a string takes everything");
    }
    listing
}

/// Runs two answers and a failure, fused.
fn ask(sandbox: &Sandbox, flags: &[&str]) -> Output {
    sandbox.simulator().script(ONE, Script::answering("Word of one, CANARY-ANSWER."));
    sandbox.simulator().script(TWO, Script::answering("Word of two, CANARY-ANSWER."));
    sandbox.simulator().script("z-ai/glm-5.3", Script::fault(Fault::NoEndpoints));
    let call = sandbox.call(["ask", "--json", "-m", ONE, "-m", TWO, "-m", "z-ai/glm-5.3", "CANARY-PROMPT?"]);
    let output = call.args(flags).settings([("synthesizer", SYNTHESIZER)]).run();
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    output.assert_no_key();
    sandbox.assert_no_key_in_files();
    output
}

#[test]
fn texts_are_sent_and_stored_byte_for_byte() {
    let echo = || Script::behaving(Behaviour { answer: Answer::Echo, ..Behaviour::instant() });
    let sandbox = sandbox().scripted(ONE, echo());
    for prompt in TEXTS {
        let report = sandbox.call(["ask", "--json", "-m", ONE, "-"]).stdin(prompt).run().json();
        assert_eq!(text(&report, "/answer"), prompt);
        assert_eq!(text(&report, "/answers/0/text"), prompt);
        assert_eq!(report["answers"][0]["text_bytes"], prompt.len());
        let folder = Path::new(text(&report, "/files/dir")).to_owned();
        assert_eq!(read(&folder, "prompt.md"), prompt);
        assert_eq!(read(&folder, "answer_1_openai-gpt-6.1-sol.md"), prompt);
        assert_eq!(read(&folder, "final_best.md"), prompt);
        let last = sandbox.chats().pop().expect("the model was asked");
        assert_eq!(text(&last.body, "/messages/0/content"), prompt);
        let newest = sandbox.call(["runs", "show", NEWEST, "--seat", "1"]).run();
        assert_eq!(newest.text().strip_suffix('\n'), Some(prompt));
    }
}

#[test]
fn a_pipe_gets_every_byte_and_stderr_no_control_characters() {
    let hostile = "plain \u{1b}]52;c;ZXZpbA==\u{7} \u{1b}[2J end";
    let sandbox = sandbox().scripted(ONE, Script::answering(hostile));
    let output = sandbox.call(["ask", "-m", ONE, "Why?"]).run();
    assert_eq!(output.text(), format!("{hostile}\n"));
    assert!(!output.stderr.contains('\u{1b}') && !output.stderr.contains('\u{7}'));
    let shown = sandbox.call(["runs", "show", NEWEST]).run();
    assert_eq!(shown.text(), format!("{hostile}\n"));
    assert!(!shown.stderr.contains('\u{1b}') && !shown.stderr.contains('\u{7}'), "{}", shown.stderr);
}

/// Runs on a terminal, if the machine has a tool that provides one.
#[test]
fn a_terminal_gets_no_control_characters() {
    let hostile = "plain \u{1b}]52;c;ZXZpbA==\u{7} \u{1b}[2J end";
    let sandbox = sandbox().scripted(ONE, Script::answering(hostile));
    let Some(call) = sandbox.call(["ask", "-m", ONE, "Why?"]).on_terminal() else { return };
    let output = call.run();
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(shown.contains("plain ]52;c;ZXZpbA== [2J end"), "{shown}");
    assert!(!shown.contains("\u{1b}]52") && !shown.contains('\u{7}'), "{shown}");
}

#[test]
fn a_prompt_of_ten_megabytes_is_sent_whole() {
    let config = SimulatorConfig {
        body_bytes_max: 64 << 20,
        behaviour: Behaviour::instant(),
        ..SimulatorConfig::default()
    };
    let sandbox = Sandbox::with(env!("CARGO_BIN_EXE_parallel-llm-mcp"), config);
    let prompt = "Füñf 你好 🚀 ".repeat(10 * 1024 * 1024 / "Füñf 你好 🚀 ".len() + 1);
    // Such a prompt exceeds the largest context, so the model refuses it; but it was sent whole.
    let call =
        sandbox.call(["ask", "--json", "-m", ONE, "--budget", "100", "--no-files"]).stdin(prompt.as_str());
    let output = call.settings([("prompt_chars_max", "16777216")]).run();
    let chats = sandbox.chats();
    assert_eq!(chats.len(), 1, "{}", output.stderr);
    assert!(text(&chats[0].body, "/messages/0/content") == prompt, "it arrives byte for byte");
    assert_eq!(seats(&output.json()), "1 openai/gpt-6.1-sol failed context_length x1");
}

#[test]
fn an_endless_answer_is_capped() {
    let sandbox = sandbox().scripted(ONE, Script::fault(Fault::Flood));
    let report = sandbox.call(["ask", "--json", "-m", ONE, "Why?"]).run().json();
    assert_eq!(seats(&report), "1 openai/gpt-6.1-sol cut answer_too_large x1 8388608 bytes");
    let folder = Path::new(text(&report, "/files/dir")).to_owned();
    assert_eq!(read(&folder, "answer_1_openai-gpt-6.1-sol_cut.md").len(), 8 << 20);
}

#[test]
fn files_have_their_names_and_modes() {
    let sandbox = sandbox();
    let output = ask(&sandbox, &[]);
    let report = output.json();
    let folder = Path::new(text(&report, "/files/dir")).to_owned();
    insta::assert_snapshot!(listing(&folder), @"
    700 .
    600 answer_1_openai-gpt-6.1-sol.md
    600 answer_2_x-ai-grok-4.7.md
    600 final_best.md
    600 prompt.md
    600 run.json
    ");
    assert_eq!(read(&folder, "prompt.md"), "CANARY-PROMPT?");
    assert_eq!(read(&folder, "answer_1_openai-gpt-6.1-sol.md"), "Word of one, CANARY-ANSWER.");
    assert_eq!(read(&folder, "final_best.md"), text(&report, "/answer"));
    let mut in_file: Value = serde_json::from_str(&read(&folder, "run.json")).expect("run.json is JSON");
    let mut printed = report.clone();
    // The file is written before late seats have ended, and its next steps are worded for no particular door.
    for report in [&mut in_file, &mut printed] {
        report["files"] = Value::Null;
        remove_next_steps(report);
    }
    assert_eq!(in_file, printed, "run.json is the report");
    insta::assert_snapshot!(listing(&sandbox.data_dir()), @"
    700 .
    700 models
    700 runs
    600 runs.db
    600 runs.db.lock
    ");
}

#[test]
fn a_run_without_an_answer_has_no_final_file() {
    let sandbox = sandbox().scripted(ONE, Script::fault(Fault::Refusal));
    let report = sandbox.call(["ask", "--json", "-m", ONE, "Why?"]).run().json();
    insta::assert_snapshot!(listing(Path::new(text(&report, "/files/dir"))), @"
    700 .
    600 prompt.md
    600 run.json
    ");
}

#[test]
fn the_flag_no_files_writes_none() {
    let sandbox = sandbox();
    let report = ask(&sandbox, &["--no-files"]).json();
    assert_eq!(report["files"], serde_json::json!({"dir": null, "state": "off", "error": null}));
    insta::assert_snapshot!(listing(&sandbox.data_dir()), @"
    700 .
    700 models
    600 runs.db
    600 runs.db.lock
    ");
}

#[test]
fn output_dir_sets_the_folder_of_the_files() {
    let sandbox = sandbox();
    let report = ask(&sandbox, &["--output-dir", "here/below"]).json();
    let folder = sandbox.home().join("here/below").join(text(&report, "/run_id"));
    assert_eq!(text(&report, "/files/dir"), folder.display().to_string());
    assert!(folder.join("final_best.md").is_file());
    assert!(!sandbox.data_dir().join("runs").exists());
}

#[test]
fn the_answer_is_written_to_a_file() {
    let sandbox = sandbox().scripted(ONE, Script::answering("Into the file."));
    let output = sandbox.call(["ask", "-m", ONE, "-o", "answer.md", "Why?"]).run();
    assert_eq!((output.code, output.text()), (Some(0), ""));
    assert_eq!(read(sandbox.home(), "answer.md"), "Into the file.");
    // A link stays a link: its target is written.
    std::os::unix::fs::symlink("answer.md", sandbox.home().join("link.md")).expect("a link can be made");
    sandbox.call(["ask", "-m", ONE, "-o", "link.md", "Why?"]).run();
    assert!(sandbox.home().join("link.md").is_symlink());
    assert_eq!(read(sandbox.home(), "answer.md"), "Into the file.");
    assert_eq!(sandbox.call(["ask", "-m", ONE, "-o", "/dev/stdout", "Why?"]).run().stdout, b"Into the file.");
    // A link to a file that does not exist yet, and a link to a file that was removed.
    for (name, target) in [("new.md", "made.md"), ("own.md", "/proc/self/fd/1")] {
        std::os::unix::fs::symlink(target, sandbox.home().join(name)).expect("a link can be made");
        let call = sandbox.call(["ask", "-m", ONE, "-o", name, "Why?"]).under("exec >gone && rm gone");
        assert_eq!(call.run().code, Some(0));
        assert!(sandbox.home().join(name).is_symlink(), "{name}");
    }
    assert_eq!(read(sandbox.home(), "made.md"), "Into the file.");
    let output = sandbox.call(["ask", "-q", "-m", ONE, "-o", "nowhere/answer.md", "Why?"]).run();
    insta::assert_snapshot!(output.transcript(), @"
    exit 7
    --- stdout
    --- stderr
    error[output_unwritable]: the file `nowhere/answer.md` cannot be written: No such file or directory (os error 2)
      next: name a file in a folder you may write
    ");
    assert_eq!(sandbox.asked(ONE), 5, "nothing is asked if its answer cannot be written");
}

#[test]
fn a_link_to_nothing_gets_the_answer_or_leaves_nothing() {
    let sandbox = sandbox()
        .scripted(ONE, Script::answering("At its end."))
        .scripted(TWO, Script::fault(Fault::AuthBad));
    let link = |name: &str, target: &str| {
        std::os::unix::fs::symlink(target, sandbox.home().join(name)).expect("a link can be made");
    };
    std::fs::create_dir(sandbox.home().join("below")).expect("a folder can be made");
    link("first.md", "below/second.md");
    link("below/second.md", "../made.md");
    let ask = |name: &str, model: &str| sandbox.call(["ask", "-q", "-m", model, "-o", name, "Why?"]).run();
    assert_eq!((ask("first.md", TWO).code, sandbox.asked(TWO)), (Some(4), 1));
    assert!(!sandbox.home().join("made.md").exists(), "a run without an answer leaves no file");
    assert_eq!(ask("first.md", ONE).code, Some(0));
    assert_eq!(read(sandbox.home(), "made.md"), "At its end.");
    assert!(
        sandbox.home().join("first.md").is_symlink() && sandbox.home().join("below/second.md").is_symlink()
    );
    link("round.md", "round.md");
    link("lost.md", "nowhere/lost.md");
    for name in ["round.md", "lost.md"] {
        assert_eq!(ask(name, ONE).code, Some(7), "{name}");
    }
    assert_eq!(sandbox.asked(ONE), 1, "what cannot be written is not asked for");
}

#[test]
fn store_metadata_keeps_no_text() {
    let sandbox = sandbox();
    let report = ask(&sandbox, &["--store", "metadata"]).json();
    assert!(text(&report, "/answer").contains("CANARY-ANSWER"), "the answer is still printed");
    sandbox.assert_nowhere(b"CANARY");
    insta::assert_snapshot!(listing(&sandbox.data_dir()), @"
    700 .
    700 models
    600 runs.db
    600 runs.db.lock
    ");
    let shown = sandbox.call(["runs", "show", "--json", NEWEST]).run().json();
    insta::assert_snapshot!(seats(&shown), @"
    1 openai/gpt-6.1-sol answered x1
    2 x-ai/grok-4.7 answered x1
    3 z-ai/glm-5.3 failed model_unknown x1
    ");
    assert_eq!(shown["answer"], Value::Null);
    assert_eq!(shown["cost_usd"], report["cost_usd"]);
    let shown = sandbox.call(["runs", "show", NEWEST]).run();
    insta::assert_snapshot!(shown.transcript(), @"
    exit 0
    --- stdout
    --- stderr
    the texts of this run were not kept

    Fused by google/gemini-4-argon from 2 answers, starting from 1 openai/gpt-6.1-sol (0 % changed).
    Missing: 3 z-ai/glm-5.3 failed: openrouter answered 404: No endpoints found for z-ai/glm-5.3. (next: see which models there are with `parallel-llm-mcp models`)
    Cost $0.0016 (fusing $0.0015), <time>.
    Kept without its texts as run <run>.
      ✓ 1 openai/gpt-6.1-sol  answered  <time>      7 tokens  $0.000078
      ✓ 2 x-ai/grok-4.7  answered  <time>      7 tokens  $0.000050
      ✗ 3 z-ai/glm-5.3  failed  <time>  $0.00
          openrouter answered 404: No endpoints found for z-ai/glm-5.3.
    ");
    let seat = sandbox.call(["runs", "show", NEWEST, "--seat", "1"]).run();
    assert_eq!((seat.text(), seat.stderr.as_str()), ("", "the texts of this run were not kept\n"));
}

#[test]
fn store_none_keeps_nothing() {
    let sandbox = sandbox();
    let report = ask(&sandbox, &["--store", "none"]).json();
    assert!(text(&report, "/answer").contains("CANARY-ANSWER"), "the answer is still printed");
    let files = sandbox.files();
    let of_questions: Vec<_> =
        files.iter().filter(|(path, _)| !path.ends_with("models/openrouter.json")).collect();
    assert!(of_questions.is_empty(), "no file but the list of models: {of_questions:?}");
}

/// Removes the next steps, which each door words differently.
fn remove_next_steps(value: &mut Value) {
    match value {
        Value::Array(elements) => elements.iter_mut().for_each(remove_next_steps),
        Value::Object(members) => {
            members.remove("next");
            members.values_mut().for_each(remove_next_steps);
        }
        _ => {}
    }
}
