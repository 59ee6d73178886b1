//! The bounds that a measurement must keep.

use std::fmt;

use crate::measure::rounds::Rounds;
use crate::measure::statistics::Spread;
use crate::measure::turn::Turn;
use crate::measure::workload::{
    COALESCED, FIFTY_SEATS, IN_TURN, LONG_ANSWERS, Program, THIRTY_TWO, THOUSAND, Workload,
};

/// A bound that must hold.
#[derive(Clone, Debug)]
pub struct Target {
    /// Its name.
    pub name: String,
    /// The measured value; `None` if it could not be measured, or if the floor was not steady.
    pub found: Option<Spread>,
    /// The bound.
    pub bound: Bound,
    /// The unit of both.
    pub unit: &'static str,
}

/// A bound of a median.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// The most that it may be.
    Most(f64),
    /// The least that it may be.
    Least(f64),
}

impl fmt::Display for Bound {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Most(most) => write!(formatter, "at most {most:.2}"),
            Self::Least(least) => write!(formatter, "at least {least:.2}"),
        }
    }
}

impl Target {
    /// Whether it holds.
    pub fn is_met(&self) -> bool {
        self.found.is_some_and(|found| match self.bound {
            Bound::Most(most) => found.median <= most,
            Bound::Least(least) => found.median >= least,
        })
    }
}

/// The instructions of one run in millions, as the stage `instructions` of `cargo xtask ci` counted them with the release build. Set
/// them anew when a change makes the program faster, so that the gain is kept. Set them higher only for a change that is worth its
/// instructions, or for a new compiler, and say so in the commit.
pub const INSTRUCTIONS: [(Program, f64); 2] = [(Program::NothingStored, 9.3), (Program::Default, 14.9)];
/// How much more is allowed: they vary by 2 %, and compilers differ by a few.
pub const INSTRUCTIONS_MARGIN: f64 = 1.15;

/// The values that are measured once.
#[derive(Clone, Copy, Debug)]
pub struct Once {
    /// From the start to the answer to `initialize`, in milliseconds.
    pub start: Spread,
    /// Commits that the caller of a stored run waits for.
    pub commits: f64,
    /// The size of the program's file.
    pub file_megabytes: f64,
}

/// A target that is a ratio to the floor.
struct Ratio {
    what: &'static str,
    workload: Workload,
    program: Program,
    number: fn(&Turn) -> f64,
    bound: Bound,
}

/// All targets of the workloads that were measured.
pub fn all(rounds: &[Rounds], once: &Once) -> Vec<Target> {
    let of_rounds = ratios().into_iter().filter_map(|ratio| {
        let rounds = rounds.iter().find(|rounds| rounds.workload.name == ratio.workload.name)?;
        Some(of_ratio(&ratio, rounds))
    });
    let in_turn = rounds.iter().find(|rounds| rounds.workload.name == IN_TURN.name);
    let thousand = rounds.iter().find(|rounds| rounds.workload.name == THOUSAND.name);
    let absolute =
        [in_turn.map(to_python), in_turn.map(connections), in_turn.map(idle), thousand.map(memory)];
    let one = |value: f64| Some(Spread::of([value]));
    let counted = [
        ("start to answered `initialize`", Some(once.start), 6.0, "ms"),
        ("commits waited for in a stored run", one(once.commits), 3.0, ""),
        ("the program's file", one(once.file_megabytes), 30.0, "MB"),
    ]
    .map(|(name, found, most, unit)| Target {
        name: name.to_owned(),
        found,
        bound: Bound::Most(most),
        unit,
    });
    of_rounds.chain(absolute.into_iter().flatten()).chain(counted).collect()
}

