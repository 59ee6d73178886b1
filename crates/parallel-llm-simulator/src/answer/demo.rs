//! The demo's questions, their handwritten answers, and what a careful reader makes of these.
//!
//! The answers to the first question agree, add, contradict and fall short. What the fused text and its report say of them is
//! handwritten too, since comparing words cannot tell a denial: it is true of whichever of the answers are there. The
//! second question has one right answer, which one model misses.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use super::marks::{Candidate, Marks};
use crate::replies::json::Object;

/// A question familiar to every engineer, with several good answers.
pub const QUESTION: &str =
    "Our nightly job sometimes charges a customer twice. How should we make it safe to retry?";

/// A question with one right answer, for a vote.
pub const VOTE_QUESTION: &str = "A nightly job ran from 1 to 31 March and charged each of our 4 customers twice every night. \
     How many charges must be refunded? Answer with the number alone.";

static TEXTS: LazyLock<DemoTexts> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../assets/demo.json")).expect("the embedded texts are well formed")
});

/// The handwritten texts, by slug.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct DemoTexts {
    /// The five full answers: one is complete, one knows that providers forget keys, one is weaker, one contradicts the
    /// first, one considers the money already taken.
    answers: BTreeMap<String, String>,
    /// The answer that all smaller models share, and the point that each adds.
    core: String,
    points: BTreeMap<String, String>,
    fusion: Fusion,
    vote: Vote,
}

/// What a careful reader makes of the full answers.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fusion {
    /// Whose answer the text starts from, the best first.
    bases: Vec<String>,
    /// What is wrong in an answer and left out if the text starts from it.
    wrong: BTreeMap<String, String>,
    edits: Vec<Edit>,
    additions: Vec<Addition>,
    claims: Vec<Claim>,
    dissent: Vec<Dissent>,
}

/// A passage of the base that gives way to the thought of another answer.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Edit {
    of: String,
    from: String,
    old: String,
    new: String,
}

/// A passage that an answer has beyond the base.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Addition {
    from: String,
    text: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Claim {
    text: String,
    r#for: Vec<String>,
    against: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Dissent {
    by: String,
    text: String,
}

/// The answers to the question with one right answer.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Vote {
    right: String,
    /// The wrong ones.
    answers: BTreeMap<String, String>,
}

/// The handwritten answer of this model, if the question is one of the demo's.
pub(crate) fn answer(slug: &str, question: &str) -> Option<String> {
    if question.contains(VOTE_QUESTION) {
        return Some(TEXTS.vote.answers.get(slug).unwrap_or(&TEXTS.vote.right).clone());
    }
    if !question.contains(QUESTION) {
        return None;
    }
    let short = || TEXTS.points.get(slug).map(|point| format!("{} {point}", TEXTS.core));
    TEXTS.answers.get(slug).cloned().or_else(short)
}

/// The candidates of a prompt, all of which are full answers to the demo's question.
pub(crate) struct FullAnswers<'a> {
    /// The slug of each, with its label.
    labels: BTreeMap<&'static str, &'a str>,
    base: &'static str,
}

impl<'a> FullAnswers<'a> {
    /// `None` if another answer is among them.
    pub(crate) fn of(marks: &'a Marks) -> Option<Self> {
        let slug_of = |text: &str| {
            let found = TEXTS.answers.iter().find(|(_, answer)| answer.trim() == text.trim());
            found.map(|(slug, _)| slug.as_str())
        };
        let labelled = |one: &'a Candidate| Some((slug_of(&one.text)?, one.label.as_str()));
        let labels: BTreeMap<&str, &str> = marks.candidates.iter().map(labelled).collect::<Option<_>>()?;
        let is_whole = labels.len() == marks.candidates.len() && marks.question.contains(QUESTION);
        let base = TEXTS.fusion.bases.iter().map(String::as_str).find(|slug| labels.contains_key(slug))?;
        is_whole.then_some(Self { labels, base })
    }

    /// The fused text: the best answer without what is wrong in it, with what others see and it does not.
    pub(crate) fn text(&self) -> String {
        let Fusion { wrong, edits, additions, .. } = &TEXTS.fusion;
        let mut text = TEXTS.answers[self.base].clone();
        if let Some(wrong) = wrong.get(self.base) {
            text = text.replace(wrong.as_str(), "");
        }
        for edit in edits.iter().filter(|edit| edit.of == self.base && self.has(&edit.from)) {
            text = text.replace(&edit.old, &edit.new);
        }
        let is_added = |one: &&Addition| one.from != self.base && self.has(&one.from);
        let added: Vec<&str> = additions.iter().filter(is_added).map(|one| one.text.as_str()).collect();
        if added.is_empty() { text } else { format!("{text}\n\n{}", added.join(" ")) }
    }

