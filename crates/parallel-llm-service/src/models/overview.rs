//! The overview for MCP clients: the settings in force, the configured providers and their models.

use futures_util::future::{BoxFuture, FutureExt as _};
use parallel_llm_engine::Failure;
use parallel_llm_provider::{Circuit, CircuitState};
use schemars::JsonSchema;
use serde::Serialize;

use super::Models;
use super::find::{ModelLine, ModelQuery};
use crate::access::Principal;
use crate::ports::OPENROUTER;

/// The most failing models listed: more than a panel has labs, and still a small part of a result.
const CIRCUITS_MAX: usize = 8;

/// The settings in force and the models of a search.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Overview {
    /// The default panel.
    pub panel: Vec<String>,
    /// The synthesizers in order.
    pub synthesizer: Vec<String>,
    /// Names of presets and flows.
    pub presets: Vec<String>,
    /// Names of personas.
    pub personas: Vec<String>,
    /// The strategy.
    pub strategy: String,
    /// Output cap of each call in tokens.
    pub max_tokens: u32,
    /// The most one run may cost, in USD.
    pub budget_usd: Option<f64>,
    /// The longest prompt in characters.
    pub prompt_chars_max: usize,
    /// Whether OpenRouter's list was fetched now; else it is from disk or embedded.
    pub live: bool,
    /// The configured providers.
    pub providers: Vec<ProviderLine>,
    /// Models that are not asked for a while, because they keep failing; left out if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub circuits: Vec<CircuitLine>,
    /// Models of the settings without a known price.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub without_price: Vec<String>,
    /// The models.
    pub models: Vec<ModelLine>,
}

/// A model that keeps failing.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CircuitLine {
    /// The model, as a reference names it.
    pub id: String,
    /// `open`: it is not asked. `half_open`: one call tries.
    pub state: &'static str,
    /// The number of failures that opened the circuit.
    pub failures: usize,
    /// The time until a call may try, in milliseconds.
    pub wait_ms: u64,
    /// The message of the last failure, for the owner only, because another caller may have received it.
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

/// A configured provider.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ProviderLine {
    /// Its id, the part of a reference before the colon.
    pub id: String,
    /// Whether a key is set for it.
    pub has_key: bool,
    /// Whether it is a local server that was found running.
    pub runs_here: bool,
    /// The source of its list: `live`, `kept`, `embedded` or `none`.
    pub list: &'static str,
}

impl Models {
    /// The settings in force, and the models whose names contain these words.
    pub fn overview<'a>(&'a self, search: &'a str) -> BoxFuture<'a, Result<Overview, Failure>> {
        async move {
            let found = self.find(&ModelQuery { search: search.to_owned(), ..ModelQuery::default() }).await?;
            let settings = self.settings();
            let runs_here = |id: &str| found.servers.iter().any(|server| server.provider == id);
            Ok(Overview {
                panel: settings.panel.clone(),
                synthesizer: settings.synthesizer.clone(),
                presets: settings.names().into_iter().map(str::to_owned).collect(),
                personas: settings.personas.keys().cloned().collect(),
                strategy: settings.strategy.clone(),
                max_tokens: settings.max_tokens,
                budget_usd: settings.budget.limit_as_usd(),
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
                without_price: self.lists.without_price().await.iter().map(ToString::to_string).collect(),
                models: found.models,
            })
        }
        .boxed()
    }

    fn circuits(&self) -> Vec<CircuitLine> {
        let described = (*self.circuits)().into_iter().take(CIRCUITS_MAX).map(CircuitLine::of);
        let is_owner = self.principal == Principal::Owner;
        described
            .map(|line| if is_owner { line } else { CircuitLine { last: String::new(), ..line } })
            .collect()
    }
}
