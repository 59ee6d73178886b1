//! The form of answer that a request prescribes: options, JSON, a box or a mark.

use super::option::{self, Choice};
use super::scope::{is_of_reply, without_ways};
use super::sentences::{REQUEST_BYTES_MAX, without_tagged, words};

/// The form a request prescribes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Prescribed {
    /// One of its options.
    Options(Vec<Choice>),
    /// A JSON object.
    Json,
    /// A `\boxed{}`.
    Box,
    /// What stands between a tag, such as `<answer>`, and its end.
    Tag(&'static str),
    /// The rest of a line behind this mark, in lower case: `####`, `answer:`.
    Mark(String),
}

/// Words that ask for JSON as the form of the reply, beside the word itself.
const JSON_WORDS: &[&str] = &[
    "format", "object", "field", "key", "keys", "respond", "reply", "return", "output", "as", "in", "valid",
];
/// Words that must stand before a mark, by which a request asks for one.
const MARK_WORDS: &[&str] = &[
    "end", "finish", "conclude", "begin", "start", "line", "form", "answer", "reply", "respond", "output",
    "verdict", "result",
];
/// Tags for an answer.
const TAGS: [&str; 3] = ["<answer>", "[answer]", "<final_answer>"];
/// The longest mark before its colon, in bytes.
const MARK_BYTES_MAX: usize = 30;

/// The form a request prescribes; `None` if it leaves the form open.
pub(super) fn of(request: &str) -> Option<Prescribed> {
    // Of a document with a question, the end.
    let request = &request[request.ceil_char_boundary(request.len().saturating_sub(REQUEST_BYTES_MAX))..];
    let options = option::listed(request);
    if !options.is_empty() {
        return Some(Prescribed::Options(options));
    }
    let lower = request.to_lowercase();
    let says_json =
        words(&lower).any(|word| word == "json") && words(&lower).any(|word| JSON_WORDS.contains(&word));
    if says_json || lower.contains("{\"") || lower.contains("{\n") && lower.contains("\":") {
        return Some(Prescribed::Json);
    }
    if lower.contains("\\boxed") {
        return Some(Prescribed::Box);
    }
    let is_asked = |tag: &&&str| {
        let close = format!("{}/{}", &tag[..1], &tag[1..]);
        lower.contains(**tag) && (lower.contains(&close) || lower.contains(&format!("{tag} tag")))
    };
    if let Some(tag) = TAGS.iter().find(is_asked) {
        return Some(Prescribed::Tag(tag));
    }
    if lower.contains("####") {
        return Some(Prescribed::Mark("####".to_owned()));
    }
    mark(&lower).map(|(mark, _)| Prescribed::Mark(mark))
}

/// What a form is for must be what the asking sentence asks for: the name of the mark, what stands in its placeholder, the keys of
/// the JSON, and the sentence with the box. `Which laptop? End with Answer: <price>` asks for a laptop.
pub(super) fn is_for_what_is_asked(form: &Prescribed, request: &str, asking: &str) -> bool {
    let (lower, asking) = (without_ways(&without_tagged(request.to_lowercase())), asking.to_lowercase());
    let asked: Vec<&str> = words(&asking).collect();
    let stem = |word: &str| word.strip_suffix('s').unwrap_or(word).to_owned();
    let is_asked = |word: &str| {
        is_of_reply(word)
            || word.bytes().all(|byte| byte.is_ascii_digit())
            || asked.iter().any(|own| stem(own) == stem(word))
    };
    let named = match form {
        Prescribed::Options(_) => return true,
        Prescribed::Json => keys(&lower),
        Prescribed::Box => sentences_with(&lower, "\\boxed"),
        Prescribed::Tag(tag) => sentences_with(&lower, tag),
        Prescribed::Mark(mark) => sentences_with(&lower, mark),
    };
    // `Who does the dishes? Answer: n`
    let is_person = matches!(asked.first(), Some(&("who" | "who's" | "whom" | "whose" | "where" | "why")));
    let is_number = mark(&lower).is_some_and(|(_, behind)| {
        behind.trim_start_matches(['<', '[']).starts_with(['n', 'x'])
            && !behind.trim_start_matches(['<', '[', 'n', 'x']).starts_with(char::is_alphanumeric)
            || behind.contains("<number>")
    });
    !(is_person && is_number)
        && named.into_iter().chain(placeholders(&lower)).all(|named| words(named).all(is_asked))
}

