//! Measures one turn of one program at one workload, with the calls that the upstream recorded meanwhile.

use std::time::Duration;

use crate::clock::now_ns;
use crate::failure::{Failure, Outcome};
use crate::measure::scale::Scale;
use crate::measure::statistics::percentile_of;
use crate::measure::workload::{Asking, Workload};
use crate::programs::call::{Call, Observed};
use crate::programs::door::{Door, Exchange};
use crate::programs::upstream::Upstream;

/// The results of one turn. Times are in microseconds per run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Turn {
    /// The number of counted runs.
    pub runs: usize,
    /// The median time of a run beyond its slowest seat and its synthesis at the upstream. If runs overlap, beyond the median call
    /// of each kind; 0 if all runs are asked at once.
    pub added_p50: f64,
    /// The 99th percentile of the same.
    pub added_p99: f64,
    /// From the question to the arrival of the first request.
    pub dispatch: f64,
    /// From the last answer of a seat to the arrival of the request for the synthesis.
    pub barrier: f64,
    /// From the end of the synthesis to the answer.
    pub returning: f64,
    /// Processor time of the program.
    pub cpu: f64,
    /// Runs in a second.
    pub per_second: f64,
    /// The peak of memory over its level when idle, in bytes for each call in flight; 0 unless all runs are asked at once.
    pub call_bytes: f64,
    /// The number of connections that were opened while runs were counted; 0 unless they are asked one after the other.
    pub connections: u64,
}

/// The parts of one run in nanoseconds.
struct Run {
    added: u64,
    dispatch: u64,
    barrier: u64,
    returning: u64,
}

/// Measures one turn of a program, whose memory was `idle_bytes` after its start.
pub fn turn(
    door: &mut Door,
    workload: &Workload,
    upstream: &mut Upstream,
    scale: &Scale,
    idle_bytes: u64,
) -> Outcome<Turn> {
    match workload.asking {
        Asking::InTurn => in_turn(door, workload, upstream, scale),
        Asking::Constantly(at_once) => constantly(door, workload, at_once, upstream, scale),
        Asking::AtOnce(at_once) => all_at_once(door, workload, at_once, upstream, idle_bytes),
    }
}

/// Asks one question after the other.
fn in_turn(door: &mut Door, workload: &Workload, upstream: &mut Upstream, scale: &Scale) -> Outcome<Turn> {
    let end_ns = now_ns() + scale.turn_ms_max * 1_000_000;
    let mut warm = 0;
    // At least one, so that connections are open.
    while warm == 0 || (warm < scale.warm_runs && now_ns() < end_ns) {
        door.ask()?;
        warm += 1;
    }
    upstream.take()?;
    let cpu_before = door.process().cpu_ns();
    let from_ns = now_ns();
    let end_ns = from_ns + turn_ns(workload, scale);
    let mut asked = Vec::with_capacity(scale.turn_runs_max);
    while asked.is_empty() || (asked.len() < scale.turn_runs_max && now_ns() < end_ns) {
        asked.push(door.ask()?);
    }
    let took_ns = now_ns() - from_ns;
    let cpu_after = door.process().cpu_ns();
    let observed = upstream.take()?;
    let runs = runs(&asked, &observed, workload.seats + 1)?;
    let micros =
        |part: fn(&Run) -> u64, share| percentile_of(runs.iter().map(|run| part(run) as f64 / 1e3), share);
    Ok(Turn {
        added_p50: micros(|run| run.added, 50),
        added_p99: micros(|run| run.added, 99),
        dispatch: micros(|run| run.dispatch, 50),
        barrier: micros(|run| run.barrier, 50),
        returning: micros(|run| run.returning, 50),
        connections: observed.connections,
        ..overall(runs.len(), took_ns, cpu_after.zip(cpu_before))
    })
}

/// Keeps this many questions in flight.
fn constantly(
    door: &mut Door,
    workload: &Workload,
    at_once: usize,
    upstream: &mut Upstream,
    scale: &Scale,
) -> Outcome<Turn> {
    // Spread over the time of a run, because users do not ask at the same moment.
    let pause = Duration::from_millis(workload.run_ms()) / at_once as u32;
    for _ in 0..at_once {
        door.begin()?;
        std::thread::park_timeout(pause);
    }
    for _ in 0..at_once {
        door.finish()?;
        door.begin()?;
    }
    let cpu_before = door.process().cpu_ns();
    let from_ns = now_ns();
    let end_ns = from_ns + turn_ns(workload, scale);
    let mut answered = Vec::new();
    while now_ns() < end_ns {
        answered.push(door.finish()?);
        door.begin()?;
    }
    let took_ns = now_ns() - from_ns;
    let cpu_after = door.process().cpu_ns();
    for _ in 0..at_once {
        door.finish()?;
    }
    let calls = upstream.take()?.calls;
    let p50 = |times: &mut dyn Iterator<Item = u64>| percentile_of(times.map(|ns| ns as f64 / 1e3), 50);
    let of_kind = |synthesis: bool| {
        let counted = calls.iter().filter(|call| call.synthesis == synthesis && call.done_ns >= from_ns);
        p50(&mut counted.map(Call::took_ns))
    };
    Ok(Turn {
        added_p50: p50(&mut answered.iter().map(Exchange::took_ns)) - of_kind(false) - of_kind(true),
        ..overall(answered.len(), took_ns, cpu_after.zip(cpu_before))
    })
}

