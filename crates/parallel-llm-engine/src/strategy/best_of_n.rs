//! Best of N: a judge reads all answers in two orders and says which is best; that one stands, word for word.
//!
//! A judge that changes its mind with the order has not decided: then it is a tie, and of the two the one closer to all
//! the others stands.

use std::sync::Arc;

use crate::agreement::Agreement;
use crate::answer::Failure;
use crate::code::Code;
use crate::gather::Usable;
use crate::outcome::{Judging, Outcome, Verdict, Warning};
use crate::panel::{Seat, SeatNumber};
use crate::parse::{self, Reveal};
use crate::place::Place;
use crate::prompt::Task;
use crate::seat::Desk;
use crate::step::{Role, StepKey};
use crate::strategy::call::{self, Call};
use crate::strategy::shown::{Order, Shown};
use crate::strategy::{best_among, chain, gated, selected, verbatim};

pub(super) async fn decide(desk: &Arc<Desk>, usable: &[Usable], agreement: Option<&Agreement>) -> Outcome {
    if let [only] = usable {
        return verbatim(desk, only, "only one answer came, so there was nothing to judge");
    }
    if let Some(outcome) = gated(desk, usable, agreement) {
        return outcome;
    }
    chain::ask(desk, usable, "judge", |judge| judged(desk, judge, usable)).await
}

/// What one judge comes to. A failure means that it gave no verdict at all.
async fn judged(desk: &Arc<Desk>, judge: Seat, usable: &[Usable]) -> Result<Outcome, Failure> {
    let Judged { verdicts, suspected, mut failures } = verdicts(desk, &judge, usable).await;
    let tops: Vec<SeatNumber> =
        verdicts.iter().filter_map(|verdict| verdict.ranking.first().copied()).collect();
    let (chosen, how) = match (tops.as_slice(), failures.as_slice()) {
        ([], _) => return Err(failures.pop().unwrap_or_else(no_verdict)),
        ([top], []) => (*top, "put it first".to_owned()),
        ([top], _) => (*top, "put it first in the only order that came to a verdict".to_owned()),
        ([one, other, ..], _) if one == other => (*one, "put it first in both orders".to_owned()),
        ([one, other, ..], _) => {
            let how = format!(
                "put seat {one} first in one order and seat {other} in the other, which is a tie; this one is closer to \
                 all the others"
            );
            (best_among(usable, &[*one, *other]).seat, how)
        }
    };
    let flips = usize::from(tops.windows(2).any(|pair| pair[0] != pair[1]));
    let chosen = best_among(usable, &[chosen]);
    let mut outcome = selected(desk, chosen, format!("the judge `{}` {how}", judge.model));
    outcome.judging = Some(Judging { verdicts, flips });
    outcome.warnings = chain::suspicions("judge", suspected);
    let in_one_order = |failure| Warning::of("the judge gave no verdict in one order", failure);
    outcome.warnings.extend(failures.iter().map(in_one_order));
    Ok(outcome)
}

/// What a judge's calls gave together.
struct Judged {
    verdicts: Vec<Verdict>,
    /// Whose answers it thinks tried to instruct it, in the order of the panel.
    suspected: Vec<SeatNumber>,
    failures: Vec<Failure>,
}

async fn verdicts(desk: &Arc<Desk>, judge: &Seat, usable: &[Usable]) -> Judged {
    let orders = [Order::Forward, Order::Backward].into_iter().zip(1..=u16::from(desk.plan.knobs.orders()));
    let sittings = orders.filter_map(|(order, round)| {
        let key = StepKey { role: Role::Judge, by: Place::Synthesizer(judge.number), round };
        let step = desk.plan.step(key)?.number;
        Some((step, Shown::to(desk, Place::Step(step), (Task::Judge, order), usable)))
    });
    let sittings: Vec<_> = sittings.collect();
    let calls = sittings.iter().map(|(step, shown)| Call {
        place: Place::Step(*step),
        messages: shown.messages(desk),
        reveal: Reveal::all(),
    });
    let gave = call::all(desk, calls.collect()).await;
    let mut judged = Judged { verdicts: Vec::new(), suspected: Vec::new(), failures: Vec::new() };
    for ((step, shown), gave) in sittings.iter().zip(gave) {
        let read =
            gave.and_then(|answer| parse::judgement(&answer.text, &shown.labels()).ok_or_else(no_verdict));
        match read {
            Ok(read) => {
                let seats =
                    |labels: &[String]| labels.iter().filter_map(|label| shown.seat_of(label)).collect();
                let ranking: Vec<SeatNumber> = seats(&read.ranking);
                let suspected: Vec<SeatNumber> = seats(&read.suspected_injection);
                judged.suspected.extend(suspected);
                judged.verdicts.push(Verdict { step: *step, by: judge.model.clone(), ranking });
            }
            Err(failure) => judged.failures.push(failure),
        }
    }
    judged.suspected.sort_unstable();
    judged.suspected.dedup();
    judged
}

fn no_verdict() -> Failure {
    Failure::new(Code::Protocol, "its reply names no answer").with_next("see what it wrote with `runs show`")
}
