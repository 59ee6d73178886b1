//! The run report: the one JSON object that the command line, MCP, HTTP and `run.json` all give. Additive only:
//! a field may be added, never changed or taken away.

pub mod age;
mod agreement;
mod calls;
mod checks;
pub mod cost;
pub mod next_steps;
mod resuming;
mod seat;

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

/// The version of the report's shape.
const SCHEMA: u32 = 1;
/// Why writing a report as JSON cannot fail.
const PLAIN: &str = "a report is plain data with string keys";

/// One run, told whole.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Report {
    /// Version of this shape: 1.
    pub schema: u32,
    /// The run's name, a ULID.
    pub run_id: String,
    /// `running`, `complete`, `partial`, `failed`, `cancelled` or `interrupted`. `complete`: every seat answered
    /// and there is an answer. `partial`: there is an answer, but a seat without one.
    pub status: String,
    /// The final text; null while there is none. While a further part of the run is under way, or where it was
    /// interrupted, the text from before it.
    pub answer: Option<Arc<str>>,
    /// How the final text came about; null until a part of the run is decided.
    pub synthesis: Option<Synthesis>,
    /// Texts of the run that do not stand any more, or never did because the one before was better, in the order they
    /// were set aside; left out where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<EarlierReport>,
    /// The panel, one entry per seat.
    pub answers: Vec<SeatReport>,
    /// The calls beyond the panel, synthesizers first; left out where there was none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<CallReport>,
    /// How far the answers that were considered agree; left out where there were not several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agreement: Option<AgreementReport>,
    /// What came of asking the seats again (strategies `moa` and `debate`), in order; left out where they were not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rounds: Vec<RoundReport>,
    /// How sure one may be of the answer by that; left out with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub confidence: Option<ConfidenceReport>,
    /// What judges made of the answers; left out where none gave a verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub judging: Option<JudgingReport>,
    /// What your check command says of each answer; left out where none was checked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<CheckReport>,
    /// Seats whose answers tried to instruct the models that read them, as one of these suspects; left out where there are
    /// none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suspected_injection: Vec<SuspicionReport>,
    /// Whether fusing was worth it; null where nothing was fused.
    pub worth: Option<WorthReport>,
    /// What all requests of the run cost, as far as known, in USD; null where nothing is.
    pub cost_usd: Option<f64>,
    /// Whether a part of the cost is computed from prices or unknown.
    pub cost_is_estimate: bool,
    /// Whether a request is missing in the cost, because nobody knows what it cost, or not yet: it is the least that was
    /// paid then.
    pub cost_lacks_calls: bool,
    /// The most that all requests can have cost, in USD, where one that is over is missing in the cost and prices are
    /// known; left out elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_max_usd: Option<f64>,
    /// What was spent of it for this call, in USD, where the question was answered by a run that was over: 0 where its
    /// answer is given again; left out elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spent_now_usd: Option<f64>,
    /// When that run was asked, as `2026-11-20T13:10:33.007Z`; left out elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_at: Option<String>,
    /// Milliseconds from the start to the answer, or to now.
    pub elapsed_ms: u64,
    /// How answers become one text.
    pub strategy: String,
    /// Why it is this one, where nobody named it; left out where somebody did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strategy_reason: Option<String>,
    /// What was not paid for because the answers agreed; left out where nothing was spared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spared: Option<SparedReport>,
    /// Names what was asked: equal for runs that ask the same.
    pub plan_hash: String,
    /// Where the answers lie as files.
    pub files: FilesReport,
    /// What else the reader should know.
    pub warnings: Vec<ErrorReport>,
    /// Why there is no answer; null where there is one.
    pub error: Option<ErrorReport>,
    /// The program that wrote this report.
    pub program: ProgramReport,
    /// How it can be continued, for doors that say so.
    #[serde(skip)]
    #[schemars(skip)]
    pub resuming: Option<Resuming>,
}

/// Which program, and in which version.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ProgramReport {
    /// What it is called.
    pub name: String,
    /// Its version.
    pub version: String,
}

impl ProgramReport {
    /// This one.
    pub fn own() -> Self {
        Self {
            name: parallel_llm_settings::PROGRAM.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}

/// How the final text came about.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Synthesis {
    /// `fused`: a synthesizer wrote it. `selected`: chosen among several. `verbatim`: one answer, word for word.
    /// `listed`: all answers one after the other. `none`: there is no text.
    pub kind: String,
    /// The model whose words these are.
    pub by: Option<String>,
    /// The seats whose answers were there to choose from.
    pub considered: Vec<u8>,
    /// Those of them whose answers the synthesizer or judge was not shown, because `top_k` of them were; left out where there are
    /// none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unshown: Vec<u8>,
    /// The number of the call whose text it is or started from, where that is a seat's later answer and not the one in
    /// `answers`; left out elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base_step: Option<u16>,
    /// Why it came about this way.
    pub reason: String,
    /// Answers that their reader saw only in part.
    pub shortened: Vec<ShortenedReport>,
    /// The seat without whose answer the text was made, because it would have hung on that answer alone; left out elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stands_without: Option<u8>,
    /// Seats whose models are of the vendor of a model that read the answers; left out where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kin: Vec<u8>,
}

/// A text of a run that has a better or newer one.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct EarlierReport {
    /// The text; null where there was none, or where it is not kept.
    pub answer: Option<Arc<str>>,
    /// How it came about.
    pub synthesis: Synthesis,
}

