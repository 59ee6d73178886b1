//! Deterministic simulation: thousands of random runs whose processes die, whose disks break and whose callers give
//! up. New processes continue each run in a random way until it closes; `invariants.rs` lists what must hold.
//!
//! Everything derives from the seed, and time is paused. Each process has a runtime of its own that is dropped as a
//! whole, so only the journal survives. A seed that fails is reported with the command that replays it.

mod disk;
mod invariants;
mod process;
mod random;

use std::cell::Cell;
use std::collections::BTreeMap;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::thread;

use parallel_llm_engine::{Event, SeatStatus};

use crate::transcript;
use disk::Durable;
use invariants::History;
use process::{ProcessEnd, ProcessPlan, ProcessResult, run_process};
pub(crate) use random::Random;

/// Runs by default: about twenty seconds on two cores, unoptimized. `cargo xtask ci --long` makes 100,000.
const SEEDS: u64 = 1_500;
/// The environment variable that sets another number of runs.
const SEEDS_VARIABLE: &str = "SIMULATION_SEEDS";
/// The environment variable that replays and prints a single seed.
const SEED_VARIABLE: &str = "SIMULATION_SEED";
/// The least occurrences of each kind in a thousand runs: half of the measured numbers.
const OCCURRENCES_MIN: &[(&str, usize)] = &[
    ("a crash before a commit", 110),
    ("a crash in a commit that is lost", 110),
    ("a crash in a commit that is kept", 110),
    ("a crash after a commit", 80),
    ("a crash at any moment", 45),
    ("two crashes and more", 130),
    ("three crashes", 30),
    ("a broken disk", 50),
    ("refused: storage", 10),
    ("reopened: interrupted", 370),
    ("reopened: a further part was interrupted", 30),
    ("reopened: decided, not closed", 90),
    ("reopened: closed", 500),
    ("reopened: an unknown seat is named", 300),
    ("reopened: an answered seat is named", 60),
    ("reopened: a cut seat is named", 40),
    ("reopened: seats are added", 300),
    ("reopened: another synthesizer", 300),
    ("a cost found out later", 140),
    ("an earlier text kept", 90),
    ("a drained reply", 15),
    ("a late answer", 50),
    ("an outcome: Fused", 50),
    ("an outcome: Selected", 120),
    ("an outcome: Verbatim", 200),
    ("an outcome: None", 110),
    ("an end: complete", 50),
    ("an end: partial", 330),
    ("an end: failed", 80),
    ("an end: cancelled", 30),
    ("a seat: answered", 900),
    ("a seat: cut", 180),
    ("a seat: failed", 240),
    ("a seat: refused", 10),
    ("a seat: cancelled", 300),
    ("a seat: skipped", 590),
    ("a seat: unneeded", 7),
    ("a seat: unknown", 290),
    ("a step: answered", 60),
    ("a step: cut", 14),
    ("a step: failed", 23),
    ("a step: unknown", 11),
    ("a judge that changed its mind", 5),
    ("a stage decided", 220),
    ("a stage failed", 60),
    ("a stage resumed", 13),
];
/// The most processes of a run: three that fail, two that continue after the run has closed, and the last.
const PROCESSES_MAX: usize = 6;

/// A run with all its processes.
struct SimulatedRun {
    history: History,
    processes: Vec<ProcessResult>,
    /// How often each kind of event occurred.
    occurrences: BTreeMap<String, usize>,
}

impl SimulatedRun {
    /// Executes the run of a seed and checks the invariants after every process.
    fn execute(seed: u64) -> Self {
        let random = &mut Random::new(seed);
        let history = History::new(Arc::new(random.plan(seed)), Durable::default());
        let mut simulated = Self { history, processes: Vec::new(), occurrences: BTreeMap::new() };
        let (mut troubles, mut further) = (random.below(4), random.below(3));
        loop {
            let before = simulated.history.run();
            let process_plan = random.process_plan(before.as_ref(), troubles > 0);
            troubles -= u64::from(process_plan.fails());
            let process =
                run_process(&simulated.history.plan, before, &process_plan, &simulated.history.durable);
            simulated.history.record(&process_plan, &process);
            simulated.count(&process_plan, &process);
            simulated.processes.push(process);
            assert!(simulated.processes.len() <= PROCESSES_MAX, "a simulated run comes to an end");
            match simulated.history.run() {
                Some(run) if run.closed && further == 0 => break,
                Some(run) if run.closed => further -= 1,
                _ => {}
            }
        }
        simulated.history.close();
        simulated.count_end();
        simulated
    }

