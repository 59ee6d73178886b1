//! A batch whose workers are killed at random: each line has one outcome, nothing that was paid for is lost or paid twice,
//! and no request left that the journal does not know.

use std::collections::BTreeMap;
use std::time::Duration;

use parallel_llm_testkit::simulator::{Answer, Behaviour, Latency, Script};
use parallel_llm_testkit::{Call, Running, Sandbox};
use rusqlite::Connection;
use serde_json::{Value, json};

use crate::replicas::{SETTING, fresh, select};

/// How many lines the batch has.
const JOBS: &str = "PARALLEL_LLM_TEST_BATCH_JOBS";
const JOBS_DEFAULT: u64 = 200;
/// A worker is killed about so often, while this many of its jobs are done: twenty times in all.
const KILLS: u64 = 20;
/// How often the server of the database is started again, by the command in this variable.
const RESTARTS: u64 = 4;
const RESTART: &str = "PARALLEL_LLM_TEST_DATABASE_RESTART";
/// The longest wait for the next part of a batch: a lease, a look, and a crowd of questions.
const PATIENCE: Duration = Duration::from_secs(120);
/// The panel, from quick to slow, and the one who fuses.
const PANEL: [(&str, u64); 5] = [
    ("openai/gpt-6.1-sol", 1),
    ("google/gemini-4-argon", 2),
    ("x-ai/grok-4.7", 5),
    ("anthropic/claude-opus-5.5", 10),
    ("mistralai/mistral-large-4-0", 20),
];
const SYNTHESIZER: (&str, u64) = ("z-ai/glm-5.3", 5);

/// Where the batch is.
struct Place {
    sandbox: Sandbox,
    /// The address of the database; `None` for a file.
    url: Option<String>,
}

impl Place {
    fn new(url: Option<String>) -> Self {
        let says = |model: &str, ms| {
            let answer = Answer::Fixed(format!("{model} says that it sings, and sings well."));
            Script::behaving(Behaviour { ttft_ms: Latency::of(ms), answer, ..Behaviour::instant() })
        };
        let program = env!("CARGO_BIN_EXE_parallel-llm-mcp");
        let all = PANEL.into_iter().chain([SYNTHESIZER]);
        let sandbox =
            all.fold(Sandbox::new(program), |sandbox, (model, ms)| sandbox.scripted(model, says(model, ms)));
        Self { sandbox, url }
    }

    fn call(&self, arguments: &[&str]) -> Call<'_> {
        let call = self.sandbox.call(arguments).settings([("synthesizer", SYNTHESIZER.0)]);
        match &self.url {
            Some(url) => call.settings([(SETTING, url.as_str())]),
            None => call,
        }
    }

    fn status(&self) -> Value {
        let output = self.call(&["batch", "status", "--json"]).run();
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        output.json()
    }

    /// Waits until so many jobs have ended.
    fn until_ended(&self, enough: u64) {
        self.sandbox.until_within(PATIENCE, "some more are done", || {
            let now = self.status();
            let count = |name: &str| now[name].as_u64().unwrap_or_default();
            count("answered") + count("failed") >= enough
        });
    }

    /// Waits until all jobs have ended.
    fn until_finished(&self) {
        self.sandbox.until_within(PATIENCE, "all have ended", || self.status()["state"] == "finished");
    }

    fn worker(&self) -> Running<'_> {
        self.call(&["worker", "--concurrency", "12"]).start()
    }

    /// The rows of a query as text.
    fn rows(&self, sql: &str) -> Vec<Vec<String>> {
        if let Some(url) = &self.url {
            return select(url, sql);
        }
        let connection = Connection::open(self.sandbox.data_dir().join("runs.db")).expect("it is there");
        let mut statement = connection.prepare(sql).expect("the statement is right");
        let columns = statement.column_count();
        let rows = statement.query_map((), |row| {
            (0..columns)
                .map(|column| {
                    Ok(match row.get_ref(column)? {
                        rusqlite::types::ValueRef::Integer(number) => number.to_string(),
                        rusqlite::types::ValueRef::Text(text) => String::from_utf8_lossy(text).into_owned(),
                        _ => String::new(),
                    })
                })
                .collect()
        });
        rows.expect("it is read").map(|row| row.expect("a row is read")).collect()
    }
}

#[expect(clippy::disallowed_methods, reason = "a test reads what the person running it says")]
fn jobs() -> u64 {
    std::env::var(JOBS).map_or(JOBS_DEFAULT, |count| count.parse().expect("a number of jobs"))
}

/// Submits the questions, to be asked by workers.
fn submit(place: &Place, jobs: u64) {
    let lines: Vec<String> = (1..=jobs)
        .map(|number| {
            let models = PANEL.map(|(model, _)| model);
            json!({"id": format!("q{number}"), "prompt": format!("What is {number}?"), "models": models})
                .to_string()
        })
        .collect();
    let file = place.sandbox.write("questions.jsonl", lines.join("\n"));
    let file = file.display().to_string();
    let submitted = place.call(&["batch", "submit", &file, "--detach", "--budget", "90000"]).run();
    assert_eq!(submitted.code, Some(0), "{}", submitted.stderr);
}

