//! The real server under steady work with faults, for as long as one wishes: what it holds of memory and descriptors does
//! not grow with the runs it has done. And how much of the disk a run takes.
//!
//! `SOAK_MINUTES=30 cargo test -p parallel-llm-mcp --test program soak -- --nocapture` measures the slopes and holds them against
//! their bounds. Without the variable it works for some seconds and only shows that it can.
#![cfg(target_os = "linux")]

use std::collections::VecDeque;
use std::time::Duration;

use parallel_llm_testkit::Sandbox;
use parallel_llm_testkit::simulator::{Behaviour, Fault, Latency, Script};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::mcp::client::{Client, PANEL, structured};

/// Calls under way at once.
const CALLS: usize = 8;
/// How often each model meets its fault.
const FAULT_PROBABILITY: f64 = 0.05;
/// How long it works where nobody says: enough for some hundred runs.
const SECONDS_DEFAULT: u64 = 5;
/// The first part is not counted, because pools and caches fill then.
const WARM_UP_SHARE: f64 = 1.0 / 3.0;
/// Between two looks at the process.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// The most that memory may grow, in MiB an hour. Half an hour cannot tell less from noise.
const MIB_PER_HOUR_MAX: f64 = 12.0;
/// The most that open descriptors may grow, in an hour.
const DESCRIPTORS_PER_HOUR_MAX: f64 = 4.0;

/// One look at the process.
struct Sample {
    hours: f64,
    mib: f64,
    descriptors: f64,
}

fn sandbox() -> Sandbox {
    let faults = [Fault::BadGateway, Fault::SseReset, Fault::SseErrorMid];
    let quick = Behaviour { ttft_ms: Latency::of(20), ..Behaviour::instant() };
    let sandbox = Sandbox::new(env!("CARGO_BIN_EXE_parallel-llm-mcp"));
    PANEL.into_iter().zip(faults).fold(sandbox, |sandbox, (model, fault)| {
        let script = Script { behaviour: Some(quick.clone()), ..Script::fault(fault) };
        sandbox.scripted(model, script.fail_probability(FAULT_PROBABILITY))
    })
}

fn question(number: usize) -> Value {
    json!({"prompt": format!("Question {number}: which is safer?"), "models": PANEL, "synthesizer": PANEL[0]})
}

/// Resident memory in MiB and open descriptors, as the kernel counts them.
fn look(id: u32, hours: f64) -> Sample {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).expect("the server runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("the kernel counts it");
    let kib: f64 = line.trim().trim_end_matches("kB").trim().parse().expect("it is a number");
    let descriptors = std::fs::read_dir(format!("/proc/{id}/fd")).expect("the server runs").count();
    Sample { hours, mib: kib / 1024.0, descriptors: descriptors as f64 }
}

/// The slope of the straight line that fits best, in units an hour.
fn slope(samples: &[Sample], value: impl Fn(&Sample) -> f64) -> f64 {
    let count = samples.len() as f64;
    let mean = |of: &dyn Fn(&Sample) -> f64| samples.iter().map(of).sum::<f64>() / count;
    let (middle, level) = (mean(&|one| one.hours), mean(&|one| value(one)));
    let rise: f64 = samples.iter().map(|one| (one.hours - middle) * (value(one) - level)).sum();
    let run: f64 = samples.iter().map(|one| (one.hours - middle).powi(2)).sum();
    rise / run
}

/// How long it is to work, where somebody says so.
#[expect(clippy::disallowed_methods, reason = "the length of a test is no setting of the program")]
fn minutes() -> Option<u64> {
    std::env::var("SOAK_MINUTES").ok()?.parse().ok()
}

