//! Messages and plans as readers see them: each file by its name, type and size, without its bytes.

use parallel_llm_engine::{Message, Part, RunPlan};
use serde_json::{Value, json};

/// The messages for readers: their texts, and their files by name, type and size.
pub fn prompt_text(messages: &[Message]) -> String {
    let described = |part: &Part| match part {
        Part::Text { text } => text.clone(),
        Part::File(file) => format!("[attached: {}, {}, {} bytes]", file.name, file.media_type, file.bytes()),
    };
    let parts = messages.iter().flat_map(|message| &message.parts);
    parts.map(described).collect::<Vec<_>>().join("\n\n")
}

/// The messages as JSON, with the size of each file in place of its bytes.
pub fn messages_json(messages: &[Message]) -> Value {
    let part = |part: &Part| match part {
        Part::File(file) => {
            json!({ "type": "file", "name": file.name, "media_type": file.media_type, "bytes": file.bytes() })
        }
        Part::Text { text } => json!({ "type": "text", "text": text }),
    };
    let message = |message: &Message| {
        let parts: Vec<Value> = message.parts.iter().map(part).collect();
        json!({ "role": message.role, "parts": parts })
    };
    messages.iter().map(message).collect::<Vec<Value>>().into()
}

/// The plan as JSON, with the size of each file in place of its bytes.
pub fn plan_json(plan: &RunPlan) -> Value {
    let mut described = json!(RunPlan { messages: [].into(), ..plan.clone() });
    described["messages"] = messages_json(&plan.messages);
    described
}
