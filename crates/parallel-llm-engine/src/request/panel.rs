//! Model references as people write them, and the seats they become.
//!
//! A reference is written `[provider:]model[*N][@key=value,...]`. The part before the first `:` is a provider
//! only if it is a configured provider's id, so `google/gemma-4:free` needs no quoting.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::request::catalogue::{Inputs, Price, PriceSource};
use crate::request::persona_prompt::{self, PersonaPrompt, Stance};
use crate::request::{Effort, Message, OUTPUT_TOKENS_MAX, Part, Role, TEMPERATURE_MAX};
use crate::text::short_answer::line;
use crate::value::answer::Failure;
use crate::value::code::Code;
use crate::value::money::PicoUsd;
use crate::value::nearest;
use crate::value::next::Next;
use crate::value::usage::weight_of;

/// The most seats one panel may have.
pub const SEATS_MAX: usize = 64;
/// The longest accepted model name in bytes. The longest known is under 80.
const MODEL_BYTES_MAX: usize = 200;

/// Separates the system message of a seat from that of the caller.
const SEPARATOR: &str = "\n\n";

/// The provider of a reference that names none. Rendered references leave it out.
pub const DEFAULT_PROVIDER: &str = "openrouter";

/// Names a configured provider, such as `openrouter`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ProviderId(pub String);

impl std::fmt::Display for ProviderId {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.0)
    }
}

/// A model at a provider.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ModelRef {
    /// The provider that serves it.
    pub provider: ProviderId,
    /// Its name at the provider, with a leading `~` if the catalogue has one.
    pub model: String,
}

impl ModelRef {
    /// Whether both models are of the same vendor, judged by their names.
    pub fn has_vendor_of(&self, other: &Self) -> bool {
        self.vendor_and_name().0 == other.vendor_and_name().0
    }

    /// The vendor and its name for the model. The vendor is the part before the first `/`, else the provider. A `~` marks an
    /// alias and does not count; nor does a router's suffix such as `:free`, which names a way to serve the model.
    pub(crate) fn vendor_and_name(&self) -> (&str, &str) {
        let named = self.model.trim_start_matches('~');
        let (vendor, name) = named.split_once('/').unwrap_or((&self.provider.0, named));
        let served = if self.provider.0 == DEFAULT_PROVIDER { name.split(':').next() } else { None };
        (vendor, served.unwrap_or(name))
    }
}

impl std::fmt::Display for ModelRef {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.provider.0 == DEFAULT_PROVIDER {
            return out.write_str(&self.model);
        }
        write!(out, "{}:{}", self.provider, self.model)
    }
}

/// The options of one model reference.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SeatOptions {
    /// Sampling temperature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    /// Output cap in tokens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<u32>,
    /// Reasoning effort.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// Whether this seat is waited for until its own deadline.
    #[serde(default)]
    pub strongest: bool,
    /// How often it is right, by the user's own estimate: between 0 and 1, neither included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<f64>,
    /// The name of its persona.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub persona: Option<String>,
    /// Its stance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stance: Option<Stance>,
}

impl SeatOptions {
    /// Fills the options that are not set from `defaults`.
    pub(crate) fn fill_from(&mut self, defaults: &Self) {
        self.temperature = self.temperature.or(defaults.temperature);
        self.max_tokens = self.max_tokens.or(defaults.max_tokens);
        self.effort = self.effort.or(defaults.effort);
        self.strongest |= defaults.strongest;
        self.stance = self.stance.take().or_else(|| defaults.stance.clone());
    }
}

/// A model reference as written, before its seats are numbered.
#[derive(Clone, Debug, PartialEq)]
pub struct PanelEntry {
    /// The model.
    pub model: ModelRef,
    /// How many seats the model holds.
    pub count: usize,
    /// The options of these seats.
    pub options: SeatOptions,
}

