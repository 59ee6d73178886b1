//! Values as the database holds them, and back.

use std::sync::Arc;

use parallel_llm_engine::{Failure, ModelRef, PicoUsd, Place, ProviderId, Recorded, RunId, RunPlan};
use serde_json::Value;
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

use crate::damage;
use crate::fault;
use crate::row::checksum::Checksum;
use crate::runs::Tenure;

pub(super) fn plan(json: &str) -> Result<Arc<RunPlan>, Failure> {
    serde_json::from_str(json).map(Arc::new).map_err(|cause| fault::unreadable("a plan", &cause))
}

/// The plan of a row of `runs`, packed: among the run's texts, or in the row itself where an older version wrote it.
macro_rules! plan_column {
    () => {
        "IFNULL((SELECT body FROM texts WHERE texts.run_id = runs.run_id AND hash = ''), plan)"
    };
}
pub(super) use plan_column;

/// The columns of an event that [`recorded`] reads.
macro_rules! event_columns {
    () => {
        "run_id, seq, elapsed_ms, at_ms, body, checksum"
    };
}
pub(super) use event_columns;

/// Reads an event from [`event_columns`]. Fails with `damaged` where it is not what was written.
pub(super) fn recorded(row: &SqliteRow) -> Result<Recorded, Failure> {
    let unreadable = |cause: &dyn std::fmt::Display| fault::unreadable("an event", cause);
    let get = |column: usize| row.try_get::<i64, _>(column).map_err(|cause| unreadable(&cause));
    let text = |column: usize| row.try_get::<&str, _>(column).map_err(|cause| unreadable(&cause));
    let (seq, elapsed_ms, body) = (get(1)?, get(2)?, text(4)?);
    let stored = row.try_get(5).map_err(|cause| unreadable(&cause))?;
    if !event_sum(text(0)?, [seq, elapsed_ms, get(3)?], body).holds(stored) {
        return Err(damage::failure(&format!("event {seq}")));
    }
    let event = serde_json::from_str(body).map_err(|cause| unreadable(&cause))?;
    Ok(Recorded { seq: count(seq), elapsed_ms: count(elapsed_ms), event })
}

/// The checksum of an event; the numbers are its `seq`, `elapsed_ms` and `at_ms`.
pub(super) fn event_sum(run_id: &str, numbers: [i64; 3], body: &str) -> Checksum {
    let sum = Checksum::of("events").text(Some(run_id));
    numbers.into_iter().fold(sum, |sum, number| sum.number(Some(number))).text(Some(body))
}

/// The checksum of a piece of a text on its way: whose it is, where it begins and what it says.
pub(super) fn piece_sum(run_id: &str, (place, attempt): (&str, u32), (start, text): (i64, &str)) -> Checksum {
    let sum = Checksum::of("pieces").text(Some(run_id)).text(Some(place)).number(Some(attempt.into()));
    sum.number(Some(start)).text(Some(text))
}

/// The checksum of a run's plan.
pub(super) fn plan_sum(run_id: &str, plan_json: &str) -> Checksum {
    Checksum::of("plan").text(Some(run_id)).text(Some(plan_json))
}

/// Reads who does a run from its columns `owner`, `lease_until_ms` and whether it is closed.
pub(super) fn tenure(row: &SqliteRow) -> Result<Tenure, sqlx::Error> {
    Ok(Tenure { owner: row.try_get(0)?, lease_until_ms: row.try_get(1)?, closed: row.try_get(2)? })
}

/// Reads a run's id from a column of text.
pub(super) fn run_id(row: &SqliteRow, column: usize) -> Result<RunId, sqlx::Error> {
    row.try_get::<&str, _>(column)?.parse().map_err(|cause: String| sqlx::Error::Decode(cause.into()))
}

/// Reads a word of a closed list, such as a status, from a column of text.
pub(super) fn word<T>(
    row: &SqliteRow,
    column: usize,
    read: fn(Value) -> serde_json::Result<T>,
) -> Result<T, sqlx::Error> {
    let word: &str = row.try_get(column)?;
    read(word.into()).map_err(|cause| sqlx::Error::Decode(cause.into()))
}

/// Reads a model from its columns `provider` and `model`, the second following the first.
pub(super) fn model(row: &SqliteRow, column: usize) -> Result<ModelRef, sqlx::Error> {
    Ok(ModelRef { provider: ProviderId(row.try_get(column)?), model: row.try_get(column + 1)? })
}

/// Reads a sum of money. SQLite adds up in floats, which never overflow; below nine thousand USD they are exact.
pub(super) fn sum(row: &SqliteRow, column: usize) -> Result<PicoUsd, sqlx::Error> {
    Ok(PicoUsd(row.try_get::<f64, _>(column)? as i64))
}

/// A place as a column holds it.
pub(super) fn place_json(place: Place) -> String {
    serde_json::to_string(&place).expect("a place is plain data")
}

/// SQLite's integers have a sign; nothing we count comes near the end of them.
pub(super) fn integer(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// What [`integer`] wrote.
pub(super) fn count(integer: i64) -> u64 {
    u64::try_from(integer).unwrap_or_default()
}
