//! Statements for money: costs of requests, reservations, and a day's spending.

use parallel_llm_engine::RunId;
use sqlx::sqlite::SqliteRow;
use sqlx::{AssertSqlSafe, Row as _};

use super::connection::Reader;
use super::row::{self, ownership};
use super::{Batch, ROWS_MAX};
use crate::costs::{CostBy, CostLine, CostQuery};
use crate::error::DatabaseError;
use crate::ledger::LedgerRows;
use crate::row::call_row::{HeardCall, ProviderSpend, ReconciledCall, ReservedSum, SentCall};
use crate::row::count;
use crate::row::event_row::slot_json;

/// Known and possible costs of requests since a time, by provider. Two variants, so that each uses its own index.
macro_rules! spent {
    ($whose:literal) => {
        concat!(
            "SELECT provider, TOTAL(CASE WHEN outcome <> 'sent' THEN cost_pico_usd END), ",
            "TOTAL(CASE WHEN outcome <> 'sent' AND cost_pico_usd IS NULL THEN worst_pico_usd END), ",
            "TOTAL(CASE WHEN outcome = 'sent' THEN COALESCE(cost_pico_usd, worst_pico_usd) END) ",
            "FROM calls WHERE sent_at_ms >= ?1 AND ",
            $whose,
            " GROUP BY provider"
        )
    };
}

impl Reader<'_> {
    /// Known and possible costs of requests since this time, by provider, for all principals or one.
    pub(crate) async fn spent(
        &mut self,
        asked_by: Option<&str>,
        since_ms: i64,
    ) -> Result<Vec<ProviderSpend>, DatabaseError> {
        let sql = if asked_by.is_some() { spent!("asked_by = ?2") } else { spent!("?2 IS NULL") };
        let query = sqlx::query(sql).bind(since_ms).bind(asked_by);
        let mut spent = Vec::new();
        for found in query.fetch_all(&mut *self.connection).await? {
            spent.push(ProviderSpend {
                provider: found.try_get(0)?,
                known: row::sum(&found, 1)?,
                unknown_max: row::sum(&found, 2)?,
                under_way_max: row::sum(&found, 3)?,
            });
        }
        Ok(spent)
    }

    /// Reservations of open runs except this one, by owner and provider, for all principals or one.
    pub(crate) async fn reserved(
        &mut self,
        except: RunId,
        asked_by: Option<&str>,
        now_ms: i64,
    ) -> Result<Vec<ReservedSum>, DatabaseError> {
        // Runs of one process are grouped, apart from those with expired leases: the lease decides if the process
        // cannot be seen.
        let sql = "SELECT owner, MAX(lease_until_ms), FALSE, provider, TOTAL(pico_usd) FROM holds JOIN runs USING (run_id) \
                   WHERE run_id <> ?1 AND closed_at_ms IS NULL AND (?3 IS NULL OR asked_by = ?3) \
                   GROUP BY owner, lease_until_ms < ?2, provider";
        let query = sqlx::query(sql).bind(except.to_string()).bind(now_ms).bind(asked_by);
        let mut reserved = Vec::new();
        for found in query.fetch_all(&mut *self.connection).await? {
            reserved.push(ReservedSum {
                ownership: ownership(&found, 0)?,
                provider: found.try_get(3)?,
                amount: row::sum(&found, 4)?,
            });
        }
        Ok(reserved)
    }

    /// Costs added up, for all principals or one.
    pub(crate) async fn costs(
        &mut self,
        asked_by: Option<&str>,
        query: CostQuery,
    ) -> Result<Vec<CostLine>, DatabaseError> {
        let (group, order) = match query.by {
            CostBy::Model => ("provider, model", "8 DESC, 1, 2"),
            CostBy::Provider => ("provider, ''", "8 DESC, 1"),
            CostBy::Principal => ("IFNULL(asked_by, ''), ''", "8 DESC, 1"),
            CostBy::Day => ("strftime('%Y-%m-%d', sent_at_ms / 1000, 'unixepoch'), ''", "1 DESC"),
        };
        let whose = if asked_by.is_some() { "asked_by = ?2" } else { "?2 IS NULL" };
        // The statement is made of constant parts only.
        let sql = format!(
            "SELECT {group}, COUNT(DISTINCT run_id), COUNT(*), SUM(outcome = 'failed'), SUM(cost_pico_usd IS NULL), \
             SUM(cost_pico_usd IS NOT NULL AND cost_is_estimate), TOTAL(cost_pico_usd), \
             CAST(TOTAL(input_tokens) AS INTEGER), CAST(TOTAL(output_tokens) AS INTEGER), \
             TOTAL(CASE WHEN cost_pico_usd IS NULL THEN worst_pico_usd END) \
             FROM calls WHERE sent_at_ms >= ?1 AND {whose} GROUP BY 1, 2 ORDER BY {order}"
        );
        let since_ms = query.since_ms.unwrap_or(i64::MIN);
        let rows = sqlx::query(AssertSqlSafe(sql)).bind(since_ms).bind(asked_by);
        let rows = rows.fetch_all(&mut *self.connection).await?;
        Ok(rows.iter().map(|row| cost_line(row, query.by)).collect::<Result<_, _>>()?)
    }
}

