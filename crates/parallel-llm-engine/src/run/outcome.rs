//! What came of a run: the final text, and truthfully how it came about.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::agreement::Agreement;
use crate::plan::caller_slot::{CallerSlot, StepNumber};
use crate::request::panel::{ModelRef, SeatNumber};
use crate::text::injection::Sign;
use crate::value::answer::Failure;
use crate::value::code::Code;
use crate::value::money::PicoUsd;
use crate::value::warning::Warning;

/// How the final text came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OutcomeKind {
    /// A synthesizer wrote it from the answers.
    Fused,
    /// A strategy chose one answer among several.
    Selected,
    /// One answer, word for word, because there was nothing to fuse or nobody could.
    Verbatim,
    /// All answers one after the other, and nothing made of them.
    Listed,
    /// There is no text.
    None,
}

/// A candidate that was shortened to fit its reader's context, or because no more of it was wanted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shortened {
    /// Whose answer.
    pub seat: SeatNumber,
    /// Its length in characters.
    pub from_chars: u64,
    /// How much of it the reader was shown.
    pub to_chars: u64,
}

/// Whether fusing was worth it this time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Worth {
    /// The answer the synthesizer started from.
    pub base_seat: SeatNumber,
    /// How much of the final text differs from that answer: 0 the same, 1 nothing in common. `None` where the
    /// texts are too long to compare.
    pub edit_ratio: Option<f64>,
    /// Seats whose answers have wording of the final text that the base's has not: what fusing drew on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drawn_from: Vec<SeatNumber>,
    /// What fusing cost beyond the panel.
    pub extra_cost: Option<PicoUsd>,
    /// How long fusing took beyond the panel, in milliseconds.
    pub extra_ms: u64,
}

/// Who read the answers and said in its reply what they agree and differ in. The reply is kept like any answer, so what it
/// says is a view of it, [`crate::run::analysis::of`], and stands nowhere else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// Whose reply it is.
    pub by: CallerSlot,
    /// BLAKE3 of the reply, in hexadecimal: the place may be asked once more in a later part of the run.
    pub reply_hash: String,
    /// Whose answers it was shown, in the order of their labels `A`, `B`, ….
    pub shown: Vec<SeatNumber>,
}

/// What one judge made of the answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// The call it gave it in.
    pub step: StepNumber,
    /// Who.
    pub by: ModelRef,
    /// Whose answers it was shown, the best first. One it did not name is not among them.
    pub ranking: Vec<SeatNumber>,
}

/// What judges made of the answers, where any were asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judging {
    /// Every verdict, in the order they were asked for.
    pub verdicts: Vec<Verdict>,
    /// How often a judge changed its mind with the order in which it was shown the answers.
    pub flips: usize,
}

/// What the user's own check says of one answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Checked {
    /// Whose answer.
    pub seat: SeatNumber,
    /// Whether it passes; `None` where the check could not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed: Option<bool>,
    /// How well, from 0 to 1, where it passes and the check says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// Why the check could not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Code>,
    /// The beginning of what it wrote to its stderr; never kept where only metadata is, because it may quote the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub said: Option<Arc<str>>,
    /// How long the check took, in milliseconds.
    pub elapsed_ms: u64,
}

/// What came of asking the seats again, each with what the others had said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Round {
    /// Which: of a layered strategy the layer, the panel being the first; of a debate the round, from 1.
    pub round: u16,
    /// Seats that gave another answer; what a seat has that gave none stays its own.
    pub answered: Vec<SeatNumber>,
    /// Those of them whose answer comes to something else than the one before.
    pub changed: Vec<SeatNumber>,
    /// Those of these that now say what most had said before: the known way to lose a right answer.
    pub followed: Vec<SeatNumber>,
    /// Those that answered and of whom it cannot be told whether they say the same as before.
    pub untold: Vec<SeatNumber>,
    /// The most answers that say the same after it; 0 where that cannot be told.
    pub equal: usize,
    /// Of how many.
    pub of: usize,
    /// Seats whose answer from before it nobody was shown, where only some were.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unshown: Vec<SeatNumber>,
}

impl Round {
    /// Whether there were several answers after it and all said the same.
    pub fn is_unanimous(&self) -> bool {
        self.of > 1 && self.equal == self.of
    }
}

/// A seat whose answer may have tried to instruct whoever read it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suspicion {
    /// Whose.
    pub seat: SeatNumber,
    /// Why, each sign once.
    pub signs: Vec<Sign>,
}

/// What came of making the text without each of the answers, too.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaveOneOut {
    /// Each of these texts, in the order of the panel; one that did not come is not among them.
    pub texts: Vec<Without>,
    /// The seat without whose answer the text that stands was made, because the result hung on that answer alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stands_without: Option<SeatNumber>,
}

/// A text that was made without one of the answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Without {
    /// Whose answer was left out.
    pub seat: SeatNumber,
    /// The call that made it.
    pub step: StepNumber,
    /// How far it is from the other texts, in thousandths: 0 the same as most of them, 1000 nothing in common. `None` where it
    /// could not be compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apart: Option<u16>,
}

