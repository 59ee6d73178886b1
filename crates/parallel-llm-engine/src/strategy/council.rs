//! A council: those who answered rank each other's answers without knowing whose they are, and a chair that is told the
//! ranking writes the text as a synthesizer does.
//!
//! Nobody ranks its own answer. Each sees the others in an order of its own, so that over all of them every answer stands in
//! every place of a list once. Where nobody can write, the answer ranked best stands, word for word.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::call::run_context::RunContext;
use crate::panel::gather::Usable;
use crate::plan::caller_slot::CallerSlot;
use crate::plan::step::{StepKey, StepRole};
use crate::prompt::{PeerRank, Task};
use crate::request::panel::{Seat, SeatNumber};
use crate::run::outcome::{Judging, Outcome, Shortened};
use crate::strategy::parts::answers::Answers;
use crate::strategy::parts::best::best_among;
use crate::strategy::parts::call::Rests;
use crate::strategy::parts::gate::gated;
use crate::strategy::parts::judge::{self, JudgeCall, Judgement};
use crate::strategy::parts::shown::{Assignment, Order, Shown};
use crate::strategy::parts::verbatim::{strongest, verbatim};
use crate::strategy::parts::{call, chain, fusion};
use crate::value::answer::Failure;
use crate::value::code::Code;
use crate::value::money::PicoUsd;
use crate::value::warning::Warning;

/// The word for whoever writes.
const CHAIR: &str = "chair";

pub(super) async fn decide(context: &Arc<RunContext>, answers: Answers<'_>) -> Outcome {
    let usable = answers.usable;
    if let [only] = usable {
        return verbatim(context, only, "only one answer came, so there was nothing to fuse");
    }
    if let Some(outcome) = gated(context, answers) {
        return outcome;
    }
    let began_ms = context.deadline.elapsed_ms();
    let reviews = reviews(context, usable).await;
    if let Some((_, why)) = reviews.failures.iter().find(|(_, failure)| failure.code == Code::Cancelled) {
        return Outcome::none(why.clone());
    }
    let ranks = ranks(usable, &reviews.judgements);
    let written = chain::ask(context, usable, CHAIR, |chair| write(context, chair, usable, &ranks)).await;
    let mut outcome = best_ranked(context, usable, &ranks, written);
    if let Some(worth) = &mut outcome.worth {
        worth.extra_ms = context.deadline.elapsed_ms().saturating_sub(began_ms);
        worth.extra_cost = worth.extra_cost.and_then(|cost| Some(cost.plus(reviews_cost(context)?)));
    }
    reviews.with_reviews(context, outcome)
}

/// What the members made of each other's answers.
struct Reviews {
    judgements: Vec<(SeatNumber, Judgement)>,
    shortened: Vec<Shortened>,
    failures: Vec<(SeatNumber, Failure)>,
}

impl Reviews {
    /// The outcome with what is to be told of them.
    fn with_reviews(self, context: &RunContext, mut outcome: Outcome) -> Outcome {
        let failed = |(seat, failure): &(SeatNumber, Failure)| {
            let model = &context.plan.seats[seat.index()].model;
            Warning::of(format_args!("the reviewer `{model}` of seat {seat} gave no ranking"), failure)
        };
        let suspected: BTreeSet<SeatNumber> =
            self.judgements.iter().flat_map(|(_, judgement)| &judgement.suspected).copied().collect();
        let suspected: Vec<SeatNumber> = suspected.into_iter().collect();
        let mut warnings: Vec<Warning> = self.failures.iter().map(failed).collect();
        warnings.append(&mut outcome.warnings);
        // What the chair was shown of an answer counts before what a member was.
        let known: Vec<SeatNumber> = outcome.shortened.iter().map(|cut| cut.seat).collect();
        outcome.shortened.extend(self.shortened.into_iter().filter(|cut| !known.contains(&cut.seat)));
        let verdicts: Vec<_> = self.judgements.into_iter().map(|(_, judgement)| judgement.verdict).collect();
        let judging = (!verdicts.is_empty()).then_some(Judging { verdicts, flips: 0 });
        let mut outcome = Outcome { judging, warnings, ..outcome };
        chain::suspect(&mut outcome, "council", &suspected);
        outcome
    }
}

