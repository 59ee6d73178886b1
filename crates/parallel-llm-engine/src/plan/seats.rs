//! Resolves model references to the seats of the panel and the chain of synthesizers.

use std::sync::Arc;

use crate::plan::caller_slot::CallerSlot;
use crate::plan::step::{self, Step};
use crate::plan::{Defaults, Terms, unknown};
use crate::request::catalogue::{ModelInfo, Price, PriceSource};
use crate::request::flow::FlowStage;
use crate::request::panel::{ModelRef, PanelEntry, SEATS_MAX, Seat, SeatNumber};
use crate::request::persona_prompt::PersonaPrompt;
use crate::request::strategy::{Extractor, StrategyChoice};
use crate::request::{
    AnswerLine, Effort, Equivalence, Message, OUTPUT_TOKENS_MAX, RunRequest, TEMPERATURE_MAX, persona,
};
use crate::text::short_answer::Form;
use crate::value::answer::Failure;
use crate::value::code::Code;
use crate::value::next::{Advice, Next, Operation};
use crate::value::usage::{tokens_in, weight_of};
use crate::value::warning::Warning;

/// The lowest output cap that makes room for the prompt. With a lower one there would be no useful answer, and the prompt is
/// counted on the high side.
const OUTPUT_TOKENS_MIN: u32 = 1_000;
/// The output cap of the call that groups short answers. Its reply has a few dozen tokens; the rest is for models that reason.
const EQUIVALENCE_OUTPUT_TOKENS_MAX: u32 = 4_000;
/// The models named in place of one that does not take a file.
const TAKERS_MAX: usize = 3;
/// The longest idempotency key in bytes: longer than any name or digest used as a key, and short enough for an index.
pub const IDEMPOTENCY_KEY_BYTES_MAX: usize = 255;

/// The sampling options of a request, checked.
#[derive(Clone, Copy)]
pub(super) struct Sampling {
    temperature: Option<f64>,
    max_tokens: u32,
    effort: Option<Effort>,
    /// The input of each call in tokens.
    input_tokens: u64,
}

impl Sampling {
    pub(super) fn of(request: &RunRequest, defaults: &Defaults) -> Result<Self, Failure> {
        let usage = |message: &str| Err(Failure::new(Code::Usage, message));
        if request.temperature.is_some_and(|temperature| !(0.0..=TEMPERATURE_MAX).contains(&temperature)) {
            return usage(&format!("`temperature` is a number from 0 to {TEMPERATURE_MAX}"));
        }
        if request.max_tokens.is_some_and(|tokens| !(1..=OUTPUT_TOKENS_MAX).contains(&tokens)) {
            return usage(&format!("`max_tokens` is a whole number from 1 to {OUTPUT_TOKENS_MAX}"));
        }
        if request.deadline_ms == Some(0) {
            return usage("the deadline is longer than nothing");
        }
        let key_bytes = request.idempotency_key.as_ref().map(String::len);
        if key_bytes.is_some_and(|bytes| !(1..=IDEMPOTENCY_KEY_BYTES_MAX).contains(&bytes)) {
            let message = format!("an idempotency key has 1 to {IDEMPOTENCY_KEY_BYTES_MAX} bytes");
            let next = Advice::GiveOwnIdempotencyKey;
            return Err(Failure::new(Code::Usage, message).with_next(next));
        }
        Ok(Self {
            temperature: request.temperature,
            max_tokens: request.max_tokens.unwrap_or(defaults.max_tokens),
            effort: request.effort.or(defaults.effort),
            input_tokens: tokens_in(request.messages.iter().map(Message::weight_bytes).sum()),
        })
    }

    /// The same for the calls of a stage. What the request sets holds for all stages.
    pub(super) fn in_stage(self, request: &RunRequest, stage: &FlowStage) -> Self {
        Self {
            temperature: self.temperature.or(stage.temperature),
            max_tokens: request.max_tokens.or(stage.max_tokens).unwrap_or(self.max_tokens),
            ..self
        }
    }

    /// The same for a seat with this persona prompt.
    fn with(self, persona_prompt: Option<&Arc<PersonaPrompt>>) -> Self {
        let system = persona_prompt.and_then(|prompt| prompt.system.as_ref());
        let besides = system.map_or(0, |system| tokens_in(weight_of(system)));
        Self { input_tokens: self.input_tokens.saturating_add(besides), ..self }
    }
}