/// The end of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// How the text came about.
    pub kind: OutcomeKind,
    /// The final text; stored apart from the event, like an answer's.
    #[serde(skip)]
    pub text: Option<Arc<str>>,
    /// BLAKE3 of the text, in hexadecimal, where there is one.
    pub text_hash: Option<String>,
    /// The model whose words these are.
    pub by: Option<ModelRef>,
    /// The seat whose answer it is, word for word, or that the fusion started from.
    pub base_seat: Option<SeatNumber>,
    /// The call that gave the text of that seat, where it is not the seat's answer in the panel but a later one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_step: Option<StepNumber>,
    /// The seats whose answers were there to choose from; one that came later is not among them.
    #[serde(default)]
    pub considered: Vec<SeatNumber>,
    /// Those of them whose answers the synthesizer or judge was not shown, because only some were and others are closer to
    /// all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unshown: Vec<SeatNumber>,
    /// Which of these say the same, where that can be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agreement: Option<Agreement>,
    /// What judges made of them, where any were asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judging: Option<Judging>,
    /// What the user's own check says of them, in the order of the panel, where they were checked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Checked>,
    /// What came of asking the seats again, where they were.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rounds: Vec<Round>,
    /// Who said what the answers agree and differ in, where anybody did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reading: Option<Reading>,
    /// What came of leaving each answer out, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leave_one_out: Option<LeaveOneOut>,
    /// Answers that may have tried to instruct whoever read them, in the order of the panel.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suspected: Vec<Suspicion>,
    /// Seats whose models are of the vendor of a model that read the answers, or are that model: readers have been found to
    /// like their own kind.
    #[serde(default, rename = "kin", skip_serializing_if = "Vec::is_empty")]
    pub same_vendor: Vec<SeatNumber>,
    /// Why it came about this way, in one sentence.
    pub reason: String,
    /// Answers that their reader saw only in part.
    #[serde(default)]
    pub shortened: Vec<Shortened>,
    /// Whether fusing was worth it; only where something was fused.
    pub worth: Option<Worth>,
    /// What else the reader should know.
    #[serde(default)]
    pub warnings: Vec<Warning>,
    /// Why there is no text, where there is none.
    pub failure: Option<Failure>,
    /// Why nobody could fuse, where answers were to be fused and the text is one of them instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfused: Option<Failure>,
}

impl Outcome {
    /// An outcome of this kind with a reason and nothing else.
    pub fn new(kind: OutcomeKind, reason: impl Into<String>) -> Self {
        Self {
            kind,
            text: None,
            text_hash: None,
            by: None,
            base_seat: None,
            base_step: None,
            considered: Vec::new(),
            unshown: Vec::new(),
            agreement: None,
            judging: None,
            checks: Vec::new(),
            rounds: Vec::new(),
            reading: None,
            leave_one_out: None,
            suspected: Vec::new(),
            same_vendor: Vec::new(),
            reason: reason.into(),
            shortened: Vec::new(),
            worth: None,
            warnings: Vec::new(),
            failure: None,
            unfused: None,
        }
    }

    /// Whether this stands although a later part of the run came to `newer`: that is no text, or one answer only because
    /// nobody could fuse, while this was made of several.
    pub fn outdoes(&self, newer: &Self) -> bool {
        match newer.kind {
            OutcomeKind::None => self.kind != OutcomeKind::None,
            _ => newer.unfused.is_some() && matches!(self.kind, OutcomeKind::Fused | OutcomeKind::Selected),
        }
    }

    /// Adds a sign to what is suspected of a seat.
    pub fn suspect(&mut self, seat: SeatNumber, sign: Sign) {
        let at = self.suspected.binary_search_by_key(&seat, |suspicion| suspicion.seat);
        let at = at.unwrap_or_else(|at| {
            self.suspected.insert(at, Suspicion { seat, signs: Vec::new() });
            at
        });
        let signs = &mut self.suspected[at].signs;
        if let Err(index) = signs.binary_search(&sign) {
            signs.insert(index, sign);
        }
    }

    /// No text, and why.
    pub fn none(failure: Failure) -> Self {
        Self { failure: Some(failure.clone()), ..Self::new(OutcomeKind::None, failure.message) }
    }

    /// Gives the outcome its text and whose words they are.
    #[must_use]
    pub fn with_text(self, text: Arc<str>, by: ModelRef) -> Self {
        Self { by: Some(by), ..self.with_words(text) }
    }

    /// Gives the outcome a text that is nobody's alone.
    #[must_use]
    pub fn with_words(mut self, text: Arc<str>) -> Self {
        self.text_hash = Some(blake3::hash(text.as_bytes()).to_hex().to_string());
        self.text = Some(text);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_worse_by_need_leaves_the_answer_before_it() {
        let failure = || Failure::new(Code::Upstream, "it failed");
        let fallback = || Outcome { unfused: Some(failure()), ..Outcome::new(OutcomeKind::Verbatim, "") };
        let kinds = [OutcomeKind::Fused, OutcomeKind::Selected, OutcomeKind::Verbatim, OutcomeKind::None];
        let stands = |newer: Outcome| kinds.map(|kind| Outcome::new(kind, "").outdoes(&newer));
        assert_eq!(stands(Outcome::none(failure())), [true, true, true, false]);
        assert_eq!(stands(fallback()), [true, true, false, false]);
        // One that was made so on purpose is what was asked for.
        assert_eq!(stands(Outcome::new(OutcomeKind::Verbatim, "")), [false; 4]);
        assert_eq!(stands(Outcome::new(OutcomeKind::Fused, "")), [false; 4]);
        assert!(!fallback().outdoes(&fallback()));
    }
}
