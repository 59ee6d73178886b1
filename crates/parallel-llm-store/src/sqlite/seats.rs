//! Statements for seat facts.

use parallel_llm_engine::{PicoUsd, SeatNumber};
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

use super::connection::Reader;
use super::row;
use super::{Batch, ROWS_MAX};
use crate::error::DatabaseError;
use crate::row::append_rows::AppendRows;
use crate::row::seat_fact::{SeatFact, StoredFact, kind_name};
use crate::row::{count, integer};

/// The columns that [`fact`] reads.
macro_rules! facts_columns {
    () => {
        "run_id, seat, provider, model, status, late, considered, is_base, drawn_from, alone, cost_pico_usd, elapsed_ms, \
         decided_at_ms, outcome_kind, edit_ratio, asked_by, checksum"
    };
}
pub(super) use facts_columns;

/// Facts, newest first.
macro_rules! newest {
    ($whose:literal) => {
        concat!(
            "SELECT ",
            facts_columns!(),
            " FROM seats WHERE decided_at_ms >= ?1 AND ",
            $whose,
            " ORDER BY decided_at_ms DESC, run_id DESC, seat LIMIT ?2"
        )
    };
}

impl Reader<'_> {
    /// Facts since this time, newest first, for all principals or one.
    pub(crate) async fn seat_facts(
        &mut self,
        asked_by: Option<&str>,
        since_ms: i64,
        facts_max: i64,
    ) -> Result<Vec<StoredFact>, DatabaseError> {
        let sql = match asked_by {
            None => newest!("?3 IS NULL"),
            Some(_) => newest!("asked_by = ?3"),
        };
        let query = sqlx::query(sql).bind(since_ms).bind(facts_max).bind(asked_by);
        let rows = query.fetch_all(&mut *self.connection).await?;
        Ok(rows.iter().map(fact).collect::<Result<_, _>>()?)
    }
}

/// Writes a run's seat facts, replacing earlier ones.
pub(super) fn write(batch: &mut Batch, changes: &AppendRows<'_>) {
    for facts in changes.seats.chunks(ROWS_MAX) {
        batch.push(
            "INSERT OR REPLACE INTO seats (run_id, seat, provider, model, status, late, considered, is_base, drawn_from, \
             alone, cost_pico_usd, elapsed_ms, decided_at_ms, outcome_kind, edit_ratio, asked_by, checksum) ",
        );
        batch.push_values(facts, |mut columns, fact| {
            columns.push_bind(fact.run_id.to_string()).push_bind(fact.seat.0);
            columns.push_bind(&*fact.model.provider.0).push_bind(&*fact.model.model);
            columns.push_bind(fact.status.as_str()).push_bind(fact.late).push_bind(fact.considered);
            columns.push_bind(fact.is_base).push_bind(fact.drawn_from).push_bind(fact.alone);
            columns.push_bind(fact.cost.map(|cost| cost.0)).push_bind(fact.elapsed_ms.map(integer));
            columns.push_bind(fact.decided_at_ms).push_bind(kind_name(fact.outcome));
            columns.push_bind(fact.edit_ratio).push_bind(changes.asked_by);
            columns.push_bind(fact.checksum(changes.asked_by).finish());
        });
        batch.push("; ");
    }
}

/// Reads [`facts_columns`].
pub(super) fn fact(row: &SqliteRow) -> Result<StoredFact, sqlx::Error> {
    let fact = SeatFact {
        run_id: row::run_id(row, 0)?,
        seat: SeatNumber(row.try_get(1)?),
        model: row::model(row, 2)?,
        status: row::word(row, 4, serde_json::from_value)?,
        late: row.try_get(5)?,
        considered: row.try_get(6)?,
        is_base: row.try_get(7)?,
        drawn_from: row.try_get(8)?,
        alone: row.try_get(9)?,
        cost: row.try_get::<Option<i64>, _>(10)?.map(PicoUsd),
        elapsed_ms: row.try_get::<Option<i64>, _>(11)?.map(count),
        decided_at_ms: row.try_get(12)?,
        outcome: row::word(row, 13, serde_json::from_value)?,
        edit_ratio: row.try_get(14)?,
    };
    Ok(StoredFact { fact, asked_by: row.try_get(15)?, checksum: row.try_get(16)? })
}
