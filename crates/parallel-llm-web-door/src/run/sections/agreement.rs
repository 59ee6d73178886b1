//! Who agrees and who does not: groups of equal answers, and what the synthesizer says of who supports what.

use askama::Template;
use parallel_llm_service::report::{Agreed, AgreementReport, ChangeReport, ClaimReport, Sides};

use super::seat::seen;
use crate::respond::rendered;
use crate::run::view::shown::{SeatMark, Shown};

#[derive(Template)]
#[template(path = "run/agreement.html")]
struct Agreement {
    is_empty: bool,
    summary: String,
    confidence: Option<String>,
    groups: Vec<Group>,
    /// Whose opinion the claims, changes and dissent are.
    read_by: String,
    claims: Vec<Claim>,
    changes: Vec<Change>,
    dissent: String,
    notes: Vec<String>,
    /// Whose the numbers are.
    seats: Vec<SeatMark>,
}

/// Seats that give the same value.
struct Group {
    value: String,
    seats: Vec<SeatMark>,
}

/// A claim, and who is for and against it.
struct Claim {
    text: String,
    supporting: Vec<SeatMark>,
    against: Vec<SeatMark>,
}

/// A change, and whose answers it was taken from.
struct Change {
    what: String,
    why: String,
    from: Vec<SeatMark>,
}

/// The section.
pub(super) fn section(shown: Shown<'_>) -> String {
    let empty = |summary: &str| Agreement {
        is_empty: true,
        summary: summary.to_owned(),
        confidence: None,
        groups: Vec::new(),
        read_by: String::new(),
        claims: Vec::new(),
        changes: Vec::new(),
        dissent: String::new(),
        notes: Vec::new(),
        seats: Vec::new(),
    };
    let filled = |sides: Sides<'_>| of(shown, &sides);
    let missing = || {
        empty(if shown.run.is_decided() {
            "Fewer than two answers were compared."
        } else {
            "Answers are compared when the run is decided."
        })
    };
    rendered(&Sides::of(shown.report).map_or_else(missing, filled))
}

fn of(shown: Shown<'_>, sides: &Sides<'_>) -> Agreement {
    let AgreementReport { clusters, analysis, unread, effective_votes, .. } = sides.agreement;
    let group = |(cluster, index): (&parallel_llm_service::report::ClusterReport, usize)| Group {
        value: match cluster.value {
            Some(_) => cluster.values().map(seen).collect::<Vec<_>>().join(" or "),
            None => format!("text {}", index + 1),
        },
        seats: shown.marks(&cluster.seats),
    };
    let claim = |claim: &ClaimReport| Claim {
        text: seen(&claim.text),
        supporting: shown.marks(&claim.r#for),
        against: shown.marks(&claim.against),
    };
    let change = |change: &ChangeReport| Change {
        what: seen(&change.what),
        why: seen(&change.why),
        from: shown.marks(&change.from),
    };
    let unread = (!unread.is_empty()).then(|| {
        let seats: Vec<String> = unread.iter().map(ToString::to_string).collect();
        format!("No plain value could be read from seat {}.", seats.join(", "))
    });
    let grouped = sides.agreement.grouped_by.as_ref().map(|by| {
        format!(
            "What stands together means the same in the opinion of {}, which saw the short answers alone.",
            seen(by)
        )
    });
    let votes = effective_votes.as_ref().map(|votes| {
        format!("Models err together: these answers are worth about {:.1} independent votes.", votes.panel)
    });
    Agreement {
        is_empty: false,
        summary: summary(sides),
        confidence: shown.report.confidence.as_ref().map(capitalised_confidence),
        groups: clusters.iter().zip(0..).map(group).collect(),
        read_by: analysis.as_ref().map(|analysis| seen(&analysis.read_by)).unwrap_or_default(),
        claims: analysis.iter().flat_map(|analysis| &analysis.claims).map(claim).collect(),
        changes: analysis.iter().flat_map(|analysis| &analysis.changes).map(change).collect(),
        dissent: analysis.as_ref().map(|analysis| seen(&analysis.dissent)).unwrap_or_default(),
        seats: (1..=shown.run.seats.len() as u8).map(|number| SeatMark::of(shown.run, number)).collect(),
        notes: [unread, grouped, votes].into_iter().flatten().collect(),
    }
}

fn capitalised_confidence(confidence: &parallel_llm_service::report::ConfidenceReport) -> String {
    format!("Confidence: {} ({}).", confidence.band, confidence.basis)
}

/// How many answers say the same, in one sentence.
fn summary(sides: &Sides<'_>) -> String {
    let (agreement, noun) = (sides.agreement, sides.noun());
    let by = agreement.analysis.as_ref().map(|analysis| seen(&analysis.read_by)).unwrap_or_default();
    match sides.agreed() {
        Agreed::Value(_) | Agreed::Words => format!("{} of {} {noun} agree.", agreement.equal, agreement.of),
        Agreed::AllDiffer => format!("No two of {} {noun} agree.", agreement.of),
        Agreed::Unread => format!("None of {} {noun} states its result plainly.", agreement.of),
        Agreed::Open => match sides.objections().len() {
            0 if agreement.analysis.is_some() => {
                format!(
                    "{} {noun} answered an open question, and according to {by} none objects.",
                    agreement.of
                )
            }
            0 => format!("{} {noun} answered an open question; nobody compared what they say.", agreement.of),
            1 => format!("According to {by} one of {} {noun} objects.", agreement.of),
            objecting => format!("According to {by} {objecting} of {} {noun} object.", agreement.of),
        },
    }
}
