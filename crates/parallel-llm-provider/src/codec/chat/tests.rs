//! Calls as bodies, in every provider's dialect.

use std::sync::Arc;

use super::*;
use crate::providers::known::Known;
use parallel_llm_engine::run::event::Attempt;
use parallel_llm_engine::{CallerSlot, ModelRef, ProviderId, RunId, SeatNumber};
use serde_json::Value;

pub(in crate::codec) fn call() -> Call {
    Call {
        run_id: RunId::from_parts(1, 2),
        attempt: Attempt { slot: CallerSlot::Seat(SeatNumber(1)), number: 1 },
        model: ModelRef { provider: ProviderId("p".into()), model: "~a/b".into() },
        messages: vec![Message::text(Role::System, "Be brief."), Message::text(Role::User, "Hi")].into(),
        temperature: None,
        max_tokens: 100,
        effort: None,
        json: false,
        routing: Arc::default(),
        lineage: Arc::default(),
        asked_by: None,
        without: Vec::new(),
    }
}

/// The call with a question about two files.
pub(in crate::codec) fn call_with_files() -> Call {
    let file = |name: &str, media_type: &str| {
        Part::File(Attachment {
            name: name.into(),
            media_type: media_type.into(),
            base64: "AAEC".into(),
            detail: None,
            tokens: None,
        })
    };
    let parts = vec![
        Part::Text { text: "Which?".into() },
        file("a.png", "image/png"),
        file("b.pdf", "application/pdf"),
    ];
    Call { messages: vec![Message { role: Role::User, parts }].into(), ..call() }
}

fn json(call: &Call, dialect: &Dialect) -> String {
    String::from_utf8(Chat.body(call, dialect)).unwrap()
}

/// The fields of the body besides the model and the messages, in order.
fn options(call: &Call, dialect: &Dialect) -> String {
    let json = json(call, dialect);
    let start = json.find(r#""stream":true"#).unwrap();
    json[start..].trim_start_matches(r#""stream":true"#).trim_start_matches(',').to_owned()
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
fn each_provider_gets_what_it_knows() {
    let call = Call { temperature: Some(1.75), effort: Some(Effort::High), ..call() };
    let off = Call { temperature: Some(0.0), effort: Some(Effort::None), ..call.clone() };
    let mut shown = String::new();
    let chat = |dialect: &Dialect| dialect.protocol == crate::providers::dialect::Protocol::Chat;
    let known = Known::ALL.iter().map(|known| (known.id, known.dialect)).chain(Known::KINDS.iter().copied());
    for (id, dialect) in known.filter(|(_, dialect)| chat(dialect)) {
        shown.push_str(&format!("{id}\n  {}\n  {}\n", options(&call, &dialect), options(&off, &dialect)));
    }
    insta::assert_snapshot!(shown, @r#"
    openrouter
      "max_completion_tokens":100,"temperature":1.75,"reasoning":{"effort":"high"},"usage":{"include":true},"session_id":"00000000010000000000000002"}
      "max_completion_tokens":100,"temperature":0.0,"reasoning":{"effort":"none"},"usage":{"include":true},"session_id":"00000000010000000000000002"}
    openai
      "max_completion_tokens":100,"temperature":1.75,"reasoning_effort":"high","stream_options":{"include_usage":true}}
      "max_completion_tokens":100,"temperature":0.0,"reasoning_effort":"none","stream_options":{"include_usage":true}}
    azure
      "max_completion_tokens":100,"temperature":1.75,"reasoning_effort":"high","stream_options":{"include_usage":true}}
      "max_completion_tokens":100,"temperature":0.0,"reasoning_effort":"none","stream_options":{"include_usage":true}}
    groq
      "max_completion_tokens":100,"temperature":1.75,"reasoning_effort":"high","stream_options":{"include_usage":true}}
      "max_completion_tokens":100,"temperature":0.0,"reasoning_effort":"none","stream_options":{"include_usage":true}}
    deepseek
      "max_tokens":100,"temperature":1.75,"reasoning_effort":"high","thinking":{"type":"enabled"},"stream_options":{"include_usage":true}}
      "max_tokens":100,"temperature":0.0,"thinking":{"type":"disabled"},"stream_options":{"include_usage":true}}
    xai
      "max_completion_tokens":100,"temperature":1.75,"reasoning_effort":"high","stream_options":{"include_usage":true}}
      "max_completion_tokens":100,"temperature":0.0,"reasoning_effort":"none","stream_options":{"include_usage":true}}
    mistral
      "max_tokens":100,"temperature":1.5}
      "max_tokens":100,"temperature":0.0}
    together
      "max_tokens":100,"temperature":1.75,"reasoning":{"enabled":true},"stream_options":{"include_usage":true}}
      "max_tokens":100,"temperature":0.0,"reasoning":{"enabled":false},"stream_options":{"include_usage":true}}
    moonshot
      "max_tokens":100,"temperature":1.0,"stream_options":{"include_usage":true}}
      "max_tokens":100,"temperature":0.0,"stream_options":{"include_usage":true}}
    ollama
      "max_tokens":100,"temperature":1.75,"reasoning_effort":"high","stream_options":{"include_usage":true}}
      "max_tokens":100,"temperature":0.0,"reasoning_effort":"none","stream_options":{"include_usage":true}}
    lmstudio
      "max_tokens":100,"temperature":1.75,"reasoning_effort":"high","stream_options":{"include_usage":true}}
      "max_tokens":100,"temperature":0.0,"reasoning_effort":"none","stream_options":{"include_usage":true}}
    vllm
      "max_tokens":100,"temperature":1.75,"reasoning_effort":"high","stream_options":{"include_usage":true}}
      "max_tokens":100,"temperature":0.0,"reasoning_effort":"none","stream_options":{"include_usage":true}}
    openai-compatible
      "max_tokens":100,"temperature":1.75,"reasoning_effort":"high","stream_options":{"include_usage":true}}
      "max_tokens":100,"temperature":0.0,"reasoning_effort":"none","stream_options":{"include_usage":true}}
    anthropic-chat
      "max_tokens":100,"temperature":1.0,"stream_options":{"include_usage":true}}
      "max_tokens":100,"temperature":0.0,"stream_options":{"include_usage":true}}
    gemini-chat
      "max_tokens":100,"temperature":1.75,"reasoning_effort":"high","stream_options":{"include_usage":true}}
      "max_tokens":100,"temperature":0.0,"reasoning_effort":"none","stream_options":{"include_usage":true}}
    "#);
}