/// The keys that a request names, but for those of the reasoning: in a template, or in quotes in a sentence about keys.
fn keys(lower: &str) -> Vec<&str> {
    let quoted = |text: &'_ str| -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        let mut open = None;
        for (at, one) in text.char_indices().filter(|(_, one)| matches!(one, '"' | '`' | '\'')) {
            match open {
                Some((begin, mark)) if mark == one => {
                    found.push((begin, at));
                    open = None;
                }
                _ => open = Some((at + 1, one)),
            }
        }
        found
    };
    let is_reason = |key: &str| super::json::REASONS.contains(&super::json::plain(key).as_str());
    let mut found = Vec::new();
    for line in lower.split(['\n', '.']) {
        let is_about_keys =
            words(line).any(|word| matches!(word, "key" | "keys" | "field" | "fields" | "json" | "property"));
        for (begin, end) in quoted(line) {
            let key = &line[begin..end];
            let is_key = line[end + 1..].trim_start_matches(['"', '`', '\'']).trim_start().starts_with(':')
                || is_about_keys;
            let is_name = key.len() <= MARK_BYTES_MAX
                && key.chars().all(|one| one.is_alphanumeric() || "_- ".contains(one));
            if is_key && is_name && !key.is_empty() && !is_reason(key) {
                found.push(key);
            }
        }
    }
    found
}

/// Whether a request shows one JSON object with two members: the reasoning and the answer. All that it asks for then stands in one
/// of them.
pub(super) fn has_one_field(request: &str) -> bool {
    let lower = without_tagged(request.to_lowercase());
    let template = lower.rfind('{').and_then(|open| Some(lower[open + 1..].split_once('}')?.0));
    template.is_some_and(|template| {
        let is_reason = |piece: &&str| super::json::REASONS.contains(&super::json::plain(piece).as_str());
        let own: Vec<String> = keys(template).into_iter().map(super::json::plain).collect();
        template.split('"').filter(is_reason).count() == 1
            && matches!(&own[..], [only] if only == "answer" || only == "finalanswer")
    })
}

/// The sentences with this text.
fn sentences_with<'a>(lower: &'a str, text: &str) -> Vec<&'a str> {
    lower.split(['\n', '.', '?', '!']).filter(|sentence| sentence.contains(text)).collect()
}

/// The placeholders of a request: between angle brackets, and in brackets behind a colon.
fn placeholders<'a>(lower: &'a str) -> Vec<&'a str> {
    let near = |rest: &'a str| &rest[..rest.floor_char_boundary(MARK_BYTES_MAX)];
    let angled =
        lower.split('<').skip(1).filter_map(|rest| near(rest).split_once('>')).map(|(inside, _)| inside);
    let behind_mark =
        mark(lower).and_then(|(_, rest)| rest.strip_prefix('[')?.split_once(']')).map(|(inside, _)| inside);
    angled.filter(|inside| !inside.starts_with('/')).chain(behind_mark).collect()
}

