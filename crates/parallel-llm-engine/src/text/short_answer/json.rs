//! Reads the value in the JSON of an answer: at a pointer, or under a key such as `answer`.
//!
//! The JSON may stand anywhere in the text, but its value is compared exactly: numbers as decimals, not as floats, and texts
//! letter by letter. The work is bounded by the length that is searched.

use std::fmt;
use std::ops::Range;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::{Value, literal, number};
use crate::text::json::{self, Document};
use crate::text::json_pointer::Pointer;

/// The longest answer in which JSON is looked for, in bytes: as much as one at the default output cap has. The run waits for
/// this, and each brace may take the rest of the answer to read.
const JSON_BYTES_MAX: usize = 64 * 1024;
/// The deepest nesting of a value, which should be a short answer.
const DEPTH_MAX: usize = 8;
/// Beginnings of formatted JSON in an answer.
const FENCE: &str = "```json";

/// Keys of the final value, without separators between their words.
const ANSWERS: &[&str] = &[
    "answer",
    "finalanswer",
    "result",
    "finalresult",
    "output",
    "prediction",
    "choice",
    "correctanswer",
    "value",
];
/// Keys of the reasoning.
pub(super) const REASONS: &[&str] = &[
    "reasoning",
    "explanation",
    "rationale",
    "thought",
    "thoughts",
    "thinking",
    "analysis",
    "stepbystep",
    "chainofthought",
    "cot",
    "justification",
    "scratchpad",
];

/// A JSON value by its type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Typed {
    Text(String),
    /// As written.
    Number(String),
    Truth(bool),
    /// In normal form.
    Other(String),
}

/// The members of an object in order, including duplicates.
struct Members<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<From: Deserializer<'de>>(from: From) -> Result<Self, From::Error> {
        struct All;
        impl<'de> Visitor<'de> for All {
            type Value = Members<'de>;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("an object")
            }

            fn visit_map<Map: MapAccess<'de>>(self, mut map: Map) -> Result<Members<'de>, Map::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        from.deserialize_map(All)
    }
}

/// The value of the last object of an answer, which must end the answer. `None` if there is none, or another object has another
/// value. Where the last one has an answer, one without is an example or a piece of a program.
pub(super) fn field(answer: &str) -> Option<Typed> {
    let answer = Some(answer.trim()).filter(|answer| answer.len() <= JSON_BYTES_MAX)?;
    let all: Vec<Document<'_>> = json::objects(answer).collect();
    let has_answers = has_answer(&all.last()?.json);
    let found: Vec<(Range<usize>, Typed)> = all
        .iter()
        .filter(|object| !has_answers || has_answer(&object.json))
        .map(|object| Some((object.range.clone(), final_value(&object.json)?)))
        .collect::<Option<_>>()?;
    let (last, value) = found.last()?;
    let is_last = answer[last.end..].trim_matches(['`', '\n', ' ', '\r', '*']).is_empty();
    let are_one = found.iter().all(|(_, other)| other == value);
    (is_last && are_one).then(|| value.clone())
}

/// Whether an object has the key of an answer, however deep.
fn has_answer(object: &str) -> bool {
    object.split('"').any(|piece| ANSWERS.contains(&plain(piece).as_str()))
}

/// A key in lower case, without separators between its words.
pub(super) fn plain(key: &str) -> String {
    key.replace(['_', '-', ' '], "").to_lowercase()
}

/// The value of an object: that of its answer if it has nothing else but reasoning, otherwise all its members but the reasoning.
fn final_value(object: &str) -> Option<Typed> {
    let Members(members) = serde_json::from_str(object).ok()?;
    let rest: Vec<&(String, &RawValue)> =
        members.iter().filter(|(own, _)| !REASONS.contains(&plain(own).as_str())).collect();
    if let [(own, value)] = rest[..]
        && ANSWERS.contains(&plain(own).as_str())
    {
        return typed(value, Numbers::AsWritten);
    }
    let written = members_written(
        rest.into_iter().map(|(name, value)| (name.as_str(), *value)).collect(),
        DEPTH_MAX,
        Numbers::AsWritten,
    );
    written.filter(|written| written != "{}").map(Typed::Other)
}

