//! The agreement page and the short list of differences, from a run's report.
//!
//! What always holds: model text is on one line, of bounded length, and without control sequences.

use parallel_llm_engine::text::safe::excerpt;
use parallel_llm_service::report::{
    AgreementReport, AnalysisReport, ChangeReport, ClaimReport, ClusterReport, Report, SeatReport,
    VerdictReport,
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
        let mut opinion: Vec<String> =
            analysis.contradicted().flat_map(|claim| self::claim(report, claim)).collect();
        opinion.extend(dissent(analysis).map(|dissent| format!("  - not followed: {dissent}")));
        if !opinion.is_empty() {
            lines.push(format!("in the opinion of {}:", text(&analysis.read_by)));
            lines.append(&mut opinion);
        }
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

/// What the model that read all answers says of them; a list that is empty is left out.
fn compared(report: &Report, analysis: &AnalysisReport) -> Vec<String> {
    let by = text(&analysis.read_by);
    let change = |change: &ChangeReport| {
        let from = (!change.from.is_empty()).then(|| format!("from {}", names(report, &change.from)));
        let parts: Vec<String> =
            from.into_iter().chain(Some(text(&change.why))).filter(|part| !part.is_empty()).collect();
        let parts = if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(": ")) };
        format!("  - {}{parts}", text(&change.what))
    };
    let claims = analysis.claims.iter().flat_map(|claim| self::claim(report, claim));
    [
        section(&format!("what {by} says of who supports what, its own opinion"), claims),
        section(&format!("what {by} says it changed"), analysis.changes.iter().map(change)),
        section(
            &format!("what {by} did not follow, and why"),
            dissent(analysis).map(|dissent| format!("  - {dissent}")),
        ),
    ]
    .concat()
}

/// Lines below a heading; nothing without lines.
fn section(heading: &str, lines: impl IntoIterator<Item = String>) -> Vec<String> {
    let lines: Vec<String> = lines.into_iter().collect();
    if lines.is_empty() {
        return lines;
    }
    [vec![String::new(), format!("{heading}:")], lines].concat()
}

/// A claim with the seats of both sides.
fn claim(report: &Report, claim: &ClaimReport) -> [String; 2] {
    let sides = [("for", &claim.r#for), ("against", &claim.against)];
    let sides = sides.into_iter().filter(|(_, seats)| !seats.is_empty());
    let sides: Vec<String> = sides.map(|(side, seats)| format!("{side}: {}", names(report, seats))).collect();
    [format!("  - {}", text(&claim.text)), format!("      {}", sides.join("; "))]
}

/// The strongest view that was not followed.
fn dissent(analysis: &AnalysisReport) -> Option<String> {
    (!analysis.dissent.is_empty()).then(|| text(&analysis.dissent))
}

/// The new wording of the text.
fn new(agreement: &AgreementReport) -> Vec<String> {
    let Some(novel) = &agreement.novel else { return Vec::new() };
    let heading = format!("new wording ({} of the sentences of the text)", percent(novel.share));
    let passages = novel.passages.iter().map(|passage| format!("  - {}", text(passage)));
    let mut lines = section(&heading, passages);
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
        lines.extend(judging.verdicts.iter().map(|verdict| format!("{} {}", verdict.by, ranked(verdict))));
        lines.push(format!("verdicts that changed with the order: {}", judging.flips));
    }
    if !report.suspected_injection.is_empty() {
        let suspected: Vec<u8> = report.suspected_injection.iter().map(|one| one.seat).collect();
        let who = names(report, &suspected);
        lines.push(format!("suspected of having tried to instruct its readers: {who}"));
    }
    lines
}

/// The verdict of a judge in words.
fn ranked(verdict: &VerdictReport) -> String {
    let seats = |seats: &[u8]| seats.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    match (verdict.ranking.as_slice(), verdict.tied.as_slice()) {
        ([], _) => "finds a tie".to_owned(),
        (ranking, []) => format!("ranks seats {}", seats(ranking)),
        (ranking, tied) => {
            format!("ranks seats {}, of which {} are first together", seats(ranking), seats(tied))
        }
    }
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
        Some(_) => {
            let values = cluster.values().map(|value| format!("`{}`", excerpt(value, VALUE_CHARS)));
            format!("{}: {who}", values.collect::<Vec<_>>().join(" or "))
        }
        None if cluster.seats.len() > 1 => format!("the same words: {who}"),
        None => format!("other words: {who}"),
    }
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
