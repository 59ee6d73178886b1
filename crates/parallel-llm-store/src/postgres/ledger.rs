//! Statements for money: costs of requests, reservations, and a day's spending.

use parallel_llm_engine::RunId;
use tokio_postgres::Row;

use super::connection::{Reader, Transaction};
use super::row::{self, get, money, ownership, total};
use super::session::Parameters;
use crate::costs::{CostBy, CostLine, CostQuery};
use crate::error::DatabaseError;
use crate::ledger::LedgerRows;
use crate::row::call_row::{DaySpend, HeardCall, ProviderSpend, ReconciledCall, ReservedSum, SentCall};
use crate::row::count;
use crate::row::event_row::slot_json;

/// Known and possible costs of requests since a time, by provider. Each variant uses its own index.
macro_rules! spent {
    ($whose:literal) => {
        concat!(
            "SELECT provider, ",
            total!("CASE WHEN outcome <> 'sent' THEN cost_pico_usd END"),
            ", ",
            total!("CASE WHEN outcome <> 'sent' AND cost_pico_usd IS NULL THEN worst_pico_usd END"),
            ", ",
            total!("CASE WHEN outcome = 'sent' THEN COALESCE(cost_pico_usd, worst_pico_usd) END"),
            " FROM calls WHERE sent_at_ms >= $1 AND ",
            $whose,
            " GROUP BY provider"
        )
    };
}

/// The same, and the reservations of open runs except one, in one statement: a transaction of ours sees each statement as of
/// its own beginning, and money moves from reservations to requests meanwhile. Runs of one process are grouped, apart from
/// those with expired leases.
macro_rules! day_spend {
    ($whose:literal) => {
        concat!(
            "SELECT FALSE, provider, spent.a, spent.b, spent.c, '', 0::BIGINT, FALSE FROM (",
            spent!($whose),
            ") AS spent (provider, a, b, c) UNION ALL ",
            "SELECT TRUE, provider, ",
            total!("pico_usd"),
            ", 0, 0, owner, MAX(lease_until_ms), FALSE FROM holds JOIN runs USING (run_id) ",
            "WHERE run_id <> $3 AND closed_at_ms IS NULL AND ",
            $whose,
            " GROUP BY owner, lease_until_ms < $4, provider"
        )
    };
}

