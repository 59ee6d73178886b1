//! Finds the places where a text marks its final answer: in a box, after `####`, or after words like "the answer is".
//!
//! Invariants: such a place ends the text except for closing marks, and no word of its sentence retracts it. All places are
//! returned, because places with different values cancel each other.

use super::before_box::{closed, equated, is_changed, is_of_a_letter, leads_to_box};
use super::words::{doubts, turns, words};

/// An answer of at most this many bytes is a value as a whole.
const SHORT_BYTES_MAX: usize = 120;
/// How many bytes at the end of an answer are searched: conclusions stand at the end, and the run waits for the search.
const END_BYTES_MAX: usize = 4_000;
/// The longest line that is an answer, in bytes.
const LINE_BYTES_MAX: usize = 300;
/// The longest sentence before a place in bytes; a longer one is not plain.
const LEAD_BYTES_MAX: usize = 600;

/// Phrases before an answer in English, in lower case.
const MARKS: &[&str] = &[
    "final answer",
    "answer is",
    "answer:",
    "result:",
    "answer =",
    "# answer\n",
    "**answer**\n",
    "option is",
    "choice is",
    "final result is",
];
/// Phrases before an answer in other languages.
const FOREIGN_MARKS: &[&str] = &[
    "antwort ist",
    "antwort lautet",
    "antwort:",
    "réponse est",
    "réponse :",
    "réponse:",
    "réponse finale :",
    "respuesta es",
    "respuesta:",
    "respuesta final es",
    "risposta è",
    "risposta:",
    "resposta é",
    "resposta:",
    "ответ:",
    "Ответ:",
    "ответ —",
    "Ответ —",
    "ответ –",
    "Ответ –",
    "ответ -",
    "Ответ -",
    "答案是",
    "答案为",
    "答案為",
    "答案：",
    "答案:",
    "答えは",
    "答え：",
    "答え:",
    "정답은",
    "정답:",
    "답은",
    "답:",
    "คำตอบคือ",
    "คำตอบ คือ",
    "คำตอบ:",
    "คำตอบ：",
    "jibu ni",
    "jibu:",
    "jibu la mwisho ni",
    "উত্তর হল",
    "উত্তর হলো",
    "উত্তর:",
    "উত্তরঃ",
    "উত্তর হচ্ছে",
    "సమాధానం",
    "జవాబు:",
];
/// Words before `answer` that make it the final one; `his answer` is not.
const OWNERS: &[&str] =
    &["the", "final", "correct", "my", "right", "best", "our", "short", "numeric", "numerical", "so", "and"];
/// Words that begin a conclusion; the part of the sentence before them is its reason.
const CONCLUDING: &[&str] = &["so ", "thus", "hence", "therefore"];
/// Empty words that introduce an answer.
const LEADING: &[&str] = &[
    "the",
    "final",
    "correct",
    "my",
    "right",
    "best",
    "our",
    "so",
    "thus",
    "hence",
    "therefore",
    "and",
    "then",
    "overall",
    "finally",
    "in",
    "conclusion",
    "summary",
    "short",
    "total",
    "that",
    "this",
    "means",
    "which",
    "gives",
    "we",
    "get",
    "have",
    "find",
    "see",
    "conclude",
    "obtain",
    "is",
    "are",
    "answer",
    "result",
    "value",
    "it",
    "equals",
    "step",
    "numeric",
    "numerical",
    "consequently",
    "option",
    "choice",
    "also",
    "lautet",
    "die",
    "ist",
    "daher",
    "somit",
    "endgültige",
    "antwort",
    "la",
    "le",
    "par",
    "conséquent",
    "donc",
    "ainsi",
    "réponse",
    "finale",
    "por",
    "lo",
    "tanto",
    "así",
    "que",
    "entonces",
    "respuesta",
    "final",
    "es",
    "perciò",
    "quindi",
    "risposta",
    "portanto",
    "resposta",
    "a",
    "следовательно",
    "таким",
    "образом",
    "итак",
    "значит",
    "поэтому",
    "окончательный",
    "правильный",
    "所以",
    "因此",
    "故",
    "最终",
    "最终的",
    "正确",
    "所以最终",
    "因此最终",
    "よって",
    "したがって",
    "最終的な",
    "ゆえに",
    "따라서",
    "그러므로",
    "최종",
    "ดังนั้น",
    "kwa",
    "hiyo",
    "তাই",
    "সুতরাং",
    "অতএব",
    "చూడండి",
    "కాబట్టి",
    "boxed",
    "implies",
    "quad",
];
/// Courtesies after an answer, without their final mark.
const POLITE: &[&str] = &[
    "I hope it is correct",
    "I hope this is correct",
    "I hope this helps",
    "I hope that helps",
    "Hope this helps",
    "Let me know if you have any questions",
    "Let me know if you have any other questions",
    "Let me know if you need anything else",
];
/// Marks around an answer without a meaning.
const CLOSING: &[char] = &['*', '_', '`', '$', '.', '。', '।', '"', '”'];

