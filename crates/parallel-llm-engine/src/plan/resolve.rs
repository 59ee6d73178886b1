//! Resolves a request: fills in what it leaves open, and refuses it if it is wrong.

use std::sync::Arc;

use crate::plan::seats::{self, Sampling};
use crate::plan::{Identity, RunPlan, Terms, budget, hash, question, samples, step};
use crate::request::strategy::{ResolvedStrategy, StrategyChoice};
use crate::request::{Message, RunRequest};
use crate::value::answer::Failure;
use crate::value::code::Code;
use crate::value::money::PicoUsd;

/// The version of the stored shape.
const VERSION: u32 = 1;

impl RunPlan {
    /// Resolves a request. Fails if it is wrong, or if its worst case exceeds the budget.
    pub fn resolve(request: RunRequest, terms: &Terms<'_>, identity: Identity) -> Result<Self, Failure> {
        let plan = Self::draft(request, terms, identity)?;
        budget::check("the run", plan.worst_case, plan.budget)?;
        Ok(plan)
    }

    /// Resolves a request without checking the budget, for callers that check it themselves.
    pub fn draft(request: RunRequest, terms: &Terms<'_>, identity: Identity) -> Result<Self, Failure> {
        let defaults = terms.defaults;
        check_prompt(&request.messages, defaults.prompt_chars_max)?;
        let sampling = Sampling::of(&request, defaults)?;
        let mut warnings = Vec::new();
        let seats = seats::resolve_panel(&request, terms, &sampling, &mut warnings)?;
        let synthesizers = seats::resolve_chain(&request, terms, &sampling)?;
        let mut timers = defaults.timers;
        timers.run_ms = request.deadline_ms.unwrap_or(timers.run_ms);
        let question = question(&request.messages);
        let text = request.strategy.as_deref().unwrap_or(&defaults.strategy);
        let resolved = ResolvedStrategy::of(text, &question, defaults.checker.is_some())?;
        resolved.choice.check_seats(&seats)?;
        let plan_hash = hash::plan_hash(&request, terms, resolved.choice);
        let StrategyChoice { strategy, options } = resolved.choice;
        let seats = if strategy.samples_one_model() {
            samples::sampled_panel(seats, options, &mut warnings)
        } else {
            seats
        };
        let mut plan = Self {
            version: VERSION,
            run_id: identity.run_id,
            seed: identity.seed,
            plan_hash,
            messages: request.messages.into(),
            seats,
            synthesizers,
            strategy,
            strategy_options: options,
            chosen_because: resolved.why.map(str::to_owned),
            steps: Vec::new(),
            timers,
            retries_max: defaults.retries_max,
            wait: resolved.choice.wait(defaults.wait.within_client_timeout(request.client_timeout_ms)),
            budget: request.budget.unwrap_or(defaults.budget),
            worst_case: PicoUsd::ZERO,
            store: request.store.unwrap_or(defaults.store),
            files: request.files.unwrap_or(defaults.files),
            file_names: defaults.file_names.clone(),
            routing: Arc::new(defaults.routing.clone()),
            asked_by: request.asked_by,
            idempotency_key: request.idempotency_key,
            continues: None,
            fresh: request.fresh,
            limits: defaults.limits.clone(),
            warnings,
        };
        plan.steps = step::planned(resolved.choice, &plan.seats, &plan.synthesizers, plan.input_bytes());
        step::number_on(&mut plan.steps, 0)?;
        plan.worst_case = plan.worst_case_of(&plan.seats, &plan.synthesizers, &plan.steps);
        Ok(plan)
    }
}

fn check_prompt(messages: &[Message], chars_max: usize) -> Result<(), Failure> {
    let texts = || messages.iter().flat_map(Message::texts);
    let is_asking = |question: &Message| question.texts().any(|text| !text.trim().is_empty());
    if !messages.last().is_some_and(is_asking) {
        return Err(Failure::new(Code::PromptEmpty, "the prompt is empty"));
    }
    let chars: usize = texts().map(|text| text.chars().count()).sum();
    if chars > chars_max {
        let message = format!("the prompt has {chars} characters; the limit is {chars_max}");
        return Err(Failure::new(Code::PromptTooLong, message));
    }
    Ok(())
}
