//! The columns that several statements read, and how they are read.

use parallel_llm_engine::{ModelRef, ProviderId, RunId};
use serde_json::Value as Json;

use super::session::Row;
use super::value::damaged;
use crate::row::compressed::{TEXT_BYTES_MAX, decompressed, decompressed_within};
use crate::row::event_row::{EventRow, PieceRow};
use crate::row::ownership::Ownership;
use crate::row::run_row::{ListedRun, RunRow, StoredRow};
use crate::system::error::DatabaseResult as Result;

/// Sorts after every run id, which consists of digits and upper-case letters.
pub(crate) const AFTER_ALL: &str = "~";

/// The end of a range of ids that has this run after it.
pub(crate) fn bound(before: Option<RunId>) -> String {
    before.map_or_else(|| AFTER_ALL.to_owned(), |run_id| run_id.to_string())
}

/// The compressed plan of a row of `runs`.
macro_rules! plan_column {
    () => {
        "COALESCE((SELECT body FROM texts WHERE texts.run_id = runs.run_id AND hash = ''), '')"
    };
}
pub(crate) use plan_column;

/// The columns that [`ownership`] reads.
macro_rules! ownership_columns {
    () => {
        "owner, lease_until_ms, closed_at_ms IS NOT NULL"
    };
}
pub(crate) use ownership_columns;

/// The columns that [`run_row`] reads.
macro_rules! run_columns {
    () => {
        "run_id, status, question_excerpt, strategy, seats, answered, cost_pico_usd, cost_is_estimate, created_at_ms, \
         decided_at_ms, closed_at_ms, asked_by, last_seq, models, checksum"
    };
}
pub(crate) use run_columns;

/// The number of columns in [`run_columns`].
pub(crate) const RUN_COLUMNS: usize = 15;

/// The columns that [`listed_run`] reads.
macro_rules! listed_columns {
    () => {
        concat!(
            $crate::database::sql::parts::columns::ownership_columns!(),
            ", ",
            $crate::database::sql::parts::columns::run_columns!(),
            ", EXISTS (SELECT 1 FROM calls WHERE calls.run_id = runs.run_id AND calls.cost_pico_usd IS NULL)"
        )
    };
}
pub(crate) use listed_columns;

/// The columns that [`event`] reads.
macro_rules! event_columns {
    () => {
        "seq, elapsed_ms, at_ms, body, checksum"
    };
}
pub(crate) use event_columns;

/// The columns that [`piece`] reads.
macro_rules! piece_columns {
    () => {
        "place, attempt, start, text, at_ms, checksum"
    };
}
pub(crate) use piece_columns;

/// Reads [`ownership_columns`], starting at this column.
pub(crate) fn ownership(row: &Row<'_>, first: usize) -> Result<Ownership> {
    Ok(Ownership {
        owner: row.get(first)?,
        lease_until_ms: row.get(first + 1)?,
        is_closed: row.get(first + 2)?,
        rule: row.dialect.lease_rule,
    })
}

/// Reads [`run_columns`], starting at this column.
pub(crate) fn run_row(row: &Row<'_>, first: usize) -> Result<StoredRow> {
    let columns = RunRow {
        run_id: row.get(first)?,
        status: row.get(first + 1)?,
        question_excerpt: row.get::<Option<&[u8]>>(first + 2)?.map(lossy),
        strategy: row.get(first + 3)?,
        seats: row.get(first + 4)?,
        answered: row.get(first + 5)?,
        cost_pico_usd: row.get(first + 6)?,
        cost_is_estimate: row.get(first + 7)?,
        created_at_ms: row.get(first + 8)?,
        decided_at_ms: row.get(first + 9)?,
        closed_at_ms: row.get(first + 10)?,
        asked_by: row.get(first + 11)?,
        last_seq: row.get(first + 12)?,
        models: row.get(first + 13)?,
    };
    Ok(StoredRow { row: columns, checksum: row.get(first + 14)? })
}

/// Reads [`listed_columns`].
pub(crate) fn listed_run(row: &Row<'_>) -> Result<ListedRun> {
    Ok(ListedRun {
        ownership: ownership(row, 0)?,
        stored: run_row(row, 3)?,
        cost_lacks_calls: row.get(3 + RUN_COLUMNS)?,
    })
}

/// Reads [`event_columns`], starting at this column.
pub(crate) fn event(row: &Row<'_>, first: usize) -> Result<EventRow> {
    Ok(EventRow {
        seq: row.get(first)?,
        elapsed_ms: row.get(first + 1)?,
        at_ms: row.get(first + 2)?,
        body: row.get(first + 3)?,
        checksum: row.get(first + 4)?,
    })
}

/// Reads [`piece_columns`], starting at this column.
pub(crate) fn piece(row: &Row<'_>, first: usize) -> Result<PieceRow> {
    Ok(PieceRow {
        slot: row.get(first)?,
        attempt: row.get(first + 1)?,
        start: row.get(first + 2)?,
        text: lossy(row.get(first + 3)?),
        at_ms: row.get(first + 4)?,
        checksum: row.get(first + 5)?,
    })
}

/// Reads an enum value, such as a status, from a text column.
pub(crate) fn word<T>(row: &Row<'_>, column: usize, read: fn(Json) -> serde_json::Result<T>) -> Result<T> {
    read(row.get::<&str>(column)?.into()).map_err(damaged)
}

/// Reads a model from two adjacent columns, `provider` and `model`.
pub(crate) fn model(row: &Row<'_>, column: usize) -> Result<ModelRef> {
    Ok(ModelRef { provider: ProviderId(row.get(column)?), model: row.get(column + 1)? })
}

/// Reads a text that may be compressed.
pub(crate) fn text(row: &Row<'_>, column: usize) -> Result<String> {
    Ok(decompressed(row.get(column)?))
}

/// Reads a text of at most this many bytes, if they are known, that may be compressed.
pub(crate) fn text_within(row: &Row<'_>, column: usize, bytes: Option<u64>) -> Result<String> {
    Ok(decompressed_within(row.get(column)?, bytes.unwrap_or(TEXT_BYTES_MAX)))
}

/// The text of these bytes; its checksum shows damage.
fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
