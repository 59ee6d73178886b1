//! Finds the place in a reply that a prescribed form marks as the answer.
//!
//! Invariant: two marks with two answers, or anything behind the last one, and there is none.

use super::literal::unwrapped;

/// The longest line that is read, in bytes: as long as the longest option with its label.
const LINE_BYTES_MAX: usize = 1_200;
/// The end of a reply that is searched, in bytes: a reply ends with its answer.
const END_BYTES_MAX: usize = 64 * 1024;
/// Marks without a meaning around an answer.
const CLOSING: &[char] = &['*', '_', '`', '$', '.', '。', '"', '”', '\\', ']', ')', ' ', '\n', '\r'];
/// Words that may stand before `answer is`.
const LEADS: &[&str] = &[
    "so",
    "thus",
    "therefore",
    "hence",
    "the",
    "final",
    "correct",
    "best",
    "my",
    "right",
    "and",
    "in",
    "conclusion",
];
/// Words that may stand before a box in its line, besides those and the words of the question.
const BOX_LEADS: &[&str] = &[
    "answer", "is", "are", "was", "we", "get", "have", "find", "obtain", "value", "result", "equals",
    "equal", "to", "of", "that", "this", "gives", "us", "it", "there", "a", "an", "which", "must", "be",
];

/// The searched end of a reply.
fn end(reply: &str) -> &str {
    let reply = reply.trim();
    &reply[reply.ceil_char_boundary(reply.len().saturating_sub(END_BYTES_MAX))..]
}

/// The content of the box that ends a reply, if all its boxes have the same. `asking` is the sentence that asks.
pub(super) fn boxed<'a>(reply: &'a str, asking: &str) -> Option<&'a str> {
    let text = end(reply);
    let asking = asking.to_lowercase();
    let mut found: Option<(&str, usize)> = None;
    for (at, open) in text.match_indices("\\boxed{") {
        let inside = balanced(&text[at + open.len()..])?;
        let is_other = found.is_some_and(|(other, _)| unwrapped(other) != unwrapped(inside));
        if is_other || !leads(&text[..at], &asking) {
            return None;
        }
        found = Some((inside, at + open.len() + inside.len() + 1));
    }
    let (inside, end) = found?;
    text[end..].trim_matches(CLOSING).is_empty().then_some(inside)
}

/// The text up to the brace that closes it.
fn balanced(text: &str) -> Option<&str> {
    let mut depth = 1_usize;
    for (at, one) in text.char_indices() {
        match one {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(&text[..at]);
        }
    }
    None
}

/// Whether what stands before a box in its line only introduces it: empty words, words of the question, or `x =`. A sign, a
/// command or any other word may turn it into something else.
fn leads(before: &str, asking: &str) -> bool {
    let line = before.lines().next_back().filter(|_| !before.ends_with('\n')).unwrap_or_default();
    let sentence = line.rsplit(['!', '?', ';']).next().unwrap_or(line);
    let sentence = sentence.rsplit(". ").next().unwrap_or(sentence);
    let bare = sentence.trim_end_matches(['$', '(', '[', '\\', ' ', '{', '*', '_']);
    let (bare, is_equated) = match bare.strip_suffix([':', '=', '：']) {
        Some(rest) if rest.ends_with(['<', '>', '!', '≠', '~', '≈']) => return false,
        Some(rest) => (rest, bare.ends_with('=')),
        None => (bare, false),
    };
    let lower = bare.trim_start_matches(['$', '(', '[', '\\', ' ', '*', '_', '#']).to_lowercase();
    let is_known = |word: &str| {
        LEADS.contains(&word)
            || BOX_LEADS.contains(&word)
            || super::scope::words(asking).any(|own| own == word)
    };
    let is_turned = lower.contains(['\\', '<', '>', '≠', '≈', '±', '¬', '~', '≤', '≥', '^', '|'])
        || lower.ends_with(['-', '−', '+', '/', ',', '.', '√', '*', '!'])
        || lower.ends_with(|one: char| one.is_numeric()) && !is_equated;
    if is_equated && !is_asked_for(&lower, asking) {
        return false;
    }
    let is_variable =
        |word: &str| is_equated && (word.len() == 1 || word.bytes().all(|byte| byte.is_ascii_digit()));
    lower.is_empty()
        || !is_turned && super::scope::words(&lower).all(|word| is_known(word) || is_variable(word))
}

/// Whether the left side of an equation is what is asked for: a sum of numbers alone, words, or one variable, which the asking
/// sentence names if it names any. `x + 1 = \boxed{5}` says that `x` is 4.
fn is_asked_for(left: &str, asking: &str) -> bool {
    let is_term = |word: &&str| {
        word.len() == 1 && word.bytes().all(|byte| byte.is_ascii_alphabetic() && !matches!(byte, b'a' | b'i'))
    };
    let has_sign = left.contains(['+', '-', '−', '*', '/', '·', '×', '(', '='])
        || left.contains(|one: char| one.is_numeric());
    let mut terms = super::scope::words(left).filter(is_term);
    match (terms.next(), terms.next()) {
        _ if !left.contains(char::is_alphabetic) => true,
        (None, _) => !has_sign,
        (Some(term), None) => {
            let mut asked = super::scope::words(asking).filter(is_term).peekable();
            !has_sign && (asked.peek().is_none() || asked.any(|own| own == term))
        }
        _ => false,
    }
}