impl std::fmt::Display for PanelEntry {
    /// As it is written. A stance in other words than `for` and `against` has no written form.
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}", self.model)?;
        if self.count > 1 {
            write!(out, "*{}", self.count)?;
        }
        let SeatOptions { temperature, max_tokens, effort, strongest, accuracy, persona, stance } =
            &self.options;
        let written = [
            temperature.map(|temperature| format!("temperature={temperature}")),
            max_tokens.map(|tokens| format!("max_tokens={tokens}")),
            effort.map(|effort| format!("effort={}", effort.word())),
            strongest.then(|| "strongest=true".to_owned()),
            accuracy.map(|accuracy| format!("accuracy={accuracy}")),
            persona.as_ref().map(|name| format!("persona={name}")),
            stance.as_ref().and_then(Stance::word).map(|word| format!("stance={word}")),
        ];
        for (option, sign) in written.iter().flatten().zip(std::iter::once('@').chain(std::iter::repeat(',')))
        {
            write!(out, "{sign}{option}")?;
        }
        Ok(())
    }
}

/// The number of a seat, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SeatNumber(pub u8);

impl SeatNumber {
    /// The number of the entry at `index` of a list. No list is longer than there are numbers.
    pub fn at(index: usize) -> Self {
        Self(u8::try_from(index + 1).unwrap_or(u8::MAX))
    }

    /// Its index in a list of all seats.
    pub const fn index(self) -> usize {
        self.0 as usize - 1
    }
}

impl std::fmt::Display for SeatNumber {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(out)
    }
}

/// One seat on the panel or in the chain of synthesizers, with everything resolved that its calls need.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Seat {
    /// Its number on the panel or in the chain of synthesizers, from 1.
    pub number: SeatNumber,
    /// Which model is asked.
    pub model: ModelRef,
    /// Sampling temperature; `None` leaves it to the provider.
    pub temperature: Option<f64>,
    /// Output cap in tokens, reasoning included.
    pub max_tokens: u32,
    /// Reasoning effort; `None` leaves it to the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// Whether this seat is waited for until its own deadline.
    #[serde(default)]
    pub strongest: bool,
    /// How often it is right, by the user's own estimate: between 0 and 1, neither included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accuracy: Option<f64>,
    /// The price of the catalogue, if it has one.
    pub price: Option<Price>,
    /// Where that price comes from, or why there is none.
    #[serde(default, skip_serializing_if = "PriceSource::is_list")]
    pub price_source: PriceSource,
    /// How much the model can read and write together, in tokens, if the catalogue knows.
    pub context_tokens: Option<u64>,
    /// The kinds of files the model takes, if the catalogue knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inputs: Option<Inputs>,
    /// Whether the catalogue says that the model has a JSON mode.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub json_mode: bool,
    /// Its persona and stance, if it has any. Stored under its first name.
    #[serde(rename = "brief", default, skip_serializing_if = "Option::is_none")]
    pub persona_prompt: Option<Arc<PersonaPrompt>>,
    /// Whether it is asked to end its answer with the answer line.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asks_line: bool,
}

impl Seat {
    /// The reference for another seat like this one. It leaves out the output cap, which is fitted to one question.
    pub fn entry(&self) -> PanelEntry {
        let prompt = self.persona_prompt.as_deref();
        let options = SeatOptions {
            temperature: self.temperature,
            max_tokens: None,
            effort: self.effort,
            strongest: self.strongest,
            accuracy: self.accuracy,
            persona: prompt.and_then(|prompt| prompt.persona.clone()),
            stance: prompt.and_then(|prompt| prompt.stance.clone()),
        };
        PanelEntry { model: self.model.clone(), count: 1, options }
    }

    /// The most a call with so many tokens and pictures can cost; `None` if nobody tells its price. A server of the user's own
    /// asks for no money, and a model that is not sold is not asked under a limit.
    pub fn cost_max(&self, input_tokens: u64, pictures: u64, output_tokens: u32) -> Option<PicoUsd> {
        match (self.price, self.price_source) {
            (Some(price), _) => Some(price.most(input_tokens, pictures, output_tokens.into())),
            (None, PriceSource::OwnMachine | PriceSource::Unlisted) => Some(PicoUsd::ZERO),
            (None, _) => None,
        }
    }

