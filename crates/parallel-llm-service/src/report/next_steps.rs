//! Next steps of failures, warnings and stored values, in a door's vocabulary.

use parallel_llm_engine::Failure;
use parallel_llm_engine::value::next::{self, Next, Vocabulary};
use serde::Deserialize;
use serde_json::Value;

/// What to do after a failure.
pub fn next_step(failure: &Failure, vocabulary: &Vocabulary) -> String {
    next::render(failure.next_steps(), vocabulary)
}

/// Replaces each member `next` of a stored value, such as an event or a plan, by its text. A member of that name that
/// does not hold typed steps stays as it is.
pub fn render_next_steps(value: &mut Value, vocabulary: &Vocabulary) {
    match value {
        Value::Array(elements) => {
            for element in elements {
                render_next_steps(element, vocabulary);
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                let steps = (name == "next").then(|| Vec::<Next>::deserialize(&*member));
                match steps {
                    Some(Ok(steps)) => *member = Value::from(next::render(&steps, vocabulary)),
                    _ => render_next_steps(member, vocabulary),
                }
            }
        }
        _ => {}
    }
}
