//! Statements that remove runs: rows, texts and indexed words are overwritten, not only marked as free.
//!
//! Words are marked as deleted first and overwritten together later ([`Transaction::reclaim`]): overwriting the words
//! of one run took about forty milliseconds, most of it for rewriting the same parts of the index.

use std::time::Duration;

use parallel_llm_engine::RunId;
use tokio::time::Instant;

use super::connection::{Reader, Transaction};
use super::row::{ownership, ownership_columns, run_id};
use crate::error::DatabaseError;
use crate::purge::ReclaimStep;

/// SQLite's default page size.
const PAGE_BYTES: usize = 4_096;
/// Pages freed between two checks of the time: well under a millisecond.
const VACUUM_PAGES: usize = 16;
/// Deletes the rows of a run outside the ledger, in an order in which no reference points to a deleted row.
const DELETIONS: [&str; 4] = [
    "DELETE FROM pieces WHERE run_id = ?",
    "DELETE FROM texts WHERE run_id = ?",
    "DELETE FROM events WHERE run_id = ?",
    "DELETE FROM runs WHERE run_id = ?",
];

impl Reader<'_> {
    /// The runs before this id that no process runs any more, oldest first.
    pub(crate) fn runs_over_before(&self, before: RunId, now_ms: i64) -> Result<Vec<RunId>, DatabaseError> {
        let sql =
            concat!("SELECT ", ownership_columns!(), ", run_id FROM runs WHERE run_id < ? ORDER BY run_id");
        let over = self.rows(sql, [before.to_string()], |row| {
            let is_over = ownership(row, 0)?.is_over(now_ms);
            is_over.then(|| run_id(row, 3)).transpose()
        })?;
        Ok(over.into_iter().flatten().collect())
    }
}

impl Transaction {
    /// Deletes a run's rows, but not its words in the index, which must be removed before.
    pub(crate) fn delete_run(&mut self, run_id: &str) -> Result<(), DatabaseError> {
        self.settle(run_id)?;
        self.uncount(run_id)?;
        for sql in DELETIONS {
            self.execute(sql, [run_id])?;
        }
        Ok(())
    }

    /// Takes a step of overwriting purged data and freeing pages. Starts nothing new after `step_time`, but always
    /// something. `is_first` starts from the beginning.
    pub(crate) fn reclaim(
        &mut self,
        is_first: bool,
        step_time: Duration,
    ) -> Result<ReclaimStep, DatabaseError> {
        let until = Instant::now() + step_time;
        let mut step = ReclaimStep { has_more: true, bytes: 0 };
        let mut begins = is_first;
        // A step looks at the time only after it has done something: a first step that did nothing would leave its pass
        // without a beginning, and the words in the file.
        while self.reader().are_words_marked()? {
            step.bytes += PAGE_BYTES * self.overwrite_some_words(begins)?;
            begins = false;
            if Instant::now() >= until {
                return Ok(step);
            }
        }
        while self.has_free_pages()? {
            // Frees one page for each row read.
            self.reader().rows(&format!("PRAGMA incremental_vacuum({VACUUM_PAGES})"), (), |_| Ok(()))?;
            step.bytes += VACUUM_PAGES * PAGE_BYTES;
            if Instant::now() >= until {
                return Ok(step);
            }
        }
        step.has_more = false;
        Ok(step)
    }

    /// Whether pages can be freed. A file created by an older version cannot free them, but reuses them.
    fn has_free_pages(&self) -> Result<bool, DatabaseError> {
        let sql =
            "SELECT auto_vacuum = 2 AND freelist_count > 0 FROM pragma_auto_vacuum, pragma_freelist_count";
        self.reader().value(sql, ())
    }
}