/// The rest of the last line behind a mark (in lower case), if no earlier line has the mark and another rest.
pub(super) fn behind<'a>(reply: &'a str, mark: &str) -> Option<&'a str> {
    let text = end(reply);
    let mut found: Option<&str> = None;
    let mut last = "";
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        last = line;
        if let Some(rest) = rest_of(line, mark) {
            if found.is_some_and(|other| unwrapped(other) != unwrapped(rest)) {
                return None;
            }
            found = Some(rest);
        }
    }
    found.filter(|_| rest_of(last, mark).is_some())
}

fn rest_of<'a>(line: &'a str, mark: &str) -> Option<&'a str> {
    let rest = match mark.strip_suffix(':') {
        Some(word) => super::line::behind_word(line, word)?,
        None => line.strip_prefix(mark).filter(|rest| !rest.starts_with('#'))?.trim(),
    };
    (!rest.is_empty() && rest.len() <= LINE_BYTES_MAX).then_some(rest)
}

/// The pieces of a reply to a question with options that may name one: in a box, behind `####`, `Answer:` or `the answer is`, or
/// the whole reply. All must name the same option. Empty if the last line states none.
pub(super) fn pieces(reply: &str) -> Vec<&str> {
    let lines: Vec<&str> = end(reply).lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    match lines[..] {
        [only] => {
            stated(only).or(Some(only).filter(|only| only.len() <= LINE_BYTES_MAX)).into_iter().collect()
        }
        [.., last] if stated(last).is_some() => lines.iter().filter_map(|line| stated(line)).collect(),
        _ => Vec::new(),
    }
}

/// What a line states as the answer.
fn stated(line: &str) -> Option<&str> {
    if line.contains("\\boxed{") {
        return boxed(line, "");
    }
    if let Some(rest) =
        rest_of(line, "####").or_else(|| rest_of(line, "answer:")).or_else(|| rest_of(line, "final answer:"))
    {
        return Some(rest);
    }
    let lower = line.to_ascii_lowercase();
    let (at, phrase) = ["answer is", "answer:", "option is"]
        .iter()
        .find_map(|phrase| Some((lower.rfind(phrase)?, phrase)))?;
    let sentence = &lower[lower[..at].rfind(['.', '!', '?', ';']).map_or(0, |end| end + 1)..at];
    let is_plain = super::scope::words(sentence).all(|word| LEADS.contains(&word));
    is_plain.then(|| line[at + phrase.len()..].trim_matches([':', ' ', '*']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_is_the_last_thing_a_reply_says() {
        for (reply, expected) in [
            ("So $\\boxed{\\frac{1}{2}}$.", Some("\\frac{1}{2}")),
            ("We get \\[\\boxed{8}\\]", Some("8")),
            ("\\boxed{8}\n\nThus \\boxed{8}.", Some("8")),
            ("x = \\boxed{5}", Some("5")),
            ("\\boxed{5}\n\\boxed{6}", None),
            ("\\boxed{5} or 6", None),
            ("-\\boxed{5}", None),
            ("x > \\boxed{5}", None),
            ("x + 1 = \\boxed{5}", None),
            ("2x = \\boxed{5}", None),
            ("2 + 3 = \\boxed{5}", Some("5")),
            ("So x = y = \\boxed{5}", None),
            ("x is at least \\boxed{5}", None),
            ("It is not \\boxed{5}.", None),
            ("It is twice \\boxed{5}.", None),
            ("Nicht \\boxed{5}", None),
            ("$\\pm\\boxed{5}$", None),
            ("$x \\ne \\boxed{5}$", None),
            ("an open \\boxed{ 1", None),
            ("1,\\boxed{5}", None),
            ("8", None),
        ] {
            assert_eq!(boxed(reply, "What is it?"), expected, "{reply}");
        }
    }

    #[test]
    fn a_mark_is_the_last_line() {
        for (reply, mark, expected) in [
            ("6 * 7 = 42\n#### 42", "####", Some("42")),
            ("So.\n**Answer:** 8 legs", "answer:", Some("8 legs")),
            ("So.\nFinal answer: x.", "final answer:", Some("x.")),
            ("Answer: 5\nWait.\nAnswer: 6", "answer:", None),
            ("Answer: 5\nIn thousands.", "answer:", None),
            ("The answer: 5", "answer:", None),
            ("#### 4\n#### 5", "####", None),
        ] {
            assert_eq!(behind(reply, mark), expected, "{reply}");
        }
    }

    #[test]
    fn every_stated_option_is_found() {
        for (reply, expected) in [
            ("The answer is (B).", &["(B)."][..]),
            ("A is tempting.\nSo the final answer is B", &["B"]),
            ("**Answer: B**", &["B"]),
            ("The answer is A.\nWait.\nThe answer is B.", &["A.", "B."]),
            ("If so, the answer is B.", &["If so, the answer is B."]),
            ("Wrong ones:\n**B**", &[]),
            ("B", &["B"]),
            ("", &[]),
        ] {
            assert_eq!(pieces(reply), expected, "{reply}");
        }
    }
}
