//! Statements for seat facts.

use parallel_llm_engine::{RunId, SeatNumber};

use super::parts::columns;
use super::parts::session::{Reader, Row, Session};
use super::parts::value::values;
use super::runs::list;
use crate::row::append_rows::AppendRows;
use crate::row::seat_fact::{SeatFact, StoredFact, TimedFact, kind_name};
use crate::row::{count, integer};
use crate::system::error::DatabaseResult as Result;

/// The columns that [`fact`] reads and an append writes.
macro_rules! facts_columns {
    () => {
        "run_id, seat, provider, model, status, late, considered, is_base, drawn_from, alone, cost_pico_usd, elapsed_ms, \
         decided_at_ms, outcome_kind, edit_ratio, asked_by, checksum, agreement_group"
    };
}
pub(super) use facts_columns;

/// The number of columns in [`facts_columns`].
const FACTS_COLUMNS: usize = 18;

/// Facts, newest first. Each variant uses its own index.
macro_rules! newest {
    ($whose:literal) => {
        concat!(
            "SELECT ",
            facts_columns!(),
            " FROM seats WHERE decided_at_ms >= $1 AND ",
            $whose,
            " ORDER BY decided_at_ms DESC, run_id DESC, seat LIMIT $3"
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
    ) -> Result<Vec<StoredFact>> {
        let sql = match asked_by {
            None => newest!("CAST($2 AS TEXT) IS NULL"),
            Some(_) => newest!("asked_by = $2"),
        };
        self.session.rows(sql, &values![since_ms, asked_by, integer(facts_max as u64)], fact)
    }

    /// The facts of these runs, by run and seat.
    pub(crate) fn facts_of(&self, runs: &[RunId]) -> Result<Vec<TimedFact>> {
        let sql = format!(
            "SELECT {}, (SELECT sent_at_ms FROM calls WHERE calls.run_id = seats.run_id AND attempt = 1 \
             AND place = '{{\"seat\":' || seat || '}}') \
             - (SELECT created_at_ms FROM runs WHERE runs.run_id = seats.run_id) \
             FROM {} AS wanted JOIN seats ON seats.run_id = wanted.value ORDER BY wanted.position, seat",
            facts_columns!(),
            self.session.dialect().entries("$1")
        );
        self.session.rows(&sql, &[list(runs)], |row| {
            Ok(TimedFact { stored: fact(row)?, sent_after_ms: row.get(FACTS_COLUMNS)? })
        })
    }
}

impl dyn Session + '_ {
    /// Writes a run's seat facts, replacing earlier ones.
    pub(super) fn write_facts(&self, changes: &AppendRows<'_>) -> Result<()> {
        let sql = concat!(
            "INSERT INTO seats (",
            facts_columns!(),
            ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18) ",
            "ON CONFLICT (run_id, seat) DO UPDATE SET (provider, model, status, late, considered, is_base, drawn_from, ",
            "alone, cost_pico_usd, elapsed_ms, decided_at_ms, outcome_kind, edit_ratio, asked_by, checksum, ",
            "agreement_group) = ($3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)"
        );
        let rows = changes.seats.iter().map(|fact| {
            values![
                &changes.run_id,
                fact.seat.0,
                &fact.model.provider,
                &fact.model.model,
                fact.status.as_str(),
                fact.late,
                fact.considered,
                fact.is_base,
                fact.drawn_from,
                fact.alone,
                fact.cost,
                fact.elapsed_ms.map(integer),
                fact.decided_at_ms,
                kind_name(fact.outcome),
                fact.edit_ratio,
                changes.asked_by,
                fact.checksum(changes.asked_by).finish(),
                fact.agreement_group,
            ]
        });
        self.execute_each(sql, rows)
    }
}

/// Reads [`facts_columns`].
pub(super) fn fact(row: &Row<'_>) -> Result<StoredFact> {
    let fact = SeatFact {
        run_id: row.get(0)?,
        seat: SeatNumber(row.get(1)?),
        model: columns::model(row, 2)?,
        status: columns::word(row, 4, serde_json::from_value)?,
        late: row.get(5)?,
        considered: row.get(6)?,
        is_base: row.get(7)?,
        drawn_from: row.get(8)?,
        alone: row.get(9)?,
        cost: row.get(10)?,
        elapsed_ms: row.get::<Option<i64>>(11)?.map(count),
        decided_at_ms: row.get(12)?,
        outcome: columns::word(row, 13, serde_json::from_value)?,
        edit_ratio: row.get(14)?,
        agreement_group: row.get(17)?,
    };
    Ok(StoredFact { fact, asked_by: row.get(15)?, checksum: row.get(16)? })
}
