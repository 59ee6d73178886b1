//! A value in the JSON of an answer, in the one way of writing it.
//!
//! Tolerant about where the JSON stands, exact about what it says: numbers are compared as they are written, not as floating
//! point. What always holds: the work is bounded by the length that is looked at.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::{number, word};
use crate::parse::{OBJECTS_MAX, objects};
use crate::pointer::Pointer;

/// The longest answer in which JSON is looked for, in bytes: as much as one at the default output cap has. The run waits for
/// this, and each brace may take the rest of the answer to read.
const JSON_BYTES_MAX: usize = 64 * 1024;
/// How deep a value may go on below the place that is pointed to. It is to be a short answer.
const DEPTH_MAX: usize = 8;
/// What stands before JSON in an answer that is formatted.
const FENCE: &str = "```json";

/// The value at this place, of the last JSON object in which there is such a place.
pub(super) fn at(answer: &str, pointer: &Pointer) -> Option<String> {
    let answer = Some(answer.trim()).filter(|answer| answer.len() <= JSON_BYTES_MAX)?;
    // Many braces of a derivation may stand before the one that counts.
    let tail = answer.rmatch_indices('{').take(OBJECTS_MAX).last().map_or("", |(start, _)| &answer[start..]);
    let value = last(documents(answer), pointer)
        .or_else(|| last(objects(answer), pointer))
        .or_else(|| last(objects(tail), pointer))?;
    if value.get().starts_with('"') {
        return word::word(&serde_json::from_str::<String>(value.get()).ok()?);
    }
    word::bounded(written(value, DEPTH_MAX)?)
}

/// The value at this place, of the last of these in which there is one.
fn last<'a>(documents: Vec<&'a RawValue>, pointer: &Pointer) -> Option<&'a RawValue> {
    documents.into_iter().rev().find_map(|document| found(document, pointer))
}

/// Everything in an answer that is JSON: the whole of it, else its objects.
fn documents(answer: &str) -> Vec<&RawValue> {
    let fenced = answer.rsplit_once(FENCE).map_or(answer, |(_, behind)| behind);
    let whole = fenced.trim().trim_end_matches("```");
    serde_json::from_str(whole).map_or_else(|_| objects(fenced), |whole| vec![whole])
}

fn found<'a>(document: &'a RawValue, pointer: &Pointer) -> Option<&'a RawValue> {
    pointer.names().try_fold(document, |value, name| match value.get().as_bytes().first()? {
        b'{' => serde_json::from_str::<BTreeMap<String, &RawValue>>(value.get()).ok()?.remove(&name),
        b'[' => {
            // `007` is no place in a list.
            let place = name.parse::<usize>().ok().filter(|place| place.to_string() == name)?;
            serde_json::from_str::<Vec<&RawValue>>(value.get()).ok()?.get(place).copied()
        }
        _ => None,
    })
}

/// A value in the one way of writing it: members by their names, texts as short answers are, numbers exactly.
fn written(value: &RawValue, depth: usize) -> Option<String> {
    let text = value.get();
    let text_of = |text: &str| serde_json::to_string(&word::plain(text)).ok();
    match text.as_bytes().first()? {
        b'{' | b'[' if depth == 0 => None,
        b'{' => {
            let members: BTreeMap<String, &RawValue> = serde_json::from_str(text).ok()?;
            let member = |(name, value): (&String, &&RawValue)| {
                Some(format!("{}:{}", text_of(name)?, written(value, depth - 1)?))
            };
            Some(format!("{{{}}}", members.iter().map(member).collect::<Option<Vec<_>>>()?.join(",")))
        }
        b'[' => {
            let items: Vec<&RawValue> = serde_json::from_str(text).ok()?;
            let items = items.into_iter().map(|item| written(item, depth - 1));
            Some(format!("[{}]", items.collect::<Option<Vec<_>>>()?.join(",")))
        }
        b'"' => text_of(&serde_json::from_str::<String>(text).ok()?),
        b't' | b'f' | b'n' => Some(text.to_owned()),
        _ => match number::all(text).as_deref() {
            Some([found]) => Some(found.number.to_string()),
            // Beyond what is compared exactly.
            _ => Some(text.to_lowercase()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pointer: &str, answer: &str, expected: Option<&str>) {
        let pointer = Pointer::parse(pointer).unwrap();
        assert_eq!(at(answer, &pointer).as_deref(), expected, "{pointer}: {answer}");
    }

    #[test]
    fn a_value_is_found_wherever_the_json_stands() {
        for answer in [
            r#"{"answer": "Paris"}"#,
            "```json\n{\"answer\": \"Paris\"}\n```",
            "It is {easy}: see [1].\n\n{\"answer\": \"PARIS.\"} I think.",
            "First {\"answer\": \"Rome\"}, no: {\"answer\": \"Paris\"}. See {\"source\": 1}.",
            "```json\n{\"answer\": \"Rome\"}\n```\nor rather\n```json\n{\"answer\": \"Paris\"}\n```\nSo {it} is.",
        ] {
            check("/answer", answer, Some("paris"));
        }
        let derivation = r"\frac{1}{2} ".repeat(64);
        check("/answer", &format!("{derivation}{{\"answer\": \"Paris\"}}"), Some("paris"));
        check("/answer", "{\"answer\": \"Paris\"} from\n```json\n{\"source\": 1}\n```", Some("paris"));
        check("/0/answer", r#"[{"answer": "Paris"}]"#, Some("paris"));
        check("", r#""Paris""#, Some("paris"));
        for answer in
            ["Paris", "", "{", r#"{"answer": "Paris""#, r#"{"Answer": "Paris"}"#, r#"{"answer": " "}"#, "[]"]
        {
            check("/answer", answer, None);
        }
        check("/answer", &format!("{}{{\"answer\": 1}}", " x".repeat(40_000)), None);
    }

    #[test]
    fn a_value_has_one_way_of_writing_it() {
        for (answer, value) in [
            ("42", "42"),
            ("42.0", "42"),
            ("4.20e1", "42"),
            ("\"42\"", "42"),
            ("-0", "0"),
            ("0.10", "0.1"),
            ("123456789012345678901", "123456789012345678901"),
            ("1E99", "1e99"),
            ("\"1.10\"", "1.10"),
            ("true", "true"),
            ("null", "null"),
            (r#"{"b": [1.0, "X."], "A": {}}"#, r#"{"a":{},"b":[1,"x"]}"#),
            (r#"["<b>`\u202e"]"#, r#"["<b>'"]"#),
        ] {
            check("/it", &format!(r#"{{"it": {answer}}}"#), Some(value));
        }
        let deep = |depth: usize| format!("{{\"it\": {}{}}}", "[".repeat(depth), "]".repeat(depth));
        check("/it", &deep(9), None);
        check("/it", &deep(8), Some("[[[[[[[[]]]]]]]]"));
        check("/it", &format!(r#"{{"it": "{}"}}"#, "x".repeat(301)), None);
        // The last that has the place counts, also where its value does not.
        check("/it", &format!(r#"{{"it": 1}} {{"it": "{}"}}"#, "x".repeat(301)), None);
    }

    #[test]
    fn a_place_in_a_list_is_a_number() {
        let list = r#"{"it": ["a", "b", {"c": "d"}]}"#;
        check("/it/1", list, Some("b"));
        check("/it/2/c", list, Some("d"));
        for none in ["/it/3", "/it/01", "/it/-", "/it/+1", "/it/1/0", "/it/x", "/it/"] {
            check(none, list, None);
        }
    }
}
