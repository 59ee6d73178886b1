//! The run report: the one JSON object of the command line, MCP, HTTP and `run.json`. It is additive only: fields are
//! added, never changed or removed.

pub mod age;
mod agreement;
mod calls;
mod checks;
pub mod cost;
pub mod counted;
mod error;
pub mod event;
pub mod expected_cost;
mod files;
pub mod next_steps;
mod resuming;
mod seat;
mod sides;
mod synthesis;

use std::io;
use std::sync::Arc;

use parallel_llm_engine::run::calibration::Calibration;
use parallel_llm_engine::run::{Run, SeatView, SkippedCalls};
use parallel_llm_engine::value::next::{self, Vocabulary};
use parallel_llm_engine::{CallerSlot, PicoUsd};
use schemars::JsonSchema;
use serde::Serialize;

use cost::Cost;

pub use agreement::{
    AgreementReport, AnalysisReport, ChangeReport, ClaimReport, ClusterReport, ConfidenceReport,
    EffectiveVotes, NovelReport,
};
pub use calls::{CallReport, JudgingReport, VerdictReport};
pub use checks::CheckReport;
pub use error::ErrorReport;
pub use files::{FilesReport, FilesState};
pub use resuming::Resuming;
pub use seat::{SeatReport, UsageReport};
pub use sides::{Agreed, Objection, Point, Sides, TextRoom};
pub use synthesis::{EarlierReport, RoundReport, ShortenedReport, SuspicionReport, Synthesis, WorthReport};

/// The version of the report's format.
const SCHEMA: u32 = 1;
/// Why serialization cannot fail.
const PLAIN: &str = "a report is plain data with string keys";

/// The full report of one run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Report {
    /// Version of this format: 1.
    pub schema: u32,
    /// The run's id, a ULID.
    pub run_id: String,
    /// `running`, `complete`, `partial`, `failed`, `cancelled` or `interrupted`. `complete`: every seat gave a whole
    /// answer and there is an answer. `partial`: there is an answer, but a seat has none, or one that broke off.
    pub status: String,
    /// The final text; null while there is none. While a further part of the run is in progress or interrupted, the
    /// earlier text.
    pub answer: Option<Arc<str>>,
    /// How the final text was made; null until a part of the run is decided.
    pub synthesis: Option<Synthesis>,
    /// Texts that were replaced, or discarded because an earlier one was better, in that order; left out if there are
    /// none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<EarlierReport>,
    /// The panel, one entry for each seat.
    pub answers: Vec<SeatReport>,
    /// How many seats have an answer: a whole one, or one that broke off and was used or is long enough to be.
    pub seats_answered: usize,
    /// The seats that should have an answer and have none.
    pub seats_missing: Vec<u8>,
    /// The seats whose answer broke off and was used all the same; left out if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seats_used_although_cut: Vec<u8>,
    /// The calls beyond the panel, synthesizers first; left out if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<CallReport>,
    /// How far the considered answers agree; left out for fewer than two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agreement: Option<AgreementReport>,
    /// The rounds in which seats were asked again (strategy `moa`), in order; left out if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rounds: Vec<RoundReport>,
    /// The confidence that this agreement gives the answer; left out with `agreement`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<ConfidenceReport>,
    /// The judges' verdicts; left out if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judging: Option<JudgingReport>,
    /// The results of your check command, one for each checked answer; left out if none was checked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<CheckReport>,
    /// Seats whose answers may have tried to instruct the models that read them; left out if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suspected_injection: Vec<SuspicionReport>,
    /// What fusing added and cost; null if nothing was fused.
    pub worth: Option<WorthReport>,
    /// The known cost of all requests of the run, in USD; null if no cost is known.
    pub cost_usd: Option<f64>,
    /// Whether a part of the cost is computed from prices or unknown.
    pub cost_is_estimate: bool,
    /// Whether the cost lacks a request whose cost is unknown or not yet known. The cost is then a lower bound.
    pub cost_lacks_calls: bool,
    /// The most that all requests can have cost, in USD, if the cost lacks a finished request and prices are known;
    /// else left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_max_usd: Option<f64>,
    /// The part of the cost spent for this call, in USD, if a finished run answered the question: 0 if its answer is
    /// given again. Else left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent_now_usd: Option<f64>,
    /// When that run was asked, as `2026-11-20T13:10:33.007Z`; else left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_at: Option<String>,
    /// Milliseconds from the start to the answer, or to now.
    pub elapsed_ms: u64,
    /// The strategy that turns the answers into one text.
    pub strategy: String,
    /// Why this strategy was chosen; left out if the caller named it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strategy_reason: Option<String>,
    /// Calls that were skipped because the answers agreed; left out if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(rename = "spared")]
    pub skipped: Option<SkippedReport>,
    /// The id of the earlier run whose conversation goes on; left out if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continues: Option<String>,
    /// Hash of the resolved request: equal for runs that ask the same.
    pub plan_hash: String,
    /// The files of the run.
    pub files: FilesReport,
    /// Warnings about the run.
    pub warnings: Vec<ErrorReport>,
    /// Why there is no answer; null if there is one.
    pub error: Option<ErrorReport>,
    /// The program that wrote this report.
    pub program: ProgramReport,
    /// How the run can be continued. Doors render it.
    #[serde(skip)]
    #[schemars(skip)]
    pub resuming: Option<Resuming>,
}

/// The program and its version.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ProgramReport {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