    /// The conversation as this seat gets it: with its persona prompt, and behind the question what asks for the answer line.
    pub fn sent(&self, messages: &Arc<[Message]>) -> Arc<[Message]> {
        let mut messages = self.with_persona_prompt(messages);
        if self.asks_line {
            let question = Arc::make_mut(&mut messages).last_mut().expect("the question is the last message");
            let text = format!("{SEPARATOR}{}", line::ASKED.trim_end());
            let own = question.parts.iter_mut().rev().find_map(|part| match part {
                Part::Text { text } => Some(text),
                Part::File(_) => None,
            });
            own.expect("a question has a text").push_str(&text);
        }
        messages
    }

    /// The conversation behind the seat's own system message, so that the caller's instructions have the last word. A system
    /// message of the conversation is joined to it, because many servers take only one.
    pub(crate) fn with_persona_prompt(&self, messages: &Arc<[Message]>) -> Arc<[Message]> {
        let Some(own) = self.system() else { return Arc::clone(messages) };
        let (parts, rest) = match messages.split_first() {
            Some((first, rest)) if first.role == Role::System => (first.parts.as_slice(), rest),
            _ => (&[][..], &**messages),
        };
        let mut text = own.to_owned();
        let parts = match parts.split_first() {
            Some((Part::Text { text: callers }, further)) => {
                text.push_str(SEPARATOR);
                text.push_str(callers);
                further
            }
            _ => parts,
        };
        let parts = [Part::Text { text }].into_iter().chain(parts.iter().cloned()).collect();
        let first = Message { role: Role::System, parts };
        [first].into_iter().chain(rest.iter().cloned()).collect()
    }

    /// The size of its own system message, in bytes of text.
    pub fn persona_prompt_bytes(&self) -> u64 {
        self.system().map_or(0, |own| weight_of(own) + SEPARATOR.len() as u64)
    }

    /// The size of what it is sent besides the conversation, in bytes of text.
    pub(crate) fn added_prompt_bytes(&self) -> u64 {
        let asked = if self.asks_line { (SEPARATOR.len() + line::ASKED.len()) as u64 } else { 0 };
        self.persona_prompt_bytes() + asked
    }

    fn system(&self) -> Option<&str> {
        self.persona_prompt.as_ref().and_then(|prompt| prompt.system.as_deref())
    }

    /// A copy without its system message.
    #[must_use]
    pub fn without_text(&self) -> Self {
        let persona_prompt = self.persona_prompt.as_ref().map(|prompt| Arc::new(prompt.without_text()));
        Self { persona_prompt, ..self.clone() }
    }

    /// Fails if a message holds a file the model is known not to take.
    pub fn check_inputs(&self, messages: &[Message]) -> Result<(), Failure> {
        let Some(inputs) = self.inputs else { return Ok(()) };
        let refused = messages.iter().flat_map(Message::files).find(|file| !inputs.takes(file.kind()));
        refused.map_or(Ok(()), |file| {
            let message = format!(
                "the model `{}` takes no {}s such as `{}`",
                self.model,
                file.kind().word(),
                file.name
            );
            Err(Failure::new(Code::AttachmentUnsupported, message))
        })
    }
}

impl PanelEntry {
    /// Parses a reference. `is_provider` recognizes the configured provider ids; `default` is the provider if none is named.
    pub fn parse(
        text: &str,
        default: &ProviderId,
        is_provider: impl Fn(&str) -> bool,
    ) -> Result<Self, Failure> {
        let written = WrittenReference::split(text);
        let options = written.options.map(|options| parse_options(text, options)).transpose()?;
        let count = written.count.map_or(Ok(1), |count| parse_count(text, count))?;
        let (provider, model) = match written.name.split_once(':') {
            // All ids of providers are in lower case.
            Some((provider, model)) if is_provider(&provider.to_ascii_lowercase()) => {
                (ProviderId(provider.to_ascii_lowercase()), model)
            }
            _ => (default.clone(), written.name),
        };
        let plain =
            model.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'"' | b'\'' | b'\\' | b','));
        if model.is_empty() || model.len() > MODEL_BYTES_MAX || !plain {
            return Err(invalid(
                text,
                "a model name has 1 to 200 visible ASCII characters and no quotes or commas",
            ));
        }
        let options = options.unwrap_or_default();
        Ok(Self { model: ModelRef { provider, model: model.to_owned() }, count, options })
    }
}

