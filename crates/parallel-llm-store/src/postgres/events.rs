//! Statements for events, their texts and partial texts.

use std::collections::BTreeMap;
use std::sync::Arc;

use parallel_llm_engine::RunId;
use parallel_llm_engine::port::Lease;
use parallel_llm_engine::run::event::Attempt;

use super::connection::{Reader, Transaction};
use super::row::{event, event_columns, get, piece, piece_columns, text_within};
use super::session::Parameters;
use crate::error::DatabaseError;
use crate::ledger::LedgerRows;
use crate::row::append_rows::AppendRows;
use crate::row::event_row::{EventRow, PieceRow, slot_json};
use crate::row::integer;

impl Reader<'_> {
    /// The events of a run after this number, in order.
    pub(crate) fn events(&self, run_id: RunId, after_seq: u64) -> Result<Vec<EventRow>, DatabaseError> {
        let sql =
            concat!("SELECT ", event_columns!(), " FROM events WHERE run_id = $1 AND seq > $2 ORDER BY seq");
        self.session.rows(sql, &[&run_id.to_string(), &integer(after_seq)], |row| event(row, 0))
    }

    /// The texts of a run by hash, without its plan. One that is longer than `lengths` says comes without its content.
    pub(crate) fn texts(
        &self,
        run_id: RunId,
        lengths: &BTreeMap<String, u64>,
    ) -> Result<BTreeMap<String, Arc<str>>, DatabaseError> {
        let sql = "SELECT hash, body FROM texts WHERE run_id = $1 AND hash <> ''";
        let texts = self.session.rows(sql, &[&run_id.to_string()], |row| {
            let hash: String = get(row, 0)?;
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
        let sql = "SELECT body FROM texts WHERE run_id = $1 AND hash = $2";
        let read = |row: &_| Ok(Arc::from(text_within(row, 0, bytes)?));
        self.session.first(sql, &[&run_id.to_string(), &hash], read)
    }

    /// The pieces of partial texts, in order.
    pub(crate) fn pieces(&self, run_id: RunId) -> Result<Vec<PieceRow>, DatabaseError> {
        // A piece written after the end of its request is outdated.
        let sql = concat!(
            "SELECT ",
            piece_columns!(),
            " FROM pieces WHERE run_id = $1 AND NOT EXISTS ( ",
            "SELECT 1 FROM calls WHERE calls.run_id = pieces.run_id AND calls.place = pieces.place ",
            "AND calls.attempt = pieces.attempt AND calls.outcome NOT IN ('sent', 'unknown')) ",
            "ORDER BY place, attempt, start"
        );
        self.session.rows(sql, &[&run_id.to_string()], |row| piece(row, 0))
    }

    /// Stored bytes of a partial text; `None` without any.
    pub(crate) fn piece_end(&self, run_id: RunId, attempt: Attempt) -> Result<Option<i64>, DatabaseError> {
        let sql = "SELECT start + OCTET_LENGTH(text) FROM pieces WHERE run_id = $1 AND place = $2 AND attempt = $3 \
                   ORDER BY start DESC LIMIT 1";
        let (slot, number) = (slot_json(attempt.slot), i64::from(attempt.number));
        self.session.first(sql, &[&run_id.to_string(), &slot, &number], |row| get(row, 0))
    }
}

impl Transaction {
    /// Adds a piece of a partial text; `false` if the lease's epoch is outdated, or the run is closed or stores no
    /// texts.
    pub(crate) fn insert_piece(&mut self, lease: Lease, piece: &PieceRow) -> Result<bool, DatabaseError> {
        // Locked, so that no other process takes the run over in between.
        let sql = "INSERT INTO pieces (run_id, place, attempt, start, text, at_ms, checksum) \
                   SELECT run_id, $1::TEXT, $2::BIGINT, $3::BIGINT, $4::BYTEA, $5::BIGINT, $6::BIGINT FROM runs WHERE run_id = $7 AND epoch = $8 \
                   AND closed_at_ms IS NULL AND store_mode = 'full' FOR NO KEY UPDATE";
        let PieceRow { slot, attempt, start, text, at_ms, checksum } = piece;
        let (attempt, text) = (i64::from(*attempt), text.as_bytes());
        let (run_id, epoch) = (lease.run_id.to_string(), integer(lease.epoch));
        let values: Parameters<'_> = &[slot, &attempt, start, &text, at_ms, checksum, &run_id, &epoch];
        let is_written = self.execute(sql, values)? == 1;
        if is_written {
            self.changed.entry(run_id).or_default();
        }
        Ok(is_written)
    }

    /// Writes the rows of an append.
    pub(crate) fn apply(
        &mut self,
        changes: &AppendRows<'_>,
        money: &LedgerRows,
    ) -> Result<(), DatabaseError> {
        if let Some(newest) = changes.events.last() {
            self.changed.insert(changes.run_id.clone(), Some(newest.seq));
        }
        self.insert_events(changes)?;
        self.insert_texts(changes)?;
        self.write_ledger(&changes.run_id, money)?;
        self.write_facts(changes)?;
        self.forget_pieces(changes)
    }

    fn insert_events(&mut self, changes: &AppendRows<'_>) -> Result<(), DatabaseError> {
        let sql = "INSERT INTO events (run_id, seq, elapsed_ms, at_ms, body, checksum) VALUES ($1, $2, $3, $4, $5, $6)";
        let run_id = &changes.run_id;
        let rows: Vec<[_; 6]> = changes
            .events
            .iter()
            .map(|row| -> [&(dyn tokio_postgres::types::ToSql + Sync); 6] {
                let EventRow { seq, elapsed_ms, at_ms, body, checksum } = row;
                [run_id, seq, elapsed_ms, at_ms, body, checksum]
            })
            .collect();
        self.session.execute_each(sql, &rows.iter().map(|row| &row[..]).collect::<Vec<_>>())
    }

    /// A text is stored once per run, however many events carry it.
    fn insert_texts(&mut self, changes: &AppendRows<'_>) -> Result<(), DatabaseError> {
        let sql = "INSERT INTO texts (run_id, hash, body) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
        for (hash, body) in changes.texts.into_iter().flatten() {
            self.execute(sql, &[&changes.run_id, hash, &body.bytes()])?;
        }
        Ok(())
    }

    fn forget_pieces(&mut self, changes: &AppendRows<'_>) -> Result<(), DatabaseError> {
        if changes.is_closed {
            self.execute("DELETE FROM pieces WHERE run_id = $1", &[&changes.run_id])?;
            return Ok(());
        }
        let sql = "DELETE FROM pieces WHERE run_id = $1 AND place = $2 AND attempt = $3";
        for attempt in &changes.ended {
            let (slot, number) = (slot_json(attempt.slot), i64::from(attempt.number));
            self.execute(sql, &[&changes.run_id, &slot, &number])?;
        }
        Ok(())
    }
}
