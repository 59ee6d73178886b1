//! Agreement in the limited space of a tool result: a line of the text, and a shorter form of the report's part.

use serde_json::{Value, json};

use parallel_llm_engine::text::safe::excerpt;
use parallel_llm_service::report::{AgreementReport, Report};

/// The longest excerpt of an analysis, in characters.
const TEXT_CHARS: usize = 160;
/// The longest excerpt of a value, in characters.
const VALUE_CHARS: usize = 60;
/// The longest excerpt on confidence, in characters: room for the longest name of a calibration set.
const CONFIDENCE_CHARS: usize = 240;
/// The most claims in a report that is too large.
const CLAIMS_MAX: usize = 12;
/// The most remarks, blind spots or passages of one kind in such a report.
const REMARKS_MAX: usize = 4;

/// The members of the analysis in the report's JSON.
const ANALYSIS: [&str; 7] =
    ["claims", "consensus", "contradictions", "unique_points", "dissent", "discarded", "blind_spots"];

/// One line such as ``3 of 5 say `8 legs`; 2 contradictions; dissent: seat 4: …``; `None` if there is nothing to say.
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

/// The number of equal answers, if they were counted.
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

/// Shortens the analysis and the new passages of a report.
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

/// Leaves out the analysis and the new passages.
pub(super) fn leave_out_analysis(described: &mut Value) {
    let Some(agreement) = described.get_mut("agreement").and_then(Value::as_object_mut) else { return };
    agreement.retain(|name, _| !ANALYSIS.contains(&name.as_str()));
    if let Some(novel) = agreement.get_mut("novel") {
        novel["passages"] = json!([]);
    }
}

/// Leaves out the calls beyond the panel, the verdicts and the checks.
pub(super) fn leave_out_calls(described: &mut Value) {
    if let Some(described) = described.as_object_mut() {
        described.retain(|name, _| !matches!(name.as_str(), "calls" | "checks"));
    }
    if let Some(judging) = described.get_mut("judging") {
        judging["verdicts"] = json!([]);
    }
}
