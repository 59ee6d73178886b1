//! Finding models: the lists of the user's providers, filtered, sorted and named as a user types them.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use futures_util::future::{BoxFuture, FutureExt as _, join_all};
use parallel_llm_engine::request::catalogue::{Inputs, PriceOverride};
use parallel_llm_engine::request::panel::ModelRef;
use parallel_llm_engine::{Code, Failure, ModelInfo, PicoUsd, ProviderId};
use parallel_llm_provider::EMBEDDED_ON;
use schemars::JsonSchema;
use serde::Serialize;

use super::Models;
use super::catalogue::{Source, Wanted};
use super::lists::ProviderLookup;
use super::local::LocalServer;
use super::providers::has_key;
use crate::access::Scope;
use crate::report::ErrorReport;
use parallel_llm_settings::clock;
use parallel_llm_settings::settings::ProviderSettings;

/// The number of tokens that shown prices refer to.
const PRICE_TOKENS: u64 = 1_000_000;

/// A filter and an order of models.
#[derive(Clone, Debug, Default)]
pub struct ModelQuery {
    /// Words that the id or name must contain, in any case.
    pub search: String,
    /// The providers; if empty, OpenRouter, every provider with a key, and local servers found running.
    pub providers: Vec<String>,
    /// The smallest context window, in tokens.
    pub context_min: Option<u64>,
    /// The highest price of a million output tokens, in USD.
    pub price_max: Option<f64>,
    /// Only models that take pictures or documents.
    pub attachments: bool,
    /// The order; `None` for the providers' own.
    pub sort: Option<ModelSort>,
    /// The most models to return.
    pub limit: Option<usize>,
    /// Whether to fetch the lists even if cached ones are fresh.
    pub refresh: bool,
}

/// An order of models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelSort {
    /// By price of output, the cheapest first; unknown prices last.
    Price,
    /// By context window, the largest first.
    Context,
    /// By id.
    Name,
}

/// The models found, and the lists searched.
#[derive(Clone, Debug, Serialize)]
pub struct FoundModels {
    /// The version of this format. Fields are added, never changed.
    pub schema: u32,
    /// The lists, in the order of the providers.
    pub lists: Vec<ListLine>,
    /// Local servers found running. Each was asked only for its list.
    pub servers: Vec<LocalServer>,
    /// The number of models that match.
    pub models_total: usize,
    /// The matching models, up to the limit.
    pub models: Vec<ModelLine>,
}

/// One provider's list.
#[derive(Clone, Debug, Serialize)]
pub struct ListLine {
    /// The provider's id.
    pub provider: String,
    /// Its name for people.
    pub name: String,
    /// Whether a key is set for it.
    pub has_key: bool,
    /// `live`: fetched now. `kept`: fetched before and stored on disk. `embedded`: part of the program. `none`: there
    /// is no list.
    pub source: &'static str,
    /// The time of the fetch, in milliseconds since 1970.
    pub fetched_at_ms: Option<u64>,
    /// The age of the list in milliseconds.
    pub age_ms: Option<u64>,
    /// The date of an embedded list, `YYYY-MM-DD`.
    pub embedded_on: Option<&'static str>,
    /// The number of its models.
    pub models: usize,
    /// Why no newer list was fetched, if one was requested.
    pub error: Option<ErrorReport>,
}

/// One model of a list.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ModelLine {
    /// The model, as `-m` takes it.
    pub id: String,
    /// The provider's id.
    pub provider: String,
    /// Its name for people.
    pub name: String,
    /// The current target of an alias.
    pub alias_of: Option<String>,
    /// The context window in tokens.
    pub context_tokens: Option<u64>,
    /// The most output tokens.
    pub output_tokens_max: Option<u64>,
    /// The price of a million input tokens, in USD.
    pub input_usd_per_million: Option<f64>,
    /// The price of a million output tokens, in USD.
    pub output_usd_per_million: Option<f64>,
    /// Prices under other conditions.
    pub price_overrides: Vec<OverrideLine>,
    /// The file types that it accepts, if the list says so.
    #[schemars(with = "Option<BTreeMap<String, bool>>")]
    pub inputs: Option<Inputs>,
    /// The last day on which it is offered, `YYYY-MM-DD`, if known.
    pub expires_on: Option<String>,
}