/// How a place marks the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SpotKind {
    /// In a box.
    Box,
    /// After `####`.
    Hashes,
    /// After an introducing phrase.
    Mark,
}

/// A place that marks the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Spot<'a> {
    pub(super) kind: SpotKind,
    /// The marked text.
    pub(super) text: &'a str,
    /// The text between a box and the end of its line.
    pub(super) beside: &'a str,
    /// Whether nothing in its sentence retracts it.
    pub(super) is_plain: bool,
    /// Its sentence up to it, from the beginning of the conclusion.
    lead: &'a str,
    /// The text after it.
    pub(super) behind: &'a str,
    start: usize,
    end: usize,
}

impl Spot<'_> {
    /// Whether nothing meaningful comes after it.
    pub(super) fn is_last(&self) -> bool {
        is_closing(self.behind)
    }

    /// Whether it is the value of a formula of a variable, as in `x^2 = \boxed{9}`, that the question (in lower case) does not ask
    /// for.
    pub(super) fn is_of_another(&self, question: &str) -> bool {
        let bare = |text: &str| text.replace([' ', '$', '{', '}', '\\'], "").to_lowercase();
        let is_asked = |formula: &str| bare(question).contains(&bare(formula));
        self.kind == SpotKind::Box
            && equated(self.lead).is_some_and(|formula| is_of_a_letter(formula) && !is_asked(formula))
    }

    /// Whether its sentence only introduces it, with empty words and these.
    pub(super) fn leads(&self, known: &[String]) -> bool {
        is_leading(self.lead, known)
    }
}

/// The searched end of an answer.
pub(super) fn end(answer: &str) -> &str {
    let answer = answer.trim();
    &answer[answer.ceil_char_boundary(answer.len().saturating_sub(END_BYTES_MAX))..]
}

/// A text without a final courtesy.
pub(super) fn without_courtesy(text: &str) -> &str {
    let bare = text.trim_end().trim_end_matches(['.', '!']);
    POLITE.iter().find_map(|polite| bare.strip_suffix(polite)).map_or(text, str::trim_end)
}

/// An answer of one short line.
pub(super) fn short(answer: &str) -> Option<&str> {
    let answer = answer.trim();
    (answer.len() <= SHORT_BYTES_MAX && !answer.contains(['\n', '\r'])).then_some(answer)
}

/// The last line of an answer, if it is emphasized as a whole, stands apart, and the line before it neither negates it nor
/// introduces something else.
pub(super) fn emphasised(answer: &str) -> Option<&str> {
    let mut lines = end(answer).trim_end().lines().rev().map(str::trim);
    let line = lines.next().filter(|line| line.len() <= LINE_BYTES_MAX)?;
    let inside = line.strip_prefix("**")?.strip_suffix("**")?;
    let next = lines.next();
    let is_apart = next.is_some_and(str::is_empty);
    let before = next.into_iter().chain(lines).find(|line| !line.is_empty());
    let is_end = |line: &str| {
        is_apart && (line.ends_with(['.', '。']) || line.starts_with("- ")) && !turns(line) && !doubts(answer)
    };
    let is_turned = before.is_some_and(|before| !is_leading(before, &[]) && !is_end(before));
    (!inside.contains("**") && !is_turned).then_some(inside)
}

/// All places of an answer that mark its value, in order.
pub(super) fn all(answer: &str) -> Vec<Spot<'_>> {
    let text = end(answer);
    let mut spots: Vec<Spot<'_>> = boxes(text).into_iter().chain(hashes(text)).chain(marks(text)).collect();
    spots.sort_by_key(|spot| (spot.start, spot.end));
    // Of a phrase before a box, and of two marks for one value, the inner one counts.
    let starts: Vec<usize> = spots.iter().map(|spot| spot.start).collect();
    let has_inner = |index: usize, spot: &Spot<'_>| {
        starts.iter().enumerate().any(|(other, start)| {
            other != index && (spot.start..spot.end.max(spot.start + 1)).contains(start) && other > index
        })
    };
    let inner = spots.iter().enumerate().filter(|(index, spot)| !has_inner(*index, spot));
    inner.map(|(_, spot)| spot.clone()).collect()
}

