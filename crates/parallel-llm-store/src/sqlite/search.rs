//! Statements for the index of words.
//!
//! SQLite's full-text index (sqlite.org/fts5.html) has a row per text, which holds its words but neither the text nor
//! the positions. To remove words, the same words are passed to it again.

use sqlx::Row as _;

use futures_util::TryStreamExt as _;

use super::connection::{Reader, Transaction};
use crate::error::DatabaseError;
use crate::row::compressed::{decompressed, decompressed_to};
use crate::row::count;
use crate::row::text_row::{IndexScope, IndexedText, Passage, TextRow};

/// Index pages rewritten between two checks of the time: about three milliseconds.
const MERGE_PAGES: i64 = 8;

/// Selects runs with texts that are not indexed; the parameter says whether to include open runs.
macro_rules! unindexed {
    () => {
        // An open run is never marked as indexed, since it may get more texts: its texts are checked one by one.
        "is_indexed = 0 AND (closed_at_ms IS NOT NULL OR (? AND EXISTS ( \
             SELECT 1 FROM texts WHERE texts.run_id = runs.run_id AND text_id > indexed_to)))"
    };
}

impl Reader<'_> {
    /// The oldest run with texts that are not indexed.
    pub(crate) async fn unindexed_run(
        &mut self,
        behind: IndexScope,
    ) -> Result<Option<String>, DatabaseError> {
        let sql = concat!("SELECT run_id FROM runs WHERE ", unindexed!(), " ORDER BY run_id LIMIT 1");
        let query = sqlx::query_scalar(sql).bind(behind == IndexScope::All);
        Ok(query.fetch_optional(&mut *self.connection).await?)
    }

    /// The number of runs with texts that are not indexed, for all principals or one.
    pub(crate) async fn count_unindexed(&mut self, asked_by: Option<&str>) -> Result<u64, DatabaseError> {
        let sql =
            concat!("SELECT COUNT(*) FROM runs WHERE ", unindexed!(), " AND (? IS NULL OR asked_by = ?)");
        let query = sqlx::query_scalar(sql).bind(true).bind(asked_by).bind(asked_by);
        Ok(count(query.fetch_one(&mut *self.connection).await?))
    }

    /// The ids of a run's texts that are not indexed, oldest first.
    pub(crate) async fn unindexed_texts(&mut self, run_id: &str) -> Result<Vec<i64>, DatabaseError> {
        let sql = "SELECT text_id FROM texts JOIN runs USING (run_id) WHERE run_id = ? AND text_id > indexed_to \
                   ORDER BY text_id";
        Ok(sqlx::query_scalar(sql).bind(run_id).fetch_all(&mut *self.connection).await?)
    }

    /// The ids of a run's indexed texts, newest first.
    pub(crate) async fn indexed_texts(&mut self, run_id: &str) -> Result<Vec<i64>, DatabaseError> {
        let sql = "SELECT text_id FROM texts JOIN runs USING (run_id) WHERE run_id = ? AND text_id <= indexed_to \
                   ORDER BY text_id DESC";
        Ok(sqlx::query_scalar(sql).bind(run_id).fetch_all(&mut *self.connection).await?)
    }

    /// The text of this id, or its first bytes.
    pub(crate) async fn text_of_id(
        &mut self,
        text_id: i64,
        bytes_max: Option<usize>,
    ) -> Result<TextRow, DatabaseError> {
        let query = sqlx::query("SELECT hash, body FROM texts WHERE text_id = ?").bind(text_id);
        let row = query.fetch_one(&mut *self.connection).await?;
        let body: &[u8] = row.try_get(1)?;
        let text = match bytes_max {
            Some(bytes_max) => decompressed_to(body, bytes_max as u64),
            None => decompressed(body),
        };
        Ok(TextRow { hash: row.try_get(0)?, text })
    }

    /// Passes the texts with all words of these phrases to `take`, newest first, until it returns `false`; for all
    /// principals or one. Includes the texts themselves if words must be adjacent, because the index has no positions.
    pub(crate) async fn passages(
        &mut self,
        phrases: &[Vec<String>],
        asked_by: Option<&str>,
        mut take: impl FnMut(Passage) -> bool,
    ) -> Result<(), DatabaseError> {
        // The join starts with the words: starting with a principal's runs would scan them one by one.
        let sql = "SELECT text_id, texts.run_id, hash, created_at_ms, CASE WHEN ? THEN texts.body END \
                   FROM words CROSS JOIN texts ON texts.text_id = words.rowid \
                   CROSS JOIN runs ON runs.run_id = texts.run_id \
                   WHERE words MATCH ? AND (? IS NULL OR +runs.asked_by = ?) ORDER BY words.rowid DESC";
        let needs_text = phrases.iter().any(|phrase| phrase.len() > 1);
        let rows = sqlx::query(sql).bind(needs_text).bind(match_expression(phrases));
        let mut rows = rows.bind(asked_by).bind(asked_by).fetch(&mut *self.connection);
        while let Some(row) = rows.try_next().await? {
            let text: Option<&[u8]> = row.try_get(4)?;
            let passage = Passage {
                text_id: row.try_get(0)?,
                run_id: row.try_get(1)?,
                hash: row.try_get(2)?,
                created_at_ms: row.try_get(3)?,
                text: text.map(decompressed),
            };
            if !take(passage) {
                break;
            }
        }
        Ok(())
    }

    /// Whether some words may only be marked as deleted. The index's own setting says so: secure deletion is off from the
    /// first mark to the end of overwriting.
    pub(super) async fn are_words_marked(&mut self) -> Result<bool, DatabaseError> {
        let sql = "SELECT COUNT(*) = 0 FROM words_config WHERE k = 'secure-delete' AND v = 1";
        Ok(sqlx::query_scalar(sql).fetch_one(&mut *self.connection).await?)
    }
}

