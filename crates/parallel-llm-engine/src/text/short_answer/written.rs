//! Recognizes questions whose numeric answer counts only as written: names, code, and number formats.

use super::words::words;

/// Things whose number is a name: `1.10` differs from `1.1`.
pub(super) const NAMES: &[&str] = &[
    "version",
    "release",
    "phone",
    "telephone",
    "serial",
    "zip",
    "postal",
    "account",
    "isbn",
    "id",
    "identifier",
    "password",
    "pin",
    "section",
    "chapter",
    "room",
    "flight",
    "licence",
    "license",
    "plate",
    "revision",
    "build",
];
/// Words of a question whose answer looks like a number and is a name or a text, or which asks for one way of writing a
/// number: `3.10` is another version than `3.1`, `6/8` is not in lowest terms, `3.0` is not what prints as `3`.
const WRITTEN: &[&str] = &[
    "model",
    "clause",
    "paragraph",
    "verse",
    "episode",
    "edition",
    "firmware",
    "commit",
    "checksum",
    "hash",
    "signature",
    "acuity",
    "blood",
    "score",
    "port",
    "host",
    "address",
    "street",
    "hexadecimal",
    "hex",
    "date",
    "reduce",
    "reduced",
    "simplify",
    "simplified",
    "significant",
];
/// Such phrases of several words.
const WRITTEN_PHRASES: &[&str] = &[
    "lowest terms",
    "simplest form",
    "simplest terms",
    "reduced form",
    "lowest form",
    "fully reduced",
    "irreducible",
    "decimal",
    "dezimal",
    "décimal",
    "gekürzt",
    "小数",
    "分数",
    "约分",
    "最简",
    "as a fraction",
    "common fraction",
    "mixed number",
    "mixed fraction",
    "improper fraction",
    "scientific notation",
    "standard form",
    "exponential notation",
    "exponential form",
    "index form",
    "an exponent",
];
/// Words before `number` after which it is always a number.
const BEFORE_A_NUMBER: &[&str] = &["", "a", "the", "single", "what", "only", "just", "one"];
/// Words before `number of` that count things.
const OF_A_COUNT: &[&str] = &[
    "total",
    "whole",
    "combined",
    "average",
    "mean",
    "median",
    "expected",
    "exact",
    "same",
    "maximum",
    "minimum",
    "greatest",
    "largest",
    "highest",
    "smallest",
    "least",
    "lowest",
    "fewest",
    "possible",
    "new",
    "original",
    "initial",
    "final",
    "remaining",
    "maximal",
    "minimal",
    "correct",
    "positive",
];
/// Words of questions about program output, where each blank counts and a number is text.
const PRINTED: &[&str] = &[
    "python",
    "javascript",
    "java",
    "rust",
    "ruby",
    "print",
    "prints",
    "printed",
    "output",
    "outputs",
    "string",
];
/// Other words of questions where each blank counts.
const CODE: &[&str] =
    &["command", "commands", "regex", "regexp", "code", "script", "bash", "shell", "sql", "loop"];

/// Whether a number answers this question only as written: it is a name, a number format is asked for, or only the place of the
/// answer suggests a number at all.
pub(super) fn is_written(asking: &str, lower: &str, is_for_number: bool) -> bool {
    // A number of decimals to round to is no number format.
    let plain = lower.replace("decimal place", "").replace("decimals", "");
    if WRITTEN_PHRASES.iter().any(|phrase| plain.contains(phrase)) {
        return true;
    }
    let counts = lower.contains("how many") || lower.contains("how much");
    let is_name = |word: String| [WRITTEN, NAMES, PRINTED].iter().any(|all| all.contains(&word.as_str()));
    let is_formula = ["$", "\\(", "\\[", "\\frac"].iter().any(|sign| lower.contains(sign));
    let is_placed = !is_for_number && !is_formula;
    !counts && (is_numbered(asking) || is_placed || lower.contains('`') || words(lower).any(is_name))
}

/// Whether a sentence asks for the number of something that has one for a name, as houses have: `house number`, and
/// not `number of houses` nor `the smallest number of houses`.
fn is_numbered(asking: &str) -> bool {
    let all: Vec<String> = words(asking).collect();
    let is_name = |at: usize| {
        let before = all[..at].last().map(String::as_str).unwrap_or_default();
        let counts = all.get(at + 1).is_some_and(|word| word == "of") && OF_A_COUNT.contains(&before);
        all[at] == "number" && !counts && !BEFORE_A_NUMBER.contains(&before)
    };
    (0..all.len()).any(is_name)
}

/// Whether a question is about code.
pub(super) fn is_code(lower: &str) -> bool {
    lower.contains('`')
        || lower.contains("regular expression")
        || words(lower).any(|word| [PRINTED, CODE].iter().any(|all| all.contains(&word.as_str())))
}