/// An answer that may have tried to instruct whoever read it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SuspicionReport {
    /// Whose.
    pub seat: u8,
    /// Why: `override`, `praise`, `turn`, `fence`, `form`, `hidden`, `reordered` or `encoded`, from signs in its text;
    /// `reader`, said by a model that read it; `decides`, the result hung on it alone.
    pub signs: Vec<String>,
}

/// An answer that was shortened to fit its reader's context, or because no more of it was wanted.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ShortenedReport {
    /// Whose.
    pub seat: u8,
    /// Its length in characters.
    pub from_chars: u64,
    /// How much of it was shown.
    pub to_chars: u64,
}

/// Calls of the plan that were not made because the answers there were agreed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SparedReport {
    /// How many: seats, the synthesizer, judges.
    pub calls: usize,
    /// The most they could have cost together, in USD, as far as prices are known.
    pub cost_max_usd: f64,
}

/// What came of asking the seats again, each with what the others had said.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RoundReport {
    /// Which: of `moa` the layer, the panel being the first; of `debate` the round, from 1.
    pub round: u16,
    /// Seats that gave another answer; a seat that gave none keeps the one it had.
    pub answered: Vec<u8>,
    /// Those of them whose answer comes to something else than the one before.
    pub changed: Vec<u8>,
    /// Those of these that now say what most had said before: the known way to lose a right answer.
    pub followed: Vec<u8>,
    /// Those that answered and of whom it cannot be told whether they say the same as before.
    pub untold: Vec<u8>,
    /// The most answers that say the same after it; 0 where that cannot be told.
    pub equal: usize,
    /// Of how many.
    pub of: usize,
    /// Seats whose answer from before it nobody was shown, because `top_k` of them were; left out where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unshown: Vec<u8>,
}

/// Whether fusing was worth it.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct WorthReport {
    /// The seat whose answer the synthesizer started from.
    pub base_seat: u8,
    /// How much of the final text differs from that answer: 0 the same, 1 nothing in common.
    pub edit_ratio: Option<f64>,
    /// The other seats whose answers have wording of the final text that the base's has not.
    pub drawn_from: Vec<u8>,
    /// What fusing cost beyond the panel, in USD.
    pub extra_cost_usd: Option<f64>,
    /// How long fusing took beyond the panel, in milliseconds.
    pub extra_ms: u64,
}

/// An error or a warning.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ErrorReport {
    /// Its stable code; see `explain`.
    pub code: String,
    /// What happened.
    pub message: String,
    /// What to do next.
    pub next: String,
    /// The same as it can be said in a door's words.
    #[serde(skip)]
    #[schemars(skip)]
    pub steps: Vec<Next>,
    /// Whether the same request may succeed later.
    pub retryable: bool,
    /// What lay behind it, from the outside in; left out where nothing more is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<String>,
    /// How long the provider asked to wait, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// The run it happened in, where that is not plain from the place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
}

/// Where the answers lie as files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FilesReport {
    /// The run's folder.
    pub dir: Option<PathBuf>,
    /// `off`, `writing`, `written` or `failed`.
    pub state: FilesState,
    /// Why a file could not be written.
    pub error: Option<String>,
}

/// How far the files of a run are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FilesState {
    /// No files are written for this run.
    #[default]
    Off,
    /// They are written as answers land.
    Writing,
    /// All are written.
    Written,
    /// One could not be written; the run is whole all the same.
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

    /// Tells a run, with what is known of how often such answers are right.
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
            suspected_injection: outcome.map(suspected).unwrap_or_default(),
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
            spared: SparedReport::of(run),
            plan_hash: run.plan_hash.clone(),
            files,
            warnings: run.warnings().iter().map(ErrorReport::of_warning).collect(),
            error: run.failure().as_ref().map(ErrorReport::of),
            program: ProgramReport::own(),
            resuming: Resuming::of(run),
        }
    }

    /// What all requests of the run cost, as far as the report tells.
    pub fn cost(&self) -> Cost {
        Cost {
            known: self.cost_usd.and_then(PicoUsd::from_f64),
            lacks_calls: self.cost_lacks_calls,
            is_estimate: self.cost_is_estimate,
            bound: self.cost_max_usd.and_then(PicoUsd::from_f64),
        }
    }

    /// What it cost in words, and what of that was spent now, where most of it was before: `$0.00 now, $0.0037 in all since
    /// it was asked on 2026-11-20`.
    pub fn cost_described(&self) -> String {
        let described = self.cost().described();
        let Some((spent_usd, asked_at)) = self.spent_now_usd.zip(self.asked_at.as_deref()) else {
            return described;
        };
        let spent = PicoUsd::from_f64(spent_usd).unwrap_or_default();
        let day = asked_at.split('T').next().unwrap_or(asked_at);
        format!("{spent} now, {described} in all since it was asked on {day}")
    }

    /// The report as JSON for people: a field a line, in the order of this page.
    pub fn pretty(&self) -> String {
        serde_json::to_string_pretty(self).expect(PLAIN)
    }

    /// Writes what [`Report::pretty`] gives piece by piece: its texts may be long.
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

fn suspected(outcome: &Outcome) -> Vec<SuspicionReport> {
    outcome.suspected.iter().map(SuspicionReport::of).collect()
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
            kin: outcome.same_vendor.iter().map(|seat| seat.0).collect(),
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

impl SparedReport {
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
            untold: seats(&round.untold),
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
    /// Tells a failure.
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

    /// Tells a warning.
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

    /// The JSON object that stands for a call that failed before there was a run to report.
    pub fn envelope(&self) -> serde_json::Value {
        serde_json::json!({ "schema": SCHEMA, "error": self })
    }

    /// A failure as that one JSON object, on one line, so that it also ends a list of events.
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
