//! The only place where the reply of a synthesizer or a judge is read. Tolerant: whatever a model makes of the form it was
//! asked for, the text it wrote for the person is found, and nothing in it is obeyed.

mod analysis;
mod extraction;

use serde::Deserialize;

use crate::json;

pub use analysis::{Analysis, Claim, Remark, Ruling, analysis, comparison};
pub use extraction::{Extraction, extraction};

/// How much of a reply is looked at before it is decided that it does not follow the form, in bytes.
const FORM_BYTES: usize = 64;

/// A reply is one object. It is looked for at so many braces, each of which may take the rest of the reply to read.
pub(crate) const OBJECTS_MAX: usize = 64;

type Object = serde_json::Map<String, serde_json::Value>;

/// A synthesizer's reply, taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fusion {
    /// The label of the candidate it started from, if it named a known one.
    pub base: Option<String>,
    /// Labels of candidates it thinks tried to instruct it; known ones only.
    pub suspected_injection: Vec<String>,
    /// The text for the person.
    pub text: String,
    /// Whether the reply followed the form it was asked for.
    pub well_formed: bool,
}

/// What we read of the structured part. Unknown keys are ignored, missing ones are empty.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct FusionForm {
    base: serde_json::Value,
    suspected_injection: serde_json::Value,
}

/// Takes a reply apart. `labels` are the names the candidates were given.
pub fn fusion(reply: &str, nonce: &str, labels: &[String]) -> Fusion {
    let (analysis, text) = split(reply, nonce);
    let read = analysis.and_then(read_object);
    let well_formed = read.is_some();
    let read = read.unwrap_or_default();
    Fusion {
        base: known(&serde_json::json!([read.base]), labels).pop(),
        suspected_injection: known(&read.suspected_injection, labels),
        text: text.trim().to_owned(),
        well_formed,
    }
}

/// The text of a reply that was to be nothing else. Who marks it all the same marks it with the code of the prompt.
pub fn written<'a>(reply: &'a str, nonce: &str) -> &'a str {
    reply.split_once(&answer_marker(nonce)).map_or(reply, |(_, text)| text).trim()
}

/// What a judge made of the candidates it was shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    /// Labels of candidates, the best first: known ones, each once.
    pub ranking: Vec<String>,
    /// Labels of candidates it thinks tried to instruct it; known ones only.
    pub suspected_injection: Vec<String>,
}

/// What we read of a judge's object.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RankingForm {
    ranking: serde_json::Value,
    suspected_injection: serde_json::Value,
}

/// Reads a judge's reply; `None` where it names no candidate. `labels` are the names the candidates were given.
pub fn judgement(reply: &str, labels: &[String]) -> Option<Judgement> {
    let form = last_object(reply, "ranking")?;
    let form = serde_json::from_value::<RankingForm>(form.into()).ok()?;
    let ranking = known(&form.ranking, labels);
    let suspected_injection = known(&form.suspected_injection, labels);
    (!ranking.is_empty()).then_some(Judgement { ranking, suspected_injection })
}

/// The names of a list that are known, each once.
fn known(list: &serde_json::Value, labels: &[String]) -> Vec<String> {
    let names = list.as_array().into_iter().flatten().filter_map(|name| name.as_str());
    let mut known: Vec<String> = Vec::new();
    for name in names {
        let label = labels.iter().find(|label| *label == name.trim());
        known.extend(label.filter(|label| !known.contains(label)).cloned());
    }
    known
}

/// The last object in a reply that has this member.
fn last_object(reply: &str, member: &str) -> Option<Object> {
    let read = |found: json::Document<'_>| serde_json::from_str::<Object>(&found.json).ok();
    json::objects(reply).filter_map(read).filter(|object| object.contains_key(member)).last()
}

