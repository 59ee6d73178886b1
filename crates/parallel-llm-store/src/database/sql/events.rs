//! Statements for events, their texts and partial texts.

use std::collections::BTreeMap;
use std::sync::Arc;

use parallel_llm_engine::RunId;
use parallel_llm_engine::port::Lease;
use parallel_llm_engine::run::event::Attempt;

use super::parts::columns::{event, event_columns, piece, piece_columns, text_within};
use super::parts::session::{Reader, Session};
use super::parts::value::values;
use crate::ledger::LedgerRows;
use crate::row::append_rows::AppendRows;
use crate::row::event_row::{EventRow, PieceRow, slot_json};
use crate::row::integer;
use crate::system::error::DatabaseResult as Result;

impl Reader<'_> {
    /// The events of a run after this number, in order.
    pub(crate) fn events(&self, run_id: RunId, after_seq: u64) -> Result<Vec<EventRow>> {
        let sql =
            concat!("SELECT ", event_columns!(), " FROM events WHERE run_id = $1 AND seq > $2 ORDER BY seq");
        self.session.rows(sql, &values![run_id, integer(after_seq)], |row| event(row, 0))
    }

    /// The texts of a run by hash, without its plan. One that is longer than `lengths` says comes without its content.
    pub(crate) fn texts(
        &self,
        run_id: RunId,
        lengths: &BTreeMap<String, u64>,
    ) -> Result<BTreeMap<String, Arc<str>>> {
        let sql = "SELECT hash, body FROM texts WHERE run_id = $1 AND hash <> ''";
        let texts = self.session.rows(sql, &values![run_id], |row| {
            let hash: String = row.get(0)?;
            let text = text_within(row, 1, lengths.get(&hash).copied())?;
            Ok((hash, Arc::from(text)))
        })?;
        Ok(texts.into_iter().collect())
    }

    /// The text of this hash, without its content if it has more than this many bytes.
    pub(crate) fn text(&self, run_id: RunId, hash: &str, bytes: Option<u64>) -> Result<Option<Arc<str>>> {
        let sql = "SELECT body FROM texts WHERE run_id = $1 AND hash = $2";
        self.session.first(sql, &values![run_id, hash], |row| Ok(Arc::from(text_within(row, 0, bytes)?)))
    }

    /// The pieces of partial texts, in order.
    pub(crate) fn pieces(&self, run_id: RunId) -> Result<Vec<PieceRow>> {
        // A piece written after the end of its request is outdated.
        let sql = concat!(
            "SELECT ",
            piece_columns!(),
            " FROM pieces WHERE run_id = $1 AND NOT EXISTS ( ",
            "SELECT 1 FROM calls WHERE calls.run_id = pieces.run_id AND calls.place = pieces.place ",
            "AND calls.attempt = pieces.attempt AND calls.outcome NOT IN ('sent', 'unknown')) ",
            "ORDER BY place, attempt, start"
        );
        self.session.rows(sql, &values![run_id], |row| piece(row, 0))
    }

    /// Stored bytes of a partial text; `None` without any.
    pub(crate) fn piece_end(&self, run_id: RunId, attempt: Attempt) -> Result<Option<i64>> {
        let sql = "SELECT start + OCTET_LENGTH(text) FROM pieces WHERE run_id = $1 AND place = $2 AND attempt = $3 \
                   ORDER BY start DESC LIMIT 1";
        self.session.first(sql, &values![run_id, slot_json(attempt.slot), attempt.number], |row| row.get(0))
    }
}

impl dyn Session + '_ {
    /// Adds a piece of a partial text; `false` if the lease's epoch is outdated, or the run is closed or stores no
    /// texts.
    pub(crate) fn write_piece(&self, lease: Lease, piece: &PieceRow) -> Result<bool> {
        // Locked, so that no other process takes the run over in between.
        let sql = format!(
            "INSERT INTO pieces (run_id, place, attempt, start, text, at_ms, checksum) \
             SELECT run_id, $1, $2, $3, $4, $5, $6 FROM runs WHERE run_id = $7 AND epoch = $8 AND closed_at_ms IS NULL \
             AND store_mode = 'full'{}",
            self.dialect().lock
        );
        let PieceRow { slot, attempt, start, text, at_ms, checksum } = piece;
        let values = values![slot, attempt, start, text, at_ms, checksum, lease.run_id, integer(lease.epoch)];
        Ok(self.execute(&sql, &values)? == 1)
    }

    /// Writes the rows of an append.
    pub(crate) fn write_append(&self, changes: &AppendRows<'_>, money: &LedgerRows) -> Result<()> {
        self.insert_events(changes)?;
        self.insert_texts(changes)?;
        self.write_ledger(&changes.run_id, money)?;
        self.write_facts(changes)?;
        self.forget_pieces(changes)
    }

    fn insert_events(&self, changes: &AppendRows<'_>) -> Result<()> {
        let sql = "INSERT INTO events (run_id, seq, elapsed_ms, at_ms, body, checksum) VALUES ($1, $2, $3, $4, $5, $6)";
        let rows = changes.events.iter().map(|row| {
            let EventRow { seq, elapsed_ms, at_ms, body, checksum } = row;
            values![&changes.run_id, seq, elapsed_ms, at_ms, body, checksum]
        });
        self.execute_each(sql, rows)
    }

    /// A text is stored once per run, however many events carry it.
    fn insert_texts(&self, changes: &AppendRows<'_>) -> Result<()> {
        let sql = "INSERT INTO texts (run_id, hash, body) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
        let texts = changes.texts.into_iter().flatten();
        self.execute_each(sql, texts.map(|(hash, body)| values![&changes.run_id, hash, body]))
    }

    fn forget_pieces(&self, changes: &AppendRows<'_>) -> Result<()> {
        if changes.is_closed {
            return self.execute("DELETE FROM pieces WHERE run_id = $1", &values![&changes.run_id]).map(drop);
        }
        let sql = "DELETE FROM pieces WHERE run_id = $1 AND place = $2 AND attempt = $3";
        let ended = changes.ended.iter();
        self.execute_each(
            sql,
            ended.map(|attempt| values![&changes.run_id, slot_json(attempt.slot), attempt.number]),
        )
    }
}
