//! The outcome of a run: its final text, and how the text came about.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::agreement::Agreement;
use crate::plan::caller_slot::{CallerSlot, StepNumber};
use crate::plan::flow::StageNumber;
use crate::prompt;
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
    /// One answer, word for word, because there was nothing to fuse or fusing failed.
    Verbatim,
    /// All answers, one after the other.
    Listed,
    /// There is no text.
    None,
}

/// An answer that was shortened to fit the context of its reader, or by an option.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shortened {
    /// The seat that gave it.
    pub seat: SeatNumber,
    /// Its length in characters.
    pub from_chars: u64,
    /// How many characters the reader was shown.
    pub to_chars: u64,
}

/// Whether fusing was worth its cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Worth {
    /// The answer the synthesizer started from.
    pub base_seat: SeatNumber,
    /// How much the final text differs from that answer: 0 is equal, 1 has nothing in common. `None` if the texts are too
    /// long to compare.
    pub edit_ratio: Option<f64>,
    /// Seats whose answers share wording with the final text that the base answer lacks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drawn_from: Vec<SeatNumber>,
    /// What fusing cost beyond the panel.
    pub extra_cost: Option<PicoUsd>,
    /// How long fusing took beyond the panel, in milliseconds.
    pub extra_ms: u64,
}

/// The call whose reply compares the answers. The reply is kept like any answer; [`crate::run::analysis::of`] reads the
/// comparison out of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// The slot of the call.
    pub by: CallerSlot,
    /// BLAKE3 of the reply, in hexadecimal, because a later part of the run may call the slot again.
    pub reply_hash: String,
    /// The seats whose answers it was shown, in the order of their labels `A`, `B`, ….
    pub shown: Vec<SeatNumber>,
}

impl Reading {
    /// The labels of the answers it was shown, with their seats.
    pub(crate) fn labelled_seats(&self) -> Vec<(String, SeatNumber)> {
        (0..).map(prompt::label).zip(self.shown.iter().copied()).collect()
    }
}

/// The judgement of one judge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// The step of the call.
    pub step: StepNumber,
    /// The model of the judge.
    pub by: ModelRef,
    /// The seats of the answers it ranked, best first; none if it found none best. Answers it did not name are left out.
    pub ranking: Vec<SeatNumber>,
    /// The seats that are first together; none if one is first, or if all are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tied: Vec<SeatNumber>,
}

impl Verdict {
    /// The seats that are first: one, those that are first together, or `all`.
    pub(crate) fn first(&self, all: &[SeatNumber]) -> Vec<SeatNumber> {
        match (self.tied.as_slice(), self.ranking.as_slice()) {
            ([], []) => all.to_vec(),
            ([], [first, ..]) => vec![*first],
            (tied, _) => tied.to_vec(),
        }
    }
}

/// The judgements of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judging {
    /// All judgements, in the order they were asked for.
    pub verdicts: Vec<Verdict>,
    /// How often a judge decided otherwise when it was shown the answers in another order.
    pub flips: usize,
}

/// The result of the check command for one answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Checked {
    /// The seat that gave it.
    pub seat: SeatNumber,
    /// Whether it passes; `None` if the check failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passed: Option<bool>,
    /// The score from 0 to 1, if the answer passes and the check gives one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// Why the check failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Code>,
    /// The beginning of its stderr. Not stored if only metadata is, because it may quote the answer.
    #[serde(default, rename = "said", skip_serializing_if = "Option::is_none")]
    pub stderr: Option<Arc<str>>,
    /// How long the check took, in milliseconds.
    pub elapsed_ms: u64,
}

/// A round in which the seats answered again after reading the answers of the others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Round {
    /// The number: the layer of a layered strategy, the panel being 1. In stored runs also the round of a debate, from 1.
    pub round: u16,
    /// Seats that answered again; a seat that did not keeps its earlier answer.
    pub answered: Vec<SeatNumber>,
    /// Those whose answer has another value than before.
    pub changed: Vec<SeatNumber>,
    /// Those that changed to the previous majority, the known way to lose a right answer.
    pub followed: Vec<SeatNumber>,
    /// Those that answered, but whose old and new value cannot be compared.
    #[serde(rename = "untold")]
    pub undetermined: Vec<SeatNumber>,
    /// The size of the largest group of equal answers after the round; 0 if they cannot be compared.
    pub equal: usize,
    /// The number of answers.
    pub of: usize,
    /// Seats whose previous answers were not shown to anyone. Only stored runs have them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unshown: Vec<SeatNumber>,
}

impl Round {
    /// Whether several answers remained and all agreed.
    pub fn is_unanimous(&self) -> bool {
        self.of > 1 && self.equal == self.of
    }
}

/// A seat whose answer may have tried to instruct its reader.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suspicion {
    /// The seat.
    pub seat: SeatNumber,
    /// The signs of it, each once.
    pub signs: Vec<Sign>,
}

/// The texts that were made with each answer left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaveOneOut {
    /// These texts, in the order of the panel. Texts that failed are left out.
    pub texts: Vec<Without>,
    /// The seat whose answer the current text was made without, because the result depended on it alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stands_without: Option<SeatNumber>,
}

