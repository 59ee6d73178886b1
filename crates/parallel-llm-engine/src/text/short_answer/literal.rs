//! Literal short answers: a text as written, or a formula in normal form.
//!
//! Invariants: normalization removes only what certainly changes nothing. A literal is one line without control characters or
//! invisible characters.

use super::number;
use crate::text::injection::is_invisible;
use crate::value::answer::steers;

/// The longest literal in bytes. It appears in the reason of an outcome.
const LITERAL_BYTES_MAX: usize = 300;
/// How many times longer a text may be before normalization.
const WRITTEN_BYTES_MAX: usize = 4 * LITERAL_BYTES_MAX;

/// Delimiters around a formula or a text in it.
const AROUND: &[(&str, &str)] = &[
    ("$$", "$$"),
    ("$", "$"),
    ("\\(", "\\)"),
    ("\\[", "\\]"),
    ("\\text{", "}"),
    ("\\textbf{", "}"),
    ("\\textrm{", "}"),
    ("\\mathrm{", "}"),
    ("\\displaystyle", ""),
    ("**", "**"),
];

/// Different spellings of the same sign.
const SIGNS: &[(&str, &str)] = &[
    ("\\dfrac", "\\frac"),
    ("\\tfrac", "\\frac"),
    ("\\cfrac", "\\frac"),
    ("\\!", ""),
    ("{,}", ","),
    ("\\;", " "),
    ("\\:", " "),
    ("\\ ", " "),
    ("\\quad", " "),
    ("\\%", "%"),
    ("\\$", "$"),
    ("^{\\circ}", "°"),
    ("^\\circ", "°"),
    ("\\degree", "°"),
];

/// A trimmed text, otherwise unchanged; `None` if it is no short answer.
pub(super) fn exact(text: &str) -> Option<String> {
    let text = text.trim();
    let is_hidden = |one: char| steers(one) || is_invisible(one);
    ((1..=LITERAL_BYTES_MAX).contains(&text.len()) && !text.contains(is_hidden)).then(|| text.to_owned())
}

/// A text unchanged, or normalized if it must be a formula: a whole formula, or numbers in brackets. In quotes every blank
/// counts.
pub(super) fn text(text: &str) -> Option<String> {
    let is_list = (text.starts_with(['(', '[', '{']) || text.contains(", "))
        && text.chars().all(|one| one.is_ascii_digit() || "()[]{},.- ".contains(one));
    // `$PATH$` and `\[ERROR\]` are no formulas.
    let is_tex = ["\\frac", "\\dfrac", "\\tfrac", "\\sqrt"].iter().any(|command| text.contains(command));
    let is_quoted = text.contains(['\'', '"', '`']);
    if is_list || !is_quoted && is_tex { formula(text) } else { exact(text) }
}

/// A formula in normal form; `None` if it is no short answer.
pub(super) fn formula(text: &str) -> Option<String> {
    let text = unwrapped(text);
    // Several lines that are no matrix may be code, in which each blank counts.
    let is_many = text.contains('\n') && !text.contains("\\begin") && !text.contains("\\\\");
    if text.len() > WRITTEN_BYTES_MAX || is_many {
        return None;
    }
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut plain = SIGNS.iter().fold(line, |plain, (from, to)| plain.replace(from, to));
    for bracket in ["\\left", "\\right"] {
        plain = without_sizes(&plain, bracket);
    }
    exact(&without_blanks(&arguments(&thin(&plain))))
}

/// Removes delimiters around the whole text.
pub(super) fn unwrapped(mut text: &str) -> &str {
    loop {
        text = text.trim();
        let inside = |(open, close): &(&str, &str)| {
            let inside = text.strip_prefix(open)?.strip_suffix(close)?;
            let is_one = match *open {
                "\\displaystyle" => !inside.starts_with(|one: char| one.is_ascii_alphabetic()),
                _ if *close == "}" => is_balanced(inside),
                _ => !inside.contains(open) && !inside.contains(close),
            };
            (is_one && !inside.is_empty()).then_some(inside)
        };
        match AROUND.iter().find_map(inside) {
            Some(inside) => text = inside,
            None => return text,
        }
    }
}

