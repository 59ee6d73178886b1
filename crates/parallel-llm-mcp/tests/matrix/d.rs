//! Faults of the disk and the database.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use parallel_llm_testkit::simulator::{Fault, Script};
use parallel_llm_testkit::{Output, Sandbox, each, seats, synthesis};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::database::{self, APPLICATION_ID, OutsideConnection};
use super::server::Server;
use super::{
    HANGING, NEWEST, ONE, PLAYGROUND, SYNTHESIZER, TWO, ask, assert_invariants, hanging, late, output_of,
    sandbox, stored_run, until_one_has_answered, wire, word,
};

/// Limits the size of files to this many blocks of 512 bytes: to the program, the disk is then full.
fn small_disk(blocks: u32) -> String {
    format!("ulimit -f {blocks}")
}

#[test]
fn d01_disk_full_before_the_run() {
    // From a disk without any space to one where the database opens but the first event does not fit: the question
    // alone is larger than the last limit.
    let long = "Which is safer? ".repeat(6_000);
    let full = each(&[0, 8, 64], |blocks| {
        let sandbox = sandbox();
        assert_eq!(output_of(ask(&sandbox, &[ONE])).code, Some(0));
        let call = sandbox.call(["ask", "--json", "-m", ONE, "-m", TWO, &long]);
        let output = output_of(call.under(&small_disk(*blocks)));
        assert_eq!(sandbox.chats().len(), 1, "{blocks}: nothing is sent that cannot be recorded");
        assert_invariants(&sandbox);
        assert_eq!(output_of(ask(&sandbox, &[ONE])).code, Some(0), "{blocks}: there is room again");
        let code = word(&output.json()["error"], "code").to_owned();
        (output.code, code)
    });
    assert_eq!(full, [7; 3].map(|code| (Some(code), "storage".to_owned())));
}

/// A text that, repeated, does not fit into the database of [`d02_disk_full_mid_run`], while its questions do.
const LONG: &str = "all of this was paid for ";

#[test]
fn d02_disk_full_mid_run() {
    // One limit for every fault point: with each larger limit, another write is the first to fail.
    let limits: Vec<u32> = (64..=1_120).step_by(96).collect();
    let outcomes = each(&limits, |blocks| {
        let text = LONG.repeat(8_000);
        let sandbox = sandbox().scripted(ONE, Script::answering(&text)).scripted(TWO, late(200, &text));
        let output = output_of(ask(&sandbox, &[ONE, TWO]).under(&small_disk(*blocks)));
        let report = output.json();
        let asked = sandbox.chats().len();
        if asked > 0 {
            assert_eq!(output.code, Some(0), "{blocks}: {}", output.stderr);
            assert!(word(&report, "answer").contains(LONG), "{blocks}: a paid answer is returned");
        } else {
            assert_eq!((output.code, word(&report["error"], "code")), (Some(7), "storage"), "{blocks}");
        }
        let warnings = report["warnings"].as_array().cloned().unwrap_or_default();
        // If the text itself fits into a file of its own, it is spilled there.
        let is_warned =
            warnings.iter().any(|warning| ["storage", "spilled"].contains(&word(warning, "code")));
        assert_invariants(&sandbox);
        let after = output_of(ask(&sandbox, &[SYNTHESIZER]));
        assert_eq!(after.code, Some(0), "{blocks}: there is room again: {}", after.stderr);
        (asked > 0, is_warned)
    });
    assert!(outcomes.contains(&(false, false)), "some disks are full at once: {outcomes:?}");
    assert!(outcomes.contains(&(true, true)), "some are full in the middle: {outcomes:?}");
}

// Row D2 again, with a process that continues to run: a server.

/// The answer that a server could store before its disk was full, and the one that it could not.
const STORED_TEXT: &str = "This was noted in time.";
const UNSTORED_TEXT: &str = "There was no room for this.";

/// A sandbox for [`fill_disk_during_run`].
fn sandbox_for_full_disk() -> Sandbox {
    sandbox().scripted(ONE, Script::answering(STORED_TEXT)).scripted(TWO, late(LATE_MS, UNSTORED_TEXT))
}

/// A server, and the question that it is asked.
fn serve(sandbox: &Sandbox) -> (Server<'_>, Value) {
    let serve = sandbox.call(["serve"]).settings([("synthesizer", SYNTHESIZER)]);
    (Server::start(sandbox, serve), json!({"prompt": "Which is safer?", "models": [ONE, TWO]}))
}

