//! Statements for events, their texts and partial texts.

use std::collections::BTreeMap;
use std::sync::Arc;

use parallel_llm_engine::RunId;
use parallel_llm_engine::port::Lease;
use parallel_llm_engine::run::event::Attempt;
use sqlx::sqlite::SqliteRow;

use super::connection::{Reader, Transaction};
use super::row::{event, event_columns, piece, piece_columns};
use super::{Batch, ROWS_MAX, ledger, seats};
use crate::error::DatabaseError;
use crate::ledger::LedgerRows;
use crate::row::append_rows::AppendRows;
use crate::row::compressed::decompressed;
use crate::row::event_row::{EventRow, PieceRow, slot_json};
use crate::row::integer;

impl Reader<'_> {
    /// The events of a run after this number, in order.
    pub(crate) async fn events(
        &mut self,
        run_id: RunId,
        after_seq: u64,
    ) -> Result<Vec<EventRow>, DatabaseError> {
        let sql =
            concat!("SELECT ", event_columns!(), " FROM events WHERE run_id = ? AND seq > ? ORDER BY seq");
        let query = sqlx::query(sql).bind(run_id.to_string()).bind(integer(after_seq));
        let rows = query.fetch_all(&mut *self.connection).await?;
        Ok(rows.iter().map(|row| event(row, 0)).collect::<Result<_, _>>()?)
    }

    /// The texts of a run by hash, without its plan.
    pub(crate) async fn texts(&mut self, run_id: RunId) -> Result<BTreeMap<String, Arc<str>>, DatabaseError> {
        let query = sqlx::query_as("SELECT hash, body FROM texts WHERE run_id = ? AND hash <> ''");
        let rows: Vec<(String, Vec<u8>)> =
            query.bind(run_id.to_string()).fetch_all(&mut *self.connection).await?;
        Ok(rows.into_iter().map(|(hash, body)| (hash, Arc::from(decompressed(&body)))).collect())
    }

    /// The text of this hash.
    pub(crate) async fn text(
        &mut self,
        run_id: RunId,
        hash: &str,
    ) -> Result<Option<Arc<str>>, DatabaseError> {
        let query = sqlx::query_scalar("SELECT body FROM texts WHERE run_id = ? AND hash = ?");
        let body: Option<Vec<u8>> =
            query.bind(run_id.to_string()).bind(hash).fetch_optional(&mut *self.connection).await?;
        Ok(body.map(|body| Arc::from(decompressed(&body))))
    }

    /// The pieces of partial texts, in order.
    pub(crate) async fn pieces(&mut self, run_id: RunId) -> Result<Vec<PieceRow>, DatabaseError> {
        // A piece written after the end of its request is outdated.
        let sql = concat!(
            "SELECT ",
            piece_columns!(),
            " FROM pieces WHERE run_id = ? AND NOT EXISTS ( ",
            "SELECT 1 FROM calls WHERE calls.run_id = pieces.run_id AND calls.place = pieces.place ",
            "AND calls.attempt = pieces.attempt AND calls.outcome NOT IN ('sent', 'unknown')) ",
            "ORDER BY place, attempt, start"
        );
        let rows = sqlx::query(sql).bind(run_id.to_string()).fetch_all(&mut *self.connection).await?;
        Ok(rows.iter().map(|row: &SqliteRow| piece(row, 0)).collect::<Result<_, _>>()?)
    }

    /// Stored bytes of a partial text; `None` without any.
    pub(crate) async fn piece_end(
        &mut self,
        run_id: RunId,
        attempt: Attempt,
    ) -> Result<Option<i64>, DatabaseError> {
        let sql = "SELECT start + OCTET_LENGTH(text) FROM pieces WHERE run_id = ? AND place = ? AND attempt = ? \
                   ORDER BY start DESC LIMIT 1";
        let query = sqlx::query_scalar(sql).bind(run_id.to_string()).bind(slot_json(attempt.slot));
        Ok(query.bind(attempt.number).fetch_optional(&mut *self.connection).await?)
    }
}

impl Transaction {
    /// Adds a piece of a partial text; `false` if the lease's epoch is outdated, or the run is closed or stores no
    /// texts.
    pub(crate) async fn insert_piece(
        &mut self,
        lease: Lease,
        piece: &PieceRow,
    ) -> Result<bool, DatabaseError> {
        let sql = "INSERT INTO pieces (run_id, place, attempt, start, text, at_ms, checksum) \
                   SELECT run_id, ?, ?, ?, ?, ?, ? FROM runs WHERE run_id = ? AND epoch = ? AND closed_at_ms IS NULL \
                   AND store_mode = 'full'";
        let done = sqlx::query(sql)
            .bind(&*piece.slot)
            .bind(piece.attempt)
            .bind(piece.start)
            .bind(&*piece.text)
            .bind(piece.at_ms)
            .bind(piece.checksum)
            .bind(lease.run_id.to_string())
            .bind(integer(lease.epoch))
            .execute(&mut self.connection)
            .await?;
        Ok(done.rows_affected() == 1)
    }

    /// Writes the rows of an append.
    pub(crate) async fn apply(
        &mut self,
        changes: &AppendRows<'_>,
        money: &LedgerRows,
    ) -> Result<(), DatabaseError> {
        // One batch, since a round trip to SQLite's thread costs more than most of the statements.
        let mut batch = Batch::default();
        insert_events(&mut batch, changes);
        insert_texts(&mut batch, changes);
        ledger::write(&mut batch, &changes.run_id, money);
        seats::write(&mut batch, changes);
        forget_pieces(&mut batch, changes);
        batch.build().execute(&mut self.connection).await?;
        Ok(())
    }
}

fn insert_events(batch: &mut Batch, changes: &AppendRows<'_>) {
    for rows in changes.events.chunks(ROWS_MAX) {
        batch.push("INSERT INTO events (run_id, seq, elapsed_ms, at_ms, body, checksum) ");
        batch.push_values(rows, |mut columns, row| {
            columns.push_bind(&*changes.run_id).push_bind(row.seq).push_bind(row.elapsed_ms);
            columns.push_bind(row.at_ms).push_bind(&*row.body).push_bind(row.checksum);
        });
        batch.push("; ");
    }
}

/// A text is stored once per run, however many events carry it.
fn insert_texts(batch: &mut Batch, changes: &AppendRows<'_>) {
    let texts: Vec<_> = changes.texts.into_iter().flatten().collect();
    for texts in texts.chunks(ROWS_MAX) {
        batch.push("INSERT INTO texts (run_id, hash, body) ");
        batch.push_values(texts, |mut columns, (hash, body)| {
            columns.push_bind(&*changes.run_id).push_bind(hash.as_str()).push_bind((*body).clone());
        });
        batch.push(" ON CONFLICT DO NOTHING; ");
    }
}

fn forget_pieces(batch: &mut Batch, changes: &AppendRows<'_>) {
    if changes.is_closed {
        batch.push("DELETE FROM pieces WHERE run_id = ").push_bind(&*changes.run_id).push("; ");
        return;
    }
    for rows in changes.ended.chunks(ROWS_MAX) {
        batch.push("DELETE FROM pieces WHERE run_id = ").push_bind(&*changes.run_id);
        batch.push(" AND (place, attempt) IN (").push_values(rows, |mut columns, attempt| {
            columns.push_bind(slot_json(attempt.slot)).push_bind(attempt.number);
        });
        batch.push("); ");
    }
}
