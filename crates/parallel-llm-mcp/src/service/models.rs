//! The models known: the embedded list at once, the provider's own list when it matters.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use parallel_llm_engine::{Catalogue, Failure};
use serde::Serialize;
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::Service;

/// A fetched list is good for so long. The provider's own cache header says two minutes; models come and go in
/// days.
const FRESH_FOR: Duration = Duration::from_secs(600);
/// After a failed fetch the next is not tried for so long, so that an outage does not slow every question.
const RETRY_AFTER: Duration = Duration::from_secs(60);
/// A list is waited for at most so long: a question can be asked without it.
const FETCH_MAX: Duration = Duration::from_secs(5);

/// How a provider's list is fetched.
pub(super) type Fetch = Box<dyn Fn() -> BoxFuture<'static, Result<Catalogue, Failure>> + Send + Sync>;

/// The lists of models.
pub struct Catalogues {
    embedded: Arc<Catalogue>,
    fetch: Fetch,
    fetched: Mutex<Option<Fetched>>,
}

struct Fetched {
    at: Instant,
    list: Result<Arc<Catalogue>, Failure>,
}

/// What `list_models` and `config` show: the settings in force and what is known of the models.
#[derive(Clone, Debug, Serialize)]
pub struct ModelList {
    /// The panel asked when none is named.
    pub panel: Vec<String>,
    /// Who fuses, in order.
    pub synthesizer: Vec<String>,
    /// Names of presets.
    pub presets: Vec<String>,
    /// How answers become one text.
    pub strategy: String,
    /// Output cap of each call in tokens.
    pub max_tokens: u32,
    /// The most one run may cost, in USD.
    pub budget_usd: f64,
    /// The longest prompt in characters.
    pub prompt_chars_max: usize,
    /// Whether the list is the provider's of today; else it is the one this program carries.
    pub live: bool,
    /// The models.
    pub models: Vec<ModelLine>,
}

/// One model of the list.
#[derive(Clone, Debug, Serialize)]
pub struct ModelLine {
    /// The name to ask for it by.
    pub id: String,
    /// Tokens it can read and write together.
    pub context_tokens: Option<u64>,
    /// Price of a million tokens sent, in USD.
    pub input_usd_per_million: Option<f64>,
    /// Price of a million tokens received, in USD.
    pub output_usd_per_million: Option<f64>,
}

impl Catalogues {
    /// Lists that start from the embedded one.
    pub fn new(embedded: Catalogue, fetch: Fetch) -> Self {
        Self { embedded: Arc::new(embedded), fetch, fetched: Mutex::new(None) }
    }

    /// The list to resolve these references against. The provider's own is fetched only where the embedded one
    /// does not know a name: then it matters whether the name is wrong or new.
    pub async fn for_models(&self, references: &[String]) -> Arc<Catalogue> {
        let name = |reference: &String| {
            let end = reference.find(['@', '*']).unwrap_or(reference.len());
            reference[..end].trim().to_owned()
        };
        if references.iter().all(|reference| self.embedded.find(&name(reference)).is_some()) {
            return Arc::clone(&self.embedded);
        }
        self.newest().await.unwrap_or_else(|_| Arc::clone(&self.embedded))
    }

    /// The provider's own list, fetched now or lately.
    pub async fn newest(&self) -> Result<Arc<Catalogue>, Failure> {
        let mut fetched = self.fetched.lock().await;
        if let Some(known) = &*fetched {
            let good_for = if known.list.is_ok() { FRESH_FOR } else { RETRY_AFTER };
            if known.at.elapsed() < good_for {
                return known.list.clone();
            }
        }
        let late = || {
            Err(Failure::new(parallel_llm_engine::Code::Timeout, "the list of models did not come in time"))
        };
        let list = tokio::time::timeout(FETCH_MAX, (self.fetch)()).await.unwrap_or_else(|_| late());
        let list = list.map(Arc::new);
        *fetched = Some(Fetched { at: Instant::now(), list: list.clone() });
        list
    }
}

impl Service {
    /// The settings in force, and the models whose name contains `search`.
    pub async fn list_models(&self, search: &str) -> ModelList {
        let catalogues = &self.0.catalogues;
        let catalogue = catalogues.newest().await.unwrap_or_else(|_| Arc::clone(&catalogues.embedded));
        let wanted = search.to_lowercase();
        let million = |price: parallel_llm_engine::PicoUsd| price.times(1_000_000).as_usd();
        let models = catalogue.models().iter().filter(|model| model.id.to_lowercase().contains(&wanted));
        let settings = self.settings();
        ModelList {
            panel: settings.panel.clone(),
            synthesizer: settings.synthesizer.clone(),
            presets: settings.presets.keys().cloned().collect(),
            strategy: settings.strategy.clone(),
            max_tokens: settings.max_tokens,
            budget_usd: settings.budget.as_usd(),
            prompt_chars_max: settings.prompt_chars_max,
            live: catalogue.is_live(),
            models: models
                .map(|model| ModelLine {
                    id: model.id.clone(),
                    context_tokens: model.context_tokens,
                    input_usd_per_million: model.price.map(|price| million(price.input)),
                    output_usd_per_million: model.price.map(|price| million(price.output)),
                })
                .collect(),
        }
    }
}
