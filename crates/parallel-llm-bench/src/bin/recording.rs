//! Measures how answers reach the disk, and what a purge costs others.
//!
//!     bench-recording --folder FOLDER [--runs N] [--at-once N] [--purged N]
//!
//! First many runs at once, on one thread as in `ask`: the time from the last byte of an answer to its commit, alone and
//! beside two busy threads for each core. Then a purge: the runs removed in a second, alone and while this and another
//! process write, and how long those writes take.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, ready};
use parallel_llm_bench::clock::now_ns;
use parallel_llm_bench::failure::{Failure, Outcome};
use parallel_llm_bench::measure::machine;
use parallel_llm_bench::measure::statistics::percentile_of;
use parallel_llm_bench::store::generated_runs::GeneratedRuns;
use parallel_llm_bench::store::plan;
use parallel_llm_bench::terminal::{self, print};
use parallel_llm_engine::call::hub::{Hub, Update};
use parallel_llm_engine::plan::Identity;
use parallel_llm_engine::port::{Call, Caller, Charge, Permit, ReplyEnd, ReplyPart, ReplyStream};
use parallel_llm_engine::{
    CallerSlot, Engine, Event, Failure as Refusal, Finish, ModelRef, RunId, RunPlan, Stop,
};
use parallel_llm_settings::settings::{Environment, Folders, Settings};
use parallel_llm_store::{RunScope, Store, StoreConfig};
use parking_lot::Mutex;
use tokio::task::JoinSet;

/// Runs, and how many of them at once.
const RUNS: u64 = 512;
const AT_ONCE: u64 = 64;
/// Runs to purge.
const PURGED: u64 = 2_000;
/// The least and the greatest time of a reply, in milliseconds, and the pieces that it comes in.
const REPLY_MS: (u64, u64) = (200, 1_200);
const PIECES: u64 = 8;
/// Pause between two runs of a writer beside a purge.
const WRITE_PAUSE: Duration = Duration::from_millis(20);
/// The word before the database that makes this program the other process.
const WRITE: &str = "--write";

fn main() -> ExitCode {
    terminal::end("recording", run())
}

/// What to measure.
struct Task {
    folder: PathBuf,
    runs: u64,
    at_once: u64,
    purged: u64,
}

impl Task {
    fn of(words: &[String]) -> Outcome<Self> {
        let mut task = Self { folder: PathBuf::new(), runs: RUNS, at_once: AT_ONCE, purged: PURGED };
        for pair in words.chunks(2) {
            let [word, value] = pair else { return Err(Failure::new(format!("`{}` has no value", pair[0]))) };
            let number = || value.parse().map_err(|_| Failure::new(format!("`{value}` is no number")));
            match word.as_str() {
                "--folder" => task.folder = PathBuf::from(value),
                "--runs" => task.runs = number()?,
                "--at-once" => task.at_once = number()?,
                "--purged" => task.purged = number()?,
                _ => return Err(Failure::new(format!("`{word}` is no flag"))),
            }
        }
        if task.folder.as_os_str().is_empty() {
            return Err(Failure::new("`--folder` is missing"));
        }
        Ok(task)
    }
}

fn run() -> Outcome<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    if let [WRITE, path] = words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        return runtime.block_on(write_until_told(Path::new(path)));
    }
    let task = Task::of(&words)?;
    runtime.block_on(async {
        print(&format!("{}\n\n{:<58} {:>8} {:>8} {:>8}", machine::facts(), "ms", "p50", "p99", "most"))?;
        print(&line("last byte to disk", &record(&task, "alone").await?))?;
        let load = Load::start();
        let loaded = record(&task, "loaded").await?;
        drop(load);
        print(&line("last byte to disk, two busy threads for each core", &loaded))?;
        purge(&task).await
    })
}

fn line(name: &str, millis: &[f64]) -> String {
    let at = |share| percentile_of(millis.iter().copied(), share);
    format!("{name:<58} {:>8.1} {:>8.1} {:>8.1}  of {}", at(50), at(99), at(100), millis.len())
}

