//! Statements for money: costs of requests, reservations, and a day's spending.

use parallel_llm_engine::RunId;
use rusqlite::{Row, params};

use super::connection::{Reader, Transaction};
use super::row::{self, ownership};
use crate::costs::{CostBy, CostLine, CostQuery};
use crate::error::DatabaseError;
use crate::ledger::LedgerRows;
use crate::row::call_row::{DaySpend, HeardCall, ProviderSpend, ReconciledCall, ReservedSum, SentCall};
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
    pub(crate) fn spent(
        &self,
        asked_by: Option<&str>,
        since_ms: i64,
    ) -> Result<Vec<ProviderSpend>, DatabaseError> {
        let sql = if asked_by.is_some() { spent!("asked_by = ?2") } else { spent!("?2 IS NULL") };
        self.rows(sql, (since_ms, asked_by), |found| {
            Ok(ProviderSpend {
                provider: found.get(0)?,
                known: row::sum(found, 1)?,
                unknown_max: row::sum(found, 2)?,
                under_way_max: row::sum(found, 3)?,
            })
        })
    }

    /// What [`Reader::spent`] returns, and the reservations of open runs except this one.
    pub(crate) fn day_spend(
        &self,
        asked_by: Option<&str>,
        since_ms: i64,
        except: RunId,
    ) -> Result<DaySpend, DatabaseError> {
        let spent = self.spent(asked_by, since_ms)?;
        Ok(DaySpend { spent, reserved: self.reserved(except, asked_by, self.now_ms())? })
    }

    /// Reservations of open runs except this one, by owner and provider, for all principals or one.
    fn reserved(
        &self,
        except: RunId,
        asked_by: Option<&str>,
        now_ms: i64,
    ) -> Result<Vec<ReservedSum>, DatabaseError> {
        // Runs of one process are grouped, apart from those with expired leases: the lease decides if the process
        // cannot be seen.
        let sql = "SELECT owner, MAX(lease_until_ms), FALSE, provider, TOTAL(pico_usd) FROM holds JOIN runs USING (run_id) \
                   WHERE run_id <> ?1 AND closed_at_ms IS NULL AND (?3 IS NULL OR asked_by = ?3) \
                   GROUP BY owner, lease_until_ms < ?2, provider";
        self.rows(sql, (except.to_string(), now_ms, asked_by), |found| {
            Ok(ReservedSum {
                ownership: ownership(found, 0)?,
                provider: found.get(3)?,
                amount: row::sum(found, 4)?,
            })
        })
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
        self.rows(&sql, (since_ms, asked_by), |row| cost_line(row, query.by))
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
        let sql = "UPDATE calls SET outcome = 'unknown' WHERE outcome = 'sent' AND run_id = ?";
        self.execute(sql, [run_id]).map(drop)
    }

    fn release_all(&mut self, run_id: &str) -> Result<(), DatabaseError> {
        self.execute("DELETE FROM holds WHERE run_id = ?", [run_id]).map(drop)
    }

    fn insert_sent(&mut self, call: &SentCall) -> Result<(), DatabaseError> {
        let sql = "INSERT INTO calls (run_id, place, attempt, provider, model, sent_at_ms, asked_by, worst_pico_usd, \
                   sent_checksum) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING";
        let SentCall { key, provider, model, sent_at_ms, asked_by, worst_pico_usd } = call;
        let values = params![
            key.run_id,
            key.slot,
            key.attempt,
            provider,
            model,
            sent_at_ms,
            asked_by,
            worst_pico_usd,
            call.checksum().finish(),
        ];
        self.execute(sql, values).map(drop)
    }

    /// A request ends once, so only one in flight is updated, or one whose end had been unknown.
    fn update_heard(&mut self, call: &HeardCall) -> Result<(), DatabaseError> {
        let sql = "UPDATE calls SET ended_at_ms = ?, outcome = ?, code = ?, cost_pico_usd = ?, cost_is_estimate = ?, \
                   input_tokens = ?, output_tokens = ?, reasoning_tokens = ?, cached_tokens = ?, \
                   generation_id = COALESCE(?, generation_id), end_checksum = ?, spend_checksum = ?, \
                   first_token_ms = ?, first_token_checksum = ? \
                   WHERE run_id = ? AND place = ? AND attempt = ? AND outcome IN ('sent', 'unknown')";
        let HeardCall { key, end, spend, generation_id, first_token } = call;
        let values = params![
            end.ended_at_ms,
            end.outcome,
            end.code,
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
            key.run_id,
            key.slot,
            key.attempt,
        ];
        self.execute(sql, values).map(drop)
    }

    fn update_reconciled(&mut self, call: &ReconciledCall) -> Result<(), DatabaseError> {
        let sql = "UPDATE calls SET cost_pico_usd = ?, cost_is_estimate = ?, input_tokens = ?, output_tokens = ?, \
                   reasoning_tokens = ?, cached_tokens = ?, spend_checksum = ? \
                   WHERE run_id = ? AND place = ? AND attempt = ?";
        let ReconciledCall { key, spend } = call;
        let values = params![
            spend.cost_pico_usd,
            spend.cost_is_estimate,
            spend.input_tokens,
            spend.output_tokens,
            spend.reasoning_tokens,
            spend.cached_tokens,
            spend.checksum(key).finish(),
            key.run_id,
            key.slot,
            key.attempt,
        ];
        self.execute(sql, values).map(drop)
    }

    fn reserve(&mut self, run_id: &str, changes: &LedgerRows) -> Result<(), DatabaseError> {
        for slot in &changes.released {
            self.execute("DELETE FROM holds WHERE run_id = ? AND place = ?", (run_id, slot_json(*slot)))?;
        }
        let sql = "INSERT OR REPLACE INTO holds (run_id, place, provider, pico_usd) VALUES (?, ?, ?, ?)";
        for (slot, reservation) in &changes.reserved {
            let values = (run_id, slot_json(*slot), &reservation.provider.0, reservation.amount.0);
            self.execute(sql, values)?;
        }
        Ok(())
    }
}

fn cost_line(row: &Row<'_>, by: CostBy) -> rusqlite::Result<CostLine> {
    let counted = |column: usize| row.get::<_, i64>(column).map(count);
    Ok(CostLine {
        name: match by {
            CostBy::Model => row::model(row, 0)?.to_string(),
            CostBy::Principal | CostBy::Day | CostBy::Provider => row.get(0)?,
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