impl Reader<'_> {
    /// Known and possible costs of requests since this time, by provider, for all principals or one.
    pub(crate) fn spent(
        &self,
        asked_by: Option<&str>,
        since_ms: i64,
    ) -> Result<Vec<ProviderSpend>, DatabaseError> {
        let sql = if asked_by.is_some() { spent!("asked_by = $2") } else { spent!("$2::TEXT IS NULL") };
        self.session.rows(sql, &[&since_ms, &asked_by], |row| {
            Ok(ProviderSpend {
                provider: get(row, 0)?,
                known: money(row, 1)?,
                unknown_max: money(row, 2)?,
                under_way_max: money(row, 3)?,
            })
        })
    }

    /// What [`Reader::spent`] returns, and the reservations of open runs except this one, as of one moment.
    pub(crate) fn day_spend(
        &self,
        asked_by: Option<&str>,
        since_ms: i64,
        except: RunId,
    ) -> Result<DaySpend, DatabaseError> {
        let sql =
            if asked_by.is_some() { day_spend!("asked_by = $2") } else { day_spend!("$2::TEXT IS NULL") };
        let mut day = DaySpend { spent: Vec::new(), reserved: Vec::new() };
        self.session.rows(sql, &[&since_ms, &asked_by, &except.to_string(), &self.now_ms], |row| {
            let (provider, amount) = (get(row, 1)?, money(row, 2)?);
            if get(row, 0)? {
                day.reserved.push(ReservedSum { ownership: ownership(row, 5)?, provider, amount });
            } else {
                day.spent.push(ProviderSpend {
                    provider,
                    known: amount,
                    unknown_max: money(row, 3)?,
                    under_way_max: money(row, 4)?,
                });
            }
            Ok(())
        })?;
        Ok(day)
    }

    /// Costs added up, for all principals or one.
    pub(crate) fn costs(
        &self,
        asked_by: Option<&str>,
        query: CostQuery,
    ) -> Result<Vec<CostLine>, DatabaseError> {
        let (group, order) = match query.by {
            CostBy::Model => ("provider, model", "8 DESC, 1, 2"),
            CostBy::Provider => ("provider, ''", "8 DESC, 1"),
            CostBy::Principal => ("COALESCE(asked_by, ''), ''", "8 DESC, 1"),
            CostBy::Day => {
                ("to_char(to_timestamp(sent_at_ms / 1000) AT TIME ZONE 'UTC', 'YYYY-MM-DD'), ''", "1 DESC")
            }
        };
        let whose = if asked_by.is_some() { "asked_by = $2" } else { "$2::TEXT IS NULL" };
        // The statement is made of constant parts only.
        let sql = format!(
            "SELECT {group}, COUNT(DISTINCT run_id), COUNT(*), COUNT(*) FILTER (WHERE outcome = 'failed'), \
             COUNT(*) FILTER (WHERE cost_pico_usd IS NULL), \
             COUNT(*) FILTER (WHERE cost_pico_usd IS NOT NULL AND cost_is_estimate), {}, {}, {}, {} \
             FROM calls WHERE sent_at_ms >= $1 AND {whose} GROUP BY 1, 2 ORDER BY {order}",
            total!("cost_pico_usd"),
            total!("input_tokens"),
            total!("output_tokens"),
            total!("CASE WHEN cost_pico_usd IS NULL THEN worst_pico_usd END"),
        );
        let since_ms = query.since_ms.unwrap_or(i64::MIN);
        self.session.rows(&sql, &[&since_ms, &asked_by], |row| cost_line(row, query.by))
    }
}

impl Transaction {
    /// Writes the ledger rows of an append.
    pub(super) fn write_ledger(&mut self, run_id: &str, changes: &LedgerRows) -> Result<(), DatabaseError> {
        if changes.settles {
            self.settle(run_id)?;
        }
        changes.sent.iter().try_for_each(|call| self.insert_sent(call))?;
        changes.heard.iter().try_for_each(|call| self.update_heard(call))?;
        changes.reconciled.iter().try_for_each(|call| self.update_reconciled(call))?;
        if changes.loses_track {
            self.lose_track(run_id)?;
        }
        if changes.releases_all {
            self.release_all(run_id)?;
        }
        self.reserve(run_id, changes)
    }

    /// Marks requests in flight as unknown, and ends all reservations.
    pub(super) fn settle(&mut self, run_id: &str) -> Result<(), DatabaseError> {
        self.lose_track(run_id)?;
        self.release_all(run_id)
    }

    fn lose_track(&mut self, run_id: &str) -> Result<(), DatabaseError> {
        let sql = "UPDATE calls SET outcome = 'unknown' WHERE outcome = 'sent' AND run_id = $1";
        self.execute(sql, &[&run_id]).map(drop)
    }

    fn release_all(&mut self, run_id: &str) -> Result<(), DatabaseError> {
        self.execute("DELETE FROM holds WHERE run_id = $1", &[&run_id]).map(drop)
    }

