//! `ask --dry-run`: the plan of a question and its cost, without asking.

use parallel_llm_engine::request::panel::Seat;
use parallel_llm_engine::{Failure, RunId, RunPlan};
use parallel_llm_service::Question;
use parallel_llm_service::attachment::AttachmentTally;
use serde_json::json;

use super::CommandContext;
use crate::exit;
use crate::terminal::flow_picture::{self, WIDTH};
use crate::terminal::plain;
use crate::terminal::summary;

/// Prints the plan, or the stored run that would be given instead. Fails as asking would.
pub(super) async fn run(
    context: &CommandContext<'_>,
    question: Question,
    attached: AttachmentTally,
    json: bool,
) -> Result<u8, Failure> {
    let quote = context.service.ask.quote(question).await?;
    let cached = quote.cached().await?;
    summary::render_earlier(&context.console, quote.plan().and_then(|plan| plan.continues));
    match (quote.plan(), cached, json) {
        (Some(plan), cached, true) => context.console.data(&format!("{:#}", report(plan, attached, cached))),
        (Some(_), Some(run), false) => context.console.page(&format!(
            "Nothing was asked. The answer of run {run} to this question would be given again, at no cost."
        )),
        (Some(plan), None, false) => context.console.page(&described(plan, attached)),
        (None, _, true) => context.console.data(&format!("{:#}", json!({ "schema": 1, "cost_max_usd": 0 }))),
        (None, _, false) => {
            context.console.page("This question is being answered already: it would wait for that run.");
        }
    }
    quote.check()?;
    Ok(exit::ANSWER)
}

fn described(plan: &RunPlan, attached: AttachmentTally) -> String {
    let mut lines = vec!["Nothing was asked. The question would go to:".to_owned()];
    if plan.flow.is_some() {
        lines.push(String::new());
        lines.extend(flow_picture::lines(plan, WIDTH));
        lines.push(String::new());
    } else {
        lines.extend(plan.seats.iter().map(|seat| format!("  {} {}", seat.number, seat.model)));
        let synthesizer = plan.strategy.fusers(&plan.synthesizers).first().filter(|_| plan.seats.len() > 1);
        let by = synthesizer.map(|synthesizer| format!(", by {}", synthesizer.model)).unwrap_or_default();
        lines.push(format!("Strategy: {}{by}.", plan.strategy.name()));
    }
    if !attached.is_empty() {
        lines.push(format!("Attached: {attached}."));
    }
    lines.push(plain::cost(plan, "Cost: about"));
    lines.join("\n")
}

fn report(plan: &RunPlan, attached: AttachmentTally, cached: Option<RunId>) -> serde_json::Value {
    let model = |seat: &Seat| seat.model.to_string();
    let mut report = json!({
        "schema": 1,
        "strategy": plan.strategy.name(),
        "models": plan.seats.iter().map(model).collect::<Vec<_>>(),
        "synthesizers": plan.strategy.fusers(&plan.synthesizers).iter().map(model).collect::<Vec<_>>(),
        "cost_likely_usd": plan.likely_cost().as_usd(),
        "cost_max_usd": plan.worst_case.as_usd(),
        "models_without_price": plan.seats.iter().filter(|seat| seat.price.is_none()).count(),
        "budget_usd": plan.budget.as_usd(),
    });
    if plan.flow.is_some() {
        report["flow"] = flow_picture::report(plan);
    }
    if !attached.is_empty() {
        report["attachments"] = json!(attached);
    }
    if let Some(run) = cached {
        report["cached_run_id"] = json!(run.to_string());
        report["cost_likely_usd"] = json!(0.0);
        report["cost_max_usd"] = json!(0.0);
    }
    report
}