/// Model references to be resolved.
#[derive(Clone, Copy)]
pub(super) struct References<'a> {
    /// The references as written.
    pub(super) names: &'a [String],
    /// Whether they were typed in this call, so that an unknown model is refused.
    pub(super) typed: bool,
    /// Where they come from, for warnings.
    pub(super) origin: &'a str,
}

impl<'a> References<'a> {
    /// The panel of the request, else that of the settings.
    pub(super) fn of_panel(request: &'a RunRequest, defaults: &'a Defaults) -> Self {
        let names = request.models.as_ref().unwrap_or(&defaults.panel);
        Self { names, typed: request.models.is_some(), origin: "settings" }
    }
}

/// The seats and synthesizers a request adds to an existing run, each list numbered from 1.
pub(crate) struct Addition {
    pub(crate) seats: Vec<Seat>,
    pub(crate) synthesizers: Vec<Seat>,
    pub(crate) warnings: Vec<Warning>,
}

/// Resolves the seats and synthesizers a request adds to a run with these messages. The panel of the settings is not added.
pub(crate) fn addition(
    request: &RunRequest,
    terms: &Terms<'_>,
    messages: &Arc<[Message]>,
) -> Result<Addition, Failure> {
    let request = RunRequest { messages: messages.to_vec(), ..request.clone() };
    let sampling = Sampling::of(&request, terms.defaults)?;
    let mut warnings = Vec::new();
    let seats = match &request.models {
        Some(_) => {
            let references = References::of_panel(&request, terms.defaults);
            resolve_panel(references, &request.messages, terms, &sampling, &mut warnings)?
        }
        None => Vec::new(),
    };
    let chain = &terms.defaults.synthesizers;
    let synthesizers = resolve_chain(request.synthesizer.as_ref(), chain, terms, &sampling, &mut warnings)?;
    Ok(Addition { seats, synthesizers, warnings })
}

