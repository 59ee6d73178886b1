//! The answer that most others agree with, as it is; by count, or by what each seat's accuracy says. It costs no call
//! beyond the panel.
//!
//! Where the answers cannot be compared by what they come to, the one that shares most with the others has the most of
//! their votes. Between clusters that weigh the same the one with the strongest seat wins, else the one with the first.

use std::fmt::Write;

use crate::agreement::{Agreement, Cluster};
use crate::closed::Form;
use crate::gather::Usable;
use crate::outcome::Outcome;
use crate::recipe::Weights;
use crate::seat::Desk;
use crate::strategy::{best, selected, verbatim};

/// Parts of a nat that weights are counted in. Whole numbers, so that clusters that weigh the same are exactly as heavy,
/// in whatever order their seats are added up.
const PARTS: f64 = 1e9;

pub(super) fn decide(desk: &Desk, usable: &[Usable], agreement: Option<&Agreement>) -> Outcome {
    if let [only] = usable {
        return verbatim(desk, only, "only one answer came, so there was nothing to vote on");
    }
    let weights = desk.plan.knobs.weights.unwrap_or_default();
    let counts = |agreement: &&Agreement| agreement.equal > 1 || weights == Weights::LogOdds;
    let Some(agreement) = agreement.filter(counts) else {
        let reason = match agreement {
            Some(_) => "no two answers agree; this is the one closest to the others",
            None => "answers to an open question cannot be counted; this is the one closest to the others",
        };
        return selected(desk, best(usable), reason);
    };
    let others = others(desk, agreement);
    let weight = |cluster: &Cluster| match weights {
        Weights::Equal => count(cluster),
        Weights::LogOdds => log_odds(desk, cluster, others),
    };
    let weighed: Vec<(i64, &Cluster)> = agreement.clusters.iter().map(|one| (weight(one), one)).collect();
    let most = weighed.iter().map(|(weight, _)| *weight).max().expect("there is a cluster");
    let mut level: Vec<&Cluster> =
        weighed.iter().filter(|(weight, _)| *weight == most).map(|(_, cluster)| *cluster).collect();
    level.sort_by_key(|cluster| cluster.seats[0]);
    let strongest = level.iter().find(|cluster| has_strongest(desk, cluster)).copied();
    let winner = strongest.unwrap_or(level[0]);
    let members: Vec<Usable> =
        usable.iter().filter(|one| winner.seats.contains(&one.seat)).cloned().collect();
    let said = winner.value.as_ref().map_or("the same".to_owned(), |value| format!("`{value}`"));
    let mut reason = format!("{} of {} answers say {said}", winner.seats.len(), agreement.of);
    if weights == Weights::LogOdds {
        reason.push_str(&by_weight(most, &weighed));
        // What speaks against everything that is said speaks for the rest, where there is one.
        if most < 0 && weighed.len() <= others {
            reason.push_str("; what nobody says is likelier");
        }
    }
    if level.len() > 1 {
        let as_many = if weights == Weights::Equal { "as many say" } else { "as much speaks for" };
        let who = if strongest.is_some() { "the strongest seat" } else { "the first of the panel" };
        let _ = write!(reason, ", and {as_many} something else: {who} decides");
    }
    selected(desk, best(&members), reason)
}

fn count(cluster: &Cluster) -> i64 {
    i64::try_from(cluster.seats.len()).unwrap_or(i64::MAX)
}

/// How many wrong answers there can be: the options but one, or the other one of yes and no. Where the question lists none
/// it is as many as were given, so that each of them may be wrong: the fewest that are possible, which overrates no seat.
fn others(desk: &Desk, agreement: &Agreement) -> usize {
    match Form::of(&desk.plan.question()) {
        Some(Form::Choice(options)) => options.len() - 1,
        Some(Form::Truth) => 1,
        Some(Form::Number) | None => agreement.clusters.len(),
    }
}

/// How much the seats of a cluster speak for what they say, in parts of a nat. With seats that err independently, and each
/// wrong answer as likely as the next, what weighs most is what is most likely right: Bayes' rule. A seat that is right
/// less often than chance speaks against its answer.
#[allow(clippy::cast_possible_truncation, reason = "64 weights below 800 nats are far from the bounds")]
fn log_odds(desk: &Desk, cluster: &Cluster, others: usize) -> i64 {
    let accuracies = cluster.seats.iter().filter_map(|seat| desk.plan.seats[seat.index()].accuracy);
    let weight = |accuracy: f64| (accuracy * others as f64 / (1.0 - accuracy)).ln();
    accuracies.map(|accuracy| (weight(accuracy) * PARTS).round() as i64).sum()
}

/// What the heaviest cluster weighs, and the next.
fn by_weight(most: i64, weighed: &[(i64, &Cluster)]) -> String {
    let nats = |weight: i64| format!("{:.2}", weight as f64 / PARTS);
    let mut said = format!(", the most by weight: {}", nats(most));
    let mut rest: Vec<i64> = weighed.iter().map(|(weight, _)| *weight).collect();
    rest.sort_unstable();
    if let Some(next) = rest.iter().rev().nth(1) {
        let _ = write!(said, " against {}", nats(*next));
    }
    said
}

fn has_strongest(desk: &Desk, cluster: &Cluster) -> bool {
    cluster.seats.iter().any(|seat| desk.plan.seats[seat.index()].strongest)
}
