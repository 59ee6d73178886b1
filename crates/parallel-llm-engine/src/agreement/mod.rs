//! Agreement: which answers have the same value, in clusters.
//!
//! Answers are compared by their short answer if the question has one: the answer line they were asked for, or the form that the
//! question prescribes. Otherwise they are compared as a whole; with the extractor `json` by a value in their JSON.
//! Invariants: answers without a plain value agree only if they are equal as a whole, agreement is an equivalence, and the
//! order of the panel, not that of arrival, decides between clusters of the same size.

pub(crate) mod equivalents;
pub mod interval;
pub mod votes;

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use crate::request::panel::{ModelRef, SeatNumber};
use crate::request::strategy::Extractor;
use crate::text::shingles;
use crate::text::short_answer::{Form, Value, WholeReply};
use crate::value::answer::{Answer, Finish};

/// How the answers to a question are compared. A run reads its question once.
#[derive(Debug)]
pub(crate) struct Comparison {
    form: Option<Form>,
    whole: WholeReply,
}

impl Comparison {
    pub(crate) fn of(question: &str) -> Self {
        Self { form: Form::of(question), whole: WholeReply::of(question) }
    }

    /// Where the short answer stands; `None` if the question has none.
    pub(crate) const fn form(&self) -> Option<&Form> {
        self.form.as_ref()
    }
}

/// An answer as it is compared.
#[derive(Clone, Copy, Debug)]
pub struct AnswerText<'a> {
    /// Its text.
    pub text: &'a str,
    /// Its answer line, if it was asked for one.
    pub line: Option<&'a str>,
    /// Whether the model ended it by itself. What was cut may have gone on to say something else.
    pub is_whole: bool,
}

impl<'a> From<&'a str> for AnswerText<'a> {
    fn from(text: &'a str) -> Self {
        Self { text, line: None, is_whole: true }
    }
}

impl<'a> From<&'a Answer> for AnswerText<'a> {
    fn from(answer: &'a Answer) -> Self {
        let is_whole = answer.finish.as_ref().is_none_or(Finish::is_own);
        Self { text: &answer.text, line: answer.line.as_deref(), is_whole }
    }
}

/// Answers with the same value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cluster {
    /// Their value in normal form; `None` if they are equal as a whole, or if no text is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Other values that mean the same, as a model says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    /// Their seats, in the order of the panel.
    pub seats: Vec<SeatNumber>,
}

/// How far the considered answers agree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agreement {
    /// The size of the largest cluster.
    pub equal: usize,
    /// The number of answers.
    pub of: usize,
    /// The clusters, largest first. Empty in the oldest runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub clusters: Vec<Cluster>,
    /// The seats whose answers have no plain value although the question asks for one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unread: Vec<SeatNumber>,
    /// The model that says that different values mean the same, if one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grouped_by: Option<ModelRef>,
}

impl Cluster {
    /// All its values.
    pub(crate) fn values(&self) -> impl Iterator<Item = &String> {
        self.value.iter().chain(&self.also)
    }
}

impl Agreement {
    /// Compares answers with an extractor, as far as that needs no model; `None` as for [`Agreement::of`].
    pub(crate) fn by<'a>(
        extractor: Extractor,
        comparison: &Comparison,
        answers: impl IntoIterator<Item = (SeatNumber, AnswerText<'a>)>,
    ) -> Option<Self> {
        match extractor {
            Extractor::Json(_) => {
                let value = |(seat, reply)| (seat, value_of(extractor, None, reply));
                Some(Self::of_values(answers.into_iter().map(value)))
            }
            Extractor::Auto | Extractor::Llm => Self::of(comparison, answers),
        }
    }

