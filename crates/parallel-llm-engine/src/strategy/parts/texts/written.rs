//! The floor under texts that models write from answers, with what is recorded of the run.
//!
//! Invariant: a text and what it was made of come to the same whenever they are judged, so a resumed run goes on as it was.

use crate::call::run_context::RunContext;
use crate::prompt;
use crate::prompt::floor::{FloorBasis, FloorVerdict, Reason};
use crate::request::panel::SeatNumber;
use crate::strategy::parts::calls::shown::Shown;
use crate::value::answer::{Answer, Failure};
use crate::value::code::Code;

/// What a model wrote from answers.
pub(crate) enum WrittenText {
    /// A text.
    Text(String),
    /// Only the label of this seat's answer.
    Pick(SeatNumber),
}

/// Judges the text that was read from a reply. `is_replaceable` says whether another text can be had if the output cap cut
/// this one.
pub(crate) fn judge(
    context: &RunContext,
    shown: &Shown,
    answer: &Answer,
    text: &str,
    is_replaceable: bool,
) -> Result<WrittenText, Failure> {
    let request = prompt::conversation(&context.plan.messages);
    let candidates: Vec<(&str, &str)> = shown.labelled_texts().collect();
    let codes = shown.codes(context);
    let is_cut = answer.truncated() && is_replaceable;
    let basis = FloorBasis { request: &request, candidates: &candidates, codes: &codes, is_cut };
    match basis.judge(text) {
        FloorVerdict::Sound(text) => Ok(WrittenText::Text(text)),
        FloorVerdict::Picks(index) => Ok(WrittenText::Pick(shown.seat_at(index))),
        FloorVerdict::Unusable(reason) => Err(unusable(reason, answer)),
    }
}

fn unusable(reason: Reason, answer: &Answer) -> Failure {
    let cost = answer.cost.map_or_else(|| "its cost is unknown".to_owned(), |cost| format!("it cost {cost}"));
    Failure::new(Code::SynthesisUnusable, format!("what it wrote is no answer ({reason}); {cost}"))
}
