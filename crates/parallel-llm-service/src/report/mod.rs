//! The run report: the one JSON object of the command line, MCP, HTTP and `run.json`. It is additive only: fields are
//! added, never changed or removed.

pub mod age;
mod agreement;
mod calls;
mod checks;
pub mod cost;
pub mod event_line;
pub mod next_steps;
mod resuming;
mod seat;
mod sides;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use parallel_llm_engine::run::calibration::Calibration;
use parallel_llm_engine::run::outcome::{Round, Suspicion};
use parallel_llm_engine::run::{Run, SkippedCalls};
use parallel_llm_engine::value::next::{self, Next, Vocabulary};
use parallel_llm_engine::value::warning::Warning;
use parallel_llm_engine::{Failure, Outcome, OutcomeKind, PicoUsd, SeatNumber};
use schemars::JsonSchema;
use serde::Serialize;

use cost::Cost;

pub use agreement::{
    AgreementReport, AnalysisReport, ClaimReport, ClusterReport, ConfidenceReport, EffectiveVotes,
    NovelReport, RemarkReport,
};
pub use calls::{CallReport, JudgingReport, VerdictReport};
pub use checks::CheckReport;
pub use resuming::Resuming;
pub use seat::{SeatReport, UsageReport};
pub use sides::{Agreed, Objection, Point, Sides, TextRoom};

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
    /// `running`, `complete`, `partial`, `failed`, `cancelled` or `interrupted`. `complete`: every seat answered and
    /// there is an answer. `partial`: there is an answer, but a seat has none.
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
    /// The calls beyond the panel, synthesizers first; left out if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<CallReport>,
    /// How far the considered answers agree; left out for fewer than two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agreement: Option<AgreementReport>,
    /// The rounds in which seats were asked again (strategies `moa` and `debate`), in order; left out if there are
    /// none.
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

/// How the final text was made.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Synthesis {
    /// `fused`: written by a synthesizer. `selected`: chosen among several. `verbatim`: one answer, word for word.
    /// `listed`: all answers one after the other. `none`: there is no text.
    pub kind: String,
    /// The model that wrote the text.
    pub by: Option<String>,
    /// The seats whose answers were considered.
    pub considered: Vec<u8>,
    /// Considered seats whose answers the synthesizer or judge was not shown because of `top_k`; left out if there are
    /// none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unshown: Vec<u8>,
    /// The number of the call that wrote the text or its base, if that is a later answer of a seat and not the one in
    /// `answers`; else left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_step: Option<u16>,
    /// Why the text was made this way.
    pub reason: String,
    /// Answers of which the reader saw only a part.
    pub shortened: Vec<ShortenedReport>,
    /// The seat whose answer was excluded because the text would have depended on it alone; else left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stands_without: Option<u8>,
    /// Seats whose models share a vendor with a model that read the answers; left out if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(rename = "kin")]
    pub same_vendor: Vec<u8>,
}

/// A text that a better or newer one replaced.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct EarlierReport {
    /// The text; null if there was none or it is not kept.
    pub answer: Option<Arc<str>>,
    /// How it was made.
    pub synthesis: Synthesis,
}

/// An answer that may have tried to instruct the model that read it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SuspicionReport {
    /// The seat.
    pub seat: u8,
    /// The signs: `override`, `praise`, `turn`, `fence`, `form`, `hidden`, `reordered` or `encoded`, found in its text;
    /// `reader`, reported by a model that read it; `decides`, the result depended on it alone.
    pub signs: Vec<String>,
}

/// An answer that was shortened, to fit its reader's context or because the reader wanted no more.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ShortenedReport {
    /// The seat.
    pub seat: u8,
    /// Its full length in characters.
    pub from_chars: u64,
    /// The length shown, in characters.
    pub to_chars: u64,
}

/// Planned calls that were skipped because the answers agreed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SkippedReport {
    /// Their number: seats, the synthesizer and judges.
    pub calls: usize,
    /// The most that they could have cost together, in USD, as far as prices are known.
    pub cost_max_usd: f64,
}

/// A round in which each seat was asked again and saw the answers of the others.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RoundReport {
    /// The number: for `moa` the layer, where the panel is the first; for `debate` the round, from 1.
    pub round: u16,
    /// Seats that answered again; a seat that did not keeps its earlier answer.
    pub answered: Vec<u8>,
    /// Seats among them that changed their answer.
    pub changed: Vec<u8>,
    /// Changed seats that took over the earlier majority's answer: the known way to lose a right answer.
    pub followed: Vec<u8>,
    /// Seats among `answered` for which a change cannot be determined.
    #[serde(rename = "untold")]
    pub undetermined: Vec<u8>,
    /// The size of the largest group of equal answers afterwards; 0 if it cannot be determined.
    pub equal: usize,
    /// The number of answers compared.
    pub of: usize,
    /// Seats whose earlier answer nobody was shown because of `top_k`; left out if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unshown: Vec<u8>,
}

/// What fusing added and cost.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct WorthReport {
    /// The seat whose answer was the synthesizer's base.
    pub base_seat: u8,
    /// The share of the final text that differs from the base: 0 the same, 1 nothing in common.
    pub edit_ratio: Option<f64>,
    /// The other seats whose answers share wording with the final text that the base lacks.
    pub drawn_from: Vec<u8>,
    /// The cost of fusing beyond the panel, in USD.
    pub extra_cost_usd: Option<f64>,
    /// The time that fusing took beyond the panel, in milliseconds.
    pub extra_ms: u64,
}