/// A text in words without emphasis or quotes around all of it, and without a point at its end.
pub(super) fn plain(mut text: &str) -> &str {
    const PAIRS: [(&str, &str); 12] = [
        ("$", "$"),
        ("\\(", "\\)"),
        ("**", "**"),
        ("__", "__"),
        ("*", "*"),
        ("_", "_"),
        ("`", "`"),
        ("\"", "\""),
        ("'", "'"),
        ("“", "”"),
        ("‘", "’"),
        ("«", "»"),
    ];
    let is_word = |text: &&str| {
        text.starts_with(|one: char| one.is_alphanumeric() || "*_`\"'“‘-−+±($€£\\".contains(one))
            && text.ends_with(|one: char| one.is_alphanumeric() || "*_`\"'”’.!)}%°".contains(one))
    };
    loop {
        text = text.trim();
        let inside = |(open, close): &(&str, &str)| {
            let inside = text.strip_prefix(open)?.strip_suffix(close)?;
            Some(inside).filter(|inside| !inside.contains(open) && !inside.contains(close)).filter(is_word)
        };
        // `e.g.` and `Dr.` have their own.
        let ended = || {
            let bare = text.strip_suffix(['.', '。'])?;
            let last = bare.rsplit(|one: char| !one.is_alphanumeric()).next()?;
            let is_whole = last.chars().count() > 2 || last.chars().any(char::is_numeric) || !last.is_ascii();
            (is_whole && !bare.ends_with("..") || bare.ends_with(['*', '`', '_', '"', '”'])).then_some(bare)
        };
        match PAIRS.iter().find_map(inside).or_else(ended) {
            Some(inside) => text = inside,
            None => return text,
        }
    }
}

/// A text in words as it is compared: with its first letter in upper case, its digits in no groups, and no blank before a sign.
pub(super) fn words(text: &str) -> Option<String> {
    let plain = without_article(plain(text)).replace(" °", "°").replace(" %", "%");
    let length = plain.find(|one: char| !one.is_ascii_alphabetic()).unwrap_or(plain.len());
    let first = &plain[..length];
    // `pH` and `Nf3` are names.
    if first.len() > 3 && first[1..].bytes().all(|byte| byte.is_ascii_lowercase()) {
        return self::text(&format!("{}{}", first[..1].to_ascii_uppercase(), &plain[1..]));
    }
    let digits = plain.trim_start_matches(['$', '€', '£', '¥', '-', '−']);
    let sign = &plain[..plain.len() - digits.len()];
    match number::leading(digits) {
        Some((number, unit)) if digits.contains(',') && (unit.is_empty() || unit.starts_with(' ')) => {
            self::text(&format!("{sign}{number}{unit}"))
        }
        _ => self::text(&plain),
    }
}

/// A text without the article before it. `A minor` is a key, and `a few` is more than `few`.
fn without_article(text: &str) -> &str {
    let bare = ["the ", "The ", "a ", "an ", "An "].iter().find_map(|article| text.strip_prefix(article));
    let is_noun = |bare: &&str| !["few", "little"].iter().any(|amount| bare.starts_with(amount));
    bare.filter(is_noun).unwrap_or(text)
}

/// A piece without its final mark and surrounding marks.
pub(super) fn sentence(piece: &str) -> &str {
    let mut text = piece;
    loop {
        let inside = unwrapped(text);
        // `0.333...` goes on.
        if inside.ends_with("..") {
            return inside;
        }
        let bare = inside.trim_end_matches(['.', '。', '।', '．']);
        let bare = bare.trim();
        // `**Answer: 8**` leaves the end of its emphasis.
        let is_odd = bare.matches("**").count() % 2 == 1;
        let bare = bare.strip_suffix("**").filter(|_| is_odd).unwrap_or(bare);
        if bare == text || piece.ends_with("...") {
            return text;
        }
        text = bare;
    }
}

/// A literal of a programming language. A string loses its quotes, which are often forgotten, unless it would be another literal
/// without them; a list loses the blanks between its elements.
pub(super) fn of_code(text: &str) -> Option<String> {
    let text = exact(text)?;
    let inside = ['\'', '"'].iter().find_map(|quote| text.strip_prefix(*quote)?.strip_suffix(*quote));
    Some(match inside.filter(|inside| !inside.contains(['\'', '"', '\\'])) {
        Some(inside) if is_only_a_string(inside) => inside.to_owned(),
        Some(inside) => format!("'{inside}'"),
        None if text.starts_with(['[', '(', '{']) => list(&text),
        None => text,
    })
}

/// Whether a text without quotes can only be a string: no literal and no expression is written so.
fn is_only_a_string(text: &str) -> bool {
    const WORDS: [&str; 12] = [
        "True",
        "False",
        "None",
        "true",
        "false",
        "null",
        "nil",
        "undefined",
        "NaN",
        "nan",
        "inf",
        "Infinity",
    ];
    let unsigned = text.trim_start_matches(['-', '+', '~']).to_ascii_lowercase();
    let has_radix = ["0x", "0b", "0o"].iter().any(|radix| unsigned.starts_with(radix));
    if text.is_empty()
        || text.trim() != text
        || WORDS.contains(&text)
        || has_radix
        || text.contains(['[', '(', '{'])
    {
        return false;
    }
    let is_digit = |one: char| one.is_ascii_digit();
    let is_of_sum = |one: char| is_digit(one) || "+-*/%.,_ eEjxob)".contains(one);
    let may_be_sum = text.contains(is_digit) && text.chars().all(is_of_sum);
    // No number begins with a letter, no sum ends with a sign, and no two numbers stand side by side.
    let words: Vec<&str> = text.split(' ').collect();
    !may_be_sum
        || text.starts_with(|one: char| one.is_ascii_alphabetic())
        || text.ends_with(['+', '-', '*', '/', '%'])
        || words.windows(2).any(|two| two[0].ends_with(is_digit) && two[1].starts_with(is_digit))
}

