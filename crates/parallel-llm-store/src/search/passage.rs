//! What of a text is searched.

use parallel_llm_engine::{Message, Role, RunPlan};

/// Stands for a text's hash where it is the run's plan.
pub(crate) const PLAN_HASH: &str = "";

/// What of a text is searched: of a plan its question, of any other all.
pub(crate) fn searchable_text(hash: &str, text: String) -> String {
    if hash != PLAN_HASH {
        return text;
    }
    // One that cannot be read has no question; whoever opens the run sees the damage.
    let plan: Option<RunPlan> = serde_json::from_str(&text).ok();
    let messages = plan.iter().flat_map(|plan| plan.messages.iter());
    let asked = messages.filter(|message| message.role != Role::System).flat_map(Message::texts);
    asked.collect::<Vec<_>>().join("\n")
}
