//! The stored history: costs, search, purging, export and insights.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use parallel_llm_testkit::simulator::{Fault, Script};
use parallel_llm_testkit::{Output, Running, Sandbox, mask_report};
use rusqlite::Connection;
use serde_json::Value;

const ONE: &str = "openai/gpt-6.1-sol";
const TWO: &str = "x-ai/grok-4.7";
const IDLE: &str = "mistralai/mistral-large-4-0";
const GONE: &str = "z-ai/glm-5.3";
const HANGING: &str = "deepseek/deepseek-v4-pro-0813";
const SYNTHESIZER: &str = "google/gemini-4-argon";

/// Names the newest run.
const NEWEST: &str = "@";
/// A day after every run.
const FUTURE: &str = "2999-01-01";

/// The answers that are fused: the second adds to the first, and the third contributes nothing.
const TEXTS: [(&str, &str); 3] = [
    (
        ONE,
        "Rain falls when the drops in a cloud grow heavy. Warm air lifts the water up. Cold air lets the drops grow.",
    ),
    (
        TWO,
        "Rain falls when the drops in a cloud grow heavy. A cloud above a ridge loses most water on the windward side.",
    ),
    (IDLE, "Nobody knows."),
];

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_parallel-llm-mcp"))
        .scripted(GONE, Script::fault(Fault::NoEndpoints))
        .scripted(HANGING, Script::fault(Fault::Stall));
    TEXTS.iter().fold(sandbox, |sandbox, (model, text)| sandbox.scripted(model, Script::answering(text)))
}

/// Asks these models and returns the report.
fn ask(sandbox: &Sandbox, models: &[&str], question: &str, flags: &[&str]) -> Value {
    let models = models.iter().flat_map(|model| ["-m", model]);
    let call = sandbox.call(["ask", "--json"]).args(models).args(flags).arg(question);
    let output = call.settings([("synthesizer", SYNTHESIZER)]).run();
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    output.json()
}

fn runs(sandbox: &Sandbox, arguments: &[&str]) -> Output {
    let output = sandbox.call(["runs"]).args(arguments).run();
    output.assert_no_key();
    output
}

fn word<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

fn folder(report: &Value) -> PathBuf {
    PathBuf::from(word(report, "/files/dir"))
}

/// The files of a folder: each name with its text.
fn contents(folder: &Path) -> Vec<(String, String)> {
    let read = |path: PathBuf| {
        let name = path.file_name().expect("an entry has a name").to_string_lossy().into_owned();
        (name, std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())))
    };
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut contents: Vec<_> = entries.flatten().map(|entry| read(entry.path())).collect();
    contents.sort();
    contents
}

/// The transcript, with placeholders for days and ages, too.
fn dated_transcript(output: &Output) -> String {
    let line = |line: &str| {
        let words = line.split(' ').collect::<Vec<_>>();
        let is_day = |word: &str| word.len() == 10 && word.split('-').map(str::len).eq([4, 2, 2]);
        let words = words.iter().map(|word| if is_day(word.trim_end_matches(',')) { "<day>" } else { word });
        let line = words.collect::<Vec<_>>().join(" ");
        match line.split_once(" ago  ") {
            Some((before, after)) => {
                format!("{}  <age> ago  {after}", before.split(' ').next().unwrap_or(""))
            }
            None => line,
        }
    };
    output.transcript().lines().map(line).collect::<Vec<_>>().join("\n")
}

/// A run in which one seat has answered and the other never will.
fn start_hanging_run(sandbox: &Sandbox) -> Running<'_> {
    let running = sandbox.call(["ask", "-m", ONE, "-m", HANGING, "Still there?"]).start();
    sandbox.until("one has answered", || {
        let shown = runs(sandbox, &["show", "--json", NEWEST]);
        shown.code == Some(0) && word(&shown.json(), "/answers/0/status") == "answered"
    });
    running
}