/// An error or a warning.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ErrorReport {
    /// The stable code; see `explain`.
    pub code: String,
    /// What happened.
    pub message: String,
    /// What to do next.
    pub next: String,
    /// The next steps, typed, for a door's vocabulary.
    #[serde(skip)]
    #[schemars(skip)]
    pub steps: Vec<Next>,
    /// Whether the same request may succeed later.
    pub retryable: bool,
    /// The causes, from the outside in; left out if none is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<String>,
    /// The wait that the provider asked for, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// The run it happened in, if the context does not show it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
}

/// The files of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FilesReport {
    /// The run's folder.
    pub dir: Option<PathBuf>,
    /// `off`, `writing`, `written` or `failed`.
    pub state: FilesState,
    /// Why a file could not be written.
    pub error: Option<String>,
}

/// The state of a run's files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FilesState {
    /// No files are written for this run.
    #[default]
    Off,
    /// Each is written when its answer arrives.
    Writing,
    /// All files are written.
    Written,
    /// A file could not be written; the stored run is complete anyway.
    Failed,
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
            plan_hash: run.plan_hash.clone(),
            files,
            warnings: run.warnings().iter().map(ErrorReport::of_warning).collect(),
            error: run.failure().as_ref().map(ErrorReport::of),
            program: ProgramReport::own(),
            resuming: Resuming::of(run),
        }
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

impl EarlierReport {
    fn of(outcome: &Outcome) -> Self {
        Self { answer: outcome.text.clone(), synthesis: Synthesis::of(outcome) }
    }
}

impl Synthesis {
    fn of(outcome: &Outcome) -> Self {
        let kind = match outcome.kind {
            OutcomeKind::Fused => "fused",
            OutcomeKind::Selected => "selected",
            OutcomeKind::Verbatim => "verbatim",
            OutcomeKind::Listed => "listed",
            OutcomeKind::None => "none",
        };
        let shortened = outcome.shortened.iter().map(|cut| ShortenedReport {
            seat: cut.seat.0,
            from_chars: cut.from_chars,
            to_chars: cut.to_chars,
        });
        Self {
            kind: kind.to_owned(),
            by: outcome.by.as_ref().map(ToString::to_string),
            considered: outcome.considered.iter().map(|seat| seat.0).collect(),
            unshown: outcome.unshown.iter().map(|seat| seat.0).collect(),
            base_step: outcome.base_step.map(|step| step.0),
            reason: outcome.reason.clone(),
            shortened: shortened.collect(),
            stands_without: outcome
                .leave_one_out
                .as_ref()
                .and_then(|described| described.stands_without)
                .map(|seat| seat.0),
            same_vendor: outcome.same_vendor.iter().map(|seat| seat.0).collect(),
        }
    }
}

impl SuspicionReport {
    fn of(suspicion: &Suspicion) -> Self {
        Self {
            seat: suspicion.seat.0,
            signs: suspicion.signs.iter().map(|sign| sign.as_str().to_owned()).collect(),
        }
    }
}

impl SkippedReport {
    fn of(run: &Run) -> Option<Self> {
        let SkippedCalls { calls, cost_max } = run.skipped()?;
        Some(Self { calls, cost_max_usd: cost_max.as_usd() })
    }
}

impl RoundReport {
    fn of(round: &Round) -> Self {
        let seats = |seats: &[SeatNumber]| seats.iter().map(|seat| seat.0).collect();
        Self {
            round: round.round,
            answered: seats(&round.answered),
            changed: seats(&round.changed),
            followed: seats(&round.followed),
            undetermined: seats(&round.untold),
            equal: round.equal,
            of: round.of,
            unshown: seats(&round.unshown),
        }
    }
}

impl WorthReport {
    fn of(outcome: &Outcome) -> Option<Self> {
        outcome.worth.as_ref().map(|worth| Self {
            base_seat: worth.base_seat.0,
            edit_ratio: worth.edit_ratio,
            drawn_from: worth.drawn_from.iter().map(|seat| seat.0).collect(),
            extra_cost_usd: worth.extra_cost.map(PicoUsd::as_usd),
            extra_ms: worth.extra_ms,
        })
    }
}

impl ErrorReport {
    /// The report of a failure.
    pub fn of(failure: &Failure) -> Self {
        Self {
            code: failure.code.to_string(),
            message: failure.message.clone(),
            next: failure.next_step(),
            steps: failure.next_steps().to_vec(),
            retryable: failure.retryable,
            causes: failure.causes().to_vec(),
            retry_after_ms: failure.retry_after_ms,
            run_id: failure.run_id.as_ref().map(ToString::to_string),
        }
    }

    /// The report of a warning.
    pub fn of_warning(warning: &Warning) -> Self {
        Self {
            code: warning.code.to_string(),
            message: warning.message.clone(),
            next: warning.next_step(),
            steps: warning.next_steps().to_vec(),
            retryable: warning.code.retryable(),
            causes: Vec::new(),
            retry_after_ms: None,
            run_id: None,
        }
    }

    /// The JSON object in place of a report, for a call that failed before there was a run.
    pub fn envelope(&self) -> serde_json::Value {
        serde_json::json!({ "schema": SCHEMA, "error": self })
    }

    /// A failure as that JSON object on one line, so that it also ends a stream of events.
    pub fn line(failure: &Failure, vocabulary: &Vocabulary) -> String {
        Self::of(failure).in_vocabulary(vocabulary).envelope().to_string()
    }

    /// The same error with its next step in a door's vocabulary.
    #[must_use]
    pub fn in_vocabulary(mut self, vocabulary: &Vocabulary) -> Self {
        self.next = next::render(&self.steps, vocabulary);
        self
    }
}
