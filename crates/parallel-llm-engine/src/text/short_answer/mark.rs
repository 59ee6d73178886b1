//! Finds the place in a reply that a prescribed form marks as the answer.
//!
//! Invariant: two marks with two answers, or anything behind the last one, and there is none.

use super::asked::is_magnitude;
use super::literal::unwrapped;
use super::sentences::words;
use super::word_set::WordSet;

/// The longest line that is read, in bytes: as long as the longest option with its label.
const LINE_BYTES_MAX: usize = 1_200;
/// The end of a reply that is searched, in bytes: a reply ends with its answer.
const END_BYTES_MAX: usize = 64 * 1024;
/// Marks without a meaning around an answer.
const CLOSING: &[char] = &['*', '_', '`', '$', '.', '。', '"', '”', '\\', ']', ')', ' ', '\n', '\r'];
/// Words that may stand before `answer is`.
static LEADS: WordSet =
    WordSet::of("so thus therefore hence the final correct best my right and in conclusion");
/// Words that may stand right before a box: they say that it is the value.
static BOX_LEADS: WordSet = WordSet::of(
    "answer is are was be equals equal get have find obtain gives give yields so thus hence \
     therefore which namely becomes conclude result value i.e result: answer: then",
);
/// Words that turn what a sentence says into something else.
static DOUBTS: WordSet = WordSet::of(
    "not never no nor neither none isn't aren't wasn't doesn't don't can't cannot wrong incorrect \
     mistaken instead approximately about roughly around nearly almost least most than between or either but except \
     twice half double minus nicht kein keine statt pas ne non nunca jamás",
);
/// Words that make the whole sentence depend on something.
static CONDITIONS: WordSet =
    WordSet::of("unless if suppose assume assuming would could might may perhaps maybe probably possibly");
/// Signs that make a chain of equations something else.
const UNEQUAL: [&str; 17] = [
    "<", ">", "≠", "≈", "±", "¬", "~", "≤", "≥", "\\ne", "\\le", "\\ge", "\\lt", "\\gt", "\\approx", "\\pm",
    "\\sim",
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
    // `There are \boxed{4} such primes.`
    let rest = text[end..].trim_matches(CLOSING);
    let is_asked = |word: &str| {
        matches!(word, "such" | "in" | "total" | "altogether")
            || words(&asking).any(|own| own == word) && !is_magnitude(word)
    };
    let is_only_named = rest.chars().all(|one| one.is_ascii_alphabetic() || one == ' ')
        && words(&rest.to_lowercase()).all(is_asked);
    is_only_named.then_some(inside)
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

/// Whether what stands before a box in its line says that it is the value, or is an equation whose left side is asked for.
fn leads(before: &str, asking: &str) -> bool {
    let line = before.lines().next_back().filter(|_| !before.ends_with('\n')).unwrap_or_default();
    let sentence = line.rsplit(['!', '?', ';']).next().unwrap_or(line);
    let sentence = sentence.rsplit(". ").next().unwrap_or(sentence).to_lowercase();
    let bare = sentence.trim_end_matches(['$', '(', '[', '\\', ' ', '*', '_', ',', ':', '：']);
    // A clause of its own that only leads to the box says nothing: `, hence`.
    let clause = bare.rsplit(',').find(|clause| !words(clause).all(|word| BOX_LEADS.has(word)));
    let is_turned = words(clause.unwrap_or(bare)).any(|word| DOUBTS.has(word))
        || words(bare).any(|word| CONDITIONS.has(word));
    if is_turned {
        return false;
    }
    if let Some(chain) = bare.strip_suffix('=') {
        // It begins behind the last sign of maths or comma.
        let chain = chain.rsplit(['$', ',', ':']).next().unwrap_or(chain);
        let chain = chain.rsplit("\\(").next().unwrap_or(chain).rsplit("\\[").next().unwrap_or(chain);
        let chain = chain.trim_start_matches(['&', ' ']);
        return !UNEQUAL.iter().any(|sign| chain.contains(sign))
            && !chain.ends_with('!')
            && is_asked_for(chain.split('=').next().unwrap_or(chain).trim(), asking);
    }
    let is_apart = sentence.trim_end_matches(['$', '[', '\\', ' ', '*']).ends_with([':', ',', '：']);
    let last = bare.rsplit([' ', '*', '_']).next().unwrap_or(bare);
    let is_known = |word| BOX_LEADS.has(word) || LEADS.has(word) || words(asking).any(|own| own == word);
    bare.is_empty()
        || BOX_LEADS.has(last)
        || bare.ends_with(|one: char| one.is_alphabetic() || ")\"'”’".contains(one))
            && (is_apart || words(bare).all(is_known))
}

/// Whether the left side of an equation is what is asked for: numbers alone, words that say so, one variable, which the asking
/// sentence names if it names any, or what it has in its words. `x + 1 = \boxed{5}` says that `x` is 4.
fn is_asked_for(left: &str, asking: &str) -> bool {
    let is_term = |word: &&str| {
        word.len() == 1 && word.bytes().all(|byte| byte.is_ascii_alphabetic() && !matches!(byte, b'a' | b'i'))
    };
    let pressed = |text: &str| text.replace([' ', '$', '*'], "");
    let is_number = !without_commands(left).contains(char::is_alphabetic);
    let is_written = left.len() > 1
        && pressed(asking).contains(&pressed(left))
        && left.contains(['(', '^', '+', '*', '-', '/']);
    let own: Vec<&str> = words(left).collect();
    let variable = own.last().filter(|last| is_term(last));
    let is_led = own[..own.len() - usize::from(variable.is_some())].iter().all(|word| {
        LEADS.has(word) || BOX_LEADS.has(word) || words(asking).any(|own| own == *word) && !is_term(word)
    });
    let has_sign = left.contains(['+', '-', '−', '*', '/', '·', '×', '(', '^', '_', '\\', '|'])
        || left.contains(|one: char| one.is_numeric());
    let mut asked = words(asking).filter(is_term).peekable();
    let is_variable = variable.is_none_or(|own| asked.peek().is_none() || asked.any(|term| term == *own));
    is_number || is_written || !has_sign && is_led && is_variable
}

/// A formula without the names of its commands.
fn without_commands(formula: &str) -> String {
    let mut pieces = formula.split('\\');
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |plain, piece| plain + piece.trim_start_matches(|one: char| one.is_ascii_alphabetic()))
}

