//! Statements about what the index of words has. The index itself is each database's own.

use super::parts::session::{Reader, Session};
use super::parts::value::{damaged, values};
use crate::row::compressed::{decompressed, decompressed_to};
use crate::row::count;
use crate::row::text_row::{IndexScope, Passage, TextRow, WordMatching};
use crate::system::error::DatabaseResult as Result;

/// Selects runs with texts that are not indexed; the parameter says whether to include open runs.
macro_rules! unindexed {
    () => {
        // An open run is never marked as indexed, since it may get more texts: its texts are checked one by one.
        "NOT is_indexed AND (closed_at_ms IS NOT NULL OR ($1 AND EXISTS ( \
             SELECT 1 FROM texts WHERE texts.run_id = runs.run_id AND text_id > indexed_to)))"
    };
}

impl Reader<'_> {
    /// The oldest run with texts that are not indexed.
    pub(crate) fn unindexed_run(&self, behind: IndexScope) -> Result<Option<String>> {
        let sql = concat!("SELECT run_id FROM runs WHERE ", unindexed!(), " ORDER BY run_id LIMIT 1");
        self.session.first(sql, &values![behind == IndexScope::All], |row| row.get(0))
    }

    /// The number of runs with texts that are not indexed, for all principals or one.
    pub(crate) fn count_unindexed(&self, asked_by: Option<&str>) -> Result<u64> {
        let sql = concat!(
            "SELECT COUNT(*) FROM runs WHERE ",
            unindexed!(),
            " AND (CAST($2 AS TEXT) IS NULL OR asked_by = $2)"
        );
        Ok(count(self.session.value(sql, &values![true, asked_by])?))
    }

    /// The ids of a run's texts that are not indexed, oldest first.
    pub(crate) fn unindexed_texts(&self, run_id: &str) -> Result<Vec<i64>> {
        let sql = "SELECT text_id FROM texts JOIN runs USING (run_id) WHERE run_id = $1 AND text_id > indexed_to \
                   ORDER BY text_id";
        self.session.rows(sql, &values![run_id], |row| row.get(0))
    }

    /// The ids of a run's indexed texts, newest first.
    pub(crate) fn indexed_texts(&self, run_id: &str) -> Result<Vec<i64>> {
        let sql = "SELECT text_id FROM texts JOIN runs USING (run_id) WHERE run_id = $1 AND text_id <= indexed_to \
                   ORDER BY text_id DESC";
        self.session.rows(sql, &values![run_id], |row| row.get(0))
    }

    /// The text of this id, or its first bytes.
    pub(crate) fn text_of_id(&self, text_id: i64, bytes_max: Option<usize>) -> Result<TextRow> {
        let sql = "SELECT hash, body FROM texts WHERE text_id = $1";
        let found = self.session.first(sql, &values![text_id], |row| {
            let body = row.get(1)?;
            let text = match bytes_max {
                Some(bytes_max) => decompressed_to(body, bytes_max as u64),
                None => decompressed(body),
            };
            Ok(TextRow { hash: row.get(0)?, text })
        })?;
        found.ok_or_else(|| damaged(format!("there is no text {text_id}")))
    }

    /// Passes the texts with all words of these phrases to `take`, newest first, until it returns `false`. `matching` says
    /// whether the last word of a phrase may begin a longer one. Includes the texts themselves if words must be adjacent,
    /// because the index has no positions.
    pub(crate) fn passages(
        &self,
        phrases: &[Vec<String>],
        matching: WordMatching,
        mut take: impl FnMut(Passage) -> bool,
    ) -> Result<()> {
        let dialect = self.session.dialect();
        let Some(words) = (dialect.words)(phrases, matching) else { return Ok(()) };
        let needs_text = phrases.iter().any(|phrase| phrase.len() > 1);
        self.session.scan(dialect.passages, &values![needs_text, words], &mut |row| {
            Ok(take(Passage {
                text_id: row.get(0)?,
                run_id: row.get(1)?,
                hash: row.get(2)?,
                created_at_ms: row.get(3)?,
                asked_by: row.get(4)?,
                text: row.get::<Option<&[u8]>>(5)?.map(decompressed),
            }))
        })
    }
}

impl dyn Session + '_ {
    /// Records that a run's texts are indexed up to `newest`, if given; `is_whole`: these are all its texts so far.
    pub(crate) fn note_indexed(&self, run_id: &str, newest: Option<i64>, is_whole: bool) -> Result<()> {
        let sql = "UPDATE runs SET indexed_to = COALESCE($1, indexed_to), \
                   is_indexed = $2 AND closed_at_ms IS NOT NULL WHERE run_id = $3";
        self.execute(sql, &values![newest, is_whole, run_id]).map(drop)
    }
}
