//! Reads the final number of prose without a marked answer, from its last sentence.
//!
//! The number stands after the last equals sign, or is the only one that the question lacks. Invariants: the sentence only
//! repeats the question, the text retracts nothing, and no other sentence gives another number in the same way. A sentence
//! with another word may mean something else by the same number.

use super::Value;
use super::asked::Asked;
use super::echo::NUMBER;
use super::number::{self, is_digit};
use super::spot;
use super::value::{is_sum, quantity};
use super::vocabulary::{AMOUNTS, ASKING, BEHIND, CAUSES, CONCLUDING, DRAWN, EACH, LEADING};
use super::words::{denies, doubts, turns, words};

/// The longest sentence that is read, in bytes.
const SENTENCE_BYTES_MAX: usize = 300;

/// The value of the last sentence, if no other sentence gives another one.
pub(super) fn last(answer: &str, asked: &Asked) -> Option<Value> {
    let text = spot::without_courtesy(spot::end(answer));
    // `5 pupils play` has all words of `how many pupils do not play` but one.
    if doubts(text) || denies(asked.sentence()) {
        return None;
    }
    let sentences: Vec<&str> = sentences(text).collect();
    let (last, before) = sentences.split_last()?;
    let lead = before.last().and_then(|lead| lead.trim_end_matches('*').strip_suffix([':', '：']));
    if lead.is_some_and(|lead| !is_label(lead, asked)) {
        return None;
    }
    let letter = defined(text, asked);
    let value = read(last, asked, letter)?;
    // `Sand: 6 buckets` is an intermediate step.
    let is_other = |sentence: &&str| {
        !sentence.contains('=')
            && !sentence.trim_start_matches('*').starts_with(|one: char| is_digit(one) || one == '$')
            && read(sentence, asked, letter).is_some_and(|other| other != value)
    };
    (!before.iter().any(is_other)).then_some(value)
}

/// The variable of the asked quantity: `Let x be the number of crates`.
fn defined(text: &str, asked: &Asked) -> Option<char> {
    let plain = plain(text);
    let (_, behind) = plain.split_once("Let ").or_else(|| plain.split_once("let "))?;
    let letter = behind.chars().next().filter(char::is_ascii_alphabetic)?;
    let meaning = behind[1..].strip_prefix(" be ").or_else(|| behind[1..].strip_prefix(" = "))?;
    let meaning = meaning.split(['.', ',', ';', '\n']).next()?;
    let meaning = meaning.strip_prefix("the number of ").unwrap_or(meaning);
    // A second variable is another quantity.
    let is_one = behind.matches(" be ").count() < 2;
    let is_whole =
        asked.echo.is_full(meaning) && !asked.is_part(meaning) && !asked.echo.is_cut_short(meaning);
    (is_one && is_whole && asked.echo.is_repeated_by(meaning)).then_some(letter)
}

/// The value of a sentence.
fn read(sentence: &str, asked: &Asked, letter: Option<char>) -> Option<Value> {
    let sentence = plain(sentence);
    // After a number, `!` is a factorial.
    let called = sentence.strip_suffix('!').filter(|called| called.ends_with(char::is_alphabetic));
    let sentence = called.or_else(|| sentence.strip_suffix(['.', '。', '।'])).unwrap_or(&sentence);
    let is_statement = !sentence.ends_with(['?', '？', '!', '！', ':', '.', '…']);
    if !is_statement || sentence.len() > SENTENCE_BYTES_MAX || turns(&without_asked(sentence, asked)) {
        return None;
    }
    // `5 in` are inches.
    let is_inch = sentence.split_whitespace().last() == Some("in");
    let (label, body) = labelled(sentence);
    if is_inch || !is_label(label, asked) || asked.is_part(sentence) || !asked.is_of(sentence) {
        return None;
    }
    let (before, clause) = last_clause(body);
    if !is_reason(before, clause, asked) {
        return None;
    }
    let bare = concluded(clause);
    match bare.rsplit_once('=') {
        Some((before, after)) => equation(Equation { before, after }, asked, letter),
        // `18/24 = 3/4, which is 75%`.
        None if clause.starts_with("which is ") && before.contains('=') => {
            let before = before.trim_end_matches([' ', ',']);
            equation(Equation { before, after: bare }, asked, letter)
        }
        // Items listed before may belong to it.
        None if !before.is_empty() && !asked.echo.is_touched(bare) && bare.is_ascii() => None,
        None => statement(label, bare, asked),
    }
}

