//! `ask --dry-run`: the plan of a question and its cost, without asking.

use parallel_llm_engine::plan::step::StepRole;
use parallel_llm_engine::request::panel::Seat;
use parallel_llm_engine::text::safe;
use parallel_llm_engine::{Code, Failure, ModelRef, PicoUsd, RunId, RunPlan};
use parallel_llm_service::Question;
use parallel_llm_service::attachment::AttachmentTally;
use parallel_llm_service::report::ErrorReport;
use parallel_llm_service::report::expected_cost::ExpectedCost;
use serde_json::json;

use super::outgoing::{Outgoing, Source};
use crate::command::context::CommandContext;
use crate::exit;
use crate::terminal::console::Tone;
use crate::terminal::flow_picture::{self, WIDTH};
use crate::terminal::plain;
use crate::terminal::summary;
use crate::terminal::vocabulary::COMMAND_LINE;

/// What the question is made of.
pub(super) struct Sent {
    pub(super) attached: AttachmentTally,
    pub(super) parts: Vec<Outgoing>,
}

impl Sent {
    /// Everything that would be sent, unless it is only the text that the user has just typed.
    fn parts_of(&self, plan: &RunPlan) -> Option<Vec<Outgoing>> {
        let parts: Vec<Outgoing> = self.parts.iter().cloned().chain(Outgoing::conversation(plan)).collect();
        parts.iter().any(|part| part.source != Source::Text).then_some(parts)
    }
}

/// Prints the plan, or the stored run that would be given instead. Fails as asking would.
pub(super) async fn run(
    context: &CommandContext<'_>,
    question: Question,
    sent: &Sent,
    json: bool,
) -> Result<u8, Failure> {
    let quote = context.service.ask.quote(question).await?;
    let cached = quote.cached().await?;
    let has_cached = cached.is_some();
    summary::render_earlier(&context.console, quote.plan().and_then(|plan| plan.continues));
    match (quote.plan(), cached, json) {
        (Some(plan), cached, true) => context.console.data(&format!("{:#}", report(plan, sent, cached))),
        (Some(_), Some(run), false) => context.console.page(&format!(
            "Nothing was asked. The answer of run {run} to this question would be given again, at no cost."
        )),
        (Some(plan), None, false) => {
            context.console.page(&described(plan, sent));
            // A model that does not exist is told as a refusal.
            let others = plan.warnings.iter().filter(|warning| warning.code != Code::ModelUnknown);
            summary::render_warnings(&context.console, others);
        }
        (None, _, true) => context.console.data(&format!("{:#}", json!({ "schema": 1, "cost_max_usd": 0 }))),
        (None, _, false) => {
            context.console.page("This question is being answered already: it would wait for that run.");
        }
    }
    quote.check()?;
    match quote.plan() {
        // The stored answer of an earlier run asks nobody.
        Some(plan) if !has_cached => {
            quote.check_day().await?;
            check_models(context, plan)
        }
        _ => Ok(exit::ANSWER),
    }
}

/// Fails if no model of the panel exists: nobody would answer.
pub(super) fn check_panel(plan: &RunPlan) -> Result<(), Failure> {
    let warning_of = |seat: &Seat| {
        let named = format!("`{}`", seat.model);
        plan.warnings
            .iter()
            .find(|warning| warning.code == Code::ModelUnknown && warning.message.contains(&named))
    };
    let warnings: Option<Vec<_>> = plan.seats.iter().map(warning_of).collect();
    match warnings.as_deref() {
        Some([first, ..]) => {
            Err(Failure::new(first.code, first.message.clone()).with_next(first.next.clone()))
        }
        _ => Ok(()),
    }
}

/// Fails if a model of the settings does not exist: its seat would be lost. One that is named in the call is refused anyway.
fn check_models(context: &CommandContext<'_>, plan: &RunPlan) -> Result<u8, Failure> {
    let mut unknown = plan.warnings.iter().filter(|warning| warning.code == Code::ModelUnknown);
    let Some(first) = unknown.next() else { return Ok(exit::ANSWER) };
    for warning in unknown {
        context.console.say(&context.console.tone(Tone::Warning, &safe::for_terminal(&warning.message)));
    }
    Err(Failure::new(first.code, first.message.clone()).with_next(first.next.clone()))
}

fn described(plan: &RunPlan, sent: &Sent) -> String {
    let mut lines = vec!["Nothing was asked. The question would go to:".to_owned()];
    if plan.flow.is_some() {
        lines.push(String::new());
        lines.extend(flow_picture::lines(plan, WIDTH));
        lines.push(String::new());
    } else {
        lines.extend(plan.seats.iter().map(|seat| format!("  {} {}", seat.number, seat.model)));
        lines.push(format!("Strategy: {}.", flow_picture::strategy(plan)));
    }
    if let Some(seat) = &plan.equivalence {
        lines.push(format!("Short answers that are written differently: compared by {}.", seat.model));
    }
    if let Some(parts) = sent.parts_of(plan) {
        lines.push("It would send:".to_owned());
        lines.extend(parts.iter().map(|part| format!("  {}", part.described())));
    }
    if !sent.attached.is_empty() {
        lines.push(format!("Attached: {}.", sent.attached));
    }
    lines.push(plain::cost(plan, "Cost:"));
    lines.join("\n")
}

/// The models that judge answers, those first that are asked first.
fn judges(plan: &RunPlan) -> Vec<String> {
    let judgements = plan.steps.iter().filter(|step| step.key.role == StepRole::Judge);
    let mut judges: Vec<String> = Vec::new();
    for judge in judgements.filter_map(|step| Some(plan.seat_at(step.key.by)?.model.to_string())) {
        if !judges.contains(&judge) {
            judges.push(judge);
        }
    }
    judges
}

fn names(models: &[ModelRef]) -> Vec<String> {
    models.iter().map(ToString::to_string).collect()
}

fn report(plan: &RunPlan, sent: &Sent, cached: Option<RunId>) -> serde_json::Value {
    let model = |seat: &Seat| seat.model.to_string();
    let warning = |warning| ErrorReport::of_warning(warning).in_vocabulary(&COMMAND_LINE);
    let worst_case = plan.worst_case.clone().plus(&plan.unlisted());
    let mut report = json!({
        "schema": 1,
        "strategy": plan.strategy.name(),
        "models": plan.seats.iter().map(model).collect::<Vec<_>>(),
        "synthesizers": plan.strategy.fusers(&plan.synthesizers).iter().map(model).collect::<Vec<_>>(),
        "judges": judges(plan),
        "equivalence_model": plan.equivalence.as_ref().map(model),
        "cost_likely_usd": ExpectedCost::of(plan).likely().map(PicoUsd::as_usd),
        "cost_max_usd": worst_case.known().map(|_| plan.most().as_usd()),
        "models_without_price": worst_case.unpriced().len(),
        "unpriced_models": names(worst_case.unpriced()),
        "estimated_prices": names(&plan.estimated()),
        "budget_usd": plan.budget.limit_as_usd(),
        "warnings": plan.warnings.iter().map(warning).collect::<Vec<_>>(),
    });
    if plan.flow.is_some() {
        report["flow"] = flow_picture::report(plan);
    }
    if let Some(parts) = sent.parts_of(plan) {
        report["sends"] = json!(parts);
    }
    if !sent.attached.is_empty() {
        report["attachments"] = json!(sent.attached);
    }
    if let Some(run) = cached {
        report["cached_run_id"] = json!(run.to_string());
        report["cost_likely_usd"] = json!(0.0);
        report["cost_max_usd"] = json!(0.0);
    }
    report
}
