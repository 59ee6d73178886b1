//! The next steps of failures, warnings and stored values, in the words of the door that tells them.

use parallel_llm_engine::Failure;
use parallel_llm_engine::value::next::{self, Next, Vocabulary};
use serde::Deserialize;
use serde_json::Value;

/// What to do after a failure.
pub fn after(failure: &Failure, words: &Vocabulary) -> String {
    next::say(failure.next_steps(), words)
}

/// Says the next steps of a value that is told as it is stored, such as an event or a plan.
pub fn say_in(value: &mut Value, words: &Vocabulary) {
    match value {
        Value::Array(elements) => elements.iter_mut().for_each(|element| say_in(element, words)),
        Value::Object(members) => {
            for (name, member) in members {
                let steps = (name == "next").then(|| Vec::<Next>::deserialize(&*member));
                match steps {
                    Some(Ok(steps)) => *member = Value::from(next::say(&steps, words)),
                    _ => say_in(member, words),
                }
            }
        }
        _ => {}
    }
}
