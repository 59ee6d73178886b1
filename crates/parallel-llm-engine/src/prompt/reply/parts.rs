//! Separates the form and the text of a reply, whichever markers the model has written.

use crate::text::json;

use super::Object;
use super::body::Body;
use super::form::{is_form, last_form};
use super::marker::{Marker, MarkerKind, markers};

/// The most marked answers of a reply that are searched, from the end, for one that is not empty.
const ANSWERS_MAX: usize = 8;
/// The two parts of a reply.
pub(super) struct Parts {
    /// The object of the form.
    pub(super) form: Option<Object>,
    pub(super) text: String,
}

/// The form is behind the answer; in replies of stored runs it is before it.
pub(super) fn parts(reply: &str, codes: &[String]) -> Parts {
    if let Some((at, text)) = answer(reply, codes) {
        let form = form_behind(&reply[at..], codes).or_else(|| form_before(&reply[..at]));
        return Parts { form, text };
    }
    if let Some(at) = uncoded_beginning(reply) {
        let text = Body::of(&reply[at..], codes, fence_is_open(&reply[..at]));
        return Parts { form: form_behind(&reply[at..], codes), text };
    }
    let Some((start, begin)) = analysis_begins(reply, codes) else {
        let text = |text| Body::of(text, codes, false);
        return match after_leading_object(reply) {
            Some((form, rest)) => Parts { form: Some(form), text: text(rest) },
            None => Parts { form: form_behind(reply, codes), text: text(reply) },
        };
    };
    if !reply[..start].trim().is_empty() {
        return Parts { form: last_form(&reply[begin..]), text: Body::of(reply, codes, false) };
    }
    // No marker has the code. Then a marker without it counts, unless it is inside the object.
    let body = &reply[begin..];
    let found = json::objects(body).next();
    let behind = found.as_ref().map_or(0, |found| found.range.end);
    let form: Option<Object> = found.and_then(|found| serde_json::from_str(&found.json).ok());
    if let Some(at) = uncoded_answer(&body[behind..], codes) {
        return Parts { form, text: Body::of(&body[behind + at..], codes, fence_is_open(&reply[..begin])) };
    }
    // The answer follows the object. If there is only the object, whole or not, the answer was never written.
    let start = body.trim_start().trim_start_matches("```json").trim_start_matches("```").trim_start();
    let text = match &form {
        Some(_) if start.starts_with('{') => after_object(&body[behind..]),
        _ if start.starts_with('{') => "",
        _ => body,
    };
    Parts { form: form.filter(|_| start.starts_with('{')), text: Body::of(text, codes, false) }
}

/// The answer that a reply marks with a code, and the byte where it begins. Of several marked answers, the last that is not
/// empty counts: earlier ones are drafts or repeat the form, and an empty one closes the answer before it.
pub(super) fn answer(reply: &str, codes: &[String]) -> Option<(usize, String)> {
    let mut begins: Vec<usize> = Vec::new();
    let mut from = 0;
    while let Some(at) = opening(reply, from, codes) {
        begins.push(at);
        from = line_end(reply, at);
    }
    let first = *begins.first()?;
    let texts = begins.into_iter().rev().take(ANSWERS_MAX);
    let mut texts = texts.map(|at| (at, Body::of(&reply[at..], codes, fence_is_open(&reply[..at]))));
    Some(texts.find(|(_, text)| !text.is_empty()).unwrap_or((first, String::new())))
}

/// The object of the form behind the answer that a text begins with.
fn form_behind(text: &str, codes: &[String]) -> Option<Object> {
    let is_end = |marker: &Marker| marker.is_coded && marker.kind == MarkerKind::End;
    let end = lines(text, 0).find_map(|(at, line)| Some(at + markers(line, codes).find(is_end)?.end));
    end.and_then(|end| last_form(&text[end..])).or_else(|| last_form(text))
}

/// The object of the form before the answer; the first object if none has the form.
fn form_before(analysis: &str) -> Option<Object> {
    let read = |found: json::Document<'_>| serde_json::from_str::<Object>(&found.json).ok();
    last_form(analysis).or_else(|| json::objects(analysis).find_map(read))
}

/// The start of the first coded answer in or after the line at `from`.
pub(super) fn opening(reply: &str, from: usize, codes: &[String]) -> Option<usize> {
    let is_ours = |marker: &Marker| marker.is_coded && marker.is_first && marker.kind == MarkerKind::Answer;
    lines(reply, from).find_map(|(at, line)| {
        // In an unfinished line, emphasis after the marker may still be missing.
        Some(at + markers(line, codes).find(is_ours)?.end)
    })
}

/// The start of an analysis marker that has a code or is at the very beginning, and the start of the text after it.
fn analysis_begins(reply: &str, codes: &[String]) -> Option<(usize, usize)> {
    let begins = |is_coded: bool| {
        let is_ours = move |marker: &Marker| {
            marker.is_first && marker.kind == MarkerKind::Analysis && (marker.is_coded || !is_coded)
        };
        move |(at, line)| {
            let marker = markers(line, codes).find(is_ours)?;
            Some((at + marker.start, at + marker.end))
        }
    };
    lines(reply, 0).find_map(begins(true)).or_else(|| lines(reply, 0).find(is_text).and_then(begins(false)))
}

/// The start of the answer in a reply that begins with a marker without a known code.
fn uncoded_beginning(reply: &str) -> Option<usize> {
    let (at, line) = lines(reply, 0).find(is_text)?;
    let marker = markers(line, &[]).find(|marker| marker.is_first)?;
    (marker.kind == MarkerKind::Answer).then_some(at + marker.end)
}

/// Whether a line is more than the fence around the form.
fn is_text((_, line): &(usize, &str)) -> bool {
    !matches!(line.trim(), "" | "```" | "```json")
}

/// The start of the answer after a marker without a known code.
fn uncoded_answer(text: &str, codes: &[String]) -> Option<usize> {
    let is_ours = |marker: &Marker| marker.is_first && marker.kind == MarkerKind::Answer;
    lines(text, 0).find_map(|(at, line)| Some(at + markers(line, codes).find(is_ours)?.end))
}

/// The lines of a text from byte `from` on, each with the byte where it begins.
fn lines(text: &str, from: usize) -> impl Iterator<Item = (usize, &str)> {
    let mut at = from;
    text[from..].split_inclusive('\n').map(move |line| {
        at += line.len();
        (at - line.len(), line)
    })
}

fn line_end(text: &str, from: usize) -> usize {
    text[from..].find('\n').map_or(text.len(), |end| from + end + 1)
}

/// Whether a code fence is open at the end of a text.
pub(super) fn fence_is_open(text: &str) -> bool {
    lines(text, 0).filter(|(_, line)| line.trim_start().starts_with("```")).count() % 2 == 1
}

/// The object and the text of a reply that is a JSON object of the form, fenced or not, and then text.
fn after_leading_object(reply: &str) -> Option<(Object, &str)> {
    let reply = reply.trim_start();
    let body = reply.strip_prefix("```json").or_else(|| reply.strip_prefix("```")).unwrap_or(reply);
    let found = json::leading(body)?;
    let object: Object = serde_json::from_str(&found.json).ok()?;
    let text = after_object(&body[found.range.end..]);
    (is_form(&object) && !text.trim().is_empty()).then_some((object, text))
}

/// The text after an object, without the end of its code fence.
fn after_object(text: &str) -> &str {
    let text = text.trim_start();
    text.strip_prefix("```").unwrap_or(text)
}
