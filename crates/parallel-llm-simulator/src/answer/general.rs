//! Builds answers to any question from its own words and a template of the model's lab.
//!
//! The templates agree on a core and differ in emphasis. One of them disagrees, so that there is something to fuse.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::behaviour::seed::Draw;
use crate::state::catalogue::Model;

use super::words::carries_meaning;

/// Most words of the question in one phrase.
const PHRASE_WORDS_MAX: usize = 4;

static TEXTS: LazyLock<AnswerTexts> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../assets/answers.json"))
        .expect("the embedded texts are well formed")
});

/// Templates: `{a}` is the main phrase of the question, `{b}` another one, `{own}` the model's own sentence.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AnswerTexts {
    /// A template for each large lab, and two short ones for all others.
    turns: BTreeMap<String, String>,
    terse: [String; 2],
    /// Sentences that make models differ, assigned by the index in the catalogue.
    angles: Vec<String>,
}

/// The answer of this model to any question.
pub(crate) fn answer(seed: u64, model: &Model, question: &str) -> String {
    let phrases = phrases(question);
    let subject = phrases.iter().max_by_key(|phrase| phrase.len()).map_or("this", String::as_str);
    let other = phrases.iter().find(|phrase| *phrase != subject).map_or(subject, String::as_str);
    let own = &TEXTS.angles[model.index % TEXTS.angles.len()];
    let text = turn(seed, model, question).replace("{own}", own);
    text.replace("{a}", subject).replace("{b}", other)
}

fn turn(seed: u64, model: &Model, question: &str) -> &'static str {
    let lab = model.lab();
    let terse = || &TEXTS.terse[usize::from(Draw::new(seed, &[lab, question]).below(2) != 0)];
    TEXTS.turns.get(lab).unwrap_or_else(terse)
}

/// The phrases of the question, in order: runs of words that carry meaning.
fn phrases(question: &str) -> Vec<String> {
    let mut phrases = Vec::new();
    let mut run: Vec<&str> = Vec::new();
    for word in question.split_whitespace() {
        let bare = word.trim_matches(|sign: char| !sign.is_alphanumeric());
        if carries_meaning(bare) && run.len() < PHRASE_WORDS_MAX {
            run.push(bare);
        } else {
            end_run(&mut run, &mut phrases);
        }
        if word.ends_with([',', '.', ';', ':', '?', '!']) {
            end_run(&mut run, &mut phrases);
        }
    }
    end_run(&mut run, &mut phrases);
    phrases
}

fn end_run(run: &mut Vec<&str>, phrases: &mut Vec<String>) {
    if !run.is_empty() {
        phrases.push(run.join(" "));
        run.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_question_names_its_subjects() {
        let question = "Should we use Postgres or SQLite for a small internal tool?";
        assert_eq!(phrases(question), ["Postgres", "SQLite", "small internal tool"]);
        assert!(phrases("Why?").is_empty());
    }
}