/// Writes the ledger rows of an append.
pub(super) fn write(batch: &mut Batch, run_id: &str, changes: &LedgerRows) {
    if changes.settles {
        settle(batch, run_id);
    }
    insert_sent(batch, &changes.sent);
    update_heard(batch, run_id, &changes.heard);
    changes.reconciled.iter().for_each(|call| update_reconciled(batch, call));
    if changes.loses_track {
        lose_track(batch, run_id);
    }
    if changes.releases_all {
        release_all(batch, run_id);
    }
    reserve(batch, run_id, changes);
}

/// Marks requests in flight as unknown, and ends all reservations.
pub(super) fn settle(batch: &mut Batch, run_id: &str) {
    lose_track(batch, run_id);
    release_all(batch, run_id);
}

fn lose_track(batch: &mut Batch, run_id: &str) {
    batch.push("UPDATE calls SET outcome = 'unknown' WHERE outcome = 'sent' AND run_id = ").push_bind(run_id);
    batch.push("; ");
}

fn release_all(batch: &mut Batch, run_id: &str) {
    batch.push("DELETE FROM holds WHERE run_id = ").push_bind(run_id).push("; ");
}

fn insert_sent(batch: &mut Batch, sent: &[SentCall]) {
    for rows in sent.chunks(ROWS_MAX) {
        batch
            .push("INSERT INTO calls (run_id, place, attempt, provider, model, sent_at_ms, asked_by, worst_pico_usd, sent_checksum) ");
        batch.push_values(rows, |mut columns, call| {
            columns.push_bind(&*call.key.run_id).push_bind(&*call.key.slot).push_bind(call.key.attempt);
            columns.push_bind(&*call.provider).push_bind(&*call.model).push_bind(call.sent_at_ms);
            columns.push_bind(call.asked_by.as_deref()).push_bind(call.worst_pico_usd);
            columns.push_bind(call.checksum().finish());
        });
        batch.push(" ON CONFLICT DO NOTHING; ");
    }
}

