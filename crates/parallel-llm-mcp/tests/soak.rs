//! The real server under steady load with faults, for as long as requested: its memory and descriptors must not grow
//! with the number of runs. Also the disk space of a run.
//!
//! `SOAK_MINUTES=30 cargo test -p parallel-llm-mcp --test program soak -- --nocapture` measures the slopes and compares
//! them with their limits. Without the variable it runs for a few seconds and checks no slope.
#![cfg(target_os = "linux")]

use std::collections::VecDeque;
use std::time::Duration;

use parallel_llm_testkit::Sandbox;
use parallel_llm_testkit::simulator::{Behaviour, Fault, Latency, Script};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::mcp::client::{Client, PANEL, structured};

/// Calls in flight at once.
const CALLS: usize = 8;
/// How often each model has its fault.
const FAULT_PROBABILITY: f64 = 0.05;
/// The default duration: enough for a few hundred runs.
const SECONDS_DEFAULT: u64 = 5;
/// The share of samples that does not count, because pools and caches fill at first.
const WARM_UP_SHARE: f64 = 1.0 / 3.0;
/// The time between two samples.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(500);
/// The most that memory may grow, in MiB per hour. Half an hour cannot tell less from noise.
const MIB_PER_HOUR_MAX: f64 = 12.0;
/// The most that the number of open descriptors may grow, per hour.
const DESCRIPTORS_PER_HOUR_MAX: f64 = 4.0;

/// A measurement of the process.
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
fn sample(id: u32, hours: f64) -> Sample {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).expect("the server runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("the kernel counts it");
    let kib: f64 = line.trim().trim_end_matches("kB").trim().parse().expect("it is a number");
    let descriptors = std::fs::read_dir(format!("/proc/{id}/fd")).expect("the server runs").count();
    Sample { hours, mib: kib / 1024.0, descriptors: descriptors as f64 }
}

/// The slope of the least-squares line, in units per hour.
fn slope(samples: &[Sample], value: impl Fn(&Sample) -> f64) -> f64 {
    let count = samples.len() as f64;
    let mean = |of: &dyn Fn(&Sample) -> f64| samples.iter().map(of).sum::<f64>() / count;
    let (middle, level) = (mean(&|one| one.hours), mean(&|one| value(one)));
    let rise: f64 = samples.iter().map(|one| (one.hours - middle) * (value(one) - level)).sum();
    let run: f64 = samples.iter().map(|one| (one.hours - middle).powi(2)).sum();
    rise / run
}

/// The requested duration, if there is one.
#[expect(clippy::disallowed_methods, reason = "the length of a test is no setting of the program")]
fn minutes() -> Option<u64> {
    std::env::var("SOAK_MINUTES").ok()?.parse().ok()
}

#[test]
fn memory_and_descriptors_do_not_grow_with_the_number_of_runs() {
    let minutes = minutes();
    let length = Duration::from_secs(minutes.map_or(SECONDS_DEFAULT, |minutes| minutes * 60));
    let sandbox = sandbox();
    let mut client = Client::new(&sandbox, &[]);
    let (begun, mut last_sample) = (Instant::now(), Instant::now());
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
        if last_sample.elapsed() >= SAMPLE_INTERVAL {
            last_sample = Instant::now();
            samples.push(sample(client.child.id(), begun.elapsed().as_secs_f64() / 3600.0));
        }
    }
    let warm = (samples.len() as f64 * WARM_UP_SHARE) as usize;
    let steady = &samples[warm..];
    let (memory, descriptors) = (slope(steady, |one| one.mib), slope(steady, |one| one.descriptors));
    let last = samples.last().expect("there is a sample");
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

/// The most disk space that a run of [`SPEAKERS`] may take, in bytes. It is 17,700 to 17,900 on a quiet machine, and some 1,700
/// more depending on how many events share a commit on a busy one and how far the search index is merged.
const RUN_BYTES_MAX: u64 = 22_000;

/// Five models that answer with 1 kB each.
const SPEAKERS: [&str; 5] = [
    "openai/gpt-6.1-sol",
    "x-ai/grok-4.7",
    "mistralai/mistral-large-4-0",
    "deepseek/deepseek-v4-pro-0813",
    "z-ai/glm-5.3",
];

/// About 1 kB of sentences of a text that nobody changes, different for each number.
fn speech(number: usize) -> String {
    const TEXT: &str = include_str!("../../../LICENSE-APACHE");
    let from = TEXT.floor_char_boundary(number * 1_000 + 2_000);
    TEXT[from..].chars().take(1_000).collect()
}

/// The size of the database after this many runs, with all their words in the index.
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
    std::fs::metadata(sandbox.data_dir().join("runs.db")).expect("the file exists").len()
}

#[test]
fn a_run_takes_little_more_disk_space_than_its_texts() {
    const RUNS: usize = 60;
    let speakers = SPEAKERS.into_iter().enumerate();
    let sandbox = speakers
        .fold(Sandbox::new(env!("CARGO_BIN_EXE_parallel-llm-mcp")), |sandbox, (number, model)| {
            sandbox.scripted(model, Script::answering(&speech(number)))
        });
    let few = bytes_after(&sandbox, 5);
    let bytes_per_run = (bytes_after(&sandbox, RUNS) - few) / RUNS as u64;
    println!("{bytes_per_run} bytes a run");
    assert!(bytes_per_run <= RUN_BYTES_MAX, "a run takes {bytes_per_run} bytes");
}
