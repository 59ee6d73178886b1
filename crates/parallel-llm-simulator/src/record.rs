//! What the simulator was asked: a bounded log of requests and the counts over it.
//!
//! A key is never kept: headers that carry one hold the verdict on it instead.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use hyper::Version;
use hyper::header::{HeaderMap, HeaderValue};
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedRequest {
    /// Counts up from 0 and does not start again at a reset.
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

/// Counts since start or reset.
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

/// What the log keeps of a request: cheap to fill, turned into a [`RecordedRequest`] when asked for.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) version: Version,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) model: Option<String>,
    pub(crate) arrived_us: u64,
    pub(crate) first_byte_us: Option<u64>,
    pub(crate) last_byte_us: Option<u64>,
    pub(crate) client_cancelled: bool,
    pub(crate) status: Option<u16>,
    pub(crate) generation_id: Option<String>,
    pub(crate) provider: Option<String>,
}

impl Entry {
    fn view(&self, sequence: u64) -> RecordedRequest {
        let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        RecordedRequest {
            sequence,
            method: self.method.clone(),
            path: self.path.clone(),
            version: number(self.version).to_owned(),
            headers: self.headers.iter().map(|(name, value)| (name.to_string(), text(value))).collect(),
            body: serde_json::from_slice(&self.body).unwrap_or(Value::Null),
            model: self.model.clone(),
            arrived_us: self.arrived_us,
            first_byte_us: self.first_byte_us,
            last_byte_us: self.last_byte_us,
            client_cancelled: self.client_cancelled,
            status: self.status,
            generation_id: self.generation_id.clone(),
            provider: self.provider.clone(),
        }
    }
}

/// The version's number, without the name of the protocol.
fn number(version: Version) -> &'static str {
    match version {
        Version::HTTP_2 => "2",
        Version::HTTP_11 => "1.1",
        _ => "1.0",
    }
}

/// The log: a ring of entries, and the counts.
#[derive(Debug, Default)]
pub(crate) struct Log {
    entries: VecDeque<Entry>,
    /// Sequence number of the oldest entry.
    oldest: u64,
    body_bytes: usize,
    pub(crate) stats: Stats,
}

impl Log {
    /// Adds a request and returns its sequence number.
    pub(crate) fn open(&mut self, entry: Entry) -> u64 {
        self.stats.requests += 1;
        if self.entries.len() == REQUESTS_MAX {
            self.forget_oldest();
        }
        self.entries.push_back(entry);
        self.next() - 1
    }

    /// The sequence number of the next request.
    pub(crate) fn next(&self) -> u64 {
        self.oldest + self.entries.len() as u64
    }

    /// The entry, unless it was forgotten.
    pub(crate) fn entry(&mut self, sequence: u64) -> Option<&mut Entry> {
        let index = sequence.checked_sub(self.oldest)?;
        self.entries.get_mut(usize::try_from(index).ok()?)
    }

    /// The request whose reply has this id, the latest one first.
    pub(crate) fn find(&self, generation_id: &str) -> Option<&Entry> {
        self.entries.iter().rev().find(|entry| entry.generation_id.as_deref() == Some(generation_id))
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
        (self.oldest..).zip(&self.entries).map(|(sequence, entry)| entry.view(sequence)).collect()
    }

    /// Forgets everything but what is in flight now.
    pub(crate) fn reset(&mut self) {
        let in_flight = self.stats.in_flight;
        let stats = Stats { in_flight, concurrent_high_water: in_flight, ..Stats::default() };
        *self = Self { oldest: self.next(), stats, ..Self::default() };
    }

    fn forget_oldest(&mut self) {
        if let Some(entry) = self.entries.pop_front() {
            self.body_bytes -= entry.body.len();
            self.oldest += 1;
        }
    }
}

/// Replaces everything secret in the headers by the verdict on it.
pub(crate) fn without_secrets(mut headers: HeaderMap, judge: impl Fn(&str) -> &'static str) -> HeaderMap {
    for name in SECRET_HEADERS {
        if let Some(value) = headers.get(name) {
            // What is no text is no key of ours.
            let verdict = judge(value.to_str().unwrap_or("\u{0}"));
            headers.insert(name, HeaderValue::from_static(verdict));
        }
    }
    headers
}
