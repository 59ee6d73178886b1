//! The final answer, and how it came about. Who stands behind it is the matter of the section on agreement.

use askama::Template;
use parallel_llm_engine::CallerSlot;
use parallel_llm_engine::run::SeatView;
use parallel_llm_service::report::Report;

use super::seat;
use crate::respond::rendered;
use crate::run::view::shown::{Shown, element};
use crate::run::view::written::{WritingView, Written};
use crate::text::markdown;

/// The level of the section's own heading.
pub(crate) const HEADING: usize = 2;
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
    html: String,
    cut_note: Option<String>,
    writing: Option<WritingView>,
    waiting: String,
}

/// The section.
pub(super) fn section(shown: Shown<'_>) -> String {
    let Shown { run, report, .. } = shown;
    let is_busy = !run.is_decided() && shown.is_live();
    let text = report.answer.as_deref().unwrap_or_default();
    let (bounded, is_cut) = markdown::bounded(text);
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
        html: markdown::render(bounded, HEADING),
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
