//! The agreement page and the short list of differences, from a run's report.
//!
//! What always holds: model text is on one line, of bounded length, and without control sequences.

use parallel_llm_engine::text::safe::excerpt;
use parallel_llm_service::report::{
    AgreementReport, AnalysisReport, ClaimReport, ClusterReport, RemarkReport, Report, SeatReport,
};

/// The longest text of a claim, a remark or a reason, in characters: the parser keeps no more.
const TEXT_CHARS: usize = 500;
/// The longest value shown, in characters.
const VALUE_CHARS: usize = 60;
/// The message without an analysis.
const NOT_COMPARED: &str = "no model compared what they say, or its words are not kept";

/// The agreement of a run as a page.
pub fn page(report: &Report) -> String {
    let mut lines = vec![format!("run {}, {}, {}", report.run_id, report.strategy, report.status)];
    lines.extend(missing(report));
    if let Some(agreement) = &report.agreement {
        lines.extend(counted(report, agreement));
        match &agreement.analysis {
            Some(analysis) => lines.extend(compared(report, analysis)),
            None => lines.push(NOT_COMPARED.to_owned()),
        }
        lines.extend(new(agreement));
    } else {
        lines.push("there were not several answers to compare".to_owned());
    }
    lines.extend(made(report));
    lines.join("\n")
}

/// Only the differences: values, contradictions, dissent.
pub fn differences(report: &Report) -> Vec<String> {
    let Some(agreement) = &report.agreement else {
        return vec!["there were not several answers that could differ".to_owned()];
    };
    let mut lines = Vec::new();
    let values = agreement.clusters.iter().filter(|cluster| cluster.value.is_some());
    if values.clone().count() > 1 {
        lines.extend(values.map(|cluster| format!("  {}", self::cluster(report, cluster))));
    }
    if let Some(analysis) = &agreement.analysis {
        let contradictions = analysis.claims_of(&analysis.contradictions);
        lines.extend(contradictions.flat_map(|claim| contradiction(report, claim)));
        lines.extend(analysis.dissent.iter().map(|one| format!("  not followed: {}", remark(report, one))));
    }
    match (lines.is_empty(), &agreement.analysis) {
        (false, _) => lines.insert(0, "where the models differ:".to_owned()),
        (true, Some(_)) => lines.push("nothing is known in which the models differ".to_owned()),
        (true, None) => {
            lines.push(format!("nothing is known in which the models differ: {NOT_COMPARED}"));
        }
    }
    lines
}

/// The groups of equal answers and their weight.
fn counted(report: &Report, agreement: &AgreementReport) -> Vec<String> {
    let mut lines = Vec::new();
    let of = agreement.of;
    lines.push(match &agreement.effective_votes {
        Some(votes) => format!(
            "{of} answers, worth about {} independent votes (by a {}, not measured on your questions)",
            votes.panel, votes.source
        ),
        None => format!("{of} answers"),
    });
    for (place, cluster) in agreement.clusters.iter().enumerate() {
        let votes = agreement.effective_votes.as_ref().and_then(|votes| votes.largest);
        let worth = match votes.filter(|_| place == 0 && cluster.seats.len() > 1) {
            Some(votes) => format!(" (worth about {votes} votes)"),
            None => String::new(),
        };
        lines.push(format!("  {}{worth}", self::cluster(report, cluster)));
    }
    if let Some(by) = &agreement.grouped_by {
        lines.push(format!("  what stands on one line means the same in the opinion of {}", text(by)));
    }
    if !agreement.unread.is_empty() {
        lines.push(format!("  not said plainly: {}", names(report, &agreement.unread)));
    }
    if let (Some(share), Some(bits)) = (agreement.share, agreement.entropy_bits) {
        lines.push(format!("{} in the largest cluster, spread over {bits} bits", percent(share)));
    }
    lines.extend(report.confidence.iter().map(|confidence| text(&confidence.described())));
    lines
}

/// The analysis by the model that read all answers.
fn compared(report: &Report, analysis: &AnalysisReport) -> Vec<String> {
    let plain = |claim: &ClaimReport| format!("  - {}{}", text(&claim.text), verdict(claim));
    let unique = |claim: &ClaimReport| {
        format!("  - {}: {}{}", names(report, &claim.supported_by), text(&claim.text), verdict(claim))
    };
    let remarks = |remarks: &[RemarkReport]| -> Vec<String> {
        remarks.iter().map(|one| format!("  - {}", remark(report, one))).collect()
    };
    let those = |list| analysis.claims_of(list);
    [
        vec![String::new(), format!("in the opinion of {}, which read the answers", text(&analysis.read_by))],
        section("all say", those(&analysis.consensus).map(plain)),
        section("they contradict each other", {
            those(&analysis.contradictions).flat_map(|claim| contradiction(report, claim))
        }),
        section("not followed, and why", remarks(&analysis.dissent)),
        section("not used, and why", remarks(&analysis.discarded)),
        section("only one says", those(&analysis.unique_points).map(unique)),
        section("no answer covers", analysis.blind_spots.iter().map(|spot| format!("  - {}", text(spot)))),
    ]
    .concat()
}

