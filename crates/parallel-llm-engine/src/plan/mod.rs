//! The plan of a run: its request with every default resolved.
//!
//! The plan is stored with the run, so that the run can be explained and repeated. Resolving is pure and refuses a wrong
//! request before anything is paid.

pub mod budget;
pub mod call_count;
pub mod caller_slot;
mod samples;
pub(crate) mod seed;
pub mod slots;
pub mod step;
mod unknown;

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
use crate::value::next::Advice;
use crate::value::usage::tokens_in;
use crate::value::warning::Warning;

/// The lowest output cap that makes room for the prompt. With a lower one there would be no useful answer, and the prompt is
/// counted on the high side.
const OUTPUT_TOKENS_MIN: u32 = 1_000;
/// The longest idempotency key in bytes: longer than any name or digest used as a key, and short enough for an index.
const IDEMPOTENCY_KEY_BYTES_MAX: usize = 255;
/// The version of the stored shape.
const VERSION: u32 = 1;

/// Time limits in milliseconds. Each is a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timers {
    /// From sending to the first text or reasoning. Some reasoning models think for minutes before they write.
    pub first_text_ms: u64,
    /// Without any byte; keep-alive comments count.
    pub idle_ms: u64,
    /// Without text or reasoning after the first of it. Comments do not count, because they hide a stall.
    pub content_ms: u64,
    /// One call. An ordinary question took nine minutes of reasoning once.
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

/// The values for what a request leaves open: the settings a run needs.
#[derive(Clone, Debug)]
pub struct Defaults {
    /// The model references of the panel, as written.
    pub panel: Vec<String>,
    /// The model references of the synthesizers, as written.
    pub synthesizers: Vec<String>,
    /// The personas seats may name.
    pub personas: Personas,
    /// The strategy and its options, as written.
    pub strategy: String,
    /// Output cap of each call in tokens.
    pub max_tokens: u32,
    /// The reasoning effort of the panel.
    pub effort: Option<Effort>,
    /// The terms for the providers behind a router.
    pub routing: Routing,
    /// The most one run may cost.
    pub budget: PicoUsd,
    /// The longest prompt in characters.
    pub prompt_chars_max: usize,
    /// Time limits.
    pub timers: Timers,
    /// The most retries of one call.
    pub retries_max: u32,
    /// When to stop waiting.
    pub wait: Wait,
    /// How much is stored.
    pub store: StoreMode,
    /// Whether answers are also written as files.
    pub files: bool,
    /// The names of those files.
    pub file_names: FileNames,
    /// The limits of a day.
    pub limits: Vec<DayLimit>,
    /// Identifies the check command, if there is one. The same question under another check command may have another
    /// outcome, so it is part of the plan hash.
    pub checker: Option<String>,
}

/// The settings, providers and catalogues a request is resolved with.
#[derive(Clone, Copy, Debug)]
pub struct Terms<'a> {
    /// The values for what the request leaves open.
    pub defaults: &'a Defaults,
    /// The configured providers, the default one first. Never empty.
    pub providers: &'a [ProviderId],
    /// The catalogues of the providers. A provider without one has none.
    pub catalogues: &'a BTreeMap<ProviderId, Arc<Catalogue>>,
}

/// A limit on what runs cost together in a UTC day.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DayLimit {
    /// The provider whose calls it counts; `None` for all of them together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provider: Option<ProviderId>,
    /// The principal whose runs it counts; `None` for all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_by: Option<String>,
    /// The limit.
    pub usd: PicoUsd,
    /// The setting that holds it.
    pub setting: String,
}

/// The values that differ between two runs of the same request.
#[derive(Clone, Copy, Debug)]
pub struct Identity {
    /// The id of the run.
    pub run_id: RunId,
    /// The seed of all randomness in the run: shuffles, fences, jitter.
    pub seed: u64,
}