/// The parts of a model reference as written, unchecked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrittenReference<'a> {
    /// The model, with its provider if one is named.
    pub name: &'a str,
    /// How many seats it holds: the text behind `*`.
    pub count: Option<&'a str>,
    /// The options of these seats: the text behind `@`.
    pub options: Option<&'a str>,
}

impl<'a> WrittenReference<'a> {
    /// Splits a reference.
    pub fn split(text: &'a str) -> Self {
        let (name, options) = match text.trim().split_once('@') {
            Some((name, options)) => (name, Some(options)),
            None => (text.trim(), None),
        };
        let (name, count) = match name.rsplit_once('*') {
            Some((name, count)) => (name, Some(count)),
            None => (name, None),
        };
        Self { name, count, options }
    }
}

impl std::fmt::Display for WrittenReference<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(self.name)?;
        self.count.map_or(Ok(()), |count| write!(out, "*{count}"))?;
        self.options.map_or(Ok(()), |options| write!(out, "@{options}"))
    }
}

/// The names of all options, for messages.
const OPTIONS: [&str; 7] =
    ["temperature", "max_tokens", "effort", "strongest", "accuracy", "persona", "stance"];
/// The syntax of a persona name, for messages.
const NAME_WRITTEN: &str = "the name of a persona has 1 to 40 lower-case letters, digits or `-`";
/// The syntax of a stance in a reference, for messages.
const STANCE_WRITTEN: &str = "`stance` is `for` or `against`; a persona may have one in words of its own";

fn parse_count(text: &str, count: &str) -> Result<usize, Failure> {
    match count.parse() {
        Ok(count) if (1..=SEATS_MAX).contains(&count) => Ok(count),
        _ => {
            let name = text.split('*').next().unwrap_or(text);
            let refused = invalid(text, "the number after `*` is between 1 and 64");
            // `2*name` is the same in another order.
            let before = name.parse().ok().filter(|seats| (1..=SEATS_MAX).contains(seats));
            let is_name = count.contains(|letter: char| letter.is_ascii_alphabetic());
            let written = before.filter(|_| is_name).map(|seats| format!("{count}*{seats}"));
            Err(refused.with_next(Next::WriteAs(written.unwrap_or_else(|| format!("{name}*3")).into())))
        }
    }
}