fn ratios() -> Vec<Ratio> {
    use Bound::{Least, Most};
    use Program::{Default, NothingStored};
    let ratio = |what, workload, program, number, bound| Ratio { what, workload, program, number, bound };
    let added: fn(&Turn) -> f64 = |turn| turn.added_p50;
    let cpu: fn(&Turn) -> f64 = |turn| turn.cpu;
    let per_second: fn(&Turn) -> f64 = |turn| turn.per_second;
    vec![
        ratio("added p50", IN_TURN, NothingStored, added, Most(2.5)),
        ratio("CPU", IN_TURN, NothingStored, cpu, Most(3.0)),
        ratio("added p50", IN_TURN, Default, added, Most(5.0)),
        ratio("CPU", IN_TURN, Default, cpu, Most(6.0)),
        ratio("added p50", COALESCED, NothingStored, added, Most(7.0)),
        ratio("CPU", COALESCED, NothingStored, cpu, Most(8.0)),
        ratio("added p50", COALESCED, Default, added, Most(12.0)),
        ratio("CPU", COALESCED, Default, cpu, Most(16.0)),
        ratio("runs/s", THIRTY_TWO, NothingStored, per_second, Least(0.40)),
        ratio("runs/s", THIRTY_TWO, Default, per_second, Least(0.20)),
        ratio("added p50", FIFTY_SEATS, Default, added, Most(4.0)),
        ratio("CPU", FIFTY_SEATS, Default, cpu, Most(5.0)),
        ratio("CPU", LONG_ANSWERS, Default, cpu, Most(2.5)),
        ratio("CPU", THOUSAND, Default, cpu, Most(2.0)),
    ]
}

fn of_ratio(ratio: &Ratio, rounds: &Rounds) -> Target {
    let Ratio { what, workload, program, number, bound } = ratio;
    Target {
        name: format!("{}, {}: {what} / floor", workload.name, program.name()),
        found: rounds.ratio(*program, *number).filter(|_| rounds.is_steady),
        bound: *bound,
        unit: "",
    }
}

/// What the default run adds, as a share of what the Python server adds in the same rounds.
fn to_python(rounds: &Rounds) -> Target {
    let added = |program| rounds.row(program).map(|row| row.turns.iter().map(|turn| turn.added_p50));
    let found = added(Program::Default).zip(added(Program::Python));
    Target {
        name: "one at a time, default: added p50 / Python's".to_owned(),
        found: found.map(|(ours, python)| Spread::of(ours.zip(python).map(|(ours, python)| ours / python))),
        bound: Bound::Most(0.5),
        unit: "",
    }
}

fn connections(rounds: &Rounds) -> Target {
    let ours = [Program::NothingStored, Program::Default, Program::DefaultOnDisk];
    let turns = rounds.rows.iter().filter(|row| ours.contains(&row.program)).flat_map(|row| &row.turns);
    Target {
        name: "new connections when warm".to_owned(),
        found: Some(Spread::of([turns.map(|turn| turn.connections).sum::<u64>() as f64])),
        bound: Bound::Most(0.0),
        unit: "",
    }
}

fn idle(rounds: &Rounds) -> Target {
    let bytes = rounds.row(Program::Default).and_then(|row| row.idle_bytes);
    Target {
        name: "memory when idle".to_owned(),
        found: bytes.map(|bytes| Spread::of([bytes as f64 / 1e6])),
        bound: Bound::Most(10.0),
        unit: "MB",
    }
}

fn memory(rounds: &Rounds) -> Target {
    let turns = rounds.row(Program::Default).map(|row| row.turns.iter().map(|turn| turn.call_bytes / 1e3));
    Target {
        name: "1,000 at once, default: peak memory a call".to_owned(),
        found: turns.map(Spread::of),
        bound: Bound::Most(40.0),
        unit: "kB",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_met_up_to_its_bound() {
        let target = |found: Option<f64>, bound| Target {
            name: "x".to_owned(),
            found: found.map(|found| Spread::of([found])),
            bound,
            unit: "",
        };
        assert!(target(Some(2.5), Bound::Most(2.5)).is_met());
        assert!(!target(Some(2.6), Bound::Most(2.5)).is_met());
        assert!(target(Some(0.4), Bound::Least(0.4)).is_met());
        assert!(!target(Some(0.3), Bound::Least(0.4)).is_met());
        assert!(!target(None, Bound::Most(2.5)).is_met(), "what was not measured is not met");
    }
}
