//! Whether what the rows hold is what was written: each text against its hash, each row against its checksum.
//!
//! SQLite's own check sees that pages and indexes fit together, but not that a letter or a number has changed.

use std::collections::BTreeSet;

use futures_util::TryStreamExt as _;
use parallel_llm_engine::RunId;
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{AssertSqlSafe, Row as _};

use super::ledger::{CallKey, Spend};
use super::row::{event_columns, integer, piece_sum, plan, plan_column, plan_sum, recorded};
use super::run_row::{RunRow, shown};
use super::seats::{self, facts_columns};
use super::tokens;
use crate::inspection::Damages;
use crate::row::checksum;
use crate::row::compressed::unpacked;

/// Troubles that are named. More say the same.
const TROUBLES_MAX: usize = 10;
/// Damaged runs that are looked for. With more, the database is restored, and no run is looked at by itself.
const RUNS_MAX: usize = 1_000;

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
        sql: concat!("SELECT run_id, ", plan_column!(), ", plan_checksum FROM runs"),
        is_sound: |row| {
            let plan_json = unpacked(row.try_get(1)?);
            Ok(plan_sum(row.try_get(0)?, &plan_json).holds(row.try_get(2)?) && plan(&plan_json).is_ok())
        },
    },
    Part {
        name: "an event",
        sql: concat!("SELECT ", event_columns!(), " FROM events"),
        is_sound: |row| Ok(recorded(row).is_ok()),
    },
    Part {
        name: "a text",
        sql: "SELECT run_id, hash, body FROM texts WHERE hash <> ''",
        is_sound: |row| Ok(checksum::is_of_hash(&unpacked(row.try_get(2)?), row.try_get(1)?)),
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

/// What is found, as it comes up.
#[derive(Debug, Default)]
pub(super) struct Found {
    troubles: Vec<String>,
    runs: BTreeSet<RunId>,
}

impl Found {
    /// Notes a trouble, of the run of this id where it is one's.
    pub(super) fn add(&mut self, trouble: String, run_id: Option<&str>) {
        if self.troubles.len() < TROUBLES_MAX {
            self.troubles.push(trouble);
        }
        // Damaged itself, it may be no id.
        self.runs.extend(run_id.and_then(|id| id.parse::<RunId>().ok()));
    }

    fn is_full(&self) -> bool {
        self.runs.len() >= RUNS_MAX
    }

    /// What is to be told; `None` where nothing was found.
    pub(super) fn damages(self) -> Option<Damages> {
        let runs = self.runs.into_iter().collect();
        (!self.troubles.is_empty()).then_some(Damages { troubles: self.troubles, runs })
    }
}

/// Adds the troubles there are, until there are enough of them.
pub(super) async fn check(connection: &mut SqliteConnection, found: &mut Found) -> Result<(), sqlx::Error> {
    for part in &PARTS {
        let mut rows = sqlx::query(AssertSqlSafe(part.sql)).fetch(&mut *connection);
        while let Some(row) = rows.try_next().await? {
            // A value of another type than was written is as damaged as another value.
            if !(part.is_sound)(&row).unwrap_or(false) {
                let run_id = row.try_get(0).ok();
                let told = run_id.unwrap_or("?");
                found.add(format!("{} of the run {told} is not what was written", part.name), run_id);
            }
            if found.is_full() {
                return Ok(());
            }
        }
    }
    let sql = "SELECT run_id FROM runs WHERE last_seq <> (SELECT COUNT(*) FROM events WHERE events.run_id = runs.run_id) \
               LIMIT ?";
    let missing: Vec<String> =
        sqlx::query_scalar(sql).bind(integer(RUNS_MAX as u64)).fetch_all(&mut *connection).await?;
    for run_id in missing {
        found.add(format!("an event of the run {run_id} is missing"), Some(&run_id));
    }
    if tokens::all(connection).await.is_err() {
        found.add("a token is not what was written".to_owned(), None);
    }
    Ok(())
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