/// The normal form of a reply that is one JSON object, alone or between fences.
pub(super) fn whole(reply: &str) -> Option<String> {
    let inside = reply.strip_prefix("```").and_then(|inside| inside.strip_suffix("```"));
    let inside = inside.map_or(reply, |inside| inside.strip_prefix("json").unwrap_or(inside)).trim();
    let is_object = inside.len() <= JSON_BYTES_MAX && inside.starts_with('{');
    let document = json::whole(inside).filter(|_| is_object)?;
    written(serde_json::from_str(&document.json).ok()?, DEPTH_MAX, Numbers::AsWritten)
}

/// How numbers within a value are compared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Numbers {
    /// `1.0` is `1`.
    Exactly,
    /// As program output: `1.0` differs from `1`.
    AsWritten,
}

/// A JSON value by its type; `None` for null.
fn typed(value: &RawValue, numbers: Numbers) -> Option<Typed> {
    let text = value.get();
    match text.as_bytes().first()? {
        b'"' => serde_json::from_str(text).ok().map(Typed::Text),
        b't' | b'f' => Some(Typed::Truth(text == "true")),
        b'n' => None,
        b'{' | b'[' => written(value, DEPTH_MAX, numbers).map(Typed::Other),
        _ => Some(Typed::Number(text.to_owned())),
    }
}

/// The value at a pointer in the last JSON object that has it.
pub(super) fn at(answer: &str, pointer: &Pointer) -> Option<Value> {
    let answer = Some(answer.trim()).filter(|answer| answer.len() <= JSON_BYTES_MAX)?;
    let fenced = answer.rsplit_once(FENCE).map_or(answer, |(_, behind)| behind);
    let whole = json::whole(fenced.trim().trim_end_matches("```"));
    let nearest: Vec<Document<'_>> =
        whole.map_or_else(|| json::objects(fenced).collect(), |whole| vec![whole]);
    of_documents(&nearest, pointer).or_else(|| {
        let all: Vec<Document<'_>> = json::objects(answer).collect();
        of_documents(&all, pointer)
    })
}

/// The value at a pointer in the last of these documents that has it.
fn of_documents(documents: &[Document<'_>], pointer: &Pointer) -> Option<Value> {
    let value = documents.iter().rev().find_map(|document| found(&document.json, pointer))?;
    match typed(value, Numbers::Exactly) {
        Some(Typed::Text(text)) => of_text(&text),
        Some(Typed::Number(digits)) => Some(match number::leading(&digits) {
            Some((number, "")) => Value::Number(number),
            // Beyond what is compared exactly.
            _ => Value::Json(literal::exact(&digits)?),
        }),
        Some(Typed::Truth(truth)) => Some(Value::Json(truth.to_string())),
        Some(Typed::Other(written)) => literal::exact(&written).map(Value::Json),
        None => (value.get() == "null").then(|| Value::Json("null".to_owned())),
    }
}

/// A text at a pointer: a number if it is written as one, with or without a currency sign, else a literal. `1.10` may be a
/// version and `3/4` a date.
fn of_text(text: &str) -> Option<Value> {
    let exact = literal::exact(text)?;
    let digits = exact.strip_prefix('$').unwrap_or(&exact);
    let is_plain = digits.chars().all(|one| one.is_ascii_digit() || matches!(one, ',' | '.' | '-' | '−'));
    let is_version = digits.len() == exact.len() && digits.contains('.') && digits.ends_with('0');
    Some(match number::leading(digits) {
        Some((number, "")) if is_plain && !is_version => Value::Number(number),
        _ => Value::Literal(exact),
    })
}

fn found<'a>(document: &'a str, pointer: &Pointer) -> Option<&'a RawValue> {
    let document: &RawValue = serde_json::from_str(document).ok()?;
    pointer.names().try_fold(document, |value, name| match value.get().as_bytes().first()? {
        b'{' => {
            let Members(members) = serde_json::from_str(value.get()).ok()?;
            let mut named = members.into_iter().filter(|(own, _)| *own == name);
            // A duplicate key is ambiguous.
            let only = named.next().filter(|_| named.next().is_none());
            only.map(|(_, value)| value)
        }
        b'[' => {
            // `007` is no array index.
            let place = name.parse::<usize>().ok().filter(|place| place.to_string() == name)?;
            serde_json::from_str::<Vec<&RawValue>>(value.get()).ok()?.get(place).copied()
        }
        _ => None,
    })
}

