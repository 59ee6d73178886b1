//! Calls as bodies, and replies as pieces, in Anthropic's protocol.

use super::*;
use crate::codec::chat::tests::{call, call_with_files};

fn json(call: &Call) -> String {
    String::from_utf8(Messages.body(call, &Dialect::ANTHROPIC)).unwrap()
}

/// A piece in one line.
fn piece(json: &str) -> String {
    let Piece { has_content, id, model, text, reasoning, finish, declined, spent, error, ends, .. } =
        Messages.read(json, false).unwrap();
    let error = error.map(|error| error.words().collect::<Vec<_>>().join(" "));
    let spent = spent.map(|spent| {
        let Usage { input_tokens, output_tokens, cached_tokens, .. } = spent.usage;
        (input_tokens, output_tokens, cached_tokens)
    });
    format!(
        "{has_content} {id:?} {model:?} {text:?} {reasoning} {finish:?} {declined:?} {spent:?} {error:?} {ends}"
    )
}

#[test]
fn instructions_stand_apart_and_the_cap_is_always_there() {
    insta::assert_snapshot!(json(&call()), @r#"{"model":"~a/b","max_tokens":100,"system":"Be brief.","messages":[{"role":"user","content":[{"type":"text","text":"Hi"}]}],"stream":true}"#);
    let without = ["temperature", "thinking", "output_config", "max_tokens"].map(str::to_owned).into();
    let call =
        Call { temperature: Some(2.0), effort: Some(Effort::High), without, max_tokens: 9_000, ..call() };
    assert!(json(&call).ends_with(r#""stream":true}"#) && json(&call).contains(r#""max_tokens":9000"#));
}

#[test]
fn an_effort_is_asked_for_in_words() {
    let shown = |effort| {
        let json = json(&Call { temperature: Some(1.5), effort: Some(effort), ..call() });
        json.split_once(r#""stream":true"#).unwrap().1.to_owned()
    };
    insta::assert_snapshot!(shown(Effort::None), @r#","temperature":1.0,"thinking":{"type":"disabled"}}"#);
    insta::assert_snapshot!(shown(Effort::Minimal), @r#","thinking":{"type":"adaptive"},"output_config":{"effort":"low"}}"#);
    insta::assert_snapshot!(shown(Effort::Max), @r#","thinking":{"type":"adaptive"},"output_config":{"effort":"max"}}"#);
    let without = vec!["output_config".to_owned()];
    let bare = Call { effort: Some(Effort::High), without, ..call() };
    assert!(json(&bare).ends_with(r#""thinking":{"type":"adaptive"}}"#));
}

#[test]
fn files_are_blocks_of_their_message() {
    insta::assert_snapshot!(json(&call_with_files()), @r#"{"model":"~a/b","max_tokens":100,"messages":[{"role":"user","content":[{"type":"text","text":"Which?"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAEC"}},{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"AAEC"},"title":"b.pdf"}]}],"stream":true}"#);
}

#[test]
fn every_event_is_read() {
    insta::assert_snapshot!(piece(r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude","content":[],"stop_reason":null,"usage":{"input_tokens":5,"cache_read_input_tokens":3,"cache_creation_input_tokens":2,"output_tokens":1}}}"#), @r#"true Some("msg_1") Some("claude") "" false None None Some((Some(10), Some(1), Some(3))) None false"#);
    insta::assert_snapshot!(piece(r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#), @r#"false None None "" false None None None None false"#);
    insta::assert_snapshot!(piece(r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}"#), @r#"false None None "" true None None None None false"#);
    insta::assert_snapshot!(piece(r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"AA"}}"#), @r#"false None None "" true None None None None false"#);
    insta::assert_snapshot!(piece(r#"{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"xx"}}"#), @r#"false None None "" true None None None None false"#);
    insta::assert_snapshot!(piece(r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Hé\n"}}"#), @r#"false None None "Hé\n" false None None None None false"#);
    insta::assert_snapshot!(piece(r#"{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":9}}"#), @r#"false None None "" false Some("stop") None Some((None, Some(9), None)) None false"#);
    insta::assert_snapshot!(piece(r#"{"type":"message_stop"}"#), @r#"false None None "" false None None None None true"#);
    insta::assert_snapshot!(piece(r#"{"type":"ping"}"#), @r#"false None None "" false None None None None false"#);
    insta::assert_snapshot!(piece(r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#), @r#"false None None "" false None None None Some("overloaded_error") false"#);
    insta::assert_snapshot!(piece(r#"{"type":"something_new","delta":{"text":"not ours"}}"#), @r#"false None None "" false None None None None false"#);
}

#[test]
fn a_whole_message_is_read() {
    insta::assert_snapshot!(piece(r#"{"id":"msg_1","type":"message","model":"claude","content":[{"type":"thinking","thinking":"hm","signature":"AA"},{"type":"text","text":"a"},{"type":"text","text":"b"}],"stop_reason":"max_tokens","usage":{"input_tokens":5,"output_tokens":9}}"#), @r#"true Some("msg_1") Some("claude") "ab" true Some("length") None Some((Some(5), Some(9), None)) None false"#);
    insta::assert_snapshot!(piece(r#"{"id":"msg_1","type":"message","content":[],"stop_reason":"refusal"}"#), @r#"true Some("msg_1") None "" false Some("refusal") Some(Model) None None false"#);
    insta::assert_snapshot!(piece(r#"{"id":"msg_1","type":"message","content":"odd","stop_reason":"pause_turn"}"#), @r#"true Some("msg_1") None "" false Some("pause_turn") None None None false"#);
}