    /// Compares answers by their values; `None` is an answer whose value was not found.
    pub(crate) fn of_values(values: impl IntoIterator<Item = (SeatNumber, Option<Value>)>) -> Self {
        let (mut read, mut unread, mut of) = (Vec::new(), Vec::new(), 0);
        for (seat, value) in values {
            of += 1;
            match value {
                Some(value) => read.push((seat, value)),
                None => unread.push(seat),
            }
        }
        unread.sort_unstable();
        Self { of, clusters: clusters(read), unread, ..Self::default() }.ordered()
    }

    /// The same with its clusters in order, largest first.
    fn ordered(self) -> Self {
        let clusters = in_order(self.clusters);
        let equal = clusters.first().map_or(0, |largest| largest.seats.len());
        Self { equal, clusters, ..self }
    }

    /// Compares answers by their text. `None` if they cannot be compared: the question is open, and no two texts are equal.
    pub(crate) fn of<'a>(
        comparison: &Comparison,
        answers: impl IntoIterator<Item = (SeatNumber, AnswerText<'a>)>,
    ) -> Option<Self> {
        let mut answers: Vec<(SeatNumber, AnswerText<'a>)> = answers.into_iter().collect();
        answers.sort_unstable_by_key(|(seat, _)| *seat);
        let form = comparison.form.as_ref();
        let read = form.map(|form| {
            let read =
                |(seat, reply): &(SeatNumber, _)| (*seat, value_of(Extractor::Auto, Some(form), *reply));
            Self::of_values(answers.iter().map(read))
        });
        if read.as_ref().is_some_and(|read| !read.clusters.is_empty()) {
            return read;
        }
        let same = as_wholes(&comparison.whole, &answers)
            .map(|clusters| Self { of: answers.len(), clusters, ..Self::default() }.ordered());
        // A prescribed form was missed. Without one, the models say that there is no short answer.
        let is_missed = form.is_some_and(|form| !form.is_line() && form.is_certain());
        same.or(read.filter(|read| is_missed && read.of > 0))
    }

    /// Whether two answers to a question agree; `None` if they cannot be compared.
    pub(crate) fn between(comparison: &Comparison, one: &str, other: &str) -> Option<bool> {
        if shingles::exact(one) == shingles::exact(other) {
            return Some(true);
        }
        let texts = [one, other].map(AnswerText::from);
        let agreement = Self::of(comparison, [SeatNumber(1), SeatNumber(2)].into_iter().zip(texts))?;
        agreement.unread.is_empty().then(|| agreement.is_unanimous())
    }

    /// The seats of the largest cluster, if it has several and no other cluster has as many.
    pub(crate) fn plurality(&self) -> Option<&[SeatNumber]> {
        let largest = self.clusters.first().filter(|largest| largest.seats.len() > 1)?;
        let is_level = self.clusters.get(1).is_some_and(|next| next.seats.len() == largest.seats.len());
        (!is_level).then_some(&largest.seats)
    }

    /// A copy without the values, for runs whose texts are not kept.
    #[must_use]
    pub(crate) fn without_values(mut self) -> Self {
        for cluster in &mut self.clusters {
            (cluster.value, cluster.also) = (None, Vec::new());
        }
        self
    }

    /// Whether there are several answers and all agree.
    pub fn is_unanimous(&self) -> bool {
        self.of > 1 && self.equal == self.of
    }

    /// The cluster with this value.
    pub(crate) fn cluster_of(&self, value: &Value) -> Option<&Cluster> {
        let value = value.to_string();
        self.clusters.iter().find(|cluster| cluster.value.as_ref() == Some(&value))
    }

    /// The value of the largest cluster.
    pub fn value(&self) -> Option<&str> {
        self.clusters.first()?.value.as_deref()
    }

    /// Which values of a cluster a model takes for the same, behind a sentence that names the first; empty if it has one.
    pub(crate) fn equivalence_of(&self, cluster: &Cluster) -> String {
        let (Some(by), [first, rest @ ..]) = (&self.grouped_by, cluster.also.as_slice()) else {
            return String::new();
        };
        let more = if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
        format!(", which `{by}` takes for the same as `{first}`{more}")
    }
}

/// The value of an answer to a question of this form, by which it is compared; `None` if it has none, or was cut.
pub(crate) fn value_of(extractor: Extractor, form: Option<&Form>, answer: AnswerText<'_>) -> Option<Value> {
    match extractor {
        _ if !answer.is_whole => None,
        Extractor::Json(pointer) => Value::at(&pointer, answer.text),
        Extractor::Auto | Extractor::Llm => form?.read(answer.text, answer.line),
    }
}

/// Clusters by value.
fn clusters(read: Vec<(SeatNumber, Value)>) -> Vec<Cluster> {
    let cluster =
        |(value, seats): (Value, _)| Cluster { value: Some(value.to_string()), seats, ..Cluster::default() };
    grouped(read).into_iter().map(cluster).collect()
}

/// The seats with each key, in the order of their first.
fn grouped<Key: PartialEq>(all: impl IntoIterator<Item = (SeatNumber, Key)>) -> Vec<(Key, Vec<SeatNumber>)> {
    let mut groups: Vec<(Key, Vec<SeatNumber>)> = Vec::new();
    for (seat, key) in all {
        match groups.iter_mut().find(|(other, _)| key == *other) {
            Some((_, seats)) => seats.push(seat),
            None => groups.push((key, vec![seat])),
        }
    }
    groups
}

/// A whole text by which answers are compared.
#[derive(PartialEq, Eq)]
enum WholeText {
    /// Its value: it is nothing but its answer.
    Value(Value),
    /// Its letters.
    Letters(blake3::Hash),
}

/// Clusters of equal texts; `None` if all differ.
fn as_wholes(whole: &WholeReply, answers: &[(SeatNumber, AnswerText<'_>)]) -> Option<Vec<Cluster>> {
    let text = |(seat, answer): &(SeatNumber, AnswerText<'_>)| {
        let value = Some(answer.text).filter(|_| answer.is_whole).and_then(|text| whole.read(text));
        (*seat, value.map_or_else(|| WholeText::Letters(shingles::exact(answer.text)), WholeText::Value))
    };
    let groups = grouped(answers.iter().map(text));
    let are_any_the_same = groups.len() < answers.len();
    let cluster = |(_, seats)| Cluster { seats, ..Cluster::default() };
    are_any_the_same.then(|| groups.into_iter().map(cluster).collect())
}

fn in_order(mut clusters: Vec<Cluster>) -> Vec<Cluster> {
    for cluster in &mut clusters {
        cluster.seats.sort_unstable();
    }
    clusters.sort_by_key(|cluster| (Reverse(cluster.seats.len()), cluster.seats[0]));
    clusters
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each cluster as `value: seats`, then the seats whose answers were not read. The last line of an answer is its answer line.
    fn rendered(question: &str, answers: &[&str]) -> Option<String> {
        let reply = |answer: &&'static str| match answer.rsplit_once('\n') {
            Some((text, line)) => AnswerText { text, line: Some(line), is_whole: true },
            None => AnswerText::from(*answer),
        };
        let answers: Vec<&'static str> =
            answers.iter().map(|answer| &*Box::leak(answer.to_string().into_boxed_str())).collect();
        let agreement =
            Agreement::of(&Comparison::of(question), (1..).map(SeatNumber).zip(answers.iter().map(reply)))?;
        let seats =
            |seats: &[SeatNumber]| seats.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
        let cluster = |one: &Cluster| {
            let value = one.value.as_deref().unwrap_or("same words");
            format!("{value}: {}; ", seats(&one.seats))
        };
        let clusters = agreement.clusters.iter().map(cluster).collect::<Vec<_>>().concat();
        let (equal, of) = (agreement.equal, agreement.of);
        Some(format!("{equal} of {of}; {clusters}unread: {}", seats(&agreement.unread)))
    }

    fn check(question: &str, answers: &[&str], expected: Option<&str>) {
        assert_eq!(rendered(question, answers).as_deref(), expected, "{answers:?}");
    }

    const HOW_MANY: &str = "How many legs has a spider?";
    const PRESCRIBED: &str = "How many legs has a spider? End with Answer: <number>";

    #[test]
    fn answers_without_a_line_are_compared_as_a_whole() {
        let same = Some("2 of 3; same words: 1 2; same words: 3; unread: ");
        for other in ["Paris.", "Paris. ", "**Paris**", "paris", "\"Paris\"", " Paris"] {
            check("Where is it?", &["Paris", other, "Rome"], same);
        }
        for other in ["PARIS", "Paris!", "Paris?", "Rome"] {
            check("Where is it?", &["Paris", other], None);
        }
        check("Which command?", &["kill", "Kill"], None);
        check("What is the German noun?", &["Essen", "essen"], None);
        let json = r#"{"a": 1, "b": "x"}"#;
        check("As JSON?", &[json, r#"{"b":"x","a":1}"#, "{}"], same);
        check("As JSON?", &[json, r#"{"a": 1, "b": "X"}"#], None);
        let sentence = "It was in Paris that they met.";
        check("Where is it?", &[sentence, sentence, "Rome"], same);
        check("Where is it?", &[sentence, "it was in Paris that they met"], None);
        check(HOW_MANY, &["8", "It has 8 legs."], None);
        check("Where is it?", &[], None);
    }

    #[test]
    fn answers_with_a_line_are_compared_by_it() {
        check(
            HOW_MANY,
            &["Four pairs.\nANSWER: 8", "8\n**ANSWER:** 8.0", "ANSWER\nANSWER: 6"],
            Some("2 of 3; 8: 1 2; 6: 3; unread: "),
        );
        check(HOW_MANY, &["x\nANSWER: 8", "y\nANSWER: none", "z"], Some("1 of 3; 8: 1; unread: 2 3"));
        check(HOW_MANY, &["x\nANSWER: none", "y\nANSWER: none"], None);
        check(HOW_MANY, &["x\nANSWER: 8", "x\nANSWER: 8 legs"], Some("2 of 2; 8: 1 2; unread: "));
        check(HOW_MANY, &["x\nANSWER: 8", "x\nANSWER: 8 eyes"], Some("1 of 2; 8: 1; 8 eyes: 2; unread: "));
        check("Recommend a laptop and say its price.", &["x\nANSWER: 900", "y\nANSWER: 900"], None);
    }

    #[test]
    fn a_prescribed_form_is_read_where_nothing_else_is_asked() {
        let text = |answers: [&'static str; 2]| {
            let replies = answers.map(AnswerText::from);
            let agreement = Agreement::of(&Comparison::of(PRESCRIBED), (1..).map(SeatNumber).zip(replies));
            agreement.map(|agreement| (agreement.equal, agreement.of, agreement.unread.len()))
        };
        assert_eq!(text(["Four pairs.\nAnswer: 8", "It has eight.\nAnswer: 8"]), Some((2, 2, 0)));
        assert_eq!(text(["Four pairs.\nAnswer: 8", "It has eight."]), Some((1, 2, 1)));
        assert_eq!(text(["Four pairs.", "It has eight."]), Some((0, 2, 2)));
    }

    #[test]
    fn only_several_equal_answers_are_unanimous() {
        let is_unanimous = |answers: &[&'static str]| {
            let replies =
                answers.iter().map(|line| AnswerText { text: "", line: Some(line), is_whole: true });
            Agreement::of(&Comparison::of(HOW_MANY), (1..).map(SeatNumber).zip(replies))
                .is_some_and(|agreement| agreement.is_unanimous())
        };
        assert!(is_unanimous(&["ANSWER: 8", "Answer: 8", "answer: 8"]));
        assert!(!is_unanimous(&["ANSWER: 8", "ANSWER: 8", "ANSWER: none"]));
        assert!(!is_unanimous(&["ANSWER: 8"]));
    }
}