#[test]
fn an_empty_history_says_so() {
    let sandbox = sandbox();
    let messages = [
        &["cost"] as &[&str],
        &["search", "anything"],
        &["insights"],
        &["purge", "--older-than", "1d", "--yes"],
        &["export", "--jsonl", "--all"],
    ];
    insta::assert_snapshot!(messages.map(|arguments| dated_transcript(&runs(&sandbox, arguments))).join("\n"), @"
    exit 0
    --- stdout
    --- stderr
    no calls in this time: nothing was paid
    exit 0
    --- stdout
    --- stderr
    no run whose texts are kept has all of these words in one text
    exit 0
    --- stdout
    --- stderr
    no run yet that tells which of its answers the text was made of: there is nothing to learn from
    exit 0
    --- stdout
    --- stderr
    no run to remove
    exit 0
    --- stdout
    --- stderr
    no run to export
    ");
}

#[test]
fn invalid_arguments_are_refused_before_anything_happens() {
    let sandbox = sandbox();
    ask(&sandbox, &[ONE], "Why?", &[]);
    let messages = [
        &["cost", "--since", "yesterday"] as &[&str],
        &["purge"],
        &["purge", "--older-than", "30", "--json"],
        &["export", "01ARZ3NDEKTSV4RRFFQ69G5FAV"],
        &["purge", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "--yes", "--json"],
        &["search", "...", "--json"],
    ];
    insta::assert_snapshot!(messages.map(|arguments| dated_transcript(&runs(&sandbox, arguments))).join("\n"), @r#"
    exit 2
    --- stdout
    --- stderr
    error[usage]: `--since` takes a time ago such as 7d or 12h, or a day such as <day> not `yesterday`
      next: write it like `--since 1d`
    exit 2
    --- stdout
    --- stderr
    error[usage]: `RUN` or `--older-than` is missing
      next: see `parallel-llm-mcp runs purge --help`
    exit 2
    --- stdout
    {"error":{"code":"usage","message":"`--older-than` takes a time ago such as 7d or 12h, or a day such as <day> not `30`","next":"see `parallel-llm-mcp runs purge --help`","retryable":false},"schema":1}
    --- stderr
    error[usage]: `--older-than` takes a time ago such as 7d or 12h, or a day such as <day> not `30`
      next: see `parallel-llm-mcp runs purge --help`
    exit 2
    --- stdout
    --- stderr
    error[run_not_found]: no run has an id that begins with `<run>`
      next: look for the run with `parallel-llm-mcp runs list`
    exit 2
    --- stdout
    {"error":{"code":"run_not_found","message":"no run has an id that begins with `<run>`","next":"look for the run with `parallel-llm-mcp runs list`","retryable":false},"schema":1}
    --- stderr
    error[run_not_found]: no run has an id that begins with `<run>`
      next: look for the run with `parallel-llm-mcp runs list`
    exit 2
    --- stdout
    {"error":{"code":"usage","message":"the text to search for has no word in it","next":"give a word with letters or digits","retryable":false},"schema":1}
    --- stderr
    error[usage]: the text to search for has no word in it
      next: give a word with letters or digits
    "#);
    assert_eq!(runs(&sandbox, &["list", "--json"]).json_lines().len(), 1);
}

#[test]
fn cost_is_listed_by_model_provider_and_day() {
    let sandbox = sandbox();
    ask(&sandbox, &[ONE, TWO, GONE], "Why does it rain?", &[]);
    ask(&sandbox, &[ONE], "And snow?", &["--store", "metadata"]);
    ask(&sandbox, &[ONE, HANGING], "And hail?", &["--wait", "quorum:1"]);
    insta::assert_snapshot!(dated_transcript(&runs(&sandbox, &["cost"])), @"
    exit 0
    --- stdout
    MODEL                          RUNS  CALLS  FAILED  TOKENS IN  TOKENS OUT      COST  UNKNOWN  ESTIMATED
    google/gemini-4-argon             1      1       0        623         155   $0.0028        0          0
    openai/gpt-6.1-sol                3      3       0         11          81  $0.00083        0          0
    x-ai/grok-4.7                     1      1       0          5          28  $0.00018        0          0
    deepseek/deepseek-v4-pro-0813     1      1       0          0           0   unknown        1          0
    z-ai/glm-5.3                      1      1       1          0           0     $0.00        0          0
    total                                    7       1        639         264   $0.0038        1          0
    --- stderr
    what 1 call cost is unknown and not in the sum: it is the least that was paid, and up to $0.071 more may have been
    ");
    insta::assert_snapshot!(dated_transcript(&runs(&sandbox, &["cost", "--by", "provider"])), @"
    exit 0
    --- stdout
    PROVIDER    RUNS  CALLS  FAILED  TOKENS IN  TOKENS OUT     COST  UNKNOWN  ESTIMATED
    openrouter     3      7       1        639         264  $0.0038        1          0
    total                 7       1        639         264  $0.0038        1          0
    --- stderr
    what 1 call cost is unknown and not in the sum: it is the least that was paid, and up to $0.071 more may have been
    ");
    let by_day = runs(&sandbox, &["cost", "--by", "day", "--since", "1h", "--json"]).json();
    // A run that passes midnight spans two days.
    let days = by_day["lines"].as_array().expect("there are lines");
    assert!((1..=2).contains(&days.len()) && days.iter().all(|day| word(day, "/name").starts_with("20")));
    assert_eq!(by_day["total"], runs(&sandbox, &["cost", "--json"]).json()["total"]);
    let mut object = runs(&sandbox, &["cost", "--by", "provider", "--json"]).json();
    mask_report(&mut object);
    insta::assert_snapshot!(object, @r#"{"by":"provider","lines":[{"calls":7,"calls_of_estimated_cost":0,"calls_of_unknown_cost":1,"cost_usd":0.003806,"failed":1,"input_tokens":639,"name":"openrouter","output_tokens":264,"runs":3,"unknown_cost_max_usd":0.071040333}],"schema":1,"since_ms":null,"total":{"calls":7,"calls_of_estimated_cost":0,"calls_of_unknown_cost":1,"cost_usd":0.003806,"failed":1,"input_tokens":639,"output_tokens":264,"unknown_cost_max_usd":0.071040333}}"#);
    assert_eq!(runs(&sandbox, &["cost", "--since", FUTURE, "--json"]).json()["lines"], serde_json::json!([]));
}

#[test]
fn search_finds_words_in_questions_and_answers() {
    let sandbox =
        sandbox().scripted(HANGING, Script::answering("Hail is \u{1b}[2Jfrozen\u{202e} rain.\nIt hurts."));
    ask(&sandbox, &[ONE, TWO], "Why does it rain on the ridge?", &[]);
    ask(&sandbox, &[HANGING], "What is hail?", &[]);
    ask(&sandbox, &[ONE], "A secret question of ridges", &["--store", "metadata"]);
    for words in [&["ridge"] as &[&str], &["windward", "side"], &["FROZEN"], &["rain"], &["secret"]] {
        let found = runs(&sandbox, &[&["search"], words].concat());
        assert!(
            found.text().lines().count() <= 2 && !found.text().contains(['\u{1b}', '\u{202e}']),
            "{}",
            found.text()
        );
    }
    let messages = [&["ridge"] as &[&str], &["windward", "lifts"], &["rain", "-n", "1"], &["secret"]];
    let messages = messages.map(|words| dated_transcript(&runs(&sandbox, &[&["search"], words].concat())));
    insta::assert_snapshot!(messages.join("\n"), @"
    exit 0
    --- stdout
    <run>  <age> ago  question        Why does it rain on the ridge?
    --- stderr
    exit 0
    --- stdout
    --- stderr
    no run whose texts are kept has all of these words in one text
    exit 0
    --- stdout
    <run>  <age> ago  answer          Hail is [2Jfrozen rain. It hurts.
    --- stderr
    exit 0
    --- stdout
    --- stderr
    no run whose texts are kept has all of these words in one text
    ");
    let mut object = runs(&sandbox, &["search", "--json", "windward"]).json();
    mask_report(&mut object);
    insta::assert_snapshot!(object, @r#"{"cut":false,"found":[{"created_at_ms":"<created_at_ms>","excerpt":"…drops in a cloud grow heavy. A cloud above a ridge loses most water on the windward side. Cold air lets the drops grow.","number":null,"place":"answer","run_id":"<run_id>"}],"schema":1,"unindexed":0,"words":"windward"}"#);
}

#[test]
fn purge_without_consent_or_matches_removes_nothing() {
    let sandbox = sandbox();
    let kept = ask(&sandbox, &[ONE], "CANARY-ONE?", &[]);
    ask(&sandbox, &[ONE, TWO], "CANARY-TWO?", &[]);
    let before = runs(&sandbox, &["list", "--json"]).stdout;
    insta::assert_snapshot!(dated_transcript(&runs(&sandbox, &["purge", "--older-than", FUTURE])), @"
    exit 2
    --- stdout
    --- stderr
    2 runs of <day> would go, with texts, events and files
    what they cost stays in `parallel-llm-mcp runs cost`
    error[usage]: nothing is removed yet
      next: type `parallel-llm-mcp runs purge --older-than <day> --yes`
    ");
    insta::assert_snapshot!(dated_transcript(&runs(&sandbox, &["purge", NEWEST, NEWEST])), @"
    exit 2
    --- stdout
    --- stderr
    1 run of <day> would go, with texts, events and files
    what they cost stays in `parallel-llm-mcp runs cost`
    error[usage]: nothing is removed yet
      next: type `parallel-llm-mcp runs purge @ @ --yes`
    ");
    insta::assert_snapshot!(dated_transcript(&runs(&sandbox, &["purge", "--older-than", "1d", "--yes"])), @"
    exit 0
    --- stdout
    --- stderr
    no run to remove
    ");
    assert_eq!(runs(&sandbox, &["list", "--json"]).stdout, before);
    assert!(folder(&kept).join("run.json").is_file());
}

#[test]
fn purge_removes_texts_and_keeps_costs() {
    let sandbox = sandbox().scripted(ONE, Script::answering("CANARY-ANSWER, a word of one."));
    let reports = ["CANARY-ONE?", "CANARY-TWO?"].map(|question| ask(&sandbox, &[ONE, TWO], question, &[]));
    let cost = runs(&sandbox, &["cost", "--json"]).json();
    assert_eq!(
        runs(&sandbox, &["search", "--json", "canary"]).json()["found"].as_array().map(Vec::len),
        Some(2)
    );
    // Files of others in a run's folder stay, and links are not followed.
    let others = sandbox.write("mine/final_best.md", "mine");
    std::fs::write(folder(&reports[0]).join("notes.md"), "mine").expect("a file can be added");
    std::fs::remove_file(folder(&reports[0]).join("final_best.md")).expect("a file can be removed");
    symlink(&others, folder(&reports[0]).join("final_best.md")).expect("a link can be made");
    insta::assert_snapshot!(dated_transcript(&runs(&sandbox, &["purge", "--older-than", FUTURE, "--yes"])), @"
    exit 0
    --- stdout
    --- stderr
    removed 2 runs of <day> and 9 of their files
    left, because this program did not make it: <home>/.local/share/parallel-llm-mcp/runs/<run>/final_best.md
    left, because this program did not make it: <home>/.local/share/parallel-llm-mcp/runs/<run>/notes.md
    what they cost stays in `parallel-llm-mcp runs cost`
    ");
    sandbox.assert_nowhere(b"CANARY");
    assert_eq!(std::fs::read_to_string(&others).expect("the file exists"), "mine");
    let left: Vec<String> = contents(&folder(&reports[0])).into_iter().map(|(name, _)| name).collect();
    assert_eq!(left, ["final_best.md", "notes.md"]);
    assert!(!folder(&reports[1]).exists());
    assert_eq!(runs(&sandbox, &["cost", "--json"]).json(), cost);
    assert_eq!(runs(&sandbox, &["search", "--json", "canary"]).json()["found"], serde_json::json!([]));
    assert_eq!(runs(&sandbox, &["list"]).text(), "");
}

/// Runs to purge: more than are removed between the look at their number and the signal.
const MANY: u32 = 4_000;

#[test]
fn a_purge_that_is_stopped_gives_back_the_space_of_what_it_removed() {
    let sandbox = sandbox();
    ask(&sandbox, &[ONE], "Why?", &[]);
    let database = Connection::open(sandbox.data_dir().join("runs.db")).expect("it opens");
    // The columns of a run, with the number of the copy in its id.
    let columns: Vec<String> = database
        .prepare("SELECT name FROM pragma_table_info('runs') WHERE name <> 'run_id'")
        .and_then(|mut names| names.query_map((), |row| row.get(0))?.collect())
        .expect("the table has columns");
    let columns = columns.join(", ");
    let copy = format!(
        "WITH RECURSIVE number (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < {MANY}) \
         INSERT INTO runs (run_id, {columns}) SELECT SUBSTR(run_id, 1, 22) || PRINTF('%04d', n), {columns} FROM runs, number"
    );
    database.execute_batch(&copy).expect("a run can be copied");
    let left = || -> u32 {
        database.query_row("SELECT COUNT(*) FROM runs", (), |row| row.get(0)).expect("they are counted")
    };
    let purging = sandbox.call(["runs", "purge", "--older-than", FUTURE, "--yes"]).start();
    sandbox.until("some are removed", || left() < MANY);
    purging.signal("TERM");
    let output = purging.wait();
    assert_eq!(output.code, Some(143), "{}", output.stderr);
    assert!(left() > 0, "it was stopped");
    let free: u32 = database.query_row("PRAGMA freelist_count", (), |row| row.get(0)).expect("it is counted");
    assert_eq!(free, 0, "{}", output.stderr);
    let rest = runs(&sandbox, &["purge", "--older-than", FUTURE, "--yes"]);
    assert_eq!((rest.code, left()), (Some(0), 0), "{}", rest.stderr);
}

#[test]
fn purge_leaves_a_link_in_place_of_a_folder() {
    let sandbox = sandbox();
    let report = ask(&sandbox, &[ONE], "Why?", &[]);
    let elsewhere = sandbox.home().join("elsewhere");
    std::fs::rename(folder(&report), &elsewhere).expect("a folder can be moved");
    symlink(&elsewhere, folder(&report)).expect("a link can be made");
    let mut object = runs(&sandbox, &["purge", NEWEST, "--yes", "--json"]).json();
    assert_eq!(object["left"], serde_json::json!([folder(&report)]));
    for name in ["oldest_ms", "newest_ms", "left"] {
        object[name] = Value::Null;
    }
    insta::assert_snapshot!(object, @r#"{"done":true,"failed":[],"files":0,"left":null,"log_cleared":true,"newest_ms":null,"oldest_ms":null,"runs":1,"schema":1,"under_way":[]}"#);
    assert_eq!(contents(&elsewhere).len(), 4);
}

/// Takes from root the right to ignore file modes, so that a folder's mode counts.
const RESPECT_FILE_MODES: &str =
    r#"[ "$(id -u)" = 0 ] && exec setpriv --bounding-set=-dac_override,-dac_read_search "$0" "$@""#;

fn set_mode(path: &Path, mode: u32) {
    let mode = std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(path, mode).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

#[test]
fn purge_skips_a_folder_that_cannot_be_emptied() {
    let sandbox = sandbox();
    let reports = ["One?", "Two?", "Three?"].map(|question| ask(&sandbox, &[ONE], question, &[]));
    let stuck = folder(&reports[1]);
    set_mode(&stuck, 0o500);
    let purge = |arguments: &[&str]| {
        sandbox
            .call(["runs", "purge", "--older-than", FUTURE, "--yes"])
            .args(arguments)
            .under(RESPECT_FILE_MODES)
            .run()
    };
    insta::assert_snapshot!(dated_transcript(&purge(&[])), @"
    exit 3
    --- stdout
    --- stderr
    removed 2 runs of <day> and 8 of their files
    run <run> stays: the files in `<home>/.local/share/parallel-llm-mcp/runs/<run>` cannot be removed: Permission denied (os error 13) (next: correct its permissions and purge again)
    what they cost stays in `parallel-llm-mcp runs cost`
    ");
    assert_eq!(
        [&reports[0], &reports[1], &reports[2]].map(|report| folder(report).exists()),
        [false, true, false]
    );
    let left = runs(&sandbox, &["show", NEWEST, "--json"]).json();
    assert_eq!((&left["run_id"], &left["answer"]), (&reports[1]["run_id"], &reports[1]["answer"]));
    // If no run is removed, the exit code is not that of partial success.
    insta::assert_snapshot!(dated_transcript(&purge(&[])), @"
    exit 7
    --- stdout
    --- stderr
    no run was removed
    run <run> stays: the files in `<home>/.local/share/parallel-llm-mcp/runs/<run>` cannot be removed: Permission denied (os error 13) (next: correct its permissions and purge again)
    ");
    let object = purge(&["--json"]).json();
    assert_eq!((&object["runs"], &object["failed"][0]["run_id"]), (&0.into(), &reports[1]["run_id"]));
    assert_eq!(object["failed"][0]["code"], "output_unwritable");
    set_mode(&stuck, 0o700);
    assert_eq!(purge(&[]).code, Some(0));
    assert!(!stuck.exists());
}

#[test]
fn purge_and_export_leave_a_run_in_progress_alone() {
    let sandbox = sandbox();
    let running = start_hanging_run(&sandbox);
    insta::assert_snapshot!(dated_transcript(&runs(&sandbox, &["purge", NEWEST, "--yes"])), @"
    exit 0
    --- stdout
    --- stderr
    no run to remove
    run <run> is under way and stays
    ");
    insta::assert_snapshot!(dated_transcript(&runs(&sandbox, &["purge", "--older-than", FUTURE, "--yes"])), @"
    exit 0
    --- stdout
    --- stderr
    no run to remove
    run <run> is under way and stays
    ");
    insta::assert_snapshot!(dated_transcript(&runs(&sandbox, &["export", NEWEST])), @"
    exit 1
    --- stdout
    --- stderr
    error[busy]: the run <run> is under way and writes its files itself
      next: wait until it has ended
    ");
    running.signal("INT");
    assert_eq!(running.wait().code, Some(130));
    let removed = runs(&sandbox, &["purge", NEWEST, "--yes", "--json"]).json();
    assert_eq!((&removed["runs"], &removed["under_way"]), (&1.into(), &serde_json::json!([])));
}

#[test]
fn export_restores_the_files_of_a_run() {
    let sandbox = sandbox();
    let report = ask(&sandbox, &[ONE, TWO, GONE], "Why does it rain?", &[]);
    let (folder, id) = (folder(&report), word(&report, "/run_id"));
    let before = contents(&folder);
    std::fs::remove_file(folder.join("prompt.md")).expect("a file can be removed");
    std::fs::write(folder.join("final_best.md"), "changed").expect("a file can be changed");
    let output = runs(&sandbox, &["export", NEWEST]);
    assert_eq!((output.code, output.text().trim_end()), (Some(0), folder.to_str().expect("UTF-8")));
    assert_eq!(contents(&folder), before);
    std::fs::remove_dir_all(&folder).expect("a folder can be removed");
    assert_eq!(runs(&sandbox, &["export", id]).code, Some(0));
    assert_eq!(contents(&folder), before);
    let output = runs(&sandbox, &["export", id, "--dir", "copies"]);
    assert_eq!(output.text().trim_end(), format!("copies/{id}"));
    let copies = contents(&sandbox.home().join("copies").join(id));
    let names = |files: &[(String, String)]| files.iter().map(|file| file.0.clone()).collect::<Vec<_>>();
    assert_eq!(names(&copies), names(&before));
}

#[test]
fn export_keeps_the_file_names_chosen_for_a_run() {
    let sandbox = sandbox();
    let chosen = [("answer_file_name", "test_llm_{seat}.txt"), ("final_file_name", "test_final_best.md")];
    let call = sandbox.call(["ask", "--json", "-m", ONE, "-m", TWO, "Why does it rain?"]);
    let report = call.settings(chosen).settings([("synthesizer", SYNTHESIZER)]).run().json();
    let folder = folder(&report);
    let before = contents(&folder);
    let names: Vec<&str> = before.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["prompt.md", "run.json", "test_final_best.md", "test_llm_1.txt", "test_llm_2.txt"]);
    // The names belong to the run: they stay even though the settings are the defaults again.
    std::fs::remove_file(folder.join("test_llm_1.txt")).expect("a file can be removed");
    assert_eq!(runs(&sandbox, &["export", NEWEST]).code, Some(0));
    assert_eq!(contents(&folder), before);
    assert_eq!(runs(&sandbox, &["purge", NEWEST, "--yes"]).code, Some(0));
    assert!(!folder.exists(), "nothing is left of it");
}

#[test]
fn file_names_that_may_collide_are_refused() {
    let sandbox = sandbox();
    let call = sandbox.call(["ask", "-m", ONE, "Why does it rain?"]);
    let clash = [("answer_file_name", "best_{seat}.md"), ("final_file_name", "best_2.md")];
    let output = call.settings(clash).run();
    insta::assert_snapshot!(dated_transcript(&output), @"
    exit 2
    --- stdout
    --- stderr
    error[settings_invalid]: an answer named by `best_{seat}.md` could be called `best_2.md`, like the final text
      next: choose another `answer_file_name`, or another `final_file_name`
    ");
    assert!(sandbox.chats().is_empty(), "nothing was sent");
}

#[test]
fn export_restores_the_files_of_an_interrupted_run() {
    let sandbox = sandbox();
    let running = start_hanging_run(&sandbox);
    let id = word(&runs(&sandbox, &["show", "--json", NEWEST]).json(), "/run_id").to_owned();
    let folder = sandbox.data_dir().join("runs").join(&id);
    sandbox.until("the answer is in its file", || folder.join("answer_1_openai-gpt-6.1-sol.md").is_file());
    running.signal("KILL");
    running.wait();
    let before = contents(&folder);
    std::fs::write(folder.join("prompt.md"), "changed").expect("a file can be changed");
    let output = runs(&sandbox, &["export", NEWEST]);
    assert_eq!(
        (output.code, output.text().trim_end()),
        (Some(0), folder.to_str().expect("UTF-8")),
        "{}",
        output.stderr
    );
    let (reports, texts): (Vec<_>, Vec<_>) =
        contents(&folder).into_iter().partition(|(name, _)| name == "run.json");
    assert_eq!(texts, before);
    let report: Value = serde_json::from_str(&reports[0].1).expect("a report is JSON");
    assert_eq!((word(&report, "/status"), word(&report, "/run_id")), ("interrupted", &*id));
    // Files of others are not overwritten, even if there is no report yet.
    std::fs::remove_file(folder.join("run.json")).expect("a file can be removed");
    std::fs::write(folder.join("notes.md"), "mine").expect("a file can be added");
    assert_eq!(runs(&sandbox, &["export", NEWEST]).code, Some(7));
    assert!(!folder.join("run.json").exists());
}

#[test]
fn export_refuses_a_folder_that_is_not_the_runs_own() {
    let sandbox = sandbox();
    let reports = ["One?", "Two?"].map(|question| ask(&sandbox, &[ONE], question, &[]));
    let ids = [word(&reports[0], "/run_id"), word(&reports[1], "/run_id")];
    let reports_on_disk = [folder(&reports[0]).join("run.json"), folder(&reports[1]).join("run.json")];
    std::fs::copy(&reports_on_disk[1], &reports_on_disk[0]).expect("a file can be copied");
    let before = contents(&folder(&reports[0]));
    insta::assert_snapshot!(dated_transcript(&runs(&sandbox, &["export", ids[0]])), @"
    exit 7
    --- stdout
    --- stderr
    error[output_unwritable]: `<home>/.local/share/parallel-llm-mcp/runs/<run>` is there already, without a report of run <run>
      next: move it away, or name another with `--dir`
    ");
    assert_eq!(contents(&folder(&reports[0])), before);
    symlink(folder(&reports[1]), sandbox.home().join(ids[1])).expect("a link can be made");
    insta::assert_snapshot!(dated_transcript(&runs(&sandbox, &["export", ids[1], "--dir", "."])), @"
    exit 7
    --- stdout
    --- stderr
    error[output_unwritable]: `./<run>` is there already, without a report of run <run>
      next: name another with `--dir`
    ");
    ask(&sandbox, &[ONE], "Three?", &["--store", "metadata"]);
    insta::assert_snapshot!(dated_transcript(&runs(&sandbox, &["export", NEWEST])), @"
    exit 2
    --- stdout
    --- stderr
    error[usage]: the texts of run <run> were not kept, so it has no files
      next: look at the run with `parallel-llm-mcp runs show`, or export its report with `parallel-llm-mcp runs export --jsonl`
    ");
}

#[test]
fn export_writes_the_files_of_all_runs_at_once() {
    let sandbox = sandbox();
    let questions = [("One?", "full"), ("Two?", "metadata"), ("Three?", "full")];
    let reports = questions.map(|(question, store)| ask(&sandbox, &[ONE], question, &["--store", store]));
    let copies = |which: &[&str], dir: &str| {
        let output = sandbox.call(["runs", "export", "--dir", dir]).args(which).run();
        let made = [0, 2].map(|index| sandbox.home().join(dir).join(word(&reports[index], "/run_id")));
        assert!(made.iter().all(|folder| folder.join("run.json").is_file()), "{}", output.stderr);
        dated_transcript(&output)
    };
    insta::assert_snapshot!(copies(&["--all"], "all"), @"
    exit 3
    --- stdout
    all/<run>
    all/<run>
    --- stderr
    error[usage]: the texts of run <run> were not kept, so it has no files
      next: look at the run with `parallel-llm-mcp runs show`, or export its report with `parallel-llm-mcp runs export --jsonl`
    ");
    assert_eq!(copies(&["--since", "1h"], "since"), copies(&["--all"], "since"));
    std::fs::remove_dir_all(folder(&reports[0])).expect("a folder can be removed");
    assert_eq!(runs(&sandbox, &["export", "--all"]).code, Some(3));
    assert!(folder(&reports[0]).join("run.json").is_file());
    let none = runs(&sandbox, &["export", "--since", FUTURE, "--dir", "none"]);
    assert_eq!((none.code, none.stderr.trim_end()), (Some(0), "no run to export"));
}

#[test]
fn export_prints_one_report_per_line() {
    let sandbox = sandbox();
    let questions = [("One?", "full"), ("Two?", "metadata"), ("Three?", "full")];
    let reports =
        questions.map(|(question, store)| ask(&sandbox, &[ONE, TWO], question, &["--store", store]));
    let ids = reports.each_ref().map(|report| word(report, "/run_id"));
    let shown = ids.map(|id| runs(&sandbox, &["show", "--json", id]).json());
    assert_eq!(runs(&sandbox, &["export", "--jsonl", "--all"]).json_lines(), shown);
    assert_eq!(runs(&sandbox, &["export", "--jsonl", "--since", "1h"]).json_lines(), shown);
    assert_eq!(runs(&sandbox, &["export", "--jsonl", "--since", FUTURE]).json_lines(), [Value::Null; 0]);
    // Named in any order, and one of them twice.
    let named = runs(&sandbox, &["export", "--jsonl", ids[2], ids[0], ids[2]]);
    assert_eq!(named.json_lines(), [shown[0].clone(), shown[2].clone()]);
}

#[test]
fn insights_show_which_model_mattered() {
    let sandbox = sandbox();
    ask(&sandbox, &[ONE, TWO, IDLE], "Why does it rain?", &[]);
    ask(&sandbox, &[ONE, TWO, GONE], "Why does it rain?", &["--store", "metadata"]);
    ask(&sandbox, &[ONE, GONE], "One answer only", &[]);
    insta::assert_snapshot!(dated_transcript(&runs(&sandbox, &["insights"])), @"
    exit 0
    --- stdout
    MODEL                        RUNS  ANSWERED  LATE  FAILED  REFUSED  BASE  MATTERED       COST    PER RUN   TIME
    openai/gpt-6.1-sol              2         2     0       0        0     0         2   $0.00056   $0.00028  <time>
    x-ai/grok-4.7                   2         2     0       0        0     2         2   $0.00036   $0.00018  <time>
    mistralai/mistral-large-4-0     1         1     0       0        0     0         0  $0.000012  $0.000012  <time>
    z-ai/glm-5.3                    1         0     0       1        0     0         0      $0.00      $0.00

    `openai/gpt-6.1-sol` mattered in 2 of 2 runs (34–100 %): too few to say, 18 more like these would tell
    `x-ai/grok-4.7` mattered in 2 of 2 runs (34–100 %): too few to say, 18 more like these would tell
    `mistralai/mistral-large-4-0` never mattered in 1 run (0–79 %): too few to say, 34 more like these would tell
    `z-ai/glm-5.3` never mattered in 1 run (0–79 %): too few to say, 34 more like these would tell
    --- stderr
    from 2 runs whose text was made of two answers or more
    ");
    let object = runs(&sandbox, &["insights", "--json", "--since", "1d"]).json();
    let mut idle = object["models"][2].clone();
    idle["mean_ms"] = "<mean_ms>".into();
    insta::assert_snapshot!(idle, @r#"{"answered":1,"base_runs":0,"cost_per_run_usd":0.0000119,"cost_usd":0.0000119,"drawn_runs":0,"failed":0,"late":0,"mattered_interval":[0.0,0.7934506856227626],"mattered_runs":0,"mattered_share":0.0,"mean_ms":"<mean_ms>","model":"mistralai/mistral-large-4-0","more_runs":34,"other":0,"panel_cost_usd":0.0004699,"refused":0,"runs":1,"seats":1,"seats_of_unknown_cost":0,"sentence":"`mistralai/mistral-large-4-0` never mattered in 1 run (0–79 %): too few to say, 34 more like these would tell","verdict":"open"}"#);
    assert_eq!(
        (&object["runs"], &object["runs_untold"], &object["runs_min"]),
        (&2.into(), &0.into(), &20.into())
    );
}

/// The number of runs that proves a model never mattered.
const SURE_RUNS: usize = 35;

#[test]
fn insights_of_a_long_history_name_a_model_to_leave_out() {
    let sandbox = sandbox();
    let cases: Vec<String> =
        (0..SURE_RUNS).map(|number| format!("Why does it rain on day {number}?")).collect();
    parallel_llm_testkit::each(&cases, |question| {
        ask(&sandbox, &[ONE, TWO, IDLE], question, &["--store", "metadata"]);
    });
    insta::assert_snapshot!(dated_transcript(&runs(&sandbox, &["insights"])), @"
    exit 0
    --- stdout
    MODEL                        RUNS  ANSWERED  LATE  FAILED  REFUSED  BASE  MATTERED      COST    PER RUN   TIME
    mistralai/mistral-large-4-0    35        35     0       0        0     0         0  $0.00047  $0.000013  <time>
    openai/gpt-6.1-sol             35        35     0       0        0     0        35   $0.0099   $0.00028  <time>
    x-ai/grok-4.7                  35        35     0       0        0    35        35   $0.0064   $0.00018  <time>

    `mistralai/mistral-large-4-0` never mattered in 35 runs (0–10 %): leaving it out would have saved $0.00047 of $0.017
    `openai/gpt-6.1-sol` mattered in 35 of 35 runs (90–100 %): it earns its seat
    `x-ai/grok-4.7` mattered in 35 of 35 runs (90–100 %): it earns its seat
    --- stderr
    from 35 runs whose text was made of two answers or more
    savings count a model's own calls, of all calls of the panels it sat on; the synthesizer would have read less, too
    ");
    // Insights outlive the runs.
    let before = runs(&sandbox, &["insights"]).stdout;
    assert_eq!(runs(&sandbox, &["purge", "--older-than", FUTURE, "--yes"]).code, Some(0));
    assert_eq!(runs(&sandbox, &["insights"]).stdout, before);
}
