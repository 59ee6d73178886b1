//! The strategy `council`: the seats rank each other's anonymous answers and object to them, and a chair that knows both
//! writes the text.
//!
//! No seat ranks its own answer. Each sees the others in another order, so that over all seats every answer is once at
//! every position. If no chair can write, the answer ranked best is selected.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::parts::calls::call::Dependents;
use super::parts::calls::judge::{self, JudgeCall, Judgement};
use super::parts::calls::shown::{Assignment, Beside, Order, Peers, Shown};
use super::parts::calls::{call, chain};
use super::parts::choice::answers::Answers;
use super::parts::choice::best::best_among;
use super::parts::choice::gate::gated;
use super::parts::choice::verbatim::{lone, strongest, verbatim};
use super::parts::texts::fusion;
use crate::call::run_context::RunContext;
use crate::panel::gather::Usable;
use crate::plan::caller_slot::CallerSlot;
use crate::plan::step::{StepKey, StepRole};
use crate::prompt::{PeerRank, Task, reply};
use crate::request::panel::{Seat, SeatNumber};
use crate::run::outcome::{Judging, Outcome, Shortened};
use crate::value::answer::Failure;
use crate::value::code::Code;
use crate::value::money::PicoUsd;
use crate::value::warning::Warning;

/// What the synthesizer is called in messages.
const CHAIR: &str = "chair";

pub(super) async fn decide(context: &Arc<RunContext>, answers: Answers<'_>) -> Outcome {
    let usable = answers.usable;
    if let [only] = usable {
        return lone(context, only, "fuse");
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
    let peers = reviews.peers(&ranks);
    let written = chain::ask(context, usable, CHAIR, |chair| write(context, chair, usable, &peers)).await;
    let mut outcome = best_ranked(context, usable, &ranks, written);
    if let Some(worth) = &mut outcome.worth {
        worth.extra_ms = context.deadline.elapsed_ms().saturating_sub(began_ms);
        worth.extra_cost = worth.extra_cost.and_then(|cost| Some(cost.plus(reviews_cost(context)?)));
    }
    reviews.with_reviews(context, outcome)
}

/// The rankings of the answers by the seats.
struct Reviews {
    judgements: Vec<(SeatNumber, Judgement)>,
    shortened: Vec<Shortened>,
    failures: Vec<(SeatNumber, Failure)>,
}

impl Reviews {
    /// What the chair is shown of them. The objections of members whose own answers are ranked best come first.
    fn peers(&self, ranks: &[Rank]) -> Peers {
        let place = |seat: SeatNumber| ranks.iter().position(|rank| rank.seat == seat).unwrap_or(ranks.len());
        let mut reviews: Vec<&(SeatNumber, Judgement)> = self.judgements.iter().collect();
        reviews.sort_by_key(|(member, _)| place(*member));
        let objections = reviews.iter().map(|(_, judgement)| judgement.objections.clone());
        let peer_rank = |rank: &Rank| Some((rank.seat, peer_rank(ranks, rank.seat)?));
        Peers {
            ranks: ranks.iter().filter_map(peer_rank).collect(),
            objections: reply::merged(objections),
            readings: reviews.iter().map(|(_, judgement)| judgement.reading.clone()).collect(),
        }
    }

    /// Adds the rankings and their warnings to an outcome.
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
        // How much the chair was shown of an answer matters more than how much a member was.
        let known: Vec<SeatNumber> = outcome.shortened.iter().map(|cut| cut.seat).collect();
        outcome.shortened.extend(self.shortened.into_iter().filter(|cut| !known.contains(&cut.seat)));
        let verdicts: Vec<_> = self.judgements.into_iter().map(|(_, judgement)| judgement.verdict).collect();
        let judging = (!verdicts.is_empty()).then_some(Judging { verdicts, flips: 0 });
        let mut outcome = Outcome { judging, warnings, ..outcome };
        chain::suspect(context, &mut outcome, "council", &suspected);
        outcome
    }
}