fn since_ms(ns: u64) -> f64 {
    (now_ns() - ns) as f64 / 1e6
}

/// Threads that take the processor until they are dropped.
struct Load(Arc<AtomicBool>);

impl Load {
    fn start() -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        for _ in 0..2 * cores {
            let is_over = Arc::clone(&is_over);
            std::thread::spawn(move || {
                while !is_over.load(Ordering::Relaxed) {
                    std::hint::black_box(some_arithmetic());
                }
            });
        }
        Self(is_over)
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Some microseconds of arithmetic.
fn some_arithmetic() -> u64 {
    (0..4_096_u64).fold(1, |sum: u64, at| sum.wrapping_mul(31).wrapping_add(at))
}

/// When the last byte of each answer came.
type LastBytes = Arc<Mutex<BTreeMap<(RunId, CallerSlot), u64>>>;

/// Models that answer after a while, in pieces.
struct Upstream(LastBytes);

impl Caller for Upstream {
    fn admit(&self, call: Call) -> BoxFuture<'static, Result<Permit, Refusal>> {
        let last = Arc::clone(&self.0);
        let permit = Permit::new(move || {
            let key = (call.run_id, call.attempt.slot);
            let seed = u64::from(call.attempt.number)
                + call.run_id.to_string().bytes().map(u64::from).sum::<u64>() * 7_919;
            let seed = seed + call.model.model.bytes().map(u64::from).sum::<u64>() * 104_729;
            let piece_ms = (REPLY_MS.0 + seed % (REPLY_MS.1 - REPLY_MS.0)) / PIECES;
            ReplyStream::new(futures_util::stream::unfold(0, move |sent| {
                let last = Arc::clone(&last);
                async move {
                    if sent < PIECES {
                        tokio::time::sleep(Duration::from_millis(piece_ms)).await;
                        let text = format!("Piece {sent} of an answer of some length. ").repeat(8);
                        return Some((Ok(ReplyPart::Text(text)), sent + 1));
                    }
                    let end = ReplyEnd { finish: Some(Finish::Stop), ..ReplyEnd::default() };
                    last.lock().insert(key, now_ns());
                    (sent == PIECES).then_some((Ok(ReplyPart::End(end)), sent + 1))
                }
            }))
        });
        ready(Ok(permit)).boxed()
    }

    fn look_up(&self, _: &ModelRef, _: &str) -> BoxFuture<'static, Result<Option<Charge>, Refusal>> {
        ready(Ok(None)).boxed()
    }
}

/// Makes the runs, and returns the times from the last byte of each answer to its commit.
async fn record(task: &Task, name: &str) -> Outcome<Vec<f64>> {
    let folder = task.folder.join(name);
    std::fs::create_dir_all(&folder)?;
    let store = Store::open(StoreConfig::new(folder.join("runs.db"))).await?;
    let (last, times) = (LastBytes::default(), Arc::new(Mutex::new(Vec::new())));
    let engine = Engine::new(Arc::new(Upstream(Arc::clone(&last))), Arc::new(store.clone()));
    let settings = Settings::load(&Environment::with_folders(Folders::of_home(&folder)), &folder, &[])?;
    let mut lanes = JoinSet::new();
    for lane in 0..task.at_once {
        let (engine, last, times) = (engine.clone(), Arc::clone(&last), Arc::clone(&times));
        let numbers = (lane..task.runs).step_by(task.at_once as usize);
        let plans: Outcome<Vec<RunPlan>> = numbers.map(|number| plan(&settings, number)).collect();
        let plans = plans?;
        lanes.spawn(async move {
            for plan in plans {
                one_run(&engine, plan, &last, &times).await?;
            }
            Outcome::Ok(())
        });
    }
    for done in lanes.join_all().await {
        done?;
    }
    store.close().await;
    Ok(std::mem::take(&mut times.lock()))
}

