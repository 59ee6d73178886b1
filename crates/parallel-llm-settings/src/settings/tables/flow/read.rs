//! Reads the text of a flow file. It finds every error: those of the form here, those of the flow by the engine's rules.

use std::collections::BTreeMap;
use std::ops::Range;

use parallel_llm_engine::Failure;
use parallel_llm_engine::request::flow::{Flow, FlowError, FlowPlace, FlowStage, StageKey, UnreadKeys};
use parallel_llm_engine::value::nearest::{nearest, suggest};
use parallel_llm_engine::value::next::{Advice, Next};
use toml::de::{DeTable, DeValue};

use super::super::preset;
use super::named_flow::{FlowErrors, NamedFlow};
use crate::settings::sources::file::Source;
use crate::settings::sources::reader::{Item, Key, Reader, in_order, noun, read_single};
use crate::settings::table::Setting;
use crate::settings::value::failure::invalid;
use crate::settings::value::kind::{Kind, Value};

const ABOUT: &str = "about";
const BUDGET: &str = "budget_usd";
const STAGES: &str = "stages";
/// How a stage is written.
const STAGES_WRITTEN: &str = "[stages.NAME]";
/// What others call a stage.
const OTHER_WORDS: [&str; 4] = ["steps", "step", "nodes", "tasks"];

/// The flow in a file, or every error.
pub(super) fn flow(source: &Source, name: &str) -> Result<NamedFlow, FlowErrors> {
    let reader = Reader(source);
    let table = DeTable::parse(&source.text).map_err(|error| {
        FlowErrors::of(vec![(error.span().unwrap_or(0..0), invalid(error.message()))], reader)
    })?;
    let mut reading = FlowReader::new(name);
    reading.table(table.get_ref());
    let is_said = |error: &FlowError| error.place != FlowPlace::Flow || reading.is_missing;
    let by_rules =
        reading.flow.errors(&reading.unread).into_iter().filter(is_said).map(|error| reading.placed(error));
    let by_rules: Vec<_> = by_rules.collect();
    let places = reading.spans().map(|(place, span)| (place, reader.location(span))).collect();
    let FlowReader { flow, budget, mut errors, .. } = reading;
    errors.extend(by_rules);
    if !errors.is_empty() {
        return Err(FlowErrors::of(errors, reader));
    }
    Ok(NamedFlow { flow, budget, path: source.path.clone(), places })
}

/// The places of a stage in its file.
struct StagePlaces {
    name: Range<usize>,
    /// The value of each key, and its entries if it is a list.
    values: BTreeMap<StageKey, (Range<usize>, Vec<Range<usize>>)>,
}

/// A flow that is being read.
struct FlowReader {
    flow: Flow,
    budget: Option<parallel_llm_engine::PicoUsd>,
    errors: Vec<(Range<usize>, Failure)>,
    /// Keys without a value that could be read.
    unread: UnreadKeys,
    /// Whether it would be said that there is no stage. A mistake in their table gets one error, not two.
    is_missing: bool,
    /// The key `stages`, or the start of the file.
    stages: Range<usize>,
    about: Range<usize>,
    places: Vec<StagePlaces>,
}

impl FlowReader {
    fn new(name: &str) -> Self {
        Self {
            flow: Flow { name: name.to_owned(), ..Flow::default() },
            budget: None,
            errors: Vec::new(),
            unread: UnreadKeys::new(),
            is_missing: true,
            stages: 0..0,
            about: 0..0,
            places: Vec::new(),
        }
    }

    fn table(&mut self, table: &DeTable<'_>) {
        for (key, value) in in_order(table) {
            match &**key.get_ref() {
                ABOUT => self.about(value),
                BUDGET => self.budget(value),
                STAGES => {
                    self.stages = key.span();
                    self.stages(value);
                }
                _ => self.unknown(key),
            }
        }
    }

    fn refuse(&mut self, span: Range<usize>, failure: Failure) {
        self.errors.push((span, failure));
    }

