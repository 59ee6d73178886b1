//! What a run is made of, as files: its report, events and plan in JSON, and its texts as they are.

use axum::extract::Path;
use axum::response::Response;
use parallel_llm_engine::run::SeatView;
use parallel_llm_engine::value::next::Operation;
use parallel_llm_engine::{Code, Failure, Run, SeatNumber};
use parallel_llm_service::attachment;
use parallel_llm_service::report::next_steps::render_next_steps;

use crate::respond;
use crate::run::view::viewed::{Viewed, worded};
use crate::visit::Visit;

/// Text that a browser shows as it is and never as a page.
const TEXT: &str = "text/plain; charset=utf-8";
/// Markdown, which browsers save or show as text.
const MARKDOWN: &str = "text/markdown; charset=utf-8";

/// A file of a run.
pub(crate) async fn file(visit: Visit, Path((run, name)): Path<(String, String)>) -> Response {
    let found = match name.as_str() {
        "events.json" => events(&visit, &run).await,
        "plan.json" => plan(&visit, &run).await,
        "answer.md" => answer(&visit, &run, MARKDOWN).await,
        "answer.txt" => answer(&visit, &run, TEXT).await,
        // The address of a form, to which a browser comes back after signing in.
        "stop" | "end" | "hurry" | "skip" | "resume" | "rewrite" | "add" => {
            Ok(respond::see(&format!("/runs/{run}")))
        }
        _ => Err(nothing(&name)),
    };
    visit.answer(found)
}

/// The text of a seat.
pub(crate) async fn answer_of_seat(visit: Visit, Path((run, file)): Path<(String, String)>) -> Response {
    let found = async {
        let number = file.strip_suffix(".txt").and_then(|number| number.parse().ok());
        let number = SeatNumber(number.ok_or_else(|| nothing(&file))?);
        let handle = visit.services.runs.watch(&run).await?;
        let text = handle.with_run(|run| run.seat(number).and_then(SeatView::text).map(str::to_owned));
        let text = text.ok_or_else(|| no_text(&format!("seat {number} has no text")))?;
        Ok(respond::typed(TEXT, text))
    };
    visit.answer(found.await)
}

/// The report, as at every door.
pub(super) async fn report(visit: &Visit, name: &str) -> Result<Response, Failure> {
    let handle = visit.services.runs.watch(name).await?;
    Ok(respond::json(worded(visit, handle.report()).pretty()))
}

async fn events(visit: &Visit, run: &str) -> Result<Response, Failure> {
    let viewed = Viewed::find(visit, run).await?;
    let principal = visit.principal();
    let events: Vec<_> = viewed.events.into_iter().map(|event| principal.redact_event(event)).collect();
    let mut events = serde_json::json!({ "schema": 1, "events": events });
    render_next_steps(&mut events, visit.vocabulary());
    Ok(respond::json(format!("{events:#}")))
}

async fn plan(visit: &Visit, run: &str) -> Result<Response, Failure> {
    let handle = visit.services.runs.watch(run).await?;
    let plan = handle.with_run(|run| run.plan.clone());
    let mut plan = attachment::plan_json(&visit.principal().redact_plan(&plan));
    render_next_steps(&mut plan, visit.vocabulary());
    Ok(respond::json(format!("{plan:#}")))
}

async fn answer(visit: &Visit, run: &str, media_type: &'static str) -> Result<Response, Failure> {
    let handle = visit.services.runs.watch(run).await?;
    let text = |run: &Run| run.outcome.as_ref().and_then(|outcome| outcome.text.clone());
    let text = handle.with_run(text).ok_or_else(|| no_text("the run has no answer that is kept"))?;
    Ok(respond::typed(media_type, text.to_string()))
}

fn nothing(name: &str) -> Failure {
    let name = parallel_llm_engine::text::safe::excerpt(name, 40);
    Failure::new(Code::RunNotFound, format!("a run has no file `{name}`")).with_next(Operation::ShowRun)
}

pub(super) fn no_text(message: &str) -> Failure {
    Failure::new(Code::RunNotFound, message).with_next(Operation::ShowRun)
}