#[test]
fn a_router_gets_the_routing_options() {
    let route =
        |routing: Routing| options(&Call { routing: Arc::new(routing), ..call() }, &Dialect::OPENROUTER);
    let all = Routing {
        order: vec!["A".into(), "B".into()],
        only: vec!["A".into()],
        ignore: vec!["C".into()],
        fallbacks: Some(false),
        data_collection: Some(DataCollection::Deny),
        zdr: true,
        input_price_max: PicoUsd::from_decimal("1.5"),
        output_price_max: None,
        service_tier: Some("flex".into()),
        session: Session::Seat,
    };
    insta::assert_snapshot!(route(all.clone()), @r#""max_completion_tokens":100,"usage":{"include":true},"provider":{"order":["A","B"],"only":["A"],"ignore":["C"],"allow_fallbacks":false,"data_collection":"deny","zdr":true,"max_price":{"prompt":1.5}},"service_tier":"flex","session_id":"00000000010000000000000002-seat-1"}"#);
    let off = Routing { session: Session::Off, ..Routing::default() };
    insta::assert_snapshot!(route(off), @r#""max_completion_tokens":100,"usage":{"include":true}}"#);
    // No other provider gets routing terms, and privacy is never dropped because a provider rejects it.
    let mut call = Call { routing: Arc::new(all), ..call() };
    assert!(!json(&call, &Dialect::OPENAI_COMPATIBLE).contains("provider"));
    call.without = vec!["provider".into()];
    assert!(json(&call, &Dialect::OPENROUTER).contains(r#""zdr":true"#));
}

#[test]
fn files_are_parts_of_their_message() {
    insta::assert_snapshot!(json(&call_with_files(), &Dialect::OPENAI), @r#"{"model":"~a/b","messages":[{"role":"user","content":[{"type":"text","text":"Which?"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAEC"}},{"type":"file","file":{"filename":"b.pdf","file_data":"data:application/pdf;base64,AAEC"}}]}],"stream":true,"max_completion_tokens":100,"stream_options":{"include_usage":true}}"#);
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
fn a_reply_that_is_to_be_json_is_asked_for_as_such() {
    let body = |json: bool, without: &[&str], dialect: &Dialect| {
        let without = without.iter().map(|field| (*field).to_owned()).collect();
        super::tests::json(&Call { json, without, ..call() }, dialect)
    };
    for dialect in [Dialect::OPENROUTER, Dialect::OPENAI, Dialect::OPENAI_COMPATIBLE] {
        assert!(body(true, &[], &dialect).contains(r#""response_format":{"type":"json_object"}"#));
        assert!(!body(false, &[], &dialect).contains("response_format"));
        assert!(!body(true, &["response_format"], &dialect).contains("response_format"), "it was rejected");
    }
    assert!(Chat.optional_fields().contains(&"response_format"));
}

#[test]
fn a_message_of_several_texts_is_one_text() {
    let parts = ["a", "\u{1f642}b"].map(|text| Part::Text { text: text.into() }).into();
    let call = Call { messages: vec![Message { role: Role::Assistant, parts }].into(), ..call() };
    assert!(
        json(&call, &Dialect::OPENROUTER).contains("{\"role\":\"assistant\",\"content\":\"a\u{1f642}b\"}")
    );
}

#[test]
fn every_optional_field_can_be_left_out() {
    let without: Vec<String> = Chat.optional_fields().iter().map(|field| (*field).to_owned()).collect();
    let routing = Routing { service_tier: Some("flex".into()), ..Routing::default() };
    let (temperature, effort) = (Some(1.0), Some(Effort::Low));
    let call = Call { temperature, effort, routing: Arc::new(routing), without, ..call() };
    for dialect in Known::ALL.iter().map(|known| known.dialect) {
        let value: Value = serde_json::from_slice(&Chat.body(&call, &dialect)).unwrap();
        let fields: Vec<&String> = value.as_object().unwrap().keys().collect();
        assert_eq!(fields, ["messages", "model", "stream"]);
    }
}
