//! Kill -9: the real program is killed at every failpoint of its journal and at random moments, and what remains is
//! checked through its commands, its database and the provider it paid.
//!
//! A plan says when the program is killed while it asks, and again while it resumes. After each kill: what was shown is
//! stored, including the text; no request was sent that the journal does not know; the database is intact; no partial
//! file has a final name; and the run is resumed without paying for anything twice.
// Elsewhere the exit of a process is not noticed, and its runs are marked as interrupted a minute later.
#![cfg(target_os = "linux")]
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test fails by panicking, and prints its counts"
)]

#[path = "kill/killed_run.rs"]
mod killed_run;
#[path = "kill/plan.rs"]
mod plan;
#[path = "kill/trace.rs"]
mod trace;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use parallel_llm_testkit::each;
use tokio::time::Instant;

use killed_run::{End, KilledRun, Left};
use plan::{Kill, Panel, Plan};

/// How many kills at random moments to make; the default takes ten seconds. Every failpoint is met besides.
const KILLS: &str = "PARALLEL_LLM_TEST_KILLS";
const KILLS_DEFAULT: u32 = 40;
/// One plan, as printed by a failed test.
const REPLAY: &str = "PARALLEL_LLM_TEST_KILL";
/// How often a plan is replayed: a given moment is hit only now and then.
const REPLAYS: usize = 50;
/// Random plans before the usual time is measured again, because the speed of a machine varies, and how many runs of
/// each panel a measurement takes.
const BATCH: u32 = 50;
const MEASURED: usize = 8;
/// The most plans for each wanted kill: some kills come too late.
const PLANS_PER_KILL_MAX: u32 = 4;
/// Failpoints tried at once, and the most a run has: one with more does not end.
const STEP: u32 = 8;
const FAILPOINTS_MAX: u32 = 400;
/// The most rounds over all failpoints, until each side of the wanted ones was reached.
const ROUNDS_MAX: usize = 3;

#[expect(clippy::disallowed_methods, reason = "a test reads what the person running it says")]
fn flag(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Executes a plan, checks what remains after each kill, and resumes the run to its end. Returns the kills that came in
/// time.
fn survive(plan: &Plan) -> Vec<End> {
    let mut run = KilledRun::new(plan);
    let mut ends = Vec::new();
    for kill in &plan.kills {
        let end = run.begin(*kill);
        if end.left == Left::Closed {
            return ends;
        }
        let is_settled = end.left == Left::Settled;
        ends.push(end);
        if is_settled {
            return ends;
        }
    }
    run.finish();
    ends
}

/// Executes the plans that `make` returns for the failpoints 1, 2, 3 and so on, until one is not reached any more.
/// Returns the names of those where the program was killed last.
fn at_every_failpoint(make: impl Fn(u32) -> Plan) -> Vec<String> {
    let mut names = Vec::new();
    for first in (1..FAILPOINTS_MAX).step_by(STEP as usize) {
        let plans: Vec<Plan> = (first..first + STEP).map(&make).collect();
        for (plan, mut ends) in plans.iter().zip(each(&plans, survive)) {
            match ends.pop().and_then(|end| end.failpoint).filter(|_| ends.len() + 1 == plan.kills.len()) {
                Some(name) => names.push(name),
                None => return names,
            }
        }
    }
    panic!("a run has no end of failpoints");
}

/// The sides of these at which the program was not killed.
fn missed(names: &[String], wanted: &[&str]) -> Vec<String> {
    let met: BTreeSet<&str> = names.iter().map(String::as_str).collect();
    let wanted = wanted.iter().flat_map(|what| ["before", "after"].map(|when| format!("{when} {what}")));
    wanted.filter(|name| !met.contains(name.as_str())).collect()
}

/// Checks that the program was killed on both sides of each of these.
fn assert_met(names: &[String], wanted: &[&str]) {
    assert_eq!(missed(names, wanted), [] as [&str; 0], "nobody was killed there, only {names:?}");
}

#[test]
fn a_run_survives_a_kill_at_every_failpoint() {
    const WANTED: [&str; 3] = ["open", "append", "checkpoint"];
    let mut met = Vec::new();
    // The position of a text among the other failpoints differs from run to run, so one of its sides may be missed.
    for _ in 0..ROUNDS_MAX {
        for panel in Panel::ALL {
            let names = at_every_failpoint(|number| Plan::new(panel, [Kill::At(number)]));
            eprintln!("{panel}: {} failpoints while asking", names.len());
            met.extend(names);
        }
        if missed(&met, &WANTED).is_empty() {
            return;
        }
    }
    assert_met(&met, &WANTED);
}

#[test]
fn a_resumed_run_survives_a_kill_at_every_failpoint() {
    let mut met = Vec::new();
    for panel in Panel::ALL {
        // Both sides of commits from the first to the synthesizer's.
        for first in [4, 7, 10, 13] {
            let names = at_every_failpoint(|number| Plan::new(panel, [Kill::At(first), Kill::At(number)]));
            eprintln!("{panel}: {} failpoints while resuming what was killed at {first}", names.len());
            met.extend(names);
        }
    }
    assert_met(&met, &["reopen", "append"]);
}

#[test]
fn a_run_survives_a_kill_at_any_moment() {
    let wanted = flag(KILLS).map_or(KILLS_DEFAULT, |count| count.parse().unwrap());
    let began = Instant::now();
    let (mut plans, mut left) = (0, BTreeMap::<Left, u32>::new());
    let mut usual = [Duration::ZERO; 2];
    while left.values().sum::<u32>() < wanted {
        assert!(plans < wanted * PLANS_PER_KILL_MAX, "{plans} plans met too few runs under way: {left:?}");
        usual = Panel::ALL.map(usual_time);
        let batch: Vec<Plan> = (plans..plans + BATCH).map(|number| Plan::random(number, usual)).collect();
        for end in each(&batch, survive).into_iter().flatten() {
            *left.entry(end.left).or_default() += 1;
        }
        plans += BATCH;
    }
    eprintln!("{plans} plans, kills by what they left: {left:?}; {:.0?}, a run {usual:.0?}", began.elapsed());
}

#[test]
#[ignore = "for a plan that a failed test has printed"]
fn a_plan_is_replayed() {
    let plan: Plan = flag(REPLAY).expect("the plan is in the environment").parse().unwrap();
    each(&vec![plan; REPLAYS], survive);
}

/// How long a whole run takes when as many run at once as later.
fn usual_time(panel: Panel) -> Duration {
    let plans = vec![Plan::new(panel, []); MEASURED];
    let mut times = each(&plans, |plan| KilledRun::new(plan).finish().took);
    times.sort();
    times[MEASURED / 2]
}