async fn one_run(engine: &Engine, plan: RunPlan, last: &LastBytes, times: &Mutex<Vec<f64>>) -> Outcome<()> {
    let run_id = plan.run_id;
    let hub = Arc::new(Hub::new(Arc::new(plan)));
    let (_, mut events) = hub.watch_events();
    let follow = async {
        loop {
            let Update::Event(recorded) = events.next().await else { continue };
            match recorded.event {
                // Shown as soon as it is durable.
                Event::Answered { attempt, .. } => {
                    let came = last.lock().remove(&(run_id, attempt.slot));
                    times.lock().extend(came.map(since_ms));
                }
                Event::Closed { .. } => return,
                _ => {}
            }
        }
    };
    let underway = engine.open(Arc::clone(&hub), Stop::default()).await?;
    tokio::join!(underway.finish(), follow);
    Ok(())
}

fn plan(settings: &Settings, number: u64) -> Outcome<RunPlan> {
    let run_id = RunId::from_parts(1_700_000_000_000 + number, u128::from(number));
    let prompt = format!("How long does answer {number} take to the disk?");
    plan::of(settings, prompt, Identity { run_id, seed: number })
}

/// Purges runs alone, and as many again while others write.
async fn purge(task: &Task) -> Outcome<()> {
    for (name, is_alone) in [("purge, alone", true), ("purge, while two processes write", false)] {
        let path = task.folder.join(if is_alone { "purged.db" } else { "written.db" });
        let runs = GeneratedRuns { runs: task.purged, seed: 1 };
        let store = Store::open(StoreConfig::new(&path)).await?;
        runs.write(&store).await?;
        while store.search(RunScope::All, "x", 1).await?.unindexed > 0 {}
        let other = (!is_alone).then(|| OtherProcess::start(&path)).transpose()?;
        let is_over = Arc::new(AtomicBool::new(is_alone));
        let doomed: Vec<RunId> = (0..task.purged).map(|number| runs.id(number)).collect();
        let begun = now_ns();
        let purging = async {
            let purged = store.purge(&doomed).await?;
            let seconds = since_ms(begun) / 1e3;
            store.reclaim().await?;
            is_over.store(true, Ordering::Relaxed);
            Outcome::Ok((purged.runs.len(), seconds))
        };
        let (purged, here) = tokio::join!(purging, write_until(&store, 5_000_000, &is_over));
        let (purged, seconds) = purged?;
        print(&format!("{name}: {:.0} runs/s", purged as f64 / seconds))?;
        if let Some(other) = other {
            print(&line("a commit of this process meanwhile", &here?))?;
            print(other.end()?.trim_end())?;
        }
        store.close().await;
    }
    Ok(())
}

/// Writes runs until told, and returns the times of the commits.
async fn write_until(store: &Store, first: u64, is_over: &AtomicBool) -> Outcome<Vec<f64>> {
    let mut times = Vec::new();
    let mut number = first;
    while !is_over.load(Ordering::Relaxed) {
        let begun = now_ns();
        GeneratedRuns { runs: 1, seed: number }.write_one(store, number).await?;
        times.push(since_ms(begun));
        number += 1;
        tokio::time::sleep(WRITE_PAUSE).await;
    }
    Ok(times)
}

/// A process that writes to the same database.
struct OtherProcess(std::process::Child);

impl OtherProcess {
    fn start(path: &Path) -> Outcome<Self> {
        let mut command = std::process::Command::new(std::env::current_exe()?);
        let command = command.arg(WRITE).arg(path).stdin(Stdio::piped()).stdout(Stdio::piped());
        Ok(Self(command.spawn()?))
    }

    /// Ends it, and returns what it measured.
    fn end(mut self) -> Outcome<String> {
        drop(self.0.stdin.take());
        Ok(String::from_utf8_lossy(&self.0.wait_with_output()?.stdout).into_owned())
    }
}

/// The other process: writes until its stdin ends.
async fn write_until_told(path: &Path) -> Outcome<()> {
    let store = Store::open(StoreConfig::new(path)).await?;
    let is_over = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&is_over);
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        told.store(true, Ordering::Relaxed);
    });
    let times = write_until(&store, 9_000_000, &is_over).await?;
    store.close().await;
    print(&line("a commit of another process meanwhile", &times))
}
