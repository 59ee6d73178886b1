//! The answer line: the last line `ANSWER: …` of a reply, which a seat is asked for so that its answer can be counted.

use std::borrow::Cow;

/// What a seat is asked for, behind the request.
pub const ASKED: &str = include_str!("../../../prompts/answer_line.md");
/// The word before the colon.
const WORD: &str = "answer";
/// The word as seats are asked to write it.
const AS_ASKED: &str = "ANSWER";
/// Marks that may stand around the word, and around the line.
const EMPHASIS: [char; 3] = ['*', '_', '`'];
/// Marks that a heading, a quotation or an item of a list begins with.
const BLOCK_MARKS: [char; 4] = ['#', '>', '-', '•'];
/// The longest end of a reply that is held back, in bytes: its answer lines and the blanks around them.
const HELD_BYTES_MAX: usize = 4_096;
/// Between a text and the answer that it does not say.
const APART: &str = "\n\n";
/// What a seat gives instead of an answer if the request has no short one.
const NONE: &str = "none";

/// A reply without its answer line, and the line as it came. An answer that stands nowhere else stays. Several lines at the end
/// are one, with a line break between them.
pub fn split(reply: &str) -> (Cow<'_, str>, Option<&str>) {
    let lines = reply.trim_end();
    let mut rest = lines;
    while let Some(begin) = last_answer(rest) {
        // `Answer: 8 legs` above the line belongs to the text.
        let is_one = rest.len() == lines.len() || rest[begin..].contains(AS_ASKED);
        // What is longer was shown on its way.
        if !is_one || lines.len() - begin >= HELD_BYTES_MAX {
            break;
        }
        rest = rest[..begin].trim_end();
    }
    let found = lines[rest.len()..].trim_start();
    let Some(value) = values(found).last().flatten() else {
        return (Cow::Borrowed(reply), None);
    };
    let text = match rest {
        "" => Cow::Borrowed(value),
        rest if is_none(value) || says(rest, value) => Cow::Borrowed(rest),
        rest => Cow::Owned(format!("{rest}{APART}{value}")),
    };
    (text, Some(found))
}

/// Where the last line of a text begins; `None` if it has none.
fn last_line(text: &str) -> Option<usize> {
    (!text.is_empty()).then(|| text.rfind('\n').map_or(0, |end| end + 1))
}

/// Where the answer begins that a text ends with: on its last line, or on the line before, if that has the word alone.
fn last_answer(text: &str) -> Option<usize> {
    let begin = last_line(text)?;
    if value(&text[begin..]).is_some() {
        return Some(begin);
    }
    let before = text[..begin].trim_end();
    last_line(before).filter(|word| is_word(&before[*word..]))
}

/// Whether a line is the word as asked, and its answer is on the next.
fn is_word(line: &str) -> bool {
    line.contains(AS_ASKED) && behind_word(line, WORD) == Some("")
}

/// The answers in the lines that were cut off.
fn values(lines: &str) -> impl Iterator<Item = Option<&str>> {
    let mut lines = lines.lines().filter(|line| !line.trim().is_empty());
    std::iter::from_fn(move || {
        let line = lines.next()?;
        Some(if is_word(line) { lines.next().map(str::trim) } else { value(line) })
    })
}

/// The one answer in the line or lines that were cut off; `None` if two differ.
pub fn only_value(lines: &str) -> Option<&str> {
    let mut values = values(lines);
    let first = values.next()??;
    values.all(|other| other == Some(first)).then_some(first)
}

/// Whether no line of a text, as seats are asked to write it, has another answer than its last.
pub fn is_only(text: &str, line: Option<&str>) -> bool {
    let last = line.and_then(only_value);
    text.lines().filter(|own| own.contains(AS_ASKED)).filter_map(value).all(|own| Some(own) == last)
}

/// Whether a text has this value as words of its own.
fn says(text: &str, value: &str) -> bool {
    // Chinese, say, has no blanks between words.
    let is_word = |one: char| one.is_ascii_alphanumeric();
    let is_digit = |one: char| one.is_ascii_digit();
    text.match_indices(value).any(|(at, _)| {
        let (mut before, mut behind) = (text[..at].chars().rev(), text[at + value.len()..].chars());
        let begins = match before.next() {
            Some('-' | '−') => !value.starts_with(is_digit),
            Some('.' | ',' | '/') => !before.next().is_some_and(is_digit),
            other => !other.is_some_and(is_word),
        };
        let ends = match behind.next() {
            Some('.' | ',' | '/' | '-') => !behind.next().is_some_and(is_digit),
            other => !other.is_some_and(is_word),
        };
        begins && ends
    })
}

/// The answer in a line; `None` if it is no answer line.
pub fn value(line: &str) -> Option<&str> {
    behind_word(line, WORD).filter(|value| !value.is_empty())
}

/// What stands behind a word and its colon at the beginning of a line, without the emphasis that the line is in or that ends with
/// the colon.
pub(super) fn behind_word<'a>(line: &'a str, word: &str) -> Option<&'a str> {
    let text = line.trim().trim_start_matches(|one: char| one.is_whitespace() || BLOCK_MARKS.contains(&one));
    let own = text.trim_start_matches(EMPHASIS);
    let emphasis = &text[..text.len() - own.len()];
    let behind =
        own.get(..word.len()).filter(|found| found.eq_ignore_ascii_case(word)).map(|_| &own[word.len()..])?;
    let (behind, is_closed) = match behind.strip_prefix(emphasis).filter(|_| !emphasis.is_empty()) {
        Some(behind) => (behind, true),
        None => (behind, emphasis.is_empty()),
    };
    let value = behind.trim_start().strip_prefix([':', '：'])?;
    Some(match value.strip_prefix(emphasis).filter(|_| !is_closed) {
        Some(value) => value.trim(),
        None if is_closed => value.trim(),
        None => value.trim().strip_suffix(emphasis).unwrap_or(value).trim(),
    })
}

