//! The disk and the database.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use parallel_llm_testkit::simulator::{Fault, Script};
use parallel_llm_testkit::{Output, Sandbox, each, seats, synthesis};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::database::{self, APPLICATION_ID, Stranger};
use super::server::Server;
use super::{
    HANGING, NEWEST, ONE, PLAYGROUND, SYNTHESIZER, TWO, ask, done, hanging, holds, kept, late, sandbox,
    until_one_has_answered, wire, word,
};

/// Lets no file grow beyond so many blocks of 512 bytes: to the program a disk that is full.
fn small_disk(blocks: u32) -> String {
    format!("trap '' XFSZ; ulimit -f {blocks}")
}

#[test]
fn d01_disk_full_before_the_run() {
    // From a disk that holds nothing to one where the database opens and the first event finds no room.
    // The question alone is more than the last of them holds.
    let long = "Which is safer? ".repeat(6_000);
    let full = each(&[0, 8, 64], |blocks| {
        let sandbox = sandbox();
        assert_eq!(done(ask(&sandbox, &[ONE])).code, Some(0));
        let call = sandbox.call(["ask", "--json", "-m", ONE, "-m", TWO, &long]);
        let output = done(call.under(&small_disk(*blocks)));
        assert_eq!(sandbox.chats().len(), 1, "{blocks}: what cannot be noted is not sent");
        holds(&sandbox);
        assert_eq!(done(ask(&sandbox, &[ONE])).code, Some(0), "{blocks}: there is room again");
        let code = word(&output.json()["error"], "code").to_owned();
        (output.code, code)
    });
    assert_eq!(full, [7; 3].map(|code| (Some(code), "storage".to_owned())));
}

/// An answer that the database of [`d02_disk_full_mid_run`] has no room for, and the small questions before it have.
const LONG: &str = "all of this was paid for ";

#[test]
fn d02_disk_full_mid_run() {
    // Every fault point: with each kilobyte more, the disk is full at another write.
    let limits: Vec<u32> = (64..=1_120).step_by(96).collect();
    let told = each(&limits, |blocks| {
        let text = LONG.repeat(8_000);
        let sandbox = sandbox().scripted(ONE, Script::answering(&text)).scripted(TWO, late(200, &text));
        let output = done(ask(&sandbox, &[ONE, TWO]).under(&small_disk(*blocks)));
        let report = output.json();
        let asked = sandbox.chats().len();
        if asked > 0 {
            assert_eq!(output.code, Some(0), "{blocks}: {}", output.stderr);
            assert!(word(&report, "answer").contains(LONG), "{blocks}: what was paid for is given");
        } else {
            assert_eq!((output.code, word(&report["error"], "code")), (Some(7), "storage"), "{blocks}");
        }
        let warnings = report["warnings"].as_array().cloned().unwrap_or_default();
        // Where the text itself fits in a file of its own, it is kept there.
        let is_told = warnings.iter().any(|warning| ["storage", "spilled"].contains(&word(warning, "code")));
        holds(&sandbox);
        let after = done(ask(&sandbox, &[SYNTHESIZER]));
        assert_eq!(after.code, Some(0), "{blocks}: there is room again: {}", after.stderr);
        (asked > 0, is_told)
    });
    assert!(told.contains(&(false, false)), "some disks are full at once: {told:?}");
    assert!(told.contains(&(true, true)), "some are full in the middle: {told:?}");
}

// Row D2 once more, in a process that lives on: a server.

/// What a server could note before its disk was full, and what it could not.
const NOTED: &str = "This was noted in time.";
const ROOMLESS: &str = "There was no room for this.";

/// A sandbox for [`until_its_disk_is_full`].
fn filling() -> Sandbox {
    sandbox().scripted(ONE, Script::answering(NOTED)).scripted(TWO, late(LATE_MS, ROOMLESS))
}

