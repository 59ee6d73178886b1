//! The models on offer: an embedded `/models` body, read once, with prices as whole pico-dollars.
//!
//! It resolves slugs; the chat endpoint handles unknown ones.

use std::collections::HashMap;
use std::sync::LazyLock;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::Value;

use super::money::pico_usd;

/// A slug that is no longer offered: it gets a 404 instead of a 400.
pub(crate) const RETIRED_MODEL: &str = "openai/gpt-5-codex";

/// The model that the routers (`openrouter/auto`, …) choose; how the real ones choose is not public.
const ROUTER_CHOICE: &str = "openai/gpt-6-luna";

static EMBEDDED: LazyLock<Catalogue> = LazyLock::new(|| {
    Catalogue::read(include_bytes!("../../assets/models.json"))
        .expect("the embedded catalogue is well formed")
});

/// All models, in the order of `/models`.
#[derive(Debug)]
pub(crate) struct Catalogue {
    pub(crate) models: Vec<Model>,
    by_id: HashMap<String, usize>,
    /// The whole `/models` body, minified.
    pub(crate) body: Bytes,
}

/// One entry: the fields the simulator acts on, and the entry itself.
#[derive(Debug)]
pub(crate) struct Model {
    /// Its index in the list, from 0.
    pub(crate) index: usize,
    pub(crate) id: String,
    pub(crate) target: Option<String>,
    pub(crate) price: Price,
    pub(crate) context_tokens: u64,
    pub(crate) output_tokens_max: u64,
    /// Whether the model can reason, and whether reasoning cannot be switched off.
    pub(crate) reasons: bool,
    pub(crate) reasoning_mandatory: bool,
    inputs: Vec<String>,
    pub(crate) entry: Value,
}

/// Prices per token. The last override whose threshold the prompt exceeds applies.
#[derive(Clone, Debug, Default)]
pub(crate) struct Price {
    base: Rate,
    overrides: Vec<(u64, Rate)>,
}

/// Pico-dollars per prompt token and per completion token.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Rate {
    pub(crate) prompt_pico: i64,
    pub(crate) completion_pico: i64,
}

impl Price {
    /// The rate for a prompt of this length.
    pub(crate) fn rate(&self, prompt_tokens: u64) -> Rate {
        let longer = self.overrides.iter().rev().find(|(threshold, _)| prompt_tokens > *threshold);
        longer.map_or(self.base, |(_, rate)| *rate)
    }
}

impl Model {
    /// The part of the id before the slash, without the alias mark.
    pub(crate) fn lab(&self) -> &str {
        let (lab, _) = self.id.split_once('/').unwrap_or((&self.id, ""));
        lab.trim_start_matches('~')
    }

    /// Whether it accepts this modality besides text: `image`, `file`, `audio` or `video`.
    pub(crate) fn reads(&self, modality: &str) -> bool {
        self.inputs.iter().any(|input| input == modality)
    }

    pub(crate) fn is_alias(&self) -> bool {
        self.id.starts_with('~')
    }

    /// The display name of the provider that serves this lab's models.
    pub(crate) fn provider(&self) -> &'static str {
        match self.lab() {
            "openai" => "OpenAI",
            "anthropic" => "Anthropic",
            "google" => "Google",
            "x-ai" => "xAI",
            "deepseek" => "DeepSeek",
            "moonshotai" => "Moonshot AI",
            "z-ai" => "Z.AI",
            "qwen" => "Alibaba",
            "mistralai" => "Mistral",
            "minimax" => "Minimax",
            _ => "Sim",
        }
    }
}

/// Whether a provider stops generating, and billing, when the client hangs up.
pub(crate) fn stops_billing(provider: &str) -> bool {
    !matches!(provider, "Google" | "Google AI Studio" | "Minimax" | "Mistral" | "Alibaba" | "Groq")
}

