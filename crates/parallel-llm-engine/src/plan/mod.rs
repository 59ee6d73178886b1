//! A run with every default resolved: nothing after this asks what was meant.
//!
//! Stored with the run, so that it can be explained and repeated. Resolving is pure; whatever is wrong with a
//! request is said here, before anything is paid.

pub mod budget;
pub mod caller_slot;
mod samples;
pub(crate) mod seed;
mod slots;
pub mod step;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::plan::step::Step;
use crate::request::catalogue::{Catalogue, ModelInfo};
use crate::request::file_names::FileNames;
use crate::request::panel::{ModelRef, PanelEntry, ProviderId, SEATS_MAX, Seat, SeatNumber};
use crate::request::persona::{self, Persona, Personas};
use crate::request::persona_prompt::PersonaPrompt;
use crate::request::routing::Routing;
use crate::request::strategy::{ResolvedStrategy, Strategy, StrategyChoice, StrategyOptions};
use crate::request::wait::Wait;
use crate::request::{Effort, Message, RunRequest, StoreMode};
use crate::value::answer::Failure;
use crate::value::code::Code;
use crate::value::id::RunId;
use crate::value::money::PicoUsd;
use crate::value::nearest;
use crate::value::next::Advice;
use crate::value::usage::tokens_in;
use crate::value::warning::Warning;

/// An output cap is not lowered below this to make room for the prompt: what comes out would not be an answer, and
/// our count of the prompt is on the high side.
const OUTPUT_TOKENS_MIN: u32 = 1_000;
/// Longer than any name or digest that is used as a key, and short enough for an index.
const IDEMPOTENCY_KEY_BYTES_MAX: usize = 255;
/// The version of the stored shape.
const VERSION: u32 = 1;

/// How long things may take, in milliseconds. Every one is a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timers {
    /// From sending to the first text or reasoning. Reasoning models have been seen to think for minutes.
    pub first_text_ms: u64,
    /// Without a byte. Keep-alive comments count as bytes.
    pub idle_ms: u64,
    /// Without text or reasoning, once there has been some. Comments do not count: they hide a stall.
    pub content_ms: u64,
    /// One call. An ordinary question has been seen to take nine minutes of reasoning.
    pub call_ms: u64,
    /// The whole run.
    pub run_ms: u64,
}

impl Default for Timers {
    fn default() -> Self {
        Self {
            first_text_ms: 300_000,
            idle_ms: 90_000,
            content_ms: 180_000,
            call_ms: 900_000,
            run_ms: 1_200_000,
        }
    }
}

/// What holds where a request says nothing: the settings, as far as a run needs them.
#[derive(Clone, Debug)]
pub struct Defaults {
    /// The panel, as written.
    pub panel: Vec<String>,
    /// The chain of synthesizers, as written.
    pub synthesizers: Vec<String>,
    /// Who a seat may be asked to be.
    pub personas: Personas,
    /// How answers become one text.
    pub strategy: String,
    /// Output cap of each call in tokens.
    pub max_tokens: u32,
    /// How hard the panel is asked to think.
    pub effort: Option<Effort>,
    /// The terms for the providers behind a router.
    pub routing: Routing,
    /// The most one run may cost.
    pub budget: PicoUsd,
    /// The longest prompt in characters.
    pub prompt_chars_max: usize,
    /// How long things may take.
    pub timers: Timers,
    /// Retries of one call.
    pub retries_max: u32,
    /// When to stop waiting.
    pub wait: Wait,
    /// How much is stored.
    pub store: StoreMode,
    /// Whether answers are also written as files.
    pub files: bool,
    /// What those files are called.
    pub file_names: FileNames,
    /// What may be spent in a day.
    pub limits: Vec<DayLimit>,
    /// What tells the user's own check command from another, where there is one: asked under another, the same question may come
    /// to another answer.
    pub checker: Option<String>,
}

/// Everything a request is resolved against.
#[derive(Clone, Copy, Debug)]
pub struct Terms<'a> {
    /// What holds where the request says nothing.
    pub defaults: &'a Defaults,
    /// The configured providers, the default one first. Never empty.
    pub providers: &'a [ProviderId],
    /// What is known of the providers' models; one that is missing here is not known at all.
    pub catalogues: &'a BTreeMap<ProviderId, Arc<Catalogue>>,
}