    /// Refuses a key of the file.
    fn unknown(&mut self, key: &Key<'_>) {
        let name = &**key.get_ref();
        let failure = if StageKey::by_name(name).is_some() {
            invalid(format!("`{name}` is a key of a stage")).with_next(Next::WriteAs(STAGES_WRITTEN.into()))
        } else {
            let meant = nearest(name, [ABOUT, BUDGET, STAGES]);
            let meant = meant.or(OTHER_WORDS.contains(&name).then_some(STAGES));
            self.is_missing &= meant != Some(STAGES);
            suggest(no_key(name), meant)
        };
        self.refuse(key.span(), failure);
    }

    fn about(&mut self, value: &Item<'_>) {
        self.about = value.span();
        match value.get_ref() {
            DeValue::String(text) => self.flow.about = Some(text.to_string()),
            other => {
                self.refuse(value.span(), invalid(format!("`{ABOUT}` is a string, not {}", noun(other))));
            }
        }
    }

    fn budget(&mut self, value: &Item<'_>) {
        match read_single(BUDGET, Kind::Usd, value.get_ref()) {
            Ok(Value::Usd(budget)) => self.budget = Some(budget),
            Ok(other) => unreachable!("an amount of money is not {other}"),
            Err(failure) => self.refuse(value.span(), failure),
        }
    }

    fn stages(&mut self, value: &Item<'_>) {
        let Some(table) = value.get_ref().as_table() else {
            let failure = invalid(format!("`{STAGES}` is a table, not {}", noun(value.get_ref())));
            self.is_missing = false;
            return self.refuse(value.span(), failure.with_next(Next::WriteAs(STAGES_WRITTEN.into())));
        };
        for (name, value) in in_order(table) {
            self.stage(name, value);
        }
    }

    fn stage(&mut self, name: &Key<'_>, value: &Item<'_>) {
        let index = self.flow.stages.len();
        self.flow.stages.push(FlowStage { name: name.get_ref().to_string(), ..FlowStage::default() });
        self.places.push(StagePlaces { name: name.span(), values: BTreeMap::new() });
        let Some(table) = value.get_ref().as_table() else {
            self.unread.extend(StageKey::ALL.map(|key| (index, key)));
            let failure = invalid(format!("a stage is a table, not {}", noun(value.get_ref())));
            return self.refuse(value.span(), failure.with_next(Next::WriteAs(STAGES_WRITTEN.into())));
        };
        for (key, value) in in_order(table) {
            match StageKey::by_name(key.get_ref()) {
                Some(known) => self.value(index, known, value),
                None => self.unknown_in_stage(index, key),
            }
        }
    }

    /// Refuses a key of a stage. The key it may stand for counts as unread.
    fn unknown_in_stage(&mut self, stage: usize, key: &Key<'_>) {
        let name = &**key.get_ref();
        let is_setting = Setting::by_name(name).is_some();
        let meant = nearest(name, StageKey::ALL.iter().map(|key| key.name())).filter(|_| !is_setting);
        let failure = if is_setting {
            invalid(format!("`{name}` is a setting of the whole run, not of a stage"))
                .with_next(Advice::TakeOutOrOwnFile)
        } else {
            suggest(no_key(name), meant)
        };
        self.unread.extend(meant.and_then(StageKey::by_name).map(|meant| (stage, meant)));
        self.refuse(key.span(), failure);
    }

    fn value(&mut self, stage: usize, key: StageKey, value: &Item<'_>) {
        let mut entries = Vec::new();
        let read = match key {
            StageKey::Panel | StageKey::Synthesizer | StageKey::From => list(key, value).map(|list| {
                let (names, places): (Vec<String>, Vec<Range<usize>>) = list.into_iter().unzip();
                entries = places;
                Value::List(names)
            }),
            StageKey::Strategy => text(key, value),
            StageKey::Temperature | StageKey::MaxTokens => {
                let kind = preset::kind(key.name()).expect("a preset has the keys of a stage");
                read_single(key.name(), kind, value.get_ref())
                    .map_err(|failure| vec![(value.span(), failure)])
            }
        };
        self.places[stage].values.insert(key, (value.span(), entries));
        match read {
            Ok(read) => set(&mut self.flow.stages[stage], key, read),
            Err(errors) => {
                self.unread.insert((stage, key));
                self.errors.extend(errors);
            }
        }
    }

