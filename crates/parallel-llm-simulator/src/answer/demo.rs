//! The demo's question and its handwritten answers, which agree, add, contradict and fall short.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

/// A question familiar to every engineer, with several good answers.
pub const QUESTION: &str =
    "Our nightly job sometimes charges a customer twice. How should we make it safe to retry?";

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
}

/// The handwritten answer of this model, if the question is the demo's.
pub(crate) fn answer(slug: &str, question: &str) -> Option<String> {
    if !question.contains(QUESTION) {
        return None;
    }
    let short = || TEXTS.points.get(slug).map(|point| format!("{} {point}", TEXTS.core));
    TEXTS.answers.get(slug).cloned().or_else(short)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_answers_have_the_length_of_an_answer() {
        for (slug, text) in &TEXTS.answers {
            let words = text.split_whitespace().count();
            assert!((80..=165).contains(&words), "{slug}: {words} words");
        }
    }
}