/// A list without the blanks behind its commas, colons and brackets, and with single quotes.
fn list(text: &str) -> String {
    let (mut plain, mut string, mut is_escaped) =
        (String::with_capacity(text.len()), None::<(char, String)>, false);
    for one in text.chars() {
        let is_literal = is_escaped;
        is_escaped = one == '\\' && !is_escaped;
        match &mut string {
            None if one == ' ' && plain.ends_with([',', ':', '[', '(', '{']) => {}
            None if matches!(one, ']' | ')' | '}') => {
                plain.truncate(plain.trim_end().len());
                plain.push(one);
            }
            None if matches!(one, '\'' | '"') => string = Some((one, String::new())),
            None => plain.push(one),
            Some((quote, inside)) if one == *quote && !is_literal => {
                let quote = if inside.contains(['\'', '\\']) { *quote } else { '\'' };
                plain.extend([quote].into_iter().chain(inside.chars()).chain([quote]));
                string = None;
            }
            Some((_, inside)) => inside.push(one),
        }
    }
    plain + &string.map_or(String::new(), |(quote, inside)| format!("{quote}{inside}"))
}

/// Output without the marks of code around all of it. In emphasis, and beside blanks, they may be part of it.
pub(super) fn output(text: &str) -> &str {
    let text = text.trim();
    let inside = text.strip_prefix('`').and_then(|rest| rest.strip_suffix('`'));
    inside
        .filter(|inside| !inside.contains('`') && inside.trim() == *inside && !inside.is_empty())
        .unwrap_or(text)
}

/// Whether braces are balanced.
fn is_balanced(text: &str) -> bool {
    let mut depth = 0_usize;
    for one in text.chars() {
        match (one, depth) {
            ('{', _) => depth += 1,
            ('}', 0) => return false,
            ('}', _) => depth -= 1,
            _ => {}
        }
    }
    depth == 0
}

/// Turns small spaces into blanks, except between digits, where they separate thousands.
fn thin(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut pieces = text.split("\\,").peekable();
    while let Some(piece) = pieces.next() {
        plain.push_str(piece);
        if let Some(next) = pieces.peek() {
            let is_within = piece.ends_with(|one: char| one.is_ascii_digit())
                && next.starts_with(|one: char| one.is_ascii_digit());
            plain.push(if is_within { '\u{2009}' } else { ' ' });
        }
    }
    plain
}

/// Removes `\left` and `\right` before brackets, but not from `\leftarrow`.
fn without_sizes(text: &str, command: &str) -> String {
    let mut pieces = text.split(command);
    let mut plain = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        if piece.starts_with(|one: char| one.is_ascii_alphabetic() || one == '.') {
            plain.push_str(command);
        }
        plain.push_str(piece);
    }
    plain
}

/// Adds implied braces as in `\frac12` and `\sqrt3`, and removes unneeded ones as in `x^{2}`.
fn arguments(text: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    let (mut plain, mut at) = (String::with_capacity(text.len()), 0);
    while at < characters.len() {
        let rest = &characters[at..];
        let (length, count) = [("\\frac", 2), ("\\sqrt", 1)]
            .into_iter()
            .find(|(command, _)| rest.iter().copied().take(command.len()).eq(command.chars()))
            .map_or((0, 0), |(command, count)| (command.len(), count));
        let digits = &rest[length..(length + count).min(rest.len())];
        match rest {
            [sign @ ('^' | '_'), '{', one, '}', ..] => {
                plain.extend([*sign, *one]);
                at += 4;
            }
            _ if count > 0 && digits.len() == count && digits.iter().all(char::is_ascii_digit) => {
                plain.extend(&rest[..length]);
                for digit in digits {
                    plain.extend(['{', *digit, '}']);
                }
                at += length + count;
            }
            _ => {
                plain.push(rest[0]);
                at += 1;
            }
        }
    }
    plain
}

