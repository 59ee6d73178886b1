//! Trace context as in W3C Trace Context: which trace a run belongs to, and the ids of its spans.
//!
//! Ids are computed from the run, not drawn: whoever sends a call and whoever exports its span agree without a word, and
//! a run that goes on in another process keeps its trace.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::value::id::RunId;

/// The header and the key of `_meta` with a place in a trace.
pub const TRACE_PARENT: &str = "traceparent";
/// The same for what other systems have to say.
pub const TRACE_STATE: &str = "tracestate";
/// The longest `tracestate` that is passed on, in bytes; the standard asks for at least that many.
const STATE_BYTES_MAX: usize = 512;
/// The bit of the flags that says that the trace is recorded.
const SAMPLED: u8 = 1;

/// The id of a trace. Never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TraceId(u128);

/// The id of a span. Never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SpanId(u64);

impl TraceId {
    /// The trace of a run that no caller gave a trace.
    pub const fn of_run(run_id: RunId) -> Self {
        // An id with a time is never zero; one made by hand may be.
        Self(if run_id.bits() == 0 { 1 } else { run_id.bits() })
    }

    /// Its bits.
    pub const fn bits(self) -> u128 {
        self.0
    }
}

impl SpanId {
    /// The span of a whole run.
    pub fn of_run(run_id: RunId) -> Self {
        Self::of(&[&run_id.bits().to_be_bytes()])
    }

    /// The span of one request of a run, by who makes it and the number of the try.
    pub fn of_request(run_id: RunId, by: &str, number: u32) -> Self {
        Self::of(&[&run_id.bits().to_be_bytes(), by.as_bytes(), &number.to_be_bytes()])
    }

    fn of(parts: &[&[u8]]) -> Self {
        let mut hasher = blake3::Hasher::new();
        for part in parts {
            hasher.update(part);
        }
        let bytes = hasher.finalize();
        let (first, _) = bytes.as_bytes().split_first_chunk().expect("a hash has 32 bytes");
        Self(u64::from_be_bytes(*first).max(1))
    }

    /// Its bits.
    pub const fn bits(self) -> u64 {
        self.0
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:032x}", self.0)
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:016x}", self.0)
    }
}

/// A place in a trace: what the headers `traceparent` and `tracestate` say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "StoredContext", into = "StoredContext")]
pub struct TraceContext {
    /// The trace.
    pub trace: TraceId,
    /// The span that spans made from here belong to.
    pub span: SpanId,
    /// Whether the caller records the trace.
    pub is_sampled: bool,
    /// What other systems have to say, unread; empty if nothing.
    pub state: String,
}

impl TraceContext {
    /// The context of a span in the same trace.
    #[must_use]
    pub fn within(&self, span: SpanId) -> Self {
        Self { span, ..self.clone() }
    }

    /// With the `tracestate` that came beside it. One that is too long or not printable ASCII is dropped, as the standard
    /// says.
    #[must_use]
    pub fn with_state(self, state: &str) -> Self {
        let is_whole =
            state.len() <= STATE_BYTES_MAX && state.bytes().all(|byte| matches!(byte, b' '..=b'~'));
        Self { state: if is_whole { state.trim().to_owned() } else { String::new() }, ..self }
    }
}

/// The value of `traceparent`.
impl fmt::Display for TraceContext {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { trace, span, is_sampled, .. } = self;
        write!(out, "00-{trace}-{span}-{:02x}", u8::from(*is_sampled))
    }
}

/// Why a `traceparent` is not one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a `traceparent` of W3C Trace Context")]
pub struct NotATraceParent;

/// Reads a `traceparent`. A later version may have more fields, which are left unread.
impl FromStr for TraceContext {
    type Err = NotATraceParent;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fields: Vec<&str> = text.split('-').collect();
        let [version, trace, span, flags, more @ ..] = &*fields else { return Err(NotATraceParent) };
        let bits = |text: &str, digits: usize| hexadecimal(text, digits).ok_or(NotATraceParent);
        let (version, flags) = (bits(version, 2)?, bits(flags, 2)?);
        let (trace, span) = (bits(trace, 32)?, bits(span, 16)?);
        let is_known = version == 0 && more.is_empty() || (1..255).contains(&version);
        if !is_known || trace == 0 || span == 0 {
            return Err(NotATraceParent);
        }
        let span = u64::try_from(span).expect("sixteen digits are 64 bits");
        let is_sampled = flags & u128::from(SAMPLED) != 0;
        Ok(Self { trace: TraceId(trace), span: SpanId(span), is_sampled, state: String::new() })
    }
}