    fn insert_sent(&mut self, call: &SentCall) -> Result<(), DatabaseError> {
        let sql = "INSERT INTO calls (run_id, place, attempt, provider, model, sent_at_ms, asked_by, worst_pico_usd, \
                   sent_checksum) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING";
        let SentCall { key, provider, model, sent_at_ms, asked_by, worst_pico_usd } = call;
        let (attempt, checksum) = (i64::from(key.attempt), call.checksum().finish());
        let values: Parameters<'_> = &[
            &key.run_id,
            &key.slot,
            &attempt,
            provider,
            model,
            sent_at_ms,
            asked_by,
            worst_pico_usd,
            &checksum,
        ];
        self.execute(sql, values).map(drop)
    }

    /// A request ends once, so only one in flight is updated, or one whose end had been unknown.
    fn update_heard(&mut self, call: &HeardCall) -> Result<(), DatabaseError> {
        let sql = "UPDATE calls SET ended_at_ms = $1, outcome = $2, code = $3, cost_pico_usd = $4, cost_is_estimate = $5, \
                   input_tokens = $6, output_tokens = $7, reasoning_tokens = $8, cached_tokens = $9, \
                   generation_id = COALESCE($10, generation_id), end_checksum = $11, spend_checksum = $12, \
                   first_token_ms = $13, first_token_checksum = $14 \
                   WHERE run_id = $15 AND place = $16 AND attempt = $17 AND outcome IN ('sent', 'unknown')";
        let HeardCall { key, end, spend, generation_id, first_token } = call;
        self.execute(
            sql,
            &[
                &end.ended_at_ms,
                &end.outcome,
                &end.code,
                &spend.cost_pico_usd,
                &spend.cost_is_estimate,
                &spend.input_tokens,
                &spend.output_tokens,
                &spend.reasoning_tokens,
                &spend.cached_tokens,
                &generation_id.as_deref().map(str::as_bytes),
                &call.is_over().then(|| end.checksum(key).finish()),
                &call.is_over().then(|| spend.checksum(key).finish()),
                &first_token.ms,
                &first_token.ms.map(|_| first_token.checksum(key).finish()),
                &key.run_id,
                &key.slot,
                &i64::from(key.attempt),
            ],
        )
        .map(drop)
    }

    fn update_reconciled(&mut self, call: &ReconciledCall) -> Result<(), DatabaseError> {
        let sql = "UPDATE calls SET cost_pico_usd = $1, cost_is_estimate = $2, input_tokens = $3, output_tokens = $4, \
                   reasoning_tokens = $5, cached_tokens = $6, spend_checksum = $7 \
                   WHERE run_id = $8 AND place = $9 AND attempt = $10";
        let ReconciledCall { key, spend } = call;
        self.execute(
            sql,
            &[
                &spend.cost_pico_usd,
                &spend.cost_is_estimate,
                &spend.input_tokens,
                &spend.output_tokens,
                &spend.reasoning_tokens,
                &spend.cached_tokens,
                &spend.checksum(key).finish(),
                &key.run_id,
                &key.slot,
                &i64::from(key.attempt),
            ],
        )
        .map(drop)
    }

    fn reserve(&mut self, run_id: &str, changes: &LedgerRows) -> Result<(), DatabaseError> {
        for slot in &changes.released {
            let slot = slot_json(*slot);
            self.execute("DELETE FROM holds WHERE run_id = $1 AND place = $2", &[&run_id, &slot])?;
        }
        let sql = "INSERT INTO holds (run_id, place, provider, pico_usd) VALUES ($1, $2, $3, $4) \
                   ON CONFLICT (run_id, place) DO UPDATE SET provider = excluded.provider, pico_usd = excluded.pico_usd";
        for (slot, reservation) in &changes.reserved {
            let slot = slot_json(*slot);
            self.execute(sql, &[&run_id, &slot, &reservation.provider.0, &reservation.amount.0])?;
        }
        Ok(())
    }
}

fn cost_line(row: &Row, by: CostBy) -> Result<CostLine, DatabaseError> {
    let counted = |column: usize| get::<i64>(row, column).map(count);
    Ok(CostLine {
        name: match by {
            CostBy::Model => row::model(row, 0)?.to_string(),
            CostBy::Principal | CostBy::Day | CostBy::Provider => get(row, 0)?,
        },
        runs: counted(2)?,
        calls: counted(3)?,
        failed: counted(4)?,
        calls_of_unknown_cost: counted(5)?,
        calls_of_estimated_cost: counted(6)?,
        cost: money(row, 7)?,
        input_tokens: counted(8)?,
        output_tokens: counted(9)?,
        unknown_cost_max: money(row, 10)?,
    })
}
