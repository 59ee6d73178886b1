//! Questions with one right answer, and answers as models write them: bare, in a sentence, in a box, behind a marker,
//! in other languages; some say nothing or refuse.

use crate::proof::panel::{Choice, NOTHING};
use crate::proof::rng::Rng;

/// Options whose wording favours none of them.
const OPTIONS: [&str; 8] = [
    "the copper gate",
    "the silver gate",
    "the iron gate",
    "the brass gate",
    "the stone gate",
    "the glass gate",
    "the oak gate",
    "the pearl gate",
];
/// Ways to name an option: `@` stands for its label, `#` for its text.
const CHOICES: [&str; 10] = [
    "@",
    "(@)",
    "The answer is @.",
    "**Answer: @**",
    "@) #",
    "Option @",
    "All were looked at, one after the other.\n\nThe rest can be ruled out.\n\n$\\boxed{@}$",
    "First I took another one for it.\nThat does not hold.\n#### @",
    "It follows from the first sentence.\n\n**Final answer:** @",
    "#",
];
/// Ways to name a number.
const NUMBERS: [&str; 12] = [
    "@",
    "@.0",
    "The answer is @.",
    "**@**",
    "**Answer:** @ coins",
    "@ coins",
    "We add them up: 3 and 4 make 7.\n\nGoing on like this.\n\n$\\boxed{@}$",
    "Two steps.\nThen one more.\n#### @",
    "Die Antwort lautet @.",
    "La respuesta es @ coins.",
    "答案是@",
    "In all there are @ coins.",
];
/// Answers that name no option.
const NOTHINGS: [&str; 4] = [
    "I cannot tell from what is written here.",
    "It depends on what is meant.\n\nMuch speaks for one, and much for another.\n\nI would ask somebody who knows.",
    "Several of them could be right.",
    "Nobody knows that.",
];

/// The reply of a seat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Written {
    Text(String),
    /// A refusal with this text.
    Refused(String),
}

impl Written {
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Text(text) | Self::Refused(text) => text,
        }
    }
}

/// A question, and the names of its possible answers.
#[derive(Clone, Debug)]
pub(super) struct Question {
    pub(super) text: String,
    /// The name of each possible answer, the right one first.
    names: Vec<String>,
    forms: &'static [&'static str],
}

impl Question {
    /// A question with this many options.
    pub(super) fn choice(options: usize, rng: &mut Rng) -> Self {
        let labels = (0..options).map(|index| char::from(b'A' + u8::try_from(index).expect("it is small")));
        let lines: Vec<String> =
            labels.clone().zip(OPTIONS).map(|(label, option)| format!("{label}) {option}")).collect();
        let mut names: Vec<String> = labels.map(|label| label.to_string()).collect();
        rng.shuffle(&mut names);
        let text = format!("Which gate did the last traveller take?\n{}", lines.join("\n"));
        Self { text, names, forms: &CHOICES }
    }

    /// A question for a number.
    pub(super) fn number(options: usize, rng: &mut Rng) -> Self {
        let right = 20 + rng.below(1_000);
        let mut names: Vec<String> = (0..options).map(|choice| (right + 3 * choice).to_string()).collect();
        rng.shuffle(&mut names);
        Self { text: "How many coins are in the chest?".to_owned(), names, forms: &NUMBERS }
    }

    /// Writes an answer as a model would.
    pub(super) fn write(&self, choice: Choice, rng: &mut Rng) -> Written {
        if choice == NOTHING {
            let text = (*rng.pick(&NOTHINGS)).to_owned();
            return if rng.chance(0.3) { Written::Refused(text) } else { Written::Text(text) };
        }
        let name = &self.names[choice];
        let option = usize::from(name.as_bytes()[0].wrapping_sub(b'A'));
        let form = rng.pick(self.forms).replace('@', name);
        // The `#` in `####` does not stand for an option.
        let text = OPTIONS.get(option).map_or(form.clone(), |option| {
            if form.contains("####") { form.clone() } else { form.replace('#', option) }
        });
        Written::Text(text)
    }
}