/// A sentence without formatting.
fn plain(sentence: &str) -> String {
    let plain = without_reckoner(sentence).replace("**", "").replace("\\$", "\u{1}");
    // A number follows a currency sign, and may follow the sign that begins a formula.
    let is_formula = plain.matches('$').count().is_multiple_of(2)
        && plain.contains("$ ") | plain.ends_with('$') | plain.contains("$.");
    let plain = if is_formula { plain.replace('$', "") } else { plain };
    let signs = ["\\(", "\\)", "\\[", "\\]"];
    let plain = signs.iter().fold(plain, |plain, sign| plain.replace(sign, ""));
    plain
        .replace('\u{1}', "$")
        .replace("\\times", "×")
        .replace("\\cdot", "·")
        .replace("\\%", "%")
        .trim()
        .to_owned()
}

/// Removes calculator annotations such as `<<10-3=7>>`.
fn without_reckoner(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for (nth, piece) in text.split("<<").enumerate() {
        let (inside, rest) =
            if nth == 0 { ("", piece) } else { piece.split_once(">>").unwrap_or(("", piece)) };
        let is_one = inside.split('=').all(is_sum);
        plain.push_str(if nth == 0 || is_one { rest } else { piece });
    }
    plain
}

/// The sentences of a text; each line ends one. A part before a colon belongs to the part after it.
fn sentences(text: &str) -> impl DoubleEndedIterator<Item = &str> {
    let is_end = |one: char| matches!(one, '.' | '!' | '?' | ';' | '。' | '！' | '？' | '।');
    text.lines().flat_map(move |line| {
        let is_number = |end: usize| {
            line[..end - 1].trim_start().chars().all(|one| one.is_ascii_digit())
                && line[end..].starts_with(' ')
        };
        let mut ends: Vec<usize> = line
            .char_indices()
            .map(|(at, one)| (at + one.len_utf8(), one))
            .filter(|(end, one)| is_end(*one) && (!one.is_ascii() || line[*end..].starts_with([' ', '*'])))
            .filter(|(end, one)| *one != '.' || !is_number(*end))
            .map(|(end, _)| end)
            .collect();
        ends.push(line.len());
        let starts = [0].into_iter().chain(ends.clone());
        starts
            .zip(ends)
            .map(|(start, end)| line[start..end].trim())
            .filter(|one| !one.trim_matches('*').is_empty())
            .collect::<Vec<_>>()
    })
}

/// The parts before and after the last colon of a sentence. `12:15` has none.
fn labelled(sentence: &str) -> (&str, &str) {
    match sentence.rsplit_once('：').or_else(|| sentence.rsplit_once(": ")) {
        Some((label, body)) => (label, body.trim()),
        None => ("", sentence),
    }
}

/// Whether a text may stand before a colon: it names the asked quantity, or has only empty words.
fn is_label(label: &str, asked: &Asked) -> bool {
    let label = plain(label);
    let label = label.trim_start_matches(|one: char| {
        one.is_ascii_digit() || matches!(one, '.' | ')' | '-' | '*' | '#' | ' ')
    });
    is_leading(label) || (!turns(label) && !label.contains(is_digit) && asked.echo.is_repeated_by(label))
}

/// A sentence without the asking words of the question.
fn without_asked(sentence: &str, asked: &Asked) -> String {
    let is_asked = |word: &String| matches!(word.as_str(), "more" | "would" | "if") && asked.echo.has(word);
    words(sentence).filter(|word| !is_asked(word)).collect::<Vec<_>>().join(" ")
}

