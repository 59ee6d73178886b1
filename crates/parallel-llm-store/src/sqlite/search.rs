//! Statements for the index of words.
//!
//! SQLite's full-text index (sqlite.org/fts5.html) has a row per text, which holds its words but neither the text nor
//! the positions. To remove words, the same words are passed to it again.

use super::connection::{Reader, Transaction};
use super::row::text;
use crate::error::DatabaseError;
use crate::row::compressed::{decompressed, decompressed_to};
use crate::row::count;
use crate::row::text_row::{IndexScope, IndexedText, Passage, TextRow, WordMatching};

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
    pub(crate) fn unindexed_run(&self, behind: IndexScope) -> Result<Option<String>, DatabaseError> {
        let sql = concat!("SELECT run_id FROM runs WHERE ", unindexed!(), " ORDER BY run_id LIMIT 1");
        self.first(sql, [behind == IndexScope::All], |row| row.get(0))
    }

    /// The number of runs with texts that are not indexed, for all principals or one.
    pub(crate) fn count_unindexed(&self, asked_by: Option<&str>) -> Result<u64, DatabaseError> {
        let sql =
            concat!("SELECT COUNT(*) FROM runs WHERE ", unindexed!(), " AND (? IS NULL OR asked_by = ?)");
        Ok(count(self.value(sql, (true, asked_by, asked_by))?))
    }

    /// The ids of a run's texts that are not indexed, oldest first.
    pub(crate) fn unindexed_texts(&self, run_id: &str) -> Result<Vec<i64>, DatabaseError> {
        let sql = "SELECT text_id FROM texts JOIN runs USING (run_id) WHERE run_id = ? AND text_id > indexed_to \
                   ORDER BY text_id";
        self.rows(sql, [run_id], |row| row.get(0))
    }

    /// The ids of a run's indexed texts, newest first.
    pub(crate) fn indexed_texts(&self, run_id: &str) -> Result<Vec<i64>, DatabaseError> {
        let sql = "SELECT text_id FROM texts JOIN runs USING (run_id) WHERE run_id = ? AND text_id <= indexed_to \
                   ORDER BY text_id DESC";
        self.rows(sql, [run_id], |row| row.get(0))
    }

    /// The text of this id, or its first bytes.
    pub(crate) fn text_of_id(
        &self,
        text_id: i64,
        bytes_max: Option<usize>,
    ) -> Result<TextRow, DatabaseError> {
        let mut statement =
            self.connection.prepare_cached("SELECT hash, body FROM texts WHERE text_id = ?")?;
        Ok(statement.query_row([text_id], |row| {
            let body = row.get_ref(1)?.as_bytes()?;
            let text = match bytes_max {
                Some(bytes_max) => decompressed_to(body, bytes_max as u64),
                None => decompressed(body),
            };
            Ok(TextRow { hash: row.get(0)?, text })
        })?)
    }

    /// Passes the texts with all words of these phrases to `take`, newest first, until it returns `false`. `matching` says
    /// whether the last word of a phrase may begin a longer one. Includes the texts themselves if words must be adjacent,
    /// because the index has no positions.
    pub(crate) fn passages(
        &self,
        phrases: &[Vec<String>],
        matching: WordMatching,
        mut take: impl FnMut(Passage) -> bool,
    ) -> Result<(), DatabaseError> {
        // The join starts with the words: starting with a principal's runs would scan them one by one.
        let sql = "SELECT text_id, texts.run_id, hash, created_at_ms, asked_by, CASE WHEN ? THEN texts.body END \
                   FROM words CROSS JOIN texts ON texts.text_id = words.rowid \
                   CROSS JOIN runs ON runs.run_id = texts.run_id WHERE words MATCH ? ORDER BY words.rowid DESC";
        let needs_text = phrases.iter().any(|phrase| phrase.len() > 1);
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query((needs_text, match_expression(phrases, matching)))?;
        while let Some(row) = rows.next()? {
            let passage = Passage {
                text_id: row.get(0)?,
                run_id: row.get(1)?,
                hash: row.get(2)?,
                created_at_ms: row.get(3)?,
                asked_by: row.get(4)?,
                text: needs_text.then(|| text(row, 5)).transpose()?,
            };
            if !take(passage) {
                break;
            }
        }
        Ok(())
    }

    /// Whether some words may only be marked as deleted. The index's own setting says so: secure deletion is off from the
    /// first mark to the end of overwriting.
    pub(super) fn are_words_marked(&self) -> Result<bool, DatabaseError> {
        self.value("SELECT COUNT(*) = 0 FROM words_config WHERE k = 'secure-delete' AND v = 1", ())
    }
}