impl ProgramReport {
    /// This program.
    pub fn own() -> Self {
        Self {
            name: parallel_llm_settings::PROGRAM.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

/// Planned calls that were skipped because the answers agreed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SkippedReport {
    /// Their number: seats, the synthesizer and judges.
    pub calls: usize,
    /// The most that they could have cost together, in USD, as far as prices are known.
    pub cost_max_usd: f64,
}

impl Report {
    /// The same report with its next steps in a door's vocabulary.
    #[must_use]
    pub fn in_vocabulary(mut self, vocabulary: &Vocabulary) -> Self {
        let of_seats = self.answers.iter_mut().filter_map(|seat| seat.error.as_mut());
        let of_calls = self.calls.iter_mut().filter_map(|call| call.error.as_mut());
        for error in self.error.iter_mut().chain(&mut self.warnings).chain(of_seats).chain(of_calls) {
            error.next = next::render(&error.steps, vocabulary);
        }
        self
    }

    /// The report of a run, with the confidence that the calibration gives its answer.
    pub fn of(run: &Run, files: FilesReport, calibration: &Calibration) -> Self {
        let (outcome, cost) = (run.outcome.as_ref(), Cost::of(run));
        let agreement = AgreementReport::of(run);
        Self {
            schema: SCHEMA,
            run_id: run.plan.run_id.to_string(),
            status: run.status.as_str().to_owned(),
            answer: outcome.and_then(|outcome| outcome.text.clone()),
            synthesis: outcome.map(Synthesis::of),
            earlier: run.earlier.iter().map(EarlierReport::of).collect(),
            answers: run.seats.iter().zip(1..).map(|(seat, number)| SeatReport::of(seat, number)).collect(),
            seats_answered: run.answered(),
            seats_missing: numbers(run.missing()),
            seats_used_although_cut: numbers(run.used_although_cut()),
            rounds: outcome
                .map_or_else(Vec::new, |outcome| outcome.rounds.iter().map(RoundReport::of).collect()),
            calls: CallReport::all(run),
            confidence: agreement
                .as_ref()
                .zip(calibration.confidence(run))
                .map(|(agreement, confidence)| ConfidenceReport::of(agreement, confidence)),
            agreement,
            judging: outcome.and_then(|outcome| outcome.judging.as_ref()).map(JudgingReport::of),
            checks: outcome
                .map_or_else(Vec::new, |outcome| outcome.checks.iter().map(CheckReport::of).collect()),
            suspected_injection: outcome
                .map_or_else(Vec::new, |outcome| outcome.suspected.iter().map(SuspicionReport::of).collect()),
            worth: outcome.and_then(WorthReport::of),
            cost_usd: cost.known.map(PicoUsd::as_usd),
            cost_is_estimate: cost.is_estimate,
            cost_lacks_calls: cost.lacks_calls,
            cost_max_usd: cost.bound.map(PicoUsd::as_usd),
            spent_now_usd: None,
            asked_at: None,
            elapsed_ms: run.decided_ms.unwrap_or(run.elapsed_ms),
            strategy: run.plan.strategy.name().to_owned(),
            strategy_reason: run.plan.chosen_because.clone(),
            skipped: SkippedReport::of(run),
            continues: run.plan.continues.map(|run| run.to_string()),
            plan_hash: run.plan_hash.clone(),
            files,
            warnings: run.warnings().iter().map(ErrorReport::of_warning).collect(),
            error: run.failure().as_ref().map(ErrorReport::of),
            program: ProgramReport::own(),
            resuming: Resuming::of(run),
        }
    }

    /// The seats with these numbers.
    pub fn seats<'a>(&'a self, numbers: &'a [u8]) -> impl Iterator<Item = &'a SeatReport> {
        self.answers.iter().filter(|seat| numbers.contains(&seat.seat))
    }

    /// The cost of all requests, as the report holds it.
    pub fn cost(&self) -> Cost {
        Cost {
            known: self.cost_usd.and_then(PicoUsd::from_f64),
            lacks_calls: self.cost_lacks_calls,
            is_estimate: self.cost_is_estimate,
            bound: self.cost_max_usd.and_then(PicoUsd::from_f64),
        }
    }

    /// The cost as text, with the part spent for this call if a finished run answered the question: `$0.00 now, $0.0037
    /// in all since it was asked on 2026-11-20`.
    pub fn cost_described(&self) -> String {
        let described = self.cost().described();
        let Some((spent_usd, asked_at)) = self.spent_now_usd.zip(self.asked_at.as_deref()) else {
            return described;
        };
        let spent = PicoUsd::from_f64(spent_usd).unwrap_or_default();
        let day = asked_at.split('T').next().unwrap_or(asked_at);
        format!("{spent} now, {described} in all since it was asked on {day}")
    }

    /// The report as JSON for people: one field on each line, in the order declared here.
    pub fn pretty(&self) -> String {
        serde_json::to_string_pretty(self).expect(PLAIN)
    }

    /// Writes [`Report::pretty`] to a stream: the texts may be long.
    pub fn write_pretty(&self, sink: impl io::Write) -> io::Result<()> {
        serde_json::to_writer_pretty(sink, self).map_err(io::Error::from)
    }

    /// The report as JSON for programs: on one line.
    pub fn line(&self) -> String {
        serde_json::to_string(self).expect(PLAIN)
    }

    /// The report as one JSON value.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::to_value(self).expect(PLAIN)
    }
}

impl SkippedReport {
    fn of(run: &Run) -> Option<Self> {
        let SkippedCalls { calls, cost_max } = run.skipped()?;
        Some(Self { calls, cost_max_usd: cost_max.as_usd() })
    }
}

/// The numbers of these seats.
fn numbers<'r>(seats: impl Iterator<Item = &'r SeatView>) -> Vec<u8> {
    let number = |seat: &SeatView| match seat.slot {
        CallerSlot::Seat(number) => Some(number.0),
        CallerSlot::Synthesizer(_) | CallerSlot::Step(_) => None,
    };
    seats.filter_map(number).collect()
}