/// Removes blanks without a meaning: inside brackets and around binary signs. Keeps those that distinguish `1 -2` from `1-2` and
/// `(1, 234)` from `(1,234)`.
fn without_blanks(text: &str) -> String {
    let characters: Vec<char> = text.chars().collect();
    let at = |index: usize| characters.get(index).copied().unwrap_or(' ');
    let is_blank = |index: usize| at(index) == ' ';
    let is_dropped = |index: usize| {
        let (before, behind) = (at(index.wrapping_sub(1)), at(index + 1));
        let is_thousand = (2..=4).all(|offset| at(index + offset - 1).is_ascii_digit())
            && at(index.wrapping_sub(2)).is_ascii_digit();
        let is_sign = |sign: usize| matches!(at(sign), '+' | '-' | '−') && at(sign + 1) == ' ';
        // `3 \\sqrt{2}`, but not `a \\text{ m}`.
        matches!(before, '(' | '[' | '{')
            || behind == '\\' && !text.contains("\\text") && !text.contains("\\mathrm")
            || matches!(behind, ')' | ']' | '}' | ',' | '=' | '<' | '>' | '^')
            || matches!(before, '=' | '<' | '>' | '^')
            || (before == ',' && !is_thousand)
            || (is_sign(index + 1) && index > 0)
            || (matches!(before, '+' | '-' | '−') && index > 1 && is_blank(index - 2))
    };
    characters
        .iter()
        .enumerate()
        .filter(|(index, one)| **one != ' ' || !is_dropped(*index))
        .map(|(_, one)| *one)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_formula_has_one_canonical_form() {
        for (text, expected) in [
            ("\\dfrac{1}{2}", "\\frac{1}{2}"),
            ("\\frac12", "\\frac{1}{2}"),
            ("\\left( 1, 2 \\right)", "(1,2)"),
            ("$(1,2)$", "(1,2)"),
            ("\\(x^{2} + 3\\)", "x^2+3"),
            ("x^2+3", "x^2+3"),
            ("\\text{Monday}", "Monday"),
            ("30^\\circ", "30°"),
            ("12{,}500", "12,500"),
            ("12\\,500", "12\u{2009}500"),
            ("5\\%", "5%"),
            ("\\sqrt3", "\\sqrt{3}"),
            ("x = 5", "x=5"),
            ("3 \\sqrt{2}", "3\\sqrt{2}"),
            ("New  York", "New York"),
        ] {
            assert_eq!(formula(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn formulas_that_differ_stay_different() {
        for (one, other) in [
            ("(1, 234)", "(1,234)"),
            ("[1 -2]", "[1-2]"),
            ("1 2", "12"),
            ("x^2", "x2"),
            ("x^{12}", "x^12"),
            ("10⁵", "105"),
            ("a", "A"),
            ("5!", "5"),
            ("\\mathbf{v}", "v"),
            ("2\\text{ m}", "2 m"),
            ("\\leftarrow x", "arrow x"),
            ("\\text{a} or \\text{b}", "a} or \\text{b"),
            ("\\frac{12}{3}", "\\frac{1}{23}"),
            ("$5 or $6", "5 or $6"),
        ] {
            assert_ne!(formula(one), formula(other), "{one} {other}");
        }
    }

    #[test]
    fn quotes_of_a_string_are_often_forgotten() {
        let code = |text: &str| of_code(text).unwrap();
        for (one, other) in [
            ("'ab'", "ab"),
            ("\"ab\"", "'ab'"),
            ("[1, 'a, b']", "[1,'a, b']"),
            ("{\"a\": 1}", "{'a':1}"),
            ("\"\"", "''"),
            ("'1co'", "1co"),
            ("'x0x0'", "x0x0"),
            ("'1234567890 0'", "1234567890 0"),
            ("'5*83*23***'", "5*83*23***"),
        ] {
            assert_eq!(code(one), code(other), "{one} {other}");
        }
        for (one, other) in [
            ("'8'", "8"),
            ("'True'", "True"),
            ("' ab'", "ab"),
            ("'[1]'", "[1]"),
            ("['a, b']", "['a,b']"),
            ("[1 2]", "[12]"),
            ("'a\\n'", "a\\n"),
            ("'-2-1'", "-2-1"),
            ("' 7 '", "7"),
            ("'0x1F'", "0x1F"),
            ("'-0b10'", "-0b10"),
            ("'00'", "00"),
            ("'1e5'", "1e5"),
            ("'.5'", ".5"),
            ("'1, 2'", "1, 2"),
            ("'10 -2'", "10 -2"),
            ("'nil'", "nil"),
        ] {
            assert_ne!(of_code(one), of_code(other), "{one} {other}");
        }
    }

    #[test]
    fn hidden_or_long_text_is_no_short_answer() {
        for none in ["", "  ", "a\u{200b}b", "a\u{202e}b", "a\u{1b}[2J", "a\nb", &"x".repeat(301)] {
            assert_eq!(exact(none), None, "{none}");
        }
        assert_eq!(exact(" ./Build ").as_deref(), Some("./Build"));
    }
}