/// A server, and what it is asked.
fn serve(sandbox: &Sandbox) -> (Server<'_>, Value) {
    let serve = sandbox.call(["serve"]).settings([("synthesizer", SYNTHESIZER)]).under("trap '' XFSZ");
    (Server::start(sandbox, serve), json!({"prompt": "Which is safer?", "models": [ONE, TWO]}))
}

/// A server whose disk is full when the second of two answers comes, and the report it gives.
fn until_its_disk_is_full(sandbox: &Sandbox) -> (Server<'_>, Value) {
    let (mut server, question) = serve(sandbox);
    let call = server.call("process_prompt", &question);
    until_one_file_is_missing(sandbox, &sandbox.data_dir().join("runs"));
    server.running.limit_files(Some(1));
    let reply = server.told(call);
    assert_eq!(word(&reply["warnings"][0], "code"), "storage", "{reply}");
    let report = server.ask("get_run", &json!({"run_id": reply["run_id"], "part": "report"}));
    assert_eq!(word(&report["answers"][1], "text"), ROOMLESS, "what was paid for is given");
    (server, report)
}

#[test]
fn a_server_outlives_a_disk_that_was_full() {
    let sandbox = filling();
    let (mut server, report) = until_its_disk_is_full(&sandbox);
    let run = word(&report, "run_id");
    assert_eq!(word(&kept(&sandbox), "status"), "running", "nobody could tell the others");
    let refused = server.ask("resume_run", &json!({"run_id": run}));
    assert_eq!(word(&refused, "code"), "storage", "nothing is begun that cannot be noted: {refused}");
    let waiting = sandbox.call(["runs", "wait", "--json", run]).start();
    let (mut other, question) = serve(&sandbox);
    let joining = other.call("process_prompt", &question);
    sandbox.until("it has joined the run", || other.running.stdout_so_far().contains("1 of 2 answered"));
    server.running.limit_files(None);
    // Whatever is written next tells the others.
    let small = server.ask("process_prompt", &json!({"prompt": "Which is cheaper?", "models": [ONE]}));
    assert_eq!(word(&small, "status"), "complete");
    assert_eq!(word(&waiting.wait().json(), "status"), "interrupted", "whoever waits is told");
    let joined = other.told(joining);
    let joined_as = (&joined["run_id"], word(&joined, "status"));
    assert_eq!(joined_as, (&report["run_id"], "partial"), "who has joined goes on with it: {joined}");
    let shown = done(sandbox.call(["runs", "show", "--json", run])).json();
    assert_eq!(word(&shown, "status"), "partial");
    let at_hand = server.ask("get_run", &json!({"run_id": run, "part": "report"}));
    assert_eq!(word(&at_hand["answers"][1], "text"), ROOMLESS, "the server still has it");
    let joined = other.ask("get_run", &json!({"run_id": run, "part": "report"}));
    insta::assert_snapshot!(seats(&joined), @"
    1 openai/gpt-6.1-sol answered x1 23 bytes
    2 mistralai/mistral-large-4-0 unknown interrupted x1
    ");
    assert_eq!((sandbox.asked(ONE), sandbox.asked(TWO)), (2, 1), "nothing is paid twice");
    for server in [server, other] {
        server.end().assert_no_key();
    }
    holds(&sandbox);
}

#[test]
fn files_that_could_not_be_opened_for_a_moment_are_written_after_it() {
    let sandbox = filling();
    let (mut server, question) = serve(&sandbox);
    let call = server.call("process_prompt", &question);
    until_one_file_is_missing(&sandbox, &sandbox.data_dir().join("runs"));
    server.running.limit_open_files(Some(3));
    sandbox.until("the run is decided", || word(&kept(&sandbox), "status") == "complete");
    sandbox.pause(Duration::from_millis(500));
    let folder = sandbox.data_dir().join("runs").join(word(&kept(&sandbox), "run_id"));
    assert!(!folder.join("final_best.md").exists(), "nothing can be opened");
    server.running.limit_open_files(None);
    let report = server.told(call);
    sandbox.until("the files are written", || folder.join("run.json").is_file());
    let text = fs::read_to_string(folder.join("final_best.md")).expect("it can be read");
    assert_eq!(text, word(&report, "answer"));
    assert_eq!(word(&kept(&sandbox)["files"], "state"), "written");
    holds(&sandbox);
}

#[test]
fn a_server_goes_on_with_what_it_could_write() {
    let sandbox = filling();
    let (mut server, report) = until_its_disk_is_full(&sandbox);
    let run = json!({"run_id": report["run_id"]});
    server.running.limit_files(None);
    let resumed = server.ask("resume_run", &run);
    let report = server.ask("get_run", &json!({"run_id": run["run_id"], "part": "report"}));
    insta::assert_snapshot!(seats(&report), @"
    1 openai/gpt-6.1-sol answered x1 23 bytes
    2 mistralai/mistral-large-4-0 unknown interrupted x1
    ");
    assert_eq!(server.ask("get_run", &run)["answer"], resumed["answer"]);
    assert_eq!(kept(&sandbox)["answer"], resumed["answer"], "all see the same again");
    assert_eq!((sandbox.asked(ONE), sandbox.asked(TWO)), (1, 1), "nothing is paid twice");
    server.end().assert_no_key();
    holds(&sandbox);
}

/// How late the second model answers where something is done to the folder before: long on any machine.
const LATE_MS: u64 = 2_500;

/// Waits until the first answer lies in the run's folder and only the second is waited for; gives the folder.
fn until_one_file_is_missing(sandbox: &Sandbox, base: &Path) -> PathBuf {
    let folder = || fs::read_dir(base).ok()?.flatten().map(|entry| entry.path()).next();
    let is_written = || folder().is_some_and(|path| path.join("answer_1_openai-gpt-6.1-sol.md").is_file());
    sandbox.until("one has answered and one is asked", || is_written() && sandbox.asked(TWO) == 1);
    folder().expect("it is there")
}

#[test]
fn d03_folder_of_the_files_is_gone() {
    let sandbox = sandbox().scripted(TWO, late(LATE_MS, "Late, but here."));
    let base = sandbox.home().join(PLAYGROUND).join("out");
    let running = ask(&sandbox, &[ONE, TWO]).args(["--output-dir", &base.display().to_string()]).start();
    let path = until_one_file_is_missing(&sandbox, &base);
    fs::rename(&path, sandbox.home().join(PLAYGROUND).join("moved")).expect("it can be taken away");
    fs::write(&path, "something else").expect("a file can stand in its place");
    let output = running.wait();
    let report = output.json();
    assert_eq!((output.code, synthesis(&report)), (Some(0), format!("complete fused by {SYNTHESIZER}")));
    assert_eq!(word(&report["files"], "state"), "failed");
    assert!(!word(&report["files"], "error").is_empty(), "it is told: {}", report["files"]);
    assert_eq!(kept(&sandbox)["answer"], report["answer"], "the database has it all");
    assert_eq!(fs::read_to_string(&path).ok().as_deref(), Some("something else"));
    holds(&sandbox);
}

#[test]
fn d04_database_locked_by_another_process() {
    let sandbox = sandbox();
    done(ask(&sandbox, &[ONE]));
    let mut stranger = Stranger::new(&database::path(&sandbox));
    stranger.execute("BEGIN IMMEDIATE");
    let running = ask(&sandbox, &[ONE, TWO]).start();
    let list = done(sandbox.call(["runs", "list", "--json"]));
    assert_eq!((list.code, list.json_lines().len()), (Some(0), 1), "readers do not wait");
    sandbox.pause(Duration::from_millis(700));
    assert_eq!(sandbox.chats().len(), 1, "nothing is sent that is not noted");
    stranger.execute("ROLLBACK");
    let output = running.wait();
    assert_eq!(synthesis(&output.json()), format!("complete fused by {SYNTHESIZER}"), "{}", output.stderr);
    drop(stranger);
    holds(&sandbox);
}

/// Bytes of a page of the database.
const PAGE_BYTES: usize = 4096;

/// A database that was broken like this is refused: nothing is asked, not a byte of it changed, `doctor` tells it.
fn refused(harm: fn(&mut Vec<u8>)) -> String {
    let sandbox = sandbox();
    for _ in 0..3 {
        assert_eq!(done(ask(&sandbox, &[ONE])).code, Some(0));
    }
    let path = database::path(&sandbox);
    let sound = fs::read(&path).expect("it is there");
    let mut broken = sound.clone();
    harm(&mut broken);
    fs::write(&path, &broken).expect("it can be written over");
    let output = done(ask(&sandbox, &[ONE, TWO]));
    assert_eq!((output.code, sandbox.chats().len()), (Some(7), 3), "{}", output.stderr);
    assert!(fs::read(&path).expect("it is there") == broken, "a refused database stays as it is");
    let doctor = done(sandbox.call(["doctor"]));
    fs::write(&path, sound).expect("it can be written over");
    holds(&sandbox);
    let said = format!("{}{}", doctor.text(), doctor.stderr);
    let error = output.json()["error"].clone();
    assert!(!word(&error, "next").is_empty());
    let told_too =
        if said.contains("damaged") || said.contains("another program") || said.contains("not a database") {
            "told by `doctor`"
        } else {
            "not seen by `doctor`"
        };
    let message = word(&error, "message");
    let kinds = ["it is damaged", "of another program", "it is not a database"];
    let kind = kinds.into_iter().find(|kind| message.contains(kind)).unwrap_or(message);
    format!("{kind}, {told_too}")
}

#[test]
fn d05_damaged_database() {
    let harms: [fn(&mut Vec<u8>); 4] = [
        |bytes| bytes[..100].fill(0x5a),
        |bytes| bytes[PAGE_BYTES..].fill(0xa5),
        |bytes| bytes[68..72].copy_from_slice(b"ABCD"),
        |bytes| bytes.truncate(bytes.len() / 2),
    ];
    let told = each(&harms, |harm| refused(*harm));
    insta::assert_snapshot!(told.join("\n"), @"
    it is not a database, told by `doctor`
    it is damaged, told by `doctor`
    of another program, told by `doctor`
    it is damaged, told by `doctor`
    ");
    // Of a write-ahead log that breaks off, what is whole stays.
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
        fs::write(&log, bytes).expect("it can be cut");
        // Requests that a lost part of the log knew of are not known any more: no program can help that.
        let list = done(sandbox.call(["runs", "list", "--json"]));
        assert_eq!(list.code, Some(0), "{length}: {}", list.stderr);
        assert!(list.json_lines().iter().all(|run| word(run, "status") == "interrupted"), "{length}");
        assert_eq!(done(ask(&sandbox, &[TWO])).code, Some(0), "{length}");
        Stranger::new(&database::path(&sandbox)).assert_sound();
    });
}

/// Kills an opening of a fresh data folder after so many microseconds; the next opening does what is left to do.
fn killed_while_opening(delay_us: u64) {
    let sandbox = sandbox();
    let running = ask(&sandbox, &[ONE]).start();
    sandbox.pause(Duration::from_micros(delay_us));
    running.signal("KILL");
    running.wait();
    let next = done(ask(&sandbox, &[TWO]));
    assert_eq!(next.code, Some(0), "after {delay_us} us: {}", next.stderr);
    let mut stranger = Stranger::new(&database::path(&sandbox));
    assert_eq!(stranger.number("PRAGMA application_id"), APPLICATION_ID);
    assert!(stranger.number("PRAGMA user_version") >= 1);
    drop(stranger);
    holds(&sandbox);
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
    // From the start to twice the time after which the file was there: how far each comes is the machine's to say.
    let delays: Vec<u64> = (0..KILLS).map(|kill| opening_us * 2 * kill / KILLS).collect();
    each(&delays, |delay| killed_while_opening(*delay));
}

#[test]
fn d10_database_opened_by_another_program() {
    let sandbox = sandbox().scripted(TWO, late(800, "Late, but here."));
    done(ask(&sandbox, &[ONE]));
    let path = database::path(&sandbox);
    let mut reader = Stranger::new(&path);
    reader.execute("BEGIN");
    assert_eq!(reader.number("SELECT count(*) FROM runs"), 1);
    let running = ask(&sandbox, &[ONE, TWO]).start();
    sandbox.until("the run is under way", || sandbox.asked(TWO) == 1);
    // What docs/operations.md says of a backup: a copy by SQLite itself, at any time.
    let copy = sandbox.home().join(PLAYGROUND).join("copy.db");
    Stranger::new(&path).execute(&format!("VACUUM INTO '{}'", copy.display()));
    let output = running.wait();
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert_eq!(reader.number("SELECT count(*) FROM runs"), 1, "a reader sees what it began with");
    reader.execute("COMMIT");
    assert_eq!(reader.number("SELECT count(*) FROM runs"), 2);
    let mut copied = Stranger::new(&copy);
    copied.assert_sound();
    assert_eq!(copied.number("SELECT count(*) FROM runs"), 2);
    drop((reader, copied));
    holds(&sandbox);
}

#[test]
fn d12_many_processes_one_database() {
    const PROCESSES: usize = 60;
    let sandbox = hanging();
    // First openings of a folder that is not there yet, all at once.
    let running: Vec<_> = (0..PROCESSES)
        .map(|number| ask(&sandbox, &[ONE]).args(["--idempotency-key", &number.to_string()]).start())
        .collect();
    let reports: Vec<Output> = running.into_iter().map(parallel_llm_testkit::Running::wait).collect();
    for output in &reports {
        assert_eq!(output.code, Some(0), "{}", output.stderr);
    }
    assert_eq!(sandbox.asked(ONE), PROCESSES);
    // A run that one process is at is nobody else's.
    let running = ask(&sandbox, &[ONE, TWO, HANGING]).start();
    sandbox.until("all are asked", || sandbox.asked(HANGING) == 1 && sandbox.asked(TWO) == 1);
    let second = done(sandbox.call(["runs", "resume", "--json", NEWEST]));
    assert!(word(&second.json()["error"], "message").ends_with("is still under way"));
    running.signal("INT");
    assert_eq!(running.wait().code, Some(130));
    assert_eq!((sandbox.asked(HANGING), sandbox.asked(SYNTHESIZER)), (1, 0), "asked once, fused by nobody");
    holds(&sandbox);
}

#[test]
fn d13_many_processes_one_output_folder() {
    let sandbox = sandbox();
    let texts: Vec<String> = (0..8).map(|number| format!("Question {number}?")).collect();
    let folders = each(&texts, |text| {
        let call = sandbox.call(["ask", "--json", "-m", ONE, "--output-dir", PLAYGROUND, text]);
        let folder = PathBuf::from(word(&done(call).json()["files"], "dir"));
        let prompt = fs::read_to_string(folder.join("prompt.md")).expect("it is written");
        assert!(prompt.contains(text), "{prompt} is not `{text}`");
        folder
    });
    let distinct: std::collections::BTreeSet<_> = folders.iter().collect();
    assert_eq!(distinct.len(), texts.len());
    holds(&sandbox);
}

/// What is planted where a file or folder of ours goes.
#[derive(Clone, Copy, Debug)]
enum Plant {
    /// A link to a file that is there.
    Link,
    /// A link to nowhere.
    Dangling,
    /// A second name of a file of somebody else's.
    Second,
    /// A pipe that nobody reads.
    Pipe,
}

/// The file of somebody else's, and what is in it.
const THEIRS: &str = "playground/theirs";
const WORDS: &str = "what somebody else wrote";

impl Plant {
    fn put(self, sandbox: &Sandbox, path: &Path) {
        let theirs = sandbox.home().join(THEIRS);
        match self {
            Self::Link => symlink(&theirs, path).expect("a link can be made"),
            Self::Dangling => {
                symlink(sandbox.home().join("playground/nowhere"), path).expect("a link can be made");
            }
            Self::Second => fs::hard_link(&theirs, path).expect("a second name can be given"),
            Self::Pipe => {
                let made = Command::new("mkfifo").arg(path).status();
                assert!(made.is_ok_and(|status| status.success()), "a pipe can be made");
            }
        }
    }
}

/// Asks where this is planted at this place in the data folder: the exit code, and that nothing of others' changed.
fn planted(plant: Plant, name: &str) -> String {
    let sandbox = sandbox();
    sandbox.write(THEIRS, WORDS);
    let data = sandbox.data_dir();
    fs::create_dir_all(&data).expect("a folder can be made");
    fs::set_permissions(&data, fs::Permissions::from_mode(0o700)).expect("it is ours");
    plant.put(&sandbox, &data.join(name));
    let output = done(ask(&sandbox, &[ONE]));
    assert_eq!(
        fs::read_to_string(sandbox.home().join(THEIRS)).ok().as_deref(),
        Some(WORDS),
        "{plant:?} at {name}"
    );
    assert!(
        !sandbox.home().join("playground/nowhere").exists(),
        "{plant:?} at {name}: something was made elsewhere"
    );
    // A pipe would hold up whoever reads it to look for a key. SQLite itself takes a log away that is not its own.
    let _ = fs::remove_file(data.join(name));
    let code = word(&output.json()["error"], "code").to_owned();
    holds(&sandbox);
    format!("{plant:?} at {name}: exit {} {code}, {} asked", output.code.unwrap_or(-1), sandbox.chats().len())
}

/// Swaps something for what stands at a name in a run's folder while the run is under way, and gives the report.
fn swapped(swap: impl Fn(&Sandbox, &Path)) -> (Sandbox, serde_json::Value) {
    let sandbox = sandbox().scripted(TWO, late(LATE_MS, "Late, but here."));
    sandbox.write(THEIRS, WORDS);
    let running = ask(&sandbox, &[ONE, TWO]).start();
    let folder = until_one_file_is_missing(&sandbox, &sandbox.data_dir().join("runs"));
    swap(&sandbox, &folder);
    let output = running.wait();
    output.assert_no_key();
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    assert_eq!(fs::read_to_string(sandbox.home().join(THEIRS)).ok().as_deref(), Some(WORDS));
    let report = output.json();
    (sandbox, report)
}

/// What a file of a run is written under before it has its name.
const TEMPORARY: &str = ".final_best.md.new";

/// Whatever stands at the name of a file in a run's folder gives way to a file of ours.
fn replaced(plants: &[Plant]) {
    let cases: Vec<_> =
        plants.iter().flat_map(|plant| [TEMPORARY, "final_best.md"].map(|name| (*plant, name))).collect();
    each(&cases, |(plant, name)| {
        let (sandbox, report) = swapped(|sandbox, folder| plant.put(sandbox, &folder.join(name)));
        assert_eq!(word(&report["files"], "state"), "written", "{plant:?} {name}");
        let file = Path::new(word(&report["files"], "dir")).join("final_best.md");
        let metadata = file.symlink_metadata().expect("it is there");
        assert!(metadata.is_file() && metadata.nlink() == 1, "{plant:?} {name}");
        assert!(!sandbox.home().join("playground/nowhere").exists(), "{plant:?} {name}");
        holds(&sandbox);
    });
}

#[test]
fn d14_symbolic_link_in_our_place() {
    let cases = ["runs.db", "runs.db.lock", "runs.db-wal", "runs"]
        .map(|name| [(Plant::Link, name), (Plant::Dangling, name)]);
    let told = each(cases.as_flattened(), |(plant, name)| planted(*plant, name));
    insta::assert_snapshot!(told.join("\n"), @"
    Link at runs.db: exit 7 storage, 0 asked
    Dangling at runs.db: exit 7 storage, 0 asked
    Link at runs.db.lock: exit 7 storage, 0 asked
    Dangling at runs.db.lock: exit 7 storage, 0 asked
    Link at runs.db-wal: exit 0 , 1 asked
    Dangling at runs.db-wal: exit 7 storage, 0 asked
    Link at runs: exit 7 output_unwritable, 0 asked
    Dangling at runs: exit 7 output_unwritable, 0 asked
    ");
    // The run's own folder, swapped for a link while the run is under way.
    let elsewhere = |sandbox: &Sandbox| sandbox.home().join("playground/elsewhere");
    let (sandbox, report) = swapped(|sandbox, folder| {
        fs::create_dir(elsewhere(sandbox)).expect("a folder can be made");
        fs::rename(folder, sandbox.home().join("playground/moved")).expect("it can be moved");
        symlink(elsewhere(sandbox), folder).expect("a link can be made");
    });
    assert!(report["answer"].is_string());
    let strays: Vec<_> = fs::read_dir(elsewhere(&sandbox)).expect("it is there").flatten().collect();
    assert!(strays.is_empty(), "written through a link: {strays:?}");
    replaced(&[Plant::Link, Plant::Dangling]);
}

#[test]
fn d15_hard_link_or_pipe_in_our_place() {
    let cases = ["runs.db", "runs.db.lock", "runs.db-wal", "runs"]
        .map(|name| [(Plant::Second, name), (Plant::Pipe, name)]);
    let told = each(cases.as_flattened(), |(plant, name)| planted(*plant, name));
    insta::assert_snapshot!(told.join("\n"), @"
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
        let output = done(wire::with_key(&sandbox, ask(&sandbox, &[name])));
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
    let output = done(call);
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
    assert!(fs::read_dir(sandbox.home().join(PLAYGROUND)).expect("it is there").flatten().all(is_inside));
    for name in ["../../x", "..", "/etc/passwd", "CON", "%", "_", ""] {
        let output = done(sandbox.call(["runs", "show", name]));
        assert_eq!(output.code, Some(2), "`{name}` names no run: {}", output.text());
    }
    holds(&sandbox);
}

#[test]
fn d17_loose_modes() {
    let loose = "umask 000";
    let sandbox = hanging();
    assert_eq!(done(ask(&sandbox, &[ONE, TWO]).under(loose)).code, Some(0));
    holds(&sandbox);
    // While the database is open, its companions are there too.
    let running = ask(&sandbox, &[ONE, HANGING]).under(loose).start();
    until_one_has_answered(&sandbox);
    running.signal("KILL");
    running.wait();
    assert!(sandbox.data_dir().join("runs.db-wal").is_file());
    holds(&sandbox);
    fs::set_permissions(sandbox.data_dir(), fs::Permissions::from_mode(0o755)).expect("it is ours");
    let doctor = done(sandbox.call(["doctor"]));
    let said = format!("{}{}", doctor.text(), doctor.stderr);
    assert!(said.contains("others can look into it (mode 755)"), "{said}");
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
    // Not while it writes: whoever sleeps with the lock in its hands holds up everybody, as SQLite has it.
    sandbox.until("it sleeps and holds no lock", || {
        running.signal("STOP");
        let is_free = Stranger::new(&database::path(&sandbox)).may_write();
        if !is_free {
            running.signal("CONT");
        }
        is_free
    });
    let alive = done(sandbox.call(["runs", "resume", "--json", NEWEST]));
    let refusal = alive.json()["error"].clone();
    assert!(word(&refusal, "message").ends_with("is still under way"), "{refusal}");
    // As it looks from another machine, once the lease is over.
    let mut stranger = Stranger::new(&database::path(&sandbox));
    stranger.execute("UPDATE runs SET owner = 'elsewhere/1/1', lease_until_ms = 1");
    drop(stranger);
    let resumed = done(sandbox.call(["runs", "resume", "--json", NEWEST]));
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    let decided = kept(&sandbox);
    let before = Stranger::new(&database::path(&sandbox)).number("SELECT count(*) FROM events");
    running.signal("CONT");
    running.signal("INT");
    let output = running.wait();
    output.assert_no_key();
    assert_eq!(output.code, Some(130), "{}", output.stderr);
    let after = Stranger::new(&database::path(&sandbox)).number("SELECT count(*) FROM events");
    assert_eq!(after, before, "whoever was overtaken writes nothing");
    assert_eq!(kept(&sandbox)["answer"], decided["answer"]);
    // How much of its text was kept is the clock's to say.
    let told = seats(&decided);
    assert!(
        told.contains("1 openai/gpt-6.1-sol answered x1") && told.contains("unknown interrupted x1"),
        "{told}"
    );
    assert_eq!((sandbox.asked(ONE), sandbox.asked(TWO), sandbox.asked(SYNTHESIZER)), (1, 1, 0));
    holds(&sandbox);
}

/// What a list may take longer for a million runs than for one. Reading them all takes many times this.
const LONGER_MAX: Duration = Duration::from_millis(150);

/// The quickest of a few lists.
fn quickest_list(sandbox: &Sandbox, runs: usize) -> Duration {
    let list = || {
        let begun = Instant::now();
        let output = done(sandbox.call(["runs", "list", "--json", "-n", "50"]));
        assert_eq!((output.code, output.json_lines().len()), (Some(0), runs), "{}", output.stderr);
        begun.elapsed()
    };
    (0..5).map(|_| list()).min().expect("it was listed")
}

#[test]
fn d22_a_million_runs() {
    const RUNS: usize = 1_000_000;
    let sandbox = sandbox();
    assert_eq!(done(ask(&sandbox, &[ONE])).code, Some(0));
    let before = quickest_list(&sandbox, 1);
    // Before there are a million: to read them all would take a minute.
    holds(&sandbox);
    let mut stranger = Stranger::new(&database::path(&sandbox));
    stranger.execute(
        "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -400000; DROP INDEX runs_by_status; \
         CREATE TEMP TABLE had (n); INSERT INTO had VALUES (1)",
    );
    // Older than the one that was asked, and as many again each time; what the list does not read is left empty.
    let mut had = 1_usize;
    while had < RUNS {
        stranger.execute(&format!("INSERT INTO had SELECT n + {had} FROM had"));
        had *= 2;
    }
    stranger.execute(
        "INSERT INTO runs (run_id, plan, plan_hash, store_mode, created_at_ms, owner, epoch, lease_until_ms, status, \
         question_excerpt, strategy, seats, closed_at_ms) \
         SELECT printf('%026d', n), '', '', 'full', n, '', 1, 1, 'complete', '?', '', 5, n FROM had",
    );
    stranger.execute("CREATE INDEX runs_by_status ON runs (status, run_id); PRAGMA journal_mode = WAL");
    drop(stranger);
    let after = quickest_list(&sandbox, 50);
    assert!(after < before + LONGER_MAX, "the list took {after:?} where it had taken {before:?}");
    assert_eq!(done(ask(&sandbox, &[ONE])).code, Some(0));
    let oldest = "00000000000000000000000001";
    assert_eq!(done(sandbox.call(["runs", "list", "--json", "--before", oldest])).json_lines().len(), 0);
}
