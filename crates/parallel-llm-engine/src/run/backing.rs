//! Which answers back which part of the final text, by wording.
//!
//! Only wording is compared, as for novelty: a shared thought in other words is not found, and a denial in the same words
//! counts. What a model that read the answers says of their claims stands in [`super::analysis`].

use crate::request::panel::SeatNumber;
use crate::run::Run;
use crate::run::novelty::{COMPARED_BYTES_MAX, passages, text_of};
use crate::text::shingles::{Shingles, all_phrases};

/// A part is backed by an answer that shares a phrase with this share of its sentences: a single common phrase of a long
/// paragraph says nothing.
const SHARE_MIN: f64 = 0.5;

/// The considered seats that back each of these parts of the final text; an empty list for a part that no answer backs.
/// `None` for a part too short to be compared. No result at all if a text is missing or the texts are too long.
pub fn of(run: &Run, parts: &[&str]) -> Option<Vec<Option<Vec<SeatNumber>>>> {
    let outcome = run.outcome.as_ref()?;
    let answers = outcome.considered.iter().map(|seat| Some((*seat, text_of(run.seat(*seat)?)?)));
    let answers: Vec<(SeatNumber, &str)> = answers.collect::<Option<_>>()?;
    let question = run.plan.question();
    let bytes = |texts: &mut dyn Iterator<Item = &str>| texts.map(str::len).sum::<usize>();
    let all = bytes(&mut answers.iter().map(|(_, text)| *text)) + bytes(&mut parts.iter().copied());
    (all + question.len() <= COMPARED_BYTES_MAX).then(|| compare(parts, &question, &answers))
}

/// The part that shares the most phrases with a claim, the first of equal ones; `None` if no part shares one.
pub fn closest(claim: &str, parts: &[&str]) -> Option<usize> {
    let claim: Shingles = all_phrases(claim).into_iter().collect();
    let shared = |part: &&str| {
        let phrases: Shingles = all_phrases(part).into_iter().collect();
        phrases.intersection(&claim).count()
    };
    let counted = parts.iter().map(shared).enumerate().filter(|(_, count)| *count > 0);
    counted.max_by_key(|(at, count)| (*count, std::cmp::Reverse(*at))).map(|(at, _)| at)
}

fn compare(parts: &[&str], question: &str, answers: &[(SeatNumber, &str)]) -> Vec<Option<Vec<SeatNumber>>> {
    // Phrases of the question are in most answers and back nothing.
    let asked: Shingles = all_phrases(question).into_iter().collect();
    let own = |text: &str| -> Shingles {
        all_phrases(text).into_iter().filter(|phrase| !asked.contains(phrase)).collect()
    };
    let answers: Vec<(SeatNumber, Shingles)> =
        answers.iter().map(|(seat, text)| (*seat, own(text))).collect();
    let backing = |part: &&str| {
        let sentences: Vec<Shingles> =
            passages(part).map(own).filter(|phrases| !phrases.is_empty()).collect();
        let backs = |phrases: &Shingles| {
            let shared = sentences.iter().filter(|sentence| !sentence.is_disjoint(phrases)).count();
            shared as f64 >= SHARE_MIN * sentences.len() as f64
        };
        let seats = || answers.iter().filter(|(_, phrases)| backs(phrases)).map(|(seat, _)| *seat).collect();
        (!sentences.is_empty()).then(seats)
    };
    parts.iter().map(backing).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_backs_the_parts_that_share_its_wording() {
        let answers = [
            (SeatNumber(1), "The moon pulls the sea. It comes back twice a day."),
            (SeatNumber(3), "Tides rise because the moon pulls the sea."),
        ];
        let parts = [
            "The moon pulls the sea.",
            "It comes back twice a day, which every sailor knows.",
            "Wind adds three metres more. The moon pulls the sea. Nobody can say when. Storms make it worse still.",
            "Why do tides happen at all?",
            "Yes.",
        ];
        let found = compare(&parts, "Why do tides happen at all?", &answers);
        let seats = |numbers: &[u8]| Some(numbers.iter().copied().map(SeatNumber).collect());
        assert_eq!(closest("Wind adds three metres.", &parts), Some(2));
        assert_eq!(closest("The moon pulls the sea.", &parts), Some(0));
        assert_eq!(closest("Nothing of this is there.", &parts), None);
        assert_eq!(found, [seats(&[1, 3]), seats(&[1]), seats(&[]), None, None]);
    }
}
