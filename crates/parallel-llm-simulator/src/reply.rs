//! A reply as a value: the head, then a list of timed steps. Normal answers and faults are both made of this.
//!
//! It leaves playing to `player`. Text that nothing separates in time is one step, so that it leaves in one write.

use std::time::Duration;

use bytes::Bytes;
use hyper::StatusCode;
use hyper::header::{CONTENT_TYPE, HeaderName, HeaderValue};

use crate::ledger::Bill;

/// How long the client gets to read what was sent before the connection breaks. Never scaled: it makes a broken
/// connection break at the same byte each time.
const SETTLE: Duration = Duration::from_millis(20);

/// Endless faults still pause this long between repetitions when `time_scale` is 0, or they would spin.
const REPEAT_PAUSE_MIN: Duration = Duration::from_millis(5);

/// More than a day of comments, so that even a forgotten client ends.
pub(crate) const REPEATS_MAX: u64 = 200_000;

/// A terabyte of filler, for the same reason.
const FLOODS_MAX: u64 = 16 * 1024 * 1024;

/// Fillers in a huge text.
const HUGE_TEXT_FILLERS: u64 = 1024;

/// Text that says nothing, in a size that is quick to send.
pub(crate) fn filler() -> Vec<u8> {
    vec![b'x'; 64 * 1024]
}

/// What the client gets.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) head: Head,
    /// Time before the head leaves.
    pub(crate) wait: Duration,
    pub(crate) steps: Vec<Step>,
    /// Length of the HTTP chunks (DATA frames on HTTP/2) that steps are cut into.
    pub(crate) piece_bytes_max: usize,
    pub(crate) bill: Option<Box<Bill>>,
}

/// How a reply begins.
#[derive(Debug)]
pub(crate) enum Head {
    /// A status line and these headers.
    Status(StatusCode, Vec<(HeaderName, HeaderValue)>),
    /// Nothing, for as long as the client waits.
    Never,
    /// The connection closes without a byte.
    Closed,
}

/// What happens next in a body. After the last step the body ends cleanly.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    /// Bytes that carry this many tokens of the answer.
    Send { bytes: Vec<u8>, tokens: u64 },
    /// Silence.
    Pause(Duration),
    /// The same bytes again and again, with silence in between; bounded by `times`.
    Repeat { bytes: Bytes, pause: Duration, times: u64 },
    /// A TCP reset.
    Reset,
    /// The connection closes inside the HTTP chunk that carries these bytes.
    CutInside(Vec<u8>),
    /// Silence until the client gives up.
    Hang,
}

impl Reply {
    /// A whole body of this type, at once.
    pub(crate) fn whole(status: StatusCode, content_type: &'static str, body: Vec<u8>) -> Self {
        let list = vec![Step::Send { bytes: body, tokens: 0 }];
        Self::steps(status, content_type, Steps { list, time_scale: 0.0 })
    }

    /// A JSON body, at once.
    pub(crate) fn json(status: StatusCode, body: Vec<u8>) -> Self {
        Self::whole(status, "application/json", body)
    }

    /// A body in steps.
    pub(crate) fn steps(status: StatusCode, content_type: &'static str, steps: Steps) -> Self {
        let headers = vec![(CONTENT_TYPE, HeaderValue::from_static(content_type))];
        Self::begin(Head::Status(status, headers), steps.list)
    }

    /// No body: silence or a closed connection.
    pub(crate) fn headless(head: Head) -> Self {
        Self::begin(head, Vec::new())
    }

    fn begin(head: Head, steps: Vec<Step>) -> Self {
        Self { head, wait: Duration::ZERO, steps, piece_bytes_max: usize::MAX, bill: None }
    }

    /// Puts bytes before and after the body.
    pub(crate) fn wrap(&mut self, before: &[u8], after: &[u8]) {
        let send = |bytes: &[u8]| Step::Send { bytes: bytes.to_vec(), tokens: 0 };
        self.steps.insert(0, send(before));
        self.steps.push(send(after));
    }

    /// Adds or replaces a header, if this reply has a head and the value can stand in one.
    #[must_use]
    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Self {
        if let (Head::Status(_, headers), Ok(value)) = (&mut self.head, HeaderValue::from_str(value)) {
            headers.retain(|(present, _)| present != name);
            headers.push((HeaderName::from_static(name), value));
        }
        self
    }
}

/// Writes a list of steps; knows the scale of time.
#[derive(Debug)]
pub(crate) struct Steps {
    list: Vec<Step>,
    time_scale: f64,
}

impl Steps {
    pub(crate) fn new(time_scale: f64) -> Self {
        Self { list: Vec::new(), time_scale }
    }

    /// Sends bytes, together with those before if nothing lies between.
    pub(crate) fn send(&mut self, more: &[u8], more_tokens: u64) {
        if let Some(Step::Send { bytes, tokens }) = self.list.last_mut() {
            bytes.extend_from_slice(more);
            *tokens += more_tokens;
        } else {
            self.list.push(Step::Send { bytes: more.to_vec(), tokens: more_tokens });
        }
    }

    /// Waits so many scaled milliseconds; nothing at all if that is zero.
    pub(crate) fn pause_ms(&mut self, ms: f64) {
        let pause = scaled(ms, self.time_scale);
        if !pause.is_zero() {
            self.list.push(Step::Pause(pause));
        }
    }

    /// Repeats bytes as good as for ever, with a pause that is never scaled to nothing.
    pub(crate) fn repeat(&mut self, bytes: &[u8], every_ms: f64) {
        let pause = scaled(every_ms, self.time_scale).max(REPEAT_PAUSE_MIN);
        self.list.push(Step::Repeat { bytes: Bytes::copy_from_slice(bytes), pause, times: REPEATS_MAX });
    }

    /// Repeats bytes as good as for ever, as fast as the client reads them.
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

/// Milliseconds of the script as time that really passes.
pub(crate) fn scaled(ms: f64, time_scale: f64) -> Duration {
    Duration::from_micros((ms * time_scale * 1000.0).max(0.0) as u64)
}