/// The query expression for texts that contain all words.
fn match_expression(phrases: &[Vec<String>], matching: WordMatching) -> String {
    let end = match matching {
        WordMatching::Beginnings => "* ",
        WordMatching::Whole => " ",
    };
    let mut expression = String::new();
    for phrase in phrases {
        // Words consist of letters and digits, so nothing needs escaping.
        expression.push_str(&format!("\"{}\"{end}", phrase.join("\" \"")));
    }
    expression
}

impl Transaction {
    /// Adds the words of a text to the index.
    pub(crate) fn put_words(&mut self, text: &IndexedText) -> Result<(), DatabaseError> {
        self.execute("INSERT INTO words (rowid, body) VALUES (?, ?)", (text.text_id, &text.line)).map(drop)
    }

    /// Records that a run's texts are indexed up to `newest`, if given; `is_whole`: these are all its texts so far.
    pub(crate) fn note_indexed(
        &mut self,
        run_id: &str,
        newest: Option<i64>,
        is_whole: bool,
    ) -> Result<(), DatabaseError> {
        let sql = "UPDATE runs SET indexed_to = IFNULL(?, indexed_to), is_indexed = ? AND closed_at_ms IS NOT NULL \
                   WHERE run_id = ?";
        self.execute(sql, (newest, is_whole, run_id)).map(drop)
    }

    /// Removes the words of these texts from the index. They are only marked as deleted until [`Transaction::reclaim`]
    /// has overwritten them.
    pub(crate) fn take_words_out(&mut self, texts: &[IndexedText]) -> Result<(), DatabaseError> {
        if !texts.is_empty() && !self.reader().are_words_marked()? {
            self.overwrite_deleted_words(false)?;
        }
        let sql = "INSERT INTO words (words, rowid, body) VALUES ('delete', ?, ?)";
        for text in texts {
            self.execute(sql, (text.text_id, &text.line))?;
        }
        Ok(())
    }

    /// Records that the words of this text and of newer ones are removed, and must not be indexed again.
    pub(crate) fn note_taken_out(&mut self, run_id: &str, text_id: i64) -> Result<(), DatabaseError> {
        // Older texts are still indexed.
        let sql = "UPDATE runs SET indexed_to = ? - 1, is_indexed = 1 WHERE run_id = ?";
        self.execute(sql, (text_id, run_id)).map(drop)
    }

    fn overwrite_deleted_words(&mut self, overwrites: bool) -> Result<(), DatabaseError> {
        self.execute("INSERT INTO words (words, rank) VALUES ('secure-delete', ?)", [overwrites]).map(drop)
    }

    /// Rewrites some pages of the index without deleted words, and overwrites the old pages. Returns the most pages
    /// written. The first call starts a pass, later ones continue it, and the last one records that nothing is marked
    /// any more.
    pub(super) fn overwrite_some_words(&mut self, begins: bool) -> Result<usize, DatabaseError> {
        let before = self.connection.total_changes();
        // A negative number starts a merge of all segments; a positive one continues it.
        let pages = if begins { -MERGE_PAGES } else { MERGE_PAGES };
        self.execute("INSERT INTO words (words, rank) VALUES ('merge', ?)", [pages])?;
        // SQLite documents this as the sign that a merge is finished (sqlite.org/fts5.html, the `merge` command): it
        // only changes its own row.
        if self.connection.total_changes() - before < 2 {
            self.overwrite_deleted_words(true)?;
        }
        Ok(count(MERGE_PAGES * 2) as usize)
    }
}
