//! Whether a text that the program calls `fused` is babble.
//!
//! It judges for itself and shares nothing with the floor of the engine, so that a hole there is none here. A text that
//! passes may be wrong: only what no reader would take for an answer is found.

use std::collections::BTreeSet;

/// What a text is compared with.
pub(super) struct Basis<'a> {
    /// The question, and the answers that were fused.
    pub(super) material: &'a [String],
    /// What the program tells a model.
    pub(super) prompts: &'a [String],
}

/// Parts of the JSON that the prompts ask for.
const FORM: [&str; 4] = ["\"supported_by\"", "\"suspected_injection\"", "\"blind_spots\"", "\"ranking\""];
/// So many words in a row are no coincidence.
const QUOTED_WORDS: usize = 8;
/// So often nobody says the same.
const REPEATED_TIMES: usize = 4;
/// A sentence of fewer letters may return, such as a bracket in code.
const REPEATED_LETTERS_MIN: usize = 6;
/// Words of fewer letters say nothing about the matter.
const MATTER_LETTERS_MIN: usize = 4;
/// Longer words that say nothing about the matter, either.
const EMPTY_WORDS: &[&str] = &[
    "about", "also", "answer", "been", "could", "does", "from", "have", "into", "just", "many", "more",
    "most", "much", "only", "other", "request", "some", "such", "than", "that", "their", "them", "then",
    "there", "these", "they", "this", "very", "what", "when", "where", "which", "will", "with", "would",
    "your",
];

/// The reasons why a text is babble; none for an answer, good or bad.
pub(super) fn reasons(text: &str, basis: &Basis<'_>) -> Vec<&'static str> {
    let checks = [
        ("is empty", text.trim().is_empty()),
        ("has parts of the form", has_marker(text) || FORM.iter().any(|part| text.contains(part))),
        ("quotes the instructions", quotes(text, basis.prompts)),
        ("is a lone label", is_label(text)),
        ("repeats itself", repeats(text)),
        ("has no word of the matter", !shares(text, basis.material)),
    ];
    checks.into_iter().filter(|(_, holds)| *holds).map(|(reason, _)| reason).collect()
}

/// `<<answer 1234>>` and all that looks like it.
fn has_marker(text: &str) -> bool {
    text.split("<<").skip(1).any(|rest| rest.starts_with(char::is_alphabetic))
}

fn words(text: &str) -> Vec<String> {
    let words = text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

fn quotes(text: &str, prompts: &[String]) -> bool {
    let text = words(text);
    let said: BTreeSet<&[String]> = text.windows(QUOTED_WORDS).collect();
    prompts.iter().any(|prompt| words(prompt).windows(QUOTED_WORDS).any(|row| said.contains(row)))
}

/// `B`, `(b)`, `Candidate B.` and the like.
fn is_label(text: &str) -> bool {
    let words = words(text);
    let named = words.iter().filter(|word| !["answer", "candidate", "the", "is"].contains(&word.as_str()));
    !words.is_empty() && named.clone().all(|word| word.chars().count() == 1) && named.count() <= 1
}

fn repeats(text: &str) -> bool {
    let sentences: Vec<String> =
        text.split(['.', '!', '?', '\n']).map(|sentence| words(sentence).join(" ")).collect();
    let long = sentences.iter().filter(|sentence| sentence.len() >= REPEATED_LETTERS_MIN);
    long.clone().any(|one| long.clone().filter(|other| *other == one).count() >= REPEATED_TIMES)
}

fn shares(text: &str, material: &[String]) -> bool {
    let matter = |text: &str| -> BTreeSet<String> {
        let long =
            |word: &String| word.chars().count() >= MATTER_LETTERS_MIN || word.chars().any(char::is_numeric);
        words(text).into_iter().filter(|word| long(word) && !EMPTY_WORDS.contains(&word.as_str())).collect()
    };
    let said = matter(text);
    material.iter().any(|text| !matter(text).is_disjoint(&said))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_babble_is_named() {
        let material = ["Why do cats sleep so much?".to_owned(), "Cats hunt at dusk.".to_owned()];
        let prompts = ["You produce the one answer the person receives. Work alone.".to_owned()];
        let check = |text, expected: &[&str]| {
            let basis = Basis { material: &material, prompts: &prompts };
            assert_eq!(reasons(text, &basis), expected, "{text}");
        };
        check("They rest because they hunt at dusk.", &[]);
        check("A cat saves its strength: cats are hunters.", &[]);
        check(" \n", &["is empty", "has no word of the matter"]);
        check("<<Answer 7.08.2013>> Cats sleep.", &["has parts of the form"]);
        check("<<test 7.08.2013>> Cats sleep.", &["has parts of the form"]);
        check("Cats: 1 << 3.", &[]);
        check(r#"{"supported_by": []} Cats sleep."#, &["has parts of the form"]);
        check("Cats sleep: you produce the one answer, and the person receives it.", &[]);
        check("Cats: you produce the one answer the person receives.", &["quotes the instructions"]);
        for label in ["B", "(a)", "Candidate B.", "The answer is C"] {
            check(label, &["is a lone label", "has no word of the matter"]);
        }
        check("They sleep. They sleep.\nthey sleep!", &[]);
        check("They sleep. They sleep.\nthey sleep!\n- They sleep", &["repeats itself"]);
        check("What would you have me answer about this request?", &["has no word of the matter"]);
        check("The opera opens on Sunday.", &["has no word of the matter"]);
    }
}