async fn reviews(context: &Arc<RunContext>, usable: &[Usable]) -> Reviews {
    let mut reviews = Reviews { judgements: Vec::new(), shortened: Vec::new(), failures: Vec::new() };
    // With two answers, each author would rank a single one.
    if usable.len() < 3 {
        return reviews;
    }
    let calls = usable.iter().filter_map(|one| {
        let assignment = Assignment { task: Task::Review, order: Order::After(one.seat) };
        let call = JudgeCall::about(context, review_of(one.seat), Dependents::Text, assignment, usable)?;
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

/// The rank of one answer: twice the sum of its positions (0 is best) in the rankings of all members but its author. Answers
/// that are first together share the mean of their positions, hence twice. Every member ranks the same number of answers, so
/// the mean position orders the answers.
struct Rank {
    seat: SeatNumber,
    positions: usize,
    members: usize,
}

impl Rank {
    /// Compares mean positions, the better first. Cross-multiplied whole numbers keep equal means exactly equal.
    fn order(&self, other: &Self) -> Ordering {
        (self.positions * other.members).cmp(&(other.positions * self.members))
    }
}

/// The ranks of the answers with at least one ranking, best first. An answer that a ranking leaves out is last in it.
fn ranks(usable: &[Usable], judgements: &[(SeatNumber, Judgement)]) -> Vec<Rank> {
    let last = 2 * usable.len().saturating_sub(2);
    let rank = |one: &Usable| {
        let others = judgements.iter().filter(|(member, _)| *member != one.seat);
        let positions = others.map(|(_, Judgement { verdict, .. })| {
            let position = verdict.ranking.iter().position(|seat| *seat == one.seat);
            match position {
                _ if verdict.tied.contains(&one.seat) => verdict.tied.len() - 1,
                Some(position) => 2 * position,
                None => last,
            }
        });
        let positions: Vec<usize> = positions.collect();
        Rank { seat: one.seat, positions: positions.iter().sum(), members: positions.len() }
    };
    let mut ranks: Vec<Rank> = usable.iter().map(rank).filter(|rank| rank.members > 0).collect();
    ranks.sort_by(Rank::order);
    ranks
}

/// The rank of a seat's answer among all.
fn peer_rank(ranks: &[Rank], seat: SeatNumber) -> Option<PeerRank> {
    let own = ranks.iter().find(|rank| rank.seat == seat)?;
    let counts = |wanted: Ordering| ranks.iter().filter(|rank| rank.order(own) == wanted).count();
    Some(PeerRank { rank: counts(Ordering::Less) + 1, of: ranks.len(), shared: counts(Ordering::Equal) > 1 })
}

/// Asks one chair. After a failure the next of the chain is asked.
async fn write(
    context: &Arc<RunContext>,
    chair: Seat,
    usable: &[Usable],
    peers: &Peers,
) -> Result<Outcome, Failure> {
    let slot = CallerSlot::Synthesizer(chair.number);
    let beside = Beside::Peers(peers.clone());
    let shown = Shown::beside(context, slot, Assignment::once(Task::Chair), usable, beside);
    fusion::fuse_shown(context, CHAIR, &chair, shown, usable).await
}

/// If no chair wrote a text, replaces the fallback of the chain by the answer ranked best.
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

/// The key of the step in which a seat ranks the answers of the others.
const fn review_of(seat: SeatNumber) -> StepKey {
    StepKey { role: StepRole::Reviewer, by: CallerSlot::Seat(seat), round: 1 }
}

/// The cost of the reviews for this text; `None` if that of one is unknown.
fn reviews_cost(context: &RunContext) -> Option<PicoUsd> {
    let reviews = context.plan.seats.iter().filter_map(|seat| context.plan.step(review_of(seat.number)));
    call::cost(context, reviews.map(|step| CallerSlot::Step(step.number)))
}