    fn note(&mut self, what: impl Into<String>) {
        *self.occurrences.entry(what.into()).or_default() += 1;
    }

    fn count(&mut self, process_plan: &ProcessPlan, process: &ProcessResult) {
        self.note("a process");
        match &process.end {
            ProcessEnd::Crashed(kind) => self.note(format!("a crash {kind}")),
            ProcessEnd::Refused(failure) => self.note(format!("refused: {}", failure.code)),
            ProcessEnd::Closed if process.broke => self.note("a broken disk"),
            ProcessEnd::Closed => {}
        }
        let Some(reopening) = &process_plan.reopening else { return };
        let before = process.before.as_ref().expect("what is reopened has a history");
        let is_named = |status: SeatStatus| {
            before
                .seats
                .iter()
                .zip(&before.plan.seats)
                .any(|(view, seat)| view.status == status && reopening.ask.contains(&seat.number))
        };
        let kinds = [
            ("reopened: interrupted", !before.is_decided()),
            ("reopened: a further part was interrupted", !before.is_decided() && before.outcome.is_some()),
            ("reopened: decided, not closed", before.is_decided() && !before.closed),
            ("reopened: closed", before.closed),
            ("reopened: an unknown seat is named", is_named(SeatStatus::Unknown)),
            ("reopened: an answered seat is named", is_named(SeatStatus::Answered)),
            ("reopened: a cut seat is named", is_named(SeatStatus::Cut)),
            ("reopened: seats are added", !reopening.seats.is_empty()),
            ("reopened: another synthesizer", !reopening.synthesizers.is_empty()),
        ];
        for (kind, _) in kinds.into_iter().filter(|(_, is_so)| *is_so) {
            self.note(kind);
        }
    }

    fn count_end(&mut self) {
        let run = self.history.run().expect("the run has a history");
        let outcome = run.outcome.as_ref().expect("every run is decided");
        self.note(format!("an outcome: {:?}", outcome.kind));
        self.note(format!("an end: {}", run.status.as_str()));
        for view in &run.seats {
            let status = if view.is_unneeded() { "unneeded" } else { view.status.as_str() };
            self.note(format!("a seat: {status}"));
        }
        for view in run.steps.iter().filter(|view| view.attempts > 0) {
            self.note(format!("a step: {}", view.status.as_str()));
        }
        if outcome.judging.as_ref().is_some_and(|judging| judging.flips > 0) {
            self.note("a judge that changed its mind");
        }
        let late = run.seats.iter().filter(|view| view.late).count();
        let events = self.history.durable.events();
        let is = |is: fn(&Event) -> bool| events.iter().filter(|recorded| is(&recorded.event)).count();
        let reconciled = is(|event| matches!(event, Event::Reconciled { .. }));
        let no_better = "continuing the run gave no better text";
        let kept = outcome.warnings.iter().filter(|warning| warning.message.starts_with(no_better)).count();
        let is_stage = |event: &Event| matches!(event, Event::StageDecided { .. });
        let was_left = |process: &ProcessResult| {
            let before = process.before.as_ref().filter(|run| !run.is_decided() && run.plan.flow.is_some());
            before.is_some_and(|run| run.stages.iter().any(|stage| stage.outcome.is_some()))
        };
        let stages_resumed = self.processes.iter().filter(|process| was_left(process)).count();
        let is_failed =
            |event: &Event| matches!(event, Event::StageDecided { outcome, .. } if outcome.text.is_none());
        let crashes =
            self.processes.iter().filter(|process| matches!(process.end, ProcessEnd::Crashed(_))).count();
        let drained = self.processes.iter().filter(|process| process.drained()).count();
        for (what, times) in [
            ("a late answer", late),
            ("a cost found out later", reconciled),
            ("a stage decided", is(is_stage)),
            ("a stage failed", is(is_failed)),
            ("a stage resumed", stages_resumed),
            ("an earlier text kept", kept),
            ("a drained reply", drained),
            ("two crashes and more", usize::from(crashes > 1)),
            ("three crashes", usize::from(crashes > 2)),
        ] {
            *self.occurrences.entry(what.to_owned()).or_default() += times;
        }
    }

