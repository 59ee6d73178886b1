//! The numbers of a measurement as JSON in `bench/results`, from which the plots and the tables of `docs/performance.md` are made.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::failure::{Failure, Outcome};
use crate::measure::rounds::{Rounds, Row};
use crate::measure::statistics::Spread;
use crate::measure::target::Target;

/// The end of the names of these files, after the day.
pub const TABLES: &str = ".json";
/// The same for the numbers of the plots.
pub const CURVES: &str = "-curves.json";

/// One measurement.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Results {
    /// The day, as in `2026-11-23`.
    pub day: String,
    /// `full` or `quick`.
    pub scale: String,
    /// The machine in one line.
    pub machine: String,
    /// The workloads.
    pub workloads: Vec<Measured>,
    /// The targets.
    pub targets: Vec<Judged>,
}

/// The programs at one workload.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Measured {
    /// Its name.
    pub workload: String,
    /// Questions at once.
    pub at_once: usize,
    /// The size of an answer.
    pub answer_bytes: usize,
    /// The time that a reply takes in milliseconds; 0 for as fast as it is read.
    pub reply_ms: u64,
    /// Rounds that count.
    pub rounds: usize,
    /// Whether the floor was steady.
    pub is_steady: bool,
    /// The programs.
    pub programs: Vec<Medians>,
}

/// The medians of one program over the rounds. Times are in microseconds per run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Medians {
    /// Its name.
    pub program: String,
    /// The added time.
    pub added_p50: f64,
    /// The added time of the slowest runs.
    pub added_p99: f64,
    /// Processor time.
    pub cpu: f64,
    /// Runs in a second.
    pub per_second: f64,
    /// The added time as a multiple of the floor's in the same round; 0 if it is not known.
    pub added_to_floor: f64,
    /// The same for processor time.
    pub cpu_to_floor: f64,
    /// The same for runs in a second.
    pub per_second_to_floor: f64,
    /// Memory when idle.
    pub idle_bytes: u64,
    /// Peak memory for each call.
    pub call_bytes: f64,
}

/// A target with what was found.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Judged {
    /// Its name.
    pub name: String,
    /// The median that was measured.
    pub found: Option<f64>,
    /// The bound in words.
    pub bound: String,
    /// The unit of both.
    pub unit: String,
    /// Whether it holds.
    pub is_met: bool,
}

impl Results {
    /// The newest file in this folder whose name ends so.
    pub fn newest(folder: &Path, ending: &str) -> Outcome<Self> {
        let is_wanted = |path: &PathBuf| {
            let day = path.to_string_lossy();
            day.strip_suffix(ending).is_some_and(|day| day.ends_with(|last: char| last.is_ascii_digit()))
        };
        let files = std::fs::read_dir(folder)?.filter_map(|entry| Some(entry.ok()?.path()));
        let newest = files.filter(is_wanted).max();
        let newest = newest.ok_or_else(|| Failure::new(format!("no results end with `{ending}`")))?;
        Ok(serde_json::from_slice(&std::fs::read(newest)?)?)
    }

    /// Writes the file of its day.
    pub fn write(&self, folder: &Path, ending: &str) -> Outcome<()> {
        let text = serde_json::to_string_pretty(self)? + "\n";
        Ok(std::fs::write(folder.join(format!("{}{ending}", self.day)), text)?)
    }

    /// The programs at this workload.
    pub fn workload(&self, name: &str) -> Outcome<&Measured> {
        let found = self.workloads.iter().find(|measured| measured.workload == name);
        found.ok_or_else(|| Failure::new(format!("`{name}` was not measured")))
    }
}

impl Measured {
    /// The medians of these rounds.
    pub fn of(rounds: &Rounds) -> Self {
        let workload = rounds.workload;
        Self {
            workload: workload.name.to_owned(),
            at_once: workload.asking.at_once(),
            answer_bytes: workload.size.bytes,
            reply_ms: workload.spread_ms,
            rounds: rounds.rows.first().map_or(0, |floor| floor.turns.len()),
            is_steady: rounds.is_steady,
            programs: rounds.rows.iter().map(|row| Medians::of(rounds, row)).collect(),
        }
    }
}

impl Medians {
    fn of(rounds: &Rounds, row: &Row) -> Self {
        let rounded = |number: f64, places: i32| (number * 10_f64.powi(places)).round() / 10_f64.powi(places);
        let median = |number, places| rounded(row.median(number), places);
        let to_floor = |number| {
            let ratio = rounds.ratio(row.program, number).map(|ratio| rounded(ratio.median, 3));
            ratio.filter(|ratio| ratio.is_finite()).unwrap_or_default()
        };
        Self {
            program: row.program.name().to_owned(),
            added_p50: median(|turn| turn.added_p50, 0),
            added_p99: median(|turn| turn.added_p99, 0),
            cpu: median(|turn| turn.cpu, 0),
            per_second: median(|turn| turn.per_second, 2),
            added_to_floor: to_floor(|turn| turn.added_p50),
            cpu_to_floor: to_floor(|turn| turn.cpu),
            per_second_to_floor: to_floor(|turn| turn.per_second),
            idle_bytes: row.idle_bytes.unwrap_or_default(),
            call_bytes: median(|turn| turn.call_bytes, 0),
        }
    }
}

impl Judged {
    /// The target with its bound in words.
    pub fn of(target: &Target) -> Self {
        Self {
            name: target.name.clone(),
            found: target.found.map(|Spread { median, .. }| (median * 1000.0).round() / 1000.0),
            bound: target.bound.to_string(),
            unit: target.unit.to_owned(),
            is_met: target.is_met(),
        }
    }
}
