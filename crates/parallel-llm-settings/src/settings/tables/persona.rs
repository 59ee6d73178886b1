//! Personas: tables `[personas.NAME]` of the user's file, each a system prompt for a seat.
//!
//! Only the user's file may define them, since they are sent to models in the user's name. Invariants: a persona is not
//! empty, has a bounded length, and has a name that model references can use.

use parallel_llm_engine::request::panel::SeatOptions;
use parallel_llm_engine::request::persona::{Persona, Personas, SYSTEM_CHARS_MAX};
use parallel_llm_engine::request::persona_prompt::{self, STANCE_CHARS_MAX, Stance};
use parallel_llm_engine::value::next::{Advice, Next};
use parallel_llm_engine::{Effort, Failure};
use toml::de::DeTable;

use super::preset;
use crate::settings::sources::reader::{Item, Key, Reader, in_order};
use crate::settings::table::{EFFORTS, Setting};
use crate::settings::value::effective::EffectiveValue;
use crate::settings::value::failure::invalid;
use crate::settings::value::kind::{Kind, Value};
use crate::settings::value::origin::Origin;

/// The keys of a table with their syntax and description, in the order of the reference.
pub(in crate::settings) const KEYS: [(&str, &str, &str); 5] = [
    ("system", "a string of up to 8000 characters", "What the seat is told before the question."),
    (
        "stance",
        "`for`, `against`, or a sentence of your own of up to 300 characters",
        "What the seat is asked to argue from.",
    ),
    ("temperature", "a number from 0 to 2", "Its sampling temperature."),
    ("effort", "a word as for `reasoning_effort`", "How hard it is asked to think."),
    ("max_tokens", "a whole number", "Its output cap in tokens."),
];

/// The built-in personas: short, each with a view that a uniform panel lacks.
const BUILT_IN: [(&str, &str); 3] = [
    (
        "plain",
        "Answer in plain words for a bright reader from another trade. The answer first, short sentences, and no term without its meaning.",
    ),
    (
        "proponent",
        "Find the most promising way and make it concrete: why it works, what it needs, what to do first. Name its real costs in a sentence.",
    ),
    (
        "skeptic",
        "Look first for what the usual answer gets wrong: hidden assumptions, missing cases, numbers that do not hold. Then give the answer that survives, and say how sure you are.",
    ),
];

/// The built-in personas.
pub(in crate::settings) fn built_in() -> Personas {
    let persona = |(name, system): (&str, &str)| {
        (name.to_owned(), Persona { system: Some(system.into()), ..Persona::default() })
    };
    BUILT_IN.map(persona).into()
}

/// Parses a table.
pub(in crate::settings) fn read(
    reader: Reader<'_>,
    name: &Key<'_>,
    table: &DeTable<'_>,
) -> Result<Persona, Failure> {
    if !persona_prompt::is_name(name.get_ref()) {
        let message = format!(
            "the name of a persona has 1 to {} lower-case letters, digits or `-`, not `{}`",
            persona_prompt::NAME_BYTES_MAX,
            name.get_ref()
        );
        return Err(reader.refuse(name.span(), invalid(message).with_next(Advice::RenamePersona)));
    }
    let mut persona = Persona::default();
    for (key, value) in in_order(table) {
        set(&mut persona, reader, key, value)?;
    }
    if persona == Persona::default() {
        let failure = invalid(format!("the persona `{}` says nothing", name.get_ref()))
            .with_next(Advice::GivePersonaWords);
        return Err(reader.refuse(name.span(), failure));
    }
    Ok(persona)
}

fn set(persona: &mut Persona, reader: Reader<'_>, key: &Key<'_>, item: &Item<'_>) -> Result<(), Failure> {
    let name: &str = key.get_ref();
    let Persona { system, options } = persona;
    let refuse = |failure: Failure| reader.refuse(item.span(), failure);
    match name {
        "system" => {
            let text = reader.text(name, item)?;
            *system = Some(read_system(text).ok_or_else(|| refuse(misread(name)))?.into());
        }
        "stance" => {
            let text = reader.text(name, item)?;
            options.stance = Some(Stance::read(text).ok_or_else(|| refuse(misread(name)))?);
        }
        "temperature" => {
            let (_, kind) = preset::TEMPERATURE;
            let Value::Decimal(number) = reader.value(name, kind, item)? else { return Ok(()) };
            options.temperature = Some(number);
        }
        "effort" => {
            let word = reader.value(name, Kind::Choice(&EFFORTS), item)?.to_string();
            options.effort = Effort::by_word(&word);
        }
        "max_tokens" => {
            let Value::Whole(tokens) = reader.value(name, Setting::MaxTokens.kind(), item)? else {
                return Ok(());
            };
            options.max_tokens = u32::try_from(tokens).ok();
        }
        _ => return Err(reader.unknown(key, KEYS.iter().map(|(name, ..)| *name))),
    }
    Ok(())
}

/// A text of any number of lines, not empty and not too long.
fn read_system(text: &str) -> Option<&str> {
    let text = text.trim();
    let is_plain = text.chars().all(|one| !one.is_control() || matches!(one, '\n' | '\r' | '\t'));
    (is_plain && (1..=SYSTEM_CHARS_MAX).contains(&text.chars().count())).then_some(text)
}

fn misread(name: &str) -> Failure {
    let message = match name {
        "stance" => format!("`stance` is a line of 1 to {STANCE_CHARS_MAX} characters"),
        _ => format!("`{name}` is a text of 1 to {SYSTEM_CHARS_MAX} characters"),
    };
    invalid(message).with_next([Next::Do(Advice::Shorten), Next::Do(Advice::TakeOut)])
}

/// The value to show of a persona: the length of its text, not the text, since the output may be shared.
pub(in crate::settings) fn shown(name: &str, persona: &Persona, origin: Origin) -> EffectiveValue {
    let SeatOptions { temperature, max_tokens, effort, stance, .. } = &persona.options;
    let count = |what: &str, text: &str| format!("{what} of {} characters", text.chars().count());
    let parts = [
        persona.system.as_deref().map(|text| count("system", text)),
        stance.as_ref().map(|stance| match stance.word() {
            Some(word) => format!("stance {word}"),
            None => count("stance", stance.sentence()),
        }),
        temperature.map(|degrees| format!("temperature {degrees}")),
        effort.map(|effort| format!("effort {}", effort.word())),
        max_tokens.map(|tokens| format!("max_tokens {tokens}")),
    ];
    let value = parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
    EffectiveValue { name: format!("personas.{name}"), value, origin }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_ones_are_in_order_and_in_bounds() {
        assert!(BUILT_IN.is_sorted_by_key(|(name, _)| name));
        for (name, system) in BUILT_IN {
            assert!(persona_prompt::is_name(name) && read_system(system) == Some(system), "{name}");
        }
        assert!(KEYS[0].1.contains(&SYSTEM_CHARS_MAX.to_string()));
        assert!(KEYS[1].1.contains(&STANCE_CHARS_MAX.to_string()));
    }
}
