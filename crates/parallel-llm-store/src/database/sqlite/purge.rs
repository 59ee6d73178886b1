//! Overwrites what was removed: rows, texts and indexed words are not only marked as free.
//!
//! Words are marked as deleted first and overwritten together later ([`Transaction::reclaim`]): overwriting the words
//! of one run took about forty milliseconds, most of it for rewriting the same parts of the index.

use std::time::Duration;

use tokio::time::Instant;

use super::connection::Transaction;
use super::search::are_words_marked;
use crate::system::error::DatabaseError;
use crate::upkeep::purge::ReclaimStep;

/// SQLite's default page size.
const PAGE_BYTES: usize = 4_096;
/// Pages freed between two checks of the time: well under a millisecond.
const VACUUM_PAGES: usize = 16;

impl Transaction {
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
        while are_words_marked(self.session())? {
            step.bytes += PAGE_BYTES * self.overwrite_some_words(begins)?;
            begins = false;
            if Instant::now() >= until {
                return Ok(step);
            }
        }
        while self.has_free_pages()? {
            // Frees one page for each row read.
            let pages = format!("PRAGMA incremental_vacuum({VACUUM_PAGES})");
            self.session().each(&pages, &[], &mut |_| Ok(true))?;
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
        self.session().value(sql, &[])
    }
}
