//! Several processes with one store: at once, killed at any moment, and without space on the disk.
//!
//! The other processes are this test program, started to run only its test [`child`].
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and speaks to its parent on stdout"
)]

use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::Duration;

use crate::support::place::only_in_a_file;
use crate::support::{OpenRun as _, Place, every_kind, plan, run_id, value};
use parallel_llm_engine::port::Journal as _;
use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::{Code, Failure, RunStatus};
use parallel_llm_store::{RunFilter, RunScope, Store};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::task::JoinSet;

/// The environment variable that makes a process a child: the database, the number of runs, and the first number.
const CHILD: &str = "PARALLEL_LLM_STORE_TEST_CHILD";
/// The environment variable with the number of kills; the default takes a few seconds.
const KILLS: &str = "PARALLEL_LLM_STORE_TEST_KILLS";
const KILLS_DEFAULT: u64 = 40;
/// The number of runs that a child writes at once.
const RUNS_AT_ONCE: u64 = 4;
/// More runs than a child can write before it is killed.
const ENDLESS: u64 = 1_000_000;

#[expect(clippy::disallowed_methods, reason = "a test reads what its parent or the person running it says")]
fn flag(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The task of a child.
struct Task {
    place: Place,
    first: u64,
    runs: u64,
}

impl Task {
    fn command(&self) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["processes::child", "--exact", "--ignored", "--nocapture"]);
        self.set_up(command)
    }

    /// As [`Task::command`], in a shell that limits files to this many blocks of 512 bytes.
    fn command_with_small_disk(&self, blocks: u64) -> Command {
        let script = format!(
            "trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" processes::child --exact --ignored --nocapture"
        );
        let mut command = Command::new("sh");
        command.args(["-c", &script]).arg(std::env::current_exe().unwrap());
        self.set_up(command)
    }

    fn set_up(&self, mut command: Command) -> Command {
        command.env(CHILD, format!("{} {} {}", self.first, self.runs, self.place.to_words()));
        command.stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
        command
    }
}

/// How often a child tries to open the database.
const OPENINGS_MAX: usize = 9;

/// Writes runs, four at a time, and prints what was acknowledged to stdout.
#[tokio::test]
#[ignore = "the other process of the tests here"]
async fn child() {
    let Some(task) = flag(CHILD) else { return };
    let mut words = task.splitn(3, ' ');
    let mut number = || words.next().unwrap().parse().unwrap();
    let (first, runs): (u64, u64) = (number(), number());
    let place = Place::of_words(words.next().unwrap());
    let mut refusals = Vec::new();
    let store = loop {
        match Store::open(place.config()).await {
            Ok(store) => break store,
            // A slow machine lets one process in while the others wait for as long as they may.
            Err(failure) if failure.message.contains("another process") => refusals.push(failure),
            Err(failure) => panic!("{failure}"),
        }
        assert!(refusals.len() < OPENINGS_MAX, "{refusals:?}");
    };
    let mut writers = JoinSet::new();
    for lane in 0..RUNS_AT_ONCE {
        let store = store.clone();
        let numbers = (first + lane..first + runs).step_by(RUNS_AT_ONCE as usize);
        writers.spawn(async move {
            for number in numbers {
                if let Err(failure) = write_and_report(&store, number).await {
                    println!("\nfailed {}: {failure}", failure.code);
                    return;
                }
            }
        });
    }
    writers.join_all().await;
    store.close().await;
}

async fn write_and_report(store: &Store, number: u64) -> Result<(), Failure> {
    let lease = store.open_run(plan(number, StoreMode::Full)).await;
    for events in every_kind().chunks(5) {
        store.append(lease, events.to_vec()).await?;
        println!("\nack {number} {}", events.last().unwrap().seq);
    }
    Ok(())
}

/// What a child has reported so far.
#[derive(Default)]
struct Acknowledged {
    /// The newest acknowledged event of each run.
    acks: BTreeMap<u64, usize>,
    failures: Vec<String>,
}

impl Acknowledged {
    async fn read(&mut self, lines: &mut Lines<BufReader<ChildStdout>>) {
        while let Some(line) = lines.next_line().await.unwrap() {
            self.record(&line);
        }
    }

    fn record(&mut self, line: &str) {
        match line.split_once(' ') {
            Some(("ack", rest)) => {
                // The last line of a killed process may be incomplete.
                let Some((run, seq)) = rest.split_once(' ') else { return };
                if let (Ok(run), Ok(seq)) = (run.parse(), seq.parse()) {
                    self.acks.insert(run, seq);
                }
            }
            Some(("failed", rest)) => self.failures.push(rest.to_owned()),
            _ => {}
        }
    }
}

fn lines(child: &mut Child) -> Lines<BufReader<ChildStdout>> {
    BufReader::new(child.stdout.take().unwrap()).lines()
}

/// Runs a child to its end, or kills it some time after its first acknowledgement.
async fn run_child(mut command: Command, kill_after: Option<Duration>) -> Acknowledged {
    let mut child = command.spawn().unwrap();
    let mut lines = lines(&mut child);
    let mut acknowledged = Acknowledged::default();
    if let Some(delay) = kill_after {
        while acknowledged.acks.is_empty() {
            acknowledged
                .record(&lines.next_line().await.unwrap().expect("a child writes until it is killed"));
        }
        drop(tokio::time::timeout(delay, acknowledged.read(&mut lines)).await);
        child.start_kill().unwrap();
    }
    acknowledged.read(&mut lines).await;
    child.wait().await.unwrap();
    acknowledged
}

