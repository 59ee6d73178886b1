//! Statements for the figures about models.

use std::collections::BTreeMap;
use std::sync::Arc;

use parallel_llm_engine::{Code, ModelRef};

use super::parts::columns;
use super::parts::session::{Reader, Row};
use super::parts::value::values;
use crate::history::figures::{CallFact, CallResult, HourSpend};
use crate::row::{count, integer};
use crate::system::error::DatabaseResult as Result;

/// Calls, newest first. Each variant uses its own index, which holds all these columns.
macro_rules! newest {
    ($whose:literal) => {
        concat!(
            "SELECT provider, model, sent_at_ms, ended_at_ms, outcome, code, first_token_ms, cost_pico_usd, ",
            "cost_is_estimate FROM calls WHERE sent_at_ms >= $1 AND ",
            $whose,
            " ORDER BY sent_at_ms DESC LIMIT $3"
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
    ) -> Result<Vec<CallFact>> {
        let sql =
            if asked_by.is_some() { newest!("asked_by = $2") } else { newest!("CAST($2 AS TEXT) IS NULL") };
        // There are few models and many calls, so each name is kept once.
        let mut models: BTreeMap<ModelRef, Arc<ModelRef>> = BTreeMap::new();
        self.session.rows(sql, &values![since_ms, asked_by, integer(calls_max as u64)], |row| {
            let shared =
                models.entry(columns::model(row, 0)?).or_insert_with_key(|model| Arc::new(model.clone()));
            call_fact(row, Arc::clone(shared))
        })
    }

    /// The spending since this time by the hour, for all principals or one.
    pub(crate) fn spent_by_hour(&self, asked_by: Option<&str>, since_ms: i64) -> Result<Vec<HourSpend>> {
        let whose = if asked_by.is_some() { "asked_by = $2" } else { "CAST($2 AS TEXT) IS NULL" };
        let sql = format!(
            "SELECT (sent_at_ms - $1) / 3600000, {}, COUNT(*) FILTER (WHERE cost_pico_usd IS NULL), {} \
             FROM calls WHERE sent_at_ms >= $1 AND {whose} GROUP BY 1 ORDER BY 1",
            self.session.dialect().total("cost_pico_usd"),
            self.session.dialect().most("cost_pico_usd IS NULL"),
        );
        self.session.rows(&sql, &values![since_ms, asked_by], |row| {
            Ok(HourSpend {
                hour: row.get(0)?,
                cost: row.get(1)?,
                calls_of_unknown_cost: count(row.get(2)?),
                unknown_cost_max: row.get(3)?,
            })
        })
    }
}

fn call_fact(row: &Row<'_>, model: Arc<ModelRef>) -> Result<CallFact> {
    let (sent_at_ms, ended_at_ms): (i64, Option<i64>) = (row.get(2)?, row.get(3)?);
    let code = row.get::<Option<&str>>(5)?.and_then(Code::parse);
    let result = match row.get(4)? {
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
        first_token_ms: row.get::<Option<i64>>(6)?.map(count),
        cost: row.get(7)?,
        cost_is_estimate: row.get(8)?,
    })
}
