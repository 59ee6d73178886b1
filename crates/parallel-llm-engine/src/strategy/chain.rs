//! The synthesizers of a run, asked in the order of their chain until one does what a strategy wants of it.

use std::sync::Arc;

use crate::answer::Failure;
use crate::code::Code;
use crate::gather::Usable;
use crate::injection::Sign;
use crate::outcome::{Outcome, Warning};
use crate::panel::{Seat, SeatNumber};
use crate::seat::Desk;
use crate::strategy::unfused;

/// What the first of the chain comes to that can do it; `who` is the word for what they are here. Each failure is a
/// warning; if all fail, the best answer stands as it is.
pub(super) async fn ask<Working>(
    desk: &Arc<Desk>,
    usable: &[Usable],
    who: &str,
    work: impl Fn(Seat) -> Working,
) -> Outcome
where
    Working: Future<Output = Result<Outcome, Failure>>,
{
    let mut warnings = Vec::new();
    for synthesizer in desk.hub.look(|run| run.chain().to_vec()) {
        let model = synthesizer.model.clone();
        match work(synthesizer).await {
            Ok(mut outcome) => {
                warnings.append(&mut outcome.warnings);
                return Outcome { warnings, ..outcome };
            }
            Err(failure) if failure.code == Code::Cancelled => return Outcome::none(failure),
            Err(failure) => {
                warnings.push(Warning::of(format_args!("the {who} `{model}` failed"), &failure));
            }
        }
    }
    let why = why(who, warnings.last().map(|last| (last.code, last.next.as_str())));
    Outcome { warnings, ..unfused(desk, usable, why) }
}

/// Why nobody of the chain did it: each failed, the last with this code and next step, or there is none.
pub(super) fn why(who: &str, last: Option<(Code, &str)>) -> Failure {
    match last {
        Some((code, next)) => Failure::new(code, format!("every {who} failed")).with_next(next),
        None => Failure::new(Code::Usage, format!("no {who} is configured"))
            .with_next("name one with `--synthesizer`"),
    }
}

/// Takes the word of a reader for whose answers tried to instruct it, and warns of them.
pub(super) fn suspect(outcome: &mut Outcome, who: &str, seats: &[SeatNumber]) {
    outcome.warnings.extend(suspicions(who, seats.iter().copied()));
    for seat in seats {
        outcome.suspect(*seat, Sign::Reader);
    }
}

/// Tells whose answers a reader suspects of having tried to instruct it.
pub(super) fn suspicions(who: &str, seats: impl IntoIterator<Item = SeatNumber>) -> Vec<Warning> {
    let suspicion = |seat| Warning {
        code: Code::SuspectedInjection,
        message: format!("the {who} suspects that the answer of seat {seat} tried to instruct it"),
        next: Code::SuspectedInjection.next().to_owned(),
    };
    seats.into_iter().map(suspicion).collect()
}
