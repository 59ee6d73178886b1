//! Where in its text an answer says what it comes to, the plainest place first.

/// An answer this short is nothing but what it comes to, in bytes.
const SHORT_BYTES_MAX: usize = 120;
/// How much of its end is looked at, in bytes: whoever comes to an answer does so at the end, and the run waits for this.
const END_BYTES_MAX: usize = 4_000;
/// How much of a line after a mark is looked at, in bytes.
const LINE_BYTES_MAX: usize = 300;

/// What stands before the answer, in lower case. The last one in a text counts.
const MARKS: &[&str] = &[
    "final answer",
    "the answer is",
    "correct answer",
    "correct option",
    "correct choice",
    "answer:",
    "answer**:",
    "answer is",
    "die antwort ist",
    "die antwort lautet",
    "antwort:",
    "antwort**:",
    "la réponse est",
    "réponse :",
    "réponse:",
    "la respuesta es",
    "respuesta:",
    "la risposta è",
    "risposta:",
    "a resposta é",
    "resposta:",
    "ответ:",
    "答案是",
    "答案为",
    "答案：",
    "答案:",
    "答えは",
    "答え：",
    "정답은",
    "정답:",
];

/// The places of an answer, the plainest first: a box, a line after `####`, what follows the last mark, a short text as a
/// whole, a last line that is one.
pub(super) fn all(answer: &str) -> Vec<&str> {
    let answer = answer.trim();
    let answer = &answer[answer.ceil_char_boundary(answer.len().saturating_sub(END_BYTES_MAX))..];
    let last = answer.lines().next_back().map(str::trim);
    let hashes = answer.lines().rev().find_map(|line| line.trim().strip_prefix("####"));
    let short = (answer.len() <= SHORT_BYTES_MAX && answer.lines().count() == 1).then_some(answer);
    let emphasised = last.filter(|line| line.starts_with("**") && line.ends_with("**"));
    [boxed(answer), hashes, marked(answer), short, emphasised].into_iter().flatten().collect()
}

/// What the last `\boxed{…}` holds.
fn boxed(answer: &str) -> Option<&str> {
    let (_, inside) = answer.rsplit_once("\\boxed{")?;
    let mut depth = 1;
    for (at, one) in inside.char_indices() {
        depth += match one {
            '{' => 1,
            '}' => -1,
            _ => 0,
        };
        if depth == 0 {
            return Some(&inside[..at]);
        }
    }
    None
}

/// The rest of the line after the last mark; the next line where nothing else stands on it.
fn marked(answer: &str) -> Option<&str> {
    let end = MARKS.iter().filter_map(|mark| last_end(answer, mark)).max()?;
    let mut lines =
        answer[end..].lines().map(|line| line.trim_matches(is_around)).filter(|line| !line.is_empty());
    let line = lines.next()?;
    Some(&line[..line.floor_char_boundary(LINE_BYTES_MAX)])
}

/// Where the last place ends at which a text has this mark, in any case.
fn last_end(answer: &str, mark: &str) -> Option<usize> {
    let is_mark = |found: &str| {
        found.eq_ignore_ascii_case(mark)
            || (!mark.is_ascii() && found.chars().flat_map(char::to_lowercase).eq(mark.chars()))
    };
    let ends = answer.char_indices().rev().map(|(at, _)| at);
    ends.filter_map(|at| answer.get(at..at + mark.len()).map(|found| (found, at + mark.len())))
        .find(|(found, _)| is_mark(found))
        .map(|(_, end)| end)
}

/// What may stand between a mark and what is meant.
fn is_around(one: char) -> bool {
    one.is_whitespace() || matches!(one, ':' | '：' | '*' | '_' | '`' | '$')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(answer: &str, expected: &[&str]) {
        assert_eq!(all(answer), expected, "{answer}");
    }

    #[test]
    fn the_plainest_place_comes_first() {
        check("We get $\\boxed{\\frac{1}{2}}$.\n\n**Answer:** 0.5", &["\\frac{1}{2}", "0.5"]);
        check("Thus 6 * 7 = 42.\n#### 42", &[" 42"]);
        check(
            "First I thought the answer is 5. No: the answer is **6**, because of rain.\nSo far.",
            &["6**, because of rain."],
        );
        check("**Final answer:**\n\n B", &["B"]);
        check("所以答案是：C", &["C", "所以答案是：C"]);
        check("Ответ: B", &["B", "Ответ: B"]);
        check("Paris.", &["Paris."]);
        check("It depends.\n\nOn much.\n\n**D**", &["**D**"]);
    }

    #[test]
    fn an_essay_has_no_such_place() {
        check("Much is to be said.\n\nFor one thing, costs.\n\nFor another, time.", &[]);
        check("", &[]);
        check("an open \\boxed{ 1", &["an open \\boxed{ 1"]);
    }
}
