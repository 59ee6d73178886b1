//! Resolves a request: fills in what it leaves open, and refuses it if it is wrong.

mod stages;

use std::sync::Arc;

use crate::plan::flow::PlannedFlow;
use crate::plan::seats::{self, References, Sampling};
use crate::plan::size::QuestionSize;
use crate::plan::step::Step;
use crate::plan::worst_case::WorstCase;
use crate::plan::{Identity, RunPlan, Terms, hash, question, step};
use crate::request::flow::{Flow, FlowError};
use crate::request::panel::Seat;
use crate::request::strategy::{ResolvedStrategy, StrategyChoice};
use crate::request::{Message, RunRequest};
use crate::value::answer::Failure;
use crate::value::code::Code;
use crate::value::invisible::is_invisible;
use crate::value::warning::Warning;

/// The version of the stored shape.
const VERSION: u32 = 1;

impl RunPlan {
    /// Resolves a request. Fails if it is wrong, or if its worst case exceeds the budget.
    pub fn resolve(request: RunRequest, terms: &Terms<'_>, identity: Identity) -> Result<Self, Failure> {
        let plan = Self::draft(request, terms, identity)?;
        plan.worst_case.check("the run", plan.budget)?;
        Ok(plan)
    }

    /// Every error of a flow, also those that only show beside the settings.
    pub fn flow_errors(flow: &Flow, terms: &Terms<'_>) -> Vec<FlowError> {
        flow.check().err().unwrap_or_else(|| stages::errors(flow, terms))
    }

    /// Resolves a request without checking the budget, for callers that check it themselves.
    pub fn draft(mut request: RunRequest, terms: &Terms<'_>, identity: Identity) -> Result<Self, Failure> {
        let defaults = terms.defaults;
        if let Some(flow) = defaults.flow.as_ref().filter(|flow| flow.is_preset()) {
            let defaults = stages::as_preset(flow, &mut request, defaults)?;
            return Self::draft(request, &Terms { defaults: &defaults, ..*terms }, identity);
        }
        check_prompt(&request.messages, defaults.prompt_chars_max)?;
        let mut warnings = Vec::new();
        let question_size = QuestionSize::of(&request.messages);
        let Resolved { flow, mut seats, synthesizers, equivalence, mut steps, chosen } = match &defaults.flow
        {
            Some(flow) => stages::resolve(flow, &request, question_size, terms, &mut warnings)?,
            None => panel(&request, question_size, terms, &mut warnings)?,
        };
        step::number_on(&mut steps, 0)?;
        seats::price_for_steps(&mut seats, &steps, terms);
        let mut timers = defaults.timers;
        timers.run_ms = request.deadline_ms.unwrap_or(timers.run_ms);
        let plan_hash = hash::plan_hash(&request, terms, chosen.choice);
        let StrategyChoice { strategy, options } = chosen.choice;
        let mut plan = Self {
            version: VERSION,
            run_id: identity.run_id,
            seed: identity.seed,
            plan_hash,
            messages: request.messages.into(),
            question_size,
            seats,
            synthesizers,
            equivalence,
            strategy,
            strategy_options: options,
            chosen_because: chosen.why.map(str::to_owned),
            steps,
            preset: request.preset,
            flow,
            timers,
            retries_max: defaults.retries_max,
            wait: chosen.choice.wait(defaults.wait.within_client_timeout(request.client_timeout_ms)),
            budget: request.budget.unwrap_or(defaults.budget),
            worst_case: WorstCase::ZERO,
            store: request.store.unwrap_or(defaults.store),
            files: request.files.unwrap_or(defaults.files),
            file_names: defaults.file_names.clone(),
            routing: Arc::new(defaults.routing.clone()),
            asked_by: request.asked_by,
            idempotency_key: request.idempotency_key,
            continues: None,
            has_instructions: false,
            lineage: Arc::new(request.lineage),
            fresh: request.fresh,
            limits: defaults.limits.clone(),
            warnings,
        };
        plan.worst_case = plan.worst_case_of(&plan.seats, &plan.synthesizers, &plan.steps);
        Ok(plan)
    }
}

/// Who is asked, and what makes one text of the answers.
pub(super) struct Resolved {
    pub(super) flow: Option<PlannedFlow>,
    pub(super) seats: Vec<Seat>,
    pub(super) synthesizers: Vec<Seat>,
    pub(super) equivalence: Option<Seat>,
    /// The steps, not numbered yet.
    pub(super) steps: Vec<Step>,
    pub(super) chosen: ResolvedStrategy,
}

/// Resolves a question to one panel.
fn panel(
    request: &RunRequest,
    size: QuestionSize,
    terms: &Terms<'_>,
    warnings: &mut Vec<Warning>,
) -> Result<Resolved, Failure> {
    let defaults = terms.defaults;
    let sampling = Sampling::of(request, defaults)?;
    let references = References::of_panel(request, defaults);
    let mut seats = seats::resolve_panel(references, &request.messages, terms, &sampling, warnings)?;
    let by_hand = request.synthesizer.as_ref();
    let synthesizers = seats::resolve_chain(by_hand, &defaults.synthesizers, terms, &sampling, warnings)?;
    let text = request.strategy.as_deref().unwrap_or(&defaults.strategy);
    let chosen = ResolvedStrategy::of(text, &question(&request.messages), defaults.checker.is_some())?;
    chosen.choice.check_seats(&seats)?;
    seats::ask_for_line(&mut seats, chosen.choice, &question(&request.messages), defaults.answer_line);
    let equivalence =
        if chosen.choice.counts() { seats::resolve_equivalence(&seats, terms, warnings)? } else { None };
    let steps = step::planned(chosen.choice, &seats, &synthesizers, size, equivalence.is_some());
    Ok(Resolved { flow: None, seats, synthesizers, equivalence, steps, chosen })
}

fn check_prompt(messages: &[Message], chars_max: usize) -> Result<(), Failure> {
    let texts = || messages.iter().flat_map(Message::texts);
    // A byte order mark or a joiner alone is no question.
    let is_seen = |letter: char| !letter.is_whitespace() && !letter.is_control() && !is_invisible(letter);
    let is_asking = |question: &Message| question.texts().any(|text| text.contains(is_seen));
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
