//! The statements that take runs away: rows, texts and words of the index are overwritten, not only marked as free.
//!
//! Words are first only marked as deleted, and all overwritten together ([`Transaction::reclaim`]): for each run by itself
//! that took some forty milliseconds, most of the index for every one.

use std::time::Duration;

use futures_util::TryStreamExt as _;
use parallel_llm_engine::RunId;
use sqlx::AssertSqlSafe;
use tokio::time::Instant;

use super::connection::{Reader, Transaction};
use super::row::{ownership, ownership_columns, run_id};
use super::{Batch, ledger};
use crate::error::DatabaseError;
use crate::purge::ReclaimStep;

/// Bytes of a page, as SQLite has it where nobody says.
const PAGE_BYTES: usize = 4_096;
/// Free pages that are given back between two looks at the clock: well under a millisecond.
const VACUUM_PAGES: usize = 16;
/// What goes with a run besides what is in the ledger, in an order in which nothing refers to what is gone.
const TABLES: [&str; 4] = ["pieces", "texts", "events", "runs"];

impl Reader<'_> {
    /// The runs that began before this one and that nobody does any more, oldest first.
    pub(crate) async fn runs_over_before(
        &mut self,
        before: RunId,
        now_ms: i64,
    ) -> Result<Vec<RunId>, DatabaseError> {
        let sql =
            concat!("SELECT ", ownership_columns!(), ", run_id FROM runs WHERE run_id < ? ORDER BY run_id");
        let mut rows = sqlx::query(sql).bind(before.to_string()).fetch(&mut *self.connection);
        let mut runs = Vec::new();
        while let Some(row) = rows.try_next().await? {
            if ownership(&row, 0)?.is_over(now_ms) {
                runs.push(run_id(&row, 3)?);
            }
        }
        Ok(runs)
    }
}

impl Transaction {
    /// Deletes what there is of a run besides its words, which must be taken out before.
    pub(crate) async fn delete_run(&mut self, run_id: &str) -> Result<(), DatabaseError> {
        let mut batch = Batch::default();
        ledger::settle(&mut batch, run_id);
        for table in TABLES {
            batch.push("DELETE FROM ").push(table).push(" WHERE run_id = ").push_bind(run_id).push("; ");
        }
        batch.build().execute(&mut self.connection).await?;
        Ok(())
    }

    /// Takes a step towards a database in which nothing is left of what was purged, and which is as small as it can be.
    /// Nothing more is begun after `step_time`. `is_first` begins anew; the others continue.
    pub(crate) async fn reclaim(
        &mut self,
        is_first: bool,
        step_time: Duration,
    ) -> Result<ReclaimStep, DatabaseError> {
        let until = Instant::now() + step_time;
        let mut step = ReclaimStep { has_more: true, bytes: 0 };
        let mut begins = is_first;
        while self.reader().are_words_marked().await? {
            if Instant::now() >= until {
                return Ok(step);
            }
            step.bytes += PAGE_BYTES * self.overwrite_some_words(begins).await?;
            begins = false;
        }
        while self.has_free_pages().await? {
            if Instant::now() >= until {
                return Ok(step);
            }
            let sql = format!("PRAGMA incremental_vacuum({VACUUM_PAGES})");
            sqlx::query(AssertSqlSafe(sql)).execute(&mut self.connection).await?;
            step.bytes += VACUUM_PAGES * PAGE_BYTES;
        }
        step.has_more = false;
        Ok(step)
    }

    /// Whether the file has free pages that it can give back. One that an older version made keeps them for what is written
    /// next.
    async fn has_free_pages(&mut self) -> Result<bool, DatabaseError> {
        let sql =
            "SELECT auto_vacuum = 2 AND freelist_count > 0 FROM pragma_auto_vacuum, pragma_freelist_count";
        Ok(sqlx::query_scalar(sql).fetch_one(&mut self.connection).await?)
    }
}
