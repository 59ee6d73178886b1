//! Care of the run database: checks, backups during use, and restoring.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use parallel_llm_testkit::simulator::{Fault, Script};
use parallel_llm_testkit::{Output, Running, Sandbox, mask_report};
use rusqlite::Connection;
use serde_json::Value;

const ONE: &str = "openai/gpt-6.1-sol";
const HANGING: &str = "deepseek/deepseek-v4-pro-0813";

fn sandbox() -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_parallel-llm-mcp"))
        .scripted(ONE, Script::answering("A CANARY sings."))
        .scripted(HANGING, Script::fault(Fault::Stall))
}

fn ask(sandbox: &Sandbox, question: &str) -> Value {
    let output = sandbox.call(["ask", "--json", "-m", ONE, question]).run();
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    output.json()
}

fn store(sandbox: &Sandbox, arguments: &[&str]) -> Output {
    sandbox.call(["store"]).args(arguments).run()
}

fn listed(sandbox: &Sandbox) -> Vec<String> {
    let output = sandbox.call(["runs", "list", "--json"]).run();
    let line = |line: &str| -> Value { serde_json::from_str(line).expect("a line is JSON") };
    output.text().lines().map(|text| line(text)["question"].as_str().unwrap_or_default().to_owned()).collect()
}

fn database(sandbox: &Sandbox) -> PathBuf {
    sandbox.home().join(".local/share/parallel-llm-mcp/runs.db")
}

/// A run that has begun and does not end by itself.
fn start_hanging_run(sandbox: &Sandbox) -> Running<'_> {
    let running = sandbox.call(["ask", "-m", ONE, "-m", HANGING, "Still there?"]).start();
    sandbox.until("it has begun", || listed(sandbox).contains(&"Still there?".to_owned()));
    running
}

/// Changes a letter in every occurrence of this word in the file, as a failing disk might.
fn damage(path: &Path, word: &str) {
    let mut bytes = std::fs::read(path).expect("the file exists");
    let offsets: Vec<usize> =
        (0..bytes.len()).filter(|at| bytes[*at..].starts_with(word.as_bytes())).collect();
    assert!(!offsets.is_empty(), "`{word}` is in it");
    for at in offsets {
        bytes[at] ^= 1;
    }
    std::fs::write(path, bytes).expect("it can be written");
}

