//! The form as a question of the service. Whatever cannot be read is refused before anything is paid.

use std::path::Path;

use parallel_llm_engine::text::safe::excerpt;
use parallel_llm_engine::{Code, Failure, Message, Role, RunRequest};
use parallel_llm_service::attachment::AttachmentTally;
use parallel_llm_service::{Question, Services, form};

use super::fields::{Fields, OWN_PANEL, SeatFields};

/// The longest quoted value of a field, in characters.
const QUOTED_CHARS: usize = 60;

/// The question of a form, and the count of its attachments.
pub(super) fn question(services: &Services, fields: Fields) -> Result<(Question, AttachmentTally), Failure> {
    let mut attachments = services.attachments();
    if fields.with_secrets {
        attachments = attachments.with_secrets();
    }
    for file in &fields.attached.files {
        let (path, shown) =
            (Path::new(&file.name), format!("the attachment `{}`", excerpt(&file.name, QUOTED_CHARS)));
        attachments.check_file(&shown, path, &file.bytes)?;
        attachments.add(path, &file.bytes)?;
    }
    attachments.add_folder(fields.attached.found.iter().map(|file| (Path::new(&file.name), &*file.bytes)))?;
    let attached = attachments.tally();
    let system = named(fields.system).filter(|text| !text.trim().is_empty());
    let system = system.map(|text| Message::text(Role::System, text));
    let messages = system.into_iter().chain([attachments.question(fields.question)]).collect();
    let models = if fields.panel == OWN_PANEL { Some(models(&fields.seats)?) } else { None };
    let request = RunRequest { messages, models, fresh: fields.fresh, ..RunRequest::default() };
    let continues = named(fields.continued);
    let mut question = Question { request, continues, ..Question::default() };
    let panel = if fields.panel == OWN_PANEL { "" } else { &fields.panel };
    for (name, label, text) in [
        ("preset", "Panel", panel),
        ("synthesizer", "Synthesizer", &fields.synthesizer),
        ("strategy", "Strategy", &fields.strategy),
        ("temperature", "Temperature", &fields.temperature),
        ("max_tokens", "Output cap", &fields.max_tokens),
        ("effort", "Effort", &fields.effort),
        ("deadline_s", "Deadline", &fields.deadline),
        ("budget_usd", "Budget", &fields.budget),
        ("store", "Store", &fields.store),
    ] {
        if !text.is_empty() {
            let option = form::option(name);
            option.set(&mut question, option.field.read_text(&format!("the field “{label}”"), text)?)?;
        }
    }
    Ok((question, attached))
}

/// The models of the user's own panel, with their personas.
fn models(seats: &[SeatFields]) -> Result<Vec<String>, Failure> {
    let model = |seat: &SeatFields| {
        let model = seat.model.trim();
        match seat.persona.trim() {
            "" => model.to_owned(),
            persona if model.contains('@') => format!("{model},persona={persona}"),
            persona => format!("{model}@persona={persona}"),
        }
    };
    let models: Vec<String> = seats.iter().filter(|seat| !seat.model.trim().is_empty()).map(model).collect();
    if models.is_empty() {
        let message = "“Models of my choice” names no model";
        return Err(Failure::new(Code::PanelSize, message));
    }
    Ok(models)
}

fn named(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn personas_join_their_models() {
        let seat =
            |model: &str, persona: &str| SeatFields { model: model.to_owned(), persona: persona.to_owned() };
        let seats = [
            seat(" a/b*2 ", ""),
            seat("c/d", "skeptic"),
            seat("e/f@temperature=1", "plain"),
            seat("", "plain"),
        ];
        assert_eq!(
            models(&seats).unwrap(),
            ["a/b*2", "c/d@persona=skeptic", "e/f@temperature=1,persona=plain"]
        );
        assert_eq!(models(&[seat(" ", "plain")]).unwrap_err().code, Code::PanelSize);
    }
}