/// The query expression for texts that contain all words.
fn match_expression(phrases: &[Vec<String>]) -> String {
    let mut expression = String::new();
    for phrase in phrases {
        // Words consist of letters and digits, so nothing needs escaping.
        expression.push_str(&format!("\"{}\"* ", phrase.join("\" \"")));
    }
    expression
}

impl Transaction {
    /// Adds the words of a text to the index.
    pub(crate) async fn put_words(&mut self, text: &IndexedText) -> Result<(), DatabaseError> {
        let query = sqlx::query("INSERT INTO words (rowid, body) VALUES (?, ?)");
        query.bind(text.text_id).bind(&*text.line).execute(&mut self.connection).await?;
        Ok(())
    }

    /// Records that a run's texts are indexed up to `newest`, if given; `is_whole`: these are all its texts so far.
    pub(crate) async fn note_indexed(
        &mut self,
        run_id: &str,
        newest: Option<i64>,
        is_whole: bool,
    ) -> Result<(), DatabaseError> {
        let sql = "UPDATE runs SET indexed_to = IFNULL(?, indexed_to), is_indexed = ? AND closed_at_ms IS NOT NULL \
                   WHERE run_id = ?";
        sqlx::query(sql).bind(newest).bind(is_whole).bind(run_id).execute(&mut self.connection).await?;
        Ok(())
    }

    /// Removes the words of these texts from the index. They are only marked as deleted until [`Transaction::reclaim`]
    /// has overwritten them.
    pub(crate) async fn take_words_out(&mut self, texts: &[IndexedText]) -> Result<(), DatabaseError> {
        if !texts.is_empty() && !self.reader().are_words_marked().await? {
            self.overwrite_deleted_words(false).await?;
        }
        for text in texts {
            let query = sqlx::query("INSERT INTO words (words, rowid, body) VALUES ('delete', ?, ?)");
            query.bind(text.text_id).bind(&*text.line).execute(&mut self.connection).await?;
        }
        Ok(())
    }

    /// Records that the words of this text and of newer ones are removed, and must not be indexed again.
    pub(crate) async fn note_taken_out(&mut self, run_id: &str, text_id: i64) -> Result<(), DatabaseError> {
        // Older texts are still indexed.
        let sql = "UPDATE runs SET indexed_to = ? - 1, is_indexed = 1 WHERE run_id = ?";
        sqlx::query(sql).bind(text_id).bind(run_id).execute(&mut self.connection).await?;
        Ok(())
    }

    async fn overwrite_deleted_words(&mut self, overwrites: bool) -> Result<(), DatabaseError> {
        let query = sqlx::query("INSERT INTO words (words, rank) VALUES ('secure-delete', ?)");
        query.bind(overwrites).execute(&mut self.connection).await?;
        Ok(())
    }

    /// Rewrites some pages of the index without deleted words, and overwrites the old pages. Returns the most pages
    /// written. The first call starts a pass, later ones continue it, and the last one records that nothing is marked
    /// any more.
    pub(super) async fn overwrite_some_words(&mut self, begins: bool) -> Result<usize, DatabaseError> {
        let before = self.changes().await?;
        // A negative number starts a merge of all segments; a positive one continues it.
        let pages = if begins { -MERGE_PAGES } else { MERGE_PAGES };
        let query = sqlx::query("INSERT INTO words (words, rank) VALUES ('merge', ?)");
        query.bind(pages).execute(&mut self.connection).await?;
        // SQLite documents this as the sign that a merge is finished (sqlite.org/fts5.html, the `merge` command): it
        // only changes its own row.
        if self.changes().await? - before < 2 {
            self.overwrite_deleted_words(true).await?;
        }
        Ok(count(MERGE_PAGES * 2) as usize)
    }

    async fn changes(&mut self) -> Result<i64, DatabaseError> {
        Ok(sqlx::query_scalar("SELECT TOTAL_CHANGES()").fetch_one(&mut self.connection).await?)
    }
}