/// A request ends once, so only requests in flight are updated.
fn update_heard(batch: &mut Batch, run_id: &str, heard: &[HeardCall]) {
    for rows in heard.chunks(ROWS_MAX) {
        batch.push(
            "WITH heard (place, attempt, ended_at_ms, outcome, code, cost_pico_usd, cost_is_estimate, input_tokens, \
             output_tokens, reasoning_tokens, cached_tokens, generation_id, end_checksum, spend_checksum) AS (",
        );
        batch.push_values(rows, |mut columns, call| {
            let HeardCall { key, end, spend, generation_id } = call;
            columns.push_bind(&*key.slot).push_bind(key.attempt);
            columns.push_bind(end.ended_at_ms).push_bind(&*end.outcome).push_bind(end.code.as_deref());
            columns.push_bind(spend.cost_pico_usd).push_bind(spend.cost_is_estimate);
            columns.push_bind(spend.input_tokens).push_bind(spend.output_tokens);
            columns.push_bind(spend.reasoning_tokens).push_bind(spend.cached_tokens);
            columns.push_bind(generation_id.as_deref());
            columns.push_bind(call.is_over().then(|| end.checksum(key).finish()));
            columns.push_bind(call.is_over().then(|| spend.checksum(key).finish()));
        });
        batch.push(
            ") UPDATE calls SET ended_at_ms = heard.ended_at_ms, outcome = heard.outcome, code = heard.code, \
             cost_pico_usd = heard.cost_pico_usd, cost_is_estimate = heard.cost_is_estimate, \
             input_tokens = heard.input_tokens, output_tokens = heard.output_tokens, \
             reasoning_tokens = heard.reasoning_tokens, cached_tokens = heard.cached_tokens, \
             generation_id = COALESCE(heard.generation_id, calls.generation_id), \
             end_checksum = heard.end_checksum, spend_checksum = heard.spend_checksum FROM heard \
             WHERE calls.place = heard.place AND calls.attempt = heard.attempt AND calls.outcome = 'sent' \
             AND calls.run_id = ",
        );
        batch.push_bind(run_id).push("; ");
    }
}

fn update_reconciled(batch: &mut Batch, call: &ReconciledCall) {
    let ReconciledCall { key, spend } = call;
    batch.push("UPDATE calls SET cost_is_estimate = ").push_bind(spend.cost_is_estimate);
    batch.push(", cost_pico_usd = ").push_bind(spend.cost_pico_usd);
    batch.push(", input_tokens = ").push_bind(spend.input_tokens);
    batch.push(", output_tokens = ").push_bind(spend.output_tokens);
    batch.push(", reasoning_tokens = ").push_bind(spend.reasoning_tokens);
    batch.push(", cached_tokens = ").push_bind(spend.cached_tokens);
    batch.push(", spend_checksum = ").push_bind(spend.checksum(key).finish());
    batch.push(" WHERE run_id = ").push_bind(&*key.run_id);
    batch.push(" AND place = ").push_bind(&*key.slot);
    batch.push(" AND attempt = ").push_bind(key.attempt).push("; ");
}

fn reserve(batch: &mut Batch, run_id: &str, changes: &LedgerRows) {
    if !changes.released.is_empty() {
        batch.push("DELETE FROM holds WHERE run_id = ").push_bind(run_id).push(" AND place IN (");
        let mut slots = batch.separated(", ");
        for slot in &changes.released {
            slots.push_bind(slot_json(*slot));
        }
        batch.push("); ");
    }
    for rows in changes.reserved.iter().collect::<Vec<_>>().chunks(ROWS_MAX) {
        batch.push("INSERT OR REPLACE INTO holds (run_id, place, provider, pico_usd) ");
        batch.push_values(rows, |mut columns, (slot, reservation)| {
            columns.push_bind(run_id).push_bind(slot_json(**slot));
            columns.push_bind(&*reservation.provider.0).push_bind(reservation.amount.0);
        });
        batch.push("; ");
    }
}

fn cost_line(row: &SqliteRow, by: CostBy) -> Result<CostLine, sqlx::Error> {
    let counted = |column: usize| row.try_get::<i64, _>(column).map(count);
    Ok(CostLine {
        name: match by {
            CostBy::Model => row::model(row, 0)?.to_string(),
            CostBy::Principal | CostBy::Day | CostBy::Provider => row.try_get(0)?,
        },
        runs: counted(2)?,
        calls: counted(3)?,
        failed: counted(4)?,
        calls_of_unknown_cost: counted(5)?,
        calls_of_estimated_cost: counted(6)?,
        cost: row::sum(row, 7)?,
        input_tokens: counted(8)?,
        output_tokens: counted(9)?,
        unknown_cost_max: row::sum(row, 10)?,
    })
}
