//! Personas of the settings, and how a seat that names one takes on its options and its prompt.
//!
//! Invariants: an unknown name is refused before anything is paid; an option of the seat wins over one of its persona; a
//! persona applies to every answer of its seat. Neither its name nor its text enters the prompt of a synthesizer or judge.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use crate::request::panel::{PanelEntry, SeatOptions};
use crate::request::persona_prompt::PersonaPrompt;
use crate::value::answer::Failure;
use crate::value::code::Code;
use crate::value::nearest;
use crate::value::next::Advice;

/// The prompt that asks a seat to argue from a stance.
const STANCE: &str = include_str!("../../prompts/persona/stance.md");

/// The longest system message of a persona in characters, about two pages. Every seat with the persona reads it with every
/// question, and the limit of the prompt does not count it.
pub const SYSTEM_CHARS_MAX: usize = 8_000;

/// A role for seats: a system message and options.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Persona {
    /// Its own system message.
    pub system: Option<Arc<str>>,
    /// The options of its seats, including the stance. They name no further persona.
    pub options: SeatOptions,
}

/// Personas by their names.
pub type Personas = BTreeMap<String, Persona>;

/// Fills the options an entry leaves open from the persona it names, and returns the persona prompt of its seats.
pub(crate) fn assume(
    entry: &mut PanelEntry,
    personas: &Personas,
) -> Result<Option<Arc<PersonaPrompt>>, Failure> {
    let name = entry.options.persona.clone();
    let persona = name.as_deref().map(|name| find(name, personas)).transpose()?;
    if let Some(persona) = persona {
        entry.options.fill_from(&persona.options);
    }
    let stance = entry.options.stance.as_ref();
    if name.is_none() && stance.is_none() {
        return Ok(None);
    }
    let system = persona.and_then(|persona| persona.system.as_deref()).map(str::to_owned);
    let texts: Vec<String> =
        system.into_iter().chain(stance.map(|stance| stance_prompt(stance.sentence()))).collect();
    let system = (!texts.is_empty()).then(|| texts.join("\n\n").into());
    Ok(Some(Arc::new(PersonaPrompt {
        stance: stance.filter(|stance| stance.word().is_some()).cloned(),
        persona: name,
        system,
    })))
}

/// The prompt for this stance.
fn stance_prompt(stance: &str) -> String {
    STANCE.trim_end().replace("{{stance}}", stance)
}

/// Refuses a persona or stance on an entry that is a synthesizer.
pub fn refuse(entry: &PanelEntry) -> Result<(), Failure> {
    let SeatOptions { persona, stance, .. } = &entry.options;
    if persona.is_none() && stance.is_none() {
        return Ok(());
    }
    let message =
        format!("`{}` is a synthesizer, which has neither a persona nor a stance: it fuses", entry.model);
    Err(Failure::new(Code::ModelInvalid, message).with_next(Advice::NamePersonaAtSeat))
}

/// The persona of this name. The error suggests the nearest name.
pub fn find<'a>(name: &str, personas: &'a Personas) -> Result<&'a Persona, Failure> {
    personas.get(name).ok_or_else(|| {
        let names: Vec<&str> = personas.keys().map(String::as_str).collect();
        let failure = Failure::new(Code::ModelInvalid, format!("there is no persona `{name}`"))
            .with_next(Advice::WritePersona);
        nearest::suggest_or_list(failure, name, &names)
    })
}