/// Works through a batch with so many workers at once, of which one after the other is killed.
fn outlive(place: &Place, workers: usize) {
    let jobs = jobs();
    submit(place, jobs);
    let mut at_work: Vec<Running<'_>> = (0..workers).map(|_| place.worker()).collect();
    for kill in 1..=KILLS {
        place.until_ended(jobs * kill / (KILLS + 1));
        let victim = at_work.remove(0);
        victim.signal("KILL");
        victim.wait();
        at_work.push(place.worker());
    }
    end(place, at_work, jobs);
}

/// Waits for the end of a batch and of its workers, and checks what must hold then.
fn end(place: &Place, at_work: Vec<Running<'_>>, jobs: u64) {
    place.until_finished();
    // What a killed worker was waiting for may have been paid, so it is asked again only on request.
    if place.status()["failed"] != 0 {
        let again = place.call(&["batch", "retry-failed", "--resend", "--detach"]).run();
        assert_eq!(again.code, Some(0), "{}", again.stderr);
        place.until_finished();
    }
    for worker in at_work {
        worker.signal("TERM");
        assert_eq!(worker.wait().code, Some(143));
    }
    check(place, jobs);
}

/// What must hold after it.
fn check(place: &Place, jobs: u64) {
    let over = place.status();
    assert_eq!((&over["answered"], &over["failed"]), (&json!(jobs), &json!(0)), "{over}");
    let results = place.call(&["batch", "results"]).run().json_lines();
    let expected: Vec<u64> = (1..=jobs).collect();
    let lines: Vec<u64> = results.iter().map(|line| line["line"].as_u64().expect("a number")).collect();
    assert_eq!(lines, expected, "each line has one outcome");
    for line in &results {
        assert!(line["answer"].as_str().is_some_and(|text| text.contains("it sings")), "{line}");
    }
    let runs = place.rows("SELECT COUNT(*), COUNT(DISTINCT idempotency_key) FROM runs");
    assert_eq!(runs, [[jobs.to_string(), jobs.to_string()]], "each line is one run");
    let decided = "SELECT run_id FROM calls WHERE place LIKE '%synthesizer%' AND outcome = 'answered' \
                   GROUP BY run_id HAVING COUNT(*) > 1";
    assert!(place.rows(decided).is_empty(), "no run was fused twice");

    let known = place.rows("SELECT run_id, model, COUNT(*) FROM calls GROUP BY run_id, model");
    let known: BTreeMap<(String, String), usize> = known
        .into_iter()
        .map(|row| ((row[0].clone(), row[1].clone()), row[2].parse().expect("a count")))
        .collect();
    let mut left: BTreeMap<(String, String), usize> = BTreeMap::new();
    for chat in place.sandbox.chats() {
        let word = |name: &str| chat.body[name].as_str().expect("a chat has it").to_owned();
        *left.entry((word("session_id"), word("model"))).or_default() += 1;
    }
    for (call, times) in &left {
        let known = known.get(call).copied().unwrap_or_default();
        assert!(*times <= known, "{call:?}: {times} requests left, {known} are known");
    }
    // A call of an answered seat that nobody killed is made once.
    let twice =
        "SELECT run_id FROM calls WHERE outcome = 'answered' GROUP BY run_id, place HAVING COUNT(*) > 1";
    assert!(place.rows(twice).is_empty(), "no answer was paid twice");
    let paid: u64 = over["jobs"].as_u64().expect("a count") * (PANEL.len() as u64 + 1);
    let made: usize = left.values().sum();
    // Each kill leaves at most the calls of one worker without a known end.
    let slack = KILLS * 12 * PANEL.len() as u64;
    assert!(made as u64 <= paid + slack, "{made} requests for {paid} needed");
    let spent = place.rows("SELECT SUM(cost_pico_usd) FROM batch_jobs");
    let most = "SELECT SUM(COALESCE(cost_pico_usd, worst_pico_usd)) FROM calls";
    assert_eq!(spent, place.rows(most), "the batch costs what its runs can have cost");
    let check = place.call(&["store", "check", "--read-data"]).run();
    assert_eq!(check.code, Some(0), "{}", check.transcript());
}

#[test]
fn a_batch_outlives_its_workers_on_a_file() {
    outlive(&Place::new(None), 1);
}

#[test]
fn a_batch_outlives_its_workers_on_a_server() {
    if let Some(url) = fresh() {
        outlive(&Place::new(Some(url)), 3);
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test reads what the person running it says")]
fn a_batch_outlives_restarts_of_its_server() {
    let (Some(url), Ok(restart)) = (fresh(), std::env::var(RESTART)) else { return };
    let (place, jobs) = (Place::new(Some(url)), jobs());
    submit(&place, jobs);
    let at_work: Vec<Running<'_>> = (0..3).map(|_| place.worker()).collect();
    for restarted in 1..=RESTARTS {
        place.until_ended(jobs * restarted / (RESTARTS + 1));
        let done = std::process::Command::new("sh").args(["-c", &restart]).status();
        assert!(done.expect("a shell is there").success());
    }
    end(&place, at_work, jobs);
    // Nothing was killed, so nothing was asked twice, and every seat has answered.
    assert_eq!(place.status()["partial"], 0);
    let needed = jobs as usize * (PANEL.len() + 1);
    assert_eq!(place.sandbox.chats().len(), needed);
}
