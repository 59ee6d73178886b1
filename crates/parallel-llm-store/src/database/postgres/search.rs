//! Statements for the index of words.
//!
//! The server's full-text types (postgresql.org/docs/current/datatype-textsearch.html) hold the words that we make, and
//! none of the server's own parsers and dictionaries decides what a word is: a text is found alike in either database. The
//! index holds neither the texts nor the places of their words.

use std::collections::BTreeSet;

use super::dialect::{POSTGRES, WORD_BYTES_MAX};
use super::write_connection::Transaction;
use crate::database::sql::parts::session::Session as _;
use crate::database::sql::parts::value::values;
use crate::row::text_row::IndexedText;
use crate::system::error::DatabaseError;

/// Most bytes of the distinct words of one text: the server takes a megabyte. The words beyond, which come last in the order
/// of their bytes, are left out; that many different words are no language.
const WORDS_BYTES_MAX: usize = 1_000_000;

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
        let sql = format!(
            "INSERT INTO words (text_id, words) SELECT $1, array_to_tsvector(ARRAY(SELECT value FROM {} AS word)) \
             ON CONFLICT DO NOTHING",
            POSTGRES.entries("$2")
        );
        let words = serde_json::to_string(&lexemes(&text.line)).expect("words are plain data");
        self.session.execute(&sql, &values![text.text_id, words]).map(drop)
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
}
