//! Statements for the index of words.
//!
//! SQLite's full-text index (sqlite.org/fts5.html) has a row per text, which holds its words but neither the text nor
//! the positions. To remove words, the same words are passed to it again.

use super::connection::Transaction;
use crate::database::sql::parts::session::Session;
use crate::database::sql::parts::value::values;
use crate::row::count;
use crate::row::text_row::IndexedText;
use crate::system::error::DatabaseError;

/// Index pages rewritten between two checks of the time: about three milliseconds.
const MERGE_PAGES: i64 = 8;

/// Whether some words may only be marked as deleted. The index's own setting says so: secure deletion is off from the first
/// mark to the end of overwriting.
pub(super) fn are_words_marked(session: &dyn Session) -> Result<bool, DatabaseError> {
    session.value("SELECT COUNT(*) = 0 FROM words_config WHERE k = 'secure-delete' AND v = 1", &[])
}

impl Transaction {
    /// Adds the words of a text to the index.
    pub(crate) fn put_words(&mut self, text: &IndexedText) -> Result<(), DatabaseError> {
        let sql = "INSERT INTO words (rowid, body) VALUES ($1, $2)";
        self.session().execute(sql, &values![text.text_id, &text.line]).map(drop)
    }

    /// Removes the words of these texts from the index. They are only marked as deleted until [`Transaction::reclaim`]
    /// has overwritten them.
    pub(crate) fn take_words_out(&mut self, texts: &[IndexedText]) -> Result<(), DatabaseError> {
        if !texts.is_empty() && !are_words_marked(self.session())? {
            self.overwrite_deleted_words(false)?;
        }
        let sql = "INSERT INTO words (words, rowid, body) VALUES ('delete', $1, $2)";
        self.session().execute_each(sql, texts.iter().map(|text| values![text.text_id, &text.line]))
    }

    /// Records that the words of this text and of newer ones are removed, and must not be indexed again.
    pub(crate) fn note_taken_out(&mut self, run_id: &str, text_id: i64) -> Result<(), DatabaseError> {
        // Older texts are still indexed.
        let sql = "UPDATE runs SET indexed_to = $1 - 1, is_indexed = 1 WHERE run_id = $2";
        self.session().execute(sql, &values![text_id, run_id]).map(drop)
    }

    fn overwrite_deleted_words(&mut self, overwrites: bool) -> Result<(), DatabaseError> {
        let sql = "INSERT INTO words (words, rank) VALUES ('secure-delete', $1)";
        self.session().execute(sql, &values![overwrites]).map(drop)
    }

    /// Rewrites some pages of the index without deleted words, and overwrites the old pages. Returns the most pages
    /// written. The first call starts a pass, later ones continue it, and the last one records that nothing is marked
    /// any more.
    pub(super) fn overwrite_some_words(&mut self, begins: bool) -> Result<usize, DatabaseError> {
        let before = self.connection.total_changes();
        // A negative number starts a merge of all segments; a positive one continues it.
        let pages = if begins { -MERGE_PAGES } else { MERGE_PAGES };
        self.session().execute("INSERT INTO words (words, rank) VALUES ('merge', $1)", &values![pages])?;
        // SQLite documents this as the sign that a merge is finished (sqlite.org/fts5.html, the `merge` command): it
        // only changes its own row.
        if self.connection.total_changes() - before < 2 {
            self.overwrite_deleted_words(true)?;
        }
        Ok(count(MERGE_PAGES * 2) as usize)
    }
}
