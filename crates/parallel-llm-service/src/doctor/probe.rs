//! The probe: asks each model of the panel for a word, the only proof that it answers.
//!
//! It costs money, so it is an ordinary run: planned with a worst case, within the budget and daily limits, in the
//! ledger and in the history, which keeps only its metadata.

use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::request::strategy::Strategy;
use parallel_llm_engine::request::wait::Wait;
use parallel_llm_engine::{Code, Failure, PicoUsd, RunPlan, RunRequest};
use serde::Serialize;

use super::finding::{Finding, Health};
use super::instruments::Doctor;
use crate::models::check::NamedModel;
use crate::report::{ErrorReport, Report, SeatReport};
use crate::runs::RunHandle;

/// The check's name.
const CHECK: &str = "probe";
/// The question.
const PROMPT: &str = "Reply with one word: ready";
/// The output cap of each call. One token would suffice, but the strictest API accepts no less.
const TOKENS_MAX: u32 = 16;
/// The longest wait for the models. A slower one is slow, not broken.
const DEADLINE_MS: u64 = 60_000;

/// A planned probe. Nothing is sent yet.
#[derive(Debug)]
pub struct Probe {
    plan: RunPlan,
}

impl Probe {
    /// What the probe would do and cost, as a sentence without a period.
    pub fn offer(&self) -> String {
        let models = match self.plan.seats.len() {
            1 => "1 model".to_owned(),
            count => format!("{count} models"),
        };
        format!("asks {models} of the panel for a word each: at most {}", self.plan.worst_case)
    }
}

/// The result of a probe.
#[derive(Clone, Debug, Serialize)]
pub struct ProbeReport {
    /// The id of its run.
    pub run_id: String,
    /// The cost in USD; null if unknown.
    pub cost_usd: Option<f64>,
    /// Whether a part of the cost is computed from prices or unknown.
    pub cost_is_estimate: bool,
    /// The models, in the order of the panel.
    pub models: Vec<ProbedModel>,
}

/// The result for one model.
#[derive(Clone, Debug, Serialize)]
pub struct ProbedModel {
    /// The model that was asked.
    pub model: String,
    /// The model that answered, as its provider named it.
    pub served_model: Option<String>,
    /// The time from sending to the first text or reasoning, in milliseconds.
    pub first_token_ms: Option<u64>,
    /// The time from the first request to the end, in milliseconds.
    pub elapsed_ms: Option<u64>,
    /// The cost in USD; null if unknown.
    pub cost_usd: Option<f64>,
    /// Why there is no answer.
    pub error: Option<ErrorReport>,
}

impl Doctor {
    /// Plans a probe. Fails if no model can be asked, or if the budget is too low.
    pub async fn plan_probe(&self) -> Result<Probe, Failure> {
        self.principal.check_owner()?;
        if let Some(unread) = self.settings.unread.first() {
            // What could not be read may be a limit on what a run costs.
            return Err(unread.clone());
        }
        let mut defaults = self.settings.defaults();
        let named = self.configured.models().into_iter().filter(NamedModel::is_of_panel);
        // Models named by the settings, so that a missing one fails only its own seat; and no synthesis.
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
        plan.worst_case.check("the run", plan.budget)?;
        Ok(Probe { plan })
    }

    /// Begins the probe.
    pub async fn probe(&self, probe: Probe) -> Result<RunHandle, Failure> {
        self.principal.check_owner()?;
        self.asking.begin_run(probe.plan).await
    }
}

impl ProbeReport {
    /// The result from the report of the run.
    pub fn of(report: &Report) -> Self {
        let model = |seat: &SeatReport| ProbedModel {
            model: seat.model.clone(),
            served_model: seat.served_model.clone(),
            first_token_ms: seat.first_token_ms,
            elapsed_ms: seat.elapsed_ms,
            cost_usd: seat.cost_usd,
            // Stopping at such a low cap is no failure.
            error: seat.error.clone().filter(|error| !has_answered(seat, error)),
        };
        Self {
            run_id: report.run_id.clone(),
            cost_usd: report.cost_usd,
            cost_is_estimate: report.cost_is_estimate,
            models: report.answers.iter().map(model).collect(),
        }
    }

    /// The result as findings.
    pub fn findings(&self) -> Vec<Finding> {
        let cost = self.cost_usd.and_then(PicoUsd::from_f64);
        let cost = cost.map_or_else(|| "an unknown amount".to_owned(), |cost| cost.to_string());
        let described =
            Finding::described(CHECK, Health::Ok, format!("run {} cost {cost}", self.run_id), None);
        // A passing failure affects one run only; but if no other model answers, it prevents runs.
        let is_mute = self.models.iter().all(|model| model.error.is_some());
        self.models.iter().map(|model| model.finding(is_mute)).chain([described]).collect()
    }

    /// The finding if no model could be asked.
    pub fn refused(failure: &Failure) -> Finding {
        let next = Some(failure.next_steps().into());
        Finding::described(CHECK, Health::Failed, failure.message.clone(), next)
    }
}

/// Whether the model answered despite the error: reasoning counts, and so does a cut text.
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
