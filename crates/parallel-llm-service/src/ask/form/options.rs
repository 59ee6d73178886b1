//! The options of a question.

use parallel_llm_engine::plan::IDEMPOTENCY_KEY_BYTES_MAX;
use parallel_llm_engine::request::strategy::{ResolvedStrategy, Strategy};
use parallel_llm_engine::request::{OUTPUT_TOKENS_MAX, StoreMode, TEMPERATURE_MAX};
use parallel_llm_engine::{Effort, Failure};

use super::field::Field;
use super::kind::{Given, ValueKind};
use crate::ask::Question;

/// An option of a question, and how it is set.
pub struct QuestionOption {
    /// What it takes.
    pub field: Field,
    set: fn(&mut Question, Given) -> Result<(), Failure>,
}

impl QuestionOption {
    /// Sets it to a value of its kind. Fails for what only the engine can refuse.
    pub fn set(&self, question: &mut Question, given: Given) -> Result<(), Failure> {
        (self.set)(question, given)
    }
}

/// The option of this name. Every name in the code is one of them.
pub fn option(name: &str) -> &'static QuestionOption {
    OPTIONS.iter().find(|option| option.field.name == name).expect("the name is one of the options")
}

/// All options.
pub static OPTIONS: [QuestionOption; 13] = [
    QuestionOption {
        field: Field {
            name: "models",
            kind: ValueKind::Texts,
            about: "Names from list_models; `name*2` asks one twice. Default: the user's panel.",
            example: "[\"~openai/gpt-sol-latest\", \"~google/gemini-pro-latest\"]",
        },
        set: |question, given| {
            question.request.models = given.texts();
            Ok(())
        },
    },
    QuestionOption {
        field: Field {
            name: "synthesizer",
            kind: ValueKind::Text,
            about: "Who fuses the answers.",
            example: "\"~google/gemini-pro-latest\"",
        },
        set: |question, given| {
            question.request.synthesizer = given.text();
            Ok(())
        },
    },
    QuestionOption {
        field: Field {
            name: "strategy",
            kind: ValueKind::Named(|| Strategy::names().collect()),
            about: "How the answers become one. Options follow `@`: vote@first=2.",
            example: "\"vote@first=2\"",
        },
        set: |question, given| {
            let strategy = given.text();
            strategy.as_deref().map_or(Ok(()), ResolvedStrategy::check)?;
            question.request.strategy = strategy;
            Ok(())
        },
    },
    QuestionOption {
        field: Field {
            name: "preset",
            kind: ValueKind::Text,
            about: "A named panel or flow.",
            example: "\"quick\"",
        },
        set: |question, given| {
            question.preset = given.text();
            Ok(())
        },
    },
    QuestionOption {
        field: Field {
            name: "temperature",
            kind: ValueKind::Number(TEMPERATURE_MAX),
            about: "Of each model.",
            example: "0.7",
        },
        set: |question, given| {
            question.request.temperature = given.number();
            Ok(())
        },
    },
    QuestionOption {
        field: Field {
            name: "max_tokens",
            kind: ValueKind::Whole(1, OUTPUT_TOKENS_MAX as u64),
            about: "Output cap of each model, reasoning included.",
            example: "16000",
        },
        set: |question, given| {
            question.request.max_tokens = given.tokens();
            Ok(())
        },
    },
    QuestionOption {
        field: Field {
            name: "effort",
            kind: ValueKind::Choice(|| Effort::ALL.iter().map(|effort| effort.word()).collect()),
            about: "How hard they think.",
            example: "\"high\"",
        },
        set: |question, given| {
            question.request.effort = given.text().and_then(|word| Effort::by_word(&word));
            Ok(())
        },
    },
    QuestionOption {
        field: Field { name: "files", kind: ValueKind::Switch, about: "Also write files.", example: "true" },
        set: |question, given| {
            question.request.files = given.switch();
            Ok(())
        },
    },
    QuestionOption {
        field: Field {
            name: "budget_usd",
            kind: ValueKind::Usd,
            about: "Refuse if it could cost more.",
            example: "0.5",
        },
        set: |question, given| {
            question.request.budget = given.usd();
            Ok(())
        },
    },
    QuestionOption {
        field: Field {
            name: "deadline_s",
            kind: ValueKind::Seconds,
            about: "Time for the run.",
            example: "300",
        },
        set: |question, given| {
            question.request.deadline_ms = given.millis();
            Ok(())
        },
    },
    QuestionOption {
        field: Field {
            name: "idempotency_key",
            kind: ValueKind::Key(IDEMPOTENCY_KEY_BYTES_MAX),
            about: "Same key and question, same run.",
            example: "\"ticket-4711\"",
        },
        set: |question, given| {
            question.request.idempotency_key = given.text();
            Ok(())
        },
    },
    QuestionOption {
        field: Field {
            name: "fresh",
            kind: ValueKind::Switch,
            about: "Ask anew in spite of an unfinished run.",
            example: "true",
        },
        set: |question, given| {
            question.request.fresh = given.switch().unwrap_or_default();
            Ok(())
        },
    },
    QuestionOption {
        field: Field {
            name: "store",
            kind: ValueKind::Choice(|| StoreMode::ALL.iter().map(|mode| mode.word()).collect()),
            about: "How much is kept.",
            example: "\"full\"",
        },
        set: |question, given| {
            question.request.store = given.text().and_then(|word| StoreMode::by_word(&word));
            Ok(())
        },
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_example_is_right_and_sets_its_option() {
        for option in &OPTIONS {
            let field = option.field;
            let given = field.read(field.name, &serde_json::from_str(field.example).unwrap()).unwrap();
            let mut question = Question::default();
            option.set(&mut question, given).unwrap();
            let unset = Question::default();
            assert!(
                question.request != unset.request || question.preset != unset.preset,
                "{} sets nothing",
                field.name
            );
        }
    }
}
