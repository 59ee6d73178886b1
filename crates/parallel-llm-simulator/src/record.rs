//! What the simulator was asked: a bounded log of requests and the counts over it.
//!
//! A key is never kept: headers that carry one hold the verdict on it instead.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use hyper::header::{HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Version};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Requests remembered; the oldest is forgotten first.
const REQUESTS_MAX: usize = 100_000;

/// Bytes of request bodies remembered, for the same reason.
const BODY_BYTES_MAX: usize = 256 * 1024 * 1024;

/// Headers that carry a secret.
const SECRET_HEADERS: [&str; 6] =
    ["authorization", "proxy-authorization", "api-key", "x-api-key", "x-goog-api-key", "cookie"];

/// One request, as a test wants to see it. Times are microseconds since the simulator's start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RecordedRequest {
    /// Counts up from 0.
    pub sequence: u64,
    /// `GET`, `POST`, ….
    pub method: String,
    /// With its query.
    pub path: String,
    /// Of HTTP: `1.1`, `2`, or `1.0`.
    pub version: String,
    /// In order, with lower-case names; a header that carries a key holds `ok`, `bad` or `none` instead.
    pub headers: Vec<(String, String)>,
    /// The body as JSON; `null` if it was none.
    pub body: Value,
    /// The slug that was asked for.
    pub model: Option<String>,
    /// When the head of the request had been read.
    pub arrived_us: u64,
    /// When the head of the reply left.
    pub first_byte_us: Option<u64>,
    /// When the reply ended or broke off.
    pub last_byte_us: Option<u64>,
    /// Whether the client hung up before the reply ended.
    pub client_cancelled: bool,
    /// The status that was sent.
    pub status: Option<u16>,
    /// As in the reply's `id`.
    pub generation_id: Option<String>,
    /// The provider named in the reply.
    pub provider: Option<String>,
}

impl RecordedRequest {
    /// The first header of this name, in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }
}

/// Counts since the start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stats {
    /// Requests of any kind, the control's own excepted.
    pub requests: u64,
    /// Chat requests by the slug asked for; slugs that are not sold count as `unknown`.
    pub per_model: BTreeMap<String, u64>,
    /// Chat requests being answered now.
    pub in_flight: u64,
    /// Most chat requests ever answered at once.
    pub concurrent_high_water: u64,
    /// Connections accepted.
    pub connections: u64,
    /// Requests whose client hung up before the end.
    pub client_cancelled: u64,
}

/// What the log keeps of a request; the body is read as JSON when somebody asks for it.
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

/// The log: a ring of entries, and the counts.
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

    /// The entry, unless it was forgotten.
    pub(crate) fn entry(&mut self, sequence: u64) -> Option<&mut LogEntry> {
        let index = sequence.checked_sub(self.oldest)?;
        self.entries.get_mut(usize::try_from(index).ok()?)
    }

    /// The request whose reply has this id, the latest one first.
    pub(crate) fn find(&self, generation_id: &str) -> Option<&RecordedRequest> {
        let mut requests = self.entries.iter().rev().map(|entry| &entry.request);
        requests.find(|request| request.generation_id.as_deref() == Some(generation_id))
    }

    /// Keeps the request's body, at the price of older ones.
    pub(crate) fn keep_body(&mut self, sequence: u64, body: Bytes) {
        let body_bytes = body.len();
        let Some(entry) = self.entry(sequence) else { return };
        entry.body = body;
        self.body_bytes += body_bytes;
        while self.body_bytes > BODY_BYTES_MAX && self.oldest < sequence {
            self.forget_oldest();
        }
    }

    /// Counts a chat request in.
    pub(crate) fn enter(&mut self) {
        self.stats.in_flight += 1;
        self.stats.concurrent_high_water = self.stats.concurrent_high_water.max(self.stats.in_flight);
    }

    /// Counts a chat request out.
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

/// The headers with the verdict on it in place of everything secret.
pub(crate) fn without_secrets(
    headers: &HeaderMap,
    judge: impl Fn(&str) -> &'static str,
) -> Vec<(String, String)> {
    let shown = |(name, value): (&HeaderName, &HeaderValue)| {
        let shown = if SECRET_HEADERS.contains(&name.as_str()) {
            // What is no text is no key of ours.
            judge(value.to_str().unwrap_or("\u{0}")).to_owned()
        } else {
            String::from_utf8_lossy(value.as_bytes()).into_owned()
        };
        (name.to_string(), shown)
    };
    headers.iter().map(shown).collect()
}
