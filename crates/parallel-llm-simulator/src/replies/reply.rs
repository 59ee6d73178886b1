//! A reply as a value: its head and a list of timed steps, for normal answers and faults alike.
//!
//! `player` plays it. Bytes without a pause between them form one step, so that they leave in one write.

use std::time::Duration;

use bytes::Bytes;
use hyper::StatusCode;
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};

use crate::state::ledger::Bill;

/// Time for the client to read before the connection breaks. Never scaled: it makes a connection break at the same byte
/// every time.
const SETTLE: Duration = Duration::from_millis(20);

/// Shortest pause between repetitions of an endless fault when `time_scale` is 0; without it the simulator would spin.
const REPEAT_PAUSE_MIN: Duration = Duration::from_millis(5);

/// Most repetitions: more than a day of comments, so that even a forgotten client's reply ends.
pub(crate) const REPEATS_MAX: u64 = 200_000;

/// Most repetitions of a flood: a terabyte of filler.
const FLOODS_MAX: u64 = 16 * 1024 * 1024;

/// Fillers in a huge text, 64 MiB in all.
const HUGE_TEXT_FILLERS: u64 = 1024;

/// 64 KiB of meaningless text, large enough to send quickly.
pub(crate) fn filler() -> Vec<u8> {
    vec![b'x'; 64 * 1024]
}

/// A reply.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) head: Head,
    /// Time before the head is sent.
    pub(crate) wait: Duration,
    pub(crate) steps: Vec<Step>,
    /// Longest HTTP chunk (DATA frame on HTTP/2) of the body.
    pub(crate) piece_bytes_max: usize,
    pub(crate) bill: Option<Box<Bill>>,
}

/// The head of a reply.
#[derive(Debug)]
pub(crate) enum Head {
    /// A status line and headers.
    Status(StatusCode, Vec<(HeaderName, HeaderValue)>),
    /// Nothing, for as long as the client waits.
    Never,
    /// The connection closes without a byte.
    Closed,
}

/// One step of a body. After the last step the body ends cleanly.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Bytes that carry this many tokens of the answer.
    Send { bytes: Vec<u8>, tokens: u64 },
    /// A pause.
    Pause(Duration),
    /// The same bytes `times` times, each after a pause.
    Repeat { bytes: Bytes, pause: Duration, times: u64 },
    /// A TCP reset.
    Reset,
    /// The connection closes inside the HTTP chunk that carries these bytes.
    CutInside(Vec<u8>),
    /// Silence until the client hangs up.
    Hang,
}

impl Reply {
    /// A complete body.
    pub(crate) fn whole(status: StatusCode, content_type: &'static str, body: Vec<u8>) -> Self {
        let list = vec![Step::Send { bytes: body, tokens: 0 }];
        Self::steps(status, content_type, Steps { list, time_scale: 0.0 })
    }

    /// A complete JSON body.
    pub(crate) fn json(status: StatusCode, body: Vec<u8>) -> Self {
        Self::whole(status, "application/json", body)
    }

    /// A body in steps.
    pub(crate) fn steps(status: StatusCode, content_type: &'static str, steps: Steps) -> Self {
        let headers = vec![(CONTENT_TYPE, HeaderValue::from_static(content_type))];
        Self::begin(Head::Status(status, headers), steps.list)
    }

    /// No head and no body: silence or a closed connection.
    pub(crate) fn headless(head: Head) -> Self {
        Self::begin(head, Vec::new())
    }

    fn begin(head: Head, steps: Vec<Step>) -> Self {
        Self { head, wait: Duration::ZERO, steps, piece_bytes_max: usize::MAX, bill: None }
    }

    /// Adds bytes before and after the body.
    pub(crate) fn wrap(&mut self, before: &[u8], after: &[u8]) {
        let send = |bytes: &[u8]| Step::Send { bytes: bytes.to_vec(), tokens: 0 };
        self.steps.insert(0, send(before));
        self.steps.push(send(after));
    }

    /// Sets a header, if this reply has a head and the value is valid in one.
    #[must_use]
    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Self {
        if let (Head::Status(_, headers), Ok(value)) = (&mut self.head, HeaderValue::from_str(value)) {
            headers.retain(|(present, _)| present != name);
            headers.push((HeaderName::from_static(name), value));
        }
        self
    }
}

/// Builds a list of steps; applies the time scale to pauses.
#[derive(Debug)]
pub(crate) struct Steps {
    list: Vec<Step>,
    time_scale: f64,
}

impl Steps {
    pub(crate) fn new(time_scale: f64) -> Self {
        Self { list: Vec::new(), time_scale }
    }

    /// Appends bytes, joined to the previous step if that sends bytes too.
    pub(crate) fn send(&mut self, more: &[u8], more_tokens: u64) {
        if let Some(Step::Send { bytes, tokens }) = self.list.last_mut() {
            bytes.extend_from_slice(more);
            *tokens += more_tokens;
        } else {
            self.list.push(Step::Send { bytes: more.to_vec(), tokens: more_tokens });
        }
    }

    /// Adds a pause of this many milliseconds before scaling; none if the result is zero.
    pub(crate) fn pause_ms(&mut self, ms: f64) {
        let pause = scaled(ms, self.time_scale);
        if !pause.is_zero() {
            self.list.push(Step::Pause(pause));
        }
    }

    /// Repeats bytes practically forever, with a pause that scaling never removes.
    pub(crate) fn repeat(&mut self, bytes: &[u8], every_ms: f64) {
        let pause = scaled(every_ms, self.time_scale).max(REPEAT_PAUSE_MIN);
        self.list.push(Step::Repeat { bytes: Bytes::copy_from_slice(bytes), pause, times: REPEATS_MAX });
    }

    /// Repeats bytes practically forever, as fast as the client reads.
    pub(crate) fn flood(&mut self, bytes: &[u8]) {
        let bytes = Bytes::copy_from_slice(bytes);
        self.list.push(Step::Repeat { bytes, pause: Duration::ZERO, times: FLOODS_MAX });
    }

    /// 64 MiB of one letter.
    pub(crate) fn huge_text(&mut self) {
        let bytes = filler().into();
        self.list.push(Step::Repeat { bytes, pause: Duration::ZERO, times: HUGE_TEXT_FILLERS });
    }

    pub(crate) fn hang(&mut self) {
        self.list.push(Step::Hang);
    }

    pub(crate) fn reset(&mut self) {
        self.list.push(Step::Pause(SETTLE));
        self.list.push(Step::Reset);
    }

    pub(crate) fn cut_inside(&mut self, bytes: &[u8]) {
        self.list.push(Step::Pause(SETTLE));
        self.list.push(Step::CutInside(bytes.to_vec()));
    }
}

/// Milliseconds of a script as real time.
pub(crate) fn scaled(ms: f64, time_scale: f64) -> Duration {
    Duration::from_micros((ms * time_scale * 1000.0).max(0.0) as u64)
}
