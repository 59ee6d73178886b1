//! Agreement in the limited space of a tool result: who agrees and who objects, by name, and a shorter form of the report's
//! part.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use parallel_llm_engine::text::safe::excerpt;
use parallel_llm_service::report::{AgreementReport, AnalysisReport, ClaimReport, Report};

use super::name;

/// The longest excerpt of an analysis, in characters.
const TEXT_CHARS: usize = 160;
/// The longest excerpt of an objection, in characters. Objections are in every reply.
const OBJECTION_CHARS: usize = 120;
/// The longest excerpt of a value, in characters.
const VALUE_CHARS: usize = 60;
/// The longest excerpt on confidence, in characters: room for the longest name of a calibration set.
const CONFIDENCE_CHARS: usize = 240;
/// The most objections named.
const OBJECTIONS_MAX: usize = 4;
/// The most models named that agree.
const AGREEING_MAX: usize = 8;
/// The most claims in a report that is too large.
const CLAIMS_MAX: usize = 12;
/// The most remarks, blind spots or passages of one kind in such a report.
const REMARKS_MAX: usize = 4;

/// The members of the analysis in the report's JSON.
const ANALYSIS: [&str; 7] =
    ["claims", "consensus", "contradictions", "unique_points", "dissent", "discarded", "blind_spots"];

/// Who agrees and who objects.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct AgreementReply {
    /// Models that say the same, or, of an open question, make the same claims and object to none.
    agree: Vec<String>,
    /// Models that say otherwise.
    object: Vec<Objection>,
    /// In a line.
    #[serde(skip_serializing_if = "String::is_empty")]
    summary: String,
}

/// What one model says otherwise.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct Objection {
    /// Who.
    model: String,
    /// What.
    says: String,
}

impl AgreementReply {
    /// The agreement of a run; `None` if there is nothing to say.
    pub(super) fn of(report: &Report) -> Option<Self> {
        let agreement = report.agreement.as_ref()?;
        let objecting = objecting(report, agreement);
        let mut agree: Vec<String> =
            agreeing(report, agreement, &objecting).into_iter().map(|seat| name(report, seat)).collect();
        if agree.len() > AGREEING_MAX {
            let more = agree.split_off(AGREEING_MAX).len();
            agree.push(format!("{more} more"));
        }
        let more = objecting.len().saturating_sub(OBJECTIONS_MAX);
        let objection = |(seat, says): &(u8, String)| Objection {
            model: name(report, *seat),
            says: excerpt(says, OBJECTION_CHARS),
        };
        let object: Vec<Objection> = objecting.iter().take(OBJECTIONS_MAX).map(objection).collect();
        let summary = summary(report, agreement, more).join("; ");
        let is_empty = agree.is_empty() && object.is_empty() && summary.is_empty();
        (!is_empty).then_some(Self { agree, object, summary })
    }

    /// The same as one line: ``3 of 5 say `8 legs`; agree: a/b, c/d, e/f; g/h objects: …``.
    pub(super) fn line(&self) -> String {
        let summary = Some(self.summary.clone()).filter(|summary| !summary.is_empty());
        let agree = (!self.agree.is_empty()).then(|| format!("agree: {}", self.agree.join(", ")));
        let object = self.object.iter().map(|one| format!("{} objects: {}", one.model, one.says));
        summary.into_iter().chain(agree).chain(object).collect::<Vec<_>>().join("; ")
    }
}

/// The seats that say the same: the largest group of equal answers. Of an open question, the seats that make a claim which
/// another makes too, and that neither object nor were discarded.
fn agreeing(report: &Report, agreement: &AgreementReport, objecting: &[(u8, String)]) -> Vec<u8> {
    if let Some(largest) = agreement.clusters.first() {
        return if agreement.equal > 1 { largest.seats.clone() } else { Vec::new() };
    }
    let Some(analysis) = &agreement.analysis else { return Vec::new() };
    let shares = |seat: &u8| {
        let mut shared = analysis.claims.iter().filter(|claim| claim.supported_by.len() > 1);
        shared.any(|claim| claim.supported_by.contains(seat))
    };
    let objects = |seat: &u8| objecting.iter().any(|(other, _)| other == seat);
    let is_discarded = |seat: &u8| analysis.discarded.iter().any(|remark| remark.seat == *seat);
    let considered = report.synthesis.iter().flat_map(|synthesis| &synthesis.considered).copied();
    considered.filter(|seat| shares(seat) && !objects(seat) && !is_discarded(seat)).collect()
}

/// The seats that say otherwise, each with its first objection: dissent, then contradicted claims, then other values.
fn objecting(report: &Report, agreement: &AgreementReport) -> Vec<(u8, String)> {
    let mut objections: Vec<(u8, String)> = Vec::new();
    let analysis = agreement.analysis.as_ref();
    let dissent = analysis.into_iter().flat_map(|analysis| &analysis.dissent);
    objections.extend(dissent.map(|remark| (remark.seat, remark.text.clone())));
    objections.extend(analysis.into_iter().flat_map(contradicting));
    if agreement.equal > 1 {
        let others = agreement.clusters.iter().skip(1);
        let says = |value: &Option<String>| match value {
            Some(value) => format!("`{}`", excerpt(value, VALUE_CHARS)),
            None => "something else".to_owned(),
        };
        objections
            .extend(others.flat_map(|other| other.seats.iter().map(move |seat| (*seat, says(&other.value)))));
    }
    let mut named = Vec::new();
    objections.retain(|(seat, _)| {
        let is_first = !named.contains(seat) && report.answers.iter().any(|one| one.seat == *seat);
        named.push(*seat);
        is_first
    });
    objections
}

/// The seats on the other side of each contradicted claim than the final text.
fn contradicting(analysis: &AnalysisReport) -> Vec<(u8, String)> {
    let of_claim = |claim: &ClaimReport| {
        let is_dropped = claim.verdict.as_deref() == Some("dropped");
        let (seats, says) = if is_dropped {
            (&claim.supported_by, claim.text.clone())
        } else {
            (&claim.contradicted_by, format!("not so: {}", claim.text))
        };
        seats.iter().map(|seat| (*seat, says.clone())).collect::<Vec<_>>()
    };
    analysis.claims_of(&analysis.contradictions).flat_map(of_claim).collect()
}

/// The parts of the line that name nobody.
fn summary(report: &Report, agreement: &AgreementReport, objections_left_out: usize) -> Vec<String> {
    let mut parts: Vec<String> = counted(agreement).into_iter().collect();
    if let Some(analysis) = &agreement.analysis {
        match analysis.contradictions.len() {
            0 => {}
            1 => parts.push("1 contradiction".to_owned()),
            count => parts.push(format!("{count} contradictions")),
        }
    }
    if objections_left_out > 0 {
        parts.push(format!("{objections_left_out} more object"));
    }
    let confidence = report.confidence.iter().filter(|confidence| confidence.is_calibrated());
    parts.extend(confidence.map(|confidence| excerpt(&confidence.described(), CONFIDENCE_CHARS)));
    let value = agreement.novel.as_ref().and_then(|novel| novel.value.as_ref());
    let described = |value: &String| format!("no answer comes to `{}`", excerpt(value, VALUE_CHARS));
    parts.extend(value.map(described));
    parts
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
