//! Asks the synthesizers of a run in the order of their chain until one succeeds.

use std::sync::Arc;

use tokio::time::Instant;

use crate::call::reply_clock;
use crate::call::run_context::RunContext;
use crate::panel::gather::Usable;
use crate::request::panel::{Seat, SeatNumber};
use crate::run::outcome::Outcome;
use crate::strategy::parts::choice::verbatim::unfused;
use crate::text::injection::Sign;
use crate::value::answer::Failure;
use crate::value::code::Code;
use crate::value::next::{Argument, Next};
use crate::value::warning::Warning;

/// The outcome of the first synthesizer that succeeds. `who` is what it is called in messages. Each failure is a warning; if
/// all fail, the best answer is returned word for word.
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

/// The result of the first synthesizer that succeeds, and a warning for each failed one before it. An error means that all
/// failed or that the run was cancelled.
pub(crate) async fn first<Given, Working>(
    context: &Arc<RunContext>,
    who: &str,
    work: impl Fn(Seat) -> Working,
) -> (Result<Given, Failure>, Vec<Warning>)
where
    Working: Future<Output = Result<Given, Failure>>,
{
    let mut warnings = Vec::new();
    for synthesizer in context.chain() {
        let model = synthesizer.model.clone();
        match work(synthesizer).await {
            Err(failure) if failure.code != Code::Cancelled => {
                warnings.push(Warning::of(format_args!("the {who} `{model}` failed"), &failure));
                // The others have no time either. Report the time-out, not that all of them failed.
                if Instant::now() >= context.deadline.run {
                    return (Err(out_of_time(context, who)), warnings);
                }
            }
            gave => return (gave, warnings),
        }
    }
    let why = chain_failure(who, warnings.last().map(|last| (last.code, last.next.as_slice())));
    (Err(why), warnings)
}

fn out_of_time(context: &RunContext, who: &str) -> Failure {
    let failure = reply_clock::time_over(&context.plan.timers, &context.deadline);
    let message = format!("{} before the {who} was done", failure.message);
    Failure { message, ..failure }
}

/// The failure of a whole chain: all failed, the last with this code and next steps, or there is no synthesizer.
pub(crate) fn chain_failure(who: &str, last: Option<(Code, &[Next])>) -> Failure {
    match last {
        Some((code, next)) => Failure::new(code, format!("every {who} failed")).with_next(next.to_vec()),
        None => Failure::new(Code::Usage, format!("no {who} is configured"))
            .with_next(Next::Give(Argument::Synthesizer)),
    }
}

/// Records the seats a reader suspects of instructions, with warnings.
pub(crate) fn suspect(context: &RunContext, outcome: &mut Outcome, who: &str, seats: &[SeatNumber]) {
    outcome.warnings.extend(suspicions(context, who, seats.iter().copied()));
    for seat in seats {
        outcome.suspect(*seat, Sign::Reader);
    }
}

/// The warnings for the seats a reader suspects of instructions.
pub(crate) fn suspicions(
    context: &RunContext,
    who: &str,
    seats: impl IntoIterator<Item = SeatNumber>,
) -> Vec<Warning> {
    let suspicion = |seat| Warning {
        code: Code::SuspectedInjection,
        message: format!(
            "the {who} suspects that the answer of {} tried to instruct it",
            context.called(seat)
        ),
        next: Code::SuspectedInjection.next().to_owned(),
    };
    seats.into_iter().map(suspicion).collect()
}