/// The seats of these references.
pub(super) fn resolve_panel(
    References { names, typed, origin }: References<'_>,
    messages: &[Message],
    terms: &Terms<'_>,
    sampling: &Sampling,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<Seat>, Failure> {
    let mut seats = Vec::new();
    for reference in names {
        let mut entry = parse(reference, terms)?;
        let persona_prompt = persona::assume(&mut entry, &terms.defaults.personas)?;
        let sampling = sampling.with(persona_prompt.as_ref());
        if let Err(unknown) = known(&entry.model, terms) {
            // An unknown model of the settings fails its seat only; one that was typed is refused.
            if typed {
                return Err(unknown);
            }
            warnings.push(Warning::of(origin, &unknown));
        }
        check_fit(&entry, terms, &sampling, warnings);
        for _ in 0..entry.count {
            let seat = Seat {
                persona_prompt: persona_prompt.clone(),
                ..seat(&entry, seats.len(), terms, &sampling)
            };
            match seat.check_inputs(messages) {
                Err(unsupported) if typed => return Err(naming_takers(unsupported, messages, terms)),
                _ => seats.push(seat),
            }
            if seats.len() > SEATS_MAX {
                break;
            }
        }
    }
    if seats.is_empty() || seats.len() > SEATS_MAX {
        let count =
            if seats.is_empty() { "no seats".to_owned() } else { format!("more than {SEATS_MAX} seats") };
        return Err(Failure::new(Code::PanelSize, format!("the panel has {count}")));
    }
    Ok(seats)
}

/// The same failure with the names of models that take the files, as far as the default provider's list knows any. Aliases
/// come first, because they stay current.
fn naming_takers(unsupported: Failure, messages: &[Message], terms: &Terms<'_>) -> Failure {
    let files = || messages.iter().flat_map(Message::files);
    let takes_all =
        |model: &&ModelInfo| model.inputs.is_some_and(|inputs| files().all(|file| inputs.takes(file.kind())));
    let listed = terms.providers.first().and_then(|provider| terms.catalogues.get(provider));
    let takers = listed.into_iter().flat_map(|list| list.models()).filter(takes_all);
    let mut names: Vec<&str> = takers.map(|model| model.id.as_str()).collect();
    names.sort_by_key(|name| !name.starts_with('~'));
    names.truncate(TAKERS_MAX);
    if names.is_empty() {
        return unsupported;
    }
    unsupported.with_next([
        Operation::ListModelsTakingFiles.into(),
        Advice::LeaveFileOut.into(),
        Next::choose_one(names),
    ])
}

/// The chain of synthesizers: the one of the request, then those configured.
pub(super) fn resolve_chain(
    by_hand: Option<&String>,
    configured: &[String],
    terms: &Terms<'_>,
    sampling: &Sampling,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<Seat>, Failure> {
    let mut chain: Vec<Seat> = Vec::new();
    for reference in by_hand.into_iter().chain(configured) {
        let entry = parse(reference, terms)?;
        persona::refuse(&entry)?;
        if entry.count > 1 && by_hand == Some(reference) {
            let message = format!("a synthesizer has one seat, and `{reference}` names {}", entry.count);
            let meant = reference.replacen(&format!("*{}", entry.count), "", 1);
            return Err(Failure::new(Code::Usage, message).with_next(Next::WriteAs(meant.into())));
        }
        match known(&entry.model, terms) {
            Err(unknown) if by_hand == Some(reference) => return Err(unknown),
            Err(unknown) => warnings.push(Warning::of("settings", &unknown)),
            Ok(()) => {}
        }
        // The temperature of the request is meant for variety in the panel; a synthesizer keeps its provider's default. It
        // also reads the answers, whose length is unknown yet: `u64::MAX` stands for "as much as it can read".
        let sampling = Sampling { temperature: None, input_tokens: u64::MAX, ..*sampling };
        if chain.iter().all(|seat| seat.model != entry.model) && chain.len() < SEATS_MAX {
            chain.push(seat(&entry, chain.len(), terms, &sampling));
        }
    }
    Ok(chain)
}

/// The model that says which short answers mean the same. If none is named, it is the cheapest with a known price at a provider
/// that a seat is asked at: it adds neither a key nor somebody who reads along.
pub(crate) fn resolve_equivalence(
    seats: &[Seat],
    terms: &Terms<'_>,
    warnings: &mut Vec<Warning>,
) -> Result<Option<Seat>, Failure> {
    let sampling = Sampling {
        temperature: None,
        max_tokens: EQUIVALENCE_OUTPUT_TOKENS_MAX,
        effort: None,
        input_tokens: OUTPUT_TOKENS_MIN.into(),
    };
    let reference = match &terms.defaults.equivalence {
        Equivalence::Off => return Ok(None),
        Equivalence::Model(reference) => reference,
        Equivalence::CheapestOf(references) => {
            let entries = references.iter().filter_map(|reference| parse(reference, terms).ok());
            let known = entries.filter(|entry| {
                let is_asked = seats.iter().any(|seat| seat.model.provider == entry.model.provider);
                is_asked && info(&entry.model, terms).is_some()
            });
            let priced = known.filter_map(|entry| {
                let seat = seat(&entry, 0, terms, &sampling);
                Some((seat.cost_max(OUTPUT_TOKENS_MIN.into(), 0, OUTPUT_TOKENS_MIN)?, seat))
            });
            return Ok(priced.min_by_key(|(cost, _)| *cost).map(|(_, seat)| seat));
        }
    };
    let entry = parse(reference, terms)?;
    persona::refuse(&entry)?;
    if let Err(unknown) = known(&entry.model, terms) {
        warnings.push(Warning::of("settings", &unknown));
    }
    Ok(Some(seat(&entry, 0, terms, &sampling)))
}

pub(super) fn parse(reference: &str, terms: &Terms<'_>) -> Result<PanelEntry, Failure> {
    let is_provider = |id: &str| terms.providers.iter().any(|known| known.0 == id);
    let default_provider = terms.providers.first().expect("there is always a default provider");
    let mut entry = PanelEntry::parse(reference, default_provider, is_provider)?;
    // A suffix or a dated id is sent as typed; only a `~` that the shell expanded is put back.
    let lost = info(&entry.model, terms).and_then(|info| info.id.strip_prefix('~'));
    let rest = lost.and_then(|id| entry.model.model.strip_prefix(id));
    if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(':')) {
        entry.model.model.insert(0, '~');
    }
    Ok(entry)
}

/// Ends the name of what costs nothing.
const FREE: &str = ":free";

/// Fails if a live catalogue lacks the model.
fn known(model: &ModelRef, terms: &Terms<'_>) -> Result<(), Failure> {
    let listed = terms.catalogues.get(&model.provider).filter(|catalogue| catalogue.is_live());
    let Some(catalogue) = listed else { return Ok(()) };
    match info(model, terms) {
        // A free variant is a model of its own in the list, and is not there otherwise.
        Some(paid) if model.model.ends_with(FREE) && !paid.id.ends_with(FREE) => {
            let message = format!("the model `{model}` is unknown: `{}` is not offered for free", paid.id);
            let meant = ModelRef { model: paid.id.clone(), ..model.clone() }.to_string();
            Err(Failure::new(Code::ModelUnknown, message).with_next(Next::Meant(meant.into())))
        }
        Some(_) => Ok(()),
        None => Err(unknown::failure(model, terms.providers, catalogue)),
    }
}

/// The catalogue's entry for a model. Only the catalogue of its own provider counts: another provider may have the same
/// name at another price.
fn info<'a>(model: &ModelRef, terms: &Terms<'a>) -> Option<&'a ModelInfo> {
    terms.catalogues.get(&model.provider)?.find(&model.model)
}