/// A price of a model under a condition.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct OverrideLine {
    /// The number of input tokens above which it applies; null if it applies at certain hours.
    pub above_input_tokens: Option<u64>,
    /// The price of a million input tokens, in USD, if it differs.
    pub input_usd_per_million: Option<f64>,
    /// The price of a million output tokens, in USD, if it differs.
    pub output_usd_per_million: Option<f64>,
}

impl Models {
    /// The matching models. Fails for an unknown provider.
    pub fn find<'a>(&'a self, query: &'a ModelQuery) -> BoxFuture<'a, Result<FoundModels, Failure>> {
        async move {
            self.principal.check(Scope::Read)?;
            let named = self.named(&query.providers)?;
            let servers =
                if query.providers.is_empty() { self.lists.local_servers().await } else { Vec::new() };
            let providers = if query.providers.is_empty() { self.usual_providers(&servers) } else { named };
            let wanted = if query.refresh { Wanted::New } else { Wanted::Fresh };
            let lookup = async |provider| {
                if query.providers.is_empty() {
                    self.lists.of_unnamed(provider, wanted).await
                } else {
                    self.lists.of(provider, wanted).await
                }
            };
            let lookups = join_all(providers.into_iter().map(lookup)).await;
            let mut models: Vec<(ModelLine, &ModelInfo)> =
                lookups.iter().flat_map(models_of).filter(|(line, info)| query.fits(line, info)).collect();
            if let Some(sort) = query.sort {
                sort.apply(&mut models);
            }
            let lists = lookups.iter().map(ListLine::of).collect();
            let models_total = models.len();
            let models =
                models.into_iter().map(|(line, _)| line).take(query.limit.unwrap_or(usize::MAX)).collect();
            Ok(FoundModels { schema: 1, lists, servers, models_total, models })
        }
        .boxed()
    }

    /// The providers of these ids, each once.
    fn named(&self, ids: &[String]) -> Result<Vec<&ProviderSettings>, Failure> {
        let find = |id: &String| {
            let provider = self.settings().provider(id)?;
            let homeless =
                || Failure::new(Code::SettingsInvalid, format!("the provider `{id}` has no address"));
            match provider.base_url {
                Some(_) => Ok(provider),
                None => Err(homeless().with_next(provider.address_advice())),
            }
        };
        let mut named = Vec::<&ProviderSettings>::new();
        for id in ids {
            let provider = find(id)?;
            if named.iter().all(|known| known.id != provider.id) {
                named.push(provider);
            }
        }
        Ok(named)
    }

    /// The providers that are listed by default: the default one, those with a key, and running local servers.
    fn usual_providers(&self, servers: &[LocalServer]) -> Vec<&ProviderSettings> {
        let default = &self.settings().default_provider().id;
        let runs_here = |id: &ProviderId| servers.iter().any(|server| server.provider == id.0);
        let is_usual = |provider: &&ProviderSettings| {
            let is_set_up = has_key(provider) && !self.lists.providers.is_presumed(provider);
            provider.id == *default || is_set_up || runs_here(&provider.id)
        };
        self.lists.providers.all().filter(is_usual).collect()
    }
}

/// The models of a list, each as shown and as listed.
fn models_of<'a>(lookup: &'a ProviderLookup<'_>) -> impl Iterator<Item = (ModelLine, &'a ModelInfo)> {
    let models = lookup.known.list.as_ref().map_or(&[][..], |list| list.catalogue.models());
    models.iter().map(|info| (ModelLine::of(&lookup.provider.id, info), info))
}

