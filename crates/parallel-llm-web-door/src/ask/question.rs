//! The form as a question of the service. Whatever cannot be read is refused before anything is paid.

use std::path::Path;

use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::text::safe::excerpt;
use parallel_llm_engine::value::nearest;
use parallel_llm_engine::value::next::{Name, Next};
use parallel_llm_engine::{Code, Effort, Failure, Message, PicoUsd, Role, RunRequest};
use parallel_llm_service::attachment::AttachmentTally;
use parallel_llm_service::{Question, Services};
use parallel_llm_settings::settings::duration_ms;

use super::fields::{Fields, OWN_PANEL, SeatFields};

/// The longest quoted value of a field, in characters.
const QUOTED_CHARS: usize = 60;
/// The highest sampling temperature.
const TEMPERATURE_MAX: f64 = 2.0;

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
    let models = if fields.panel == OWN_PANEL { Some(models(&fields.seats)?) } else { None };
    let request = RunRequest {
        messages: system.into_iter().chain([attachments.question(fields.question)]).collect(),
        models,
        synthesizer: named(fields.synthesizer),
        strategy: named(fields.strategy),
        temperature: read("Temperature", &fields.temperature, "0.7", temperature)?,
        max_tokens: read("Output cap", &fields.max_tokens, "16000", |text| {
            text.parse().ok().filter(|tokens| *tokens > 0)
        })?,
        effort: effort(&fields.effort)?,
        deadline_ms: read("Deadline", &fields.deadline, "90s", duration_ms)?,
        budget: read("Budget", &fields.budget, "0.50", PicoUsd::from_decimal)?,
        store: match fields.store.as_str() {
            "metadata" => Some(StoreMode::Metadata),
            "none" => Some(StoreMode::None),
            _ => None,
        },
        fresh: fields.fresh,
        ..RunRequest::default()
    };
    let preset = named(fields.panel).filter(|panel| panel != OWN_PANEL);
    let continues = named(fields.continued);
    Ok((Question { request, preset, continues, ..Question::default() }, attached))
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

fn temperature(text: &str) -> Option<f64> {
    text.parse().ok().filter(|value| (0.0..=TEMPERATURE_MAX).contains(value))
}

/// Reads a field that may be empty.
fn read<T>(
    field: &str,
    text: &str,
    example: &'static str,
    parse: impl FnOnce(&str) -> Option<T>,
) -> Result<Option<T>, Failure> {
    if text.is_empty() {
        return Ok(None);
    }
    let misread = || {
        let message = format!("the field “{field}” cannot have `{}`", excerpt(text, QUOTED_CHARS));
        Failure::new(Code::Usage, message).with_next(Next::WriteAs(Name::from(example)))
    };
    parse(text).map(Some).ok_or_else(misread)
}

fn effort(word: &str) -> Result<Option<Effort>, Failure> {
    if word.is_empty() {
        return Ok(None);
    }
    let unknown = || {
        let words: Vec<&str> = Effort::ALL.iter().map(|effort| effort.word()).collect();
        let failure =
            Failure::new(Code::Usage, format!("there is no effort `{}`", excerpt(word, QUOTED_CHARS)));
        nearest::suggest_or_list(failure, word, &words)
    };
    Effort::by_word(word).map(Some).ok_or_else(unknown)
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

    #[test]
    fn what_cannot_be_read_is_refused_with_an_example() {
        let refused = |failure: Failure| format!("{}; {}", failure.message, failure.next_step());
        let budget = read("Budget", "a lot", "0.50", PicoUsd::from_decimal);
        assert_eq!(
            refused(budget.unwrap_err()),
            "the field “Budget” cannot have `a lot`; write it like `0.50`"
        );
        assert_eq!(read("Budget", "", "", PicoUsd::from_decimal).unwrap(), None);
        assert!(["-1", "2.1", "NaN", "warm"].iter().all(|text| temperature(text).is_none()));
        assert_eq!(refused(effort("hihg").unwrap_err()), "there is no effort `hihg`; did you mean `high`?");
    }
}