/// A run with everything resolved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunPlan {
    /// The version of the stored shape.
    pub version: u32,
    /// The id of the run.
    pub run_id: RunId,
    /// The seed of all randomness in the run.
    pub seed: u64,
    /// Identifies the question: BLAKE3 of the request and its defaults as 64 hexadecimal digits. Two runs of the same request
    /// have the same hash, even if the catalogue has changed in between. Empty in the oldest plans.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub plan_hash: String,
    /// The conversation. Empty if the store keeps only metadata.
    #[serde(default)]
    pub messages: Arc<[Message]>,
    /// The panel.
    pub seats: Vec<Seat>,
    /// The chain of synthesizers; the first that can fuses.
    pub synthesizers: Vec<Seat>,
    /// The strategy that makes one text of the answers.
    pub strategy: Strategy,
    /// The options of the strategy. Stored under their first name.
    #[serde(rename = "knobs", default, skip_serializing_if = "StrategyOptions::is_default")]
    pub strategy_options: StrategyOptions,
    /// Why it is this strategy; `None` if the user named it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chosen_because: Option<String>,
    /// The calls the strategy may make besides the panel and the synthesizers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
    /// Time limits.
    pub timers: Timers,
    /// The most retries of one call.
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
    /// The names of those files.
    #[serde(default, skip_serializing_if = "is_default")]
    pub file_names: FileNames,
    /// The terms for the providers behind a router.
    #[serde(default, skip_serializing_if = "is_default")]
    pub routing: Arc<Routing>,
    /// The principal who asks, if it is known. Equal questions of different principals are different questions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_by: Option<String>,
    /// The idempotency key the caller gave the question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    /// Whether the run begins even if an earlier run of the same question could be joined or continued. Not stored, because
    /// it matters only at the beginning.
    #[serde(skip)]
    pub fresh: bool,
    /// The limits of a day in force when the run began.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<DayLimit>,
    /// Warnings about the plan itself.
    #[serde(default)]
    pub warnings: Vec<Warning>,
}

impl RunPlan {
    /// Resolves a request. Fails if it is wrong, or if its worst case exceeds the budget.
    pub fn resolve(request: RunRequest, terms: &Terms<'_>, identity: Identity) -> Result<Self, Failure> {
        let plan = Self::draft(request, terms, identity)?;
        budget::check("the run", plan.worst_case, plan.budget)?;
        Ok(plan)
    }