#[test]
fn what_it_holds_does_not_grow_with_what_it_has_done() {
    let minutes = minutes();
    let length = Duration::from_secs(minutes.map_or(SECONDS_DEFAULT, |minutes| minutes * 60));
    let sandbox = sandbox();
    let mut client = Client::new(&sandbox, &[]);
    let (begun, mut looked) = (Instant::now(), Instant::now());
    let (mut calls, mut samples) = (VecDeque::new(), Vec::new());
    let (mut asked, mut answered) = (0, 0);
    while begun.elapsed() < length || !calls.is_empty() {
        while calls.len() < CALLS && begun.elapsed() < length {
            asked += 1;
            calls.push_back(client.start("process_prompt", question(asked)));
        }
        let result = client.result(calls.pop_front().expect("there is one"));
        let report = structured(&result);
        assert_ne!(report["status"], "running", "{report}");
        answered += usize::from(report["answer"].is_string());
        client.seen.retain(|message| message.get("method").is_none());
        if looked.elapsed() >= LOOK_EVERY {
            looked = Instant::now();
            samples.push(look(client.child.id(), begun.elapsed().as_secs_f64() / 3600.0));
        }
    }
    let warm = (samples.len() as f64 * WARM_UP_SHARE) as usize;
    let steady = &samples[warm..];
    let (memory, descriptors) = (slope(steady, |one| one.mib), slope(steady, |one| one.descriptors));
    let last = samples.last().expect("it was looked at");
    println!(
        "{asked} runs, {answered} with an answer, in {:.1} min; {:.1} MiB and {} descriptors at the end; {memory:+.2} MiB/h, \
         {descriptors:+.2} descriptors/h",
        begun.elapsed().as_secs_f64() / 60.0,
        last.mib,
        last.descriptors
    );
    assert!(answered * 100 >= asked * 99, "{answered} of {asked}: three seats hardly ever fail at once");
    if minutes.is_some() {
        assert!(memory <= MIB_PER_HOUR_MAX, "memory grows by {memory:.2} MiB an hour");
        assert!(descriptors <= DESCRIPTORS_PER_HOUR_MAX, "descriptors grow by {descriptors:.2} an hour");
    }
}

/// The most of the disk that a run of [`SPEAKERS`] takes, in bytes. It is 18,300 to 20,000, by how many events go into one
/// commit on a busy machine and how far the index of words is merged; it was 35,600 before texts were compressed.
const RUN_BYTES_MAX: u64 = 22_000;

/// Five who answer with 1 kB each.
const SPEAKERS: [&str; 5] = [
    "openai/gpt-6.1-sol",
    "x-ai/grok-4.7",
    "mistralai/mistral-large-4-0",
    "deepseek/deepseek-v4-pro-0813",
    "z-ai/glm-5.3",
];

/// About 1 kB of English, another for each number: sentences of the manual.
fn speech(number: usize) -> String {
    const MANUAL: &str = include_str!("../../../docs/operations.md");
    let from = MANUAL.floor_char_boundary(number * 1_000 + 2_000);
    MANUAL[from..].chars().take(1_000).collect()
}

/// How large the database is after so many runs, with all their words in the index.
fn bytes_after(sandbox: &Sandbox, runs: usize) -> u64 {
    let mut client = Client::new(sandbox, &[]);
    for number in 1..=runs {
        let prompt = format!("Question {number} of {runs}: why does it rain on the windward side of ridges?");
        let arguments = json!({"prompt": prompt, "models": SPEAKERS, "synthesizer": PANEL[1]});
        assert_eq!(structured(&client.call("process_prompt", arguments))["status"], "complete");
    }
    client.hang_up();
    client.wait();
    loop {
        let output = sandbox.call(["runs", "search", "--json", "windward"]).run();
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        if output.json()["unindexed"] == 0 {
            break;
        }
    }
    std::fs::metadata(sandbox.data_dir().join("runs.db")).expect("it is there").len()
}

#[test]
fn a_run_takes_little_more_of_the_disk_than_its_texts() {
    const RUNS: usize = 60;
    let speakers = SPEAKERS.into_iter().enumerate();
    let sandbox = speakers
        .fold(Sandbox::new(env!("CARGO_BIN_EXE_parallel-llm-mcp")), |sandbox, (number, model)| {
            sandbox.scripted(model, Script::answering(&speech(number)))
        });
    let few = bytes_after(&sandbox, 5);
    let a_run = (bytes_after(&sandbox, RUNS) - few) / RUNS as u64;
    println!("{a_run} bytes a run");
    assert!(a_run <= RUN_BYTES_MAX, "a run takes {a_run} bytes");
}
