//! The calls beyond the panel, to fuse, judge or rank, and the judges' verdicts. Their texts are left out: the text
//! meant for the user is the answer.

use parallel_llm_engine::plan::caller_slot::CallerSlot;
use parallel_llm_engine::run::outcome::{Judging, Verdict};
use parallel_llm_engine::run::{Run, SeatView};
use parallel_llm_engine::{Answer, PicoUsd, SeatNumber};
use schemars::JsonSchema;
use serde::Serialize;

use super::{ErrorReport, UsageReport};

/// One call beyond the panel.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CallReport {
    /// The role: `synthesizer`, or a step of the strategy such as `judge`.
    pub role: String,
    /// The number, from 1: of a synthesizer its place in the chain, of a step its place among all steps of the run.
    pub number: u16,
    /// The model that was asked.
    pub model: String,
    /// The id of its provider.
    pub provider: String,
    /// `waiting`, `streaming`, `answered`, `cut`, `failed`, `refused`, `cancelled`, `skipped` or `unknown`.
    pub status: String,
    /// Why there is no reply, or why it stopped early.
    pub error: Option<ErrorReport>,
    /// The tokens used.
    pub usage: UsageReport,
    /// The cost of all its requests, in USD; null if unknown.
    pub cost_usd: Option<f64>,
    /// Requests sent.
    pub attempts: u32,
    /// The time from the first request to the end, in milliseconds.
    pub elapsed_ms: Option<u64>,
}

/// The judges' verdicts on the answers.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct JudgingReport {
    /// Every verdict, in the order of the calls.
    pub verdicts: Vec<VerdictReport>,
    /// How often a judge changed its verdict with the order in which it saw the answers.
    pub flips: usize,
}

/// One judge's verdict in one call.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct VerdictReport {
    /// The model.
    pub by: String,
    /// The seats whose answers it ranked, the best first; none if it found none best. A seat that it did not name is
    /// absent.
    pub ranking: Vec<u8>,
    /// The seats that are first together; none if one is first, or if all are.
    pub tied: Vec<u8>,
}

impl CallReport {
    pub(super) fn all(run: &Run) -> Vec<Self> {
        run.called().map(|view| Self::of(run, view)).collect()
    }

    fn of(run: &Run, view: &SeatView) -> Self {
        let (role, number) = role_and_number(run, view.slot);
        let usage = |answer: &Answer| UsageReport::of(answer.usage);
        Self {
            role: role.to_owned(),
            number,
            model: view.model.to_string(),
            provider: view.model.provider.0.clone(),
            status: view.status.as_str().to_owned(),
            error: view.failure.as_ref().map(ErrorReport::of),
            usage: view.answer.as_ref().map_or_else(UsageReport::default, usage),
            cost_usd: view.known_cost().map(PicoUsd::as_usd),
            attempts: view.attempts,
            elapsed_ms: view.elapsed_ms,
        }
    }
}

/// The role and the number of a caller.
pub(super) fn role_and_number(run: &Run, slot: CallerSlot) -> (&'static str, u16) {
    match slot {
        CallerSlot::Seat(number) => ("seat", u16::from(number.0)),
        CallerSlot::Synthesizer(number) => ("synthesizer", u16::from(number.0)),
        CallerSlot::Step(number) => {
            let step = run.plan.steps.get(number.index());
            (step.map_or("step", |step| step.key.role.as_str()), number.0)
        }
    }
}

impl JudgingReport {
    pub(super) fn of(judging: &Judging) -> Self {
        Self { verdicts: judging.verdicts.iter().map(VerdictReport::of).collect(), flips: judging.flips }
    }
}

impl VerdictReport {
    fn of(verdict: &Verdict) -> Self {
        let seats = |seats: &[SeatNumber]| seats.iter().map(|seat| seat.0).collect();
        Self { by: verdict.by.to_string(), ranking: seats(&verdict.ranking), tied: seats(&verdict.tied) }
    }
}