/// The outermost JSON objects of a text, as far as they are whole, and strict JSON.
pub(crate) fn objects<'a, Whole: Deserialize<'a>>(reply: &'a str) -> Vec<Whole> {
    let (mut objects, mut rest) = (Vec::new(), reply);
    for _ in 0..OBJECTS_MAX {
        let Some(start) = rest.find('{') else { break };
        rest = &rest[start..];
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Whole>();
        match values.next() {
            Some(Ok(object)) => {
                rest = &rest[values.byte_offset()..];
                objects.push(object);
            }
            _ => rest = &rest[1..],
        }
    }
    objects
}

/// The part before the answer, if there is one, and the answer.
fn split<'a>(reply: &'a str, nonce: &str) -> (Option<&'a str>, &'a str) {
    if let Some((before, after)) = reply.split_once(&answer_marker(nonce)) {
        return (Some(before), after);
    }
    // A marker without its code is accepted only where the reply began with our form: an answer may well speak
    // of markers.
    let trimmed = reply.trim_start();
    if trimmed.starts_with("<<analysis")
        && let Some((before, after)) = trimmed.split_once("\n<<answer")
        && let Some((_, text)) = after.split_once('\n')
    {
        return (Some(before), text);
    }
    if !trimmed.starts_with("<<analysis") {
        return after_leading_object(trimmed).map_or((None, reply), |(object, text)| (Some(object), text));
    }
    // The form without its second marker: what follows the object is the answer. Where the object is all there
    // is, whole or not, the answer was never written.
    let body = trimmed.split_once('\n').map_or("", |(_, body)| body.trim_start());
    match after_leading_object(body) {
        Some((object, text)) => (Some(object), text),
        None if body.starts_with(['{', '`']) => (Some(body), ""),
        None => (None, body),
    }
}

/// A reply that is a JSON object of our form followed by text, fenced or not.
fn after_leading_object(reply: &str) -> Option<(&str, &str)> {
    let body = reply.strip_prefix("```json").unwrap_or(reply).trim_start();
    let found = json::leading(body)?;
    let object: Object = serde_json::from_str(&found.json).ok()?;
    let is_ours = object.contains_key("base") || object.contains_key("claims");
    let (analysis, text) = body.split_at(found.range.end);
    let text = text.trim_start().trim_start_matches("```");
    (is_ours && !text.trim().is_empty()).then_some((analysis, text))
}

/// The JSON object somewhere in the part before the answer.
fn read_object(analysis: &str) -> Option<FusionForm> {
    let found = json::objects(analysis).next()?;
    serde_json::from_str(&found.json).ok()
}

fn answer_marker(nonce: &str) -> String {
    format!("<<answer {nonce}>>")
}

/// Shows a reply while it comes, without the part that is not for the person.
#[derive(Debug)]
pub struct Reveal {
    marker: Option<String>,
    held: String,
    is_shut: bool,
}

impl Reveal {
    /// Shows everything.
    pub const fn all() -> Self {
        Self { marker: None, held: String::new(), is_shut: false }
    }

    /// Shows nothing: the reply is not for the person, or not as it stands.
    pub const fn nothing() -> Self {
        Self { marker: None, held: String::new(), is_shut: true }
    }

    /// Shows what comes after the answer marker, or everything if the reply does not follow the form.
    pub fn answer(nonce: &str) -> Self {
        Self { marker: Some(answer_marker(nonce)), ..Self::all() }
    }