/// Asks all questions at once and waits for all answers.
fn all_at_once(
    door: &mut Door,
    workload: &Workload,
    at_once: usize,
    upstream: &mut Upstream,
    idle_bytes: u64,
) -> Outcome<Turn> {
    let process = door.process();
    process.reset_peak()?;
    let cpu_before = process.cpu_ns();
    let exchange = door.ask_at_once(at_once)?;
    let cpu_after = process.cpu_ns();
    let peak = process.peak_bytes().unwrap_or_default();
    upstream.take()?;
    let in_flight = at_once * workload.seats;
    Ok(Turn {
        call_bytes: peak.saturating_sub(idle_bytes) as f64 / in_flight as f64,
        ..overall(at_once, exchange.took_ns(), cpu_after.zip(cpu_before))
    })
}

/// The length of a turn: two runs at least, if their replies take a time.
fn turn_ns(workload: &Workload, scale: &Scale) -> u64 {
    scale.turn_ms_max.max(2 * workload.run_ms()) * 1_000_000
}

fn overall(runs: usize, took_ns: u64, cpu: Option<(u64, u64)>) -> Turn {
    let cpu_ns = cpu.map_or(0, |(after, before)| after - before);
    Turn {
        runs,
        cpu: cpu_ns as f64 / 1e3 / runs as f64,
        per_second: runs as f64 * 1e9 / took_ns as f64,
        ..Turn::default()
    }
}

/// Assigns the calls to the questions. Those were asked one after the other, so each has the next calls.
fn runs(asked: &[Exchange], observed: &Observed, calls_per_run: usize) -> Outcome<Vec<Run>> {
    let mut calls = observed.calls.clone();
    calls.sort_by_key(|call| call.received_ns);
    if calls.len() != asked.len() * calls_per_run {
        let message = format!(
            "{} runs made {} calls, {} of them syntheses, instead of {calls_per_run} each",
            asked.len(),
            calls.len(),
            calls.iter().filter(|call| call.synthesis).count()
        );
        return Err(Failure::new(message));
    }
    asked.iter().zip(calls.chunks(calls_per_run)).map(|(asked, calls)| run(asked, calls)).collect()
}

fn run(asked: &Exchange, calls: &[Call]) -> Outcome<Run> {
    let unexpected = || {
        let kinds: String = calls.iter().map(|call| if call.synthesis { 'S' } else { '.' }).collect();
        let message = "a run's calls are not its seats and then a synthesis, all within it";
        Failure::new(format!("{message}: {kinds}"))
    };
    let (synthesis, seats) = calls.split_last().ok_or_else(unexpected)?;
    let first_ns = seats.iter().map(|call| call.received_ns).min().ok_or_else(unexpected)?;
    let last_ns = seats.iter().map(|call| call.done_ns).max().ok_or_else(unexpected)?;
    let slowest_ns = seats.iter().map(Call::took_ns).max().ok_or_else(unexpected)?;
    let outside = first_ns < asked.from_ns || synthesis.received_ns > asked.until_ns;
    if outside || !synthesis.synthesis || seats.iter().any(|call| call.synthesis) {
        return Err(unexpected());
    }
    Ok(Run {
        added: asked.took_ns().saturating_sub(slowest_ns + synthesis.took_ns()),
        dispatch: first_ns - asked.from_ns,
        barrier: synthesis.received_ns.saturating_sub(last_ns),
        returning: asked.until_ns.saturating_sub(synthesis.done_ns),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(received_ns: u64, took_ns: u64, synthesis: bool) -> Call {
        Call { synthesis, received_ns, done_ns: received_ns + took_ns }
    }

    #[test]
    fn the_added_time_is_without_the_upstream() {
        let asked = [Exchange { from_ns: 100, until_ns: 1_000 }];
        let mut calls: Vec<Call> = (0..5).map(|seat| call(200 + seat, 50 + seat, false)).collect();
        calls.insert(0, call(400, 300, true));
        let parts = runs(&asked, &Observed { connections: 0, calls: calls.clone() }, 6).unwrap();
        let Run { added, dispatch, barrier, returning } = parts[0];
        assert_eq!((added, dispatch, barrier, returning), (900 - 54 - 300, 100, 400 - 258, 300));
        calls.pop();
        assert!(runs(&asked, &Observed { connections: 0, calls }, 6).is_err());
    }
}
