//! Statements for events, their texts and partial texts.

use std::collections::BTreeMap;
use std::sync::Arc;

use parallel_llm_engine::RunId;
use parallel_llm_engine::port::Lease;
use parallel_llm_engine::run::event::Attempt;

use super::connection::{Reader, Transaction};
use super::row::{event, event_columns, piece, piece_columns, text_within};
use crate::error::DatabaseError;
use crate::ledger::LedgerRows;
use crate::row::append_rows::AppendRows;
use crate::row::event_row::{EventRow, PieceRow, slot_json};
use crate::row::integer;

impl Reader<'_> {
    /// The events of a run after this number, in order.
    pub(crate) fn events(&self, run_id: RunId, after_seq: u64) -> Result<Vec<EventRow>, DatabaseError> {
        let sql =
            concat!("SELECT ", event_columns!(), " FROM events WHERE run_id = ? AND seq > ? ORDER BY seq");
        self.rows(sql, (run_id.to_string(), integer(after_seq)), |row| event(row, 0))
    }

    /// The texts of a run by hash, without its plan. One that is longer than `lengths` says comes without its content.
    pub(crate) fn texts(
        &self,
        run_id: RunId,
        lengths: &BTreeMap<String, u64>,
    ) -> Result<BTreeMap<String, Arc<str>>, DatabaseError> {
        let sql = "SELECT hash, body FROM texts WHERE run_id = ? AND hash <> ''";
        let texts = self.rows(sql, [run_id.to_string()], |row| {
            let hash: String = row.get(0)?;
            let text = text_within(row, 1, lengths.get(&hash).copied())?;
            Ok((hash, Arc::from(text)))
        })?;
        Ok(texts.into_iter().collect())
    }

    /// The text of this hash, without its content if it has more than this many bytes.
    pub(crate) fn text(
        &self,
        run_id: RunId,
        hash: &str,
        bytes: Option<u64>,
    ) -> Result<Option<Arc<str>>, DatabaseError> {
        let sql = "SELECT body FROM texts WHERE run_id = ? AND hash = ?";
        self.first(sql, (run_id.to_string(), hash), |row| Ok(Arc::from(text_within(row, 0, bytes)?)))
    }

    /// The pieces of partial texts, in order.
    pub(crate) fn pieces(&self, run_id: RunId) -> Result<Vec<PieceRow>, DatabaseError> {
        // A piece written after the end of its request is outdated.
        let sql = concat!(
            "SELECT ",
            piece_columns!(),
            " FROM pieces WHERE run_id = ? AND NOT EXISTS ( ",
            "SELECT 1 FROM calls WHERE calls.run_id = pieces.run_id AND calls.place = pieces.place ",
            "AND calls.attempt = pieces.attempt AND calls.outcome NOT IN ('sent', 'unknown')) ",
            "ORDER BY place, attempt, start"
        );
        self.rows(sql, [run_id.to_string()], |row| piece(row, 0))
    }

    /// Stored bytes of a partial text; `None` without any.
    pub(crate) fn piece_end(&self, run_id: RunId, attempt: Attempt) -> Result<Option<i64>, DatabaseError> {
        let sql = "SELECT start + OCTET_LENGTH(text) FROM pieces WHERE run_id = ? AND place = ? AND attempt = ? \
                   ORDER BY start DESC LIMIT 1";
        self.first(sql, (run_id.to_string(), slot_json(attempt.slot), attempt.number), |row| row.get(0))
    }
}

impl Transaction {
    /// Adds a piece of a partial text; `false` if the lease's epoch is outdated, or the run is closed or stores no
    /// texts.
    pub(crate) fn insert_piece(&mut self, lease: Lease, piece: &PieceRow) -> Result<bool, DatabaseError> {
        let sql = "INSERT INTO pieces (run_id, place, attempt, start, text, at_ms, checksum) \
                   SELECT run_id, ?, ?, ?, ?, ?, ? FROM runs WHERE run_id = ? AND epoch = ? AND closed_at_ms IS NULL \
                   AND store_mode = 'full'";
        let PieceRow { slot, attempt, start, text, at_ms, checksum } = piece;
        let run_id = lease.run_id.to_string();
        let values = (slot, attempt, start, text, at_ms, checksum, run_id, integer(lease.epoch));
        Ok(self.execute(sql, values)? == 1)
    }

    /// Writes the rows of an append.
    pub(crate) fn apply(
        &mut self,
        changes: &AppendRows<'_>,
        money: &LedgerRows,
    ) -> Result<(), DatabaseError> {
        self.insert_events(changes)?;
        self.insert_texts(changes)?;
        self.write_ledger(&changes.run_id, money)?;
        self.write_facts(changes)?;
        self.forget_pieces(changes)
    }

    fn insert_events(&mut self, changes: &AppendRows<'_>) -> Result<(), DatabaseError> {
        let sql =
            "INSERT INTO events (run_id, seq, elapsed_ms, at_ms, body, checksum) VALUES (?, ?, ?, ?, ?, ?)";
        for EventRow { seq, elapsed_ms, at_ms, body, checksum } in &changes.events {
            self.execute(sql, (&changes.run_id, seq, elapsed_ms, at_ms, body, checksum))?;
        }
        Ok(())
    }

    /// A text is stored once per run, however many events carry it.
    fn insert_texts(&mut self, changes: &AppendRows<'_>) -> Result<(), DatabaseError> {
        let sql = "INSERT INTO texts (run_id, hash, body) VALUES (?, ?, ?) ON CONFLICT DO NOTHING";
        for (hash, body) in changes.texts.into_iter().flatten() {
            self.execute(sql, (&changes.run_id, hash, body))?;
        }
        Ok(())
    }

    fn forget_pieces(&mut self, changes: &AppendRows<'_>) -> Result<(), DatabaseError> {
        if changes.is_closed {
            self.execute("DELETE FROM pieces WHERE run_id = ?", [&changes.run_id])?;
            return Ok(());
        }
        let sql = "DELETE FROM pieces WHERE run_id = ? AND place = ? AND attempt = ?";
        for attempt in &changes.ended {
            self.execute(sql, (&changes.run_id, slot_json(attempt.slot), attempt.number))?;
        }
        Ok(())
    }
}
