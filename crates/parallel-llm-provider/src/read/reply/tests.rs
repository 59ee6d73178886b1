//! Replies as bytes, and the expected parts.

use std::time::SystemTime;

use super::*;
use crate::codec;
use crate::providers::dialect::Protocol;
use crate::providers::scrubber::Scrubber;
use proptest::prelude::*;

fn origin() -> Origin {
    Origin {
        provider: "p".to_owned(),
        now: SystemTime::UNIX_EPOCH,
        scrubber: Scrubber::default(),
        optional_fields: Vec::new(),
        refused_key_advice: Vec::new(),
    }
}

fn reply() -> Reply {
    Reply::new(origin(), codec::of(Protocol::Chat), true)
}

/// The parts of a reply that arrives in these pieces, one line each, without `Alive` and with joined texts.
fn parts<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<String> {
    let (mut reply, mut parts) = (reply(), Parts::new());
    for piece in pieces {
        reply.feed(piece, &mut parts);
    }
    reply.finish(&mut parts);
    parts.retain(|part| *part != Ok(ReplyPart::Alive));
    let mut parts = Vec::from(parts);
    parts.dedup_by(|part, before| match (part, before) {
        (Ok(ReplyPart::Text(text)), Ok(ReplyPart::Text(before))) => {
            before.push_str(text);
            true
        }
        _ => false,
    });
    parts.iter().map(summary).collect()
}

fn summary(part: &Result<ReplyPart, Failure>) -> String {
    match part {
        Ok(ReplyPart::Accepted { generation_id }) => format!("accepted {generation_id}"),
        Ok(ReplyPart::Connected) => "connected".to_owned(),
        Ok(ReplyPart::Alive) => "alive".to_owned(),
        Ok(ReplyPart::Reasoning) => "reasoning".to_owned(),
        Ok(ReplyPart::Text(text)) => format!("text {text}"),
        Ok(ReplyPart::End(end)) => {
            let finish = end.finish.as_ref().map_or("-", Finish::as_str);
            let refusal =
                end.refusal.as_ref().map(|refusal| format!(" refused: {refusal}")).unwrap_or_default();
            let tokens = end.usage.output_tokens.map(|tokens| format!(" {tokens}")).unwrap_or_default();
            let filtered = if end.filtered { " filtered" } else { "" };
            format!("end {finish}{tokens}{refusal}{filtered}")
        }
        Err(failure) => format!("{}{}", failure.code, if failure.retryable { " retry" } else { "" }),
    }
}

/// The whole and its single bytes must give the same parts.
fn check(stream: &str, expected: &[&str]) {
    assert_eq!(parts([stream.as_bytes()]), expected, "whole: {stream}");
    let mut singly = parts(stream.as_bytes().chunks(1));
    singly.dedup_by(|one, other| one == "reasoning" && other == "reasoning");
    assert_eq!(singly, expected, "byte by byte: {stream}");
}

const TEXT: &str = "data: {\"id\":\"gen-1\",\"choices\":[{\"delta\":{\"content\":\"Hi\"}}]}\n\n";
const STOP: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"\"},\"finish_reason\":\"stop\"}]}\n\n";
const USAGE: &str = "data: {\"choices\":[],\"usage\":{\"completion_tokens\":7}}\n\n";
const DONE: &str = "data: [DONE]\n\n";

#[test]
fn a_stream_ends_where_its_protocol_says() {
    check(&[TEXT, STOP, USAGE, DONE].concat(), &["accepted gen-1", "text Hi", "end stop 7"]);
    check(&[TEXT, STOP, USAGE].concat(), &["accepted gen-1", "text Hi", "end stop 7"]);
    check(&[TEXT, DONE, TEXT, DONE].concat(), &["accepted gen-1", "text Hi", "end -"]);
    check(TEXT, &["accepted gen-1", "text Hi", "incomplete"]);
    check(": OPENROUTER PROCESSING\n\n", &["connection retry"]);
    check("", &["connection retry"]);
    check("\n \n", &["connection retry"]);
    check(DONE, &["end -"]);
}

#[test]
fn the_last_usage_wins_and_a_finish_may_come_twice() {
    let repeated = r#"data: {"choices":[{"delta":{"content":""},"finish_reason":"length"}],"usage":{"completion_tokens":9}}"#;
    check(
        &[TEXT, STOP, USAGE, repeated, "\n\n", "data: {\"usage\":null}\n\n", DONE].concat(),
        &["accepted gen-1", "text Hi", "end length 9"],
    );
}