/// A text made without one of the answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Without {
    /// The seat whose answer was left out.
    pub seat: SeatNumber,
    /// The step that made it.
    pub step: StepNumber,
    /// Its distance from the other texts in thousandths: 0 is equal to most of them, 1000 has nothing in common. `None` if it
    /// could not be compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apart: Option<u16>,
}

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// How the text came about.
    pub kind: OutcomeKind,
    /// The final text; stored apart from the event, like an answer's.
    #[serde(skip)]
    pub text: Option<Arc<str>>,
    /// BLAKE3 of the text, in hexadecimal, if there is one.
    pub text_hash: Option<String>,
    /// The model that wrote the text.
    pub by: Option<ModelRef>,
    /// The seat whose answer the text is, or from which the fusion started.
    pub base_seat: Option<SeatNumber>,
    /// The step that gave this answer; `None` for the answer of the panel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_step: Option<StepNumber>,
    /// The stage of the flow whose text it is, or from which the fusion started; `base_seat` is then where that text came
    /// from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_stage: Option<StageNumber>,
    /// The seats whose answers were considered. Late answers are not among them.
    #[serde(default)]
    pub considered: Vec<SeatNumber>,
    /// Those whose answers the synthesizer or judge was not shown, because others were closer to all. Only stored runs have
    /// them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unshown: Vec<SeatNumber>,
    /// Which of these agree, if they can be compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agreement: Option<Agreement>,
    /// The judgements, if a judge was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judging: Option<Judging>,
    /// The results of the check command, in the order of the panel.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Checked>,
    /// The rounds in which seats answered again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rounds: Vec<Round>,
    /// The call that compared the answers, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reading: Option<Reading>,
    /// The texts with each answer left out, if they were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leave_one_out: Option<LeaveOneOut>,
    /// Answers that may have tried to instruct their reader, in the order of the panel.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suspected: Vec<Suspicion>,
    /// Seats whose models are of the same vendor as a model that read the answers, because readers tend to prefer answers of
    /// their own kind. Stored under its first name.
    #[serde(default, rename = "kin", skip_serializing_if = "Vec::is_empty")]
    pub same_vendor: Vec<SeatNumber>,
    /// The reason for the outcome, in one sentence.
    pub reason: String,
    /// Answers that were shown only in part.
    #[serde(default)]
    pub shortened: Vec<Shortened>,
    /// Whether fusing was worth its cost; `None` if nothing was fused.
    pub worth: Option<Worth>,
    /// Warnings.
    #[serde(default)]
    pub warnings: Vec<Warning>,
    /// Why there is no text.
    pub failure: Option<Failure>,
    /// Why fusing failed, if the text is a single answer instead of the fusion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfused: Option<Failure>,
}

impl Outcome {
    /// An outcome with this kind and reason and nothing else.
    pub fn new(kind: OutcomeKind, reason: impl Into<String>) -> Self {
        Self {
            kind,
            text: None,
            text_hash: None,
            by: None,
            base_seat: None,
            base_step: None,
            base_stage: None,
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

    /// Whether this outcome stays current although a later part came to `newer`: that has no text, or is a single answer
    /// because fusing failed while this one was made of several.
    pub fn is_better_than(&self, newer: &Self) -> bool {
        match newer.kind {
            OutcomeKind::None => self.kind != OutcomeKind::None,
            _ => newer.unfused.is_some() && matches!(self.kind, OutcomeKind::Fused | OutcomeKind::Selected),
        }
    }

    /// Adds a sign to the suspicion of a seat.
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

    /// An outcome without a text.
    pub fn none(failure: Failure) -> Self {
        Self { failure: Some(failure.clone()), ..Self::new(OutcomeKind::None, failure.message) }
    }

    /// Sets the text and the model that wrote it.
    #[must_use]
    pub fn with_text(self, text: Arc<str>, by: ModelRef) -> Self {
        Self { by: Some(by), ..self.with_joint_text(text) }
    }

    /// Sets a text that no single model wrote.
    #[must_use]
    pub fn with_joint_text(mut self, text: Arc<str>) -> Self {
        self.set_text(text);
        self
    }

    /// Replaces the text, whoever wrote it.
    pub(crate) fn set_text(&mut self, text: Arc<str>) {
        self.text_hash = Some(blake3::hash(text.as_bytes()).to_hex().to_string());
        self.text = Some(text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_failures_and_fallbacks_leave_the_earlier_answer() {
        let failure = || Failure::new(Code::Upstream, "it failed");
        let fallback = || Outcome { unfused: Some(failure()), ..Outcome::new(OutcomeKind::Verbatim, "") };
        let kinds = [OutcomeKind::Fused, OutcomeKind::Selected, OutcomeKind::Verbatim, OutcomeKind::None];
        let keeps_earlier = |newer: Outcome| kinds.map(|kind| Outcome::new(kind, "").is_better_than(&newer));
        assert_eq!(keeps_earlier(Outcome::none(failure())), [true, true, true, false]);
        assert_eq!(keeps_earlier(fallback()), [true, true, false, false]);
        // A verbatim answer that is no fallback is a proper result.
        assert_eq!(keeps_earlier(Outcome::new(OutcomeKind::Verbatim, "")), [false; 4]);
        assert_eq!(keeps_earlier(Outcome::new(OutcomeKind::Fused, "")), [false; 4]);
        assert!(!fallback().is_better_than(&fallback()));
    }
}
