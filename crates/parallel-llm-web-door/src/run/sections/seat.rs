//! A seat's card: who answered, how, at what cost, and its text.

use askama::Template;
use parallel_llm_engine::run::SeatView;
use parallel_llm_engine::value::invisible;
use parallel_llm_engine::{CallerSlot, Finish};
use parallel_llm_service::report::cost::Cost;
use parallel_llm_service::report::{ErrorReport, SeatReport};

use crate::respond::rendered;
use crate::run::view::shown::{Shown, StatusMark, colour, element};
use crate::run::view::written::{WritingView, Written};
use crate::text::{figures, markdown};

/// The level of the cards' own headings.
pub(crate) const HEADING: usize = 3;

#[derive(Template)]
#[template(path = "run/seat_head.html")]
struct SeatHead<'a> {
    id: String,
    head_id: String,
    slot: String,
    number: u8,
    colour: u8,
    model: &'a str,
    persona: Option<String>,
    status: StatusMark,
    facts: Vec<String>,
    error: Option<&'a ErrorReport>,
    is_busy: bool,
    can_skip: bool,
    has_text: bool,
    form_token: String,
}

#[derive(Template)]
#[template(path = "run/seat_text.html")]
struct SeatText {
    id: String,
    text_id: String,
    number: u8,
    /// The text so far, while it is written.
    writing: Option<WritingView>,
    html: String,
    cut_note: Option<String>,
}

/// The id of a card's head.
pub(crate) fn head_id(view: &SeatView) -> String {
    format!("{}-head", element(view.slot))
}

/// The id of a card's text.
pub(crate) fn text_id(view: &SeatView) -> String {
    format!("{}-text", element(view.slot))
}

/// The head of a card.
pub(super) fn head(shown: Shown<'_>, view: &SeatView) -> String {
    let number = number(view.slot);
    let Some(report) = shown.report.answers.iter().find(|seat| seat.seat == number) else {
        return String::new();
    };
    let persona: Vec<&str> =
        [&report.persona, &report.stance].into_iter().flatten().map(String::as_str).collect();
    rendered(&SeatHead {
        id: shown.id(),
        head_id: head_id(view),
        slot: element(view.slot),
        number,
        colour: colour(number),
        model: &report.model,
        persona: (!persona.is_empty()).then(|| persona.join(", ")),
        status: StatusMark::of_call(view),
        facts: facts(view, report),
        error: report.error.as_ref().filter(|_| !view.is_unneeded()),
        is_busy: !view.status.is_final(),
        can_skip: shown.can_steer && !view.status.is_final() && !shown.run.is_decided(),
        has_text: view.status.is_final() && report.text_bytes > 0 && report.text.is_some(),
        form_token: shown.visit.form_token(),
    })
}

/// The text of a card.
pub(crate) fn text(shown: Shown<'_>, view: &SeatView) -> String {
    let number = number(view.slot);
    let so_far = || Written::view(text_id(view), &view.partial, HEADING);
    let writing = (!view.status.is_final()).then(so_far);
    let (html, cut_note) = match view.text().filter(|_| writing.is_none()) {
        Some(text) => {
            let (bounded, is_cut) = markdown::bounded(text);
            let note = is_cut.then(|| cut_note(text.len() as u64));
            (markdown::render(bounded, HEADING), note)
        }
        None => (String::new(), None),
    };
    rendered(&SeatText { id: shown.id(), text_id: text_id(view), number, writing, html, cut_note })
}

/// What is said below a text that is too long for the page.
pub(crate) fn cut_note(bytes: u64) -> String {
    let shown = figures::bytes(markdown::SHOWN_BYTES_MAX as u64);
    format!("These are the first {shown} of {}.", figures::bytes(bytes))
}

/// A text without what a reader cannot see.
pub(crate) fn seen(text: &str) -> String {
    invisible::seen(text).into_owned()
}

fn number(slot: CallerSlot) -> u8 {
    match slot {
        CallerSlot::Seat(number) => number.0,
        CallerSlot::Synthesizer(_) | CallerSlot::Step(_) => 0,
    }
}

fn facts(view: &SeatView, report: &SeatReport) -> Vec<String> {
    let answer = view.answer.as_ref();
    let capped = answer.and_then(|answer| answer.finish.as_ref()).is_some_and(|why| *why == Finish::Length);
    let served = report.served_model.as_deref().filter(|served| !report.model.ends_with(*served));
    let is_asked = view.attempts > 0;
    [
        report.elapsed_ms.map(figures::duration),
        report.first_token_ms.map(|ms| format!("first token {}", figures::duration(ms))),
        report.usage.output_tokens.map(|tokens| format!("{} tokens", figures::count(tokens))),
        (is_asked && view.status.is_final()).then(|| Cost::of_seat(view).described()),
        (view.attempts > 1).then(|| format!("{} tries", view.attempts)),
        served.map(|served| format!("served by {}", invisible::seen(served))),
        capped.then(|| "stopped by the output cap".to_owned()),
    ]
    .into_iter()
    .flatten()
    .collect()
}
