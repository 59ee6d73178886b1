//! Counts votes: the largest or heaviest cluster of answers wins.
//!
//! If the answers cannot be compared by value, the vote decides nothing, and the one closest to the others stands in for
//! its result. Between clusters of equal weight,
//! the one with the strongest seat wins, else the one with the first seat.

use std::fmt::Write;

use super::answers::Answers;
use super::best::best;
use super::verbatim::{lone, selected, strongest, unfused};
use crate::agreement::{Agreement, Cluster};
use crate::call::run_context::RunContext;
use crate::panel::gather::Usable;
use crate::request::strategy::{Extractor, Weights};
use crate::run::outcome::Outcome;
use crate::text::short_answer::{Form, Value};
use crate::value::answer::Failure;
use crate::value::code::Code;
use crate::value::next::Operation;
use crate::value::warning::Warning;

/// Weights are whole numbers of this many parts of a nat, so that their sums do not depend on the order of addition and equal
/// weights are exactly equal.
const PARTS: f64 = 1e9;

/// The outcome of the vote on answers whose agreement is known.
pub(crate) fn counted(context: &RunContext, Answers { usable, agreement }: Answers<'_>) -> Outcome {
    if let [only] = usable {
        return lone(context, only, "vote on");
    }
    let weights = context.plan.strategy_options.weights.unwrap_or_default();
    let counts = |agreement: &&Agreement| {
        agreement.equal > 1 || weights == Weights::LogOdds && !agreement.clusters.is_empty()
    };
    let Some(agreement) = agreement.filter(counts) else {
        let why = match (agreement, context.plan.strategy_options.extractor()) {
            (Some(none), Extractor::Json(at)) if none.equal == 0 => {
                format!("no answer has a value at `{at}`")
            }
            (Some(none), _) if none.clusters.is_empty() => {
                "the question has a short answer, and these could not be read".to_owned()
            }
            (Some(_), _) => "no two answers agree".to_owned(),
            (None, _) if context.comparison().form().is_some_and(Form::is_certain) => {
                "no answer gives the short answer that is counted".to_owned()
            }
            (None, _) => "answers to an open question cannot be counted".to_owned(),
        };
        // Even if only one answer has a plain value, it does not win by that: it may have been written to win.
        return undecided(context, usable, Failure::new(Code::NoMajority, why).with_next(Operation::Replay));
    };
    let others = others(context, agreement);
    let weight = |cluster: &Cluster| match weights {
        Weights::Equal => count(cluster),
        Weights::LogOdds => log_odds(context, cluster, others),
    };
    let weighed: Vec<(i64, &Cluster)> = agreement.clusters.iter().map(|one| (weight(one), one)).collect();
    let most = weighed.iter().map(|(weight, _)| *weight).max().expect("there is a cluster");
    let mut level: Vec<&Cluster> =
        weighed.iter().filter(|(weight, _)| *weight == most).map(|(_, cluster)| *cluster).collect();
    level.sort_by_key(|cluster| cluster.seats[0]);
    let strong = strongest(context);
    let has_strongest = |cluster: &&&Cluster| cluster.seats.iter().any(|seat| strong.contains(seat));
    let decides = level.iter().find(has_strongest).copied();
    let winner = decides.unwrap_or(level[0]);
    if let Some(why) = lacks_majority(context, usable, winner.seats.len()) {
        return undecided(context, usable, why);
    }
    let members: Vec<Usable> =
        usable.iter().filter(|one| winner.seats.contains(&one.seat)).cloned().collect();
    let value = winner.value.as_ref().map_or("the same".to_owned(), |value| format!("`{value}`"));
    let also = agreement.equivalence_of(winner);
    let mut reason = format!("{} of {} answers say {value}{also}", winner.seats.len(), agreement.of);
    if weights == Weights::LogOdds {
        reason.push_str(&by_weight(most, &weighed));
        // If all given values have negative weights, a value that no answer gives is more likely, if there can be one.
        if most < 0 && weighed.len() <= others {
            reason.push_str("; a value that no answer gives is more likely");
        }
    }
    if level.len() > 1 {
        let as_many = if weights == Weights::Equal { "as many say" } else { "as much speaks for" };
        let who = if decides.is_some() { "the strongest seat" } else { "the first of the panel" };
        let _ = write!(reason, ", and {as_many} something else: {who} decides");
    }
    selected(context, best(&members, &strong), reason)
}

/// The fallback of a vote that decides nothing.
fn undecided(context: &RunContext, usable: &[Usable], why: Failure) -> Outcome {
    let warnings = vec![Warning::of("the vote decides nothing", &why)];
    Outcome { warnings, ..unfused(context, usable, why) }
}

/// Why the winner does not win: it has less than `min_share` of the answers. They are counted here, not weighed, because
/// weights are only estimates of the user.
fn lacks_majority(context: &RunContext, usable: &[Usable], most: usize) -> Option<Failure> {
    let (least_percent, of) = (usize::from(context.plan.strategy_options.min_share?), usable.len());
    // Rounded down, so that the reported share is below the minimum whenever the real one is.
    let percent = most * 100 / of;
    let message = format!(
        "what wins the vote has {most} of {of} answers, {percent} %, and `min_share` asks for {least_percent} %"
    );
    (percent < least_percent).then(|| Failure::new(Code::NoMajority, message))
}

fn count(cluster: &Cluster) -> i64 {
    i64::try_from(cluster.seats.len()).unwrap_or(i64::MAX)
}

/// How many wrong values are possible: all options but one, or one for yes and no. For an open set it is the number of given
/// values, so that each may be wrong: the smallest possible number, which overrates no seat. Values in JSON are not options
/// of the question, and a model may extract other values, so the given ones are a lower bound.
fn others(context: &RunContext, agreement: &Agreement) -> usize {
    let is_json = matches!(context.plan.strategy_options.extractor(), Extractor::Json(_));
    let options = context.comparison().form().filter(|_| !is_json).and_then(Form::options);
    let values = || agreement.clusters.iter().filter_map(|cluster| cluster.value.as_deref());
    let listed = match options {
        Some(options) => options - 1,
        None if values().count() > 0 && values().all(Value::is_truth) => 1,
        None => agreement.clusters.len(),
    };
    listed.max(agreement.clusters.len() - 1)
}

/// The log odds for the value of a cluster, in parts of a nat. If seats err independently and all wrong values are equally
/// likely, the value with the highest weight is the most likely one by Bayes' rule. A seat that is right less often than
/// chance counts against its value.
#[allow(clippy::cast_possible_truncation, reason = "64 weights below 800 nats are far from the bounds")]
fn log_odds(context: &RunContext, cluster: &Cluster, others: usize) -> i64 {
    let accuracies = cluster.seats.iter().filter_map(|seat| context.plan.seats[seat.index()].accuracy);
    let weight = |accuracy: f64| (accuracy * others as f64 / (1.0 - accuracy)).ln();
    accuracies.map(|accuracy| (weight(accuracy) * PARTS).round() as i64).sum()
}

/// Renders the weight of the heaviest cluster and of the next.
fn by_weight(most: i64, weighed: &[(i64, &Cluster)]) -> String {
    let nats = |weight: i64| format!("{:.2}", weight as f64 / PARTS);
    let mut text = format!(", the most by weight: {}", nats(most));
    let mut rest: Vec<i64> = weighed.iter().map(|(weight, _)| *weight).collect();
    rest.sort_unstable();
    if let Some(next) = rest.iter().rev().nth(1) {
        let _ = write!(text, " against {}", nats(*next));
    }
    text
}
