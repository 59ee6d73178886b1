//! The synthesizers of a run, asked in the order of their chain until one does what a strategy wants of it.

use std::sync::Arc;

use tokio::time::Instant;

use crate::call::reply_clock;
use crate::call::run_context::RunContext;
use crate::panel::gather::Usable;
use crate::request::panel::{Seat, SeatNumber};
use crate::run::outcome::Outcome;
use crate::strategy::parts::verbatim::unfused;
use crate::text::injection::Sign;
use crate::value::answer::Failure;
use crate::value::code::Code;
use crate::value::next::{Argument, Next};
use crate::value::warning::Warning;

/// What the first of the chain comes to that can do it; `who` is the word for what they are here. Each failure is a
/// warning; if all fail, the best answer stands as it is.
pub(crate) async fn ask<Working>(
    context: &Arc<RunContext>,
    usable: &[Usable],
    who: &str,
    work: impl Fn(Seat) -> Working,
) -> Outcome
where
    Working: Future<Output = Result<Outcome, Failure>>,
{
    let (came, mut warnings) = first(context, who, work).await;
    match came {
        Ok(mut outcome) => {
            warnings.append(&mut outcome.warnings);
            Outcome { warnings, ..outcome }
        }
        Err(failure) if failure.code == Code::Cancelled => Outcome::none(failure),
        Err(why) => Outcome { warnings, ..unfused(context, usable, why) },
    }
}

/// What the first of the chain gives that can, and a warning for each before it that could not. A failure is that of all,
/// or that the run was cancelled.
pub(crate) async fn first<Given, Working>(
    context: &Arc<RunContext>,
    who: &str,
    work: impl Fn(Seat) -> Working,
) -> (Result<Given, Failure>, Vec<Warning>)
where
    Working: Future<Output = Result<Given, Failure>>,
{
    let mut warnings = Vec::new();
    for synthesizer in context.hub.with_run(|run| run.chain().to_vec()) {
        let model = synthesizer.model.clone();
        match work(synthesizer).await {
            Err(failure) if failure.code != Code::Cancelled => {
                warnings.push(Warning::of(format_args!("the {who} `{model}` failed"), &failure));
                // Nobody else has any time either: that is what happened, not that all of them failed.
                if Instant::now() >= context.deadline.run {
                    return (Err(out_of_time(context, who)), warnings);
                }
            }
            gave => return (gave, warnings),
        }
    }
    let why = why(who, warnings.last().map(|last| (last.code, last.next.as_slice())));
    (Err(why), warnings)
}

fn out_of_time(context: &RunContext, who: &str) -> Failure {
    let failure = reply_clock::run_timeout(&context.plan.timers);
    let message = format!("{} before the {who} was done", failure.message);
    Failure { message, ..failure }
}

/// Why nobody of the chain did it: each failed, the last with this code and next step, or there is none.
pub(crate) fn why(who: &str, last: Option<(Code, &[Next])>) -> Failure {
    match last {
        Some((code, next)) => Failure::new(code, format!("every {who} failed")).with_next(next.to_vec()),
        None => Failure::new(Code::Usage, format!("no {who} is configured"))
            .with_next(Next::Give(Argument::Synthesizer)),
    }
}

/// Takes the word of a reader for whose answers tried to instruct it, and warns of them.
pub(crate) fn suspect(outcome: &mut Outcome, who: &str, seats: &[SeatNumber]) {
    outcome.warnings.extend(suspicions(who, seats.iter().copied()));
    for seat in seats {
        outcome.suspect(*seat, Sign::Reader);
    }
}

/// Tells whose answers a reader suspects of having tried to instruct it.
pub(crate) fn suspicions(who: &str, seats: impl IntoIterator<Item = SeatNumber>) -> Vec<Warning> {
    let suspicion = |seat| Warning {
        code: Code::SuspectedInjection,
        message: format!("the {who} suspects that the answer of seat {seat} tried to instruct it"),
        next: Code::SuspectedInjection.next().to_owned(),
    };
    seats.into_iter().map(suspicion).collect()
}
