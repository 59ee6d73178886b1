//! A run's line in the list: the engine's fold of its events as columns.
//!
//! Using the engine's fold keeps list and run from disagreeing.

use std::sync::Arc;

use parallel_llm_engine::{Failure, ModelRef, PicoUsd, Run, RunId, RunPlan};
use serde_json::Value;

use super::checksum::Checksum;
use super::ownership::Ownership;
use super::{count, integer};
use crate::history::runs::{PRESET_MARK, RunSummary};
use crate::system::error;

/// The columns that follow from the run's plan and events.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunRow {
    pub(crate) run_id: String,
    pub(crate) status: String,
    pub(crate) question_excerpt: Option<String>,
    pub(crate) strategy: String,
    pub(crate) seats: i64,
    pub(crate) answered: i64,
    pub(crate) cost_pico_usd: i64,
    pub(crate) cost_is_estimate: i64,
    pub(crate) created_at_ms: i64,
    pub(crate) decided_at_ms: Option<i64>,
    pub(crate) closed_at_ms: Option<i64>,
    pub(crate) asked_by: Option<String>,
    pub(crate) last_seq: i64,
    /// The models of its seats, each once, and behind [`PRESET_MARK`] its preset or flow, as JSON; `None` if an older version
    /// wrote the row.
    pub(crate) models: Option<String>,
}

/// A row as read from the database.
#[derive(Clone, Debug)]
pub(crate) struct StoredRow {
    pub(crate) row: RunRow,
    /// `None` if an older version wrote it.
    pub(crate) checksum: Option<i64>,
}

/// A run as read from the database: its owner, epoch, plan and row.
#[derive(Debug)]
pub(crate) struct RunRecord {
    pub(crate) ownership: Ownership,
    pub(crate) epoch: u64,
    pub(crate) plan_json: String,
    pub(crate) plan_checksum: Option<i64>,
    pub(crate) stored: StoredRow,
}

/// A line of the list as read from the database.
#[derive(Debug)]
pub(crate) struct ListedRun {
    pub(crate) ownership: Ownership,
    pub(crate) stored: StoredRow,
    /// Whether the cost of a call is missing, for good or for now.
    pub(crate) cost_lacks_calls: bool,
}

/// The epoch and newest event of a run at some time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RunMoment {
    pub(crate) epoch: u64,
    pub(crate) seq: u64,
}

/// A run with an idempotency key.
#[derive(Debug)]
pub(crate) struct KeyedRun {
    pub(crate) run_id: RunId,
    pub(crate) plan_hash: String,
}

/// An unfinished run of the same question.
#[derive(Debug)]
pub(crate) struct SimilarRun {
    pub(crate) ownership: Ownership,
    pub(crate) run_id: RunId,
    pub(crate) status: String,
    pub(crate) created_at_ms: i64,
    /// Whether its texts are stored, and no later run of the question has an answer.
    pub(crate) is_of_use: bool,
}

impl RunRow {
    /// The row of a run without events.
    pub(crate) fn new(run: &Run, question_excerpt: Option<String>, now_ms: i64) -> Self {
        let mut row = Self {
            run_id: run.plan.run_id.to_string(),
            status: String::new(),
            question_excerpt,
            strategy: String::new(),
            seats: 0,
            answered: 0,
            cost_pico_usd: 0,
            cost_is_estimate: 0,
            created_at_ms: now_ms,
            decided_at_ms: None,
            closed_at_ms: None,
            asked_by: run.plan.asked_by.clone(),
            last_seq: 0,
            models: None,
        };
        row.follow(run);
        row
    }

    /// Updates the columns from the run.
    pub(crate) fn follow(&mut self, run: &Run) {
        run.status.as_str().clone_into(&mut self.status);
        run.plan.strategy.name().clone_into(&mut self.strategy);
        let seats = integer(run.seats.len() as u64);
        // Seats are added, but never change their models.
        if self.models.is_none() || self.seats != seats {
            self.models = Some(models_json(run.seats.iter().map(|view| &view.model), &run.plan));
        }
        self.seats = seats;
        self.answered = integer(run.answered() as u64);
        self.cost_pico_usd = run.cost().0;
        self.cost_is_estimate = run.cost_is_estimate().into();
        self.last_seq = integer(run.seq);
    }

