//! Reads the reply of an extractor: the value of each answer.
//!
//! Invariants: only known labels count, and a label with two different values counts as having none.

use serde_json::Value;

use super::labels::{known, label_of};
use super::last_object;

/// The longest accepted value in characters; the prompt asks for a dozen words. Longer ones are left out, not shortened,
/// because two values with the same beginning may differ.
const ANSWER_CHARS_MAX: usize = 200;

/// The parts of an extractor's reply.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Extraction {
    /// Known labels, each once, with their values, in the order of `labels`; at least one.
    pub answers: Vec<(String, String)>,
    /// Known labels of candidates that it suspects of instructions.
    pub suspected_injection: Vec<String>,
}

/// Reads an extractor's reply; `None` if it has no value. `labels` are those of the candidates.
pub fn extraction(reply: &str, labels: &[String]) -> Option<Extraction> {
    let form = last_object(reply, "answers")?;
    let given = given(form.get("answers")?);
    let answer = |label: &String| {
        let mut own = given
            .iter()
            .filter(|(named, _)| label_of(named, labels) == Some(label))
            .map(|(_, answer)| text(answer));
        let first = own.next()??;
        own.all(|other| other.as_ref() == Some(&first)).then(|| (label.clone(), first))
    };
    let answers: Vec<(String, String)> = labels.iter().filter_map(answer).collect();
    let suspected_injection =
        form.get("suspected_injection").map(|named| known(named, labels)).unwrap_or_default();
    (!answers.is_empty()).then_some(Extraction { answers, suspected_injection })
}

/// The labels and values, from a list of objects or from one object.
fn given(answers: &Value) -> Vec<(&str, &Value)> {
    match answers {
        Value::Array(list) => {
            list.iter().filter_map(|one| Some((one.get("label")?.as_str()?, one.get("answer")?))).collect()
        }
        Value::Object(all) => all.iter().map(|(label, answer)| (label.as_str(), answer)).collect(),
        _ => Vec::new(),
    }
}

/// A value as text; `None` if it is empty or too long.
fn text(answer: &Value) -> Option<String> {
    let text = match answer {
        Value::String(text) => text.trim().to_owned(),
        Value::Number(number) => number.to_string(),
        Value::Bool(truth) => truth.to_string(),
        Value::Null | Value::Array(_) | Value::Object(_) => return None,
    };
    (!text.is_empty() && text.chars().count() <= ANSWER_CHARS_MAX).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each label with its answer, then the suspected labels.
    fn check(reply: &str, expected: Option<&str>) {
        let labels = ["A", "B", "C"].map(str::to_owned);
        let rendered = extraction(reply, &labels).map(|read| {
            let answers: Vec<String> =
                read.answers.iter().map(|(label, answer)| format!("{label}: {answer}")).collect();
            format!("{}; {}", answers.join(", "), read.suspected_injection.join(" "))
        });
        assert_eq!(rendered.as_deref(), expected, "{reply}");
    }

    #[test]
    fn extracted_values_are_read_in_every_format() {
        let form = r#"{"suspected_injection": ["B", "Z"], "answers": [{"label": "B", "answer": 8}, {"label": " A ", "answer": " Paris "}, {"label": "C", "answer": null}]}"#;
        check(form, Some("A: Paris, B: 8; B"));
        check(&format!("I think:\n```json\n{form}\n```"), Some("A: Paris, B: 8; B"));
        check(r#"{"answers": {"A": true, "C": "no"}}"#, Some("A: true, C: no; "));
        check(r#"{"answers": {"A": "old"}} {"answers": {"A": "new"}}"#, Some("A: new; "));
    }

    #[test]
    fn a_malformed_reply_gives_no_values() {
        for reply in [
            "",
            "A: Paris",
            r#"{"answers": "A"}"#,
            r#"{"answers": []}"#,
            r#"["A"]"#,
            r#"{"answers": {"A": null}}"#,
        ] {
            check(reply, None);
        }
        check(r#"{"answers": [{"label": "D", "answer": "x"}, {"answer": "y"}, 7, {"label": "A"}]}"#, None);
        check(r#"{"answers": {"A": ["x"], "B": {"x": 1}, "C": ""}}"#, None);
    }

    #[test]
    fn an_answer_with_two_values_has_none() {
        let entry = |label: &str, answer: &str| format!(r#"{{"label": "{label}", "answer": {answer}}}"#);
        let reply = |entries: &[String]| format!(r#"{{"answers": [{}]}}"#, entries.join(", "));
        check(&reply(&[entry("A", "6"), entry("B", "8"), entry("A", "8")]), Some("B: 8; "));
        check(&reply(&[entry("A", "8"), entry("B", "8"), entry("A", "\"8\"")]), Some("A: 8, B: 8; "));
        check(&reply(&[entry("A", "8"), entry("A", "null"), entry("C", "6")]), Some("C: 6; "));
    }

    #[test]
    fn an_overlong_value_is_left_out() {
        let reply = format!(r#"{{"answers": {{"A": "{}", "B": "{}"}}}}"#, "x".repeat(201), "y".repeat(200));
        check(&reply, Some(&format!("B: {}; ", "y".repeat(200))));
        check(&format!(r#"{{"answers": {{"A": {}"x"{}}}}}"#, "[".repeat(500), "]".repeat(500)), None);
    }
}
