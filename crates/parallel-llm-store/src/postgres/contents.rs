//! Verifies stored contents: texts against their hashes, rows against their checksums.
//!
//! The server may verify its own pages. It does not see what was changed in them on purpose, or on the way.

use parallel_llm_engine::RunPlan;
use tokio_postgres::Row;

use super::connection::Reader;
use super::row::{
    event, event_columns, get, piece, piece_columns, plan_column, run_columns, run_row, small, text,
};
use super::seats::{self, facts_columns};
use crate::clock;
use crate::error::DatabaseError;
use crate::inspection::{DAMAGED_RUNS_MAX, Finding, Findings, Whole};
use crate::row::call_row::{CallEnd, CallKey, CallSpend, FirstToken, SentCall, StoredCall};
use crate::row::checksum;
use crate::row::integer;
use crate::row::job_row;
use crate::row::run_row::plan_checksum;

/// Rows fetched at once: a few megabytes of texts.
const FETCH_ROWS: usize = 256;

/// A query for rows that begin with the id of what they are part of, and the test of each row.
struct Check {
    /// The name of a row in messages.
    name: &'static str,
    whole: Whole,
    sql: &'static str,
    is_sound: fn(&Row) -> Result<bool, DatabaseError>,
}

const CHECKS: [Check; 8] = [
    Check {
        name: "the row",
        whole: Whole::Run,
        sql: concat!("SELECT ", run_columns!(), " FROM runs"),
        is_sound: |row| Ok(run_row(row, 0)?.is_sound()),
    },
    Check {
        name: "the plan",
        whole: Whole::Run,
        sql: concat!("SELECT run_id, ", plan_column!(), ", plan_checksum FROM runs"),
        is_sound: |row| {
            let plan_json = text(row, 1)?;
            Ok(plan_checksum(get(row, 0)?, &plan_json).matches(get(row, 2)?)
                && serde_json::from_str::<RunPlan>(&plan_json).is_ok())
        },
    },
    Check {
        name: "an event",
        whole: Whole::Run,
        sql: concat!("SELECT run_id, ", event_columns!(), " FROM events"),
        is_sound: |row| Ok(event(row, 1)?.recorded(get(row, 0)?).is_ok()),
    },
    Check {
        name: "a text",
        whole: Whole::Run,
        sql: "SELECT run_id, hash, body FROM texts WHERE hash <> ''",
        is_sound: |row| Ok(checksum::is_of_hash(&text(row, 2)?, get(row, 1)?)),
    },
    Check {
        name: "a text on its way",
        whole: Whole::Run,
        sql: concat!("SELECT run_id, ", piece_columns!(), " FROM pieces"),
        is_sound: |row| Ok(piece(row, 1)?.is_sound(get(row, 0)?)),
    },
    Check {
        name: "the cost of a call",
        whole: Whole::Run,
        sql: "SELECT run_id, place, attempt, provider, model, sent_at_ms, asked_by, worst_pico_usd, sent_checksum, \
              ended_at_ms, outcome, code, end_checksum, cost_pico_usd, cost_is_estimate, input_tokens, output_tokens, \
              reasoning_tokens, cached_tokens, spend_checksum, first_token_ms, first_token_checksum FROM calls",
        is_sound: is_sound_call,
    },
    Check {
        name: "what became of a seat",
        whole: Whole::Run,
        sql: concat!("SELECT ", facts_columns!(), " FROM seats"),
        is_sound: |row| Ok(seats::fact(row)?.is_sound()),
    },
    Check {
        name: "a question",
        whole: Whole::Batch,
        sql: "SELECT batch_id, line, request, checksum FROM batch_jobs WHERE request IS NOT NULL",
        is_sound: |row| Ok(job_row::is_of_line(get(row, 0)?, get(row, 1)?, &text(row, 2)?, get(row, 3)?)),
    },
];

/// Adds findings, up to the limits and until this time; `false` if the time is over.
pub(super) fn check(
    reader: &Reader<'_>,
    findings: &mut Findings,
    until: std::time::Instant,
) -> Result<bool, DatabaseError> {
    for check in &CHECKS {
        let declare = format!("DECLARE checked NO SCROLL CURSOR FOR {}", check.sql);
        reader.session.execute(&declare, &[])?;
        let fetch = format!("FETCH {FETCH_ROWS} FROM checked");
        loop {
            // A value of the wrong type is damage too.
            let rows = reader.session.rows_once(&fetch, |row| {
                Ok(((check.is_sound)(row).unwrap_or(false), get::<String>(row, 0).ok()))
            })?;
            let is_last = rows.len() < FETCH_ROWS;
            for (_, id) in rows.into_iter().filter(|(is_sound, _)| !is_sound) {
                findings.add(Finding::unsound(check.name, check.whole, id));
            }
            if findings.is_full() {
                return Ok(true);
            }
            if clock::shared_now() >= until {
                return Ok(false);
            }
            if is_last {
                break;
            }
        }
        reader.session.command("CLOSE checked")?;
    }
    let sql = "SELECT run_id FROM runs WHERE last_seq <> (SELECT COUNT(*) FROM events WHERE events.run_id = runs.run_id) \
               LIMIT $1";
    for run_id in reader.session.rows(sql, &[&integer(DAMAGED_RUNS_MAX as u64)], |row| get(row, 0))? {
        findings.add(Finding::lacks_event(run_id));
    }
    let tokens = reader.tokens();
    if !tokens.is_ok_and(|tokens| tokens.into_iter().all(|token| token.checked().is_ok())) {
        findings.add(Finding::of("a token is not what was written"));
    }
    Ok(true)
}

fn is_sound_call(row: &Row) -> Result<bool, DatabaseError> {
    let call = StoredCall {
        sent: SentCall {
            key: CallKey { run_id: get(row, 0)?, slot: get(row, 1)?, attempt: small(row, 2)? },
            provider: get(row, 3)?,
            model: get(row, 4)?,
            sent_at_ms: get(row, 5)?,
            asked_by: get(row, 6)?,
            worst_pico_usd: get(row, 7)?,
        },
        sent_checksum: get(row, 8)?,
        end: CallEnd { ended_at_ms: get(row, 9)?, outcome: get(row, 10)?, code: get(row, 11)? },
        end_checksum: get(row, 12)?,
        spend: CallSpend {
            cost_pico_usd: get(row, 13)?,
            cost_is_estimate: get(row, 14)?,
            input_tokens: get(row, 15)?,
            output_tokens: get(row, 16)?,
            reasoning_tokens: get(row, 17)?,
            cached_tokens: get(row, 18)?,
        },
        spend_checksum: get(row, 19)?,
        first_token: FirstToken { ms: get(row, 20)? },
        first_token_checksum: get(row, 21)?,
    };
    Ok(call.is_sound())
}
