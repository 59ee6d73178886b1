//! The words of SQLite. A write transaction excludes every other, so nothing is locked.

use crate::database::sql::parts::dialect::Dialect;
use crate::row::ownership::LeaseRule;
use crate::row::text_row::WordMatching;

pub(crate) const SQLITE: Dialect = Dialect {
    lock: "",
    lock_free: "",
    entries: ("(SELECT value, key AS position FROM JSON_EACH(", "))"),
    total: ("TOTAL(", ")"),
    sent_day: "STRFTIME('%Y-%m-%d', sent_at_ms / 1000, 'unixepoch'), ''",
    written: "rowid",
    with_ids: "",
    // The join starts with the words: starting with a principal's runs would scan them one by one.
    passages: "SELECT text_id, texts.run_id, hash, created_at_ms, asked_by, CASE WHEN $1 THEN texts.body END \
               FROM words CROSS JOIN texts ON texts.text_id = words.rowid \
               CROSS JOIN runs ON runs.run_id = texts.run_id WHERE words MATCH $2 ORDER BY words.rowid DESC",
    words: |phrases, matching| Some(match_expression(phrases, matching)),
    lease_rule: LeaseRule::AliveOwnerKeeps,
};

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
