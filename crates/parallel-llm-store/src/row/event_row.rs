//! The rows of events and of partial texts.

use parallel_llm_engine::{CallerSlot, Failure, Recorded};

use super::checksum::Checksum;
use super::{count, damage, integer};

use crate::system::error;

/// An event of a run.
#[derive(Clone, Debug)]
pub(crate) struct EventRow {
    pub(crate) seq: i64,
    pub(crate) elapsed_ms: i64,
    pub(crate) at_ms: i64,
    /// The event in JSON, without its text.
    pub(crate) body: String,
    /// `None` if an older version wrote it.
    pub(crate) checksum: Option<i64>,
}

impl EventRow {
    /// The row for an event of this run.
    pub(crate) fn of(run_id: &str, recorded: &Recorded, body: &str, at_ms: i64) -> Self {
        let mut row = Self {
            seq: integer(recorded.seq),
            elapsed_ms: integer(recorded.elapsed_ms),
            at_ms,
            body: body.to_owned(),
            checksum: None,
        };
        row.checksum = Some(row.expected(run_id).finish());
        row
    }

    /// The event. Fails with `damaged` if it does not match its checksum.
    pub(crate) fn recorded(&self, run_id: &str) -> Result<Recorded, Failure> {
        if !self.expected(run_id).matches(self.checksum) {
            return Err(damage::failure(&format!("event {}", self.seq)));
        }
        let event =
            serde_json::from_str(&self.body).map_err(|cause| error::unreadable("an event", &cause))?;
        Ok(Recorded { seq: count(self.seq), elapsed_ms: count(self.elapsed_ms), event })
    }

    fn expected(&self, run_id: &str) -> Checksum {
        let sum = Checksum::of("events").text(Some(run_id)).number(Some(self.seq));
        sum.number(Some(self.elapsed_ms)).number(Some(self.at_ms)).text(Some(&self.body))
    }
}

/// A piece of a partial text. Long texts are stored in pieces: rewriting the whole text every second would put
/// gigabytes into the write-ahead log.
#[derive(Clone, Debug)]
pub(crate) struct PieceRow {
    /// The caller's slot in JSON.
    pub(crate) slot: String,
    pub(crate) attempt: u32,
    /// Offset in the text, in bytes.
    pub(crate) start: i64,
    pub(crate) text: String,
    pub(crate) at_ms: i64,
    /// `None` if an older version wrote it.
    pub(crate) checksum: Option<i64>,
}

impl PieceRow {
    /// Adds its checksum as a piece of this run.
    pub(crate) fn sealed(mut self, run_id: &str) -> Self {
        self.checksum = Some(self.expected(run_id).finish());
        self
    }

    /// Whether it matches its checksum as a piece of this run.
    pub(crate) fn is_sound(&self, run_id: &str) -> bool {
        self.expected(run_id).matches(self.checksum)
    }

    fn expected(&self, run_id: &str) -> Checksum {
        let sum = Checksum::of("pieces").text(Some(run_id)).text(Some(&self.slot));
        sum.number(Some(self.attempt.into())).number(Some(self.start)).text(Some(&self.text))
    }
}

/// A slot as stored in its column.
pub(crate) fn slot_json(slot: CallerSlot) -> String {
    serde_json::to_string(&slot).expect("a caller slot is plain data")
}
