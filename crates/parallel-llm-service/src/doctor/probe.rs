//! Asking each model of the panel for a word: the only way to know that it answers.
//!
//! It is paid for, so it is a run like any other: planned with its worst case, within the budget and the limits of the day,
//! in the ledger and in the history, where only its metadata are kept.

use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::request::strategy::Strategy;
use parallel_llm_engine::request::wait::Wait;
use parallel_llm_engine::{Code, Failure, PicoUsd, RunPlan, RunRequest, plan::budget};
use serde::Serialize;

use super::{Doctor, Finding, Health};
use crate::models::check::Named;
use crate::report::{ErrorReport, Report, SeatReport};
use crate::runs::RunHandle;

/// The check's name.
const CHECK: &str = "probe";
/// What is asked.
const PROMPT: &str = "Reply with one word: ready";
/// The output cap of each call. One token would do for a word, but the strictest API takes no less than this.
const TOKENS_MAX: u32 = 16;
/// How long the models are waited for. One that takes longer for a word is slow, not broken.
const DEADLINE_MS: u64 = 60_000;

/// What asking each model of the panel would be: nothing is sent yet.
#[derive(Debug)]
pub struct Probe {
    plan: RunPlan,
}

impl Probe {
    /// What it would do and cost, in a sentence without its end.
    pub fn offer(&self) -> String {
        let models = match self.plan.seats.len() {
            1 => "1 model".to_owned(),
            count => format!("{count} models"),
        };
        let unpriced = self.plan.seats.iter().filter(|seat| seat.price.is_none()).count();
        let unpriced = match unpriced {
            0 => String::new(),
            count => format!(", and what {count} of them without a known price cost"),
        };
        format!("asks {models} of the panel for a word each: at most {}{unpriced}", self.plan.worst_case)
    }
}

/// What came of it.
#[derive(Clone, Debug, Serialize)]
pub struct ProbeReport {
    /// The run it was.
    pub run_id: String,
    /// What it cost, in USD; null where nobody knows.
    pub cost_usd: Option<f64>,
    /// Whether a part of the cost is computed from prices or unknown.
    pub cost_is_estimate: bool,
    /// The models, in the order of the panel.
    pub models: Vec<ProbedModel>,
}

/// What came of asking one model.
#[derive(Clone, Debug, Serialize)]
pub struct ProbedModel {
    /// The model that was asked.
    pub model: String,
    /// The model that answered, as its provider named it.
    pub served_model: Option<String>,
    /// From sending to the first text or reasoning, in milliseconds.
    pub first_token_ms: Option<u64>,
    /// From the first request to the end, in milliseconds.
    pub elapsed_ms: Option<u64>,
    /// What it cost, in USD; null where nobody knows.
    pub cost_usd: Option<f64>,
    /// Why there is no answer.
    pub error: Option<ErrorReport>,
}

impl Doctor {
    /// Plans to ask each model of the panel once. Fails where nobody can be asked, or the budget does not hold it.
    pub async fn plan_probe(&self) -> Result<Probe, Failure> {
        self.principal.check_owner()?;
        let mut defaults = self.settings.defaults();
        let named = self.configured.models().into_iter().filter(Named::is_of_panel);
        // From the settings, so that one model that is gone stops none of the others; and nobody fuses.
        defaults.panel = named.map(|named| named.model.to_string()).collect();
        defaults.synthesizers = Vec::new();
        defaults.wait = Wait::All;
        defaults.retries_max = 0;
        let request = RunRequest {
            max_tokens: Some(TOKENS_MAX),
            deadline_ms: Some(DEADLINE_MS),
            store: Some(StoreMode::Metadata),
            files: Some(false),
            strategy: Some(Strategy::Panel.name().to_owned()),
            ..RunRequest::prompt(PROMPT)
        };
        let plan = self.asking.planner.plan_with(request, defaults).await?;
        budget::check("the run", plan.worst_case, plan.budget)?;
        Ok(Probe { plan })
    }

    /// Asks them.
    pub async fn probe(&self, probe: Probe) -> Result<RunHandle, Failure> {
        self.principal.check_owner()?;
        self.asking.begin(probe.plan).await
    }
}

impl ProbeReport {
    /// What the report of such a run says.
    pub fn of(report: &Report) -> Self {
        let model = |seat: &SeatReport| ProbedModel {
            model: seat.model.clone(),
            served_model: seat.served_model.clone(),
            first_token_ms: seat.first_token_ms,
            elapsed_ms: seat.elapsed_ms,
            cost_usd: seat.cost_usd,
            // That a model was stopped by so low a cap is no failure of its.
            error: seat.error.clone().filter(|error| !has_answered(seat, error)),
        };
        Self {
            run_id: report.run_id.clone(),
            cost_usd: report.cost_usd,
            cost_is_estimate: report.cost_is_estimate,
            models: report.answers.iter().map(model).collect(),
        }
    }

    /// The same as findings.
    pub fn findings(&self) -> Vec<Finding> {
        let cost = self.cost_usd.and_then(PicoUsd::from_f64);
        let cost = cost.map_or_else(|| "what nobody knows".to_owned(), |cost| cost.to_string());
        let described =
            Finding::described(CHECK, Health::Ok, format!("run {} cost {cost}", self.run_id), None);
        // What passes is in the way of one run and not of the next; where no other model answers, it is.
        let is_mute = self.models.iter().all(|model| model.error.is_some());
        self.models.iter().map(|model| model.finding(is_mute)).chain([described]).collect()
    }

    /// That nobody could be asked.
    pub fn refused(failure: &Failure) -> Finding {
        let next = Some(failure.next_steps().into());
        Finding::described(CHECK, Health::Failed, failure.message.clone(), next)
    }
}

/// Whether there was an answer for all that is said of it: thinking counts, and so does a text that was cut.
fn has_answered(seat: &SeatReport, error: &ErrorReport) -> bool {
    seat.status == "cut" || error.code == Code::ReasoningOnly.as_str()
}

impl ProbedModel {
    fn finding(&self, panel_is_mute: bool) -> Finding {
        let Some(error) = &self.error else {
            return Finding::described(CHECK, Health::Ok, self.praise(), None);
        };
        let state = if error.retryable && !panel_is_mute { Health::Warning } else { Health::Failed };
        Finding::described(
            CHECK,
            state,
            format!("{}: {}", self.model, error.message),
            Some(error.steps.as_slice().into()),
        )
    }

    fn praise(&self) -> String {
        let seconds = |ms: Option<u64>| ms.map(|ms| format!("{:.1} s", ms as f64 / 1_000.0));
        let first = seconds(self.first_token_ms).map(|time| format!(", the first text after {time}"));
        let served = self.served_model.as_ref().filter(|served| **served != self.model);
        let served = served.map(|served| format!(", served as {served}"));
        let cost = self.cost_usd.and_then(PicoUsd::from_f64).map(|cost| format!(", {cost}"));
        let time = seconds(self.elapsed_ms).map(|time| format!(" within {time}"));
        let parts = [time, first, served, cost].map(Option::unwrap_or_default);
        format!("{} answers{}", self.model, parts.concat())
    }
}
