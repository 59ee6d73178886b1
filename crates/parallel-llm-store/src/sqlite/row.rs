//! Values as the database holds them, and back.

use std::sync::Arc;

use parallel_llm_engine::{Failure, ModelRef, PicoUsd, Place, ProviderId, Recorded, RunId, RunPlan};
use serde_json::Value;
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

use crate::fault;
use crate::runs::Tenure;

pub(super) fn plan(json: &str) -> Result<Arc<RunPlan>, Failure> {
    serde_json::from_str(json).map(Arc::new).map_err(|cause| fault::unreadable("a plan", &cause))
}

/// Reads an event from columns `seq`, `elapsed_ms` and `body`.
pub(super) fn recorded(row: &SqliteRow) -> Result<Recorded, Failure> {
    let unreadable = |cause: &dyn std::fmt::Display| fault::unreadable("an event", cause);
    let get = |column: usize| row.try_get::<i64, _>(column).map(count).map_err(|cause| unreadable(&cause));
    let body: &str = row.try_get(2).map_err(|cause| unreadable(&cause))?;
    let event = serde_json::from_str(body).map_err(|cause| unreadable(&cause))?;
    Ok(Recorded { seq: get(0)?, elapsed_ms: get(1)?, event })
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
