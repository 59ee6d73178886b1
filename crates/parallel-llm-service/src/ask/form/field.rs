//! [`Field`]: a value that a caller can give.

use parallel_llm_engine::text::safe;
use parallel_llm_engine::value::nearest;
use parallel_llm_engine::value::next::Next;
use parallel_llm_engine::{Code, Failure};
use serde_json::Value;

use super::kind::{Given, ValueKind};

/// The longest excerpt of a wrong value in a message, in characters.
const VALUE_CHARS: usize = 60;

/// A value that a caller can give.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// What it takes.
    pub kind: ValueKind,
    /// What it means; empty if the name says enough.
    pub about: &'static str,
    /// A valid value as JSON.
    pub example: &'static str,
}

impl Field {
    /// Its JSON Schema.
    pub fn schema(&self) -> Value {
        let mut schema = self.kind.schema();
        if !self.about.is_empty() {
            schema["description"] = self.about.into();
        }
        schema
    }

    /// Reads a JSON value, also one that is written as another type and can be meant in one way only. `shown` is what the door
    /// calls the field.
    pub fn read(&self, shown: &str, given: &Value) -> Result<Given, Failure> {
        self.of_json(shown, given, self.kind.of_json(given))
    }

    /// Reads a JSON value of the very type that the schema names. `shown` is what the door calls the field.
    pub fn read_typed(&self, shown: &str, given: &Value) -> Result<Given, Failure> {
        self.of_json(shown, given, self.kind.of_typed_json(given))
    }

    fn of_json(&self, shown: &str, given: &Value, read: Option<Given>) -> Result<Given, Failure> {
        read.ok_or_else(|| {
            let found = safe::excerpt(&given.to_string(), VALUE_CHARS);
            let message = format!("{shown} is {}, not {found}", self.kind.about());
            self.misfit(message, given.as_str().unwrap_or_default(), Next::Example(self.example.into()))
        })
    }

    /// Reads a text. `shown` is what the door calls the field.
    pub fn read_text(&self, shown: &str, text: &str) -> Result<Given, Failure> {
        let text = text.trim();
        self.kind.of_text(text).ok_or_else(|| {
            let found = safe::excerpt(text, VALUE_CHARS);
            let (about, example) = match self.kind {
                ValueKind::Seconds => {
                    ("a duration from 1 ms to a day".to_owned(), format!("{}s", self.example))
                }
                kind => (kind.about(), self.example.trim_matches('"').to_owned()),
            };
            let message = format!("{shown} is {about}, not `{found}`");
            self.misfit(message, text, Next::WriteAs(example.into()))
        })
    }

    /// The refusal of a value. Its next step is the word that is meant if that can be told.
    fn misfit(&self, message: String, word: &str, otherwise: Next) -> Failure {
        let meant = nearest::nearest(word, self.kind.words());
        let next = meant.map_or(otherwise, |meant| Next::Meant(meant.to_owned().into()));
        Failure::new(Code::Usage, message).with_next(next)
    }
}