#[test]
fn reasoning_goes_before_text_and_is_not_kept() {
    let both = r#"data: {"choices":[{"delta":{"reasoning":"hm","content":"Hi"}}]}"#;
    let burn = r#"data: {"choices":[{"delta":{"reasoning":"hm","content":""},"finish_reason":"length"}]}"#;
    check(&[both, "\n\n", STOP, DONE].concat(), &["reasoning", "text Hi", "end stop"]);
    check(&[burn, "\n\n", burn, "\n\n", DONE].concat(), &["reasoning", "end length"]);
}

#[test]
fn odd_framing_and_unknown_fields_are_read() {
    check(
        concat!(
            "\u{feff}event: message\r\nid: 1\r\nretry: 5\r\n",
            "data:{\"choices\":[{\"new\":1,\r\ndata: \"delta\":{\"content\":\"日🙂\",\"x\":[{}]}}],\"y\":null,\"usage\":null}\r\n\r\n: \r\n\r\n",
            "data: {\"choices\":[{\"delta\":null,\"finish_reason\":\"compacted\"}]}\r\n\r\n",
            "data: [DONE]\r\n\r\n",
        ),
        &["text 日🙂", "end compacted"],
    );
}

#[test]
fn letters_that_are_no_utf8_become_marks() {
    let stream = b"data: {\"choices\":[{\"delta\":{\"content\":\"a\xffb\"},\"finish_reason\":\"stop\"}]}\n\n";
    assert_eq!(parts([stream.as_slice()]), ["text a\u{fffd}b", "end stop"]);
}

#[test]
fn an_error_in_a_stream_is_its_own_kind() {
    let unified = r#"data: {"id":"gen-1","error":{"code":429,"message":"Rate limit exceeded"},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}"#;
    let bare =
        r#"data: {"error":{"message":"Upstream idle timeout exceeded","code":"server_error"},"user_id":"u"}"#;
    let in_choice = r#"data: {"choices":[{"delta":{"content":"!"},"finish_reason":"error","error":{"code":502,"message":"x"}}]}"#;
    let silent = r#"data: {"choices":[{"delta":{},"finish_reason":"error"}]}"#;
    let anthropic = r#"data: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    check(&[TEXT, unified, "\n\n"].concat(), &["accepted gen-1", "text Hi", "rate_limited retry"]);
    check(&[": x\n\n", unified, "\n\n"].concat(), &["accepted gen-1", "rate_limited retry"]);
    check(&[bare, "\n\n", DONE].concat(), &["upstream retry"]);
    check(&[TEXT, in_choice, "\n\n"].concat(), &["accepted gen-1", "text Hi!", "upstream retry"]);
    check(&[silent, "\n\n", DONE].concat(), &["upstream retry"]);
    check(&[anthropic, "\n\n"].concat(), &["upstream retry"]);
}

#[test]
fn a_refusal_is_marked_where_nothing_was_written() {
    let words = |text| {
        format!("data: {{\"choices\":[{{\"delta\":{{\"content\":null,\"refusal\":\"{text}\"}}}}]}}\n\n")
    };
    let filter = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"content_filter\"}]}\n\n";
    let native =
        "data: {\"choices\":[{\"finish_reason\":\"stop\",\"native_finish_reason\":\"refusal\"}]}\n\n";
    check(&[&words("I can't "), &words("help."), STOP, DONE].concat(), &["end stop refused: I can't help."]);
    check(&[filter, DONE].concat(), &["end content_filter refused: it gave no words for it filtered"]);
    check(&[native, DONE].concat(), &["end stop refused: it gave no words for it"]);
    check(&[TEXT, filter, DONE].concat(), &["accepted gen-1", "text Hi", "end content_filter filtered"]);
    check(&[TEXT, native, DONE].concat(), &["accepted gen-1", "text Hi", "end stop filtered"]);
}

#[test]
fn json_that_breaks_off_names_no_payload() {
    check("data: {\"id\":\"gen-1\",\"choices\":[{\"delta\":{\"cont\n\n", &["protocol"]);
    let (mut reply, mut parts) = (reply(), Parts::new());
    reply.feed(b"data: {\"secret\": \n\n", &mut parts);
    let failure = parts.pop_back().unwrap().unwrap_err();
    assert_eq!(failure.message, "p: an event of 11 bytes is no valid JSON (Eof)");
}