    /// Takes the next piece and returns what may be shown now.
    pub fn push<'a>(&mut self, piece: &'a str) -> std::borrow::Cow<'a, str> {
        if self.is_shut {
            return "".into();
        }
        let Some(marker) = &self.marker else { return piece.into() };
        self.held.push_str(piece);
        if let Some((_, text)) = self.held.split_once(marker) {
            let shown = text.trim_start().to_owned();
            self.marker = None;
            self.held = String::new();
            return shown.into();
        }
        let start = self.held.trim_start();
        let follows = "<<analysis".starts_with(start)
            || start.starts_with("<<analysis")
            || start.starts_with(['{', '`']);
        if start.len() >= FORM_BYTES.min(10) && !follows {
            self.marker = None;
            return std::mem::take(&mut self.held).into();
        }
        "".into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NONCE: &str = "5eed";

    fn read(reply: &str) -> (Option<String>, String, bool) {
        let fusion = fusion(reply, NONCE, &["A".into(), "B".into()]);
        (fusion.base, fusion.text, fusion.well_formed)
    }

    #[test]
    fn the_form_is_read() {
        let reply = "<<analysis 5eed>>\n{\"base\":\"B\",\"suspected_injection\":[\"A\",\"Z\",7]}\n<<answer 5eed>>\nHello\n";
        let fusion = fusion(reply, NONCE, &["A".into(), "B".into()]);
        assert_eq!(fusion.suspected_injection, ["A"]);
        assert_eq!(read(reply), (Some("B".into()), "Hello".into(), true));
    }

    #[test]
    fn a_judges_json_is_read_although_it_is_not_quite_json() {
        let labels = ["A", "B", "C"].map(str::to_owned);
        for reply in [
            r#"{"reasons": [{"label": "A", "for": "\(x\) and \frac{1}{2}"}], "ranking": ["B", "A"]}"#,
            "{\"reasons\": [{\"label\": \"A\", \"for\": \"two\nlines\tand a tab\"}], \"ranking\": [\"B\", \"A\"]}",
            "```json\n{\"reasons\": [], \"ranking\": [\"B\", \"A\",],}\n```\nThat is my ranking.",
            &format!("{}\n{}", r"As \frac{a}{b} shows, ".repeat(80), r#"{"ranking": ["B", "A"]}"#),
        ] {
            assert_eq!(judgement(reply, &labels).expect(reply).ranking, ["B", "A"], "{reply}");
        }
        assert_eq!(judgement(r#"{"ranking": ["B"], "of": {"ranking": ["A"]}"#, &labels), None);
    }

    #[test]
    fn other_forms_still_give_the_text() {
        for (reply, base, text, well_formed) in [
            ("Just text.", None, "Just text.", false),
            ("<<analysis>>\n{\"base\":\"A\"}\n<<answer>>\nHi", Some("A"), "Hi", true),
            ("```json\n{\"base\":\"A\"}\n```\nHi", Some("A"), "Hi", true),
            ("{\"base\":\"Q\"}\n\nHi", None, "Hi", true),
            ("{\"name\":\"the user asked for JSON\"}", None, "{\"name\":\"the user asked for JSON\"}", false),
            ("<<analysis 5eed>>\nnot json\n<<answer 5eed>>\nHi", None, "Hi", false),
            ("<<analysis 5eed>>\n{}\n<<answer 5eed>>\n  ", None, "", true),
            ("<<analysis 5eed>>\n{\"base\":\"A\"}\n\nHi", Some("A"), "Hi", true),
            ("<<analysis 5eed>>\n{\"base\":\"A\"}", Some("A"), "", true),
            ("<<analysis 5eed>>\n{\"base\":\"A\", \"claims\": [", None, "", false),
            ("<<analysis 5eed>>", None, "", false),
            ("<<analysis 5eed>>\nHi", None, "Hi", false),
        ] {
            assert_eq!(read(reply), (base.map(str::to_owned), text.to_owned(), well_formed), "{reply}");
        }
    }

    proptest! {
        #[test]
        fn streaming_shows_the_text_that_is_read(text in "[a-z][a-z \n<>{}]{0,80}", cut in prop::collection::vec(1usize..9, 0..40)) {
            let reply = format!("<<analysis 5eed>>\n{{\"base\":\"A\"}}\n<<answer 5eed>>\n{text}");
            let mut reveal = Reveal::answer(NONCE);
            let mut shown = String::new();
            let mut rest = reply.as_str();
            for length in cut.into_iter().chain(std::iter::repeat(5)) {
                let (piece, after) = rest.split_at(rest.floor_char_boundary(length.min(rest.len())));
                shown.push_str(&reveal.push(piece));
                rest = after;
                if rest.is_empty() { break; }
            }
            prop_assert_eq!(shown.trim(), text.trim());
        }
    }
}
