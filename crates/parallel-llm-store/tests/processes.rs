//! The store between processes: many at once, killed at any moment, and without room on the disk.
//!
//! The other processes are this test program again, asked to run its test [`child`] only.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and speaks to its parent on stdout"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use crate::support::{OpenRun as _, connect, every_kind, plan, run_id};
use parallel_llm_engine::port::Journal as _;
use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::{Code, Failure, RunStatus};
use parallel_llm_store::{RunFilter, RunScope, Store, StoreConfig};
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::task::JoinSet;

/// Tells a child which database to write to, and how many runs, from which number on.
const CHILD: &str = "PARALLEL_LLM_STORE_TEST_CHILD";
/// How many times a writer is killed; the default takes a few seconds.
const KILLS: &str = "PARALLEL_LLM_STORE_TEST_KILLS";
const KILLS_DEFAULT: u64 = 40;
/// Runs a child has under way at once.
const RUNS_AT_ONCE: u64 = 4;
/// More runs than a child comes to before it is killed.
const ENDLESS: u64 = 1_000_000;

#[expect(clippy::disallowed_methods, reason = "a test reads what its parent or the person running it says")]
fn flag(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// What a child is to do.
struct Task {
    path: PathBuf,
    first: u64,
    runs: u64,
}

impl Task {
    fn command(&self) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["processes::child", "--exact", "--ignored", "--nocapture"]);
        self.set_up(command)
    }

    /// As [`Task::command`], in a shell that lets no file grow beyond so many blocks of 512 bytes.
    fn command_with_small_disk(&self, blocks: u64) -> Command {
        let script = format!(
            "trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" processes::child --exact --ignored --nocapture"
        );
        let mut command = Command::new("sh");
        command.args(["-c", &script]).arg(std::env::current_exe().unwrap());
        self.set_up(command)
    }

    fn set_up(&self, mut command: Command) -> Command {
        command.env(CHILD, format!("{} {} {}", self.first, self.runs, self.path.display()));
        command.stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
        command
    }
}

/// Writes runs, four at a time, and says on stdout what has been acknowledged.
#[tokio::test]
#[ignore = "the other process of the tests here"]
async fn child() {
    let Some(task) = flag(CHILD) else { return };
    let mut words = task.splitn(3, ' ');
    let mut number = || words.next().unwrap().parse().unwrap();
    let (first, runs): (u64, u64) = (number(), number());
    let store = Store::open(StoreConfig::new(words.next().unwrap())).await.unwrap();
    let mut writers = JoinSet::new();
    for lane in 0..RUNS_AT_ONCE {
        let store = store.clone();
        let numbers = (first + lane..first + runs).step_by(RUNS_AT_ONCE as usize);
        writers.spawn(async move {
            for number in numbers {
                if let Err(failure) = write_aloud(&store, number).await {
                    println!("\nfailed {}: {failure}", failure.code);
                    return;
                }
            }
        });
    }
    writers.join_all().await;
    store.close().await;
}

async fn write_aloud(store: &Store, number: u64) -> Result<(), Failure> {
    let lease = store.open_run(plan(number, StoreMode::Full)).await;
    for events in every_kind().chunks(5) {
        store.append(lease, events.to_vec()).await?;
        println!("\nack {number} {}", events.last().unwrap().seq);
    }
    Ok(())
}

/// What a child has said so far.
#[derive(Default)]
struct Heard {
    /// The newest acknowledged event of each run.
    acks: BTreeMap<u64, usize>,
    failures: Vec<String>,
}

impl Heard {
    async fn listen(&mut self, lines: &mut Lines<BufReader<ChildStdout>>) {
        while let Some(line) = lines.next_line().await.unwrap() {
            self.hear(&line);
        }
    }

    fn hear(&mut self, line: &str) {
        match line.split_once(' ') {
            Some(("ack", rest)) => {
                // The last line of a killed process may be half a line.
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
async fn hear(mut command: Command, kill_after: Option<Duration>) -> Heard {
    let mut child = command.spawn().unwrap();
    let mut lines = lines(&mut child);
    let mut heard = Heard::default();
    if let Some(delay) = kill_after {
        while heard.acks.is_empty() {
            heard.hear(&lines.next_line().await.unwrap().expect("a child writes until it is killed"));
        }
        drop(tokio::time::timeout(delay, heard.listen(&mut lines)).await);
        child.start_kill().unwrap();
    }
    heard.listen(&mut lines).await;
    child.wait().await.unwrap();
    heard
}

/// Everything acknowledged is there, texts and all, and the database is sound.
async fn check(path: &Path, heard: &Heard) {
    let store = Store::open(StoreConfig::new(path)).await.unwrap();
    for (run, seq) in &heard.acks {
        let stored = store.load(RunScope::All, run_id(*run)).await.unwrap().unwrap();
        assert!(stored.events.len() >= *seq, "run {run}: {} of {seq} events", stored.events.len());
        assert_eq!(stored.events, every_kind()[..stored.events.len()]);
        assert_eq!(stored.interrupted, stored.events.len() < every_kind().len());
    }
    let running = RunFilter { status: Some(RunStatus::Running), ..RunFilter::default() };
    assert_eq!(store.list(RunScope::All, running).await.unwrap(), []);
    store.close().await;
    let sql = "PRAGMA integrity_check";
    let verdict: String = sqlx::query_scalar(sql).fetch_one(&mut connect(path).await).await.unwrap();
    assert_eq!(verdict, "ok");
}

#[tokio::test]
async fn processes_that_start_at_once_share_a_fresh_folder() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data/runs.db");
    let mut children = JoinSet::new();
    for first in (0..12).map(|process| process * 100) {
        let task = Task { path: path.clone(), first, runs: 4 };
        children.spawn(async move { hear(task.command(), None).await });
    }
    let mut all = Heard::default();
    for heard in children.join_all().await {
        assert_eq!(heard.failures, [""; 0]);
        all.acks.extend(heard.acks);
    }
    assert_eq!(all.acks.len(), 48);
    assert!(all.acks.values().all(|seq| *seq == every_kind().len()));
    check(&path, &all).await;
}

#[tokio::test]
async fn what_was_acknowledged_survives_being_killed() {
    let kills = flag(KILLS).map_or(KILLS_DEFAULT, |count| count.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    for kill in 0..kills {
        let task = Task { path: path.clone(), first: kill * ENDLESS, runs: ENDLESS };
        // Steps of a number that shares no factor with a millisecond spread the kills over a commit's parts.
        let delay = Duration::from_micros(kill * 7_919 % 40_000);
        let heard = hear(task.command(), Some(delay)).await;
        assert_eq!(heard.failures, [""; 0]);
        check(&path, &heard).await;
    }
}

#[tokio::test]
async fn a_full_disk_loses_nothing_that_was_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("runs.db");
    let task = Task { path: path.clone(), first: 0, runs: ENDLESS };
    let heard = hear(task.command_with_small_disk(1_000), None).await;
    assert!(heard.acks.len() > 10, "{} runs before the disk was full", heard.acks.len());
    assert!(!heard.failures.is_empty());
    for failure in &heard.failures {
        assert!(failure.starts_with(Code::Storage.as_str()), "{failure}");
        assert!(failure.contains("the disk refuses") || failure.contains("the disk is full"), "{failure}");
    }
    check(&path, &heard).await;
}
