//! Parses a line of JSON-RPC: a message, or the one reply that says what is wrong.
//!
//! The protocol library silently drops what it cannot parse, and the caller waits for ever. Here every line that is not
//! blank is either a message or gets exactly one reply, with the line's own id if one can be found. Only notifications
//! and answers never get one: nobody waits for it, and the id of an answer is ours, so a reply under it could end a
//! request of the client. Pure; `wire` knows the requests in flight.

use rmcp::model::{ClientJsonRpcMessage, ErrorCode, RequestId};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::request_id;
use parallel_llm_http::message::{self, Values};

/// The first of JSON-RPC's server errors: the request is valid, but the server cannot accept it now.
const UNAVAILABLE: ErrorCode = ErrorCode(-32000);

/// A parsed line.
pub(crate) enum Line {
    /// A valid message.
    Message(Box<Message>),
    /// Not a message: the reply to send.
    Refused(Refusal),
    /// A line that gets no reply: white space, or an invalid answer or notification.
    Silent,
}

/// A valid message.
pub(crate) struct Message {
    pub(crate) message: ClientJsonRpcMessage,
    /// The most memory it takes, in bytes.
    pub(crate) load: usize,
}

/// The refusal of a line, for its sender.
#[derive(Debug)]
pub(crate) struct Refusal {
    /// The line's own id as written, if one could be found.
    pub(crate) id: Option<Box<RawValue>>,
    /// Whether the id was found in a line that could not be parsed.
    pub(crate) is_guess: bool,
    /// Whether the line is JSON.
    pub(crate) is_json: bool,
    code: ErrorCode,
    message: String,
}

impl Refusal {
    /// The line is not a JSON-RPC message.
    fn invalid(id: Option<Box<RawValue>>, message: impl Into<String>) -> Self {
        Self { id, is_guess: true, is_json: true, code: ErrorCode::INVALID_REQUEST, message: message.into() }
    }

    /// The message is not JSON, for this reason.
    pub(crate) fn unreadable(message: &[u8], reason: &str) -> Self {
        Self {
            id: request_id::id_of(message),
            is_guess: true,
            // What begins like a message is a broken one.
            is_json: message.starts_with(b"{"),
            code: ErrorCode::PARSE_ERROR,
            message: format!(
                "the message cannot be read as JSON ({reason}): send one whole JSON-RPC message at a time, on \
                 stdio one per line"
            ),
        }
    }

    /// A well-formed request that is invalid.
    pub(super) fn of_request(id: &RequestId, message: impl Into<String>) -> Self {
        Self { is_guess: false, ..Self::invalid(serde_json::value::to_raw_value(id).ok(), message) }
    }

    /// A valid request that cannot be accepted now.
    pub(crate) fn unavailable(id: &RequestId, message: impl Into<String>) -> Self {
        Self { code: UNAVAILABLE, ..Self::of_request(id, message) }
    }

    /// A line beyond the limit, of which only the start and the end were kept.
    pub(crate) fn too_long(head: &[u8], tail: &[u8]) -> Self {
        let id = request_id::id_of(head).or_else(|| request_id::id_of_tail(tail));
        let mebibytes = message::BYTES_MAX / (1024 * 1024);
        Self::invalid(
            id,
            format!(
                "the message is longer than {mebibytes} MiB and was not read: send a shorter prompt, or fewer or \
                 smaller attachments"
            ),
        )
    }

    /// A request that was refused outside of the protocol, with that message.
    pub(crate) fn outside(id: Option<&RequestId>, message: impl Into<String>) -> Self {
        let id = id.and_then(|id| serde_json::value::to_raw_value(id).ok());
        Self { id, is_guess: false, is_json: true, code: UNAVAILABLE, message: message.into() }
    }

    /// A message that would take far more memory than its length.
    fn too_many_values(id: Option<Box<RawValue>>) -> Self {
        let values_max = message::VALUES_MAX;
        let message = format!(
            "the message holds more than {values_max} JSON values and was not read: put long material into one string"
        );
        Self { is_guess: false, ..Self::invalid(id, message) }
    }

    /// Whether the same request may be accepted later.
    pub(crate) fn is_for_now(&self) -> bool {
        self.code == UNAVAILABLE
    }

    /// The reply, as a line.
    pub(crate) fn to_line(&self) -> Vec<u8> {
        #[derive(Serialize)]
        struct Reply<'a> {
            jsonrpc: &'static str,
            id: Option<&'a RawValue>,
            error: ErrorObject<'a>,
        }
        #[derive(Serialize)]
        struct ErrorObject<'a> {
            code: ErrorCode,
            message: &'a str,
        }
        let error = ErrorObject { code: self.code, message: &self.message };
        let reply = Reply { jsonrpc: "2.0", id: self.id.as_deref(), error };
        let mut line = serde_json::to_vec(&reply).expect("a reply is plain data with string keys");
        line.push(b'\n');
        line
    }
}

