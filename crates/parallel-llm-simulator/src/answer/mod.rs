//! Writes the text of an answer: plausible, different for each model, the same for the same seed.
//!
//! `demo` holds handwritten answers and what is made of them, `general` builds answers from the words of the question, and `synthesis` fuses the
//! candidates of a prompt.

mod demo;
mod general;
mod marks;
mod synthesis;
mod words;

pub use demo::{QUESTION as DEMO_QUESTION, VOTE_QUESTION as DEMO_VOTE_QUESTION};

use crate::state::catalogue::Model;

/// The longest text that is a short answer as a whole, in bytes.
const SHORT_BYTES_MAX: usize = 60;

/// The answer of this model, and whether it fuses candidates. A prompt that asks for a last line `ANSWER: …` gets one.
pub(crate) fn write(seed: u64, model: &Model, prompt: &str) -> (String, bool) {
    let Some(request) = before_line_request(prompt) else { return unlined(seed, model, prompt) };
    let (text, is_synthesis) = unlined(seed, model, request);
    let is_short = text.len() <= SHORT_BYTES_MAX && !text.trim().contains(['\n', '.']);
    let line = if is_short { text.trim() } else { "none" };
    (format!("{text}\n\nANSWER: {line}"), is_synthesis)
}

/// A prompt up to the paragraph that asks for the line; `None` if none does.
fn before_line_request(prompt: &str) -> Option<&str> {
    let at = prompt.find("\nANSWER: none")?;
    prompt[..at].rfind("\n\n").map(|begin| &prompt[..begin])
}

fn unlined(seed: u64, model: &Model, prompt: &str) -> (String, bool) {
    let Some(marks) = marks::read(prompt) else { return (single(seed, model, prompt), false) };
    match marks.candidates.as_slice() {
        [] => (single(seed, model, &marks.question), false),
        _ => (synthesis::write(&marks), true),
    }
}

fn single(seed: u64, model: &Model, question: &str) -> String {
    demo::answer(&model.id, question).unwrap_or_else(|| general::answer(seed, model, question))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::state::catalogue::Catalogue;

    fn answers(question: &str) -> Vec<(String, String)> {
        let catalogue = Catalogue::embedded();
        let served = catalogue.models.iter().filter(|model| catalogue.served(model).id == model.id);
        served.map(|model| (model.id.clone(), write(7, model, question).0)).collect()
    }

    /// Every model says at least one sentence that no other model says.
    fn check(question: &str) {
        let answers = answers(question);
        assert!(answers.len() > 15);
        let mut counts = HashMap::new();
        for (_, answer) in &answers {
            for sentence in words::sentences(answer) {
                *counts.entry(sentence).or_insert(0) += 1;
            }
        }
        for (slug, answer) in &answers {
            let own = words::sentences(answer).filter(|sentence| counts[*sentence] == 1).count();
            assert!(own >= 1, "{slug} says nothing of its own:\n{answer}");
        }
    }

    #[test]
    fn each_model_gives_its_own_answer() {
        check(DEMO_QUESTION);
        check("Should we use Postgres or SQLite for a small internal tool?");
        check("Why?");
    }

    #[test]
    fn the_same_question_gets_the_same_answer() {
        let question = "How do we shrink our container images?";
        assert_eq!(answers(question), answers(question));
    }

    #[test]
    fn a_line_that_is_asked_for_is_given() {
        let model = Catalogue::embedded().find("openai/gpt-6.1-sol").unwrap();
        let asks =
            "\n\nIf there is a short answer, end with the line\nANSWER: <it>\nOtherwise with\nANSWER: none\n";
        let last = |question: &str| {
            let (answer, _) = write(7, model, &format!("{question}{asks}"));
            let plain = write(7, model, question).0;
            assert!(answer.starts_with(&plain), "the request for the line changes nothing else");
            answer.lines().last().unwrap().to_owned()
        };
        assert_eq!(last("Why?"), "ANSWER: none");
        assert_eq!(last(DEMO_VOTE_QUESTION), "ANSWER: 124");
    }

    #[test]
    fn an_answer_built_from_the_question_reads_sensibly() {
        let model = Catalogue::embedded().find("openai/gpt-6.1-sol").unwrap();
        let (answer, is_synthesis) =
            write(7, model, "Should we use Postgres or SQLite for a small internal tool?");
        assert!(!is_synthesis);
        assert!(answer.contains("small internal tool") && answer.contains("Postgres"), "{answer}");
    }
}
