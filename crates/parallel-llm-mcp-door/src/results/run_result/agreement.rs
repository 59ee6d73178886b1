//! Agreement in the limited space of a tool result: who agrees and who objects, by model, and a shorter form of the report's
//! part.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use parallel_llm_engine::text::safe::excerpt;
use parallel_llm_service::report::{Agreed, Objection, Report, Sides, TextRoom};

use super::seat_name::{NAME_CHARS, name};

/// The longest excerpt of an analysis, in characters.
const TEXT_CHARS: usize = 160;
/// The longest excerpts of values and objections. They are in every reply.
const ROOM: TextRoom = TextRoom { value_chars_max: 60, text_chars_max: 120 };
/// The longest excerpt on confidence, in characters: room for the longest name of a calibration set.
const CONFIDENCE_CHARS: usize = 240;
/// The most objections named.
const OBJECTIONS_MAX: usize = 4;
/// The most models named that agree.
const AGREEING_MAX: usize = 8;
/// The most claims in a report that is too large.
const CLAIMS_MAX: usize = 12;
/// The most changes or passages in such a report.
const REMARKS_MAX: usize = 4;

/// The members of the analysis in the report's JSON.
const ANALYSIS: [&str; 4] = ["read_by", "changes", "claims", "dissent"];

/// Who agrees and who objects.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct AgreementReply {
    /// Models that say the same, or, of an open question, make the same claims and object to none.
    agree: Vec<String>,
    /// Models that say otherwise.
    object: Vec<ObjectionReply>,
    /// In a line.
    #[serde(skip_serializing_if = "String::is_empty")]
    summary: String,
}

/// What one model says otherwise.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(super) struct ObjectionReply {
    /// Who.
    model: String,
    /// What.
    says: String,
}

impl AgreementReply {
    /// The agreement of a run; `None` if there is nothing to say.
    pub(super) fn of(report: &Report) -> Option<Self> {
        let sides = Sides::of(report)?;
        let objections = sides.objections();
        let mut agree: Vec<String> = sides.agreeing().into_iter().map(|seat| name(report, seat)).collect();
        if agree.len() > AGREEING_MAX {
            let more = agree.split_off(AGREEING_MAX).len();
            agree.push(format!("{more} more"));
        }
        let more = objections.len().saturating_sub(OBJECTIONS_MAX);
        let reply = |Objection { seat, point }: &Objection<'_>| ObjectionReply {
            model: name(report, *seat),
            says: point.described(ROOM),
        };
        let object: Vec<ObjectionReply> = objections.iter().take(OBJECTIONS_MAX).map(reply).collect();
        let summary = summary(report, &sides, more).join("; ");
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

/// The parts of the line that name nobody.
fn summary(report: &Report, sides: &Sides<'_>, objections_left_out: usize) -> Vec<String> {
    let mut parts: Vec<String> = counted(sides).into_iter().collect();
    if let Some(analysis) = &sides.agreement.analysis {
        let found = match analysis.contradicted().count() {
            0 => String::new(),
            1 => "1 contradiction, ".to_owned(),
            count => format!("{count} contradictions, "),
        };
        parts.push(format!("{found}as {} reads the answers", excerpt(&analysis.read_by, NAME_CHARS)));
    }
    if objections_left_out > 0 {
        parts.push(format!("{objections_left_out} more object"));
    }
    let confidence = report.confidence.iter().filter(|confidence| confidence.is_calibrated());
    parts.extend(confidence.map(|confidence| excerpt(&confidence.described(), CONFIDENCE_CHARS)));
    parts.extend(sides.new_value().map(|value| format!("no answer comes to {}", ROOM.quoted(value))));
    parts
}

/// The number of equal answers, if they were counted.
fn counted(sides: &Sides<'_>) -> Option<String> {
    let (equal, of) = (sides.agreement.equal, sides.agreement.of);
    Some(match sides.agreed() {
        Agreed::Open | Agreed::Unread => return None,
        Agreed::AllDiffer => format!("no two of {of} agree"),
        Agreed::Value(value) => format!("{equal} of {of} say {}", ROOM.quoted(value)),
        Agreed::Words => format!("{equal} of {of} say the same"),
    })
}

/// Shortens the values, the analysis and the new passages of a report.
pub(super) fn shorten(report: &mut Report) {
    let clip = |text: &mut String| *text = excerpt(text, TEXT_CHARS);
    let Some(agreement) = &mut report.agreement else { return };
    agreement.clusters.iter_mut().for_each(|cluster| cluster.also.clear());
    let values = agreement.clusters.iter_mut().filter_map(|cluster| cluster.value.as_mut());
    let new = agreement.novel.iter_mut().filter_map(|novel| novel.value.as_mut());
    values.chain(new).for_each(|value| *value = excerpt(value, ROOM.value_chars_max));
    if let Some(novel) = &mut agreement.novel {
        novel.passages.truncate(REMARKS_MAX);
        novel.passages.iter_mut().for_each(clip);
    }
    let Some(analysis) = &mut agreement.analysis else { return };
    analysis.read_by = excerpt(&analysis.read_by, NAME_CHARS);
    analysis.claims.truncate(CLAIMS_MAX);
    analysis.claims.iter_mut().for_each(|claim| clip(&mut claim.text));
    analysis.changes.truncate(REMARKS_MAX);
    for change in &mut analysis.changes {
        clip(&mut change.what);
        clip(&mut change.why);
    }
    clip(&mut analysis.dissent);
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