impl ModelQuery {
    fn fits(&self, line: &ModelLine, info: &ModelInfo) -> bool {
        let described = format!("{} {}", line.id, line.name).to_lowercase();
        self.search.to_lowercase().split_whitespace().all(|word| described.contains(word))
            && self.context_min.is_none_or(|least| line.context_tokens.is_some_and(|tokens| tokens >= least))
            && self
                .price_max
                .is_none_or(|most| line.output_usd_per_million.is_some_and(|price| price <= most))
            && (!self.attachments || info.inputs.is_some_and(|inputs| inputs.image || inputs.document))
    }
}

impl ModelSort {
    fn apply(self, models: &mut [(ModelLine, &ModelInfo)]) {
        // The sorts are stable: equal models keep the providers' order.
        match self {
            Self::Price => models.sort_by_key(|(_, info)| {
                info.price.map_or((PicoUsd(i64::MAX), PicoUsd(i64::MAX)), |price| (price.output, price.input))
            }),
            Self::Context => models.sort_by_key(|(_, info)| Reverse(info.context_tokens)),
            Self::Name => models.sort_by(|(one, _), (other, _)| {
                one.id.trim_start_matches('~').cmp(other.id.trim_start_matches('~'))
            }),
        }
    }
}

impl ListLine {
    pub(crate) fn of(lookup: &ProviderLookup<'_>) -> Self {
        let ProviderLookup { provider, known } = lookup;
        let source = known.list.as_ref().map(|list| list.source);
        let fetched_at_ms = match source {
            Some(Source::Live(at_ms) | Source::Kept(at_ms)) => Some(at_ms),
            Some(Source::Embedded) | None => None,
        };
        Self {
            provider: provider.id.0.clone(),
            name: provider.name.clone(),
            has_key: has_key(provider),
            source: match source {
                Some(Source::Live(_)) => "live",
                Some(Source::Kept(_)) => "kept",
                Some(Source::Embedded) => "embedded",
                None => "none",
            },
            fetched_at_ms,
            age_ms: fetched_at_ms.map(|at_ms| clock::unix_ms().saturating_sub(at_ms)),
            embedded_on: (source == Some(Source::Embedded)).then_some(EMBEDDED_ON),
            models: known.list.as_ref().map_or(0, |list| list.catalogue.models().len()),
            error: known.failure.as_ref().map(ErrorReport::of),
        }
    }
}

/// A model of this provider as a user types it.
pub(crate) fn name(provider: &ProviderId, model: &str) -> String {
    ModelRef { provider: provider.clone(), model: model.to_owned() }.to_string()
}

impl ModelLine {
    fn of(provider: &ProviderId, info: &ModelInfo) -> Self {
        let id = |model: &str| name(provider, model);
        Self {
            id: id(&info.id),
            provider: provider.0.clone(),
            name: info.name.clone(),
            alias_of: info.alias_of.as_deref().map(id),
            context_tokens: info.context_tokens,
            output_tokens_max: info.output_tokens_max,
            input_usd_per_million: info.price.map(|price| per_million(price.input)),
            output_usd_per_million: info.price.map(|price| per_million(price.output)),
            price_overrides: info.price_overrides.iter().map(OverrideLine::of).collect(),
            inputs: info.inputs,
            expires_on: info.expires_on.clone(),
        }
    }
}

impl OverrideLine {
    fn of(it: &PriceOverride) -> Self {
        Self {
            above_input_tokens: it.above_input_tokens,
            input_usd_per_million: it.input.map(per_million),
            output_usd_per_million: it.output.map(per_million),
        }
    }
}

