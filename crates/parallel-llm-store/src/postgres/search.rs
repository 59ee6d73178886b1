//! Statements for the index of words.
//!
//! The server's full-text types (postgresql.org/docs/current/datatype-textsearch.html) hold the words that we make, and
//! none of the server's own parsers and dictionaries decides what a word is: a text is found alike in either database. The
//! index holds neither the texts nor the places of their words.

use std::collections::BTreeSet;

use super::connection::{Reader, Transaction};
use super::row::{get, text};
use crate::error::DatabaseError;
use crate::row::compressed::{decompressed, decompressed_to};
use crate::row::count;
use crate::row::text_row::{IndexScope, IndexedText, Passage, TextRow, WordMatching};

/// Longest word in the index, in bytes: the server takes 2,046. Longer ones are left out, and are not found.
const WORD_BYTES_MAX: usize = 2_046;
/// Most bytes of the distinct words of one text: the server takes a megabyte. The words beyond, which come last in the order
/// of their bytes, are left out; that many different words are no language.
const WORDS_BYTES_MAX: usize = 1_000_000;
/// Texts fetched at once: a page of a search needs few more.
const FETCH_ROWS: usize = 256;

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
    pub(crate) fn unindexed_run(&self, behind: IndexScope) -> Result<Option<String>, DatabaseError> {
        let sql = concat!("SELECT run_id FROM runs WHERE ", unindexed!(), " ORDER BY run_id LIMIT 1");
        self.session.first(sql, &[&(behind == IndexScope::All)], |row| get(row, 0))
    }

    /// The number of runs with texts that are not indexed, for all principals or one.
    pub(crate) fn count_unindexed(&self, asked_by: Option<&str>) -> Result<u64, DatabaseError> {
        let sql = concat!(
            "SELECT COUNT(*) FROM runs WHERE ",
            unindexed!(),
            " AND ($2::TEXT IS NULL OR asked_by = $2)"
        );
        Ok(count(self.session.value(sql, &[&true, &asked_by])?))
    }

    /// The ids of a run's texts that are not indexed, oldest first.
    pub(crate) fn unindexed_texts(&self, run_id: &str) -> Result<Vec<i64>, DatabaseError> {
        let sql = "SELECT text_id FROM texts JOIN runs USING (run_id) WHERE run_id = $1 AND text_id > indexed_to \
                   ORDER BY text_id";
        self.session.rows(sql, &[&run_id], |row| get(row, 0))
    }

    /// The ids of a run's indexed texts, newest first.
    pub(crate) fn indexed_texts(&self, run_id: &str) -> Result<Vec<i64>, DatabaseError> {
        let sql = "SELECT text_id FROM texts JOIN runs USING (run_id) WHERE run_id = $1 AND text_id <= indexed_to \
                   ORDER BY text_id DESC";
        self.session.rows(sql, &[&run_id], |row| get(row, 0))
    }

    /// The text of this id, or its first bytes.
    pub(crate) fn text_of_id(
        &self,
        text_id: i64,
        bytes_max: Option<usize>,
    ) -> Result<TextRow, DatabaseError> {
        let sql = "SELECT hash, body FROM texts WHERE text_id = $1";
        let found = self.session.first(sql, &[&text_id], |row| {
            let body = get(row, 1)?;
            let text = match bytes_max {
                Some(bytes_max) => decompressed_to(body, bytes_max as u64),
                None => decompressed(body),
            };
            Ok(TextRow { hash: get(row, 0)?, text })
        })?;
        found.ok_or_else(|| super::row::damaged(format!("there is no text {text_id}")))
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
        if phrases.iter().flatten().any(|word| word.len() > WORD_BYTES_MAX) {
            return Ok(());
        }
        let needs_text = phrases.iter().any(|phrase| phrase.len() > 1);
        // A cursor, so that only as many texts are sent as are taken.
        let sql = "DECLARE passages NO SCROLL CURSOR FOR \
                   SELECT text_id, texts.run_id, hash, created_at_ms, asked_by, CASE WHEN $1 THEN texts.body END \
                   FROM words JOIN texts USING (text_id) JOIN runs ON runs.run_id = texts.run_id \
                   WHERE words @@ $2::TEXT::TSQUERY ORDER BY text_id DESC";
        self.session.execute(sql, &[&needs_text, &match_expression(phrases, matching)])?;
        let fetch = format!("FETCH {FETCH_ROWS} FROM passages");
        loop {
            let passages = self.session.rows_once(&fetch, |row| {
                Ok(Passage {
                    text_id: get(row, 0)?,
                    run_id: get(row, 1)?,
                    hash: get(row, 2)?,
                    created_at_ms: get(row, 3)?,
                    asked_by: get(row, 4)?,
                    text: needs_text.then(|| text(row, 5)).transpose()?,
                })
            })?;
            let is_last = passages.len() < FETCH_ROWS;
            let is_enough = passages.into_iter().any(|passage| !take(passage));
            if is_last || is_enough {
                return self.session.command("CLOSE passages").map(drop);
            }
        }
    }
}

