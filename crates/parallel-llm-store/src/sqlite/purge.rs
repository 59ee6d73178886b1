//! Statements that remove runs: rows, texts and indexed words are overwritten, not only marked as free.
//!
//! Words are marked as deleted first and overwritten together later ([`Transaction::reclaim`]): overwriting the words
//! of one run took about forty milliseconds, most of it for rewriting the same parts of the index.

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

/// SQLite's default page size.
const PAGE_BYTES: usize = 4_096;
/// Pages freed between two checks of the time: well under a millisecond.
const VACUUM_PAGES: usize = 16;
/// The tables of a run outside the ledger, ordered so that no reference points to a deleted row.
const TABLES: [&str; 4] = ["pieces", "texts", "events", "runs"];

impl Reader<'_> {
    /// The runs before this id that no process runs any more, oldest first.
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
    /// Deletes a run's rows, but not its words in the index, which must be removed before.
    pub(crate) async fn delete_run(&mut self, run_id: &str) -> Result<(), DatabaseError> {
        let mut batch = Batch::default();
        ledger::settle(&mut batch, run_id);
        for table in TABLES {
            batch.push("DELETE FROM ").push(table).push(" WHERE run_id = ").push_bind(run_id).push("; ");
        }
        batch.build().execute(&mut self.connection).await?;
        Ok(())
    }

    /// Takes a step of overwriting purged data and freeing pages. Starts nothing new after `step_time`. `is_first`
    /// starts from the beginning.
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

    /// Whether pages can be freed. A file created by an older version cannot free them, but reuses them.
    async fn has_free_pages(&mut self) -> Result<bool, DatabaseError> {
        let sql =
            "SELECT auto_vacuum = 2 AND freelist_count > 0 FROM pragma_auto_vacuum, pragma_freelist_count";
        Ok(sqlx::query_scalar(sql).fetch_one(&mut self.connection).await?)
    }
}