impl Catalogue {
    pub(crate) fn embedded() -> &'static Catalogue {
        &EMBEDDED
    }

    /// The entry with this id, aliases included.
    pub(crate) fn find(&self, id: &str) -> Option<&Model> {
        self.by_id.get(id).map(|index| &self.models[*index])
    }

    /// The model that answers for this entry: the alias's target, the router's choice, or the entry itself.
    pub(crate) fn served<'a>(&'a self, model: &'a Model) -> &'a Model {
        let target = match &model.target {
            Some(target) => target,
            None if model.lab() == "openrouter" => ROUTER_CHOICE,
            None => return model,
        };
        self.find(target).unwrap_or(model)
    }

    fn read(text: &[u8]) -> Option<Self> {
        let whole: Value = serde_json::from_slice(text).ok()?;
        let entries = whole.get("data")?.as_array()?;
        let models = entries.iter().enumerate().map(|(index, entry)| Model::read(index, entry));
        let models = models.collect::<Option<Vec<_>>>()?;
        let by_id = models.iter().map(|model| (model.id.clone(), model.index)).collect();
        Some(Self { models, by_id, body: whole.to_string().into() })
    }
}

/// The fields of an entry that the simulator acts on.
#[derive(Deserialize)]
struct ListedModel {
    id: String,
    alias_target: Option<AliasTarget>,
    context_length: u64,
    architecture: Architecture,
    pricing: Pricing,
    top_provider: TopProvider,
    reasoning: Option<ReasoningSupport>,
}

#[derive(Deserialize)]
struct Architecture {
    input_modalities: Vec<String>,
}

#[derive(Deserialize)]
struct AliasTarget {
    slug: String,
}

#[derive(Deserialize)]
struct Pricing {
    prompt: String,
    completion: String,
    #[serde(default)]
    overrides: Vec<PriceOverride>,
}

#[derive(Deserialize)]
struct PriceOverride {
    min_prompt_tokens: u64,
    prompt: String,
    completion: String,
}

#[derive(Deserialize)]
struct TopProvider {
    max_completion_tokens: u64,
}

#[derive(Deserialize)]
struct ReasoningSupport {
    mandatory: bool,
}

impl Model {
    fn read(index: usize, entry: &Value) -> Option<Self> {
        let read = ListedModel::deserialize(entry).ok()?;
        Some(Self {
            index,
            id: read.id,
            target: read.alias_target.map(|target| target.slug),
            price: read.pricing.into(),
            context_tokens: read.context_length,
            output_tokens_max: read.top_provider.max_completion_tokens,
            reasons: read.reasoning.is_some(),
            inputs: read.architecture.input_modalities,
            reasoning_mandatory: read.reasoning.is_some_and(|reasoning| reasoning.mandatory),
            entry: entry.clone(),
        })
    }
}

impl From<Pricing> for Price {
    fn from(pricing: Pricing) -> Self {
        let overrides = pricing
            .overrides
            .iter()
            .map(|step| (step.min_prompt_tokens, Rate::read(&step.prompt, &step.completion)))
            .collect();
        Self { base: Rate::read(&pricing.prompt, &pricing.completion), overrides }
    }
}

impl Rate {
    /// A router's `"-1"` (variable) counts as free, since the model it chooses has its own price.
    fn read(prompt: &str, completion: &str) -> Self {
        Self {
            prompt_pico: pico_usd(prompt).unwrap_or(0),
            completion_pico: pico_usd(completion).unwrap_or(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aliases_and_routers_are_served_by_a_listed_model() {
        let catalogue = Catalogue::embedded();
        for model in &catalogue.models {
            let served = catalogue.served(model);
            assert!(!served.is_alias() && served.lab() != "openrouter", "{}", model.id);
        }
    }

    #[test]
    fn a_long_prompt_costs_the_override() {
        let model = Catalogue::embedded().find("openai/gpt-6.1-sol").unwrap();
        assert_eq!(model.price.rate(272_000).prompt_pico, 2_000_000);
        assert_eq!(model.price.rate(272_001).prompt_pico, 4_000_000);
        assert_eq!(model.price.rate(272_001).completion_pico, 15_000_000);
    }
}