    /// Where the text starts, what it changes, who is for and against what, and what it does not follow.
    pub(crate) fn analysis(&self) -> Object {
        let Fusion { edits, additions, claims, dissent, .. } = &TEXTS.fusion;
        let change = |what: &str, why: &str, from: &str| {
            Object::new().with("what", what).with("why", why).with("from", &[self.labels[from]][..])
        };
        let edited = edits.iter().filter(|edit| edit.of == self.base && self.has(&edit.from));
        let edited = edited.map(|edit| change(&edit.new, "It is safer.", &edit.from));
        let added = additions.iter().filter(|one| one.from != self.base && self.has(&one.from));
        let added = added.map(|one| change(&one.text, "It was missing.", &one.from));
        let made = claims.iter().filter(|claim| claim.r#for.iter().any(|slug| self.has(slug)));
        let claim = |claim: &Claim| {
            Object::new()
                .with("text", claim.text.as_str())
                .with("for", &self.labels_of(&claim.r#for))
                .with("against", &self.labels_of(&claim.against))
        };
        let dissenting = dissent.iter().filter(|one| self.has(&one.by)).map(|one| one.text.as_str());
        let none: [&str; 0] = [];
        Object::new()
            .with("base", self.labels[self.base])
            .list("changes", edited.chain(added))
            .list("claims", made.map(claim))
            .with("dissent", dissenting.collect::<Vec<_>>().join(" ").as_str())
            .with("suspected", &none[..])
    }

    fn has(&self, slug: &str) -> bool {
        self.labels.contains_key(slug)
    }

    fn labels_of(&self, slugs: &[String]) -> Vec<&str> {
        let mut labels: Vec<&str> =
            slugs.iter().filter_map(|slug| self.labels.get(slug.as_str())).copied().collect();
        labels.sort_unstable();
        labels
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::marks::ReplyFormat;

    #[test]
    fn full_answers_have_the_length_of_an_answer() {
        for (slug, text) in &TEXTS.answers {
            let words = text.split_whitespace().count();
            assert!((80..=165).contains(&words), "{slug}: {words} words");
        }
    }

    /// Every text that the fusion quotes is there to be quoted, and every slug is known.
    #[test]
    fn the_fusion_speaks_of_the_answers_as_they_are() {
        let Fusion { bases, wrong, edits, additions, claims, dissent } = &TEXTS.fusion;
        assert_eq!(bases.len(), TEXTS.answers.len());
        for (slug, text) in wrong {
            assert!(TEXTS.answers[slug].contains(text), "{text}");
        }
        for edit in edits {
            assert!(TEXTS.answers[&edit.of].contains(&edit.old) && TEXTS.answers.contains_key(&edit.from));
        }
        for one in additions {
            assert!(TEXTS.answers[&one.from].contains(&one.text), "{}", one.text);
        }
        let named = claims.iter().flat_map(|claim| claim.r#for.iter().chain(&claim.against));
        let named = named.chain(bases).chain(dissent.iter().map(|one| &one.by));
        named.for_each(|slug| assert!(TEXTS.answers.contains_key(slug), "{slug}"));
    }

    /// Whichever answers are there, the fused text has nothing of the bad advice, and each bad advice is reported.
    #[test]
    fn the_fused_text_leaves_the_bad_advice_out_whichever_answers_are_there() {
        const BAD: [&str; 3] = ["You do not need your own", "lock alone is enough", "exactly-once"];
        let all: Vec<(&String, &String)> = TEXTS.answers.iter().collect();
        for chosen in 1_u32..1 << all.len() {
            let there = all.iter().enumerate().filter(|(at, _)| chosen & 1 << at != 0).map(|(_, one)| one);
            let candidates = there
                .clone()
                .zip('A'..)
                .map(|((_, text), label)| Candidate { label: label.to_string(), text: (*text).clone() });
            let marks = Marks {
                nonce: "0af1".to_owned(),
                question: QUESTION.to_owned(),
                candidates: candidates.collect(),
                format: ReplyFormat::Fusion,
            };
            let answers = FullAnswers::of(&marks).unwrap();
            let text = answers.text();
            assert!(text.len() > 300 && !BAD.iter().any(|bad| text.contains(bad)), "{text}");
            let analysis = String::from_utf8(answers.analysis().bytes()).unwrap();
            for dissenter in &TEXTS.fusion.dissent {
                let is_there = there.clone().any(|(slug, _)| **slug == dissenter.by);
                assert_eq!(analysis.contains(&dissenter.text), is_there, "{analysis}");
            }
        }
    }
}