    /// Resolves a request without checking the budget, for callers that check it themselves.
    pub fn draft(request: RunRequest, terms: &Terms<'_>, identity: Identity) -> Result<Self, Failure> {
        let defaults = terms.defaults;
        check_prompt(&request.messages, defaults.prompt_chars_max)?;
        let sampling = Sampling::of(&request, defaults)?;
        let mut warnings = Vec::new();
        let seats = resolve_panel(&request, terms, &sampling, &mut warnings)?;
        let synthesizers = resolve_chain(&request, terms, &sampling)?;
        let mut timers = defaults.timers;
        timers.run_ms = request.deadline_ms.unwrap_or(timers.run_ms);
        let question = question(&request.messages);
        let text = request.strategy.as_deref().unwrap_or(&defaults.strategy);
        let resolved = ResolvedStrategy::of(text, &question, defaults.checker.is_some())?;
        resolved.choice.check_seats(&seats)?;
        let plan_hash = hash(&request, terms, resolved.choice);
        let StrategyChoice { strategy, options } = resolved.choice;
        let seats = if strategy.samples_one_model() {
            samples::sampled_panel(seats, options, &mut warnings)
        } else {
            seats
        };
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

    /// The text of the last message, which is the question.
    pub fn question(&self) -> String {
        question(&self.messages)
    }

    /// The size of the conversation in bytes, with files as the text they count as. Persona prompts come on top.
    pub fn input_bytes(&self) -> u64 {
        self.messages.iter().map(Message::weight_bytes).sum()
    }

    /// A copy without the question and the persona prompts. A persona prompt comes from the settings, not from the
    /// caller, but it is a prompt: if prompts are not kept, neither is it.
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

/// The plan hash. It leaves out the principal, the idempotency key and the client timeout, and what a request cannot set:
/// timers, retries and the limits of a day.
fn hash(request: &RunRequest, terms: &Terms<'_>, choice: StrategyChoice) -> String {
    let defaults = terms.defaults;
    // Without `..`, so that every new field forces a decision whether it belongs in the hash.
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
    // A reference holds only the name of a persona, and its prompt may change while the name stays.
    let personas = personas_of(who.0, terms);
    let checker = defaults.checker.as_ref().filter(|_| choice.options.is_checked());
    // A plan without personas and checker hashes as it did before there were any.
    let json = match (checker, personas.is_empty()) {
        (None, true) => serde_json::to_vec(&asked),
        (None, false) => serde_json::to_vec(&(asked, personas)),
        (Some(checker), _) => serde_json::to_vec(&(asked, personas, checker)),
    };
    blake3::hash(&json.expect("a request is plain data with string keys")).to_hex().to_string()
}

/// The personas that these references name; unknown names are left out.
fn personas_of<'a>(references: &[String], terms: &Terms<'a>) -> BTreeMap<&'a String, &'a Persona> {
    let named = references.iter().filter_map(|reference| parse(reference, terms).ok()?.options.persona);
    named.filter_map(|name| terms.defaults.personas.get_key_value(&name)).collect()
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// The sampling options of a request, checked.
#[derive(Clone, Copy)]
struct Sampling {
    temperature: Option<f64>,
    max_tokens: u32,
    effort: Option<Effort>,
    /// The input of each call in tokens.
    input_tokens: u64,
}

impl Sampling {
    fn of(request: &RunRequest, defaults: &Defaults) -> Result<Self, Failure> {
        let usage = |message: &str| Err(Failure::new(Code::Usage, message));
        if request.temperature.is_some_and(|temperature| !(0.0..=2.0).contains(&temperature)) {
            return usage("the temperature must be between 0 and 2");
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

    /// The same for a seat with this persona prompt.
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
    sampling: &Sampling,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<Seat>, Failure> {
    let typed = request.models.is_some();
    let references = request.models.as_ref().unwrap_or(&terms.defaults.panel);
    let mut seats = Vec::new();
    for reference in references {
        let mut entry = parse(reference, terms)?;
        let persona_prompt = persona::assume(&mut entry, &terms.defaults.personas)?;
        let sampling = sampling.with(persona_prompt.as_ref());
        if let Err(unknown) = known(&entry.model, terms) {
            // An unknown model of the settings fails its seat only; one that was typed is refused.
            if typed {
                return Err(unknown);
            }
            warnings.push(Warning::of("settings", &unknown));
        }
        check_fit(&entry, terms, &sampling, warnings);
        for _ in 0..entry.count {
            let seat = Seat {
                persona_prompt: persona_prompt.clone(),
                ..seat(&entry, seats.len(), terms, &sampling)
            };
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
        Some(_) => resolve_panel(&request, terms, &sampling, &mut warnings)?,
        None => Vec::new(),
    };
    Ok(Addition { seats, synthesizers: resolve_chain(&request, terms, &sampling)?, warnings })
}

/// The chain of synthesizers: the one of the request, then those of the settings.
fn resolve_chain(request: &RunRequest, terms: &Terms<'_>, sampling: &Sampling) -> Result<Vec<Seat>, Failure> {
    let mut chain: Vec<Seat> = Vec::new();
    let by_hand = request.synthesizer.as_ref();
    for reference in by_hand.into_iter().chain(&terms.defaults.synthesizers) {
        let entry = parse(reference, terms)?;
        persona::refuse(&entry)?;
        if by_hand == Some(reference) {
            known(&entry.model, terms)?;
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

fn parse(reference: &str, terms: &Terms<'_>) -> Result<PanelEntry, Failure> {
    let is_provider = |id: &str| terms.providers.iter().any(|known| known.0 == id);
    let mut entry = PanelEntry::parse(reference, default_provider(terms), is_provider)?;
    // A suffix or a dated id is sent as typed; only a `~` that the shell expanded is put back.
    let lost = info(&entry.model, terms).and_then(|info| info.id.strip_prefix('~'));
    let rest = lost.and_then(|id| entry.model.model.strip_prefix(id));
    if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(':')) {
        entry.model.model.insert(0, '~');
    }
    Ok(entry)
}

/// Fails if a live catalogue lacks the model.
fn known(model: &ModelRef, terms: &Terms<'_>) -> Result<(), Failure> {
    let listed = terms.catalogues.get(&model.provider).filter(|catalogue| catalogue.is_live());
    let Some(catalogue) = listed.filter(|_| info(model, terms).is_none()) else { return Ok(()) };
    Err(unknown::failure(model, terms.providers, catalogue))
}

fn default_provider<'a>(terms: &Terms<'a>) -> &'a ProviderId {
    terms.providers.first().expect("there is always a default provider")
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
        price: info.and_then(|info| info.price_at(sampling.input_tokens)),
        context_tokens,
        inputs: info.and_then(|info| info.inputs),
        json_mode: info.is_some_and(|info| info.json_mode),
        persona_prompt: None,
    }
}