/// The query expression for texts that contain all words.
fn match_expression(phrases: &[Vec<String>], matching: WordMatching) -> String {
    let mut words = Vec::new();
    for phrase in phrases {
        for (position, word) in phrase.iter().enumerate() {
            let is_last = position + 1 == phrase.len();
            let end = if is_last && matching == WordMatching::Beginnings { ":*" } else { "" };
            // Words consist of letters and digits, so nothing needs escaping.
            words.push(format!("'{word}'{end}"));
        }
    }
    words.join(" & ")
}

/// The distinct words of a line that the index takes.
fn lexemes(line: &str) -> Vec<&str> {
    let mut bytes_left = WORDS_BYTES_MAX;
    let words: BTreeSet<&str> =
        line.split(' ').filter(|word| !word.is_empty() && word.len() <= WORD_BYTES_MAX).collect();
    let fits = |word: &&str| {
        let left = bytes_left.checked_sub(word.len());
        bytes_left = left.unwrap_or(0);
        left.is_some()
    };
    words.into_iter().take_while(fits).collect()
}

impl Transaction {
    /// Adds the words of a text to the index.
    pub(crate) fn put_words(&mut self, text: &IndexedText) -> Result<(), DatabaseError> {
        let sql = "INSERT INTO words (text_id, words) VALUES ($1, array_to_tsvector($2::TEXT[])) ON CONFLICT DO NOTHING";
        self.execute(sql, &[&text.text_id, &lexemes(&text.line)]).map(drop)
    }

    /// Records that a run's texts are indexed up to `newest`, if given; `is_whole`: these are all its texts so far.
    pub(crate) fn note_indexed(
        &mut self,
        run_id: &str,
        newest: Option<i64>,
        is_whole: bool,
    ) -> Result<(), DatabaseError> {
        let sql = "UPDATE runs SET indexed_to = COALESCE($1, indexed_to), \
                   is_indexed = $2 AND closed_at_ms IS NOT NULL WHERE run_id = $3";
        self.execute(sql, &[&newest, &is_whole, &run_id]).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_beyond_the_bounds_of_the_server_are_left_out() {
        let long = "x".repeat(WORD_BYTES_MAX);
        assert_eq!(lexemes(&format!("b a {long} a {long}x ")), ["a", "b", &long]);
        let many: Vec<String> = (100_000..300_000).map(|number| number.to_string()).collect();
        assert_eq!(lexemes(&many.join(" ")).len(), WORDS_BYTES_MAX / 6);
    }

    #[test]
    fn only_the_last_word_of_a_phrase_may_begin_a_longer_one() {
        let phrases = [vec!["a".to_owned(), "b".to_owned()], vec!["c".to_owned()]];
        assert_eq!(match_expression(&phrases, WordMatching::Beginnings), "'a' & 'b':* & 'c':*");
        assert_eq!(match_expression(&phrases, WordMatching::Whole), "'a' & 'b' & 'c'");
    }
}
