//! What an MCP client may know before it asks: the settings in force, the providers at hand, and their models.

use parallel_llm_engine::Failure;
use parallel_llm_provider::{Circuit, CircuitState};
use serde::Serialize;

use super::Models;
use super::find::{ModelLine, ModelQuery};
use crate::access::Principal;
use crate::ports::OPENROUTER;

/// Failing models that are told of: more than a panel has labs, and still a small part of a result.
const CIRCUITS_MAX: usize = 8;

/// The settings in force and the models that fit a search.
#[derive(Clone, Debug, Serialize)]
pub struct Overview {
    /// The panel asked when none is named.
    pub panel: Vec<String>,
    /// Who fuses, in order.
    pub synthesizer: Vec<String>,
    /// Names of presets.
    pub presets: Vec<String>,
    /// Names of personas.
    pub personas: Vec<String>,
    /// How answers become one text.
    pub strategy: String,
    /// Output cap of each call in tokens.
    pub max_tokens: u32,
    /// The most one run may cost, in USD.
    pub budget_usd: f64,
    /// The longest prompt in characters.
    pub prompt_chars_max: usize,
    /// Whether OpenRouter's list is its own of today; else it is kept or carried along.
    pub live: bool,
    /// The providers at hand.
    pub providers: Vec<ProviderLine>,
    /// Models that are not asked for a while, because they keep failing; left out where there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub circuits: Vec<CircuitLine>,
    /// The models.
    pub models: Vec<ModelLine>,
}

/// A model that keeps failing.
#[derive(Clone, Debug, Serialize)]
pub struct CircuitLine {
    /// The model, as a reference names it.
    pub id: String,
    /// `open`: it is not asked. `half_open`: one call tries.
    pub state: &'static str,
    /// The failures that led there.
    pub failures: usize,
    /// How long until a call may try, in milliseconds.
    pub wait_ms: u64,
    /// What the last failure said, in the provider's words; told to the owner alone, because another may have met it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub last: String,
}

impl CircuitLine {
    fn of(circuit: Circuit) -> Self {
        let state = match circuit.state {
            CircuitState::Open => "open",
            CircuitState::HalfOpen => "half_open",
        };
        let Circuit { model, failures, wait_ms, last, .. } = circuit;
        Self { id: model.to_string(), state, failures, wait_ms, last }
    }
}

/// One provider at hand.
#[derive(Clone, Debug, Serialize)]
pub struct ProviderLine {
    /// Its id, which stands before the colon in a reference.
    pub id: String,
    /// Whether a key is set for it.
    pub has_key: bool,
    /// Whether it is a server that was found running on this machine.
    pub runs_here: bool,
    /// Where its list is from: `live`, `kept`, `embedded` or `none`.
    pub list: &'static str,
}

impl Models {
    /// The settings in force, and the models whose names hold these words.
    pub async fn overview(&self, search: &str) -> Result<Overview, Failure> {
        let found = self.find(&ModelQuery { search: search.to_owned(), ..ModelQuery::default() }).await?;
        let settings = self.settings();
        let runs_here = |id: &str| found.servers.iter().any(|server| server.provider == id);
        Ok(Overview {
            panel: settings.panel.clone(),
            synthesizer: settings.synthesizer.clone(),
            presets: settings.presets.keys().cloned().collect(),
            personas: settings.personas.keys().cloned().collect(),
            strategy: settings.strategy.clone(),
            max_tokens: settings.max_tokens,
            budget_usd: settings.budget.as_usd(),
            prompt_chars_max: settings.prompt_chars_max,
            live: found.lists.iter().any(|list| list.provider == OPENROUTER && list.source == "live"),
            providers: found
                .lists
                .iter()
                .map(|list| ProviderLine {
                    id: list.provider.clone(),
                    has_key: list.has_key,
                    runs_here: runs_here(&list.provider),
                    list: list.source,
                })
                .collect(),
            circuits: self.circuits(),
            models: found.models,
        })
    }

    fn circuits(&self) -> Vec<CircuitLine> {
        let described = (*self.circuits)().into_iter().take(CIRCUITS_MAX).map(CircuitLine::of);
        let is_owner = self.principal == Principal::Owner;
        described
            .map(|line| if is_owner { line } else { CircuitLine { last: String::new(), ..line } })
            .collect()
    }
}
