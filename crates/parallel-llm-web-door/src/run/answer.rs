//! The final answer, part by part, with the seats whose wording backs each part and those that disagree.

use askama::Template;
use parallel_llm_engine::run::{SeatView, backing};
use parallel_llm_engine::{CallerSlot, OutcomeKind};
use parallel_llm_service::report::{AnalysisReport, ClaimReport, Report};

use super::seat;
use super::shown::{SeatMark, Shown, element};
use super::written::{WritingView, Written};
use crate::respond::rendered;
use crate::text::markdown::{self, Block};

/// The level of the section's own heading.
pub(super) const HEADING: usize = 2;
/// A text of more bytes scrolls in a box of its own, so that the rest of the page stays within reach: six screens.
const OPEN_BYTES_MAX: usize = 32 * 1024;

#[derive(Template)]
#[template(path = "run/answer.html")]
struct Answer {
    id: String,
    title: &'static str,
    how: Option<String>,
    is_busy: bool,
    has_text: bool,
    is_long: bool,
    parts: Vec<Part>,
    has_any_marks: bool,
    cut_note: Option<String>,
    writing: Option<WritingView>,
    waiting: String,
}

/// A part of the answer and who backs it.
struct Part {
    html: String,
    has_marks: bool,
    backed_by: Vec<SeatMark>,
    disputed_by: Vec<SeatMark>,
}

/// The section.
pub(super) fn section(shown: Shown<'_>) -> String {
    let Shown { run, report, .. } = shown;
    let is_busy = !run.is_decided() && shown.is_live();
    let text = report.answer.as_deref().unwrap_or_default();
    let (bounded, is_cut) = markdown::bounded(text);
    let parts = if bounded.is_empty() { Vec::new() } else { parts(shown, bounded) };
    let draft = run.called().filter(|view| writes_answer(view) && !view.partial.is_empty()).last();
    let writing = |view: &SeatView| {
        // A page that follows the run gets the text in pieces.
        let text = if shown.is_followed { "" } else { &*view.partial };
        Written::view(format!("{}-text", element(view.slot)), text, HEADING)
    };
    rendered(&Answer {
        id: shown.id(),
        title: if is_busy && text.is_empty() { "The answer is being made" } else { "Answer" },
        how: how(report),
        is_busy,
        has_text: !text.is_empty(),
        is_long: text.len() > OPEN_BYTES_MAX,
        has_any_marks: parts.iter().any(|part| part.has_marks),
        parts,
        cut_note: is_cut.then(|| seat::cut_note(text.len() as u64)),
        writing: draft.filter(|_| is_busy).map(writing),
        waiting: waiting(shown),
    })
}

fn writes_answer(view: &SeatView) -> bool {
    matches!(view.slot, CallerSlot::Synthesizer(_)) && !view.status.is_final()
}

/// How the text came about, in one sentence.
fn how(report: &Report) -> Option<String> {
    let synthesis = report.synthesis.as_ref()?;
    let by = synthesis.by.as_deref().unwrap_or_default();
    let of = synthesis.considered.len();
    let made = match synthesis.kind.as_str() {
        "fused" => format!("Fused from {of} answers by {by}"),
        "selected" => format!("Chosen among {of} answers"),
        "verbatim" => format!("One answer, word for word, by {by}"),
        "listed" => format!("{of} answers, one after the other"),
        _ => return None,
    };
    Some(match synthesis.reason.trim() {
        "" => format!("{made}."),
        reason => format!("{made}: {}.", seat::seen(reason.trim_end_matches('.'))),
    })
}

fn waiting(shown: Shown<'_>) -> String {
    let awaited = shown.run.awaited().count();
    match (shown.is_live(), awaited) {
        (false, _) => "There is no answer.".to_owned(),
        (true, 0) => "The answers are there; the final text comes next.".to_owned(),
        (true, 1) => "One call is awaited. The answer appears here as it comes.".to_owned(),
        (true, calls) => format!("{calls} calls are awaited. The answer appears here as it comes."),
    }
}

fn parts(shown: Shown<'_>, text: &str) -> Vec<Part> {
    let blocks = markdown::blocks(text, HEADING);
    let is_fused = shown.run.outcome.as_ref().is_some_and(|outcome| outcome.kind == OutcomeKind::Fused);
    let sources: Vec<&str> = blocks.iter().map(|block| block.source).collect();
    let backing = if is_fused { backing::of(shown.run, &sources) } else { None };
    let mut backing = backing.unwrap_or_default().into_iter();
    let analysis = shown.report.agreement.as_ref().and_then(|agreement| agreement.analysis.as_ref());
    let disputed = disputes(analysis.filter(|_| is_fused), &sources);
    let part = |(block, disputed): (Block<'_>, Vec<u8>)| {
        let seats = backing.next().flatten();
        let marks = seats.as_ref().map(|seats| seats.iter().map(|seat| seat.0).collect::<Vec<_>>());
        Part {
            html: block.html,
            has_marks: marks.is_some() || !disputed.is_empty(),
            backed_by: shown.marks(&marks.unwrap_or_default()),
            disputed_by: shown.marks(&disputed),
        }
    };
    blocks.into_iter().zip(disputed).map(part).collect()
}

/// For each part, the seats that contradict a kept claim which this part, more than any other, words.
fn disputes(analysis: Option<&AnalysisReport>, parts: &[&str]) -> Vec<Vec<u8>> {
    let mut disputed = vec![Vec::new(); parts.len()];
    let Some(analysis) = analysis else { return disputed };
    let is_kept = |claim: &&ClaimReport| claim.verdict.as_deref() != Some("dropped");
    for claim in analysis.claims_of(&analysis.contradictions).filter(is_kept) {
        if let Some(at) = backing::closest(&claim.text, parts) {
            disputed[at].extend(&claim.contradicted_by);
        }
    }
    for seats in &mut disputed {
        seats.sort_unstable();
        seats.dedup();
    }
    disputed
}
