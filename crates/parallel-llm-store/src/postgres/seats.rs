//! Statements for seat facts.

use parallel_llm_engine::{PicoUsd, RunId, SeatNumber};
use tokio_postgres::Row;

use super::connection::{Reader, Transaction};
use super::row::{self, get, ids, small, small_or_none};
use crate::error::DatabaseError;
use crate::row::append_rows::AppendRows;
use crate::row::seat_fact::{SeatFact, StoredFact, TimedFact, kind_name};
use crate::row::{count, integer};

/// The columns that [`fact`] reads and [`Transaction::write_facts`] writes.
macro_rules! facts_columns {
    () => {
        "run_id, seat, provider, model, status, late, considered, is_base, drawn_from, alone, cost_pico_usd, elapsed_ms, \
         decided_at_ms, outcome_kind, edit_ratio, asked_by, checksum, agreement_group"
    };
}
pub(super) use facts_columns;

/// The number of columns in [`facts_columns`].
const FACTS_COLUMNS: usize = 18;

/// Facts, newest first.
macro_rules! newest {
    ($whose:literal) => {
        concat!(
            "SELECT ",
            facts_columns!(),
            " FROM seats WHERE decided_at_ms >= $1 AND ",
            $whose,
            " ORDER BY decided_at_ms DESC, run_id DESC, seat LIMIT $2"
        )
    };
}

impl Reader<'_> {
    /// Facts since this time, newest first, for all principals or one.
    pub(crate) fn seat_facts(
        &self,
        asked_by: Option<&str>,
        since_ms: i64,
        facts_max: usize,
    ) -> Result<Vec<StoredFact>, DatabaseError> {
        let sql = match asked_by {
            None => newest!("$3::TEXT IS NULL"),
            Some(_) => newest!("asked_by = $3"),
        };
        self.session.rows(sql, &[&since_ms, &integer(facts_max as u64), &asked_by], fact)
    }

    /// The facts of these runs, by run and seat.
    pub(crate) fn facts_of(&self, runs: &[RunId]) -> Result<Vec<TimedFact>, DatabaseError> {
        let sql = concat!(
            "SELECT ",
            facts_columns!(),
            ", (SELECT sent_at_ms FROM calls WHERE calls.run_id = seats.run_id AND attempt = 1 ",
            "AND place = '{\"seat\":' || seat || '}') ",
            "- (SELECT created_at_ms FROM runs WHERE runs.run_id = seats.run_id) ",
            "FROM UNNEST($1::TEXT[]) WITH ORDINALITY AS wanted (id, position) ",
            "JOIN seats ON seats.run_id = wanted.id ORDER BY position, seat"
        );
        self.session.rows(sql, &[&ids(runs)], |row| {
            Ok(TimedFact { stored: fact(row)?, sent_after_ms: get(row, FACTS_COLUMNS)? })
        })
    }
}

impl Transaction {
    /// Writes a run's seat facts, replacing earlier ones.
    pub(super) fn write_facts(&mut self, changes: &AppendRows<'_>) -> Result<(), DatabaseError> {
        let sql = concat!(
            "INSERT INTO seats (",
            facts_columns!(),
            ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18) ",
            "ON CONFLICT (run_id, seat) DO UPDATE SET (provider, model, status, late, considered, is_base, drawn_from, ",
            "alone, cost_pico_usd, elapsed_ms, decided_at_ms, outcome_kind, edit_ratio, asked_by, checksum, ",
            "agreement_group) = ($3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)"
        );
        for fact in &changes.seats {
            let sum = fact.checksum(changes.asked_by).finish();
            self.execute(
                sql,
                &[
                    &changes.run_id,
                    &i64::from(fact.seat.0),
                    &fact.model.provider.0,
                    &fact.model.model,
                    &fact.status.as_str(),
                    &fact.late,
                    &fact.considered,
                    &fact.is_base,
                    &fact.drawn_from,
                    &fact.alone,
                    &fact.cost.map(|cost| cost.0),
                    &fact.elapsed_ms.map(integer),
                    &fact.decided_at_ms,
                    &kind_name(fact.outcome),
                    &fact.edit_ratio,
                    &changes.asked_by,
                    &sum,
                    &fact.agreement_group.map(i64::from),
                ],
            )?;
        }
        Ok(())
    }
}

/// Reads [`facts_columns`].
pub(super) fn fact(row: &Row) -> Result<StoredFact, DatabaseError> {
    let fact = SeatFact {
        run_id: row::run_id(row, 0)?,
        seat: SeatNumber(small(row, 1)?),
        model: row::model(row, 2)?,
        status: row::word(row, 4, serde_json::from_value)?,
        late: get(row, 5)?,
        considered: get(row, 6)?,
        is_base: get(row, 7)?,
        drawn_from: get(row, 8)?,
        alone: get(row, 9)?,
        cost: get::<Option<i64>>(row, 10)?.map(PicoUsd),
        elapsed_ms: get::<Option<i64>>(row, 11)?.map(count),
        decided_at_ms: get(row, 12)?,
        outcome: row::word(row, 13, serde_json::from_value)?,
        edit_ratio: get(row, 14)?,
        agreement_group: small_or_none(row, 17)?,
    };
    Ok(StoredFact { fact, asked_by: get(row, 15)?, checksum: get(row, 16)? })
}
