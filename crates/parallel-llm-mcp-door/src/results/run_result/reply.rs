//! The reply on a run: the answer, and what a model must know to judge it.
//!
//! Many clients show their model nothing else, so it is small and says what matters first. The rest is in the report. What
//! always holds: the members are declared, and arrive, in the order of [`crate::protocol::answer_first`].

use std::sync::Arc;

use parallel_llm_engine::Code;
use parallel_llm_engine::text::safe::excerpt;
use parallel_llm_service::report::{ErrorReport, Report, SeatReport, Synthesis};
use schemars::JsonSchema;
use serde::Serialize;

use super::agreement::AgreementReply;
use super::seat_name::name;
use crate::results::next_step::NextStep;
use crate::results::result::THIRD_PARTY;

/// The most missing seats named; `answered` counts them all.
const MISSING_MAX: usize = 8;
/// The most warnings.
const WARNINGS_MAX: usize = 3;
/// The longest excerpt of a reason or a warning, in characters.
const REASON_CHARS: usize = 120;

/// The reply on a run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(crate) struct RunReply {
    /// The one text; null while there is none.
    pub(super) answer: Option<Arc<str>>,
    /// `running`, `complete`, `partial`, `failed`, `cancelled` or `interrupted`.
    status: String,
    #[serde(flatten)]
    error: Option<ErrorReply>,
    /// How the answer was made. In a report it may be null.
    #[serde(skip_serializing_if = "Option::is_none")]
    synthesis: Option<SynthesisReply>,
    /// Who agrees and who objects.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(required)]
    agreement: Option<AgreementReply>,
    /// How many, as `4 of 5`.
    answered: String,
    /// Models without an answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missing: Vec<MissingReply>,
    /// What single models wrote, while there is no answer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    texts: Vec<TextReply>,
    /// What went wrong beside it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<WarningReply>,
    /// The known cost of the run; null if unknown.
    cost_usd: Option<f64>,
    /// What is known of the cost, where the number is not all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(required)]
    cost_note: Option<String>,
    /// For the other tools.
    run_id: String,
    /// What to do next.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(required)]
    next: Option<NextStep>,
    /// Whose words these are.
    third_party: &'static str,
}

/// Why nothing usable came back.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct ErrorReply {
    /// Of an error.
    code: String,
    /// What went wrong.
    message: String,
    /// Whether the same call may succeed later.
    retryable: bool,
}

/// How the answer was made.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct SynthesisReply {
    /// The model whose text it is. In a report it may be null.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<String>,
    /// `fused`, `selected`, `verbatim`, `listed` or `none`.
    kind: String,
    /// Why, unless fused.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(required)]
    reason: Option<String>,
}

/// A model without an answer.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct MissingReply {
    /// Of its error.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(required)]
    code: Option<String>,
    /// Which.
    model: String,
    /// Its error.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(required)]
    reason: Option<String>,
    /// Of its call.
    status: String,
}

/// What one model wrote.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct TextReply {
    /// Who.
    model: String,
    /// For `part` of `get_run`.
    seat: u8,
    /// Of its call.
    status: String,
    /// What; null if left out for its size.
    text: Option<Arc<str>>,
}

/// A warning.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct WarningReply {
    /// Its code.
    code: String,
    /// What went wrong.
    message: String,
}

impl RunReply {
    /// The reply on a run. `is_error`: nothing usable came back. `left_out`: the indexes of seats whose texts were left
    /// out.
    pub(super) fn of(
        report: &Report,
        agreement: Option<AgreementReply>,
        left_out: &[usize],
        next: Option<NextStep>,
        is_error: bool,
    ) -> Self {
        let error = report.error.as_ref().filter(|_| is_error);
        let next = next.or_else(|| error.map(|error| NextStep::Advice(error.next.clone())));
        Self {
            answer: report.answer.clone(),
            status: report.status.clone(),
            error: error.map(ErrorReply::of),
            synthesis: report.synthesis.as_ref().map(SynthesisReply::of),
            agreement,
            answered: answered(report),
            // An error's message gives the reasons already.
            missing: report
                .seats(&report.seats_missing)
                .take(MISSING_MAX)
                .map(|seat| MissingReply::of(report, seat, error.is_none()))
                .collect(),
            texts: TextReply::all(report, left_out),
            warnings: cut(report).into_iter().chain(warnings(report).map(WarningReply::of)).collect(),
            cost_usd: report.cost_usd,
            cost_note: cost_note(report),
            run_id: report.run_id.clone(),
            next,
            third_party: THIRD_PARTY,
        }
    }
}

/// The cost as text, if the number alone is incomplete.
fn cost_note(report: &Report) -> Option<String> {
    let cost = report.cost();
    let is_exact = cost.known.is_some() && !cost.is_estimate && !cost.lacks_calls;
    let is_complete = is_exact && report.spent_now_usd.is_none();
    (!is_complete).then(|| report.cost_described())
}

/// The warnings that a reply has room for. First comes that the record does not hold the run yet: a reader must know it.
pub(super) fn warnings(report: &Report) -> impl Iterator<Item = &ErrorReport> {
    let is_unrecorded = |warning: &&ErrorReport| warning.code == parallel_llm_engine::Code::Spilled.as_str();
    let others = report.warnings.iter().filter(move |warning| !is_unrecorded(warning));
    report.warnings.iter().filter(is_unrecorded).chain(others).take(WARNINGS_MAX)
}

/// The warning about answers that broke off and were used, if there are any.
fn cut(report: &Report) -> Option<WarningReply> {
    let names: Vec<String> = report.seats_used_although_cut.iter().map(|seat| name(report, *seat)).collect();
    let message = excerpt(&format!("used although cut: {}", names.join(", ")), REASON_CHARS);
    (!names.is_empty()).then(|| WarningReply { code: Code::Incomplete.as_str().to_owned(), message })
}

/// How many of the panel have an answer.
pub(super) fn answered(report: &Report) -> String {
    format!("{} of {}", report.seats_answered, report.answers.len())
}

impl ErrorReply {
    fn of(error: &ErrorReport) -> Self {
        Self { code: error.code.clone(), message: error.message.clone(), retryable: error.retryable }
    }
}

impl SynthesisReply {
    fn of(synthesis: &Synthesis) -> Self {
        let reason = (synthesis.kind != "fused").then(|| excerpt(&synthesis.reason, REASON_CHARS));
        Self { by: synthesis.by.clone(), kind: synthesis.kind.clone(), reason }
    }
}

impl MissingReply {
    fn of(report: &Report, seat: &SeatReport, with_reason: bool) -> Self {
        let error = seat.error.as_ref();
        let reason = error.filter(|_| with_reason).map(|error| excerpt(&error.message, REASON_CHARS));
        Self {
            code: error.map(|error| error.code.clone()),
            model: name(report, seat.seat),
            reason,
            status: seat.status.clone(),
        }
    }
}

impl TextReply {
    /// The texts in place of an answer, those that are left out as null.
    fn all(report: &Report, left_out: &[usize]) -> Vec<Self> {
        let seats = report.answers.iter().enumerate().filter(|_| report.answer.is_none());
        let with_text = seats.filter(|(index, seat)| seat.text.is_some() || left_out.contains(index));
        let reply = |(_, seat): (usize, &SeatReport)| Self {
            model: name(report, seat.seat),
            seat: seat.seat,
            status: seat.status.clone(),
            text: seat.text.clone(),
        };
        with_text.map(reply).collect()
    }
}

impl WarningReply {
    fn of(warning: &ErrorReport) -> Self {
        Self { code: warning.code.clone(), message: excerpt(&warning.message, REASON_CHARS) }
    }
}