/// The last clause of a sentence, and the part before it.
fn last_clause(body: &str) -> (&str, &str) {
    let mut best = 0;
    for mark in [", ", "，", "、", "; "] {
        best = best.max(body.rfind(mark).map_or(0, |at| at + mark.len()));
    }
    // No mark stands between two clauses of Thai.
    best = best.max(body.rfind(" ดังนั้น").unwrap_or(0));
    for joint in [" and ", " und ", " et ", " y ", " и "] {
        let behind = body.rfind(joint).map(|at| at + joint.len());
        let is_sum = |at: &usize| {
            body[*at..].contains('=') && body[*at..].starts_with(|one: char| is_digit(one) || one == '$')
        };
        best = best.max(behind.filter(is_sum).unwrap_or(0));
    }
    (&body[..best], body[best..].trim())
}

/// Whether the part before a clause does not change it: a reason, calculations, or words of the question.
fn is_reason(before: &str, clause: &str, asked: &Asked) -> bool {
    let joints = ["and", "und", "et", "y", "и"];
    let is_between = |one: char| matches!(one, ' ' | ',' | ';' | '，' | '、');
    let before = before.trim_end_matches(is_between);
    let before =
        joints.iter().find_map(|joint| before.strip_suffix(&[" ", joint].concat())).unwrap_or(before);
    let before = before.trim_end_matches(is_between);
    let clause = clause.to_lowercase();
    let is_drawn =
        DRAWN.iter().any(|word| clause.starts_with(word)) || CAUSES.iter().any(|end| before.ends_with(end));
    if before.is_empty() || is_drawn || concluded(before).is_empty() {
        return true;
    }
    let lower = before.to_lowercase();
    let because = ["since ", "as ", "because "].iter().find(|word| lower.starts_with(**word));
    let reckoned = &before[because.map_or(0, |word| word.len())..];
    // A step has its own equals sign.
    let is_step = |part: &str| part.contains('=') && part.rsplit('=').next().is_some_and(is_amount);
    let is_reckoned = reckoned.split(['，', '、', ';']).flat_map(|part| part.split(", ")).all(is_step);
    let is_given = lower.starts_with("at ") && asked.repeats_rate(&lower) || asked.repeats_event(before);
    is_reckoned || is_given || !before.contains('=') && asked.echo.is_repeated_by(concluded(before))
}

/// A clause without its introductory words.
fn concluded(clause: &str) -> &str {
    let mut text = clause.trim_start();
    while let Some(behind) = CONCLUDING.iter().find_map(|word| behind_word(text, word)) {
        text = behind.trim_start_matches([',', '、', '，', ' ']);
    }
    text
}

/// The text after a word at its beginning. Some scripts have no blanks between words.
fn behind_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let (begin, behind) = text.split_at_checked(word.len())?;
    let is_whole = !behind.starts_with(char::is_alphanumeric) || word.chars().all(|one| one > '\u{e00}');
    (is_whole && begin.to_lowercase() == word).then_some(behind)
}

/// Whether a text is a calculation: numbers, each with a unit of up to two words, and signs between them.
fn is_reckoning(text: &str) -> bool {
    let is_sign = |one: char| matches!(one, '+' | '-' | '−' | '–' | '*' | '/' | '×' | '÷' | '·');
    let plain = text.replace("% of ", "×").replace("km/h", "km").replace("m/s", "m");
    is_sum(text) || plain.contains(is_sign) && plain.split(is_sign).all(is_amount)
}

/// Whether a text is a number with a unit of up to two words.
fn is_amount(text: &str) -> bool {
    let bare = text.trim().trim_matches(['(', ')', '$', '€', '£', ' ']);
    let Some((_, behind)) = number::leading(bare) else { return false };
    behind.split_whitespace().count() <= 3
        && behind.chars().all(|one| one.is_alphabetic() || " %$€".contains(one))
}

/// A clause around its last equals sign.
struct Equation<'a> {
    before: &'a str,
    after: &'a str,
}