    pub(crate) fn checksum(&self) -> Checksum {
        let sum = Checksum::of("runs")
            .text(Some(&self.run_id))
            .text(Some(&self.status))
            .text(self.question_excerpt.as_deref())
            .text(Some(&self.strategy))
            .number(Some(self.seats))
            .number(Some(self.answered))
            .number(Some(self.cost_pico_usd))
            .number(Some(self.cost_is_estimate))
            .number(Some(self.created_at_ms))
            .number(self.decided_at_ms)
            .number(self.closed_at_ms)
            .text(self.asked_by.as_deref())
            .number(Some(self.last_seq));
        // A row of an older version has no models, and its checksum does not count them.
        if self.models.is_some() { sum.text(self.models.as_deref()) } else { sum }
    }

    /// The models of its seats, and behind its mark the preset; empty if they are unknown.
    pub(crate) fn models(&self) -> Vec<String> {
        let models = self.models.as_deref().map(serde_json::from_str);
        models.and_then(Result::ok).unwrap_or_default()
    }
}

impl StoredRow {
    /// Whether the row matches its checksum.
    pub(crate) fn is_sound(&self) -> bool {
        self.row.checksum().matches(self.checksum)
    }

    /// The public form of the line.
    pub(crate) fn summary(self, cost_lacks_calls: bool) -> Result<RunSummary, Failure> {
        let is_damaged = !self.is_sound();
        let (presets, models): (Vec<String>, _) =
            self.row.models().into_iter().partition(|name| name.starts_with(PRESET_MARK));
        let preset = presets.first().map(|preset| preset[PRESET_MARK.len()..].to_owned());
        let row = self.row;
        let unreadable = |cause: &dyn std::fmt::Display| error::unreadable("a run", cause);
        Ok(RunSummary {
            run_id: row.run_id.parse::<RunId>().map_err(|cause| unreadable(&cause))?,
            status: serde_json::from_value(Value::String(row.status)).map_err(|cause| unreadable(&cause))?,
            question_excerpt: row.question_excerpt,
            asked_by: row.asked_by,
            strategy: row.strategy,
            preset,
            models,
            seats: count(row.seats),
            answered: count(row.answered),
            cost: PicoUsd(row.cost_pico_usd),
            cost_is_estimate: row.cost_is_estimate != 0,
            cost_lacks_calls,
            created_at_ms: row.created_at_ms,
            decided_at_ms: row.decided_at_ms,
            closed_at_ms: row.closed_at_ms,
            is_damaged,
        })
    }
}

impl RunRecord {
    pub(crate) fn plan(&self) -> Result<Arc<RunPlan>, Failure> {
        serde_json::from_str(&self.plan_json)
            .map(Arc::new)
            .map_err(|cause| error::unreadable("a plan", &cause))
    }

    /// Whether the plan matches its checksum.
    pub(crate) fn is_plan_sound(&self) -> bool {
        plan_checksum(&self.stored.row.run_id, &self.plan_json).matches(self.plan_checksum)
    }
}

/// The names of these models, each once.
pub(crate) fn model_names<'a>(models: impl Iterator<Item = &'a ModelRef>) -> Vec<String> {
    let mut names = Vec::new();
    for name in models.map(ToString::to_string) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// The names of these models, each once, as JSON.
pub(crate) fn models_json<'a>(models: impl Iterator<Item = &'a ModelRef>, plan: &RunPlan) -> String {
    let mut names = model_names(models);
    names.extend(plan.preset.as_ref().map(|preset| format!("{PRESET_MARK}{preset}")));
    serde_json::to_string(&names).expect("names are plain data")
}

/// The checksum of a run's plan.
pub(crate) fn plan_checksum(run_id: &str, plan_json: &str) -> Checksum {
    Checksum::of("plan").text(Some(run_id)).text(Some(plan_json))
}
