//! Statements for money: costs of requests, reservations, and a day's spending.

use parallel_llm_engine::RunId;

use super::parts::columns::{self, ownership};
use super::parts::dialect::Dialect;
use super::parts::session::{Reader, Row, Session};
use super::parts::value::values;
use crate::history::costs::{CostBy, CostLine, CostQuery};
use crate::ledger::LedgerRows;
use crate::row::call_row::{DaySpend, HeardCall, ProviderSpend, ReconciledCall, ReservedSum, SentCall};
use crate::row::count;
use crate::row::event_row::slot_json;
use crate::system::error::DatabaseResult as Result;

/// Known and possible costs of requests since a time, by provider.
fn spent(dialect: &Dialect, whose: &str) -> String {
    format!(
        "SELECT provider, {}, {}, {} FROM calls WHERE sent_at_ms >= $1 AND {whose} GROUP BY provider",
        dialect.total("CASE WHEN outcome <> 'sent' THEN cost_pico_usd END"),
        dialect.most("outcome <> 'sent' AND cost_pico_usd IS NULL"),
        dialect.most("outcome = 'sent'"),
    )
}

/// All principals or one, each by its own index.
const fn whose(asked_by: Option<&str>) -> &'static str {
    if asked_by.is_some() { "asked_by = $2" } else { "CAST($2 AS TEXT) IS NULL" }
}

impl Reader<'_> {
    /// Known and possible costs of requests since this time, by provider, for all principals or one.
    pub(crate) fn spent(&self, asked_by: Option<&str>, since_ms: i64) -> Result<Vec<ProviderSpend>> {
        let sql = spent(self.session.dialect(), whose(asked_by));
        self.session.rows(&sql, &values![since_ms, asked_by], |row| provider_spend(row, 0))
    }

    /// What [`Reader::spent`] returns, and the reservations of open runs except this one. In one statement, so that both are as
    /// of one moment: money moves from reservations to requests meanwhile.
    pub(crate) fn day_spend(&self, asked_by: Option<&str>, since_ms: i64, except: RunId) -> Result<DaySpend> {
        let whose = whose(asked_by);
        // Runs of one process are grouped, apart from those with expired leases: the lease decides if the process cannot be
        // seen.
        let sql = format!(
            "SELECT FALSE, spent.*, '', 0, FALSE FROM ({}) AS spent UNION ALL \
             SELECT TRUE, provider, {}, 0, 0, owner, MAX(lease_until_ms), FALSE FROM holds JOIN runs USING (run_id) \
             WHERE run_id <> $3 AND closed_at_ms IS NULL AND {whose} GROUP BY owner, lease_until_ms < $4, provider",
            spent(self.session.dialect(), whose),
            self.session.dialect().total("pico_usd"),
        );
        let mut day = DaySpend { spent: Vec::new(), reserved: Vec::new() };
        self.session.rows(&sql, &values![since_ms, asked_by, except, self.now_ms], |row| {
            if row.get(0)? {
                let (provider, amount) = (row.get(1)?, row.get(2)?);
                day.reserved.push(ReservedSum { ownership: ownership(row, 5)?, provider, amount });
            } else {
                day.spent.push(provider_spend(row, 1)?);
            }
            Ok(())
        })?;
        Ok(day)
    }

    /// Costs added up, for all principals or one.
    pub(crate) fn costs(&self, asked_by: Option<&str>, query: CostQuery) -> Result<Vec<CostLine>> {
        let dialect = self.session.dialect();
        let (group, order) = match query.by {
            CostBy::Model => ("provider, model", "8 DESC, 1, 2"),
            CostBy::Provider => ("provider, ''", "8 DESC, 1"),
            CostBy::Principal => ("COALESCE(asked_by, ''), ''", "8 DESC, 1"),
            CostBy::Day => (dialect.sent_day, "1 DESC"),
        };
        // The statement is made of constant parts only.
        let sql = format!(
            "SELECT {group}, COUNT(DISTINCT run_id), COUNT(*), COUNT(*) FILTER (WHERE outcome = 'failed'), \
             COUNT(*) FILTER (WHERE cost_pico_usd IS NULL), \
             COUNT(*) FILTER (WHERE cost_pico_usd IS NOT NULL AND cost_is_estimate), {}, \
             CAST({} AS BIGINT), CAST({} AS BIGINT), {} \
             FROM calls WHERE sent_at_ms >= $1 AND {} GROUP BY 1, 2 ORDER BY {order}",
            dialect.total("cost_pico_usd"),
            dialect.total("input_tokens"),
            dialect.total("output_tokens"),
            dialect.most("cost_pico_usd IS NULL"),
            whose(asked_by),
        );
        let since_ms = query.since_ms.unwrap_or(i64::MIN);
        self.session.rows(&sql, &values![since_ms, asked_by], |row| cost_line(row, query.by))
    }
}

