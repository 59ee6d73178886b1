//! Who agrees and who does not: groups of equal answers, contradictions, and what only one answer says.

use askama::Template;
use parallel_llm_service::report::{
    Agreed, AgreementReport, AnalysisReport, ClaimReport, RemarkReport, Sides,
};

use super::seat::seen;
use super::shown::{SeatMark, Shown};
use crate::respond::rendered;

#[derive(Template)]
#[template(path = "run/agreement.html")]
struct Agreement {
    is_empty: bool,
    summary: String,
    confidence: Option<String>,
    groups: Vec<Group>,
    contradictions: Vec<Claim>,
    lists: Vec<List>,
    notes: Vec<String>,
    /// Whose the numbers are.
    seats: Vec<SeatMark>,
}

/// Seats that give the same value.
struct Group {
    value: String,
    seats: Vec<SeatMark>,
}

/// A claim on which answers differ.
struct Claim {
    text: String,
    supported_by: Vec<SeatMark>,
    contradicted_by: Vec<SeatMark>,
    verdict: String,
    reason: String,
}

/// A list of claims or remarks.
struct List {
    name: &'static str,
    title: &'static str,
    is_open: bool,
    items: Vec<Item>,
}

/// A line of a list.
struct Item {
    seats: Vec<SeatMark>,
    text: String,
}

/// The section.
pub(super) fn section(shown: Shown<'_>) -> String {
    let empty = |summary: &str| Agreement {
        is_empty: true,
        summary: summary.to_owned(),
        confidence: None,
        groups: Vec::new(),
        contradictions: Vec::new(),
        lists: Vec::new(),
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
        value: cluster.value.as_deref().map_or_else(
            || format!("text {}", index + 1),
            |value| {
                let also = cluster.also.iter().map(String::as_str);
                std::iter::once(value).chain(also).map(seen).collect::<Vec<_>>().join(" or ")
            },
        ),
        seats: shown.marks(&cluster.seats),
    };
    let claim = |claim: &ClaimReport| Claim {
        text: seen(&claim.text),
        supported_by: shown.marks(&claim.supported_by),
        contradicted_by: shown.marks(&claim.contradicted_by),
        verdict: claim.verdict.clone().unwrap_or_else(|| "not said".to_owned()),
        reason: seen(&claim.reason),
    };
    let contradictions = analysis.iter().flat_map(|analysis| analysis.claims_of(&analysis.contradictions));
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
    let opinion = analysis.as_ref().map(|analysis| {
        format!("What the answers claim is the opinion of {}, which read them.", seen(&analysis.read_by))
    });
    Agreement {
        is_empty: false,
        summary: summary(sides),
        confidence: shown.report.confidence.as_ref().map(capitalised_confidence),
        groups: clusters.iter().zip(0..).map(group).collect(),
        contradictions: contradictions.map(claim).collect(),
        lists: analysis.as_ref().map(|analysis| lists(shown, analysis)).unwrap_or_default(),
        seats: (1..=shown.run.seats.len() as u8).map(|number| SeatMark::of(shown.run, number)).collect(),
        notes: [unread, grouped, votes, opinion].into_iter().flatten().collect(),
    }
}

fn capitalised_confidence(confidence: &parallel_llm_service::report::ConfidenceReport) -> String {
    format!("Confidence: {} ({}).", confidence.band, confidence.basis)
}

/// How many answers say the same, in one sentence.
fn summary(sides: &Sides<'_>) -> String {
    let (agreement, noun) = (sides.agreement, sides.noun());
    match sides.agreed() {
        Agreed::Value(_) | Agreed::Words => format!("{} of {} {noun} agree.", agreement.equal, agreement.of),
        Agreed::AllDiffer => format!("No two of {} {noun} agree.", agreement.of),
        Agreed::Unread => format!("None of {} {noun} states its result plainly.", agreement.of),
        Agreed::Open => match sides.objections().len() {
            0 if agreement.analysis.is_some() => {
                format!("{} {noun} answered an open question, and none objects.", agreement.of)
            }
            0 => format!("{} {noun} answered an open question; nobody compared what they say.", agreement.of),
            1 => format!("One of {} {noun} objects.", agreement.of),
            objecting => format!("{objecting} of {} {noun} object.", agreement.of),
        },
    }
}

fn lists(shown: Shown<'_>, analysis: &AnalysisReport) -> Vec<List> {
    let claims = |indexes: &[usize]| -> Vec<Item> {
        let item =
            |claim: &ClaimReport| Item { seats: shown.marks(&claim.supported_by), text: seen(&claim.text) };
        analysis.claims_of(indexes).map(item).collect()
    };
    let remarks = |remarks: &[RemarkReport]| -> Vec<Item> {
        remarks.iter().map(|one| Item { seats: shown.marks(&[one.seat]), text: seen(&one.text) }).collect()
    };
    let blind =
        analysis.blind_spots.iter().map(|text| Item { seats: Vec::new(), text: seen(text) }).collect();
    let list = |name, title, is_open, items| List { name, title, is_open, items };
    let all = [
        list("dissent", "Dissent that was not followed", true, remarks(&analysis.dissent)),
        list("unique", "Said by one answer only", false, claims(&analysis.unique_points)),
        list("consensus", "Said by all", false, claims(&analysis.consensus)),
        list("discarded", "Answers left out", false, remarks(&analysis.discarded)),
        list("blind", "Covered by none", false, blind),
    ];
    all.into_iter().filter(|list| !list.items.is_empty()).collect()
}