/// The content of the tag that ends a reply, if all tags of this name have the same. `name` has the brackets around it.
pub(super) fn tagged<'a>(reply: &'a str, name: &str) -> Option<&'a str> {
    let text = end(reply);
    let lower = text.to_ascii_lowercase();
    let close = format!("{}/{}", &name[..1], &name[1..]);
    let (mut found, mut at) = (None, 0);
    while let Some(open) = lower[at..].find(name) {
        let begin = at + open + name.len();
        let length = lower[begin..].find(&close)?;
        let inside = text[begin..begin + length].trim();
        if found.is_some_and(|other| other != inside) {
            return None;
        }
        (found, at) = (Some(inside), begin + length + close.len());
    }
    found.filter(|_| text[at..].trim_matches(CLOSING).is_empty())
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
    // `20 m, so the answer is` leads as `so the answer is` does.
    let clause = sentence.rsplit(',').next().unwrap_or(sentence);
    let is_plain = words(clause).all(|word| LEADS.has(word))
        && !words(sentence).any(|word| CONDITIONS.has(word) || DOUBTS.has(word));
    let behind = line[at + phrase.len()..].trim_matches([':', ' ', '*']);
    // `The correct answer is:` leads to the next line.
    (is_plain && !behind.is_empty()).then_some(behind)
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
            ("So x = y = \\boxed{5}", Some("5")),
            ("There are 2, hence $$\\boxed{5}$$", Some("5")),
            ("Not 6, so it is \\boxed{5}", Some("5")),
            ("If it rains, \\boxed{5}", None),
            ("Twice that: \\boxed{5}", None),
            ("There is \\boxed{5} in it.", Some("5")),
            ("\\boxed{5} million", None),
            ("\\boxed{5} at most", None),
            ("$2x = \\frac{10}{1} = \\boxed{10}$", None),
            ("$d = \\sqrt{9 \\cdot 2} = \\boxed{3\\sqrt{2}}$", Some("3\\sqrt{2}")),
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
    fn a_tag_is_the_last_thing_a_reply_says() {
        for (reply, expected) in [
            ("So <answer> -D </answer>", Some("-D")),
            ("<Answer>5</ANSWER>\n<answer>5</answer>.", Some("5")),
            ("<answer>5</answer> <answer>6</answer>", None),
            ("<answer>5</answer> or 6", None),
            ("<answer>5", None),
            ("5", None),
        ] {
            assert_eq!(tagged(reply, "<answer>"), expected, "{reply}");
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
