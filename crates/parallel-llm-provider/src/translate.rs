//! Turns a call into the body of a request.
//!
//! Pure. What always holds: the request streams, it carries an output cap as long as the provider takes one
//! under any name, and it holds no field that the provider has rejected.

use std::borrow::Cow;

use parallel_llm_engine::port::Call;
use parallel_llm_engine::{Message, Role};

use crate::dialect::{CapField, Dialect, UsageWish};
use crate::wire::request::{self, Include, IncludeUsage, Request};

/// The fields of a request that can be left out, by their names on the wire. `reasoning` is never sent, but a
/// provider that makes it mandatory names it.
pub(crate) const OPTIONAL_FIELDS: [&str; 7] = [
    "temperature",
    "max_completion_tokens",
    "max_tokens",
    "stream_options",
    "usage",
    "session_id",
    "reasoning",
];

/// The JSON of the request for a call.
pub(crate) fn body(call: &Call, dialect: &Dialect) -> Vec<u8> {
    let may = |field: &str| !call.without.iter().any(|without| without == field);
    let cap_field = cap_field(dialect.cap_field, may);
    let cap = |field| (cap_field == Some(field)).then_some(call.max_tokens);
    let wishes = |wish, field| dialect.usage_wish == wish && may(field);
    let request = Request {
        model: &call.model.model,
        messages: call.messages.iter().map(|message| translated(message, dialect)).collect(),
        stream: true,
        max_completion_tokens: cap(CapField::MaxCompletionTokens),
        max_tokens: cap(CapField::MaxTokens),
        temperature: call.temperature.filter(|_| may("temperature")),
        usage: wishes(UsageWish::Usage, "usage").then_some(Include { include: true }),
        stream_options: wishes(UsageWish::StreamOptions, "stream_options")
            .then_some(IncludeUsage { include_usage: true }),
        session_id: (dialect.session && may("session_id")).then(|| call.run_id.to_string()),
    };
    serde_json::to_vec(&request).expect("a request is text, numbers and flags under fixed names")
}

/// The name the output cap goes by. It bounds what a call may cost, so it is tried under its other name before
/// it is left out.
fn cap_field(preferred: CapField, may: impl Fn(&str) -> bool) -> Option<CapField> {
    let name = |field| match field {
        CapField::MaxCompletionTokens => "max_completion_tokens",
        CapField::MaxTokens => "max_tokens",
    };
    let other = match preferred {
        CapField::MaxCompletionTokens => CapField::MaxTokens,
        CapField::MaxTokens => CapField::MaxCompletionTokens,
    };
    [preferred, other].into_iter().find(|field| may(name(*field)))
}

fn translated<'a>(message: &'a Message, dialect: &Dialect) -> request::Message<'a> {
    let role = match message.role {
        Role::System => dialect.system_role,
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    let mut texts = message.texts();
    let content = match (texts.next(), texts.next()) {
        (Some(only), None) => Cow::Borrowed(only),
        _ => Cow::Owned(message.texts().collect()),
    };
    request::Message { role, content }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parallel_llm_engine::event::Attempt;
    use parallel_llm_engine::{ModelRef, Part, Place, ProviderId, RunId, SeatNumber};

    fn call() -> Call {
        Call {
            run_id: RunId::from_parts(1, 2),
            attempt: Attempt { place: Place::Seat(SeatNumber(1)), number: 1 },
            model: ModelRef { provider: ProviderId("p".into()), model: "~a/b".into() },
            messages: vec![Message::text(Role::System, "Be brief."), Message::text(Role::User, "Hi")].into(),
            temperature: None,
            max_tokens: 100,
            without: Vec::new(),
        }
    }

    fn json(call: &Call, dialect: &Dialect) -> String {
        String::from_utf8(body(call, dialect)).unwrap()
    }

    #[test]
    fn openrouter_gets_its_own_fields() {
        assert_eq!(
            json(&call(), &Dialect::OPENROUTER),
            concat!(
                r#"{"model":"~a/b","messages":[{"role":"system","content":"Be brief."},"#,
                r#"{"role":"user","content":"Hi"}],"stream":true,"max_completion_tokens":100,"#,
                r#""usage":{"include":true},"session_id":"00000000010000000000000002"}"#
            )
        );
    }

    #[test]
    fn others_get_what_everyone_knows() {
        let call = Call { temperature: Some(0.5), ..call() };
        let json = json(&call, &Dialect::OPENAI_COMPATIBLE);
        let rest =
            r#""stream":true,"max_tokens":100,"temperature":0.5,"stream_options":{"include_usage":true}}"#;
        assert!(json.ends_with(rest), "{json}");
    }

    #[test]
    fn rejected_fields_are_left_out_and_the_cap_changes_its_name() {
        let without = |fields: &[&str]| {
            let without = fields.iter().map(|field| (*field).to_owned()).collect();
            json(&Call { temperature: Some(1.0), without, ..call() }, &Dialect::OPENAI_COMPATIBLE)
        };
        assert!(!without(&["temperature"]).contains("temperature"));
        assert!(!without(&["stream_options"]).contains("stream_options"));
        assert!(without(&["max_tokens"]).contains(r#""max_completion_tokens":100"#));
        assert!(!without(&["max_tokens", "max_completion_tokens"]).contains("100"));
    }

    #[test]
    fn a_message_of_several_texts_is_one_text() {
        let parts = ["a", "\u{1f642}b"].map(|text| Part::Text { text: text.into() }).into();
        let call = Call { messages: vec![Message { role: Role::Assistant, parts }].into(), ..call() };
        assert!(
            json(&call, &Dialect::OPENROUTER)
                .contains("{\"role\":\"assistant\",\"content\":\"a\u{1f642}b\"}")
        );
    }

    #[test]
    fn every_optional_field_can_be_left_out() {
        let without = OPTIONAL_FIELDS.map(str::to_owned).into();
        let call = Call { temperature: Some(1.0), without, ..call() };
        for dialect in [Dialect::OPENROUTER, Dialect::OPENAI_COMPATIBLE] {
            let value: serde_json::Value = serde_json::from_slice(&body(&call, &dialect)).unwrap();
            let fields: Vec<&String> = value.as_object().unwrap().keys().collect();
            assert_eq!(fields, ["messages", "model", "stream"]);
        }
    }
}
