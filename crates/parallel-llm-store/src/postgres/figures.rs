//! Statements for the figures about models.

use std::collections::BTreeMap;
use std::sync::Arc;

use parallel_llm_engine::{Code, ModelRef, PicoUsd};
use tokio_postgres::Row;

use super::connection::Reader;
use super::row::{self, get, money, small, total};
use crate::error::DatabaseError;
use crate::figures::{CallFact, CallResult, HourSpend};
use crate::row::{count, integer};

/// Calls, newest first. Each variant uses its own index, which holds all these columns.
macro_rules! newest {
    ($whose:literal) => {
        concat!(
            "SELECT provider, model, sent_at_ms, ended_at_ms, outcome, code, first_token_ms, cost_pico_usd, ",
            "cost_is_estimate FROM calls WHERE sent_at_ms >= $1 AND ",
            $whose,
            " ORDER BY sent_at_ms DESC LIMIT $2"
        )
    };
}

macro_rules! by_hour {
    ($whose:literal) => {
        concat!(
            "SELECT (sent_at_ms - $1) / 3600000, ",
            total!("cost_pico_usd"),
            ", COUNT(*) FILTER (WHERE cost_pico_usd IS NULL), ",
            total!("CASE WHEN cost_pico_usd IS NULL THEN worst_pico_usd END"),
            " FROM calls WHERE sent_at_ms >= $1 AND ",
            $whose,
            " GROUP BY 1 ORDER BY 1"
        )
    };
}

impl Reader<'_> {
    /// Calls since this time, newest first, for all principals or one.
    pub(crate) fn call_facts(
        &self,
        asked_by: Option<&str>,
        since_ms: i64,
        calls_max: usize,
    ) -> Result<Vec<CallFact>, DatabaseError> {
        let sql = if asked_by.is_some() { newest!("asked_by = $3") } else { newest!("$3::TEXT IS NULL") };
        // There are few models and many calls, so each name is kept once.
        let mut models: BTreeMap<ModelRef, Arc<ModelRef>> = BTreeMap::new();
        self.session.rows(sql, &[&since_ms, &integer(calls_max as u64), &asked_by], |found| {
            let shared =
                models.entry(row::model(found, 0)?).or_insert_with_key(|model| Arc::new(model.clone()));
            call_fact(found, Arc::clone(shared))
        })
    }

    /// The spending since this time by the hour, for all principals or one.
    pub(crate) fn spent_by_hour(
        &self,
        asked_by: Option<&str>,
        since_ms: i64,
    ) -> Result<Vec<HourSpend>, DatabaseError> {
        let sql = if asked_by.is_some() { by_hour!("asked_by = $2") } else { by_hour!("$2::TEXT IS NULL") };
        self.session.rows(sql, &[&since_ms, &asked_by], |found| {
            Ok(HourSpend {
                hour: small(found, 0)?,
                cost: money(found, 1)?,
                calls_of_unknown_cost: count(get(found, 2)?),
                unknown_cost_max: money(found, 3)?,
            })
        })
    }
}

fn call_fact(row: &Row, model: Arc<ModelRef>) -> Result<CallFact, DatabaseError> {
    let (sent_at_ms, ended_at_ms): (i64, Option<i64>) = (get(row, 2)?, get(row, 3)?);
    let code = get::<Option<&str>>(row, 5)?.and_then(Code::parse);
    let result = match get(row, 4)? {
        "sent" => CallResult::UnderWay,
        "answered" => CallResult::Answered,
        "cut" => CallResult::Cut(code),
        "failed" => CallResult::Failed(code),
        "cancelled" => CallResult::Cancelled,
        _ => CallResult::Unknown,
    };
    Ok(CallFact {
        model,
        sent_at_ms,
        result,
        // The clock may have been set back in between.
        elapsed_ms: ended_at_ms.and_then(|ended_at_ms| u64::try_from(ended_at_ms - sent_at_ms).ok()),
        first_token_ms: get::<Option<i64>>(row, 6)?.map(count),
        cost: get::<Option<i64>>(row, 7)?.map(PicoUsd),
        cost_is_estimate: get(row, 8)?,
    })
}
