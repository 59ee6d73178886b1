//! What each model of a run was sent: the question with its instructions, or the answers of others with a task.

use askama::Template;
use axum::extract::Path;
use axum::response::Response;
use parallel_llm_engine::plan::RunPlan;
use parallel_llm_engine::request::Role;
use parallel_llm_engine::run::event::Attempt;
use parallel_llm_engine::run::{SeatView, prompt};
use parallel_llm_engine::{CallerSlot, Failure, Message, Seat};
use parallel_llm_service::attachment;

use super::files::no_text;
use crate::layout::Layout;
use crate::respond;
use crate::run::sections::costs;
use crate::run::sections::seat::{cut_note, seen};
use crate::run::view::shown::{Shown, element};
use crate::run::view::viewed::Viewed;
use crate::text::markdown;
use crate::visit::Visit;

/// The way to the prompt of a call.
pub(super) struct PromptLink {
    /// The call in the address: `seat-1`, `synthesizer-1`, `step-1`.
    pub(super) call: String,
    pub(super) label: String,
}

#[derive(Template)]
#[template(path = "run/prompt.html")]
struct PromptPage {
    layout: Layout,
    id: String,
    call: String,
    label: String,
    notes: Vec<String>,
    messages: Vec<ShownMessage>,
}

/// A message of a prompt.
struct ShownMessage {
    speaker: &'static str,
    text: String,
}

/// A prompt that is shown.
struct Found {
    link: PromptLink,
    messages: Vec<Message>,
    /// Whether the text of a persona is missing, because it belongs to the owner.
    lacks_persona: bool,
}

/// The calls of a run that were made; none if the run is kept without events or texts.
pub(super) fn links(shown: Shown<'_>) -> Vec<PromptLink> {
    if shown.events.is_empty() || shown.run.plan.messages.is_empty() {
        return Vec::new();
    }
    let views = shown.run.seats.iter().chain(shown.run.called());
    let sent = views.filter(|view| view.attempts > 0);
    sent.map(|view| PromptLink { call: element(view.slot), label: costs::label(shown.run, view) }).collect()
}

/// Shows the newest prompt of a call, or its twin in JSON.
pub(crate) async fn show(visit: Visit, Path((run, call)): Path<(String, String)>) -> Response {
    let answer = async {
        let viewed = Viewed::find(&visit, &run).await?;
        let id = viewed.handle.id().to_string();
        let (call, wants_json) = match call.strip_suffix(".json") {
            Some(call) => (call, true),
            None => (call.as_str(), visit.wants_json),
        };
        let Found { link: PromptLink { call, label }, messages, lacks_persona } =
            find(&visit, &viewed, call)?;
        if wants_json {
            let messages = attachment::messages_json(&messages);
            let json = serde_json::json!({
                "schema": 1, "run_id": id, "call": call, "messages": messages, "lacks_persona": lacks_persona,
            });
            return Ok(respond::json(format!("{json:#}")));
        }
        let mut notes = Vec::new();
        if lacks_persona {
            notes.push(
                "The text of the persona belongs to the owner of this server and is left out.".to_owned(),
            );
        }
        let messages = messages.iter().map(|message| shown_message(message, &mut notes)).collect();
        Ok(respond::page(&PromptPage { layout: visit.layout(), id, call, label, notes, messages }))
    };
    let answer = answer.await;
    visit.answer(answer)
}

fn find(visit: &Visit, viewed: &Viewed, call: &str) -> Result<Found, Failure> {
    let run = viewed.handle.snapshot();
    let mut views = run.seats.iter().chain(run.called());
    let named = views.find(|view| element(view.slot) == call && view.attempts > 0);
    let view = named.ok_or_else(|| {
        let call = parallel_llm_engine::text::safe::excerpt(call, 40);
        no_text(&format!("the run has made no call `{call}`"))
    })?;
    let plan = visit.principal().redact_plan(&run.plan);
    let attempt = Attempt { slot: view.slot, number: view.attempts };
    let messages = prompt::of(&plan, &viewed.events, attempt);
    let messages = messages.ok_or_else(|| {
        no_text(
            "this prompt cannot be shown: a text of it is not kept, or is not yours, or an older version of the \
             program sent it",
        )
    })?;
    let link = PromptLink { call: call.to_owned(), label: costs::label(&run, view) };
    let lacks_persona = persona_bytes(&run.plan, view) != persona_bytes(&plan, view);
    Ok(Found { link, messages: messages.to_vec(), lacks_persona })
}

/// The length of the persona's text in the prompt of a call.
fn persona_bytes(plan: &RunPlan, view: &SeatView) -> u64 {
    let seat = plan.seat_at(view.slot).filter(|_| matches!(view.slot, CallerSlot::Seat(_)));
    seat.map_or(0, Seat::persona_prompt_bytes)
}

fn shown_message(message: &Message, notes: &mut Vec<String>) -> ShownMessage {
    let text = attachment::prompt_text(std::slice::from_ref(message));
    let (bounded, is_cut) = markdown::bounded(&text);
    notes.extend(is_cut.then(|| cut_note(text.len() as u64)));
    let speaker = match message.role {
        Role::System => "Instructions (system)",
        Role::User => "Message (user)",
        Role::Assistant => "Earlier answer (assistant)",
    };
    ShownMessage { speaker, text: seen(bounded) }
}