async fn reviews(context: &Arc<RunContext>, usable: &[Usable]) -> Reviews {
    let mut reviews = Reviews { judgements: Vec::new(), shortened: Vec::new(), failures: Vec::new() };
    // Of two answers each would be the only one that the author of the other has to rank.
    if usable.len() < 3 {
        return reviews;
    }
    let calls = usable.iter().filter_map(|one| {
        let assignment = Assignment { task: Task::Review, order: Order::After(one.seat) };
        let call = JudgeCall::about(context, review_of(one.seat), Rests::Text, assignment, usable)?;
        Some((one.seat, call))
    });
    let (members, calls): (Vec<SeatNumber>, Vec<JudgeCall>) = calls.unzip();
    judge::shorten(&mut reviews.shortened, &calls);
    for (seat, gave) in members.into_iter().zip(judge::ask(context, &calls).await) {
        match gave {
            Ok(judgement) => reviews.judgements.push((seat, judgement)),
            Err(failure) => reviews.failures.push((seat, failure)),
        }
    }
    reviews
}

/// How one answer was ranked: the sum of its places, the best being 0, over how many members, none of whom is its author.
/// What orders them is the mean place as a share of the places below the first; every member is shown as many answers, so
/// that share is of the same number for all, and the mean place alone does.
struct Rank {
    seat: SeatNumber,
    places: usize,
    members: usize,
}

impl Rank {
    /// The better first, by the mean place; in whole numbers, so that equal ones are exactly equal.
    fn order(&self, other: &Self) -> Ordering {
        (self.places * other.members).cmp(&(other.places * self.members))
    }
}

/// The ranks of the answers that somebody ranked, the best first. An answer that a ranking leaves out is the last in it.
fn ranks(usable: &[Usable], judgements: &[(SeatNumber, Judgement)]) -> Vec<Rank> {
    let last = usable.len().saturating_sub(2);
    let rank = |one: &Usable| {
        let others = judgements.iter().filter(|(member, _)| *member != one.seat);
        let places = others.map(|(_, judgement)| {
            judgement.verdict.ranking.iter().position(|seat| *seat == one.seat).unwrap_or(last)
        });
        let places: Vec<usize> = places.collect();
        Rank { seat: one.seat, places: places.iter().sum(), members: places.len() }
    };
    let mut ranks: Vec<Rank> = usable.iter().map(rank).filter(|rank| rank.members > 0).collect();
    ranks.sort_by(Rank::order);
    ranks
}

/// Where a seat stands in the ranking.
fn standing(ranks: &[Rank], seat: SeatNumber) -> Option<PeerRank> {
    let own = ranks.iter().find(|rank| rank.seat == seat)?;
    let counts = |wanted: Ordering| ranks.iter().filter(|rank| rank.order(own) == wanted).count();
    Some(PeerRank { rank: counts(Ordering::Less) + 1, of: ranks.len(), shared: counts(Ordering::Equal) > 1 })
}

/// Asks one chair. A failure means the next may try.
async fn write(
    context: &Arc<RunContext>,
    chair: Seat,
    usable: &[Usable],
    ranks: &[Rank],
) -> Result<Outcome, Failure> {
    let slot = CallerSlot::Synthesizer(chair.number);
    let shown = Shown::to(context, slot, Assignment::once(Task::Chair), usable);
    let shown = shown.ranked(|seat| standing(ranks, seat));
    fusion::written(context, CHAIR, &chair, shown, usable).await
}

/// Puts the answer ranked best in the place of the one closest to the others, where no chair wrote.
fn best_ranked(context: &RunContext, usable: &[Usable], ranks: &[Rank], outcome: Outcome) -> Outcome {
    let leading = ranks.iter().take_while(|rank| rank.order(&ranks[0]) == Ordering::Equal);
    let leading: Vec<SeatNumber> = leading.map(|rank| rank.seat).collect();
    match outcome.unfused {
        Some(why) if !leading.is_empty() => {
            let reason =
                format!("{}; this is the answer its fellows ranked best, word for word", why.message);
            let chosen = best_among(usable, &strongest(context), &leading);
            let warnings = outcome.warnings;
            Outcome { unfused: Some(why), warnings, ..verbatim(context, chosen, reason) }
        }
        _ => outcome,
    }
}

/// The call in which a seat's model ranks the answers of the others.
const fn review_of(seat: SeatNumber) -> StepKey {
    StepKey { role: StepRole::Reviewer, by: CallerSlot::Seat(seat), round: 1 }
}

/// What the reviews for this text cost together; `None` where that is not known of one.
fn reviews_cost(context: &RunContext) -> Option<PicoUsd> {
    let reviews = context.plan.seats.iter().filter_map(|seat| context.plan.step(review_of(seat.number)));
    call::cost(context, reviews.map(|step| CallerSlot::Step(step.number)))
}