/// The value of a chain of equations. Its first part names the quantity; the others are equal to it.
fn equation(Equation { before, after }: Equation<'_>, asked: &Asked, letter: Option<char>) -> Option<Value> {
    let mut parts = before.split('=');
    let head = parts.next().unwrap_or_default().trim();
    let is_chain = parts.clone().next().is_some();
    let quantity = if is_reckoning(head) {
        ""
    } else {
        let sum = trailing_sum(head);
        // `n - 1 = 5` does not give n, and `= x^2 + y^2 = 4` does not give 4.
        let is_cut = is_sum(sum) && begins_with_sign(sum) || head.is_empty() && !parts.all(is_reckoning);
        (!is_cut).then_some(())?;
        let last = head.rsplit(' ').next().unwrap_or_default();
        let is_variable = asked.is_variable(last) || letter.is_some_and(|letter| last.chars().eq([letter]));
        (is_chain || is_sum(sum) || is_variable).then_some(())?;
        head[..head.len() - if is_sum(sum) { sum.len() } else { usize::from(is_variable) }].trim()
    };
    let quantity = concluded(quantity);
    let is_known = is_leading(quantity) || is_template(quantity, "", asked);
    let is_compared = asked.echo.has("than")
        && !words([quantity, after].join(" ").as_str()).any(|word| asked.is_more(&word));
    if !is_known && (is_compared || !asked.echo.is_repeated_by(quantity)) {
        return None;
    }
    counted(after, asked)
        .filter(|_| is_leading(quantity) || !asked.echo.is_cut_short(&[quantity, after].join(" ")))
        .or_else(|| only(if is_known { "" } else { quantity }, after.trim(), asked))
}

/// Whether a calculation continues the part before it.
fn begins_with_sign(sum: &str) -> bool {
    let is_minus = sum.starts_with('-') || sum.trim_start().starts_with("- ");
    is_minus || sum.trim_start().starts_with(['+', '−', '–', '*', '/', '×', '÷', '·'])
}

/// Whether a text has only empty words: `adding these gives`.
fn is_leading(text: &str) -> bool {
    let is_plain =
        |word: String| LEADING.contains(&word.as_str()) || word.chars().all(|one| one.is_ascii_digit());
    words(text).all(is_plain)
}

/// The numbers and signs before an equals sign.
fn trailing_sum(before: &str) -> &str {
    let is_word = |one: char| one.is_alphabetic() && !matches!(one, 'x' | '×');
    let is_break = |(at, one): &(usize, char)| {
        is_word(*one) || matches!(one, ':' | '=') || *one == ',' && before[at + 1..].starts_with(' ')
    };
    let from = before.char_indices().rev().find(is_break);
    from.map_or(before, |(at, one)| &before[at + one.len_utf8()..])
}

/// The value of a clause without a calculation.
fn statement(label: &str, clause: &str, asked: &Asked) -> Option<Value> {
    if let Some(value) = templated(clause, asked) {
        return Some(value);
    }
    // The meaning of a number alone depends on the list or heading before it.
    let is_related = asked.echo.is_touched(clause)
        || asked.echo.is_touched(label)
        || (asked.echo.is_total() && !label.is_empty());
    // A comparison has the same words in either direction.
    if !is_related || asked.echo.has("than") {
        return None;
    }
    if label.is_empty() || !asked.echo.is_touched(label) {
        only("", clause, asked)
    } else {
        only(label, clause, asked)
    }
}

/// A number with the asked unit, followed by nothing else.
fn counted(text: &str, asked: &Asked) -> Option<Value> {
    match quantity(text, asked, false)? {
        value @ Value::Number(_, None) => Some(value),
        Value::Number(number, Some(unit)) if asked.is_measure(&unit) => {
            Some(Value::Number(number, Some(unit)))
        }
        _ => None,
    }
}