/// The normal form of an object with these members; `None` if two have one name.
fn members_written(mut members: Vec<(&str, &RawValue)>, depth: usize, numbers: Numbers) -> Option<String> {
    members.sort_by_key(|(name, _)| *name);
    if members.windows(2).any(|two| two[0].0 == two[1].0) {
        return None;
    }
    let member = |(name, value): &(&str, &RawValue)| {
        Some(format!("{}:{}", text_of(name)?, written(value, depth, numbers)?))
    };
    Some(format!("{{{}}}", members.iter().map(member).collect::<Option<Vec<_>>>()?.join(",")))
}

fn text_of(text: &str) -> Option<String> {
    serde_json::to_string(text).ok()
}

/// The normal form of a value: members sorted by key, texts unchanged, numbers exact.
fn written(value: &RawValue, depth: usize, numbers: Numbers) -> Option<String> {
    let text = value.get();
    match text.as_bytes().first()? {
        b'{' | b'[' if depth == 0 => None,
        b'{' => {
            let Members(members) = serde_json::from_str(text).ok()?;
            let members = members.iter().map(|(name, value)| (name.as_str(), *value)).collect();
            members_written(members, depth - 1, numbers)
        }
        b'[' => {
            let items: Vec<&RawValue> = serde_json::from_str(text).ok()?;
            let items = items.into_iter().map(|item| written(item, depth - 1, numbers));
            Some(format!("[{}]", items.collect::<Option<Vec<_>>>()?.join(",")))
        }
        b'"' => text_of(&serde_json::from_str::<String>(text).ok()?),
        b't' | b'f' | b'n' => Some(text.to_owned()),
        _ => match number::leading(text) {
            Some((number, "")) if numbers == Numbers::Exactly => Some(number.to_string()),
            // Beyond what is compared exactly.
            _ => Some(text.to_owned()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pointer: &str, answer: &str, expected: Option<&str>) {
        let pointer = Pointer::parse(pointer).unwrap();
        assert_eq!(
            at(answer, &pointer).map(|value| value.to_string()).as_deref(),
            expected,
            "{pointer}: {answer}"
        );
    }

    #[test]
    fn a_value_is_found_wherever_the_json_is() {
        for answer in [
            r#"{"answer": "Paris"}"#,
            "```json\n{\"answer\": \"Paris\"}\n```",
            "It is {easy}: see [1].\n\n{\"answer\": \"Paris\"} I think.",
            "First {\"answer\": \"Rome\"}, no: {\"answer\": \"Paris\"}. See {\"source\": 1}.",
            "```json\n{\"answer\": \"Rome\"}\n```\nor rather\n```json\n{\"answer\": \"Paris\"}\n```\nSo {it} is.",
        ] {
            check("/answer", answer, Some("Paris"));
        }
        let derivation = r"\frac{1}{2} ".repeat(64);
        check("/answer", &format!("{derivation}{{\"answer\": \"Paris\"}}"), Some("Paris"));
        check("/answer", "{\"answer\": \"Paris\"} from\n```json\n{\"source\": 1}\n```", Some("Paris"));
        check("/0/answer", r#"[{"answer": "Paris"}]"#, Some("Paris"));
        check("", r#""Paris""#, Some("Paris"));
        for answer in
            ["Paris", "", "{", r#"{"answer": "Paris""#, r#"{"Answer": "Paris"}"#, r#"{"answer": " "}"#, "[]"]
        {
            check("/answer", answer, None);
        }
        check("/answer", &format!("{}{{\"answer\": 1}}", " x".repeat(40_000)), None);
    }

    #[test]
    fn a_value_has_one_canonical_form() {
        for (answer, value) in [
            ("42", "42"),
            ("42.0", "42"),
            ("4.20e1", "42"),
            ("\"42\"", "42"),
            ("\"$20,000\"", "20000"),
            ("-0", "0"),
            ("0.10", "0.1"),
            ("123456789012345678901", "123456789012345678901"),
            ("1E99", "1E99"),
            ("\"1.10\"", "1.10"),
            ("\"3/4\"", "3/4"),
            ("\"PARIS.\"", "PARIS."),
            ("true", "true"),
            ("null", "null"),
            (r#"{"b": [1.0, "X."], "A": {}}"#, r#"{"A":{},"b":[1,"X."]}"#),
        ] {
            check("/it", &format!(r#"{{"it": {answer}}}"#), Some(value));
        }
        let deep = |depth: usize| format!("{{\"it\": {}{}}}", "[".repeat(depth), "]".repeat(depth));
        check("/it", &deep(9), None);
        check("/it", &deep(8), Some("[[[[[[[[]]]]]]]]"));
        check("/it", &format!(r#"{{"it": "{}"}}"#, "x".repeat(301)), None);
        // The last document with the pointer counts, even if its value cannot be used.
        check("/it", &format!(r#"{{"it": 1}} {{"it": "{}"}}"#, "x".repeat(301)), None);
        check("/it", r#"{"it": "a\u202eb"}"#, None);
    }

    #[test]
    fn values_of_two_types_differ() {
        let pointer = Pointer::parse("/it").unwrap();
        let value = |json: &str| at(&format!(r#"{{"it": {json}}}"#), &pointer);
        assert_eq!(value("20000"), value("\"$20000\""));
        for (one, other) in [
            ("true", "\"true\""),
            ("\"a\"", "\"A\""),
            ("\"5%\"", "5"),
            ("\"€5\"", "5"),
            ("[1]", "\"[1]\""),
            ("\"007\"", "7"),
        ] {
            assert_ne!(value(one), value(other), "{one} {other}");
        }
    }

    #[test]
    fn a_list_element_is_addressed_by_its_index() {
        let list = r#"{"it": ["a", "b", {"c": "d"}]}"#;
        check("/it/1", list, Some("b"));
        check("/it/2/c", list, Some("d"));
        for none in ["/it/3", "/it/01", "/it/-", "/it/+1", "/it/1/0", "/it/x", "/it/"] {
            check(none, list, None);
        }
    }

    #[test]
    fn the_value_is_that_of_the_one_object() {
        let read = |answer: &str| field(answer).map(|value| format!("{value:?}"));
        for (answer, expected) in [
            (r#"{"reasoning": "4 pairs", "answer": "8"}"#, Some(r#"Text("8")"#)),
            ("Here:\n```json\n{\"explanation\": \"\", \"final_answer\": 8.0}\n```", Some(r#"Number("8.0")"#)),
            (r#"{"Final Answer": true}"#, Some("Truth(true)")),
            (
                "```json\n{\"reasoning\": \"$y = (x-2)^2$\", \"answer\": \"$(2, 3)$\",}\n```",
                Some(r#"Text("$(2, 3)$")"#),
            ),
            (r#"{"answer": [1, 2]}"#, Some(r#"Other("[1,2]")"#)),
            (r#"{"answer": 5, "unit": "million"}"#, Some(r#"Other("{\"answer\":5,\"unit\":\"million\"}")"#)),
            (r#"{"why": 1, "reasoning": 2, "a": 3}"#, Some(r#"Other("{\"a\":3,\"why\":1}")"#)),
            ("The set {1, 2} has two.", None),
            (r#"{"answer": "5", "answer": "6"}"#, None),
            (r#"{"answer": "5"} {"answer": "6"}"#, None),
            (r#"{"answer": "5"} {"result": 6}"#, None),
            ("It returns `{\"l\": 1}`, then `{}`.\n{\"answer\": \"5\"}", Some(r#"Text("5")"#)),
            (r#"{"answer": "5"} {"l": 1}"#, None),
            (r#"{"answer": "5"} and that is wrong"#, None),
            (r#"{"answer": null}"#, None),
            (r#"{"reasoning": "x"}"#, None),
            (r#"{"answer": "5""#, None),
        ] {
            assert_eq!(read(answer).as_deref(), expected, "{answer}");
        }
    }
}