/// The most that runs may cost together in a day, in UTC.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DayLimit {
    /// The provider whose key it is about; `None` for all of them together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<ProviderId>,
    /// Whose runs it is about, by what they are asked by; `None` for everybody's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_by: Option<String>,
    /// The limit.
    pub usd: PicoUsd,
    /// The setting that says so.
    pub setting: String,
}

/// What makes one run different from the next that asks the same.
#[derive(Clone, Copy, Debug)]
pub struct Identity {
    /// The run's name.
    pub run_id: RunId,
    /// All chance in the run derives from this: shuffles, fences, jitter.
    pub seed: u64,
}

/// A run, resolved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunPlan {
    /// The version of this shape.
    pub version: u32,
    /// The run's name.
    pub run_id: RunId,
    /// All chance in the run derives from this.
    pub seed: u64,
    /// Names what is asked, whatever the run: BLAKE3 of the request with the defaults laid under it, as 64 hexadecimal
    /// digits. Two runs of the same request have the same, also where lists of models have changed in between. Empty
    /// in plans from before there was one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub plan_hash: String,
    /// What is asked. Left empty where the store keeps only metadata.
    #[serde(default)]
    pub messages: Arc<[Message]>,
    /// Who is asked.
    pub seats: Vec<Seat>,
    /// Who fuses: the first that can.
    pub synthesizers: Vec<Seat>,
    /// How answers become one text.
    pub strategy: Strategy,
    /// The options of the strategy. Stored under their first name.
    #[serde(rename = "knobs", default, skip_serializing_if = "StrategyOptions::is_default")]
    pub strategy_options: StrategyOptions,
    /// Why it is this one, where nobody named it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen_because: Option<String>,
    /// The calls the strategy may make beside those.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
    /// How long things may take.
    pub timers: Timers,
    /// Retries of one call.
    pub retries_max: u32,
    /// When to stop waiting.
    pub wait: Wait,
    /// The most the run may cost.
    pub budget: PicoUsd,
    /// The worst case of its cost, as far as prices are known.
    pub worst_case: PicoUsd,
    /// How much is stored.
    pub store: StoreMode,
    /// Whether answers are also written as files.
    pub files: bool,
    /// What those files are called.
    #[serde(default, skip_serializing_if = "is_default")]
    pub file_names: FileNames,
    /// The terms for the providers behind a router.
    #[serde(default, skip_serializing_if = "is_default")]
    pub routing: Arc<Routing>,
    /// Who asks, where that is known: the same question of another is another question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_by: Option<String>,
    /// The caller's own name for the question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// Whether it is begun although an earlier run of the same question could be joined or gone on with. It says how the
    /// run begins and nothing of the run itself, so it is not stored.
    #[serde(skip)]
    pub fresh: bool,
    /// What may be spent in a day besides, by the settings in force when the run began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<DayLimit>,
    /// What the reader should know of the plan itself.
    #[serde(default)]
    pub warnings: Vec<Warning>,
}

impl RunPlan {
    /// Fills in what the request leaves open, or says what is wrong with it: also that it may cost more than its budget.
    pub fn resolve(request: RunRequest, terms: &Terms<'_>, identity: Identity) -> Result<Self, Failure> {
        let plan = Self::draft(request, terms, identity)?;
        budget::check("the run", plan.worst_case, plan.budget)?;
        Ok(plan)
    }

    /// The same for whoever judges the worst case against the budget itself.
    pub fn draft(request: RunRequest, terms: &Terms<'_>, identity: Identity) -> Result<Self, Failure> {
        let defaults = terms.defaults;
        check_prompt(&request.messages, defaults.prompt_chars_max)?;
        let choice = Choice::of(&request, defaults)?;
        let mut warnings = Vec::new();
        let seats = resolve_panel(&request, terms, &choice, &mut warnings)?;
        let synthesizers = resolve_chain(&request, terms, &choice)?;
        let mut timers = defaults.timers;
        timers.run_ms = request.deadline_ms.unwrap_or(timers.run_ms);
        let question = question(&request.messages);
        let text = request.strategy.as_deref().unwrap_or(&defaults.strategy);
        let resolved = ResolvedStrategy::of(text, &question, defaults.checker.is_some())?;
        resolved.choice.check_seats(&seats)?;
        let plan_hash = hash(&request, terms, resolved.choice);
        let StrategyChoice { strategy, options } = resolved.choice;
        let seats =
            if strategy.samples_one_model() { samples::of(seats, options, &mut warnings) } else { seats };
        let mut plan = Self {
            version: VERSION,
            run_id: identity.run_id,
            seed: identity.seed,
            plan_hash,
            messages: request.messages.into(),
            seats,
            synthesizers,
            strategy,
            strategy_options: options,
            chosen_because: resolved.why.map(str::to_owned),
            steps: Vec::new(),
            timers,
            retries_max: defaults.retries_max,
            wait: resolved.choice.wait(defaults.wait.within_client_timeout(request.client_timeout_ms)),
            budget: request.budget.unwrap_or(defaults.budget),
            worst_case: PicoUsd::ZERO,
            store: request.store.unwrap_or(defaults.store),
            files: request.files.unwrap_or(defaults.files),
            file_names: defaults.file_names.clone(),
            routing: Arc::new(defaults.routing.clone()),
            asked_by: request.asked_by,
            idempotency_key: request.idempotency_key,
            fresh: request.fresh,
            limits: defaults.limits.clone(),
            warnings,
        };
        plan.steps = step::planned(resolved.choice, &plan.seats, &plan.synthesizers, plan.input_bytes());
        step::number_on(&mut plan.steps, 0)?;
        plan.worst_case = plan.worst_case_of(&plan.seats, &plan.synthesizers, &plan.steps);
        Ok(plan)
    }