/// The only number of a clause that the question lacks, if the clause otherwise only repeats the question. `before_clause`
/// is the text before it.
fn only(before_clause: &str, clause: &str, asked: &Asked) -> Option<Value> {
    let (mut found, mut from): (Option<(usize, usize)>, usize) = (None, 0);
    while let Some(start) = clause[from..].find(is_digit).map(|at| from + at) {
        let (number, rest) = number::leading(&clause[start..])?;
        let end = clause.len() - rest.len();
        if !asked.echo.asks_with(number) && found.replace((start, end)).is_some() {
            return None;
        }
        from = end;
    }
    let (start, end) = found?;
    let start = clause[..start].trim_end_matches(['-', '−', '$', '€', '£', '¥', '₹']).len();
    let (before, behind) = (&clause[..start], &clause[end..]);
    let unit = leading_unit(behind, asked);
    let value = counted(&[&clause[start..end], unit].concat(), asked)?;
    let rest = &behind[unit.len()..];
    let next = words(rest).next().unwrap_or_default();
    let is_written = words(unit).last().is_none_or(|word| asked.echo.has(&word));
    // `12 eggs` for a question about dozens, and `12 egg cartons`.
    if !next.is_empty() && (unit.trim().is_empty() || !is_written) && !BEHIND.contains(&next.as_str()) {
        return None;
    }
    // `The time is 5` is an hour of the day, `the time is 5 hours` a duration.
    if unit.trim().is_empty() && words([before_clause, before].join(" ").as_str()).any(|word| word == "time")
    {
        return None;
    }
    let has_unit = !unit.trim().is_empty();
    let has_sign = clause[start..end].starts_with(['-', '−', '$', '€', '£', '¥', '₹']);
    if !asked.echo.leads_to(before, has_unit) || !can_be_asked(clause, before, asked) {
        return None;
    }
    if !has_unit && !names(before, has_sign, asked) {
        return None;
    }
    let is_rate = matches!(next.as_str(), "a" | "an") || EACH.contains(&next.as_str());
    if is_rate && !asked.is_rate(rest) {
        return None;
    }
    let is_apart = before.chars().next_back().is_none_or(char::is_whitespace)
        && rest.chars().next().is_none_or(|one| matches!(one, ' ' | ','))
        && !words(before).last().is_some_and(|word| EACH.contains(&word.as_str()));
    let is_whole = !asked.echo.is_cut_short(&[before_clause, clause].join(" "));
    (is_apart && is_whole && asked.echo.is_repeated_by(&[before_clause, before, NUMBER, rest].join(" ")))
        .then_some(value)
}

/// Whether the words before a number allow it to be the asked quantity: `mile 5` is one mile, and a present value is not a
/// future one.
fn can_be_asked(clause: &str, before: &str, asked: &Asked) -> bool {
    let is_age = asked.echo.has("old") || asked.echo.has("age");
    let is_missing = |verb: &&str| asked.echo.asks(verb) && !words(clause).any(|word| word == *verb);
    let is_another_time = is_age && ["will", "was", "were"].iter().any(is_missing);
    !is_another_time
        && !words(before).last().is_some_and(|word| word == "number" || asked.is_counted_by(&word))
}

/// Whether the words before a number without a unit tell its unit. `She is 17` gives an age, but `there are 8 in the class` may
/// count boys or pupils.
fn names(before: &str, has_sign: bool, asked: &Asked) -> bool {
    let all: Vec<String> = words(before).filter(|word| !matches!(word.as_str(), "now" | "still")).collect();
    if all.first().is_some_and(|word| word == "there") && !asked.echo.asks_what_is_left() {
        return false;
    }
    let is_verb = all.last().is_some_and(|verb| matches!(verb.as_str(), "is" | "are"));
    let is_amount =
        has_sign && all.iter().rev().nth(1).is_some_and(|subject| AMOUNTS.contains(&subject.as_str()));
    let is_named = ["is", "are", "was", "were"].iter().any(|verb| asked.echo.has(verb));
    // `The number of apples left is 7`.
    let is_number = all.windows(2).any(|two| two[0] == "number" && two[1] == "of");
    is_named || is_amount || is_number || !is_verb
}

/// The unit in the text after a number: the words up to the first that does not belong to the asked unit.
fn leading_unit<'a>(behind: &'a str, asked: &Asked) -> &'a str {
    let blanks = behind.char_indices().filter(|(_, one)| one.is_whitespace()).map(|(at, _)| at);
    let is_asked = |end: &usize| {
        let unit = behind[..*end].trim();
        !unit.is_empty()
            && asked.unit("", unit).is_some_and(|unit| unit.is_empty() || asked.is_measure(&unit))
    };
    let end = blanks.chain([behind.len()]).take(4).filter(is_asked).last().unwrap_or(0);
    if end == 0 && behind.starts_with('%') { &behind[..1] } else { &behind[..end] }
}