/// Whether a line says that there is no short answer.
pub fn is_none(value: &str) -> bool {
    value.trim_matches(|one: char| !one.is_alphanumeric()).eq_ignore_ascii_case(NONE)
}

/// Where the end of a reply begins that may still become its answer line, with the blanks before it. What comes before can be
/// shown.
pub fn held_from(reply: &str) -> usize {
    let from = reply.ceil_char_boundary(reply.len().saturating_sub(HELD_BYTES_MAX));
    let end = &reply[from..];
    let trimmed = end.trim_end();
    let begin = last_line(trimmed).unwrap_or(0);
    let is_around = |one: char| one.is_whitespace() || EMPHASIS.contains(&one) || BLOCK_MARKS.contains(&one);
    let line = trimmed[begin..].trim_start_matches(is_around);
    let word = &line[..line.floor_char_boundary(WORD.len())];
    let may_begin = word.len() < WORD.len() && WORD.starts_with(&*word.to_ascii_lowercase());
    let behind =
        line[word.len()..].trim_start_matches(|one: char| one.is_whitespace() || EMPHASIS.contains(&one));
    let has_begun =
        word.eq_ignore_ascii_case(WORD) && matches!(behind.chars().next(), None | Some(':' | '：'));
    let begin = last_answer(trimmed).or((may_begin || has_begun).then_some(begin));
    // A line without its beginning is too long for an answer.
    let is_known = |begin: &usize| *begin > 0 || from == 0;
    let Some(begin) = begin.filter(is_known) else { return from + trimmed.len() };
    // Answer lines before it belong to it.
    let mut before = trimmed[..begin].trim_end();
    while let Some(begin) = last_answer(before).filter(is_known) {
        if !before[begin..].contains(AS_ASKED) {
            break;
        }
        before = before[..begin].trim_end();
    }
    from + before.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_last_line_is_cut_off() {
        for (reply, text, line) in [
            ("It has 8.\n\nANSWER: 8", "It has 8.", Some("8")),
            ("It has 8.\nANSWER: 8\n\n", "It has 8.", Some("8")),
            ("It has 8.\n**ANSWER:** 8", "It has 8.", Some("8")),
            ("It has 8.\n**Answer: 8 legs**", "It has 8.\n\n8 legs", Some("8 legs")),
            ("It has 18.\nANSWER: 8", "It has 18.\n\n8", Some("8")),
            ("So x.\n> answer：x", "So x.", Some("x")),
            ("It has 8.\n\tANSWER: 8", "It has 8.", Some("8")),
            ("It has 8.\n- ANSWER: 8", "It has 8.", Some("8")),
            ("It needs 1.2 trips.\nANSWER: 2", "It needs 1.2 trips.\n\n2", Some("2")),
            ("8 and Paris.\nANSWER: 8\nANSWER: Paris", "8 and Paris.", None),
            ("8.\nANSWER: 8\n\nANSWER: 8", "8.", Some("8")),
            ("So.\n**Answer:** 8 legs\n\nANSWER: 8", "So.\n**Answer:** 8 legs", Some("8")),
            ("ANSWER: 8", "8", Some("8")),
            ("It has 8.\n\n**ANSWER:**\n\n8\n", "It has 8.", Some("8")),
            ("So.\nANSWER:\n8\nANSWER: 8", "So.\n\n8", Some("8")),
            ("ANSWER:\n8", "8", Some("8")),
            ("So.\nANSWER:\n8\nor 9", "So.\nANSWER:\n8\nor 9", None),
            ("So.\nAnswer:\n8", "So.\nAnswer:\n8", None),
            ("A: no.\nANSWER: none", "A: no.", Some("none")),
            ("It has 8.", "It has 8.", None),
            ("ANSWER: 8\nOr so.", "ANSWER: 8\nOr so.", None),
            ("The answer: 8", "The answer: 8", None),
            ("Answers: 8", "Answers: 8", None),
            ("ANSWER:", "ANSWER:", None),
            ("", "", None),
        ] {
            let (shown, found) = split(reply);
            assert_eq!((&*shown, found.and_then(only_value)), (text, line), "{reply}");
        }
        assert!(is_none("None.") && is_none("`none`") && !is_none("None of them"));
    }

    #[test]
    fn many_lines_are_bounded() {
        let reply = format!("So.\n{}", "ANSWER: 8\n".repeat(100_000));
        assert!(reply.len() - held_from(&reply) <= HELD_BYTES_MAX);
        let (text, line) = split(&reply);
        assert!(text.starts_with(&reply[..held_from(reply.trim_end())]));
        assert_eq!(line.and_then(only_value), Some("8"));
    }

    proptest! {
        #[test]
        fn nothing_of_the_line_is_shown_on_its_way(reply in "([a-z \n\t\u{3000}*]|ANSWER|: |8){0,40}") {
            let (text, line) = split(&reply);
            for (at, _) in reply.char_indices().chain([(reply.len(), ' ')]) {
                let shown = &reply[..held_from(&reply[..at])];
                prop_assert!(line.is_none_or(|_| text.starts_with(shown) || shown.is_empty()), "{:?} of {:?}", shown, text);
            }
        }
    }
}