/// Parses a line, with or without its line end.
pub(crate) fn read(line: &[u8]) -> Line {
    let line = trimmed(line);
    if line.is_empty() {
        return Line::Silent;
    }
    let values = Values::of(line);
    match read_message(line, values) {
        Ok(Some(message)) => Line::Message(Box::new(Message { message, load: line.len() + values.bytes() })),
        Ok(None) => Line::Silent,
        Err(refusal) => Line::Refused(refusal),
    }
}

/// A line without byte order mark and surrounding white space.
pub(crate) fn trimmed(line: &[u8]) -> &[u8] {
    line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line).trim_ascii()
}

/// The message of a line; `None` for an invalid answer or notification.
fn read_message(line: &[u8], values: Values) -> Result<Option<ClientJsonRpcMessage>, Refusal> {
    let unreadable = |reason: String| Refusal::unreadable(line, &reason);
    let text = std::str::from_utf8(line)
        .map_err(|error| unreadable(format!("byte {} is not valid UTF-8", error.valid_up_to())))?;
    let text = request_id::without_lone_surrogates(text);
    let head = read_head(&text).map_err(|error| match error {
        NotAHead::Json(error) => unreadable(error.to_string()),
        NotAHead::Shape(message) => Refusal::invalid(request_id::id_of(line), message),
    })?;
    let checked = head.check().map_err(|message| Refusal::invalid(head.repeatable_id(), message));
    // The head was parsed without its values; from here on each value takes memory.
    let is_within = !values.are_too_many();
    let unanswered = |is_right: bool| is_right.then(|| serde_json::from_str(&text).ok()).flatten();
    if head.is_answer() {
        return Ok(unanswered(checked.is_ok() && is_within));
    }
    checked?;
    if head.id.is_none() {
        return Ok(unanswered(is_within));
    }
    if !is_within {
        return Err(Refusal::too_many_values(head.repeatable_id()));
    }
    serde_json::from_str(&text).map(Some).map_err(|error| {
        let refusal = unreadable(error.to_string());
        match error.classify() {
            // The head is valid, so the rest is nested too deeply or has a number out of range.
            serde_json::error::Category::Syntax => refusal,
            _ => Refusal::invalid(refusal.id, format!("this is not a message of MCP: {error}")),
        }
    })
}

/// The members that make an object a message, each as written.
#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    method: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<&'a RawValue>,
}

/// Distinguishes `null` from a missing member.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    Deserialize::deserialize(deserializer).map(Some)
}

enum NotAHead {
    Json(serde_json::Error),
    Shape(String),
}

fn read_head(text: &str) -> Result<Head<'_>, NotAHead> {
    if !text.starts_with('{') {
        let value: &RawValue = serde_json::from_str(text).map_err(NotAHead::Json)?;
        let found = if value.get().starts_with('[') { "a batch" } else { "not an object" };
        return Err(NotAHead::Shape(format!("the message is {found}: send one JSON-RPC request at a time")));
    }
    serde_json::from_str(text).map_err(|error| match error.classify() {
        serde_json::error::Category::Data => NotAHead::Shape(format!("the message is ambiguous: {error}")),
        _ => NotAHead::Json(error),
    })
}