/// Whether a text has only introducing words, these (sorted) words, and numbers with their signs.
fn is_leading(text: &str, known: &[String]) -> bool {
    let is_number = |word: &str| !word.contains(char::is_alphabetic);
    words(text).all(|word| {
        is_number(&word) || LEADING.contains(&word.as_str()) || known.binary_search(&word).is_ok()
    })
}

/// Whether a text has only closing marks.
fn is_closing(text: &str) -> bool {
    let plain = text.replace("\\]", "").replace("\\)", "");
    let plain = POLITE.iter().fold(plain, |plain, polite| plain.replace(polite, ""));
    plain.chars().all(|one| one.is_whitespace() || CLOSING.contains(&one))
}

/// The contents of all `\boxed{…}`.
fn boxes(text: &str) -> Vec<Spot<'_>> {
    let found = text.match_indices("\\boxed{").map(|(at, open)| {
        let start = at + open.len();
        let inside = closed(&text[start..]);
        // The content of an unterminated box is unknown.
        let length = inside.map_or(text.len() - start, str::len);
        let after = &text[(start + length + 1).min(text.len())..];
        let line = after.lines().next().unwrap_or_default();
        let polite = POLITE.iter().filter_map(|polite| line.find(polite)).min();
        let beside = &line[..polite.unwrap_or(line.len())];
        let lead = lead(text, at);
        let is_plain = inside.is_some()
            && lead.is_some_and(|lead| !turns(conclusion(lead)) && leads_to_box(lead) && !is_changed(lead));
        let end = start + length;
        Spot {
            lead: lead.map_or("", conclusion),
            kind: SpotKind::Box,
            text: inside.unwrap_or_default(),
            beside,
            is_plain,
            behind: &after[beside.len()..],
            start,
            end,
        }
    });
    found.collect()
}

/// Lines that begin with `####`.
fn hashes(text: &str) -> Vec<Spot<'_>> {
    let found = text.match_indices("####").filter_map(|(at, open)| {
        let is_start = text[..at]
            .lines()
            .next_back()
            .is_none_or(|line| text[..at].ends_with('\n') || line.trim().is_empty());
        let start = at + open.len();
        let line = text[start..].lines().next().unwrap_or_default();
        let is_plain = line.len() <= LINE_BYTES_MAX && !line.starts_with('#');
        let end = start + line.len();
        is_start.then_some(Spot {
            lead: "",
            kind: SpotKind::Hashes,
            text: line.trim(),
            beside: "",
            is_plain,
            behind: &text[end..],
            start,
            end,
        })
    });
    found.collect()
}

/// The rest of the line after each mark, or the next line if the rest is empty.
fn marks(text: &str) -> Vec<Spot<'_>> {
    // Only ASCII is lowered, so that byte positions stay the same.
    let lower = text.to_ascii_lowercase();
    let mut spots = Vec::new();
    for mark in MARKS.iter().chain(FOREIGN_MARKS) {
        let is_english = MARKS.contains(mark);
        let found = lower.match_indices(mark).filter(|(at, _)| !is_english || is_owned(&text[..*at]));
        spots.extend(found.filter_map(|(at, mark)| spot(text, at, at + mark.len())));
    }
    spots
}

fn spot(text: &str, at: usize, start: usize) -> Option<Spot<'_>> {
    let lead = lead(text, at);
    let blanks = |text: &str| text.len() - text.trim_start_matches([':', '：', '、']).trim_start().len();
    let mut from = start + blanks(&text[start..]);
    // A blank follows the end of an emphasis, but not its beginning.
    let closes = ["**", "__", "*", "_"].into_iter().find(|close| {
        text[start..]
            .trim_start_matches([':', '：'])
            .strip_prefix(close)
            .is_some_and(|rest| rest.starts_with([':', ' ', '\n', '\r', '：']))
    });
    if let Some(close) = closes {
        from += close.len();
        from += blanks(&text[from..]);
    }
    let line = text[from..].lines().next()?;
    let end = from + line.len();
    let is_plain = line.len() <= LINE_BYTES_MAX && lead.is_some_and(|lead| !turns(conclusion(lead)));
    Some(Spot {
        lead: lead.map_or("", conclusion),
        kind: SpotKind::Mark,
        text: line.trim(),
        beside: "",
        is_plain,
        behind: &text[end..],
        start: from,
        end,
    })
}

