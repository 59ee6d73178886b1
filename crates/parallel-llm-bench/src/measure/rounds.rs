//! The rounds of one workload, of which those with a steady floor count.

use crate::measure::statistics::Spread;
use crate::measure::turn::Turn;
use crate::measure::workload::{Asking, Program, Workload};

/// How much the floor may vary over the rounds that count, from the least to the greatest.
const FLOOR_SPREAD_MAX: f64 = 1.15;

/// The turns of one program, one in each round.
#[derive(Clone, Debug)]
pub struct Row {
    /// The program.
    pub program: Program,
    /// Its turns.
    pub turns: Vec<Turn>,
    /// Memory after its start, in bytes.
    pub idle_bytes: Option<u64>,
}

impl Row {
    /// The median of a number over the rounds.
    pub fn median(&self, number: fn(&Turn) -> f64) -> f64 {
        Spread::of(self.turns.iter().map(number)).median
    }

    /// The runs of all rounds.
    pub fn runs(&self) -> usize {
        self.turns.iter().map(|turn| turn.runs).sum()
    }
}

/// All programs at one workload.
#[derive(Clone, Debug)]
pub struct Rounds {
    /// What was measured.
    pub workload: Workload,
    /// The programs, the floor first.
    pub rows: Vec<Row>,
    /// Rounds that were made.
    pub made: usize,
    /// Whether enough rounds had a steady floor.
    pub is_steady: bool,
}

impl Rounds {
    /// No rounds yet.
    pub const fn new(workload: Workload, rows: Vec<Row>) -> Self {
        Self { workload, rows, made: 0, is_steady: false }
    }

    /// The number of rounds in the largest group whose floor varies by at most 15 %.
    pub fn steady_count(&self) -> usize {
        self.steady().len()
    }

    /// Removes all rounds but the steady ones; all are kept if there are fewer than `wanted` of these.
    pub fn keep_steady(&mut self, wanted: usize) {
        let steady = self.steady();
        self.made = self.rows.first().map_or(0, |floor| floor.turns.len());
        self.is_steady = steady.len() >= wanted;
        if !self.is_steady {
            return;
        }
        for row in &mut self.rows {
            row.turns = steady.iter().map(|round| row.turns[*round]).collect();
        }
    }

    /// The row of a program.
    pub fn row(&self, program: Program) -> Option<&Row> {
        self.rows.iter().find(|row| row.program == program)
    }

    /// The ratio of a program's number to the floor's, taken in each round.
    pub fn ratio(&self, program: Program, number: fn(&Turn) -> f64) -> Option<Spread> {
        let (floor, row) = (self.rows.first()?, self.row(program)?);
        let pairs = row.turns.iter().zip(&floor.turns);
        Some(Spread::of(pairs.map(|(turn, floor)| number(turn) / number(floor))))
    }

    /// The rounds of the largest steady group.
    fn steady(&self) -> Vec<usize> {
        let Some(floor) = self.rows.first() else { return Vec::new() };
        let number = |round: usize| match self.workload.asking {
            Asking::InTurn => floor.turns[round].added_p50,
            Asking::Constantly(_) | Asking::AtOnce(_) => floor.turns[round].cpu,
        };
        let group = |first: usize| {
            let least = number(first);
            let is_near = |round: &usize| (least..=least * FLOOR_SPREAD_MAX).contains(&number(*round));
            (0..floor.turns.len()).filter(is_near).collect::<Vec<usize>>()
        };
        (0..floor.turns.len()).map(group).max_by_key(Vec::len).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::workload::IN_TURN;

    fn row(program: Program, added: &[f64]) -> Row {
        let turns = added.iter().map(|added| Turn { runs: 1, added_p50: *added, ..Turn::default() });
        Row { program, turns: turns.collect(), idle_bytes: None }
    }

    #[test]
    fn only_rounds_with_a_steady_floor_count() {
        let floor = row(Program::Floor, &[100.0, 300.0, 110.0, 114.0]);
        let ours = row(Program::Default, &[200.0, 330.0, 220.0, 228.0]);
        let mut rounds = Rounds::new(IN_TURN, vec![floor, ours]);
        assert_eq!(rounds.steady_count(), 3);
        rounds.keep_steady(3);
        let ratio = rounds.ratio(Program::Default, |turn| turn.added_p50).unwrap();
        assert!(rounds.is_steady && ratio == Spread { median: 2.0, least: 2.0, most: 2.0 }, "{ratio:?}");
        assert_eq!(rounds.made, 4);
    }

    #[test]
    fn without_a_steady_floor_all_rounds_are_shown() {
        let mut rounds = Rounds::new(IN_TURN, vec![row(Program::Floor, &[100.0, 200.0, 400.0])]);
        rounds.keep_steady(3);
        assert!(!rounds.is_steady && rounds.rows[0].turns.len() == 3);
    }
}