    /// The strategy and its options.
    pub const fn strategy_choice(&self) -> StrategyChoice {
        StrategyChoice { strategy: self.strategy, options: self.strategy_options }
    }

    /// The text of the last message: what is asked now.
    pub fn question(&self) -> String {
        question(&self.messages)
    }

    /// What every seat is sent, in bytes of text that cost as much; some are told more.
    pub fn input_bytes(&self) -> u64 {
        self.messages.iter().map(Message::weight_bytes).sum()
    }

    /// A copy without the question and the persona prompts. A persona prompt comes from the settings, not from whoever asks,
    /// but it is a prompt: if prompts are not kept, neither is it.
    #[must_use]
    pub fn without_texts(&self) -> Self {
        Self { messages: Arc::default(), ..self.without_persona_prompts() }
    }

    /// A copy without the persona prompts.
    #[must_use]
    pub fn without_persona_prompts(&self) -> Self {
        Self { seats: self.seats.iter().map(Seat::without_text).collect(), ..self.clone() }
    }
}

fn question(messages: &[Message]) -> String {
    messages.last().map(|message| message.texts().collect::<Vec<_>>().join("\n")).unwrap_or_default()
}

/// What is asked, without who asks and under which name, how long the asker's client waits, and what is not for a request
/// to say: timers, retries, the limits of a day.
fn hash(request: &RunRequest, terms: &Terms<'_>, choice: StrategyChoice) -> String {
    let defaults = terms.defaults;
    // Taken apart whole, so that whoever adds a field decides whether it is asked.
    let RunRequest {
        messages,
        models,
        synthesizer,
        strategy,
        temperature,
        max_tokens,
        effort,
        deadline_ms,
        client_timeout_ms: _,
        budget,
        store,
        files,
        asked_by: _,
        idempotency_key: _,
        fresh: _,
    } = request;
    let who = (models.as_ref().unwrap_or(&defaults.panel), synthesizer, &defaults.synthesizers);
    let how = (
        strategy.as_ref().unwrap_or(&defaults.strategy),
        temperature,
        max_tokens.unwrap_or(defaults.max_tokens),
        effort.or(defaults.effort),
        &defaults.routing,
    );
    let within = (deadline_ms, defaults.wait, budget.unwrap_or(defaults.budget));
    let kept = (store.unwrap_or(defaults.store), files.unwrap_or(defaults.files));
    let asked = (messages, who, how, within, kept);
    // A persona is named in a reference, and its words may change while the name stays.
    let personas = personas_of(who.0, terms);
    let checker = defaults.checker.as_ref().filter(|_| choice.options.is_checked());
    let json = match (checker, personas.is_empty()) {
        (None, true) => serde_json::to_vec(&asked),
        (None, false) => serde_json::to_vec(&(asked, personas)),
        (Some(checker), _) => serde_json::to_vec(&(asked, personas, checker)),
    };
    blake3::hash(&json.expect("a request is plain data with string keys")).to_hex().to_string()
}

