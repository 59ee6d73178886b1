//! Whether what the rows hold is what was written: each text against its hash, each row against its checksum.
//!
//! SQLite's own check sees that pages and indexes fit together, but not that a letter or a number has changed.

use futures_util::TryStreamExt as _;
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{AssertSqlSafe, Row as _};

use super::ledger::{CallKey, Spend};
use super::row::{event_columns, integer, piece_sum, plan_sum, recorded};
use super::run_row::{RunRow, shown};
use super::seats::{self, facts_columns};
use super::tokens;
use crate::checksum;

/// Troubles that are named. More say the same.
const TROUBLES_MAX: usize = 10;

/// What is looked through: its rows, each beginning with its run, and whether one of them is as it was written.
struct Part {
    /// What a row of it is called.
    name: &'static str,
    sql: &'static str,
    is_sound: fn(&SqliteRow) -> Result<bool, sqlx::Error>,
}

const PARTS: [Part; 7] = [
    Part {
        name: "the row",
        sql: concat!("SELECT ", shown!(), " FROM runs"),
        is_sound: |row| RunRow::read(row, 0).map(|(_, is_sound)| is_sound),
    },
    Part {
        name: "the plan",
        sql: "SELECT run_id, plan, plan_checksum FROM runs",
        is_sound: |row| Ok(plan_sum(row.try_get(0)?, row.try_get(1)?).holds(row.try_get(2)?)),
    },
    Part {
        name: "an event",
        sql: concat!("SELECT ", event_columns!(), " FROM events"),
        is_sound: |row| Ok(recorded(row).is_ok()),
    },
    Part {
        name: "a text",
        sql: "SELECT run_id, hash, body FROM texts",
        is_sound: |row| Ok(checksum::is_of_hash(row.try_get(2)?, row.try_get(1)?)),
    },
    Part {
        name: "a text on its way",
        sql: "SELECT run_id, place, attempt, start, text, checksum FROM pieces",
        is_sound: |row| {
            let sum = piece_sum(
                row.try_get(0)?,
                (row.try_get(1)?, row.try_get(2)?),
                (row.try_get(3)?, row.try_get(4)?),
            );
            Ok(sum.holds(row.try_get(5)?))
        },
    },
    Part {
        name: "the cost of a call",
        sql: "SELECT run_id, place, attempt, provider, model, sent_at_ms, asked_by, worst_pico_usd, sent_checksum, \
              ended_at_ms, outcome, code, end_checksum, cost_pico_usd, cost_is_estimate, input_tokens, output_tokens, \
              reasoning_tokens, cached_tokens, spend_checksum FROM calls",
        is_sound: is_sound_call,
    },
    Part {
        name: "what became of a seat",
        sql: concat!("SELECT ", facts_columns!(), " FROM seats"),
        is_sound: |row| Ok(seats::fact(row)?.is_some()),
    },
];

/// The first troubles that are found; none where everything is as it was written.
pub(super) async fn check(connection: &mut SqliteConnection) -> Result<Vec<String>, sqlx::Error> {
    let mut troubles = Vec::new();
    for part in &PARTS {
        let mut rows = sqlx::query(AssertSqlSafe(part.sql)).fetch(&mut *connection);
        while let Some(row) = rows.try_next().await? {
            // A value of another type than was written is as damaged as another value.
            if !(part.is_sound)(&row).unwrap_or(false) {
                troubles.push(part.tell(&row));
            }
            if troubles.len() >= TROUBLES_MAX {
                return Ok(troubles);
            }
        }
    }
    let sql = "SELECT run_id FROM runs WHERE last_seq <> (SELECT COUNT(*) FROM events WHERE events.run_id = runs.run_id) \
               LIMIT ?";
    let missing: Vec<String> =
        sqlx::query_scalar(sql).bind(integer(TROUBLES_MAX as u64)).fetch_all(&mut *connection).await?;
    troubles.extend(missing.iter().map(|run_id| format!("an event of the run {run_id} is missing")));
    if tokens::all(connection).await.is_err() {
        troubles.push("a token is not what was written".to_owned());
    }
    Ok(troubles)
}

impl Part {
    fn tell(&self, row: &SqliteRow) -> String {
        // Damaged itself, it may be no text.
        let run_id: &str = row.try_get(0).unwrap_or("?");
        format!("{} of the run {run_id} is not what was written", self.name)
    }
}

fn is_sound_call(row: &SqliteRow) -> Result<bool, sqlx::Error> {
    let key = CallKey { run_id: row.try_get(0)?, place: row.try_get(1)?, attempt: row.try_get(2)? };
    let sent = key.sum("calls: sent").text(row.try_get(3)?).text(row.try_get(4)?).number(row.try_get(5)?);
    let (sent, sent_stored): (_, Option<i64>) =
        (sent.text(row.try_get(6)?).number(row.try_get(7)?), row.try_get(8)?);
    let (ended_at_ms, outcome, code): (Option<i64>, &str, Option<&str>) =
        (row.try_get(9)?, row.try_get(10)?, row.try_get(11)?);
    let end_stored: Option<i64> = row.try_get(12)?;
    let end = key.sum("calls: end").number(ended_at_ms).text(Some(outcome)).text(code);
    let spend = Spend {
        cost: row.try_get(13)?,
        is_estimate: row.try_get(14)?,
        tokens: [row.try_get(15)?, row.try_get(16)?, row.try_get(17)?, row.try_get(18)?],
    };
    let spend_stored: Option<i64> = row.try_get(19)?;
    let is_new = sent_stored.is_some();
    // What has not ended has nothing of these, and its group no checksum.
    let has_no_end = matches!(outcome, "sent" | "unknown") && ended_at_ms.is_none() && code.is_none();
    let has_no_spend = spend.cost.is_none() && !spend.is_estimate && spend.tokens == [None; 4];
    Ok(sent.holds(sent_stored)
        && if end_stored.is_none() && is_new { has_no_end } else { end.holds(end_stored) }
        && if spend_stored.is_none() && is_new { has_no_spend } else { spend.sum(&key).holds(spend_stored) })
}
