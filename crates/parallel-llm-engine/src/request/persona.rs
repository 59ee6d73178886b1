//! Personas: who a seat is asked to be, written once in the settings and named in model references.
//!
//! What always holds: an unknown name is refused before anything is paid, what stands at a seat wins over its persona,
//! and a persona holds for every answer of its seat: neither its name nor its words enter the prompt of whoever fuses, judges or
//! ranks.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use crate::request::panel::{PanelEntry, SeatOptions};
use crate::request::persona_prompt::Brief;
use crate::value::answer::Failure;
use crate::value::code::Code;
use crate::value::nearest;
use crate::value::next::{Advice, Next};

/// Asks a seat to argue from a stance, which is a sentence of the user's own.
const STANCE: &str = include_str!("../../prompts/persona/stance.md");

/// The longest system message of a persona in characters: two pages, which every seat that has it reads with every
/// question, and which the limit of the prompt does not count.
pub const SYSTEM_CHARS_MAX: usize = 8_000;

/// Who a seat is asked to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Persona {
    /// Its own system message.
    pub system: Option<Arc<str>>,
    /// What holds for its seats, its stance among it. It names no persona in turn.
    pub options: SeatOptions,
}

/// Personas by their names.
pub type Personas = BTreeMap<String, Persona>;

/// Lays the persona that an entry names under the entry's own options, and says what its seats are told.
pub(crate) fn assume(entry: &mut PanelEntry, personas: &Personas) -> Result<Option<Arc<Brief>>, Failure> {
    let name = entry.options.persona.clone();
    let persona = name.as_deref().map(|name| find(name, personas)).transpose()?;
    if let Some(persona) = persona {
        entry.options.lay_over(&persona.options);
    }
    let stance = entry.options.stance.as_ref();
    if name.is_none() && stance.is_none() {
        return Ok(None);
    }
    let words = persona.and_then(|persona| persona.system.as_deref()).map(str::to_owned);
    let words: Vec<String> =
        words.into_iter().chain(stance.map(|stance| arguing(stance.sentence()))).collect();
    let system = (!words.is_empty()).then(|| words.join("\n\n").into());
    Ok(Some(Arc::new(Brief {
        stance: stance.filter(|stance| stance.word().is_some()).cloned(),
        persona: name,
        system,
    })))
}

/// What a seat is told that is to argue from this stance.
fn arguing(stance: &str) -> String {
    STANCE.trim_end().replace("{{stance}}", stance)
}

/// Refuses what is a seat's alone where an entry is no seat of the panel.
pub fn refuse(entry: &PanelEntry) -> Result<(), Failure> {
    let SeatOptions { persona, stance, .. } = &entry.options;
    if persona.is_none() && stance.is_none() {
        return Ok(());
    }
    let message =
        format!("`{}` is a synthesizer, which has neither a persona nor a stance: it fuses", entry.model);
    Err(Failure::new(Code::ModelInvalid, message).with_next(Advice::NamePersonaAtSeat))
}

/// The persona of this name, or what may have been meant.
pub fn find<'a>(name: &str, personas: &'a Personas) -> Result<&'a Persona, Failure> {
    personas.get(name).ok_or_else(|| {
        let names: Vec<&str> = personas.keys().map(String::as_str).collect();
        let next = match names.as_slice() {
            [] => Advice::WritePersona.into(),
            names => Next::choose_one(names),
        };
        let failure =
            Failure::new(Code::ModelInvalid, format!("there is no persona `{name}`")).with_next(next);
        nearest::suggest(failure, nearest::nearest(name, names))
    })
}
