//! How far the answers of a run agree, in the little room that a tool's result has: a line of the text, and a shorter form
//! of what a report says of it.

use serde_json::{Value, json};

use parallel_llm_engine::text::safe::excerpt;
use parallel_llm_service::report::{AgreementReport, Report};

/// The longest text told of a model's analysis, in characters.
const TEXT_CHARS: usize = 160;
/// The longest value told that answers come to, in characters.
const VALUE_CHARS: usize = 60;
/// The longest line on how sure one may be, in characters: room for the longest name of a calibration set.
const CONFIDENCE_CHARS: usize = 240;
/// Claims that stay where the report is too large.
const CLAIMS_MAX: usize = 12;
/// Remarks, blind spots and passages of one kind that do.
const REMARKS_MAX: usize = 4;

/// What the analysis of a report is made of, in its JSON.
const ANALYSIS: [&str; 7] =
    ["claims", "consensus", "contradictions", "unique_points", "dissent", "discarded", "blind_spots"];

/// One line such as ``3 of 5 say `8 legs`; 2 contradictions; dissent: seat 4: …``; nothing where there is nothing to tell.
pub(super) fn line(report: &Report) -> Option<String> {
    let agreement = report.agreement.as_ref()?;
    let mut parts: Vec<String> = counted(agreement).into_iter().collect();
    if let Some(analysis) = &agreement.analysis {
        match analysis.contradictions.len() {
            0 => {}
            1 => parts.push("1 contradiction".to_owned()),
            count => parts.push(format!("{count} contradictions")),
        }
        let dissent = analysis.dissent.first();
        let described = |text: &str| excerpt(text, TEXT_CHARS);
        parts.extend(dissent.map(|one| format!("dissent: seat {}: {}", one.seat, described(&one.text))));
    }
    let confidence = report.confidence.iter().filter(|confidence| confidence.is_calibrated());
    parts.extend(confidence.map(|confidence| excerpt(&confidence.described(), CONFIDENCE_CHARS)));
    let value = agreement.novel.as_ref().and_then(|novel| novel.value.as_ref());
    let described = |value: &String| format!("no answer comes to `{}`", excerpt(value, VALUE_CHARS));
    parts.extend(value.map(described));
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// How many say the same, where that was counted.
fn counted(agreement: &AgreementReport) -> Option<String> {
    let AgreementReport { equal, of, .. } = agreement;
    let largest = agreement.clusters.first()?;
    if *equal < 2 {
        return Some(format!("no two of {of} agree"));
    }
    let said = match &largest.value {
        Some(value) => format!("`{}`", excerpt(value, VALUE_CHARS)),
        None => "the same".to_owned(),
    };
    Some(format!("{equal} of {of} say {said}"))
}

/// Shortens what a report says of an analysis, and of what is new in its text.
pub(super) fn shorten(report: &mut Report) {
    let clip = |text: &mut String| *text = excerpt(text, TEXT_CHARS);
    let Some(agreement) = &mut report.agreement else { return };
    let values = agreement.clusters.iter_mut().filter_map(|cluster| cluster.value.as_mut());
    let new = agreement.novel.iter_mut().filter_map(|novel| novel.value.as_mut());
    values.chain(new).for_each(|value| *value = excerpt(value, VALUE_CHARS));
    if let Some(novel) = &mut agreement.novel {
        novel.passages.truncate(REMARKS_MAX);
        novel.passages.iter_mut().for_each(clip);
    }
    let Some(analysis) = &mut agreement.analysis else { return };
    analysis.claims.truncate(CLAIMS_MAX);
    for list in [&mut analysis.consensus, &mut analysis.contradictions, &mut analysis.unique_points] {
        list.retain(|index| *index < CLAIMS_MAX);
    }
    for claim in &mut analysis.claims {
        clip(&mut claim.text);
        clip(&mut claim.reason);
    }
    for remarks in [&mut analysis.dissent, &mut analysis.discarded] {
        remarks.truncate(REMARKS_MAX);
        for remark in remarks {
            clip(&mut remark.text);
        }
    }
    analysis.blind_spots.truncate(REMARKS_MAX);
    analysis.blind_spots.iter_mut().for_each(clip);
}

/// Leaves out what a model said of the answers, and passages of its text.
pub(super) fn leave_out_analysis(described: &mut Value) {
    let Some(agreement) = described.get_mut("agreement").and_then(Value::as_object_mut) else { return };
    agreement.retain(|name, _| !ANALYSIS.contains(&name.as_str()));
    if let Some(novel) = agreement.get_mut("novel") {
        novel["passages"] = json!([]);
    }
}

/// Leaves out the calls beyond the panel, each judge's ranking and each check.
pub(super) fn leave_out_calls(described: &mut Value) {
    if let Some(described) = described.as_object_mut() {
        described.retain(|name, _| !matches!(name.as_str(), "calls" | "checks"));
    }
    if let Some(judging) = described.get_mut("judging") {
        judging["verdicts"] = json!([]);
    }
}