fn parse_options(text: &str, options: &str) -> Result<SeatOptions, Failure> {
    let mut read = SeatOptions::default();
    let name = text.split('@').next().unwrap_or(text);
    let refused = |why: &str, example: &str| {
        invalid(text, why).with_next(Next::WriteAs(format!("{name}@{example}").into()))
    };
    for option in options.split(',') {
        let (key, value) = option
            .split_once('=')
            .ok_or_else(|| refused("an option is written `key=value`", "temperature=0.7"))?;
        let value = value.trim();
        match key.trim() {
            "temperature" => {
                let temperature = value.parse().ok().filter(|value| (0.0..=TEMPERATURE_MAX).contains(value));
                let why = || format!("`temperature` is a number from 0 to {TEMPERATURE_MAX}");
                read.temperature = Some(temperature.ok_or_else(|| refused(&why(), "temperature=0.7"))?);
            }
            "max_tokens" => {
                let tokens = value.parse().ok().filter(|tokens| (1..=OUTPUT_TOKENS_MAX).contains(tokens));
                let why = || format!("`max_tokens` is a whole number from 1 to {OUTPUT_TOKENS_MAX}");
                read.max_tokens = Some(tokens.ok_or_else(|| refused(&why(), "max_tokens=2000"))?);
            }
            "effort" => {
                let why = || format!("`effort` is one of {}", efforts());
                read.effort = Some(Effort::by_word(value).ok_or_else(|| refused(&why(), "effort=low"))?);
            }
            "strongest" => {
                let why = "`strongest` is `true` or `false`";
                read.strongest = value.parse().map_err(|_| refused(why, "strongest=true"))?;
            }
            "accuracy" => {
                // Neither 0 nor 1 is allowed: such a vote would have infinite weight.
                let accuracy = value.parse().ok().filter(|value: &f64| *value > 0.0 && *value < 1.0);
                let why = "`accuracy` must be between 0 and 1";
                read.accuracy = Some(accuracy.ok_or_else(|| refused(why, "accuracy=0.85"))?);
            }
            "persona" => {
                let name = Some(value).filter(|name| persona_prompt::is_name(name));
                read.persona = Some(name.ok_or_else(|| refused(NAME_WRITTEN, "persona=critic"))?.to_owned());
            }
            "stance" => {
                let stance = Stance::by_word(value);
                read.stance = Some(stance.ok_or_else(|| refused(STANCE_WRITTEN, "stance=for"))?);
            }
            other => {
                let failure = invalid(text, &format!("there is no option `{other}`"));
                return Err(nearest::suggest_or_list(failure, other, &OPTIONS));
            }
        }
    }
    Ok(read)
}

/// The words of all efforts, for messages.
fn efforts() -> String {
    Effort::ALL.iter().map(|effort| effort.word()).collect::<Vec<_>>().join(", ")
}

fn invalid(text: &str, why: &str) -> Failure {
    Failure::new(Code::ModelInvalid, format!("cannot read the model `{text}`: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<PanelEntry, Failure> {
        PanelEntry::parse(text, &ProviderId("openrouter".into()), |id| id == "ollama")
    }

    #[test]
    fn references_read_as_people_write_them() {
        let shown = |text| {
            let entry = parse(text).unwrap();
            format!(
                "{} {} ×{} {:?}",
                entry.model.provider, entry.model.model, entry.count, entry.options.temperature
            )
        };
        assert_eq!(shown("openai/gpt-6.1-sol"), "openrouter openai/gpt-6.1-sol ×1 None");
        assert_eq!(shown(" google/gemma-4:free*3 "), "openrouter google/gemma-4:free ×3 None");
        assert_eq!(shown("ollama:llama4:8b*2@temperature=0.5"), "ollama llama4:8b ×2 Some(0.5)");
        assert_eq!(
            shown("~x-ai/grok-latest@max_tokens=100,strongest=true"),
            "openrouter ~x-ai/grok-latest ×1 None"
        );
    }

    #[test]
    fn an_entry_is_written_as_it_is_read() {
        for (text, written) in [
            ("openai/gpt-6.1-sol", "openai/gpt-6.1-sol"),
            ("openrouter/auto*3", "openrouter/auto*3"),
            (
                "ollama:llama4:8b*2@stance=against,persona=critic,accuracy=0.85,strongest=true,effort=high,\
                 max_tokens=9,temperature=0.1",
                "ollama:llama4:8b*2@temperature=0.1,max_tokens=9,effort=high,strongest=true,accuracy=0.85,\
                 persona=critic,stance=against",
            ),
        ] {
            let entry = parse(text).unwrap();
            assert_eq!(entry.to_string(), written);
            assert_eq!(parse(written).unwrap(), entry);
        }
    }

    #[test]
    fn a_malformed_reference_is_refused() {
        for text in [
            "",
            "a b",
            "m*0",
            "m*65",
            "m*x",
            "m@temperature=9",
            "m@speed=1",
            "m@accuracy=1",
            "m@accuracy=NaN",
            "m@x",
            "a,b",
            "\u{1b}[2J",
            "m@persona=",
            "m@persona=Critic",
            "m@stance=maybe",
            "m@stance=",
        ] {
            assert_eq!(parse(text).unwrap_err().code, Code::ModelInvalid, "{text}");
        }
    }
}