/// The personas that these references name, as far as there are such.
fn personas_of<'a>(references: &[String], terms: &Terms<'a>) -> BTreeMap<&'a String, &'a Persona> {
    let named = references.iter().filter_map(|reference| parse(reference, terms).ok()?.options.persona);
    named.filter_map(|name| terms.defaults.personas.get_key_value(&name)).collect()
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// The request's sampling wishes, checked.
#[derive(Clone, Copy)]
struct Choice {
    temperature: Option<f64>,
    max_tokens: u32,
    effort: Option<Effort>,
    /// What the calls read, in tokens.
    input_tokens: u64,
}

impl Choice {
    fn of(request: &RunRequest, defaults: &Defaults) -> Result<Self, Failure> {
        let usage = |message: &str| Err(Failure::new(Code::Usage, message));
        if request.temperature.is_some_and(|temperature| !(0.0..=2.0).contains(&temperature)) {
            return usage("the temperature lies between 0 and 2");
        }
        if request.max_tokens == Some(0) {
            return usage("`max_tokens` is a whole number above 0");
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

    /// The same for a seat that is told this besides.
    fn with(self, persona_prompt: Option<&Arc<PersonaPrompt>>) -> Self {
        let system = persona_prompt.and_then(|prompt| prompt.system.as_ref());
        let besides = system.map_or(0, |system| tokens_in(system.len() as u64));
        Self { input_tokens: self.input_tokens.saturating_add(besides), ..self }
    }
}

fn check_prompt(messages: &[Message], chars_max: usize) -> Result<(), Failure> {
    let texts = || messages.iter().flat_map(Message::texts);
    let is_asking = |question: &Message| question.texts().any(|text| !text.trim().is_empty());
    if !messages.last().is_some_and(is_asking) {
        return Err(Failure::new(Code::PromptEmpty, "the prompt is empty"));
    }
    let chars: usize = texts().map(|text| text.chars().count()).sum();
    if chars > chars_max {
        let message = format!("the prompt has {chars} characters; the limit is {chars_max}");
        return Err(Failure::new(Code::PromptTooLong, message));
    }
    Ok(())
}

fn resolve_panel(
    request: &RunRequest,
    terms: &Terms<'_>,
    choice: &Choice,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<Seat>, Failure> {
    let typed = request.models.is_some();
    let references = request.models.as_ref().unwrap_or(&terms.defaults.panel);
    let mut seats = Vec::new();
    for reference in references {
        let mut entry = parse(reference, terms)?;
        let persona_prompt = persona::assume(&mut entry, &terms.defaults.personas)?;
        let choice = choice.with(persona_prompt.as_ref());
        if let Err(unknown) = known(&entry.model, terms) {
            // A dead model from the settings fails its own seat; one typed in this call is refused.
            if typed {
                return Err(unknown);
            }
            warnings.push(Warning::of("settings", &unknown));
        }
        check_fit(&entry, terms, &choice, warnings);
        for _ in 0..entry.count {
            let seat =
                Seat { persona_prompt: persona_prompt.clone(), ..seat(&entry, seats.len(), terms, &choice) };
            match seat.check_inputs(&request.messages) {
                Err(unsupported) if typed => return Err(unsupported),
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

/// What a request adds to a run that is there already. The numbers of its places are those of lists of their own.
pub(crate) struct Addition {
    pub(crate) seats: Vec<Seat>,
    pub(crate) synthesizers: Vec<Seat>,
    pub(crate) warnings: Vec<Warning>,
}

/// The seats and synthesizers that a request names for a run that asks these messages. A model of the settings is never
/// added unasked.
pub(crate) fn further(
    request: &RunRequest,
    terms: &Terms<'_>,
    messages: &Arc<[Message]>,
) -> Result<Addition, Failure> {
    let request = RunRequest { messages: messages.to_vec(), ..request.clone() };
    let choice = Choice::of(&request, terms.defaults)?;
    let mut warnings = Vec::new();
    let seats = match &request.models {
        Some(_) => resolve_panel(&request, terms, &choice, &mut warnings)?,
        None => Vec::new(),
    };
    Ok(Addition { seats, synthesizers: resolve_chain(&request, terms, &choice)?, warnings })
}

/// The chain of synthesizers: one given by hand goes in front of the configured ones.
fn resolve_chain(request: &RunRequest, terms: &Terms<'_>, choice: &Choice) -> Result<Vec<Seat>, Failure> {
    let mut chain: Vec<Seat> = Vec::new();
    let by_hand = request.synthesizer.as_ref();
    for reference in by_hand.into_iter().chain(&terms.defaults.synthesizers) {
        let entry = parse(reference, terms)?;
        persona::refuse(&entry)?;
        if by_hand == Some(reference) {
            known(&entry.model, terms)?;
        }
        // A synthesizer keeps its provider's own temperature: the caller's was meant for variety in the panel.
        // It reads the answers of the panel too, at most as much as it can read at all.
        let choice = Choice { temperature: None, input_tokens: u64::MAX, ..*choice };
        if chain.iter().all(|seat| seat.model != entry.model) && chain.len() < SEATS_MAX {
            chain.push(seat(&entry, chain.len(), terms, &choice));
        }
    }
    Ok(chain)
}

fn parse(reference: &str, terms: &Terms<'_>) -> Result<PanelEntry, Failure> {
    let is_provider = |id: &str| terms.providers.iter().any(|known| known.0 == id);
    let mut entry = PanelEntry::parse(reference, default_provider(terms), is_provider)?;
    // A suffix and a dated name are asked for as typed; only the `~` that a shell takes away is given back.
    let lost = info(&entry.model, terms).and_then(|info| info.id.strip_prefix('~'));
    let rest = lost.and_then(|id| entry.model.model.strip_prefix(id));
    if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(':')) {
        entry.model.model.insert(0, '~');
    }
    Ok(entry)
}

/// Whether the catalogue knows the model, as far as that can be said without a live one.
fn known(model: &ModelRef, terms: &Terms<'_>) -> Result<(), Failure> {
    let listed = terms.catalogues.get(&model.provider).filter(|catalogue| catalogue.is_live());
    let Some(catalogue) = listed.filter(|_| info(model, terms).is_none()) else { return Ok(()) };
    let failure = Failure::new(Code::ModelUnknown, format!("the model `{model}` is unknown"));
    Err(nearest::suggest(failure, catalogue.nearest(&model.model)))
}

fn default_provider<'a>(terms: &Terms<'a>) -> &'a ProviderId {
    terms.providers.first().expect("there is always a default provider")
}

/// What is known of a model. A catalogue speaks for its provider only: another may use the same name at another
/// price.
fn info<'a>(model: &ModelRef, terms: &Terms<'a>) -> Option<&'a ModelInfo> {
    terms.catalogues.get(&model.provider)?.find(&model.model)
}

/// Warns where the prompt may be longer than the model can read. Our count is an estimate on the high side, so the
/// provider has the last word, and its refusal costs nothing.
fn check_fit(entry: &PanelEntry, terms: &Terms<'_>, choice: &Choice, warnings: &mut Vec<Warning>) {
    let context_tokens = info(&entry.model, terms).and_then(|info| info.context_tokens);
    let Some(context_tokens) = context_tokens.filter(|most| choice.input_tokens > *most) else { return };
    warnings.push(Warning {
        code: Code::ContextLength,
        message: format!(
            "the prompt has about {} tokens; `{}` reads {context_tokens}",
            choice.input_tokens, entry.model
        ),
        next: Code::ContextLength.next().to_owned(),
    });
}

/// The output cap that leaves room for the prompt: routers and local servers refuse a call whose prompt and cap
/// together exceed the context.
fn fitted(wanted: u32, context_tokens: Option<u64>, input_tokens: u64) -> u32 {
    let Some(context_tokens) = context_tokens.filter(|_| input_tokens != u64::MAX) else { return wanted };
    let room = u32::try_from(context_tokens.saturating_sub(input_tokens)).unwrap_or(u32::MAX);
    wanted.min(room.max(OUTPUT_TOKENS_MIN))
}

fn seat(entry: &PanelEntry, index: usize, terms: &Terms<'_>, choice: &Choice) -> Seat {
    let info = info(&entry.model, terms);
    let wanted = entry.options.max_tokens.unwrap_or(choice.max_tokens);
    let context_tokens = info.and_then(|info| info.context_tokens);
    let most = info.and_then(|info| info.output_tokens_max).and_then(|most| u32::try_from(most).ok());
    Seat {
        number: SeatNumber::at(index),
        model: entry.model.clone(),
        temperature: entry.options.temperature.or(choice.temperature),
        max_tokens: fitted(
            most.map_or(wanted, |most| wanted.min(most.max(1))),
            context_tokens,
            choice.input_tokens,
        ),
        effort: entry.options.effort.or(choice.effort),
        strongest: entry.options.strongest,
        accuracy: entry.options.accuracy,
        price: info.and_then(|info| info.price_at(choice.input_tokens)),
        context_tokens,
        inputs: info.and_then(|info| info.inputs),
        json_mode: info.is_some_and(|info| info.json_mode),
        persona_prompt: None,
    }
}