/// A server whose disk is full when the second of two answers comes, and its report.
fn fill_disk_during_run(sandbox: &Sandbox) -> (Server<'_>, Value) {
    let (mut server, question) = serve(sandbox);
    let call = server.call("process_prompt", &question);
    until_one_file_is_missing(sandbox, &sandbox.data_dir().join("runs"));
    server.running.limit_files(Some(1));
    let reply = server.result(call);
    assert_eq!(word(&reply["warnings"][0], "code"), "storage", "{reply}");
    let report = server.ask("get_run", &json!({"run_id": reply["run_id"], "part": "report"}));
    assert_eq!(word(&report["answers"][1], "text"), UNSTORED_TEXT, "a paid answer is returned");
    (server, report)
}

#[test]
fn a_server_recovers_from_a_full_disk() {
    let sandbox = sandbox_for_full_disk();
    let (mut server, report) = fill_disk_during_run(&sandbox);
    let run = word(&report, "run_id");
    assert_eq!(word(&stored_run(&sandbox), "status"), "running", "the database does not know that it ended");
    let refused = server.ask("resume_run", &json!({"run_id": run}));
    assert_eq!(word(&refused, "code"), "storage", "nothing is started that cannot be recorded: {refused}");
    let waiting = sandbox.call(["runs", "wait", "--json", run]).start();
    let (mut other, question) = serve(&sandbox);
    let joining = other.call("process_prompt", &question);
    sandbox.until("it has joined the run", || other.running.stdout_so_far().contains("1 of 2 answered"));
    server.running.limit_files(None);
    // The next write tells the other processes.
    let small = server.ask("process_prompt", &json!({"prompt": "Which is cheaper?", "models": [ONE]}));
    assert_eq!(word(&small, "status"), "complete");
    assert_eq!(word(&waiting.wait().json(), "status"), "interrupted", "the waiting process sees it");
    let joined = other.result(joining);
    let joined_as = (&joined["run_id"], word(&joined, "status"));
    assert_eq!(
        joined_as,
        (&report["run_id"], "partial"),
        "the server that joined continues the run: {joined}"
    );
    let shown = output_of(sandbox.call(["runs", "show", "--json", run])).json();
    assert_eq!(word(&shown, "status"), "partial");
    let in_memory = server.ask("get_run", &json!({"run_id": run, "part": "report"}));
    assert_eq!(word(&in_memory["answers"][1], "text"), UNSTORED_TEXT, "the server still has it");
    let joined = other.ask("get_run", &json!({"run_id": run, "part": "report"}));
    insta::assert_snapshot!(seats(&joined), @"
    1 openai/gpt-6.1-sol answered x1 23 bytes
    2 mistralai/mistral-large-4-0 unknown interrupted x1
    ");
    assert_eq!((sandbox.asked(ONE), sandbox.asked(TWO)), (2, 1), "nothing is paid twice");
    for server in [server, other] {
        server.end().assert_no_key();
    }
    assert_invariants(&sandbox);
}

#[test]
fn files_that_could_not_be_opened_are_written_later() {
    let sandbox = sandbox_for_full_disk();
    let (mut server, question) = serve(&sandbox);
    let call = server.call("process_prompt", &question);
    until_one_file_is_missing(&sandbox, &sandbox.data_dir().join("runs"));
    server.running.limit_open_files(Some(3));
    sandbox.until("the run is decided", || word(&stored_run(&sandbox), "status") == "complete");
    let folder = sandbox.data_dir().join("runs").join(word(&stored_run(&sandbox), "run_id"));
    // The answer does not wait for its files any longer.
    let report = server.result(call);
    assert!(!folder.join("final_best.md").exists(), "no file can be opened");
    server.running.limit_open_files(None);
    sandbox.until("the files are written", || folder.join("run.json").is_file());
    let text = fs::read_to_string(folder.join("final_best.md")).expect("it can be read");
    assert_eq!(text, word(&report, "answer"));
    assert_eq!(word(&stored_run(&sandbox)["files"], "state"), "written");
    assert_invariants(&sandbox);
}

#[test]
fn a_server_continues_with_what_it_could_write() {
    let sandbox = sandbox_for_full_disk();
    let (mut server, report) = fill_disk_during_run(&sandbox);
    let run = json!({"run_id": report["run_id"]});
    server.running.limit_files(None);
    let resumed = server.ask("resume_run", &run);
    let report = server.ask("get_run", &json!({"run_id": run["run_id"], "part": "report"}));
    insta::assert_snapshot!(seats(&report), @"
    1 openai/gpt-6.1-sol answered x1 23 bytes
    2 mistralai/mistral-large-4-0 unknown interrupted x1
    ");
    assert_eq!(server.ask("get_run", &run)["answer"], resumed["answer"]);
    assert_eq!(stored_run(&sandbox)["answer"], resumed["answer"], "both agree again");
    assert_eq!((sandbox.asked(ONE), sandbox.asked(TWO)), (1, 1), "nothing is paid twice");
    server.end().assert_no_key();
    assert_invariants(&sandbox);
}

/// How late the second model answers in tests that change a folder before: long on any machine.
const LATE_MS: u64 = 2_500;

/// Waits until the first answer is in the run's folder and only the second is missing. Returns the folder.
fn until_one_file_is_missing(sandbox: &Sandbox, base: &Path) -> PathBuf {
    let folder = || fs::read_dir(base).ok()?.flatten().map(|entry| entry.path()).next();
    let is_written = || folder().is_some_and(|path| path.join("answer_1_openai-gpt-6.1-sol.md").is_file());
    sandbox.until("one has answered and one is asked", || is_written() && sandbox.asked(TWO) == 1);
    folder().expect("the folder exists")
}

#[test]
fn d03_folder_of_the_files_is_gone() {
    let sandbox = sandbox().scripted(TWO, late(LATE_MS, "Late, but here."));
    let base = sandbox.home().join(PLAYGROUND).join("out");
    let running = ask(&sandbox, &[ONE, TWO]).args(["--output-dir", &base.display().to_string()]).start();
    let path = until_one_file_is_missing(&sandbox, &base);
    fs::rename(&path, sandbox.home().join(PLAYGROUND).join("moved")).expect("the folder can be moved");
    fs::write(&path, "something else").expect("a file can stand in its place");
    let output = running.wait();
    let report = output.json();
    assert_eq!((output.code, synthesis(&report)), (Some(0), format!("complete fused by {SYNTHESIZER}")));
    assert_eq!(word(&report["files"], "state"), "failed");
    assert!(!word(&report["files"], "error").is_empty(), "the failure is reported: {}", report["files"]);
    assert_eq!(stored_run(&sandbox)["answer"], report["answer"], "the database has the answer");
    assert_eq!(fs::read_to_string(&path).ok().as_deref(), Some("something else"));
    assert_invariants(&sandbox);
}

#[test]
fn d04_database_locked_by_another_process() {
    let sandbox = sandbox();
    output_of(ask(&sandbox, &[ONE]));
    let mut outside = OutsideConnection::new(&database::path(&sandbox));
    outside.execute("BEGIN IMMEDIATE");
    let running = ask(&sandbox, &[ONE, TWO]).start();
    let list = output_of(sandbox.call(["runs", "list", "--json"]));
    assert_eq!((list.code, list.json_lines().len()), (Some(0), 1), "readers do not wait");
    sandbox.pause(Duration::from_millis(700));
    assert_eq!(sandbox.chats().len(), 1, "nothing is sent that is not recorded");
    outside.execute("ROLLBACK");
    let output = running.wait();
    assert_eq!(synthesis(&output.json()), format!("complete fused by {SYNTHESIZER}"), "{}", output.stderr);
    drop(outside);
    assert_invariants(&sandbox);
}

/// Bytes of a database page.
const PAGE_BYTES: usize = 4096;

/// Checks that a database damaged like this is refused: no model is asked and no byte of it changes. Returns how the
/// error and `doctor` describe it.
fn refuse_damaged(damage: fn(&mut Vec<u8>)) -> String {
    let sandbox = sandbox();
    for _ in 0..3 {
        assert_eq!(output_of(ask(&sandbox, &[ONE])).code, Some(0));
    }
    let path = database::path(&sandbox);
    let sound = fs::read(&path).expect("the file exists");
    let mut broken = sound.clone();
    damage(&mut broken);
    fs::write(&path, &broken).expect("the file can be overwritten");
    let output = output_of(ask(&sandbox, &[ONE, TWO]));
    assert_eq!((output.code, sandbox.chats().len()), (Some(7), 3), "{}", output.stderr);
    assert!(fs::read(&path).expect("the file exists") == broken, "a refused database stays as it is");
    let doctor = output_of(sandbox.call(["doctor"]));
    fs::write(&path, sound).expect("the file can be overwritten");
    assert_invariants(&sandbox);
    let diagnosis = format!("{}{}", doctor.text(), doctor.stderr);
    let error = output.json()["error"].clone();
    assert!(!word(&error, "next").is_empty());
    let by_doctor = if diagnosis.contains("damaged")
        || diagnosis.contains("another program")
        || diagnosis.contains("not a database")
    {
        "told by `doctor`"
    } else {
        "not seen by `doctor`"
    };
    let message = word(&error, "message");
    let kinds = ["it is damaged", "of another program", "it is not a database"];
    let kind = kinds.into_iter().find(|kind| message.contains(kind)).unwrap_or(message);
    format!("{kind}, {by_doctor}")
}

#[test]
fn d05_damaged_database() {
    let damages: [fn(&mut Vec<u8>); 4] = [
        |bytes| bytes[..100].fill(0x5a),
        |bytes| bytes[PAGE_BYTES..].fill(0xa5),
        |bytes| bytes[68..72].copy_from_slice(b"ABCD"),
        |bytes| bytes.truncate(bytes.len() / 2),
    ];
    let lines = each(&damages, |damage| refuse_damaged(*damage));
    insta::assert_snapshot!(lines.join("\n"), @"
    it is not a database, told by `doctor`
    it is damaged, told by `doctor`
    of another program, told by `doctor`
    it is damaged, told by `doctor`
    ");
    // After a truncated write-ahead log, the complete part of it stays.
    let lengths = [0, 31, 32, 3_000, 4_200, 9_000, 20_000];
    each(&lengths, |length| {
        let sandbox = hanging();
        let running = ask(&sandbox, &[ONE, HANGING]).start();
        until_one_has_answered(&sandbox);
        running.signal("KILL");
        running.wait();
        let log = sandbox.data_dir().join("runs.db-wal");
        let mut bytes = fs::read(&log).expect("a killed process leaves its log");
        bytes.truncate(*length);
        fs::write(&log, bytes).expect("the file can be truncated");
        // Requests recorded in the lost part of the log are forgotten; no program can prevent that.
        let list = output_of(sandbox.call(["runs", "list", "--json"]));
        assert_eq!(list.code, Some(0), "{length}: {}", list.stderr);
        assert!(list.json_lines().iter().all(|run| word(run, "status") == "interrupted"), "{length}");
        assert_eq!(output_of(ask(&sandbox, &[TWO])).code, Some(0), "{length}");
        OutsideConnection::new(&database::path(&sandbox)).assert_sound();
    });
}

/// Kills the first opening of a data folder after this many microseconds; the next opening must complete it.
fn killed_while_opening(delay_us: u64) {
    let sandbox = sandbox();
    let running = ask(&sandbox, &[ONE]).start();
    sandbox.pause(Duration::from_micros(delay_us));
    running.signal("KILL");
    running.wait();
    let next = output_of(ask(&sandbox, &[TWO]));
    assert_eq!(next.code, Some(0), "after {delay_us} us: {}", next.stderr);
    let mut outside = OutsideConnection::new(&database::path(&sandbox));
    assert_eq!(outside.number("PRAGMA application_id"), APPLICATION_ID);
    assert!(outside.number("PRAGMA user_version") >= 1);
    drop(outside);
    assert_invariants(&sandbox);
}

#[test]
fn d07_migration_killed_half_way() {
    const KILLS: u64 = 56;
    let sandbox = sandbox();
    let begun = Instant::now();
    let running = ask(&sandbox, &[ONE]).start();
    sandbox.until("the database is there", || database::path(&sandbox).is_file());
    let opening_us = u64::try_from(begun.elapsed().as_micros()).expect("it is short");
    running.wait();
    // From the start to twice the time until the file existed: how far each opening gets depends on the machine.
    let delays: Vec<u64> = (0..KILLS).map(|kill| opening_us * 2 * kill / KILLS).collect();
    each(&delays, |delay| killed_while_opening(*delay));
}

#[test]
fn d10_database_opened_by_another_program() {
    let sandbox = sandbox().scripted(TWO, late(800, "Late, but here."));
    output_of(ask(&sandbox, &[ONE]));
    let path = database::path(&sandbox);
    let mut reader = OutsideConnection::new(&path);
    reader.execute("BEGIN");
    assert_eq!(reader.number("SELECT count(*) FROM runs"), 1);
    let running = ask(&sandbox, &[ONE, TWO]).start();
    sandbox.until("the run is under way", || sandbox.asked(TWO) == 1);
    // The backup of docs/operations.md: a copy made by SQLite itself, at any time.
    let copy = sandbox.home().join(PLAYGROUND).join("copy.db");
    OutsideConnection::new(&path).execute(&format!("VACUUM INTO '{}'", copy.display()));
    let output = running.wait();
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert_eq!(reader.number("SELECT count(*) FROM runs"), 1, "a reader keeps its snapshot");
    reader.execute("COMMIT");
    assert_eq!(reader.number("SELECT count(*) FROM runs"), 2);
    let mut copied = OutsideConnection::new(&copy);
    copied.assert_sound();
    assert_eq!(copied.number("SELECT count(*) FROM runs"), 2);
    drop((reader, copied));
    assert_invariants(&sandbox);
}

#[test]
fn d12_many_processes_one_database() {
    const PROCESSES: usize = 60;
    const ROUNDS: usize = 4;
    let sandbox = hanging();
    // All processes open a folder that does not exist yet, at the same time.
    let mut left: Vec<usize> = (0..PROCESSES).collect();
    for _ in 0..ROUNDS {
        let question =
            |number: &usize| ask(&sandbox, &[ONE]).args(["--idempotency-key", &number.to_string()]);
        let running: Vec<_> = left.iter().map(|number| question(number).start()).collect();
        let outputs: Vec<Output> = running.into_iter().map(parallel_llm_testkit::Running::wait).collect();
        let mut outputs = outputs.into_iter();
        left.retain(|_| {
            let output = outputs.next().expect("one for each");
            // A slow machine refuses some after their wait, before anything is paid: they are told to try again.
            let is_refused = output.code == Some(7) && output.stderr.contains("another process");
            assert!(is_refused || output.code == Some(0), "{}", output.transcript());
            is_refused
        });
        assert_eq!(sandbox.asked(ONE), PROCESSES - left.len());
    }
    assert_eq!(left, [0; 0], "they are not let in");
    // Another process cannot take over a run in progress.
    let running = ask(&sandbox, &[ONE, TWO, HANGING]).start();
    sandbox.until("all are asked", || sandbox.asked(HANGING) == 1 && sandbox.asked(TWO) == 1);
    let second = output_of(sandbox.call(["runs", "resume", "--json", NEWEST]));
    assert!(word(&second.json()["error"], "message").ends_with("is still under way"));
    running.signal("INT");
    assert_eq!(running.wait().code, Some(130));
    assert_eq!((sandbox.asked(HANGING), sandbox.asked(SYNTHESIZER)), (1, 0), "asked once, and not fused");
    assert_invariants(&sandbox);
}

#[test]
fn d13_many_processes_one_output_folder() {
    let sandbox = sandbox();
    let texts: Vec<String> = (0..8).map(|number| format!("Question {number}?")).collect();
    let folders = each(&texts, |text| {
        let call = sandbox.call(["ask", "--json", "-m", ONE, "--output-dir", PLAYGROUND, text]);
        let files = &output_of(call).json()["files"];
        let folder = PathBuf::from(word(files, "dir"));
        // A slow machine may still be writing when the answer is shown.
        let state = word(files, "state");
        assert!(["written", "writing"].contains(&state), "{files}");
        if state == "written" {
            let prompt = fs::read_to_string(folder.join("prompt.md")).expect("it is written");
            assert!(prompt.contains(text), "{prompt} is not `{text}`");
        }
        folder
    });
    let distinct: std::collections::BTreeSet<_> = folders.iter().collect();
    assert_eq!(distinct.len(), texts.len());
    assert_invariants(&sandbox);
}

/// What is planted at the path of a file or folder of the program.
#[derive(Clone, Copy, Debug)]
enum Plant {
    /// A link to an existing file.
    Link,
    /// A link to a missing file.
    Dangling,
    /// A hard link to a file of another owner.
    Second,
    /// A pipe that nobody reads.
    Pipe,
}

/// A file that is not the program's, and its content.
const OTHER_FILE: &str = "playground/theirs";
const OTHER_TEXT: &str = "what somebody else wrote";

impl Plant {
    fn put(self, sandbox: &Sandbox, path: &Path) {
        let other_file = sandbox.home().join(OTHER_FILE);
        match self {
            Self::Link => symlink(&other_file, path).expect("a link can be made"),
            Self::Dangling => {
                symlink(sandbox.home().join("playground/nowhere"), path).expect("a link can be made");
            }
            Self::Second => fs::hard_link(&other_file, path).expect("a second name can be given"),
            Self::Pipe => {
                let made = Command::new("mkfifo").arg(path).status();
                assert!(made.is_ok_and(|status| status.success()), "a pipe can be made");
            }
        }
    }
}

/// Asks with this planted at a path in the data folder, and checks that the other file is unchanged. Returns the exit
/// code.
fn planted(plant: Plant, name: &str) -> String {
    let sandbox = sandbox();
    sandbox.write(OTHER_FILE, OTHER_TEXT);
    let data = sandbox.data_dir();
    fs::create_dir_all(&data).expect("a folder can be made");
    fs::set_permissions(&data, fs::Permissions::from_mode(0o700)).expect("the test owns it");
    plant.put(&sandbox, &data.join(name));
    let output = output_of(ask(&sandbox, &[ONE]));
    assert_eq!(
        fs::read_to_string(sandbox.home().join(OTHER_FILE)).ok().as_deref(),
        Some(OTHER_TEXT),
        "{plant:?} at {name}"
    );
    assert!(
        !sandbox.home().join("playground/nowhere").exists(),
        "{plant:?} at {name}: a file was created elsewhere"
    );
    // Reading the pipe to look for a key would block. SQLite itself removes a log that is not its own.
    let _ = fs::remove_file(data.join(name));
    let code = word(&output.json()["error"], "code").to_owned();
    assert_invariants(&sandbox);
    format!("{plant:?} at {name}: exit {} {code}, {} asked", output.code.unwrap_or(-1), sandbox.chats().len())
}

/// Replaces an entry in a run's folder while the run is in progress. Returns the report.
fn swapped(swap: impl Fn(&Sandbox, &Path)) -> (Sandbox, serde_json::Value) {
    let sandbox = sandbox().scripted(TWO, late(LATE_MS, "Late, but here."));
    sandbox.write(OTHER_FILE, OTHER_TEXT);
    let running = ask(&sandbox, &[ONE, TWO]).start();
    let folder = until_one_file_is_missing(&sandbox, &sandbox.data_dir().join("runs"));
    swap(&sandbox, &folder);
    let output = running.wait();
    output.assert_no_key();
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert_eq!(fs::read_to_string(sandbox.home().join(OTHER_FILE)).ok().as_deref(), Some(OTHER_TEXT));
    let report = output.json();
    (sandbox, report)
}

/// The temporary name of a file before it is renamed.
const TEMPORARY: &str = ".final_best.md.new";

/// Checks that whatever stands at the name of a file in a run's folder is replaced by a file of the program.
fn replaced(plants: &[Plant]) {
    let cases: Vec<_> =
        plants.iter().flat_map(|plant| [TEMPORARY, "final_best.md"].map(|name| (*plant, name))).collect();
    each(&cases, |(plant, name)| {
        let (sandbox, report) = swapped(|sandbox, folder| plant.put(sandbox, &folder.join(name)));
        assert_eq!(word(&report["files"], "state"), "written", "{plant:?} {name}");
        let file = Path::new(word(&report["files"], "dir")).join("final_best.md");
        let metadata = file.symlink_metadata().expect("the file exists");
        assert!(metadata.is_file() && metadata.nlink() == 1, "{plant:?} {name}");
        assert!(!sandbox.home().join("playground/nowhere").exists(), "{plant:?} {name}");
        assert_invariants(&sandbox);
    });
}

#[test]
fn d14_symbolic_link_in_our_place() {
    let cases = ["runs.db", "runs.db.lock", "runs.db-wal", "runs"]
        .map(|name| [(Plant::Link, name), (Plant::Dangling, name)]);
    let lines = each(cases.as_flattened(), |(plant, name)| planted(*plant, name));
    insta::assert_snapshot!(lines.join("\n"), @"
    Link at runs.db: exit 7 storage, 0 asked
    Dangling at runs.db: exit 7 storage, 0 asked
    Link at runs.db.lock: exit 7 storage, 0 asked
    Dangling at runs.db.lock: exit 7 storage, 0 asked
    Link at runs.db-wal: exit 0 , 1 asked
    Dangling at runs.db-wal: exit 7 storage, 0 asked
    Link at runs: exit 7 output_unwritable, 0 asked
    Dangling at runs: exit 7 output_unwritable, 0 asked
    ");
    // The folder of the run, replaced by a link while the run is in progress.
    let elsewhere = |sandbox: &Sandbox| sandbox.home().join("playground/elsewhere");
    let (sandbox, report) = swapped(|sandbox, folder| {
        fs::create_dir(elsewhere(sandbox)).expect("a folder can be made");
        fs::rename(folder, sandbox.home().join("playground/moved")).expect("it can be moved");
        symlink(elsewhere(sandbox), folder).expect("a link can be made");
    });
    assert!(report["answer"].is_string());
    let strays: Vec<_> = fs::read_dir(elsewhere(&sandbox)).expect("the folder exists").flatten().collect();
    assert!(strays.is_empty(), "written through a link: {strays:?}");
    replaced(&[Plant::Link, Plant::Dangling]);
}

#[test]
fn d15_hard_link_or_pipe_in_our_place() {
    let cases = ["runs.db", "runs.db.lock", "runs.db-wal", "runs"]
        .map(|name| [(Plant::Second, name), (Plant::Pipe, name)]);
    let lines = each(cases.as_flattened(), |(plant, name)| planted(*plant, name));
    insta::assert_snapshot!(lines.join("\n"), @"
    Second at runs.db: exit 7 storage, 0 asked
    Pipe at runs.db: exit 7 storage, 0 asked
    Second at runs.db.lock: exit 0 , 1 asked
    Pipe at runs.db.lock: exit 7 storage, 0 asked
    Second at runs.db-wal: exit 0 , 1 asked
    Pipe at runs.db-wal: exit 0 , 1 asked
    Second at runs: exit 7 output_unwritable, 0 asked
    Pipe at runs: exit 7 output_unwritable, 0 asked
    ");
    replaced(&[Plant::Second, Plant::Pipe]);
}

#[test]
fn d16_names_that_lead_elsewhere() {
    let server = wire::Wire::start(|_| wire::answer());
    let sandbox = sandbox();
    server.join(&sandbox);
    for name in [
        &format!("wire:{}", "n".repeat(300)),
        "wire:cafe\u{301}",
        "wire:caf\u{e9}",
        "wire:a\u{202e}b",
        "wire:",
    ] {
        let output = output_of(wire::with_key(&sandbox, ask(&sandbox, &[name])));
        assert_eq!(
            (output.code, word(&output.json()["error"], "code")),
            (Some(2), "model_invalid"),
            "{name}"
        );
    }
    let long = format!("wire:{}", "n".repeat(200));
    let models =
        ["wire:../../x", "wire:..", "wire:/etc/passwd", "wire:a/b:free", "wire:CON", "wire:NUL", &long];
    let call = wire::with_key(&sandbox, ask(&sandbox, &models).args(["--output-dir", PLAYGROUND]));
    let output = output_of(call);
    let report = output.json();
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let folder = PathBuf::from(word(&report["files"], "dir"));
    let mut names: Vec<String> = fs::read_dir(&folder)
        .expect("it is written")
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    insta::assert_snapshot!(names.join("\n"), @"
    answer_1_x.md
    answer_2_.md
    answer_3_etc-passwd.md
    answer_4_a-b-free.md
    answer_5_con.md
    answer_6_nul.md
    answer_7_nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn.md
    final_best.md
    prompt.md
    run.json
    ");
    let is_inside = |entry: fs::DirEntry| entry.path() == folder;
    assert!(
        fs::read_dir(sandbox.home().join(PLAYGROUND)).expect("the folder exists").flatten().all(is_inside)
    );
    for name in ["../../x", "..", "/etc/passwd", "CON", "%", "_", ""] {
        let output = output_of(sandbox.call(["runs", "show", name]));
        assert_eq!(output.code, Some(2), "`{name}` is no run: {}", output.text());
    }
    assert_invariants(&sandbox);
}

#[test]
fn d17_loose_modes() {
    let loose = "umask 000";
    let sandbox = hanging();
    assert_eq!(output_of(ask(&sandbox, &[ONE, TWO]).under(loose)).code, Some(0));
    assert_invariants(&sandbox);
    // While the database is open, its log and its index exist too.
    let running = ask(&sandbox, &[ONE, HANGING]).under(loose).start();
    until_one_has_answered(&sandbox);
    running.signal("KILL");
    running.wait();
    assert!(sandbox.data_dir().join("runs.db-wal").is_file());
    assert_invariants(&sandbox);
    fs::set_permissions(sandbox.data_dir(), fs::Permissions::from_mode(0o755)).expect("the test owns it");
    let doctor = output_of(sandbox.call(["doctor"]));
    let diagnosis = format!("{}{}", doctor.text(), doctor.stderr);
    assert!(diagnosis.contains("others can look into it (mode 755)"), "{diagnosis}");
}

#[test]
fn d20_owner_paused_and_overtaken() {
    let sandbox = sandbox()
        .scripted(TWO, Script::fault(Fault::Stall))
        .scripted(SYNTHESIZER, Script::answering("Fused by whoever may."));
    let running = ask(&sandbox, &[ONE, TWO]).start();
    sandbox.until("one has answered and one hangs", || {
        let begun = sandbox
            .chats()
            .iter()
            .any(|chat| chat.model.as_deref() == Some(TWO) && chat.first_byte_us.is_some());
        begun && sandbox.files().iter().any(|(path, _)| path.to_string_lossy().contains("/answer_1_"))
    });
    // Not while it writes: a process that is stopped with the lock blocks every other, as SQLite works.
    sandbox.until("it is stopped and holds no lock", || {
        running.signal("STOP");
        let is_free = OutsideConnection::new(&database::path(&sandbox)).may_write();
        if !is_free {
            running.signal("CONT");
        }
        is_free
    });
    let alive = output_of(sandbox.call(["runs", "resume", "--json", NEWEST]));
    let refusal = alive.json()["error"].clone();
    assert!(word(&refusal, "message").ends_with("is still under way"), "{refusal}");
    // Seen from another machine after the lease has expired.
    let mut outside = OutsideConnection::new(&database::path(&sandbox));
    outside.execute("UPDATE runs SET owner = 'elsewhere/1/1', lease_until_ms = 1");
    drop(outside);
    let resumed = output_of(sandbox.call(["runs", "resume", "--json", NEWEST]));
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    let decided = stored_run(&sandbox);
    let facts = || {
        let mut outside = OutsideConnection::new(&database::path(&sandbox));
        outside.number("SELECT count(*) FROM events WHERE kind <> 'merged'")
    };
    let before = facts();
    // It waits for the process, which could end between the two.
    running.signal("INT");
    running.signal("CONT");
    let output = running.wait();
    output.assert_no_key();
    assert_eq!(output.code, Some(130), "{}", output.stderr);
    // What it held is merged, and changes nothing else.
    assert_eq!(facts(), before, "a process whose run was taken over goes on with nothing");
    assert_eq!(stored_run(&sandbox)["answer"], decided["answer"]);
    // How much of its text was stored depends on timing.
    let lines = seats(&decided);
    assert!(
        lines.contains("1 openai/gpt-6.1-sol answered x1") && lines.contains("unknown interrupted x1"),
        "{lines}"
    );
    assert_eq!((sandbox.asked(ONE), sandbox.asked(TWO), sandbox.asked(SYNTHESIZER)), (1, 1, 0));
    assert_invariants(&sandbox);
}

/// The time of the quickest of a few lists.
fn quickest_list(sandbox: &Sandbox, runs: usize) -> Duration {
    let list = || {
        let begun = Instant::now();
        let output = output_of(sandbox.call(["runs", "list", "--json", "-n", "50"]));
        assert_eq!((output.code, output.json_lines().len()), (Some(0), runs), "{}", output.stderr);
        begun.elapsed()
    };
    (0..5).map(|_| list()).min().expect("it was listed")
}

#[test]
fn d22_a_million_runs() {
    const RUNS: usize = 1_000_000;
    const ATTEMPTS_MAX: usize = 20;
    let sandbox = sandbox();
    assert_eq!(output_of(ask(&sandbox, &[ONE])).code, Some(0));
    let before = quickest_list(&sandbox, 1);
    // Before there are a million runs: checking them all would take a minute.
    assert_invariants(&sandbox);
    let mut outside = OutsideConnection::new(&database::path(&sandbox));
    outside.execute(
        "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -400000; DROP INDEX runs_by_status; \
         CREATE TEMP TABLE had (n); INSERT INTO had VALUES (1)",
    );
    // Runs older than the first, doubled each time; columns that the list does not read stay empty.
    let mut rows = 1_usize;
    while rows < RUNS {
        outside.execute(&format!("INSERT INTO had SELECT n + {rows} FROM had"));
        rows *= 2;
    }
    outside.execute(
        "INSERT INTO runs (run_id, plan_hash, store_mode, created_at_ms, owner, epoch, lease_until_ms, status, \
         question_excerpt, strategy, seats, closed_at_ms) \
         SELECT printf('%026d', n), '', 'full', n, '', 1, 1, 'complete', '?', '', 5, n FROM had",
    );
    outside.execute("CREATE INDEX runs_by_status ON runs (status, run_id); PRAGMA journal_mode = WAL");
    // A list that reads all runs always takes longer than reading one column of them. On a busy machine any list may.
    let mut read_all = Duration::MAX;
    let is_quicker = (0..ATTEMPTS_MAX).any(|_| {
        let begun = Instant::now();
        outside.texts("SELECT max(question_excerpt) FROM runs");
        read_all = read_all.min(begun.elapsed());
        quickest_list(&sandbox, 50) < before + read_all
    });
    assert!(is_quicker, "no list is as quick as {before:?} and {read_all:?}, in which all runs are read");
    drop(outside);
    assert_eq!(output_of(ask(&sandbox, &[ONE])).code, Some(0));
    let oldest = "00000000000000000000000001";
    assert_eq!(output_of(sandbox.call(["runs", "list", "--json", "--before", oldest])).json_lines().len(), 0);
}