impl Head<'_> {
    const fn is_answer(&self) -> bool {
        self.method.is_none() && (self.result.is_some() || self.error.is_some())
    }

    fn check(&self) -> Result<(), String> {
        if self.jsonrpc.is_none_or(|version| version.get() != "\"2.0\"") {
            return Err("`jsonrpc` is not \"2.0\": send \"jsonrpc\":\"2.0\"".to_owned());
        }
        match self.method {
            None if self.is_answer() => Ok(()),
            None => Err("the message has no `method`: names of members are written in lower case".to_owned()),
            Some(method) if !method.get().starts_with('"') => Err("`method` is not a string".to_owned()),
            Some(_) => self.check_id(),
        }
    }

    /// Ids are strings or whole numbers. A notification has none.
    fn check_id(&self) -> Result<(), String> {
        let Some(id) = self.id else { return Ok(()) };
        let is_usable = id.get().len() <= request_id::ID_BYTES_MAX
            && (id.get().starts_with('"') || id.get().parse::<i64>().is_ok());
        is_usable.then_some(()).ok_or_else(|| {
            let bytes_max = request_id::ID_BYTES_MAX;
            format!("`id` is not a string or a whole number of at most {bytes_max} bytes: send \"id\":1")
        })
    }

    /// The id as written, if a reply may carry it.
    fn repeatable_id(&self) -> Option<Box<RawValue>> {
        let is_scalar = |id: &&RawValue| matches!(id.get().as_bytes()[0], b'"' | b'-' | b'0'..=b'9');
        self.id
            .filter(is_scalar)
            .filter(|id| id.get().len() <= request_id::ID_BYTES_MAX)
            .map(ToOwned::to_owned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reply to a line: its id and its code, and that the message says what to do.
    #[track_caller]
    fn check(line: impl AsRef<[u8]>, id: &str, code: i32) {
        let Line::Refused(refusal) = read(line.as_ref()) else { panic!("the line was taken") };
        let reply = String::from_utf8(refusal.to_line()).unwrap();
        assert!(
            reply.starts_with(&format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":{code},"#)),
            "{reply}"
        );
    }

    #[test]
    fn a_line_that_is_too_long_is_refused_with_a_remedy() {
        let reply = String::from_utf8(Refusal::too_long(br#"{"id":7,"params":"#, b"").to_line()).unwrap();
        let described =
            "longer than 32 MiB and was not read: send a shorter prompt, or fewer or smaller attachments";
        assert!(reply.contains(r#""id":7"#) && reply.contains(described), "{reply}");
    }

    #[test]
    fn what_is_not_json_is_a_parse_error_with_its_id() {
        check("hello", "null", -32700);
        check(r#"{"jsonrpc":"2.0","id":1,"method":"pi"#, "1", -32700);
        check(b"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"\xff\"}", "2", -32700);
        check(b"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"a\0b\"}", "3", -32700);
        check(b"\0\0\0", "null", -32700);
        let deep = format!(
            r#"{{"jsonrpc":"2.0","id":4,"method":"ping","params":{}{}}}"#,
            "[".repeat(200),
            "]".repeat(200)
        );
        check(deep, "4", -32700);
        let deeper =
            format!(r#"{{"jsonrpc":"2.0","id":"x","method":"ping","params":{}"#, "[".repeat(100_000));
        check(deeper, "\"x\"", -32700);
    }

    #[test]
    fn what_is_not_json_rpc_is_an_invalid_request_with_its_id() {
        check(r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, "null", -32600);
        check("[]", "null", -32600);
        check("42", "null", -32600);
        check(r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, "1", -32600);
        check(r#"{"id":1,"method":"ping"}"#, "1", -32600);
        check(r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, "null", -32600);
        check(r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, "1.5", -32600);
        check(r#"{"jsonrpc":"2.0","id":1e400,"method":"ping"}"#, "1e400", -32600);
        check(
            r#"{"jsonrpc":"2.0","id":99999999999999999999,"method":"ping"}"#,
            "99999999999999999999",
            -32600,
        );
        check(r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, "null", -32600);
        check(r#"{"jsonrpc":"2.0","id":5,"Method":"ping"}"#, "5", -32600);
        check(r#"{"jsonrpc":"2.0","id":6,"method":7}"#, "6", -32600);
        check(r#"{"jsonrpc":"2.0","id":7,"id":8,"method":"ping"}"#, "7", -32600);
        check("{}", "null", -32600);
    }

    #[test]
    fn what_is_right_passes() {
        for line in [
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r\n",
            "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"ping\"}",
            r#"{"jsonrpc":"2.0","id":2,"method":"no/such/method","params":{"half an emoji":"\ud83d"}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/whatever"}"#,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"an echo of ours"}}"#,
        ] {
            assert!(matches!(read(line.as_bytes()), Line::Message(_)), "{line}");
        }
        assert!(matches!(read(b" \r\n"), Line::Silent));
    }

    #[test]
    fn neither_an_answer_nor_a_notification_is_answered() {
        for line in [
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":5}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"_meta":5}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/x","params":[1e400]}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":5}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":"x"}}"#,
            r#"{"jsonrpc":"2.0","id":{},"error":5}"#,
            r#"{"jsonrpc":"1.0","id":1,"result":{}}"#,
            r#"{"jsonrpc":"2.0","result":{}}"#,
        ] {
            assert!(!matches!(read(line.as_bytes()), Line::Refused(_)), "{line}");
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_refused_with_the_limit() {
        let refusal =
            Refusal::too_long(br#"{"params":{"prompt":"aaaa"#, br#"aaaa"},"jsonrpc":"2.0","id":9}"#);
        let reply = String::from_utf8(refusal.to_line()).unwrap();
        assert!(
            reply.contains(r#""id":9,"#) && reply.contains("-32600") && reply.contains("32 MiB"),
            "{reply}"
        );
    }
}
