//! The bounded log of requests, and counts over it.
//!
//! It never stores a key: headers that carry one hold its verdict instead.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Version};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Most requests kept; the oldest is dropped first.
const REQUESTS_MAX: usize = 100_000;

/// Most bytes of request bodies kept, by the same rule.
const BODY_BYTES_MAX: usize = 256 * 1024 * 1024;

/// Headers that carry a secret.
const SECRET_HEADERS: [&str; 6] =
    ["authorization", "proxy-authorization", "api-key", "x-api-key", "x-goog-api-key", "cookie"];

/// One recorded request. Times are microseconds since the simulator started.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordedRequest {
    /// Counts up from 0.
    pub sequence: u64,
    /// `GET`, `POST`, ….
    pub method: String,
    /// Path and query.
    pub path: String,
    /// The HTTP version: `1.1`, `2` or `1.0`.
    pub version: String,
    /// Headers in order, with lower-case names; those that carry a key hold `ok`, `bad` or `none` instead.
    pub headers: Vec<(String, String)>,
    /// The body as JSON; `null` if it is not JSON.
    pub body: Value,
    /// The requested slug.
    pub model: Option<String>,
    /// When the head of the request was read.
    pub arrived_us: u64,
    /// When the head of the reply was sent.
    pub first_byte_us: Option<u64>,
    /// When the reply ended or broke off.
    pub last_byte_us: Option<u64>,
    /// Whether the client hung up before the reply ended.
    pub client_cancelled: bool,
    /// The status that was sent.
    pub status: Option<u16>,
    /// The `id` of the reply.
    pub generation_id: Option<String>,
    /// The provider named in the reply.
    pub provider: Option<String>,
}

impl RecordedRequest {
    /// The first header of this lower-case name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }
}

/// Counts since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stats {
    /// All requests except those to the control routes.
    pub requests: u64,
    /// Chat requests by requested slug; unknown slugs count as `unknown`.
    pub per_model: BTreeMap<String, u64>,
    /// Chat requests in flight.
    pub in_flight: u64,
    /// The most chat requests in flight at once.
    pub concurrent_high_water: u64,
    /// Connections accepted.
    pub connections: u64,
    /// Requests whose client hung up before the end.
    pub client_cancelled: u64,
}

/// A log entry; the body is parsed only when the log is read.
#[derive(Debug)]
pub(crate) struct LogEntry {
    pub(crate) request: RecordedRequest,
    body: Bytes,
}

impl RecordedRequest {
    /// A request whose head was read at this time.
    pub(crate) fn arrived(method: &Method, path: String, version: Version, arrived_us: u64) -> Self {
        let version = match version {
            Version::HTTP_2 => "2",
            Version::HTTP_11 => "1.1",
            _ => "1.0",
        };
        Self { method: method.to_string(), path, version: version.to_owned(), arrived_us, ..Self::default() }
    }
}

/// The log: a ring of entries, and counts.
#[derive(Debug, Default)]
pub(crate) struct Log {
    entries: VecDeque<LogEntry>,
    /// Sequence number of the oldest entry.
    oldest: u64,
    body_bytes: usize,
    pub(crate) stats: Stats,
}

impl Log {
    /// Adds a request and returns its sequence number.
    pub(crate) fn open(&mut self, mut request: RecordedRequest) -> u64 {
        self.stats.requests += 1;
        if self.entries.len() == REQUESTS_MAX {
            self.forget_oldest();
        }
        request.sequence = self.next();
        self.entries.push_back(LogEntry { request, body: Bytes::new() });
        self.next() - 1
    }

    /// The sequence number of the next request.
    fn next(&self) -> u64 {
        self.oldest + self.entries.len() as u64
    }

    /// The entry, unless it was dropped.
    pub(crate) fn entry(&mut self, sequence: u64) -> Option<&mut LogEntry> {
        let index = sequence.checked_sub(self.oldest)?;
        self.entries.get_mut(usize::try_from(index).ok()?)
    }

    /// The latest request whose reply has this id.
    pub(crate) fn find(&self, generation_id: &str) -> Option<&RecordedRequest> {
        let mut requests = self.entries.iter().rev().map(|entry| &entry.request);
        requests.find(|request| request.generation_id.as_deref() == Some(generation_id))
    }

    /// Stores the body of a request, dropping the oldest entries if bodies take too much memory.
    pub(crate) fn keep_body(&mut self, sequence: u64, body: Bytes) {
        let body_bytes = body.len();
        let Some(entry) = self.entry(sequence) else { return };
        entry.body = body;
        self.body_bytes += body_bytes;
        while self.body_bytes > BODY_BYTES_MAX && self.oldest < sequence {
            self.forget_oldest();
        }
    }

    /// Counts a chat request as in flight.
    pub(crate) fn enter(&mut self) {
        self.stats.in_flight += 1;
        self.stats.concurrent_high_water = self.stats.concurrent_high_water.max(self.stats.in_flight);
    }

    /// Counts a chat request as finished.
    pub(crate) fn leave(&mut self) {
        self.stats.in_flight -= 1;
    }

    pub(crate) fn view(&self) -> Vec<RecordedRequest> {
        let view = |entry: &LogEntry| RecordedRequest {
            body: serde_json::from_slice(&entry.body).unwrap_or(Value::Null),
            ..entry.request.clone()
        };
        self.entries.iter().map(view).collect()
    }

    fn forget_oldest(&mut self) {
        if let Some(entry) = self.entries.pop_front() {
            self.body_bytes -= entry.body.len();
            self.oldest += 1;
        }
    }
}

/// The headers, with every secret replaced by its verdict.
pub(crate) fn without_secrets(
    headers: &HeaderMap,
    judge: impl Fn(&str) -> &'static str,
) -> Vec<(String, String)> {
    let shown = |(name, value): (&HeaderName, &HeaderValue)| {
        let shown = if SECRET_HEADERS.contains(&name.as_str()) {
            // A value that is not text cannot be an accepted key.
            judge(value.to_str().unwrap_or("\u{0}")).to_owned()
        } else {
            String::from_utf8_lossy(value.as_bytes()).into_owned()
        };
        (name.to_string(), shown)
    };
    headers.iter().map(shown).collect()
}
