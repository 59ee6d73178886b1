//! Converts between SQLite's values and rows.

use parallel_llm_engine::{ModelRef, PicoUsd, ProviderId, RunId};
use serde_json::Value;
use sqlx::encode::{Encode, IsNull};
use sqlx::error::BoxDynError;
use sqlx::sqlite::{SqliteArgumentsBuffer, SqliteRow, SqliteTypeInfo};
use sqlx::types::Type;
use sqlx::{Row as _, Sqlite};

use crate::row::compressed::TextBody;
use crate::row::event_row::{EventRow, PieceRow};
use crate::row::ownership::Ownership;
use crate::row::run_row::{RunRow, StoredRow};

/// The compressed plan of a row of `runs`: in the run's texts, or in the row itself if an older version wrote it.
macro_rules! plan_column {
    () => {
        "IFNULL((SELECT body FROM texts WHERE texts.run_id = runs.run_id AND hash = ''), plan)"
    };
}
pub(super) use plan_column;

/// The columns that [`ownership`] reads.
macro_rules! ownership_columns {
    () => {
        "owner, lease_until_ms, closed_at_ms IS NOT NULL"
    };
}
pub(super) use ownership_columns;

/// The columns that [`run_row`] reads.
macro_rules! run_columns {
    () => {
        "run_id, status, question_excerpt, strategy, seats, answered, cost_pico_usd, cost_is_estimate, created_at_ms, \
         decided_at_ms, closed_at_ms, asked_by, last_seq, checksum"
    };
}
pub(super) use run_columns;

/// The number of columns in [`run_columns`].
pub(super) const RUN_COLUMNS: usize = 14;

/// The columns that [`event`] reads.
macro_rules! event_columns {
    () => {
        "seq, elapsed_ms, at_ms, body, checksum"
    };
}
pub(super) use event_columns;

/// The columns that [`piece`] reads.
macro_rules! piece_columns {
    () => {
        "place, attempt, start, text, at_ms, checksum"
    };
}
pub(super) use piece_columns;

/// Reads [`ownership_columns`], starting at this column.
pub(super) fn ownership(row: &SqliteRow, first: usize) -> Result<Ownership, sqlx::Error> {
    Ok(Ownership {
        owner: row.try_get(first)?,
        lease_until_ms: row.try_get(first + 1)?,
        is_closed: row.try_get(first + 2)?,
    })
}

/// Reads [`run_columns`], starting at this column.
pub(super) fn run_row(row: &SqliteRow, first: usize) -> Result<StoredRow, sqlx::Error> {
    let columns = RunRow {
        run_id: row.try_get(first)?,
        status: row.try_get(first + 1)?,
        question_excerpt: row.try_get(first + 2)?,
        strategy: row.try_get(first + 3)?,
        seats: row.try_get(first + 4)?,
        answered: row.try_get(first + 5)?,
        cost_pico_usd: row.try_get(first + 6)?,
        cost_is_estimate: row.try_get(first + 7)?,
        created_at_ms: row.try_get(first + 8)?,
        decided_at_ms: row.try_get(first + 9)?,
        closed_at_ms: row.try_get(first + 10)?,
        asked_by: row.try_get(first + 11)?,
        last_seq: row.try_get(first + 12)?,
    };
    Ok(StoredRow { row: columns, checksum: row.try_get(first + 13)? })
}

/// Reads [`event_columns`], starting at this column.
pub(super) fn event(row: &SqliteRow, first: usize) -> Result<EventRow, sqlx::Error> {
    Ok(EventRow {
        seq: row.try_get(first)?,
        elapsed_ms: row.try_get(first + 1)?,
        at_ms: row.try_get(first + 2)?,
        body: row.try_get(first + 3)?,
        checksum: row.try_get(first + 4)?,
    })
}

/// Reads [`piece_columns`], starting at this column.
pub(super) fn piece(row: &SqliteRow, first: usize) -> Result<PieceRow, sqlx::Error> {
    Ok(PieceRow {
        slot: row.try_get(first)?,
        attempt: row.try_get(first + 1)?,
        start: row.try_get(first + 2)?,
        text: row.try_get(first + 3)?,
        at_ms: row.try_get(first + 4)?,
        checksum: row.try_get(first + 5)?,
    })
}

/// Reads a run's id from a text column.
pub(super) fn run_id(row: &SqliteRow, column: usize) -> Result<RunId, sqlx::Error> {
    row.try_get::<&str, _>(column)?.parse().map_err(|cause: String| sqlx::Error::Decode(cause.into()))
}

/// Reads an enum value, such as a status, from a text column.
pub(super) fn word<T>(
    row: &SqliteRow,
    column: usize,
    read: fn(Value) -> serde_json::Result<T>,
) -> Result<T, sqlx::Error> {
    let word: &str = row.try_get(column)?;
    read(word.into()).map_err(|cause| sqlx::Error::Decode(cause.into()))
}

/// Reads a model from two adjacent columns, `provider` and `model`.
pub(super) fn model(row: &SqliteRow, column: usize) -> Result<ModelRef, sqlx::Error> {
    Ok(ModelRef { provider: ProviderId(row.try_get(column)?), model: row.try_get(column + 1)? })
}

/// Reads a sum of money. SQLite's TOTAL uses floats, which never overflow and are exact below nine thousand USD.
pub(super) fn sum(row: &SqliteRow, column: usize) -> Result<PicoUsd, sqlx::Error> {
    Ok(PicoUsd(row.try_get::<f64, _>(column)? as i64))
}

/// Stored as text, or as a blob if compressed.
impl Type<Sqlite> for TextBody {
    fn type_info() -> SqliteTypeInfo {
        <[u8] as Type<Sqlite>>::type_info()
    }
}

impl Encode<'_, Sqlite> for TextBody {
    fn encode_by_ref(&self, arguments: &mut SqliteArgumentsBuffer) -> Result<IsNull, BoxDynError> {
        match self.clone() {
            Self::Plain(text) => Encode::<Sqlite>::encode(text, arguments),
            Self::Compressed(bytes) => Encode::<Sqlite>::encode(bytes, arguments),
        }
    }
}