/// The mark that a request (in lower case) asks for, such as `answer:`, and what stands behind it.
fn mark(lower: &str) -> Option<(String, &str)> {
    let asks_from = MARK_WORDS.iter().flat_map(|word| lower.match_indices(word)).map(|(at, _)| at).min()?;
    lower.match_indices(':').find_map(|(at, _)| {
        let before = &lower[lower.ceil_char_boundary(at.saturating_sub(2 * MARK_BYTES_MAX))..at];
        let line = &before[before.rfind(['\n', '.', '?', '!']).map_or(0, |end| end + 1)..];
        let behind = lower[at + 1..].trim_start_matches(['*', ' ']);
        let begin = line
            .rfind(['"', '\'', '`', '“', '*', '\n'])
            .map(|end| end + line[end..].chars().next().map_or(1, char::len_utf8));
        let quoted = begin.map(|begin| &line[begin..]);
        let last = line.rsplit(' ').next().unwrap_or(line);
        let last = if line.ends_with("final answer") { "final answer" } else { last };
        let is_placeholder = behind.starts_with(['<', '[', '{', '_', '…'])
            || behind.starts_with("...")
            || ["x", "n", "yes", "y"].iter().any(|word| {
                behind.strip_prefix(word).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
            });
        let is_quoted_end = behind.starts_with(['"', '\'', '`', '”']);
        let name = match quoted {
            Some(quoted) if is_placeholder || is_quoted_end => quoted,
            _ if is_placeholder => last,
            _ => return None,
        };
        let name = name.trim_matches(['*', ' ']);
        let is_name = !name.is_empty()
            && name.len() <= MARK_BYTES_MAX
            && name.chars().all(|one| one.is_alphanumeric() || " _-".contains(one));
        (is_name && asks_from < at).then(|| (format!("{name}:"), behind))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(request: &str, expected: Option<&str>) {
        let rendered = of(request).map(|form| match form {
            Prescribed::Options(options) => {
                options.iter().map(|(label, text)| format!("{label}={text};")).collect::<Vec<_>>().concat()
            }
            Prescribed::Json => "json".to_owned(),
            Prescribed::Box => "box".to_owned(),
            Prescribed::Tag(tag) => tag.to_owned(),
            Prescribed::Mark(mark) => mark,
        });
        assert_eq!(rendered.as_deref(), expected, "{request}");
    }

    #[test]
    fn a_prescribed_form_is_found() {
        check("Capital of France?\nA) Paris\nB) Rome\nC) Bern", Some("A=Paris;B=Rome;C=Bern;"));
        check("Which?\n- (a) one\n- (b) two", Some("A=one;B=two;"));
        check("Which?\nOptions: A. one\nB. two", Some("A=one;B=two;"));
        check("Which is it: (A) red, (B) green or (C) blue?", Some("A=red;B=green;C=blue;"));
        check("How many? Reply as JSON with the key `answer`.", Some("json"));
        check("How many?\n{\"answer\": \"___\"}", Some("json"));
        check("How many? Put the answer in \\boxed{}.", Some("box"));
        check("How many? End with #### and the number.", Some("####"));
        check("How many? End with Answer: <number>.", Some("answer:"));
        check("How many? Put it between <answer> and </answer>.", Some("<answer>"));
        check("How many? Give the number inside <answer> tags.", Some("<answer>"));
        check("How many? End with Result: <answer>", Some("result:"));
        check("How many? Use '#### <answer>' at the end.", Some("####"));
        check("How many? Finish with a line \"Result: N\".", Some("result:"));
        check("How many? The last line must begin with \"Final answer:\".", Some("final answer:"));
        check("Is it safe? End with `VERDICT: yes` or `VERDICT: no`.", Some("verdict:"));
        for none in [
            "How many legs has a spider?",
            "How do I parse this: a, b?",
            "Note: it rains. How much?",
            "A. is the first letter",
        ] {
            check(none, None);
        }
    }

    #[test]
    fn an_answer_beside_its_reasoning_is_one_field() {
        assert!(has_one_field("How fast? {\"reasoning\": \"___\", \"answer\": \"___\"}"));
        for form in [
            "{\"answer\": \"___\"}",
            "{\"reasoning\": \"___\", \"answer\": \"___\", \"price\": 1}",
            "{\"reasoning\": \"___\", \"recommendation\": \"___\"}",
            "{\"reasoning\": \"___\", \"answer\": {\"laptop\": \"\", \"price\": 1}}",
            "Reply as JSON.",
        ] {
            assert!(!has_one_field(form), "{form}");
        }
    }

    #[test]
    fn a_form_is_for_what_is_asked() {
        let check =
            |request: &str, asking: &str| is_for_what_is_asked(&of(request).unwrap(), request, asking);
        assert!(check("What is the price? End with Answer: <price>", "What is the price?"));
        assert!(check("How many legs? End with Answer: <number of legs>", "How many legs?"));
        assert!(check("How many legs? End with Answer: <number>", "How many legs?"));
        assert!(!check("Which laptop? End with Answer: <price>", "Which laptop?"));
        assert!(!check("Is it safe? End with Dose: <dose in mg>", "Is it safe?"));
        let lightest = "Which laptop is the lightest?";
        for form in [
            "End with a line \"Price: N\".",
            "Reply as JSON with the key `price`.",
            "Reply with JSON: {\"price\": 0}",
            "Put its price in \\boxed{}.",
            "End with #### and its price.",
        ] {
            assert!(!check(&format!("{lightest} {form}"), lightest), "{form}");
        }
        for form in [
            "End with a line \"Laptop: N\".",
            "Reply as JSON with the keys `reasoning` and `answer`.",
            "Put your final answer in \\boxed{}.",
            "End with #### and the answer.",
        ] {
            assert!(check(&format!("{lightest} {form}"), lightest), "{form}");
        }
    }
}
