//! Plurality: the answer that most others agree with, as it is. It costs no call beyond the panel.
//!
//! Where the answers cannot be compared by what they come to, the one that shares most with the others has the most of
//! their votes. Between clusters of one size the one with the strongest seat wins, else the one with the first.

use crate::agreement::{Agreement, Cluster};
use crate::gather::Usable;
use crate::outcome::Outcome;
use crate::seat::Desk;
use crate::strategy::{best, selected, verbatim};

pub(super) fn decide(desk: &Desk, usable: &[Usable], agreement: Option<&Agreement>) -> Outcome {
    if let [only] = usable {
        return verbatim(desk, only, "only one answer came, so there was nothing to vote on");
    }
    let Some(agreement) = agreement.filter(|agreement| agreement.equal > 1) else {
        let reason = match agreement {
            Some(_) => "no two answers agree; this is the one closest to the others",
            None => "answers to an open question cannot be counted; this is the one closest to the others",
        };
        return selected(desk, best(usable), reason);
    };
    let level = agreement.clusters.iter().filter(|cluster| cluster.seats.len() == agreement.equal);
    let strongest = level.clone().find(|cluster| has_strongest(desk, cluster));
    let how = match (level.clone().count(), strongest) {
        (1, _) => "",
        (_, Some(_)) => ", and as many say something else: the strongest seat decides",
        (_, None) => ", and as many say something else: the first of the panel decides",
    };
    let winner = strongest.or_else(|| level.clone().next()).expect("the largest cluster is there");
    let members: Vec<Usable> =
        usable.iter().filter(|one| winner.seats.contains(&one.seat)).cloned().collect();
    let said = winner.value.as_ref().map_or("the same".to_owned(), |value| format!("`{value}`"));
    let (equal, of) = (agreement.equal, agreement.of);
    selected(desk, best(&members), format!("{equal} of {of} answers say {said}{how}"))
}

fn has_strongest(desk: &Desk, cluster: &Cluster) -> bool {
    cluster.seats.iter().any(|seat| desk.plan.seats[seat.index()].strongest)
}