#[test]
fn a_backup_is_made_during_use_and_can_be_restored() {
    let sandbox = sandbox();
    ask(&sandbox, "One?");
    let running = start_hanging_run(&sandbox);
    insta::assert_snapshot!(store(&sandbox, &["backup", "copy.db"]).transcript().replace(char::is_numeric, "9"), @"
    exit 9
    --- stdout
    --- stderr
    9 runs in 999 kB: <home>/copy.db
    ");
    let copy = sandbox.home().join("copy.db");
    let mode = std::fs::metadata(&copy).expect("the file exists").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    insta::assert_snapshot!(store(&sandbox, &["backup", "copy.db"]).transcript(), @"
    exit 7
    --- stdout
    --- stderr
    error[output_unwritable]: the backup `<home>/copy.db` cannot be written: there is something of that name
      next: name a new file: a backup is never written over
    ");
    insta::assert_snapshot!(store(&sandbox, &["restore", "copy.db"]).transcript(), @"
    exit 1
    --- stdout
    --- stderr
    error[busy]: another process has `<home>/.local/share/parallel-llm-mcp/runs.db` open, and nothing was changed
      next: stop the servers and MCP clients that use it, then run the command again
    ");
    running.signal("INT");
    assert_eq!(running.wait().code, Some(130));
    ask(&sandbox, "Two?");
    assert_eq!(listed(&sandbox), ["Two?", "Still there?", "One?"]);
    let restored = store(&sandbox, &["restore", "copy.db"]);
    let transcript = restored.transcript();
    let (transcript, number) = transcript.trim_end().rsplit_once('-').expect("the name ends in a number");
    assert!(number.chars().all(|digit| digit.is_ascii_digit()), "{number}");
    insta::assert_snapshot!(transcript, @"
    exit 0
    --- stdout
    --- stderr
    the run database now holds 2 runs
    the database that was there is kept: <home>/.local/share/parallel-llm-mcp/runs.db.before
    ");
    assert_eq!(listed(&sandbox), ["Still there?", "One?"]);
    let shown = sandbox.call(["runs", "show", "@", "--json"]).run().json();
    assert_eq!(shown["status"], "interrupted", "no process works on the restored run");
    assert_eq!(store(&sandbox, &["check", "--read-data"]).code, Some(0));
    // The database that was replaced is intact, too, and can be restored by its name.
    let folder = database(&sandbox);
    let entries = std::fs::read_dir(folder.parent().expect("it is in a folder")).expect("the folder exists");
    let names: Vec<String> =
        entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    let before: Vec<&String> = names.iter().filter(|name| name.contains(".before-")).collect();
    assert!(before.len() == 1 && !names.iter().any(|name| name.contains("restoring")), "{names:?}");
    let before = folder.with_file_name(before[0]);
    let mut object = store(&sandbox, &["restore", "--json", &before.to_string_lossy()]).json();
    mask_report(&mut object);
    assert_eq!((&object["runs"], &object["files_waiting"]), (&3.into(), &0.into()));
    assert_eq!(listed(&sandbox), ["Two?", "Still there?", "One?"]);
}

#[test]
fn a_backup_with_a_trigger_of_somebody_else_is_refused() {
    let sandbox = sandbox();
    ask(&sandbox, "One?");
    let trigger = "CREATE TRIGGER later BEFORE INSERT ON runs BEGIN DELETE FROM texts; END";
    let change = |path: &Path| {
        Connection::open(path)
            .and_then(|database| database.execute_batch(trigger))
            .expect("it can be changed");
    };
    assert_eq!(store(&sandbox, &["backup", "copy.db"]).code, Some(0));
    change(&sandbox.home().join("copy.db"));
    insta::assert_snapshot!(store(&sandbox, &["restore", "copy.db"]).transcript(), @"
    exit 2
    --- stdout
    --- stderr
    error[usage]: `copy.db` is no backup that can be restored, and nothing was changed: it has the trigger `later` on `runs`, which this program does not make
      next: name a file that `parallel-llm-mcp store backup` made
    ");
    // The same in the database itself.
    change(&database(&sandbox));
    let transcript = store(&sandbox, &["check"]).transcript();
    let (_, size) = transcript.split_once("1 run in ").expect("it says how large it is");
    let size = size.split_once(':').expect("a colon follows").0;
    insta::assert_snapshot!(transcript.replace(size, "<size>"), @"
    exit 7
    --- stdout
    --- stderr
    1 run in <size>: it is damaged
    - it has the trigger `later` on `runs`, which this program does not make
    next: restore a backup with `parallel-llm-mcp store restore FILE`, or leave it: the other runs are whole
    ");
}

#[test]
fn a_restored_backup_says_that_it_brings_tokens() {
    let sandbox = sandbox();
    ask(&sandbox, "One?");
    for name in ["laptop", "phone", "tablet"] {
        assert_eq!(sandbox.call(["keys", "create", name]).run().code, Some(0));
    }
    assert_eq!(sandbox.call(["keys", "revoke", "phone", "--yes"]).run().code, Some(0));
    assert_eq!(store(&sandbox, &["backup", "copy.db"]).code, Some(0));
    let restored = store(&sandbox, &["restore", "copy.db"]);
    let expected =
        "2 access tokens came with the backup and may be used from now on: see `parallel-llm-mcp keys list`";
    assert!(restored.stderr.contains(expected), "{}", restored.stderr);
    assert_eq!(store(&sandbox, &["restore", "--json", "copy.db"]).json()["tokens"], 2);
}

#[test]
fn a_damaged_backup_is_refused_and_changes_nothing() {
    let sandbox = sandbox();
    ask(&sandbox, "One?");
    let copy = sandbox.home().join("copy.db");
    assert_eq!(store(&sandbox, &["backup", "copy.db"]).code, Some(0));
    damage(&copy, "CANARY sings");
    let before = std::fs::read(database(&sandbox)).expect("the file exists");
    insta::assert_snapshot!(store(&sandbox, &["restore", "copy.db"]).transcript(), @"
    exit 7
    --- stdout
    --- stderr
    error[damaged]: the backup `copy.db` is damaged, and nothing was changed: a text of the run <run> is not what was written
      next: restore another backup
    ");
    std::fs::File::options()
        .write(true)
        .open(&copy)
        .and_then(|file| file.set_len(20_000))
        .expect("the file can be truncated");
    let refused = store(&sandbox, &["restore", "copy.db"]);
    assert!(refused.code == Some(7) && refused.stderr.contains("is damaged"), "{}", refused.stderr);
    assert!(std::fs::read(database(&sandbox)).expect("the file exists") == before);
    assert_eq!(listed(&sandbox), ["One?"]);
}

#[test]
fn a_file_that_is_no_backup_is_refused() {
    let sandbox = sandbox();
    insta::assert_snapshot!(store(&sandbox, &["backup", "copy.db"]).transcript(), @"
    exit 2
    --- stdout
    --- stderr
    error[usage]: there is no run database at `<home>/.local/share/parallel-llm-mcp/runs.db`
      next: ask something first, or choose another data folder with `PARALLEL_LLM_DATA_DIR`
    ");
    insta::assert_snapshot!(store(&sandbox, &["check"]).transcript(), @"
    exit 2
    --- stdout
    --- stderr
    error[usage]: there is no run database at `<home>/.local/share/parallel-llm-mcp/runs.db`
      next: ask something first, or choose another data folder with `PARALLEL_LLM_DATA_DIR`
    ");
    ask(&sandbox, "One?");
    sandbox.write("words.db", "These are only words, and no database at all. ".repeat(40));
    sandbox.write("empty.db", "");
    let own = database(&sandbox);
    let refusals = ["nowhere.db", ".", "words.db", "empty.db", &own.to_string_lossy()]
        .map(|file| store(&sandbox, &["restore", file]).transcript());
    insta::assert_snapshot!(refusals.join("\n"), @"
    exit 2
    --- stdout
    --- stderr
    error[usage]: `nowhere.db` is no backup that can be restored, and nothing was changed: it cannot be read: No such file or directory (os error 2)
      next: name a file that `parallel-llm-mcp store backup` made

    exit 2
    --- stdout
    --- stderr
    error[usage]: `.` is no backup that can be restored, and nothing was changed: it is no plain file
      next: name a file that `parallel-llm-mcp store backup` made

    exit 2
    --- stdout
    --- stderr
    error[usage]: `words.db` is no backup that can be restored, and nothing was changed: it is not a database
      next: name a file that `parallel-llm-mcp store backup` made

    exit 2
    --- stdout
    --- stderr
    error[usage]: `empty.db` is no backup that can be restored, and nothing was changed: it is empty
      next: name a file that `parallel-llm-mcp store backup` made

    exit 2
    --- stdout
    --- stderr
    error[usage]: `<home>/.local/share/parallel-llm-mcp/runs.db` is no backup that can be restored, and nothing was changed: it is the run database itself
      next: name a file that `parallel-llm-mcp store backup` made
    ");
    insta::assert_snapshot!(store(&sandbox, &["backup", "nowhere/copy.db"]).transcript(), @"
    exit 7
    --- stdout
    --- stderr
    error[output_unwritable]: the backup `<home>/nowhere/copy.db` cannot be written: No such file or directory (os error 2)
      next: name a file in a folder you may write
    ");
    insta::assert_snapshot!(store(&sandbox, &["restore", "--json", "nowhere.db"]).transcript(), @r#"
    exit 2
    --- stdout
    {"error":{"code":"usage","message":"`nowhere.db` is no backup that can be restored, and nothing was changed: it cannot be read: No such file or directory (os error 2)","next":"name a file that `parallel-llm-mcp store backup` made","retryable":false},"schema":1}
    --- stderr
    error[usage]: `nowhere.db` is no backup that can be restored, and nothing was changed: it cannot be read: No such file or directory (os error 2)
      next: name a file that `parallel-llm-mcp store backup` made
    "#);
    assert_eq!(listed(&sandbox), ["One?"]);
    assert!(!sandbox.home().join("copy.db").exists());
}

#[test]
fn damaged_runs_are_named() {
    let sandbox = sandbox();
    let report = ask(&sandbox, "One?");
    ask(&sandbox, "Two?");
    insta::assert_snapshot!(store(&sandbox, &["check"]).transcript().replace(char::is_numeric, "9"), @"
    exit 9
    --- stdout
    --- stderr
    9 runs in 999 kB: its pages are whole; `--read-data` compares every text and row
    ");
    let sound = store(&sandbox, &["check", "--read-data"]);
    assert_eq!((sound.code, sound.text()), (Some(0), ""));
    damage(&database(&sandbox), "One?");
    let transcript = store(&sandbox, &["check", "--read-data"]).transcript();
    let (_, size) = transcript.split_once("2 runs in ").expect("it says how large it is");
    let size = size.split_once(':').expect("a colon follows").0;
    insta::assert_snapshot!(transcript.replace(size, "<size>"), @"
    exit 7
    --- stdout
    <run>
    --- stderr
    2 runs in <size>: it is damaged
    - the row of the run <run> is not what was written
    next: restore a backup with `parallel-llm-mcp store restore FILE`, or leave it: the other runs are whole
    ");
    let object = store(&sandbox, &["check", "--read-data", "--json"]).json();
    assert_eq!(
        (&object["state"], &object["damaged_runs"]),
        (&"damaged".into(), &serde_json::json!([report["run_id"]]))
    );
}