/// Warns if the prompt may be longer than the model can read. The count is an estimate on the high side, so the provider
/// decides; its refusal costs nothing.
fn check_fit(entry: &PanelEntry, terms: &Terms<'_>, sampling: &Sampling, warnings: &mut Vec<Warning>) {
    let context_tokens = info(&entry.model, terms).and_then(|info| info.context_tokens);
    let Some(context_tokens) = context_tokens.filter(|most| sampling.input_tokens > *most) else { return };
    warnings.push(Warning {
        code: Code::ContextLength,
        message: format!(
            "the prompt has about {} tokens; `{}` reads {context_tokens}",
            sampling.input_tokens, entry.model
        ),
        next: Code::ContextLength.next().to_owned(),
    });
}

/// The output cap that leaves room for the prompt. Routers and local servers refuse a call if prompt and cap together exceed
/// the context.
fn fitted(wanted: u32, context_tokens: Option<u64>, input_tokens: u64) -> u32 {
    let Some(context_tokens) = context_tokens.filter(|_| input_tokens != u64::MAX) else { return wanted };
    let room = u32::try_from(context_tokens.saturating_sub(input_tokens)).unwrap_or(u32::MAX);
    wanted.min(room.max(OUTPUT_TOKENS_MIN))
}

fn seat(entry: &PanelEntry, index: usize, terms: &Terms<'_>, sampling: &Sampling) -> Seat {
    let info = info(&entry.model, terms);
    let wanted = entry.options.max_tokens.unwrap_or(sampling.max_tokens);
    let context_tokens = info.and_then(|info| info.context_tokens);
    let most = info.and_then(|info| info.output_tokens_max).and_then(|most| u32::try_from(most).ok());
    let (price, price_source) = price_of(&entry.model, sampling.input_tokens, terms);
    Seat {
        number: SeatNumber::at(index),
        model: entry.model.clone(),
        temperature: entry.options.temperature.or(sampling.temperature),
        max_tokens: fitted(
            most.map_or(wanted, |most| wanted.min(most.max(1))),
            context_tokens,
            sampling.input_tokens,
        ),
        effort: entry.options.effort.or(sampling.effort),
        strongest: entry.options.strongest,
        accuracy: entry.options.accuracy,
        price,
        price_source,
        context_tokens,
        inputs: info.and_then(|info| info.inputs),
        json_mode: info.is_some_and(|info| info.json_mode),
        persona_prompt: None,
        asks_line: false,
    }
}

/// Asks the seats for the answer line, if their answers are counted and the question prescribes no form of its own.
pub(crate) fn ask_for_line(seats: &mut [Seat], choice: StrategyChoice, question: &str, line: AnswerLine) {
    let has_line = || Form::of(question).is_some_and(|form| form.is_line());
    let asks = line == AnswerLine::Auto
        && choice.counts()
        && !matches!(choice.options.extractor(), Extractor::Json(_))
        && has_line();
    for seat in seats {
        seat.asks_line = asks;
    }
}

/// Counts the price of a long context for the seats whose steps may read one: they read answers besides the question.
pub(super) fn price_for_steps(seats: &mut [Seat], steps: &[Step], terms: &Terms<'_>) {
    for seat in seats {
        let most = step::input_tokens_max(CallerSlot::Seat(seat.number), steps);
        if most > 0 {
            (seat.price, seat.price_source) = price_of(&seat.model, most, terms);
        }
    }
}

/// The price of a model in a call with this many input tokens, and where it comes from.
pub(crate) fn price_of(
    model: &ModelRef,
    input_tokens: u64,
    terms: &Terms<'_>,
) -> (Option<Price>, PriceSource) {
    let is_live = terms.catalogues.get(&model.provider).is_some_and(|catalogue| catalogue.is_live());
    terms.defaults.prices.price(model, input_tokens, info(model, terms), is_live)
}
