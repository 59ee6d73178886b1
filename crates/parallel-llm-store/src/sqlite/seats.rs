//! Statements for seat facts.

use parallel_llm_engine::{PicoUsd, RunId, SeatNumber};
use rusqlite::{Row, params};

use super::connection::{Reader, Transaction};
use super::counting::ids;
use super::row;
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
            " FROM seats WHERE decided_at_ms >= ?1 AND ",
            $whose,
            " ORDER BY decided_at_ms DESC, run_id DESC, seat LIMIT ?2"
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
            None => newest!("?3 IS NULL"),
            Some(_) => newest!("asked_by = ?3"),
        };
        self.rows(sql, (since_ms, integer(facts_max as u64), asked_by), fact)
    }

    /// The facts of these runs, by run and seat.
    pub(crate) fn facts_of(&self, runs: &[RunId]) -> Result<Vec<TimedFact>, DatabaseError> {
        let sql = concat!(
            "SELECT ",
            facts_columns!(),
            ", (SELECT sent_at_ms FROM calls WHERE calls.run_id = seats.run_id AND attempt = 1 ",
            "AND place = '{\"seat\":' || seat || '}') ",
            "- (SELECT created_at_ms FROM runs WHERE runs.run_id = seats.run_id) ",
            "FROM JSON_EACH(?) AS wanted CROSS JOIN seats ON seats.run_id = wanted.value ORDER BY wanted.key, seat"
        );
        self.rows(sql, [ids(runs)], |row| {
            Ok(TimedFact { stored: fact(row)?, sent_after_ms: row.get(FACTS_COLUMNS)? })
        })
    }
}

impl Transaction {
    /// Writes a run's seat facts, replacing earlier ones.
    pub(super) fn write_facts(&mut self, changes: &AppendRows<'_>) -> Result<(), DatabaseError> {
        let sql = concat!(
            "INSERT OR REPLACE INTO seats (",
            facts_columns!(),
            ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
        );
        for fact in &changes.seats {
            let values = params![
                changes.run_id,
                fact.seat.0,
                fact.model.provider.0,
                fact.model.model,
                fact.status.as_str(),
                fact.late,
                fact.considered,
                fact.is_base,
                fact.drawn_from,
                fact.alone,
                fact.cost.map(|cost| cost.0),
                fact.elapsed_ms.map(integer),
                fact.decided_at_ms,
                kind_name(fact.outcome),
                fact.edit_ratio,
                changes.asked_by,
                fact.checksum(changes.asked_by).finish(),
                fact.agreement_group,
            ];
            self.execute(sql, values)?;
        }
        Ok(())
    }
}

/// Reads [`facts_columns`].
pub(super) fn fact(row: &Row<'_>) -> rusqlite::Result<StoredFact> {
    let fact = SeatFact {
        run_id: row::run_id(row, 0)?,
        seat: SeatNumber(row.get(1)?),
        model: row::model(row, 2)?,
        status: row::word(row, 4, serde_json::from_value)?,
        late: row.get(5)?,
        considered: row.get(6)?,
        is_base: row.get(7)?,
        drawn_from: row.get(8)?,
        alone: row.get(9)?,
        cost: row.get::<_, Option<i64>>(10)?.map(PicoUsd),
        elapsed_ms: row.get::<_, Option<i64>>(11)?.map(count),
        decided_at_ms: row.get(12)?,
        outcome: row::word(row, 13, serde_json::from_value)?,
        edit_ratio: row.get(14)?,
        agreement_group: row.get(17)?,
    };
    Ok(StoredFact { fact, asked_by: row.get(15)?, checksum: row.get(16)? })
}