impl dyn Session + '_ {
    /// Writes the ledger rows of an append.
    pub(super) fn write_ledger(&self, run_id: &str, changes: &LedgerRows) -> Result<()> {
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
    pub(super) fn settle(&self, run_id: &str) -> Result<()> {
        self.lose_track(run_id)?;
        self.release_all(run_id)
    }

    fn lose_track(&self, run_id: &str) -> Result<()> {
        let sql = "UPDATE calls SET outcome = 'unknown' WHERE outcome = 'sent' AND run_id = $1";
        self.execute(sql, &values![run_id]).map(drop)
    }

    fn release_all(&self, run_id: &str) -> Result<()> {
        self.execute("DELETE FROM holds WHERE run_id = $1", &values![run_id]).map(drop)
    }

    fn insert_sent(&self, call: &SentCall) -> Result<()> {
        let sql = "INSERT INTO calls (run_id, place, attempt, provider, model, sent_at_ms, asked_by, worst_pico_usd, \
                   sent_checksum) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING";
        let SentCall { key, provider, model, sent_at_ms, asked_by, worst_pico_usd } = call;
        let values = values![
            &key.run_id,
            &key.slot,
            key.attempt,
            provider,
            model,
            sent_at_ms,
            asked_by,
            worst_pico_usd,
            call.checksum().finish(),
        ];
        self.execute(sql, &values).map(drop)
    }

    /// A request ends once, so only one in flight is updated, or one whose end had been unknown.
    fn update_heard(&self, call: &HeardCall) -> Result<()> {
        let sql = "UPDATE calls SET ended_at_ms = $1, outcome = $2, code = $3, cost_pico_usd = $4, cost_is_estimate = $5, \
                   input_tokens = $6, output_tokens = $7, reasoning_tokens = $8, cached_tokens = $9, \
                   generation_id = COALESCE($10, generation_id), end_checksum = $11, spend_checksum = $12, \
                   first_token_ms = $13, first_token_checksum = $14 \
                   WHERE run_id = $15 AND place = $16 AND attempt = $17 AND outcome IN ('sent', 'unknown')";
        let HeardCall { key, end, spend, generation_id, first_token } = call;
        let values = values![
            end.ended_at_ms,
            &end.outcome,
            &end.code,
            spend.cost_pico_usd,
            spend.cost_is_estimate,
            spend.input_tokens,
            spend.output_tokens,
            spend.reasoning_tokens,
            spend.cached_tokens,
            generation_id,
            call.is_over().then(|| end.checksum(key).finish()),
            call.is_over().then(|| spend.checksum(key).finish()),
            first_token.ms,
            first_token.ms.map(|_| first_token.checksum(key).finish()),
            &key.run_id,
            &key.slot,
            key.attempt,
        ];
        self.execute(sql, &values).map(drop)
    }

    fn update_reconciled(&self, call: &ReconciledCall) -> Result<()> {
        let sql = "UPDATE calls SET cost_pico_usd = $1, cost_is_estimate = $2, input_tokens = $3, output_tokens = $4, \
                   reasoning_tokens = $5, cached_tokens = $6, spend_checksum = $7 \
                   WHERE run_id = $8 AND place = $9 AND attempt = $10";
        let ReconciledCall { key, spend } = call;
        let values = values![
            spend.cost_pico_usd,
            spend.cost_is_estimate,
            spend.input_tokens,
            spend.output_tokens,
            spend.reasoning_tokens,
            spend.cached_tokens,
            spend.checksum(key).finish(),
            &key.run_id,
            &key.slot,
            key.attempt,
        ];
        self.execute(sql, &values).map(drop)
    }

    fn reserve(&self, run_id: &str, changes: &LedgerRows) -> Result<()> {
        let released = changes.released.iter().map(|slot| values![run_id, slot_json(*slot)]);
        self.execute_each("DELETE FROM holds WHERE run_id = $1 AND place = $2", released)?;
        let sql = "INSERT INTO holds (run_id, place, provider, pico_usd) VALUES ($1, $2, $3, $4) \
                   ON CONFLICT (run_id, place) DO UPDATE SET provider = excluded.provider, pico_usd = excluded.pico_usd";
        let reserved = changes.reserved.iter().map(|(slot, reservation)| {
            values![run_id, slot_json(*slot), &reservation.provider, reservation.amount]
        });
        self.execute_each(sql, reserved)
    }
}

fn provider_spend(row: &Row<'_>, first: usize) -> Result<ProviderSpend> {
    Ok(ProviderSpend {
        provider: row.get(first)?,
        known: row.get(first + 1)?,
        unknown_max: row.get(first + 2)?,
        under_way_max: row.get(first + 3)?,
    })
}

fn cost_line(row: &Row<'_>, by: CostBy) -> Result<CostLine> {
    let counted = |column: usize| row.get(column).map(count);
    Ok(CostLine {
        name: match by {
            CostBy::Model => columns::model(row, 0)?.to_string(),
            CostBy::Principal | CostBy::Day | CostBy::Provider => row.get(0)?,
        },
        runs: counted(2)?,
        calls: counted(3)?,
        failed: counted(4)?,
        calls_of_unknown_cost: counted(5)?,
        calls_of_estimated_cost: counted(6)?,
        cost: row.get(7)?,
        input_tokens: counted(8)?,
        output_tokens: counted(9)?,
        unknown_cost_max: row.get(10)?,
    })
}
