//! Processes that begin runs at the same moment: a question begins once, and a day limit holds for all.
//!
//! The other processes are this test program, started to run only its test [`child`].
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test fails by panicking, and speaks to its parent on stdout"
)]

use std::process::Stdio;

use crate::support::{
    OpenRun as _, Place, changed, expensive, limit, plan, recorded, run_id, same_question, seat, sent,
    started,
};
use parallel_llm_engine::Code;
use parallel_llm_engine::port::Journal as _;
use parallel_llm_engine::request::StoreMode;
use parallel_llm_store::Store;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// The environment variable that makes a process a child: the kind of run, its number, and the database.
const CHILD: &str = "PARALLEL_LLM_STORE_TEST_RACER";
/// The day limit of these tests in dollars, which is also the number of expensive runs that fit.
const LIMIT_USD: i64 = 5;

#[expect(clippy::disallowed_methods, reason = "a test reads what its parent says")]
fn flag(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Opens the store, waits for a line, begins a run, prints the result, and waits for another line.
#[tokio::test]
#[ignore = "the other process of the tests here"]
async fn child() {
    let Some(task) = flag(CHILD) else { return };
    let mut words = task.splitn(3, ' ');
    let (kind, number) = (words.next().unwrap(), words.next().unwrap().parse().unwrap());
    let store = Store::open(Place::of_words(words.next().unwrap()).config()).await.unwrap();
    let plan = match kind {
        "key" => changed(same_question(number), |plan| plan.idempotency_key = Some("k".into())),
        "question" => same_question(number),
        _ => expensive(changed(plan(number, StoreMode::Full), |plan| {
            plan.limits = vec![limit(None, LIMIT_USD)];
        })),
    };
    println!("\nsays ready");
    await_line().await;
    let lease = store.open_run(plan).await;
    match store.append(lease, recorded(1, vec![started(), sent(seat(1, 1))])).await {
        Ok(()) => println!("\nsays begun"),
        Err(failure) => match failure.run_id {
            Some(run_id) => println!("\nsays {} {run_id}", failure.code),
            None => println!("\nsays {}", failure.code),
        },
    }
    await_line().await;
}

/// Waits for a line of the parent, or for its end.
async fn await_line() {
    let line = tokio::task::spawn_blocking(|| std::io::stdin().read_line(&mut String::new()));
    line.await.unwrap().unwrap();
}

/// A child with its input and its output.
struct Racer {
    child: Child,
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Racer {
    fn start(kind: &str, number: u64, place: &Place) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["races::child", "--exact", "--ignored", "--nocapture"]);
        command.env(CHILD, format!("{kind} {number} {}", place.to_words()));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { child, stdin, lines: BufReader::new(stdout).lines() }
    }

    async fn next_line(&mut self) -> String {
        loop {
            let line = self.lines.next_line().await.unwrap().expect("a child speaks before it ends");
            if let Some(word) = line.strip_prefix("says ") {
                return word.to_owned();
            }
        }
    }
}

/// The results of this many processes that begin at the same moment, in the order of their numbers.
async fn race(kind: &str, racers: u64, place: &Place) -> Vec<String> {
    let mut racers: Vec<Racer> = (1..=racers).map(|number| Racer::start(kind, number, place)).collect();
    for racer in &mut racers {
        assert_eq!(racer.next_line().await, "ready");
    }
    for racer in &mut racers {
        racer.stdin.write_all(b"go\n").await.unwrap();
    }
    let mut said = Vec::new();
    for racer in &mut racers {
        said.push(racer.next_line().await);
    }
    for racer in racers {
        let Racer { mut child, stdin, lines } = racer;
        drop((stdin, lines));
        child.wait().await.unwrap();
    }
    said
}

#[tokio::test]
async fn of_two_processes_with_one_question_the_second_is_told_the_first_run() {
    for kind in ["key", "question"] {
        let folder = tempfile::tempdir().unwrap();
        let said = race(kind, 2, &Place::fresh(folder.path().join("runs.db"))).await;
        let winner = said.iter().position(|word| word == "begun").unwrap() + 1;
        let expected = format!("{} {}", Code::Repeated, run_id(winner as u64));
        assert_eq!(said[2 - winner], expected, "{kind}");
    }
}

#[tokio::test]
async fn twenty_processes_together_stay_within_a_day_limit() {
    let folder = tempfile::tempdir().unwrap();
    let said = race("limit", 20, &Place::fresh(folder.path().join("runs.db"))).await;
    let begun = said.iter().filter(|word| *word == "begun").count();
    let refused = said.iter().filter(|word| *word == Code::Budget.as_str()).count();
    assert_eq!((begun, refused), (LIMIT_USD as usize, 20 - LIMIT_USD as usize), "{said:?}");
}