    fn result(&self) -> String {
        let ledgers: Vec<String> = self.processes.iter().map(|process| process.ledger.join("\n")).collect();
        let end = self.history.run().map(|run| transcript::view(&run)).unwrap_or_default();
        format!(
            "{}\n\n{}\n\n{end}",
            transcript::commits(&self.history.durable.commits()),
            ledgers.join("\n---\n")
        )
    }
}

/// A number from the environment, if set.
fn number_from_environment(name: &str) -> Option<u64> {
    #[allow(clippy::disallowed_methods, reason = "a seed can only be named through the environment")]
    let value = std::env::var(name).ok()?;
    Some(value.parse().expect("the number of a seed, or of seeds, is a whole number"))
}

fn replay(seed: u64) -> String {
    let test = "simulation::invariants_hold_in_random_runs";
    format!(
        "{SEED_VARIABLE}={seed} cargo test -p parallel-llm-engine --test engine {test} -- --exact --nocapture"
    )
}

thread_local! {
    /// Panics on this thread. Those of scripts call no hook.
    static PANICS: Cell<u32> = const { Cell::new(0) };
}

/// Simulates a run. The engine survives a defect of its own, so a panic is looked for apart.
fn without_a_panic(seed: u64) -> SimulatedRun {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let previous = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            PANICS.set(PANICS.get() + 1);
            previous(info);
        }));
    });
    PANICS.set(0);
    let simulated = SimulatedRun::execute(seed);
    assert_eq!(PANICS.get(), 0, "nothing panics but a script");
    simulated
}

/// Simulates these seeds on every core. Returns the occurrences, or the first seed that failed.
fn simulate(seeds: u64) -> Result<BTreeMap<String, usize>, u64> {
    let (next, failed) = (AtomicU64::new(0), AtomicBool::new(false));
    let occurrences = Mutex::new(BTreeMap::<String, usize>::new());
    let first_failed = AtomicU64::new(u64::MAX);
    let work = || {
        while !failed.load(Ordering::Relaxed) {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= seeds {
                break;
            }
            let Ok(simulated) = catch_unwind(AssertUnwindSafe(|| without_a_panic(seed))) else {
                failed.store(true, Ordering::Relaxed);
                first_failed.fetch_min(seed, Ordering::Relaxed);
                break;
            };
            let mut occurrences = occurrences.lock().unwrap_or_else(PoisonError::into_inner);
            for (what, times) in simulated.occurrences {
                *occurrences.entry(what).or_default() += times;
            }
        }
    };
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(work);
        }
    });
    match first_failed.into_inner() {
        u64::MAX => Ok(occurrences.into_inner().unwrap_or_else(PoisonError::into_inner)),
        seed => Err(seed),
    }
}

#[test]
fn invariants_hold_in_random_runs() {
    if let Some(seed) = number_from_environment(SEED_VARIABLE) {
        println!("{}", without_a_panic(seed).result());
        return;
    }
    let seeds = number_from_environment(SEEDS_VARIABLE).unwrap_or(SEEDS);
    let occurrences = simulate(seeds)
        .unwrap_or_else(|seed| panic!("seed {seed} failed; replay it with\n  {}", replay(seed)));
    for (what, times) in &occurrences {
        println!("{times:>7} {what}");
    }
    // The simulation is only worth something while every kind occurs often enough.
    for (what, least) in OCCURRENCES_MIN {
        let times = occurrences.get(*what).copied().unwrap_or(0);
        let needed = usize::try_from(seeds).expect("it is small") * least / 1_000;
        assert!(
            times >= needed,
            "{what} occurred {times} times in {seeds} runs; at least {needed} are expected"
        );
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    for seed in 0..40 {
        assert_eq!(SimulatedRun::execute(seed).result(), SimulatedRun::execute(seed).result(), "seed {seed}");
    }
}