/// The value of a clause that is the question with a number in place of the asking word, in a script without blanks.
fn templated(clause: &str, asked: &Asked) -> Option<Value> {
    let start = clause.find(is_digit)?;
    let (_, behind) = number::leading(&clause[start..])?;
    let end = clause.len() - behind.len();
    if behind.contains(is_digit) || !is_template(&clause[..start], behind, asked) {
        return None;
    }
    let value = quantity(&clause[start..end], asked, false)?;
    counted(&clause[start..], asked).or(Some(value))
}

/// Whether a question has these texts around its asking word. A beginning of the text before it and an end of the text after it
/// may be missing.
fn is_template(before: &str, behind: &str, asked: &Asked) -> bool {
    let bare = |text: &str| text.chars().filter(|one| !one.is_whitespace()).collect::<String>();
    let (before, behind) = (bare(concluded(before)), bare(behind));
    let behind = ["です", "ます"].iter().find_map(|end| behind.strip_suffix(end)).unwrap_or(&behind);
    let question = bare(asked.sentence().trim_end_matches(['?', '？', '。', ' ']));
    let Some((lead, tail)) = ASKING.iter().find_map(|word| question.split_once(word)) else { return false };
    // A comparison has the same words in either direction.
    let is_compared = ["比", "より", "보다"].iter().any(|than| question.contains(than));
    let is_begun = (!before.is_empty() || !lead.is_ascii()) && (!is_compared || lead == before);
    is_begun
        && lead.ends_with(&before)
        && (tail.starts_with(behind)
            || asked.unit("", behind).is_some_and(|unit| unit.is_empty() || asked.is_measure(&unit)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARKET: &str =
        "Janet sells 9 eggs at $2 each. How much in dollars does she make every day at the farmers' market?";
    const SPIDER: &str = "How many legs has a spider?";

    fn check(question: &str, answer: &str, expected: Option<&str>) {
        let sentence = question.rsplit_once(". ").map_or(question, |(_, last)| last);
        let value = last(answer, &Asked::of(sentence, question)).map(|value| value.to_string());
        assert_eq!(value.as_deref(), expected, "{answer}");
    }

    #[test]
    fn the_last_sentence_answers_in_the_words_of_the_question() {
        for answer in [
            "She sells 9 eggs.\nTherefore, Janet makes $18 every day at the farmers' market.",
            "Janet makes 9 * $2 = $18 every day.",
            "So 9 x 2 = 18 dollars per day.",
        ] {
            check(MARKET, answer, Some("18"));
        }
        check(SPIDER, "A spider has 8 legs.", Some("8"));
        check(SPIDER, "4 pairs, so 4 * 2 = 8", Some("8"));
    }

    #[test]
    fn a_sentence_about_something_else_has_no_answer() {
        for answer in [
            "A spider has 8 eyes.",
            "A spider does not have 8 legs.",
            "A spider never has 8 legs.",
            "A spider has at least 8 legs.",
            "A spider has 8 or 9 legs.",
            "A spider has 8 million legs.",
            "An insect has 8 legs.",
            "Has a spider 8 legs?",
            "Spiders are said to have 8 legs.",
            "A spider has 2 * 4 = 8 eyes.",
            "x > 3, x = 8 or so",
            "A spider has 8. legs",
            "Go ahead with option 1",
            "Wrong: a spider has 8 legs.",
            "A spider has 8 legs.\nWait, no.\nA spider has 8 legs.",
        ] {
            check(SPIDER, answer, None);
        }
        let others = "20 pupils are there. How many pupils do not play?";
        for answer in ["5 pupils play.", "So 20 - 15 = 5 pupils play."] {
            check(others, answer, None);
        }
        let change = "Bread was $3. By how much did the price change?";
        for answer in ["The price changed to $5.", "The price changed from $5.", "The price is $5."] {
            check(change, answer, None);
        }
        check(change, "The price changed by $5.", Some("5"));
        for answer in [
            "She makes $18 every week.",
            "She makes 18 euros every day.",
            "Bob makes $18 every day.",
            "She makes $18 to $20.",
            "She makes $18.",
        ] {
            check(MARKET, answer, None);
        }
    }
}