/// Exactly so many digits; the standard allows no capitals.
fn hexadecimal(text: &str, digits: usize) -> Option<u128> {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let is_whole = text.len() == digits && text.bytes().all(is_digit);
    is_whole.then(|| u128::from_str_radix(text, 16).ok()).flatten()
}

/// A context as stored: its headers.
#[derive(Serialize, Deserialize)]
struct StoredContext {
    traceparent: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    tracestate: String,
}

impl From<TraceContext> for StoredContext {
    fn from(context: TraceContext) -> Self {
        Self { traceparent: context.to_string(), tracestate: context.state }
    }
}

impl TryFrom<StoredContext> for TraceContext {
    type Error = NotATraceParent;

    fn try_from(written: StoredContext) -> Result<Self, Self::Error> {
        Ok(written.traceparent.parse::<Self>()?.with_state(&written.tracestate))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

    fn check(text: &str, expected: Option<&str>) {
        let read = text.parse::<TraceContext>().ok().map(|context| context.to_string());
        assert_eq!(read.as_deref(), expected, "{text}");
    }

    #[test]
    fn a_traceparent_is_read_as_the_standard_says() {
        let whole = format!("00-{TRACE}-b7ad6b7169203331-01");
        check(&whole, Some(&whole));
        check(&format!("00-{TRACE}-b7ad6b7169203331-ff"), Some(&whole));
        check(&format!("00-{TRACE}-b7ad6b7169203331-fe"), Some(&whole.replace("-01", "-00")));
        // A later version may say more.
        check(&format!("cc-{TRACE}-b7ad6b7169203331-01"), Some(&whole));
        check(&format!("cc-{TRACE}-b7ad6b7169203331-01-more-yet"), Some(&whole));
        for wrong in [
            String::new(),
            format!("{whole}-more"),
            format!("ff-{TRACE}-b7ad6b7169203331-01"),
            format!("00-{}-b7ad6b7169203331-01", TRACE.to_uppercase()),
            format!("00-{}-b7ad6b7169203331-01", "0".repeat(32)),
            format!("00-{TRACE}-{}-01", "0".repeat(16)),
            format!("00-{TRACE}-b7ad6b7169203331"),
            format!("00-{TRACE}-b7ad6b716920333-01"),
            format!("00-{TRACE}-b7ad6b71692033é-01"),
            format!("00-{TRACE}-+7ad6b7169203331-01"),
            format!(" {whole}"),
        ] {
            check(&wrong, None);
        }
    }

    #[test]
    fn a_context_is_stored_as_its_headers() {
        let context: TraceContext = format!("00-{TRACE}-b7ad6b7169203331-01").parse().unwrap();
        let context = context.with_state(" vendor=1,other=2 ");
        let json = serde_json::to_string(&context).unwrap();
        let expected =
            format!(r#"{{"traceparent":"00-{TRACE}-b7ad6b7169203331-01","tracestate":"vendor=1,other=2"}}"#);
        assert_eq!(json, expected);
        assert_eq!(serde_json::from_str::<TraceContext>(&json).unwrap(), context);
        assert_eq!(context.clone().with_state("a\nb").state, "");
        assert_eq!(context.with_state(&"a".repeat(513)).state, "");
    }

    #[test]
    fn each_request_of_a_run_has_a_span_of_its_own() {
        let run_id = RunId::from_parts(1_700_000_000_000, 7);
        let of = |by: &str, number: u32| SpanId::of_request(run_id, by, number);
        let all = [SpanId::of_run(run_id), of("1", 1), of("1", 2), of("2", 1)];
        for (index, one) in all.iter().enumerate() {
            assert!(all[..index].iter().all(|other| other != one), "{one}");
        }
        assert_eq!(of("1", 1), of("1", 1));
        assert_eq!(TraceId::of_run(run_id).to_string(), format!("{:032x}", run_id.bits()));
    }
}