    /// An error of the flow with its place in the file.
    fn placed(&self, FlowError { place, failure }: FlowError) -> (Range<usize>, Failure) {
        let span = match place {
            FlowPlace::Flow => self.stages.clone(),
            FlowPlace::About => self.about.clone(),
            place => {
                let spans: BTreeMap<FlowPlace, Range<usize>> = self.spans().collect();
                let known = place.outward().find_map(|place| spans.get(&place).cloned());
                known.unwrap_or_else(|| self.stages.clone())
            }
        };
        (span, failure)
    }

    /// The places of the stages, their keys and their entries.
    fn spans(&self) -> impl Iterator<Item = (FlowPlace, Range<usize>)> {
        self.places.iter().enumerate().flat_map(|(stage, StagePlaces { name, values })| {
            let value = move |(key, (span, entries)): (&StageKey, &(Range<usize>, Vec<Range<usize>>))| {
                let key = *key;
                let entries = entries.clone().into_iter().enumerate();
                let entry = move |(index, span)| (FlowPlace::Entry { stage, key, index }, span);
                [(FlowPlace::Key { stage, key }, span.clone())].into_iter().chain(entries.map(entry))
            };
            [(FlowPlace::Stage(stage), name.clone())].into_iter().chain(values.iter().flat_map(value))
        })
    }
}

/// Sets the value of a key.
fn set(stage: &mut FlowStage, key: StageKey, value: Value) {
    match (key, value) {
        (StageKey::Panel, Value::List(models)) => stage.panel = models,
        (StageKey::Synthesizer, Value::List(models)) => stage.synthesizer = Some(models),
        (StageKey::From, Value::List(names)) => stage.from = names,
        (StageKey::Strategy, Value::Word(strategy)) => stage.strategy = Some(strategy),
        (StageKey::Temperature, Value::Decimal(temperature)) => stage.temperature = Some(temperature),
        (StageKey::MaxTokens, Value::Whole(tokens)) => stage.max_tokens = u32::try_from(tokens).ok(),
        (key, value) => unreachable!("a stage has no `{}` of {value}", key.name()),
    }
}

/// Errors with their places.
type Refused = Vec<(Range<usize>, Failure)>;

/// The entries of a list with their places. A single string is a list of one.
fn list(key: StageKey, value: &Item<'_>) -> Result<Vec<(String, Range<usize>)>, Refused> {
    let name = key.name();
    let what = if key == StageKey::From { "stages" } else { "models" };
    let mut errors = Vec::new();
    let mut entries = Vec::new();
    match value.get_ref() {
        DeValue::String(text) => entries.push((text.trim().to_owned(), value.span())),
        DeValue::Array(items) => {
            for item in items {
                match item.get_ref() {
                    DeValue::String(text) => entries.push((text.trim().to_owned(), item.span())),
                    other => {
                        let message =
                            format!("`{name}` is a list of {what}, not one that holds {}", noun(other));
                        errors.push((item.span(), invalid(message)));
                    }
                }
            }
        }
        other => {
            let failure = invalid(format!("`{name}` is a list of {what}, not {}", noun(other)));
            return Err(vec![(value.span(), failure)]);
        }
    }
    let is_blank = |(text, _): &(String, Range<usize>)| text.is_empty();
    if errors.is_empty() && (entries.is_empty() || entries.iter().any(is_blank)) {
        let span = entries
            .iter()
            .find(|entry| is_blank(entry))
            .map_or_else(|| value.span(), |entry| entry.1.clone());
        let failure = invalid(format!("`{name}` names none of the {what}")).with_next(Advice::NameOrTakeOut);
        errors.push((span, failure));
    }
    if errors.is_empty() { Ok(entries) } else { Err(errors) }
}

/// A string.
fn text(key: StageKey, value: &Item<'_>) -> Result<Value, Refused> {
    match value.get_ref() {
        DeValue::String(text) => Ok(Value::Word(text.trim().to_owned())),
        other => {
            let failure = invalid(format!("`{}` is a string, not {}", key.name(), noun(other)));
            Err(vec![(value.span(), failure)])
        }
    }
}

fn no_key(name: &str) -> Failure {
    invalid(format!("there is no key `{name}`")).with_next(Advice::TakeOut)
}