/// Checks that everything acknowledged is stored with its texts, and that the database is intact.
async fn check(place: &Place, acknowledged: &Acknowledged) {
    let store = Store::open(place.config()).await.unwrap();
    for (run, seq) in &acknowledged.acks {
        let stored = store.load(RunScope::All, run_id(*run)).await.unwrap().unwrap();
        assert!(stored.events.len() >= *seq, "run {run}: {} of {seq} events", stored.events.len());
        assert_eq!(stored.events, every_kind()[..stored.events.len()]);
        assert_eq!(stored.interrupted, stored.events.len() < every_kind().len());
    }
    let running = RunFilter { status: Some(RunStatus::Running), ..RunFilter::default() };
    assert_eq!(store.list(RunScope::All, running).await.unwrap(), []);
    store.close().await;
    if place.url.is_none() {
        let verdict: String = value(&place.connect(), "PRAGMA integrity_check");
        assert_eq!(verdict, "ok");
    }
}

#[tokio::test]
async fn processes_that_start_at_once_share_a_fresh_folder() {
    let folder = tempfile::tempdir().unwrap();
    let place = Place::fresh(folder.path().join("data/runs.db"));
    let mut children = JoinSet::new();
    for first in (0..12).map(|process| process * 100) {
        let task = Task { place: place.clone(), first, runs: 4 };
        children.spawn(async move { run_child(task.command(), None).await });
    }
    let mut all = Acknowledged::default();
    for acknowledged in children.join_all().await {
        assert_eq!(acknowledged.failures, [""; 0]);
        all.acks.extend(acknowledged.acks);
    }
    assert_eq!(all.acks.len(), 48);
    assert!(all.acks.values().all(|seq| *seq == every_kind().len()));
    check(&place, &all).await;
}

#[tokio::test]
async fn acknowledged_events_survive_a_kill() {
    let kills = flag(KILLS).map_or(KILLS_DEFAULT, |count| count.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let place = Place::fresh(folder.path().join("runs.db"));
    for kill in 0..kills {
        let task = Task { place: place.clone(), first: kill * ENDLESS, runs: ENDLESS };
        // A step that shares no factor with a millisecond spreads the kills over all parts of a commit.
        let delay = Duration::from_micros(kill * 7_919 % 40_000);
        let acknowledged = run_child(task.command(), Some(delay)).await;
        assert_eq!(acknowledged.failures, [""; 0]);
        check(&place, &acknowledged).await;
    }
}

/// The files beside the database that somebody may take for rubbish.
const LOG_FILES: [&[&str]; 3] = [&["-wal"], &["-shm"], &["-wal", "-shm"]];
/// Acknowledgements after which every lane has made several more commits.
const ACKS: usize = 40;

/// Reads until so many more events are acknowledged.
async fn read_acks(acknowledged: &mut Acknowledged, lines: &mut Lines<BufReader<ChildStdout>>, count: usize) {
    for _ in 0..count {
        // The test program prints an empty line before each.
        for _ in 0..2 {
            acknowledged
                .record(&lines.next_line().await.unwrap().expect("a child writes until it is killed"));
        }
    }
}

#[tokio::test]
async fn a_log_removed_under_a_live_process_loses_nothing_that_is_written_later() {
    only_in_a_file!("it is about the files beside the database");
    for (round, endings) in (0..).zip(LOG_FILES.iter().cycle().take(6)) {
        let folder = tempfile::tempdir().unwrap();
        let place = Place::fresh(folder.path().join("runs.db"));
        let task = Task { place: place.clone(), first: 0, runs: ENDLESS };
        let mut child = task.command().spawn().unwrap();
        let mut lines = lines(&mut child);
        let mut acknowledged = Acknowledged::default();
        read_acks(&mut acknowledged, &mut lines, ACKS).await;
        for ending in *endings {
            let mut path = place.path.clone().into_os_string();
            path.push(ending);
            // In the second half, somebody puts an empty file in its place.
            if round < LOG_FILES.len() {
                std::fs::remove_file(path).unwrap();
            } else {
                std::fs::write(folder.path().join("other"), "").unwrap();
                std::fs::rename(folder.path().join("other"), path).unwrap();
            }
        }
        read_acks(&mut acknowledged, &mut lines, ACKS).await;
        child.start_kill().unwrap();
        acknowledged.read(&mut lines).await;
        child.wait().await.unwrap();
        assert_eq!(acknowledged.failures, [""; 0], "{endings:?}");
        check(&place, &acknowledged).await;
    }
}

#[tokio::test]
async fn a_full_disk_loses_nothing_that_was_acknowledged() {
    only_in_a_file!("it limits the size of the file");
    let folder = tempfile::tempdir().unwrap();
    let place = Place::fresh(folder.path().join("runs.db"));
    let task = Task { place: place.clone(), first: 0, runs: ENDLESS };
    let acknowledged = run_child(task.command_with_small_disk(3_200), None).await;
    assert!(acknowledged.acks.len() > 10, "{} runs before the disk was full", acknowledged.acks.len());
    assert!(!acknowledged.failures.is_empty());
    for failure in &acknowledged.failures {
        assert!(failure.starts_with(Code::Storage.as_str()), "{failure}");
        assert!(failure.contains("the disk refuses") || failure.contains("the disk is full"), "{failure}");
    }
    check(&place, &acknowledged).await;
}
