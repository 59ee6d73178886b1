//! A run about to begin, and its stored form.

use std::sync::Arc;

use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::{Message, RunPlan};

use super::compressed::TextBody;

/// Longest excerpt of a question in the list, in characters: more than a line of a wide terminal.
const EXCERPT_CHARS_MAX: usize = 200;

/// A run without events.
#[derive(Debug)]
pub(crate) struct NewRun {
    pub(crate) plan: Arc<RunPlan>,
    /// The plan as stored; without texts if only metadata is stored.
    pub(crate) plan_json: Arc<str>,
    pub(crate) plan_body: TextBody,
    pub(crate) question_excerpt: Option<String>,
}

impl NewRun {
    pub(crate) fn of(plan: Arc<RunPlan>) -> Self {
        let question_excerpt = keeps_texts(&plan).then(|| excerpt(&plan));
        let stored = if keeps_texts(&plan) {
            serde_json::to_string(&*plan)
        } else {
            serde_json::to_string(&plan.without_texts())
        };
        let plan_json = Arc::from(stored.expect("a plan is plain data with string keys"));
        Self { plan, plan_body: TextBody::of(&plan_json), plan_json, question_excerpt }
    }
}

/// Whether the run's prompt and answers are stored, or only metadata.
pub(crate) fn keeps_texts(plan: &RunPlan) -> bool {
    plan.store == StoreMode::Full
}

/// The store mode as its column has it.
pub(crate) const fn mode_name(mode: StoreMode) -> &'static str {
    match mode {
        StoreMode::Full => "full",
        StoreMode::Metadata => "metadata",
        StoreMode::None => "none",
    }
}

/// The beginning of the question on one line.
fn excerpt(plan: &RunPlan) -> String {
    let question = plan.messages.last().into_iter().flat_map(Message::texts);
    let mut line = String::new();
    for word in question.flat_map(str::split_whitespace) {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        if let Some((end, _)) = line.char_indices().nth(EXCERPT_CHARS_MAX) {
            line.truncate(end);
            line.push('…');
            break;
        }
    }
    line
}
