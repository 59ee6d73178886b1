//! Measures one turn of one program: questions one after the other, with the calls that the upstream recorded meanwhile.

use crate::call::{Call, Observed};
use crate::clock::now_ns;
use crate::door::{Door, Exchange, Language};
use crate::failure::{Failure, Outcome};
use crate::scale::Scale;
use crate::statistics::percentile_of;
use crate::upstream::Upstream;

/// Calls of one run: five seats and the synthesis.
const CALLS: usize = 6;

/// The results of one turn. Times are in microseconds per run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Turn {
    /// The number of counted runs.
    pub runs: usize,
    /// The median time of a run beyond its slowest seat and its synthesis at the upstream.
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
    /// The number of connections that were opened while runs were counted.
    pub connections: u64,
}

/// The parts of one run in nanoseconds.
struct Run {
    added: u64,
    dispatch: u64,
    barrier: u64,
    returning: u64,
}

/// Measures one turn of a program.
pub fn turn(door: &mut Door, language: Language, upstream: &mut Upstream, scale: &Scale) -> Outcome<Turn> {
    for _ in 0..scale.warm_runs {
        door.ask(language)?;
    }
    upstream.take()?;
    let cpu_before = door.process().cpu_ns();
    let end_ns = now_ns() + scale.turn_ms_max * 1_000_000;
    let mut asked = Vec::with_capacity(scale.turn_runs_max);
    while asked.len() < scale.turn_runs_max && now_ns() < end_ns {
        asked.push(door.ask(language)?);
    }
    let cpu_after = door.process().cpu_ns();
    let observed = upstream.take()?;
    let runs = runs(&asked, &observed)?;
    let micros =
        |part: fn(&Run) -> u64, share| percentile_of(runs.iter().map(|run| part(run) as f64 / 1e3), share);
    let cpu_ns = cpu_after.zip(cpu_before).map_or(0, |(after, before)| after - before);
    Ok(Turn {
        runs: runs.len(),
        added_p50: micros(|run| run.added, 50),
        added_p99: micros(|run| run.added, 99),
        dispatch: micros(|run| run.dispatch, 50),
        barrier: micros(|run| run.barrier, 50),
        returning: micros(|run| run.returning, 50),
        cpu: cpu_ns as f64 / 1e3 / runs.len() as f64,
        connections: observed.connections,
    })
}

/// Assigns the calls to the questions. Those were asked one after the other, so each has the next six calls.
fn runs(asked: &[Exchange], observed: &Observed) -> Outcome<Vec<Run>> {
    let mut calls = observed.calls.clone();
    calls.sort_by_key(|call| call.received_ns);
    if calls.len() != asked.len() * CALLS {
        return Err(Failure::new(format!(
            "{} runs made {} calls instead of six each",
            asked.len(),
            calls.len()
        )));
    }
    asked.iter().zip(calls.chunks(CALLS)).map(|(asked, calls)| run(asked, calls)).collect()
}

fn run(asked: &Exchange, calls: &[Call]) -> Outcome<Run> {
    let unexpected = || Failure::new("a run's calls are not five seats and then a synthesis, all within it");
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
        let parts = runs(&asked, &Observed { connections: 0, calls: calls.clone() }).unwrap();
        let Run { added, dispatch, barrier, returning } = parts[0];
        assert_eq!((added, dispatch, barrier, returning), (900 - 54 - 300, 100, 400 - 258, 300));
        calls.pop();
        assert!(runs(&asked, &Observed { connections: 0, calls }).is_err());
    }
}
