//! Selects the searchable part of a stored text.

use parallel_llm_engine::{Message, Role, RunPlan};

/// The hash that marks a run's plan.
pub(crate) const PLAN_HASH: &str = "";

/// The searchable text: the question of a plan, and any other text whole.
pub(crate) fn searchable_text(hash: &str, text: String) -> String {
    if hash != PLAN_HASH {
        return text;
    }
    // An unreadable plan has no question; opening the run shows the damage.
    let plan: Option<RunPlan> = serde_json::from_str(&text).ok();
    let messages = plan.iter().flat_map(|plan| plan.messages.iter());
    let asked = messages.filter(|message| message.role != Role::System).flat_map(Message::texts);
    asked.collect::<Vec<_>>().join("\n")
}
