//! `ask --dry-run`: the plan of a question and its cost, without asking.

use parallel_llm_engine::plan::slots::TYPICAL_REPLY_TOKENS;
use parallel_llm_engine::request::panel::Seat;
use parallel_llm_engine::{Failure, RunPlan};
use parallel_llm_service::Question;
use serde_json::json;

use super::CommandContext;
use crate::exit;

/// Prints the plan. Fails as asking would.
pub(super) async fn run(context: &CommandContext<'_>, question: Question, json: bool) -> Result<u8, Failure> {
    let quote = context.service.ask.quote(question).await?;
    match (quote.plan(), json) {
        (Some(plan), true) => context.console.data(&format!("{:#}", report(plan))),
        (Some(plan), false) => context.console.page(&described(plan)),
        (None, true) => context.console.data(&format!("{:#}", json!({ "schema": 1, "cost_max_usd": 0 }))),
        (None, false) => {
            context.console.page("This question is being answered already: it would wait for that run.");
        }
    }
    quote.check()?;
    Ok(exit::ANSWER)
}

fn described(plan: &RunPlan) -> String {
    let mut lines = vec!["Nothing was asked. The question would go to:".to_owned()];
    lines.extend(plan.seats.iter().map(|seat| format!("  {} {}", seat.number, seat.model)));
    let synthesizer = plan.strategy.fusers(&plan.synthesizers).first().filter(|_| plan.seats.len() > 1);
    let by = synthesizer.map(|synthesizer| format!(", by {}", synthesizer.model)).unwrap_or_default();
    lines.push(format!("Strategy: {}{by}.", plan.strategy.name()));
    let unpriced = plan.seats.iter().filter(|seat| seat.price.is_none()).count();
    let unpriced = match unpriced {
        0 => String::new(),
        1 => ", without the cost of one model, whose price is unknown".to_owned(),
        count => format!(", without the cost of {count} models, whose prices are unknown"),
    };
    lines.push(format!(
        "Cost: about {} with {TYPICAL_REPLY_TOKENS} tokens for each reply, at most {}{unpriced}. The budget is {}.",
        plan.likely_cost(),
        plan.worst_case,
        plan.budget
    ));
    lines.join("\n")
}

fn report(plan: &RunPlan) -> serde_json::Value {
    let model = |seat: &Seat| seat.model.to_string();
    json!({
        "schema": 1,
        "strategy": plan.strategy.name(),
        "models": plan.seats.iter().map(model).collect::<Vec<_>>(),
        "synthesizers": plan.strategy.fusers(&plan.synthesizers).iter().map(model).collect::<Vec<_>>(),
        "cost_likely_usd": plan.likely_cost().as_usd(),
        "cost_max_usd": plan.worst_case.as_usd(),
        "models_without_price": plan.seats.iter().filter(|seat| seat.price.is_none()).count(),
        "budget_usd": plan.budget.as_usd(),
    })
}
