//! Calls as bodies, and replies as pieces, in Google's protocol.

use super::*;
use crate::codec::chat::tests::{call, call_with_files};

fn json(call: &Call) -> String {
    String::from_utf8(Gemini.body(call, &Dialect::GEMINI)).unwrap()
}

/// A piece in one line.
fn piece(json: &str) -> String {
    let Piece { has_content, id, model, text, reasoning, finish, declined, spent, error, .. } =
        Gemini.read(json, false).unwrap();
    let error = error.map(|error| (error.code(), error.message().map(str::to_owned)));
    let spent = spent.map(|spent| {
        let Usage { input_tokens, output_tokens, reasoning_tokens, cached_tokens } = spent.usage;
        (input_tokens, output_tokens, reasoning_tokens, cached_tokens)
    });
    format!("{has_content} {id:?} {model:?} {text:?} {reasoning} {finish:?} {declined:?} {spent:?} {error:?}")
}

#[test]
fn the_model_stands_in_the_address() {
    let address = |model| {
        let Address { segments, query } = Gemini.address(model);
        (segments.join(" "), query)
    };
    assert_eq!(address("gemini-4"), ("models gemini-4:streamGenerateContent".into(), Some("alt=sse".into())));
    assert_eq!(
        address("tunedModels/x"),
        ("tunedModels x:streamGenerateContent".into(), Some("alt=sse".into()))
    );
}

#[test]
fn options_stand_in_their_object() {
    insta::assert_snapshot!(json(&call()), @r#"{"contents":[{"role":"user","parts":[{"text":"Hi"}]}],"systemInstruction":{"parts":[{"text":"Be brief."}]},"generationConfig":{"maxOutputTokens":100}}"#);
    let options = |effort| {
        let json = json(&Call { temperature: Some(1.5), effort: Some(effort), ..call() });
        json.split_once(r#""generationConfig":"#).unwrap().1.to_owned()
    };
    insta::assert_snapshot!(options(Effort::None), @r#"{"maxOutputTokens":100,"temperature":1.5,"thinkingConfig":{"thinkingBudget":0}}}"#);
    insta::assert_snapshot!(options(Effort::Medium), @r#"{"maxOutputTokens":100,"temperature":1.5,"thinkingConfig":{"thinkingLevel":"medium"}}}"#);
    insta::assert_snapshot!(options(Effort::Max), @r#"{"maxOutputTokens":100,"temperature":1.5,"thinkingConfig":{"thinkingLevel":"high"}}}"#);
    let without = ["temperature", "thinkingLevel"].map(str::to_owned).into();
    let bare = Call { temperature: Some(1.5), effort: Some(Effort::Max), without, ..call() };
    assert_eq!(json(&bare), json(&call()));
}

#[test]
fn files_are_parts_of_their_content() {
    insta::assert_snapshot!(json(&call_with_files()), @r#"{"contents":[{"role":"user","parts":[{"text":"Which?"},{"inlineData":{"mimeType":"image/png","data":"AAEC"}},{"inlineData":{"mimeType":"application/pdf","data":"AAEC"}}]}],"generationConfig":{"maxOutputTokens":100}}"#);
}

#[test]
fn every_response_is_read() {
    insta::assert_snapshot!(piece(r#"{"candidates":[{"content":{"parts":[{"text":"hm","thought":true},{"text":"a"},{"text":"b"}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":2,"thoughtsTokenCount":3,"cachedContentTokenCount":1},"modelVersion":"gemini-4","responseId":"r1"}"#), @r#"true Some("r1") Some("gemini-4") "ab" true None None Some((Some(5), Some(5), Some(3), Some(1))) None"#);
    insta::assert_snapshot!(piece(r#"{"candidates":[{"content":{"parts":[{"text":""}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":5}}"#), @r#"true None None "" false Some("stop") None Some((Some(5), None, None, None)) None"#);
    insta::assert_snapshot!(piece(r#"{"candidates":[{"finishReason":"MAX_TOKENS"}]}"#), @r#"true None None "" false Some("length") None None None"#);
    insta::assert_snapshot!(piece(r#"{"candidates":[{"finishReason":"SAFETY","safetyRatings":[]}]}"#), @r#"true None None "" false Some("SAFETY") Some(Filter) None None"#);
    insta::assert_snapshot!(piece(r#"{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL"}]}"#), @r#"true None None "" false Some("MALFORMED_FUNCTION_CALL") None None None"#);
    insta::assert_snapshot!(piece(r#"{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{"promptTokenCount":5}}"#), @r#"true None None "" false None None Some((Some(5), None, None, None)) Some((Some("content_filter"), Some("the question was blocked: PROHIBITED_CONTENT")))"#);
    insta::assert_snapshot!(piece(r#"{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}"#), @r#"false None None "" false None None None Some((Some("503"), Some("The model is overloaded.")))"#);
    insta::assert_snapshot!(piece(r#"{"candidates":7,"usageMetadata":"none"}"#), @r#"true None None "" false None None Some((None, None, None, None)) None"#);
}
