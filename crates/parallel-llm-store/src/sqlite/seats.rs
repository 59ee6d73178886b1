//! The facts of seats, written when a run is decided and again when late answers are in.

use parallel_llm_engine::{Failure, OutcomeKind, PicoUsd, Run, SeatNumber};
use sqlx::Row as _;
use sqlx::sqlite::{SqlitePool, SqliteRow};

use super::read::unread;
use super::row::{self, count, integer};
use super::{Batch, ROWS_MAX};
use crate::fault;
use crate::row::checksum::Checksum;
use crate::row::seat_fact::{SeatFact, facts};
use crate::runs::Whose;

/// The most facts that are given at once: those of some twenty thousand runs, in about as many megabytes.
const FACTS_MAX: i64 = 100_000;

/// The columns that [`fact`] reads.
macro_rules! facts_columns {
    () => {
        "run_id, seat, provider, model, status, late, considered, is_base, drawn_from, alone, cost_pico_usd, elapsed_ms, \
         decided_at_ms, outcome_kind, edit_ratio, asked_by, checksum"
    };
}
pub(super) use facts_columns;

/// The newest facts first.
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

/// Writes what is known of a decided run's seats, in place of what was known before. The run's row knows already when
/// it was decided.
pub(super) fn write(batch: &mut Batch, run: &Run) {
    for facts in facts(run).chunks(ROWS_MAX) {
        batch.push(
            "INSERT OR REPLACE INTO seats (run_id, seat, provider, model, status, late, considered, is_base, drawn_from, \
             alone, cost_pico_usd, elapsed_ms, outcome_kind, edit_ratio, asked_by, checksum, decided_at_ms) ",
        );
        batch.push_values(facts, |mut row, fact| {
            row.push_bind(fact.run_id.to_string()).push_bind(fact.seat.0);
            row.push_bind(&*fact.model.provider.0).push_bind(&*fact.model.model);
            row.push_bind(fact.status.as_str()).push_bind(fact.late).push_bind(fact.considered);
            row.push_bind(fact.is_base).push_bind(fact.drawn_from).push_bind(fact.alone);
            row.push_bind(fact.cost.map(|cost| cost.0)).push_bind(fact.elapsed_ms.map(integer));
            row.push_bind(kind_word(fact.outcome)).push_bind(fact.edit_ratio);
            let asked_by = run.plan.asked_by.as_deref();
            row.push_bind(asked_by).push_bind(sum(fact, asked_by).finish());
            row.push("(SELECT decided_at_ms FROM runs WHERE run_id = ");
            row.push_bind_unseparated(fact.run_id.to_string()).push_unseparated(")");
        });
        batch.push("; ");
    }
}

/// The checksum of a fact, but for its moment, which only the run's row knows.
pub(super) fn sum(fact: &SeatFact, asked_by: Option<&str>) -> Checksum {
    let flags = [fact.late, fact.considered, fact.is_base, fact.drawn_from, fact.alone];
    let sum = Checksum::of("seats").text(Some(&fact.run_id.to_string())).number(Some(fact.seat.0.into()));
    let sum =
        sum.text(Some(&fact.model.provider.0)).text(Some(&fact.model.model)).text(Some(fact.status.as_str()));
    let sum = flags.into_iter().fold(sum, |sum, flag| sum.number(Some(flag.into())));
    let sum = sum.number(fact.cost.map(|cost| cost.0)).number(fact.elapsed_ms.map(integer));
    let ratio = fact.edit_ratio.map(|ratio| i64::from_le_bytes(ratio.to_le_bytes()));
    sum.text(Some(kind_word(fact.outcome))).number(ratio).text(asked_by)
}

/// The newest facts first. One that is damaged is left out: it would count for a model that it may not be about.
pub(crate) async fn read(
    readers: &SqlitePool,
    whose: Whose<'_>,
    since_ms: Option<i64>,
) -> Result<Vec<SeatFact>, Failure> {
    let sql = match whose {
        Whose::All => newest!("?3 IS NULL"),
        Whose::Asker(_) => newest!("asked_by = ?3"),
    };
    let query = sqlx::query(sql).bind(since_ms.unwrap_or(i64::MIN)).bind(FACTS_MAX).bind(whose.name());
    let rows = query.fetch_all(readers).await.map_err(unread)?;
    let facts = rows.iter().map(|row| fact(row).map_err(|cause| fault::unreadable("a seat", &cause)));
    facts.filter_map(Result::transpose).collect()
}

/// Reads a fact; `None` where it is damaged.
pub(super) fn fact(row: &SqliteRow) -> Result<Option<SeatFact>, sqlx::Error> {
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
    let is_sound = sum(&fact, row.try_get(15)?).holds(row.try_get(16)?);
    Ok(is_sound.then_some(fact))
}

/// The word that [`OutcomeKind`] has in JSON.
const fn kind_word(kind: OutcomeKind) -> &'static str {
    match kind {
        OutcomeKind::Fused => "fused",
        OutcomeKind::Selected => "selected",
        OutcomeKind::Verbatim => "verbatim",
        OutcomeKind::Listed => "listed",
        OutcomeKind::None => "none",
    }
}
