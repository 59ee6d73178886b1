//! The words of PostgreSQL.

use crate::database::sql::parts::dialect::Dialect;
use crate::row::ownership::LeaseRule;
use crate::row::text_row::WordMatching;

/// Longest word in the index, in bytes: the server takes 2,046. Longer ones are left out, and are not found.
pub(super) const WORD_BYTES_MAX: usize = 2_046;

pub(crate) const POSTGRES: Dialect = Dialect {
    lock: " FOR NO KEY UPDATE",
    lock_free: " FOR NO KEY UPDATE SKIP LOCKED",
    entries: (
        "(SELECT * FROM JSON_ARRAY_ELEMENTS_TEXT(CAST(",
        " AS JSON)) WITH ORDINALITY AS entry (value, position))",
    ),
    total: ("LEAST(COALESCE(SUM(", "), 0), 9223372036854775807)::BIGINT"),
    sent_day: "TO_CHAR(TO_TIMESTAMP(sent_at_ms / 1000) AT TIME ZONE 'UTC', 'YYYY-MM-DD'), ''",
    // By the clock of the server: that of the machine where a run was made may have been ahead.
    written: "created_at_ms",
    with_ids: " OVERRIDING SYSTEM VALUE",
    passages: "SELECT text_id, texts.run_id, hash, created_at_ms, asked_by, CASE WHEN $1 THEN texts.body END \
               FROM words JOIN texts USING (text_id) JOIN runs ON runs.run_id = texts.run_id \
               WHERE words @@ $2::TEXT::TSQUERY ORDER BY text_id DESC",
    words: match_expression,
    lease_rule: LeaseRule::LeaseDecides,
};

/// The query expression for texts that contain all words; `None` if no text can have one.
fn match_expression(phrases: &[Vec<String>], matching: WordMatching) -> Option<String> {
    if phrases.iter().flatten().any(|word| word.len() > WORD_BYTES_MAX) {
        return None;
    }
    let mut words = Vec::new();
    for phrase in phrases {
        for (position, word) in phrase.iter().enumerate() {
            let is_last = position + 1 == phrase.len();
            let end = if is_last && matching == WordMatching::Beginnings { ":*" } else { "" };
            // Words consist of letters and digits, so nothing needs escaping.
            words.push(format!("'{word}'{end}"));
        }
    }
    Some(words.join(" & "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_word_of_a_phrase_may_begin_a_longer_one() {
        let phrases = [vec!["a".to_owned(), "b".to_owned()], vec!["c".to_owned()]];
        assert_eq!(match_expression(&phrases, WordMatching::Beginnings).unwrap(), "'a' & 'b':* & 'c':*");
        assert_eq!(match_expression(&phrases, WordMatching::Whole).unwrap(), "'a' & 'b' & 'c'");
    }
}