#[test]
fn a_whole_completion_is_read_as_well() {
    let message = |message: &str, finish: &str| {
        format!(
            r#"{{"id":"gen-1","choices":[{{"message":{message},"finish_reason":{finish}}}],"usage":{{"completion_tokens":7}}}}"#
        )
    };
    let padded = format!("\n         \n{}\n", message(r#"{"content":"pong","reasoning":"hm"}"#, "\"stop\""));
    check(&padded, &["accepted gen-1", "reasoning", "text pong", "end stop 7"]);
    check(&message(r#"{"content":null}"#, "\"stop\""), &["accepted gen-1", "end stop 7"]);
    check(
        &message(r#"{"content":"","refusal":"No."}"#, "\"stop\""),
        &["accepted gen-1", "end stop 7 refused: No."],
    );
    check(&message("{}", "null"), &["accepted gen-1", "end - 7"]);
    check(r#"{"id":"gen-1","choices":[]}"#, &["accepted gen-1", "end -"]);
    check(
        r#"{"choices":[{"message":{"content":"a"},"finish_reason":"error","error":{"code":502}}]}"#,
        &["text a", "upstream retry"],
    );
}

#[test]
fn a_whole_error_with_status_200_is_sorted_by_its_code() {
    check("\n    \n{\"id\":\"gen-1\",\"error\":{\"code\":502,\"message\":\"x\"}}", &["upstream retry"]);
    check(r#"{"error":"boom"}"#, &["upstream retry"]);
    check(r#"[{"error":{"code":429}}]"#, &["rate_limited retry"]);
    check(r#"{"detail":"boom"}"#, &["upstream retry"]);
    check(r#"{"id":"gen-1","choices":["#, &["protocol"]);
}

#[test]
fn a_page_is_no_reply() {
    assert_eq!(parts([b"<!DOCTYPE html><title>Login</title>".as_slice()]), ["protocol"]);
    let mut plain = Reply::new(origin(), codec::of(Protocol::Chat), false);
    let mut parts = Parts::new();
    plain.feed(b"Service OK\x1b[2J", &mut parts);
    let failure = parts.pop_back().unwrap().unwrap_err();
    assert_eq!(failure.message, "p answered with something that is no API reply: Service OK [2J");
}

#[test]
fn bytes_that_bring_nothing_are_a_sign_of_life_and_bounded() {
    let (mut reply, mut parts) = (reply(), Parts::new());
    reply.feed(b": OPENROUTER PROCESSING\n\n: x\n\ndata: {\"choi", &mut parts);
    assert_eq!(parts, [Ok(ReplyPart::Alive)]);
    let comments = ": x\n".repeat(256 * 1024);
    for _ in 0..40 {
        reply.feed(comments.as_bytes(), &mut parts);
    }
    assert_eq!(summary(parts.back().unwrap()), "protocol");
    assert!(reply.is_over() && parts.len() < 40);
}

#[test]
fn a_long_answer_is_kept_up_to_its_bound() {
    let (mut reply, mut parts) = (reply(), Parts::new());
    let event =
        format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{}\"}}}}]}}\n\n", "é".repeat(500_000));
    for _ in 0..20 {
        reply.feed(event.as_bytes(), &mut parts);
    }
    assert_eq!(summary(&parts.pop_back().unwrap()), "answer_too_large");
    let Ok(ReplyPart::Text(text)) = parts.pop_back().unwrap() else { panic!("no text before the failure") };
    assert_eq!((text.len(), parts.len()), (8 * 1024 * 1024, 0), "the texts of one read are joined");
}

#[test]
fn a_line_without_end_is_given_up() {
    let (mut reply, mut parts) = (reply(), Parts::new());
    reply.feed(b"data: ", &mut parts);
    let piece = vec![b'x'; 1024 * 1024];
    for _ in 0..64 {
        reply.feed(&piece, &mut parts);
    }
    assert_eq!(summary(parts.back().unwrap()), "protocol");
}

proptest! {
    #[test]
    fn any_cutting_gives_the_same_parts(cuts in prop::collection::vec(1usize..40, 1..40)) {
        let stream = [TEXT, ": c\r\n\r\n", "data: {\"choices\":[{\"delta\":{\"content\":\"日本🙂\"}}]}\r\n\r\n", STOP, USAGE, DONE].concat();
        let mut rest = stream.as_bytes();
        let mut pieces = Vec::new();
        for cut in cuts.iter().cycle() {
            if rest.is_empty() { break; }
            let (piece, after) = rest.split_at((*cut).min(rest.len()));
            pieces.push(piece);
            rest = after;
        }
        prop_assert_eq!(parts(pieces), ["accepted gen-1", "text Hi日本🙂", "end stop 7"]);
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), head in "(data: |\\{|\\[|<|)") {
        let whole = [head.as_bytes(), &bytes].concat();
        let parts = parts([whole.as_slice()]);
        prop_assert!(!parts.is_empty());
    }
}

/// The parts of a whole stream of events in Google's protocol.
fn of_gemini(events: &[&str]) -> Vec<String> {
    let (mut reply, mut parts) = (Reply::new(origin(), codec::of(Protocol::Gemini), true), Parts::new());
    for event in events {
        reply.feed(format!("data: {event}\n\n").as_bytes(), &mut parts);
    }
    reply.finish(&mut parts);
    parts.iter().filter(|part| **part != Ok(ReplyPart::Alive)).map(summary).collect()
}

#[test]
fn a_stream_that_simply_ends_is_whole_only_where_it_said_why() {
    const TEXT: &str = r#"{"candidates":[{"content":{"parts":[{"text":"half an"}]}}]}"#;
    const USAGE: &str = r#"{"usageMetadata":{"promptTokenCount":5}}"#;
    const LENGTH: &str = r#"{"candidates":[{"finishReason":"MAX_TOKENS"}]}"#;
    assert_eq!(of_gemini(&[USAGE, TEXT]), ["text half an", "incomplete"]);
    assert_eq!(of_gemini(&[TEXT, r#"{"candidates":[],"usageMetadata":{}}"#]), ["text half an", "incomplete"]);
    assert_eq!(of_gemini(&[TEXT, LENGTH, USAGE]), ["text half an", "end length"]);
    assert_eq!(of_gemini(&[USAGE]), ["end -"], "usage and nothing else is an empty reply");
    assert_eq!(of_gemini(&[]), ["connection retry"]);
}

#[test]
fn counts_that_no_model_reaches_are_no_defect() {
    let huge = u64::MAX;
    let usage = format!(
        r#"{{"candidates":[{{"finishReason":"STOP"}}],"usageMetadata":{{"candidatesTokenCount":{huge},"thoughtsTokenCount":{huge}}}}}"#
    );
    assert_eq!(of_gemini(&[&usage]), [format!("end stop {huge}")]);
    let codec = codec::of(Protocol::Messages);
    let usage = format!(
        r#"{{"type":"message_delta","delta":{{}},"usage":{{"input_tokens":{huge},"cache_read_input_tokens":1}}}}"#
    );
    assert_eq!(codec.read(&usage, false).unwrap().spent.unwrap().usage.input_tokens, Some(huge));
}

#[test]
fn a_stream_sent_as_a_list_is_a_stream() {
    let whole = |protocol, body: &str| {
        let (mut reply, mut parts) = (Reply::new(origin(), codec::of(protocol), false), Parts::new());
        reply.feed(body.as_bytes(), &mut parts);
        reply.finish(&mut parts);
        parts.iter().filter(|part| **part != Ok(ReplyPart::Alive)).map(summary).collect::<Vec<_>>()
    };
    let list = r#"[{"candidates":[{"content":{"parts":[{"text":"Hel"}]}}]},{"candidates":[{"content":{"parts":[{"text":"lo"}]},"finishReason":"STOP"}]}]"#;
    assert_eq!(whole(Protocol::Gemini, list), ["text Hello", "end stop"]);
    assert_eq!(whole(Protocol::Gemini, r#"[{"error":{"code":429}}]"#), ["rate_limited retry"]);
    assert_eq!(
        whole(Protocol::Chat, r#"{"status":"ok"}"#),
        ["protocol"],
        "what is no reply is not an empty one"
    );
    assert_eq!(whole(Protocol::Chat, r#"{"choices":[]}"#), ["end -"]);
}

#[test]
fn a_field_of_another_kind_costs_only_itself() {
    let odd = "data: {\"choices\":[{\"delta\":\"\",\"finish_reason\":\"stop\"}],\"usage\":{\"completion_tokens\":7}}\n\n";
    check(&[TEXT, odd, DONE].concat(), &["accepted gen-1", "text Hi", "end stop 7"]);
    check(
        &[TEXT, "data: {\"choices\":[null]}\n\n", STOP, DONE].concat(),
        &["accepted gen-1", "text Hi", "end stop"],
    );
}
