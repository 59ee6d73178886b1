//! Presets: settings under a name, such as `quick`.
//!
//! A preset falls back to the settings for whatever it leaves out. Files may add presets and replace built-in ones; a
//! project's preset is merged over the user's of the same name, within its limits.

use std::collections::BTreeMap;

use parallel_llm_engine::plan::Defaults;
use parallel_llm_engine::request::TEMPERATURE_MAX;
use parallel_llm_engine::{PicoUsd, RunRequest};

use crate::settings::table::Setting;
use crate::settings::value::kind::{Kind, Value};
use crate::settings::value::origin::Origin;

/// The name of the preset with the cheap panel.
pub(in crate::settings) const BUDGET: &str = "budget";
/// A cheap panel of five labs, for frequent questions.
const BUDGET_PANEL: [&str; 5] = [
    "openai/gpt-6.1-terra",
    "anthropic/claude-sonnet-5.5",
    "google/gemini-3.8-flash",
    "z-ai/glm-5.3",
    "deepseek/deepseek-v4.1-flash-1017",
];
/// The seats that `max` adds: several attempts of one strong model often contribute more than many weaker models.
const STRONGEST: &str = "~anthropic/claude-opus-latest*3";
/// The number of seats of `quick`: the fewest that allow a majority.
const QUICK_SEATS: usize = 3;

/// The only key of a preset that is not a setting: the sampling temperature, from 0 to 2 at all providers.
pub(super) const TEMPERATURE: (&str, Kind) =
    ("temperature", Kind::Decimal { min: 0.0, max: TEMPERATURE_MAX });
/// The settings that a preset may contain.
const SETTINGS: [Setting; 5] =
    [Setting::Panel, Setting::Synthesizer, Setting::Strategy, Setting::MaxTokens, Setting::BudgetUsd];

/// Options under a name. `None` uses the setting.
#[derive(Clone, Debug, PartialEq)]
pub struct Preset {
    /// The source of the preset.
    pub origin: Origin,
    /// The models on the panel.
    pub panel: Option<Vec<String>>,
    /// The chain of synthesizers.
    pub synthesizer: Option<Vec<String>>,
    /// The strategy.
    pub strategy: Option<String>,
    /// The output cap of each call in tokens.
    pub max_tokens: Option<u32>,
    /// The budget of one run.
    pub budget: Option<PicoUsd>,
    /// Sampling temperature.
    pub temperature: Option<f64>,
}

/// Presets by name.
pub type Presets = BTreeMap<String, Preset>;

impl Preset {
    /// An empty preset.
    pub(in crate::settings) const fn new(origin: Origin) -> Self {
        Self {
            origin,
            panel: None,
            synthesizer: None,
            strategy: None,
            max_tokens: None,
            budget: None,
            temperature: None,
        }
    }

    /// Applies the preset below the request's own options and above the settings. Its values count as settings: a model
    /// that is no longer available only fails its own seat, and the chain of synthesizers stays a chain.
    pub fn fill(&self, request: &mut RunRequest, defaults: &mut Defaults) {
        if let Some(panel) = &self.panel {
            defaults.panel.clone_from(panel);
        }
        if let Some(synthesizer) = &self.synthesizer {
            defaults.synthesizers.clone_from(synthesizer);
        }
        if let Some(strategy) = &self.strategy {
            defaults.strategy.clone_from(strategy);
        }
        defaults.max_tokens = self.max_tokens.unwrap_or(defaults.max_tokens);
        defaults.budget = self.budget.unwrap_or(defaults.budget);
        request.temperature = request.temperature.or(self.temperature);
    }

    /// The value of a key that is a limit.
    pub(in crate::settings) fn limit(&self, key: &str) -> Option<Value> {
        match key {
            "max_tokens" => self.max_tokens.map(|tokens| Value::Whole(tokens.into())),
            "budget_usd" => self.budget.map(Value::Usd),
            _ => None,
        }
    }

    /// Sets the value of a key, parsed with that key's [`kind`].
    pub(in crate::settings) fn set(&mut self, key: &str, value: Value) {
        match (key, value) {
            ("panel", Value::List(references)) => self.panel = Some(references),
            ("synthesizer", Value::List(references)) => self.synthesizer = Some(references),
            ("strategy", Value::Word(name)) => self.strategy = Some(name),
            ("max_tokens", Value::Whole(tokens)) => self.max_tokens = u32::try_from(tokens).ok(),
            ("budget_usd", Value::Usd(amount)) => self.budget = Some(amount),
            ("temperature", Value::Decimal(temperature)) => self.temperature = Some(temperature),
            (key, value) => unreachable!("a preset has no `{key}` of {value}"),
        }
    }
}

/// The keys of a preset.
pub(in crate::settings) fn keys() -> impl Iterator<Item = &'static str> {
    SETTINGS.iter().map(|setting| setting.name()).chain([TEMPERATURE.0])
}

/// The kind of a preset's key; `None` if there is no such key.
pub(in crate::settings) fn kind(key: &str) -> Option<Kind> {
    let setting = SETTINGS.iter().find(|setting| setting.name() == key).map(|setting| setting.kind());
    setting.or((key == TEMPERATURE.0).then_some(TEMPERATURE.1))
}

/// Whether a preset of this name is built in.
pub fn is_built_in(name: &str) -> bool {
    built_in().contains_key(name)
}

/// The built-in presets.
pub(in crate::settings) fn built_in() -> Presets {
    let panel: Vec<&str> = Setting::Panel.default().split_whitespace().collect();
    let quick = panel[..QUICK_SEATS].to_vec();
    let max = [&[STRONGEST], panel.as_slice()].concat();
    let panels = [
        ("quick", Some(quick)),
        ("default", None),
        (BUDGET, Some(BUDGET_PANEL.to_vec())),
        ("max", Some(max)),
    ];
    let preset = |(name, panel): (&str, Option<Vec<&str>>)| {
        let panel = panel.map(|panel| panel.into_iter().map(str::to_owned).collect());
        (name.to_owned(), Preset { panel, ..Preset::new(Origin::Default) })
    };
    panels.map(preset).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::value::kind::read_model;

    #[test]
    fn the_built_in_ones_can_be_read() {
        let presets = built_in();
        assert_eq!(presets.keys().collect::<Vec<_>>(), ["budget", "default", "max", "quick"]);
        for reference in presets.values().filter_map(|preset| preset.panel.as_ref()).flatten() {
            read_model(reference).unwrap();
        }
        let seats = |name: &str| presets[name].panel.as_ref().map(Vec::len);
        assert_eq!(
            [seats("quick"), seats("default"), seats("budget"), seats("max")],
            [Some(3), None, Some(5), Some(6)]
        );
    }

    #[test]
    fn every_key_is_taken() {
        let mut preset = Preset::new(Origin::Default);
        for key in keys() {
            let text = if key == "strategy" { "synthesize" } else { "1" };
            preset.set(key, kind(key).unwrap().read(key, text).unwrap());
        }
        assert!(preset.panel.is_some() && preset.temperature == Some(1.0) && preset.max_tokens == Some(1));
        assert_eq!(kind("files"), None);
    }
}