/// Whether the text before `answer` makes it the final one.
fn is_owned(before: &str) -> bool {
    let line = before.lines().next_back().filter(|_| !before.ends_with('\n')).unwrap_or_default();
    let bare = line.trim_end_matches([' ', '*']);
    let word = bare
        .rsplit(|one: char| !(one.is_alphanumeric() || matches!(one, '\'' | '’')))
        .next()
        .unwrap_or_default();
    let is_whole = line.is_empty() || line.ends_with([' ', '*', '_', '#', '"', '>', ',', ':']);
    is_whole && (word.is_empty() || OWNERS.contains(&word.to_lowercase().as_str()))
}

/// The sentence before a place; `None` if its beginning is too far away.
fn lead(text: &str, at: usize) -> Option<&str> {
    let from = text.ceil_char_boundary(at.saturating_sub(LEAD_BYTES_MAX));
    let before = &text[from..at];
    let mut begin = None;
    for (index, one) in before.char_indices() {
        let behind = &text[from + index + one.len_utf8()..];
        let is_end = match one {
            '.' | '!' | '?' => behind.starts_with(char::is_whitespace),
            '。' | '！' | '？' | '।' => true,
            // A sentence may continue on the next line.
            '\n' => !behind.starts_with(|next: char| next.is_lowercase()),
            _ => false,
        };
        if is_end {
            begin = Some(index + one.len_utf8());
        }
    }
    let begin = begin.or_else(|| (from == 0 && text.len() < END_BYTES_MAX).then_some(0));
    // What was cut off may have begun the sentence.
    begin.or_else(|| before.ends_with('\n').then_some(before.len())).map(|begin| &before[begin..])
}

/// The conclusion of a sentence.
fn conclusion(lead: &str) -> &str {
    let lower = lead.to_ascii_lowercase();
    let begins = CONCLUDING.iter().flat_map(|word| lower.match_indices(word).map(|(at, _)| at));
    let is_begin = |at: &usize| {
        let before = lower[..*at].trim_end();
        before.is_empty() || before.ends_with([',', ';', ':', '-', '*'])
    };
    let lead = begins.filter(is_begin).max().map_or(lead, |at| &lead[at..]);
    lead.rsplit(['，', '、']).next().unwrap_or(lead)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares each stated answer: in parentheses if its sentence retracts it, with `…` if something follows it.
    fn check(answer: &str, expected: &[&str]) {
        let rendered = |spot: &Spot<'_>| {
            let text = if spot.is_plain { spot.text.to_owned() } else { format!("({})", spot.text) };
            if spot.is_last() { text } else { format!("{text}…") }
        };
        assert_eq!(all(answer).iter().map(rendered).collect::<Vec<_>>(), expected, "{answer}");
    }

    #[test]
    fn every_stated_answer_is_found_in_order() {
        check("We get $\\boxed{\\frac{1}{2}}$.\n\n**Answer:** 0.5", &["\\frac{1}{2}…", "0.5"]);
        check("Thus 6 * 7 = 42.\n#### 42", &["42"]);
        check("The answer is $\\boxed{8}$.", &["8"]);
        check("### Final Answer\n\n8 legs", &["8 legs"]);
        check("**Final answer:**\n\n B", &["B"]);
        check("The final answer is 8.", &["8."]);
        check("所以答案是：C", &["C"]);
        check("Ответ: B", &["B"]);
        check("Answer: 5\nWait, no.\nAnswer: 6", &["5…", "6"]);
        check("Much is to be said.\n\nFor one thing, costs.", &[]);
    }

    #[test]
    fn a_retracted_answer_is_marked() {
        check("I do not think the answer is 5", &["(5)"]);
        check("If so, the answer is 5", &["(5)"]);
        check("x is at least \\boxed{5}", &["(5)"]);
        check("x > \\boxed{5}", &["(5)"]);
        check("-\\boxed{5}", &["(5)"]);
        check("an open \\boxed{ 1", &["()"]);
        check("the square of \\boxed{5}", &["(5)"]);
        check("up to \\boxed{5}", &["(5)"]);
        check("1,\\boxed{5}", &["(5)"]);
        check("答案：not \\boxed{5}", &["(5)"]);
        check("It does not divide 9, so the answer is 5", &["5"]);
        check("Bob's answer is 5. A wrong answer: 6", &[]);
    }
}