/// Lines below a heading, which also notes if there are none.
fn section(heading: &str, lines: impl IntoIterator<Item = String>) -> Vec<String> {
    let lines: Vec<String> = lines.into_iter().collect();
    let none = if lines.is_empty() { " nothing" } else { "" };
    [vec![String::new(), format!("{heading}:{none}")], lines].concat()
}

/// A contradicted claim with the seats of both sides.
fn contradiction(report: &Report, claim: &ClaimReport) -> [String; 2] {
    let who = match claim.supported_by.as_slice() {
        [] => "nobody".to_owned(),
        seats => names(report, seats),
    };
    [
        format!("  - {}{}", text(&claim.text), verdict(claim)),
        format!("      say so: {who}; say otherwise: {}", names(report, &claim.contradicted_by)),
    ]
}

/// The new wording of the text.
fn new(agreement: &AgreementReport) -> Vec<String> {
    let Some(novel) = &agreement.novel else { return Vec::new() };
    let mut lines = section(
        &format!("new wording ({} of the sentences of the text)", percent(novel.share)),
        novel.passages.iter().map(|passage| format!("  - {}", text(passage))),
    );
    let value = novel.value.as_ref().map(|value| excerpt(value, VALUE_CHARS));
    lines.extend(value.map(|value| format!("  the text comes to `{value}`, and no answer does")));
    lines
}

/// How the text was made.
fn made(report: &Report) -> Vec<String> {
    let Some(synthesis) = &report.synthesis else { return Vec::new() };
    let mut lines = vec![String::new(), format!("{}: {}", synthesis.kind, text(&synthesis.reason))];
    if let Some(worth) = &report.worth {
        let changed = worth.edit_ratio.map(|ratio| format!(", {} changed", percent(ratio)));
        let base = names(report, &[worth.base_seat]);
        lines.push(format!("started from {base}{}", changed.unwrap_or_default()));
    }
    if let Some(judging) = &report.judging {
        let ranked = |ranking: &[u8]| match ranking {
            [] => "finds a tie".to_owned(),
            _ => format!(
                "ranks seats {}",
                ranking.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
            ),
        };
        let verdicts = judging.verdicts.iter();
        lines.extend(verdicts.map(|verdict| format!("{} {}", verdict.by, ranked(&verdict.ranking))));
        lines.push(format!("verdicts that changed with the order: {}", judging.flips));
    }
    if !report.suspected_injection.is_empty() {
        let suspected: Vec<u8> = report.suspected_injection.iter().map(|one| one.seat).collect();
        let who = names(report, &suspected);
        lines.push(format!("suspected of having tried to instruct its readers: {who}"));
    }
    lines
}

/// The seats without an answer, those whose answer broke off and was used, and those whose answer came too late.
fn missing(report: &Report) -> Vec<String> {
    let described = |seat: &SeatReport| {
        let why = seat.error.as_ref().map(|error| format!(", {}", error.code)).unwrap_or_default();
        format!("{} ({}{why})", names(report, &[seat.seat]), seat.status)
    };
    let line =
        |what: &str, seats: Vec<String>| (!seats.is_empty()).then(|| format!("{what}: {}", seats.join("; ")));
    let late = report.answers.iter().filter(|seat| seat.late);
    let lines = [
        line("missing", report.seats(&report.seats_missing).map(described).collect()),
        line("used although cut", report.seats(&report.seats_used_although_cut).map(described).collect()),
        line("came too late", late.map(described).collect()),
    ];
    lines.into_iter().flatten().collect()
}

fn cluster(report: &Report, cluster: &ClusterReport) -> String {
    let who = names(report, &cluster.seats);
    match &cluster.value {
        Some(value) => {
            let values: Vec<String> = std::iter::once(value)
                .chain(&cluster.also)
                .map(|value| format!("`{}`", excerpt(value, VALUE_CHARS)))
                .collect();
            format!("{}: {who}", values.join(" or "))
        }
        None if cluster.seats.len() > 1 => format!("the same words: {who}"),
        None => format!("other words: {who}"),
    }
}

fn remark(report: &Report, remark: &RemarkReport) -> String {
    format!("{}: {}", names(report, &[remark.seat]), text(&remark.text))
}

/// The verdict on a claim and its reason, if given.
fn verdict(claim: &ClaimReport) -> String {
    let parts: Vec<String> = claim
        .verdict
        .iter()
        .cloned()
        .chain(Some(text(&claim.reason)))
        .filter(|part| !part.is_empty())
        .collect();
    if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(": ")) }
}

/// Seats with their models: `1 a/b, 3 c/d`.
fn names(report: &Report, seats: &[u8]) -> String {
    seats.iter().map(|seat| name(report, *seat)).collect::<Vec<_>>().join(", ")
}

/// A seat with its model: `1 a/b`.
pub(super) fn name(report: &Report, seat: u8) -> String {
    let model = report.answers.iter().find(|one| one.seat == seat).map(|one| one.model.as_str());
    format!("{seat} {}", model.unwrap_or("unknown"))
}

fn text(text: &str) -> String {
    excerpt(text, TEXT_CHARS)
}

fn percent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}
