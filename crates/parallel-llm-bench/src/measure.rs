//! One turn of one program: questions one after the other, and what the upstream saw meanwhile.

use crate::call::{Call, Seen};
use crate::clock::now_ns;
use crate::door::{Asked, Door, Words};
use crate::failure::{Failure, Outcome};
use crate::scale::Scale;
use crate::statistics::percentile_of;
use crate::upstream::Upstream;

/// Calls of one run: five seats and the synthesis.
const CALLS: usize = 6;

/// What one turn gave. Times are in microseconds a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Turn {
    /// Runs that were counted.
    pub runs: usize,
    /// What a run took beyond its slowest seat and its synthesis at the upstream: the middle of the turn.
    pub added_p50: f64,
    /// The same, which one run of a hundred exceeds.
    pub added_p99: f64,
    /// From the question to the arrival of the first request.
    pub dispatch: f64,
    /// From the last answer of a seat to the arrival of the request for the synthesis.
    pub barrier: f64,
    /// From the end of the synthesis to the answer.
    pub giving_back: f64,
    /// Processor time of the program.
    pub cpu: f64,
    /// Connections the upstream had to take in that were not there when the counting began.
    pub connections: u64,
}

/// One run, taken apart, in nanoseconds.
struct Run {
    added: u64,
    dispatch: u64,
    barrier: u64,
    giving_back: u64,
}

/// Gives a program its turn.
pub fn turn(door: &mut Door, words: Words, upstream: &mut Upstream, scale: &Scale) -> Outcome<Turn> {
    for _ in 0..scale.warm_runs {
        door.ask(words)?;
    }
    upstream.take()?;
    let cpu_before = door.process().cpu_ns();
    let end_ns = now_ns() + scale.turn_ms_max * 1_000_000;
    let mut asked = Vec::with_capacity(scale.turn_runs_max);
    while asked.len() < scale.turn_runs_max && now_ns() < end_ns {
        asked.push(door.ask(words)?);
    }
    let cpu_after = door.process().cpu_ns();
    let seen = upstream.take()?;
    let runs = take_apart(&asked, &seen)?;
    let micros =
        |part: fn(&Run) -> u64, share| percentile_of(runs.iter().map(|run| part(run) as f64 / 1e3), share);
    let cpu_ns = cpu_after.zip(cpu_before).map_or(0, |(after, before)| after - before);
    Ok(Turn {
        runs: runs.len(),
        added_p50: micros(|run| run.added, 50),
        added_p99: micros(|run| run.added, 99),
        dispatch: micros(|run| run.dispatch, 50),
        barrier: micros(|run| run.barrier, 50),
        giving_back: micros(|run| run.giving_back, 50),
        cpu: cpu_ns as f64 / 1e3 / runs.len() as f64,
        connections: seen.connections,
    })
}

/// Gives each question its calls. They were asked one after the other, so each has the next six.
fn take_apart(asked: &[Asked], seen: &Seen) -> Outcome<Vec<Run>> {
    let mut calls = seen.calls.clone();
    calls.sort_by_key(|call| call.received_ns);
    if calls.len() != asked.len() * CALLS {
        return Err(Failure::new(format!(
            "{} runs made {} calls and not six each",
            asked.len(),
            calls.len()
        )));
    }
    asked.iter().zip(calls.chunks(CALLS)).map(|(asked, calls)| run(asked, calls)).collect()
}

fn run(asked: &Asked, calls: &[Call]) -> Outcome<Run> {
    let strange = || Failure::new("a run's calls are not five seats and then a synthesis, all within it");
    let (synthesis, seats) = calls.split_last().ok_or_else(strange)?;
    let first_ns = seats.iter().map(|call| call.received_ns).min().ok_or_else(strange)?;
    let last_ns = seats.iter().map(|call| call.done_ns).max().ok_or_else(strange)?;
    let slowest_ns = seats.iter().map(Call::took_ns).max().ok_or_else(strange)?;
    let outside = first_ns < asked.from_ns || synthesis.received_ns > asked.until_ns;
    if outside || !synthesis.synthesis || seats.iter().any(|call| call.synthesis) {
        return Err(strange());
    }
    Ok(Run {
        added: asked.took_ns().saturating_sub(slowest_ns + synthesis.took_ns()),
        dispatch: first_ns - asked.from_ns,
        barrier: synthesis.received_ns.saturating_sub(last_ns),
        giving_back: asked.until_ns.saturating_sub(synthesis.done_ns),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(received_ns: u64, took_ns: u64, synthesis: bool) -> Call {
        Call { synthesis, received_ns, done_ns: received_ns + took_ns }
    }

    #[test]
    fn what_a_run_adds_is_what_the_upstream_did_not_take() {
        let asked = [Asked { from_ns: 100, until_ns: 1_000 }];
        let mut calls: Vec<Call> = (0..5).map(|seat| call(200 + seat, 50 + seat, false)).collect();
        calls.insert(0, call(400, 300, true));
        let runs = take_apart(&asked, &Seen { connections: 0, calls: calls.clone() }).unwrap();
        let Run { added, dispatch, barrier, giving_back } = runs[0];
        assert_eq!((added, dispatch, barrier, giving_back), (900 - 54 - 300, 100, 400 - 258, 300));
        calls.pop();
        assert!(take_apart(&asked, &Seen { connections: 0, calls }).is_err());
    }
}
