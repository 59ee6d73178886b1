//! Verifies stored contents: texts against their hashes, rows against their checksums.
//!
//! A database may verify its own pages. It does not see what was changed in them on purpose, or on the way.

use std::time::Instant;

use parallel_llm_engine::RunPlan;

use super::parts::columns::{
    event, event_columns, piece, piece_columns, plan_column, run_columns, run_row, text,
};
use super::parts::session::{Reader, Row};
use super::parts::value::values;
use super::seats::{self, facts_columns};
use crate::row::call_row::{CallEnd, CallKey, CallSpend, FirstToken, SentCall, StoredCall};
use crate::row::checksum;
use crate::row::integer;
use crate::row::job_row;
use crate::row::run_row::plan_checksum;
use crate::system::clock;
use crate::system::error::DatabaseResult as Result;
use crate::upkeep::inspection::{DAMAGED_RUNS_MAX, Finding, Findings, Whole};

/// A query for rows that begin with the id of what they are part of, and the test of each row.
struct Check {
    /// The name of a row in messages.
    name: &'static str,
    whole: Whole,
    sql: &'static str,
    is_sound: fn(&Row<'_>) -> Result<bool>,
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
            Ok(plan_checksum(row.get(0)?, &plan_json).matches(row.get(2)?)
                && serde_json::from_str::<RunPlan>(&plan_json).is_ok())
        },
    },
    Check {
        name: "an event",
        whole: Whole::Run,
        sql: concat!("SELECT run_id, ", event_columns!(), " FROM events"),
        is_sound: |row| Ok(event(row, 1)?.recorded(row.get(0)?).is_ok()),
    },
    Check {
        name: "a text",
        whole: Whole::Run,
        sql: "SELECT run_id, hash, body FROM texts WHERE hash <> ''",
        is_sound: |row| Ok(checksum::is_of_hash(&text(row, 2)?, row.get(1)?)),
    },
    Check {
        name: "a text on its way",
        whole: Whole::Run,
        sql: concat!("SELECT run_id, ", piece_columns!(), " FROM pieces"),
        is_sound: |row| Ok(piece(row, 1)?.is_sound(row.get(0)?)),
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
        is_sound: |row| Ok(job_row::is_of_line(row.get(0)?, row.get(1)?, &text(row, 2)?, row.get(3)?)),
    },
];

/// Adds findings, up to the limits and until this time; `false` if the time is over.
pub(crate) fn check(reader: &Reader<'_>, findings: &mut Findings, until: Instant) -> Result<bool> {
    for check in &CHECKS {
        let mut is_over = false;
        reader.session.scan(check.sql, &[], &mut |row| {
            // A value of the wrong type is damage too.
            if !(check.is_sound)(row).unwrap_or(false) {
                findings.add(Finding::unsound(check.name, check.whole, row.get(0).ok()));
            }
            is_over = clock::shared_now() >= until;
            Ok(!is_over && !findings.is_full())
        })?;
        if findings.is_full() {
            return Ok(true);
        }
        if is_over {
            return Ok(false);
        }
    }
    let sql = "SELECT run_id FROM runs WHERE last_seq <> (SELECT COUNT(*) FROM events WHERE events.run_id = runs.run_id) \
               LIMIT $1";
    for run_id in reader.session.rows(sql, &values![integer(DAMAGED_RUNS_MAX as u64)], |row| row.get(0))? {
        findings.add(Finding::lacks_event(run_id));
    }
    let tokens = reader.tokens();
    if !tokens.is_ok_and(|tokens| tokens.into_iter().all(|token| token.checked().is_ok())) {
        findings.add(Finding::of("a token is not what was written"));
    }
    Ok(true)
}

fn is_sound_call(row: &Row<'_>) -> Result<bool> {
    let call = StoredCall {
        sent: SentCall {
            key: CallKey { run_id: row.get(0)?, slot: row.get(1)?, attempt: row.get(2)? },
            provider: row.get(3)?,
            model: row.get(4)?,
            sent_at_ms: row.get(5)?,
            asked_by: row.get(6)?,
            worst_pico_usd: row.get(7)?,
        },
        sent_checksum: row.get(8)?,
        end: CallEnd { ended_at_ms: row.get(9)?, outcome: row.get(10)?, code: row.get(11)? },
        end_checksum: row.get(12)?,
        spend: CallSpend {
            cost_pico_usd: row.get(13)?,
            cost_is_estimate: row.get(14)?,
            input_tokens: row.get(15)?,
            output_tokens: row.get(16)?,
            reasoning_tokens: row.get(17)?,
            cached_tokens: row.get(18)?,
        },
        spend_checksum: row.get(19)?,
        first_token: FirstToken { ms: row.get(20)? },
        first_token_checksum: row.get(21)?,
    };
    Ok(call.is_sound())
}
