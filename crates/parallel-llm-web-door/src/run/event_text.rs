//! A durable event in a few words.

use parallel_llm_engine::Event;

use crate::text::figures;

/// An event in a few words.
pub(super) fn described(event: &Event) -> String {
    match event {
        Event::Started { reserved, .. } => format!("started; up to {reserved} is reserved"),
        Event::Sent { attempt, .. } => format!("{}: request {} leaves", attempt.slot, attempt.number),
        Event::Accepted { attempt, generation_id } => {
            format!("{}: accepted as {generation_id}", attempt.slot)
        }
        Event::Answered { attempt, answer } => {
            format!("{}: answered, {}", attempt.slot, figures::bytes(answer.text_bytes))
        }
        Event::Cut { attempt, answer, failure } => {
            format!("{}: cut after {}: {failure}", attempt.slot, figures::bytes(answer.text_bytes))
        }
        Event::Failed { attempt, failure, .. } => format!("{}: failed: {failure}", attempt.slot),
        Event::Cancelled { attempt, .. } => format!("{}: cancelled", attempt.slot),
        Event::Skipped { seats } => format!("{} seats are not asked", seats.len()),
        Event::Reopened { reserved, .. } => format!("continued; up to {reserved} is reserved"),
        Event::Reconciled { attempt, cost, .. } => format!("{}: its cost is {cost}", attempt.slot),
        Event::StageDecided { stage, outcome } => format!("stage {stage} decided: {}", outcome.reason),
        Event::Decided { outcome } => format!("decided: {}", outcome.reason),
        Event::Closed { cost } => format!("closed; the known cost is {cost}"),
        Event::Merged { held, .. } => format!("taken in later: {}", described(held)),
    }
}
