//! The result as text: the measurements as ratios to the floor with their ranges, and the targets.

use std::fmt::Write;

use crate::measure::Turn;
use crate::statistics::Spread;

/// The turns of one program, one in each round.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its name.
    pub name: &'static str,
    /// Its turns.
    pub turns: Vec<Turn>,
    /// Memory after its start, in bytes.
    pub idle_bytes: Option<u64>,
    /// Memory at the end of all rounds, in bytes.
    pub after_bytes: Option<u64>,
}

/// A bound that must hold.
#[derive(Clone, Debug)]
pub struct Target {
    /// Its name.
    pub name: &'static str,
    /// The measured value.
    pub found: Spread,
    /// The most that the median may be.
    pub most: f64,
    /// The unit of both.
    pub unit: &'static str,
}

impl Target {
    /// Whether it holds.
    pub fn is_met(&self) -> bool {
        self.found.median <= self.most
    }
}

/// The ratio of a number of a row to the same number of the floor, taken in each round.
pub fn ratio(row: &Row, floor: &Row, number: fn(&Turn) -> f64) -> Spread {
    let pairs = row.turns.iter().zip(&floor.turns);
    Spread::of(
        pairs.filter(|(_, floor)| number(floor) > 0.0).map(|(turn, floor)| number(turn) / number(floor)),
    )
}

/// The table of times that each program added to a run. The first row is the floor.
pub fn added(rows: &[Row]) -> String {
    let mut text = format!(
        "{:<24} {:>8} {:>6} {:>17} {:>8} {:>6} {:>9} {:>8} {:>7} {:>7} {:>6} {:>17} {:>8}\n",
        "added to a run, us",
        "p50",
        "/floor",
        "least..most",
        "p99",
        "/floor",
        "dispatch",
        "barrier",
        "return",
        "cpu",
        "/floor",
        "least..most",
        "runs"
    );
    let Some(floor) = rows.first() else { return text };
    for row in rows {
        let median = |number: fn(&Turn) -> f64| Spread::of(row.turns.iter().map(number)).median;
        let to_floor = |number: fn(&Turn) -> f64| ratio(row, floor, number);
        let (added, cpu) = (to_floor(|turn| turn.added_p50), to_floor(|turn| turn.cpu));
        let runs: usize = row.turns.iter().map(|turn| turn.runs).sum();
        let _ = writeln!(
            text,
            "{:<24} {:>8.0} {:>6.2} {:>17} {:>8.0} {:>6.2} {:>9.0} {:>8.0} {:>7.0} {:>7.0} {:>6.2} {:>17} {runs:>8}",
            row.name,
            median(|turn| turn.added_p50),
            added.median,
            range(added, 2),
            median(|turn| turn.added_p99),
            to_floor(|turn| turn.added_p99).median,
            median(|turn| turn.dispatch),
            median(|turn| turn.barrier),
            median(|turn| turn.returning),
            median(|turn| turn.cpu),
            cpu.median,
            range(cpu, 2),
        );
    }
    text
}

/// The table of memory and connections of each program.
pub fn memory(rows: &[Row]) -> String {
    let mut text = format!("{:<24} {:>8} {:>8} {:>16}\n", "memory, MB", "idle", "after", "new connections");
    for row in rows {
        let connections: u64 = row.turns.iter().map(|turn| turn.connections).sum();
        let (idle, after) = (megabytes(row.idle_bytes), megabytes(row.after_bytes));
        let _ = writeln!(text, "{:<24} {idle:>8} {after:>8} {connections:>16}", row.name);
    }
    text
}

/// The table of targets.
pub fn targets(targets: &[Target]) -> String {
    let mut text = format!("{:<52} {:>9} {:>19} {:>9}\n", "target", "found", "least..most", "at most");
    for target in targets {
        let Target { name, found, most, unit } = target;
        let result = if target.is_met() { "met" } else { "MISSED" };
        let _ = writeln!(
            text,
            "{name:<52} {:>9.2} {:>19} {most:>9.2} {unit:<6} {result}",
            found.median,
            range(*found, 2)
        );
    }
    text
}

/// The least and the most, with this many decimals.
pub fn range(spread: Spread, places: usize) -> String {
    format!("{:.places$}..{:.places$}", spread.least, spread.most)
}

fn megabytes(bytes: Option<u64>) -> String {
    bytes.map_or_else(|| "-".to_owned(), |bytes| format!("{:.1}", bytes as f64 / 1e6))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &'static str, added: &[f64]) -> Row {
        let turns = added.iter().map(|added| Turn { runs: 1, added_p50: *added, ..Turn::default() });
        Row { name, turns: turns.collect(), idle_bytes: Some(2_500_000), after_bytes: None }
    }

    #[test]
    fn ratios_are_taken_within_a_round() {
        let (floor, program) = (row("floor", &[100.0, 200.0, 150.0]), row("program", &[200.0, 400.0, 330.0]));
        let ratio = ratio(&program, &floor, |turn| turn.added_p50);
        assert_eq!((ratio.median, ratio.least), (2.0, 2.0));
        let table = added(&[floor.clone(), program.clone()]);
        assert!(table.lines().nth(2).unwrap().contains("2.00..2.20"), "{table}");
        assert!(memory(&[floor]).contains("2.5        -"));
    }

    #[test]
    fn a_target_is_met_up_to_its_bound() {
        let target = |found| Target { name: "x", found: Spread::of([found]), most: 2.5, unit: "" };
        assert!(target(2.5).is_met() && !target(2.6).is_met());
        assert!(targets(&[target(2.6)]).contains("MISSED"));
    }
}
