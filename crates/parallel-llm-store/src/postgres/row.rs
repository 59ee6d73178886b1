//! Converts between the server's values and rows.

use parallel_llm_engine::{ModelRef, PicoUsd, ProviderId, RunId};
use serde_json::Value;
use tokio_postgres::Row;
use tokio_postgres::types::FromSql;

use crate::error::{DatabaseError, DatabaseErrorKind, DatabaseResult as Result};
use crate::row::compressed::{TEXT_BYTES_MAX, TextBody, decompressed, decompressed_within};
use crate::row::event_row::{EventRow, PieceRow};
use crate::row::ownership::{LeaseRule, Ownership};
use crate::row::run_row::{RunRow, StoredRow};

/// The compressed plan of a row of `runs`.
macro_rules! plan_column {
    () => {
        "COALESCE((SELECT body FROM texts WHERE texts.run_id = runs.run_id AND hash = ''), '')"
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
         decided_at_ms, closed_at_ms, asked_by, last_seq, models, checksum"
    };
}
pub(super) use run_columns;

/// The number of columns in [`run_columns`].
pub(super) const RUN_COLUMNS: usize = 15;

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

/// A sum of money: exact, zero without rows, and bounded by its column.
macro_rules! total {
    ($what:literal) => {
        concat!("LEAST(COALESCE(SUM(", $what, "), 0), 9223372036854775807)::BIGINT")
    };
}
pub(super) use total;

/// Reads a column. A value of another type was not written by us.
pub(super) fn get<'r, T: FromSql<'r>>(row: &'r Row, column: usize) -> Result<T> {
    row.try_get(column).map_err(damaged)
}

/// A value that cannot be read.
pub(super) fn damaged(cause: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> DatabaseError {
    DatabaseError { kind: DatabaseErrorKind::Damaged, cause: cause.into() }
}

/// Reads [`ownership_columns`], starting at this column.
pub(super) fn ownership(row: &Row, first: usize) -> Result<Ownership> {
    Ok(Ownership {
        owner: get(row, first)?,
        lease_until_ms: get(row, first + 1)?,
        is_closed: get(row, first + 2)?,
        rule: LeaseRule::LeaseDecides,
    })
}

/// Reads [`run_columns`], starting at this column.
pub(super) fn run_row(row: &Row, first: usize) -> Result<StoredRow> {
    let columns = RunRow {
        run_id: get(row, first)?,
        status: get(row, first + 1)?,
        question_excerpt: get::<Option<&[u8]>>(row, first + 2)?.map(lossy),
        strategy: get(row, first + 3)?,
        seats: get(row, first + 4)?,
        answered: get(row, first + 5)?,
        cost_pico_usd: get(row, first + 6)?,
        cost_is_estimate: get::<bool>(row, first + 7)?.into(),
        created_at_ms: get(row, first + 8)?,
        decided_at_ms: get(row, first + 9)?,
        closed_at_ms: get(row, first + 10)?,
        asked_by: get(row, first + 11)?,
        last_seq: get(row, first + 12)?,
        models: get(row, first + 13)?,
    };
    Ok(StoredRow { row: columns, checksum: get(row, first + 14)? })
}

/// Reads [`event_columns`], starting at this column.
pub(super) fn event(row: &Row, first: usize) -> Result<EventRow> {
    Ok(EventRow {
        seq: get(row, first)?,
        elapsed_ms: get(row, first + 1)?,
        at_ms: get(row, first + 2)?,
        body: get(row, first + 3)?,
        checksum: get(row, first + 4)?,
    })
}

/// Reads [`piece_columns`], starting at this column.
pub(super) fn piece(row: &Row, first: usize) -> Result<PieceRow> {
    Ok(PieceRow {
        slot: get(row, first)?,
        attempt: small(row, first + 1)?,
        start: get(row, first + 2)?,
        text: lossy(get(row, first + 3)?),
        at_ms: get(row, first + 4)?,
        checksum: get(row, first + 5)?,
    })
}

/// Reads a run's id.
pub(super) fn run_id(row: &Row, column: usize) -> Result<RunId> {
    get::<&str>(row, column)?.parse().map_err(|cause: String| damaged(cause))
}

/// Reads an enum value, such as a status, from a text column.
pub(super) fn word<T>(row: &Row, column: usize, read: fn(Value) -> serde_json::Result<T>) -> Result<T> {
    read(get::<&str>(row, column)?.into()).map_err(damaged)
}

/// Reads a model from two adjacent columns, `provider` and `model`.
pub(super) fn model(row: &Row, column: usize) -> Result<ModelRef> {
    Ok(ModelRef { provider: ProviderId(get(row, column)?), model: get(row, column + 1)? })
}

/// Reads an amount of money.
pub(super) fn money(row: &Row, column: usize) -> Result<PicoUsd> {
    get(row, column).map(PicoUsd)
}

/// Reads a number of a small type.
pub(super) fn small<T: TryFrom<i64>>(row: &Row, column: usize) -> Result<T> {
    T::try_from(get(row, column)?).map_err(|_| damaged("a number is out of its range"))
}

/// Reads a number of a small type that may be missing.
pub(super) fn small_or_none<T: TryFrom<i64>>(row: &Row, column: usize) -> Result<Option<T>> {
    let number: Option<i64> = get(row, column)?;
    number.map(|number| T::try_from(number).map_err(|_| damaged("a number is out of its range"))).transpose()
}

/// Reads a text that may be compressed.
pub(super) fn text(row: &Row, column: usize) -> Result<String> {
    Ok(decompressed(get(row, column)?))
}

/// Reads a text of at most this many bytes, if they are known, that may be compressed.
pub(super) fn text_within(row: &Row, column: usize, bytes: Option<u64>) -> Result<String> {
    Ok(decompressed_within(get(row, column)?, bytes.unwrap_or(TEXT_BYTES_MAX)))
}

/// The text of these bytes; its checksum shows damage.
fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl TextBody {
    /// The bytes of its column.
    pub(super) fn bytes(&self) -> &[u8] {
        match self {
            Self::Plain(text) => text.as_bytes(),
            Self::Compressed(bytes) => bytes,
        }
    }
}

/// These ids as a parameter for `UNNEST`.
pub(super) fn ids(runs: &[RunId]) -> Vec<String> {
    runs.iter().map(RunId::to_string).collect()
}