pub(crate) fn per_million(price: PicoUsd) -> f64 {
    price.times(PRICE_TOKENS).as_usd()
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use parallel_llm_engine::Catalogue;

    use super::*;
    use crate::lazy::Lazy;
    use crate::models::{Catalogues, Fetch};
    use crate::runs::CalibrationFile;
    use crate::services::{Parts, Services};
    use parallel_llm_settings::settings::{Environment, Folders, Settings};

    /// A key for a server on this machine, in the variable that belongs to that server.
    const KEY: (&str, &str) = ("OLLAMA_API_KEY", "0000000000000000");
    /// Providers whose keys come from a program.
    const KEEPERS: &str = "[providers.openrouter]\nkey_command = ['/no/program']\n\
        [providers.team]\nbase_url = 'https://llm.example.com/v1'\nkey_command = ['/no/program']\n";

    /// Checks which providers are asked for a list, and whether with a key, if Ollama is the only local server.
    async fn asked(user_file: &str, variables: &[(&str, &str)], providers: &[&str]) -> Vec<String> {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join(".config/parallel-llm-mcp");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("config.toml"), user_file).unwrap();
        let environment = Environment::with_folders(Folders::of_home(home.path().to_owned()));
        let environment = variables.iter().fold(environment, |all, (name, value)| all.with(name, *value));
        let settings = Settings::load(&environment, home.path(), &[]).unwrap();
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let fetch: Fetch = {
            let asked = Arc::clone(&asked);
            Box::new(move |id, key| {
                asked.lock().unwrap().push(format!("{id} {key:?}"));
                let is_down = ["lmstudio", "vllm"].contains(&id.0.as_str());
                let list = Catalogue::new(vec![ModelInfo::named("a")], false);
                let down = Failure::new(Code::Connection, "nobody is there");
                Box::pin(async move { if is_down { Err(down) } else { Ok(list) } })
            })
        };
        let nothing = || Failure::new(Code::Internal, "no list needs this");
        let services = Services::new(Parts {
            disconnect: Box::new(|| {}),
            catalogues: Catalogues::new(&settings, fetch),
            calibration: Arc::new(CalibrationFile::of(home.path())),
            settings,
            check_key: Box::new(|_| Box::pin(async { Ok(()) })),
            circuits: Box::new(Vec::new),
            issuer: None,
            fetch_credit: Box::new(|_| Box::pin(async { Ok(None) })),
            fetch_time: Box::new(|_| Box::pin(async { Ok(None) })),
            runs: Lazy::new(move || Box::pin(async move { Err(nothing()) })),
            store: Arc::new(Lazy::new(move || Box::pin(async move { Err(nothing()) }))),
            telemetry: Arc::default(),
            post_telemetry: None,
        });
        let providers = providers.iter().map(|id| (*id).to_owned()).collect();
        services.models.find(&ModelQuery { providers, ..ModelQuery::default() }).await.unwrap();
        let mut asked = asked.lock().unwrap().clone();
        asked.retain(|line| !line.starts_with("lmstudio") && !line.starts_with("vllm"));
        // All are asked at once, so the order is not determined.
        asked.sort();
        asked
    }

    #[tokio::test]
    async fn a_key_is_sent_to_a_local_server_only_if_it_is_named_or_configured() {
        let unasked = ["ollama Withheld", "openrouter Sent"];
        assert_eq!(asked("", &[KEY], &[]).await, unasked);
        let kept_by_program = "[providers.ollama]\nkey_command = ['/no/program']\n";
        assert_eq!(asked(kept_by_program, &[], &[]).await, unasked);
        assert_eq!(asked("", &[KEY], &["ollama"]).await, ["ollama Sent"]);
        let moved = ("OLLAMA_BASE_URL", "http://127.0.0.1:11434/v1");
        assert_eq!(asked("", &[KEY, moved], &[]).await, ["ollama Sent", "openrouter Sent"]);
        let table = "[providers.ollama]\nbase_url = 'http://127.0.0.1:11434/v1'\n";
        assert_eq!(asked(table, &[KEY], &[]).await, ["ollama Sent", "openrouter Sent"]);
    }

    #[tokio::test]
    async fn no_key_program_runs_for_a_list_that_was_not_named() {
        assert_eq!(asked(KEEPERS, &[], &[]).await, ["ollama Withheld", "openrouter Withheld"]);
        assert_eq!(asked(KEEPERS, &[], &["team", "openrouter"]).await, ["openrouter Sent", "team Sent"]);
    }
}
