//! The result as text: the measurements beside their ratios to the floor, and the targets.

use std::fmt::Write;

use crate::measure::rounds::Rounds;
use crate::measure::statistics::Spread;
use crate::measure::target::Target;
use crate::measure::workload::Asking;

/// The table of one workload: medians of the rounds that count, ratios with the least and the greatest.
pub fn of_workload(rounds: &Rounds) -> String {
    let counted = rounds.rows.first().map_or(0, |floor| floor.turns.len());
    let state = if rounds.is_steady { "" } else { "; THE FLOOR IS NOT STEADY" };
    let mut text = format!("{}: {counted} of {} rounds{state}\n", rounds.workload.name, rounds.made);
    text.push_str(&match rounds.workload.asking {
        Asking::InTurn => in_turn(rounds),
        Asking::Constantly(_) | Asking::AtOnce(_) => at_once(rounds),
    });
    text + "\n"
}

fn in_turn(rounds: &Rounds) -> String {
    let mut text = format!(
        "{:<18} {:>9} {:>7} {:>15} {:>9} {:>9} {:>8} {:>8} {:>9} {:>7} {:>15} {:>6} {:>6}\n",
        "us",
        "added p50",
        "/floor",
        "least..most",
        "p99",
        "dispatch",
        "barrier",
        "return",
        "CPU",
        "/floor",
        "least..most",
        "idle",
        "runs"
    );
    for row in &rounds.rows {
        let ratio = |number| rounds.ratio(row.program, number).unwrap_or_default();
        let (added, cpu) = (ratio(|turn| turn.added_p50), ratio(|turn| turn.cpu));
        let runs = row.runs();
        let idle =
            row.idle_bytes.map_or_else(|| "-".to_owned(), |bytes| format!("{:.1}", bytes as f64 / 1e6));
        let _ = writeln!(
            text,
            "{:<18} {:>9.0} {:>7.2} {:>15} {:>9.0} {:>9.0} {:>8.0} {:>8.0} {:>9.0} {:>7.2} {:>15} {idle:>6} {runs:>6}",
            row.program.name(),
            row.median(|turn| turn.added_p50),
            added.median,
            range(added, 2),
            row.median(|turn| turn.added_p99),
            row.median(|turn| turn.dispatch),
            row.median(|turn| turn.barrier),
            row.median(|turn| turn.returning),
            row.median(|turn| turn.cpu),
            cpu.median,
            range(cpu, 2),
        );
    }
    text
}

fn at_once(rounds: &Rounds) -> String {
    let mut text = format!(
        "{:<18} {:>9} {:>7} {:>15} {:>9} {:>7} {:>15} {:>9} {:>6}\n",
        "", "runs/s", "/floor", "least..most", "CPU, us", "/floor", "least..most", "kB a call", "runs"
    );
    for row in &rounds.rows {
        let ratio = |number| rounds.ratio(row.program, number).unwrap_or_default();
        let (speed, cpu) = (ratio(|turn| turn.per_second), ratio(|turn| turn.cpu));
        let runs = row.runs();
        let _ = writeln!(
            text,
            "{:<18} {:>9.0} {:>7.3} {:>15} {:>9.0} {:>7.2} {:>15} {:>9.1} {runs:>6}",
            row.program.name(),
            row.median(|turn| turn.per_second),
            speed.median,
            range(speed, 3),
            row.median(|turn| turn.cpu),
            cpu.median,
            range(cpu, 2),
            row.median(|turn| turn.call_bytes) / 1e3,
        );
    }
    text
}

/// The table of targets.
pub fn targets(targets: &[Target]) -> String {
    let mut text = format!("{:<52} {:>9} {:>19} {:>15}\n", "target", "found", "least..most", "bound");
    for target in targets {
        let result = if target.is_met() { "met" } else { "MISSED" };
        let found = target.found.map_or_else(|| "unknown".to_owned(), |found| format!("{:.2}", found.median));
        let spread = target.found.map(|found| range(found, 2)).unwrap_or_default();
        let bound = target.bound.to_string();
        let _ = writeln!(
            text,
            "{:<52} {found:>9} {spread:>19} {bound:>15} {:<2} {result}",
            target.name, target.unit
        );
    }
    text
}

/// The least and the most, with this many decimals.
pub fn range(spread: Spread, places: usize) -> String {
    format!("{:.places$}..{:.places$}", spread.least, spread.most)
}
