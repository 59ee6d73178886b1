//! The new wording of a fused text: the passages that share no phrase with any answer or with the question.
//!
//! Only wording is compared: a known thought in other words counts as new, a denial in known words does not. So it says
//! nothing of which answer stands behind a passage; what a model that read the answers says of that is in
//! [`super::analysis`]. There is no result if a text is missing or the texts are too long to compare.

use crate::plan::caller_slot::CallerSlot;
use crate::plan::step::{StepKey, StepRole};
use crate::request::panel::SeatNumber;
use crate::run::outcome::OutcomeKind;
use crate::run::{Run, SeatView};
use crate::text::shingles::{Shingles, all_phrases};
use crate::text::short_answer::{Form, Value};

/// The most bytes of texts that are compared, as for edit ratios.
const COMPARED_BYTES_MAX: usize = 200_000;
/// The most passages that are reported; all are counted.
const PASSAGES_MAX: usize = 20;
/// The longest reported passage in characters; longer ones are cut.
const PASSAGE_CHARS_MAX: usize = 300;

/// The new wording of a fused text.
#[derive(Clone, Debug, PartialEq)]
pub struct Novelty {
    /// The share, 0 to 1, of its sentences and list items without a phrase of three words from an answer or the question,
    /// rounded to three decimals. Passages of fewer words are not counted.
    pub share: f64,
    /// The first of these passages, as in the text.
    pub passages: Vec<String>,
    /// The short answer of the text, if the question has one and no answer gives it.
    pub value: Option<String>,
}

/// The novelty of the current text; `None` if it was not fused or cannot be compared.
pub fn of(run: &Run) -> Option<Novelty> {
    let outcome = run.outcome.as_ref().filter(|outcome| outcome.kind == OutcomeKind::Fused)?;
    let text = outcome.text.as_deref().filter(|text| !text.is_empty())?;
    let answer = |seat: &SeatNumber| text_of(run.seat(*seat)?);
    let panel = outcome.considered.iter().map(answer);
    let again =
        outcome.rounds.iter().flat_map(|round| round.answered.iter().map(|seat| (*seat, round.round)));
    let again = again.map(|(seat, round)| {
        let key = StepKey { role: StepRole::Proposer, by: CallerSlot::Seat(seat), round };
        text_of(run.view(CallerSlot::Step(run.plan.step(key)?.number))?)
    });
    let answers: Vec<&str> = panel.chain(again).collect::<Option<_>>()?;
    let question = run.plan.question();
    let bytes = answers.iter().map(|answer| answer.len()).sum::<usize>() + question.len() + text.len();
    (bytes <= COMPARED_BYTES_MAX).then(|| compare(text, &question, &answers))
}

/// The text of a view, if it is stored.
fn text_of(view: &SeatView) -> Option<&str> {
    Some(&*view.answer.as_ref()?.text).filter(|text| !text.is_empty())
}

fn compare(text: &str, question: &str, answers: &[&str]) -> Novelty {
    let known: Vec<u64> = answers.iter().copied().chain([question]).flat_map(all_phrases).collect();
    let known: Shingles = known.into_iter().collect();
    let (mut counted, mut new) = (0_usize, Vec::new());
    for passage in passages(text) {
        let phrases = all_phrases(passage);
        counted += usize::from(!phrases.is_empty());
        if !phrases.is_empty() && !phrases.iter().any(|phrase| known.contains(phrase)) {
            new.push(passage);
        }
    }
    let share = new.len() as f64 / counted.max(1) as f64;
    let excerpt = |passage: &&str| passage.chars().take(PASSAGE_CHARS_MAX).collect();
    Novelty {
        share: (share * 1e3).round() / 1e3,
        passages: new.iter().take(PASSAGES_MAX).map(excerpt).collect(),
        value: new_value(text, question, answers),
    }
}

/// The short answer of the text, if some answers have one and none has this.
fn new_value(text: &str, question: &str, answers: &[&str]) -> Option<String> {
    let form = Form::of(question)?;
    let value = form.read(text, None)?;
    let given: Vec<Value> = answers.iter().filter_map(|answer| form.read(answer, None)).collect();
    let is_new = !given.is_empty() && !given.contains(&value);
    is_new.then(|| value.to_string())
}

/// The sentences and list items of a text, without the blanks around them.
fn passages(text: &str) -> impl Iterator<Item = &str> {
    text.lines().flat_map(sentences).map(str::trim).filter(|passage| !passage.is_empty())
}

fn sentences(line: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let (mut begin, mut characters) = (0, line.char_indices().peekable());
    while let Some((at, character)) = characters.next() {
        let is_end = match character {
            '。' | '！' | '？' => true,
            // No end within `3.5` or `main.rs`.
            '.' | '!' | '?' | '…' => characters.peek().is_none_or(|(_, next)| next.is_whitespace()),
            _ => false,
        };
        if is_end {
            let end = at + character.len_utf8();
            sentences.push(&line[begin..end]);
            begin = end;
        }
    }
    sentences.push(&line[begin..]);
    sentences
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares the share, the passages and the new value.
    fn check(question: &str, answers: &[&str], text: &str, expected: &str) {
        let Novelty { share, passages, value } = compare(text, question, answers);
        assert_eq!(format!("{share} {passages:?} {}", value.as_deref().unwrap_or("-")), expected, "{text}");
    }

    const SEA: [&str; 2] = ["The moon pulls the sea.", "The sun and the moon pull the water."];

    #[test]
    fn a_sentence_without_a_known_phrase_is_new() {
        check("How do tides work?", &SEA, "The moon pulls the sea.", "0 [] -");
        let text = "So the moon pulls the sea.\n- Wind adds up to 3.5 metres more. Really!\n- How do tides work here? 是的";
        check("How do tides work?", &SEA, text, r#"0.333 ["- Wind adds up to 3.5 metres more."] -"#);
        check("潮？", &["月球的引力引起潮汐。"], "月球的引力很大。风也有影响。", r#"0.5 ["风也有影响。"] -"#);
    }

    #[test]
    fn a_value_that_no_answer_gave_is_new() {
        let check = |answers: &[&str], text, expected| {
            check(
                "How many legs has a spider? End with Answer: <number>",
                answers,
                text,
                &format!("0 [] {expected}"),
            );
        };
        check(&["Answer: 6", "Answer: 7 legs"], "Answer: 8", "8");
        check(&["Answer: 6", "Answer: 8 legs"], "Answer: 8", "-");
        check(&["It depends.", "Who knows?"], "Answer: 8", "-");
        check(&["Answer: 6", "Answer: 7"], "Many.", "-");
    }

    #[test]
    fn a_long_text_is_compared_whole_and_quoted_in_part() {
        let words: Vec<String> = (0..20_000).map(|number| format!("w{number}")).collect();
        let (answer, new) = (words.join(" "), format!("{}.", "n ".repeat(400)));
        let novelty = compare(&format!("{}.\n{new}", words[19_000..].join(" ")), "", &[&answer]);
        assert_eq!((novelty.share, novelty.passages[0].chars().count()), (0.5, PASSAGE_CHARS_MAX));
    }
}
