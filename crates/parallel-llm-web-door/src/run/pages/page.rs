//! The page of a run and its twin in JSON.

use std::sync::Arc;

use askama::Template;
use axum::extract::Path;
use axum::response::Response;
use parallel_llm_engine::run::Run;
use parallel_llm_engine::{Failure, Recorded};
use parallel_llm_service::attachment;
use parallel_llm_service::report::event::sentence;

use super::files;
use super::prompts::{self, PromptLink};
use crate::layout::Layout;
use crate::respond;
use crate::run::sections::moment::{self, Sections};
use crate::run::sections::{head, seat};
use crate::run::view::shown::{Shown, element};
use crate::run::view::viewed::{Viewed, worded};
use crate::text::figures;
use crate::visit::Visit;

#[derive(Template)]
#[template(path = "run/page.html")]
struct RunPage {
    layout: Layout,
    view: View,
    parts: Parts,
}

/// What the page itself shows around its sections.
struct View {
    id: String,
    title: String,
    seq: u64,
    is_live: bool,
    plan_hash: String,
    prompt: String,
    prompts: Vec<PromptLink>,
    seats: Vec<Card>,
    events: Vec<EventRow>,
}

/// The frame of a seat's card.
struct Card {
    number: usize,
    slot: String,
    head_id: String,
    text_id: String,
}

/// A durable event in a table.
struct EventRow {
    seq: u64,
    at: String,
    text: String,
}

/// The rendered sections, by id.
struct Parts(Sections);

impl Parts {
    fn get(&self, id: &str) -> &str {
        self.0.get(id).map(String::as_str).unwrap_or_default()
    }
}

/// Shows a run, or a file of it if the name ends like one.
pub(crate) async fn show(visit: Visit, Path(name): Path<String>) -> Response {
    let shown = match name.strip_suffix(".json") {
        Some(name) => files::report(&visit, name).await,
        None if visit.wants_json => files::report(&visit, &name).await,
        None => page(&visit, &name).await,
    };
    visit.answer(shown)
}

/// The page of the run of this name.
async fn page(visit: &Visit, name: &str) -> Result<Response, Failure> {
    let viewed = Viewed::find(visit, name).await?;
    let id = viewed.handle.id().to_string();
    if id != name {
        return Ok(respond::see(&format!("/runs/{id}")));
    }
    let run = viewed.handle.snapshot();
    let report = worded(visit, viewed.handle.report());
    let shown = Shown {
        run: &run,
        report: &report,
        events: &viewed.events,
        visit,
        can_steer: viewed.can_steer,
        age_ms: viewed.handle.age_ms(),
        is_followed: false,
    };
    let view = View {
        id,
        title: head::title(shown),
        seq: run.seq,
        is_live: shown.is_live(),
        plan_hash: run.plan_hash.clone(),
        prompt: seat::seen(&attachment::prompt_text(&run.plan.messages)),
        prompts: prompts::links(shown),
        seats: run.seats.iter().zip(1..).map(|(view, number)| card(view, number)).collect(),
        events: event_rows(&run, &viewed.events),
    };
    Ok(respond::page(&RunPage { layout: visit.layout(), view, parts: Parts(moment::all(shown)) }))
}

fn card(view: &parallel_llm_engine::run::SeatView, number: usize) -> Card {
    Card { number, slot: element(view.slot), head_id: seat::head_id(view), text_id: seat::text_id(view) }
}

/// Each event, told by what was known of the run when it came.
fn event_rows(run: &Run, events: &[Recorded]) -> Vec<EventRow> {
    let mut told = Run::new(Arc::clone(&run.plan));
    let row = |recorded: &Recorded| {
        told.apply(recorded);
        EventRow {
            seq: recorded.seq,
            at: figures::duration(recorded.elapsed_ms),
            text: sentence::of(&told, &recorded.event),
        }
    };
    events.iter().map(row).collect()
}
