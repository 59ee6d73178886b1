//! The settings: one typed value, resolved once from flags, environment, files and defaults.
//!
//! [`table`] defines every setting; the other modules read their values: [`sources`] finds the text and merges what it says,
//! [`document`] and [`value`] parse it. Every value knows its origin.
//!
//! Invariant: nothing is silently ignored. Unknown names, invalid values, and project files that ask for more than the
//! user allows are errors that name their location.

mod check;
mod document;
mod embedded;
mod issuer;
mod loading;
mod providers;
mod reference;
mod sources;
mod table;
mod tables;
mod telemetry;
#[cfg(test)]
mod tests;
mod value;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use parallel_llm_engine::plan::{DayLimit, Defaults, Timers};
use parallel_llm_engine::request::persona::Personas;
use parallel_llm_engine::request::price::PriceBook;
use parallel_llm_engine::request::routing::{DataCollection, Session};
use parallel_llm_engine::request::wait::Wait;
use parallel_llm_engine::request::{AnswerLine, Effort, Equivalence, StoreMode};
use parallel_llm_engine::value::code::Code;
use parallel_llm_engine::value::next::{Advice, Next};
use parallel_llm_engine::{Failure, FileNames, ModelRef, PicoUsd, Price, Routing, value::nearest};

use document::{Document, FileOwner};
use providers::provider::Sources;
use sources::environment::FOLDER;
use sources::layer::Layer;
use table::Setting;
use value::failure::invalid;

pub use check::CheckSettings;
pub use embedded::{EmbeddedProvider, check_headers, check_value};
pub use issuer::IssuerSettings;
pub use providers::kept::{KeptKeys, read as read_kept, text as kept_text};
pub use providers::provider::{ProviderKey, ProviderSettings};
pub use reference::reference;
pub use sources::config_paths::ConfigPaths;
pub use sources::environment::SEAT;
pub use sources::environment::is_known_variable;
pub use sources::environment::{Environment, Folders, system_root};
pub use sources::host_info::{HostInfo, Proxy};
pub use tables::alias::Aliases;
pub use tables::flow::named_flow::{FlowErrors, FlowMistake, NamedFlow};
pub use tables::flow::{FlowFile, Flows};
pub use tables::named::Named;
pub use tables::preset::{Preset, Presets, is_built_in as is_built_in_preset};
pub use telemetry::{MetricsReach, TelemetrySettings};
pub use value::amount;
pub use value::database_url::DatabaseUrl;
pub use value::effective::EffectiveValue;
pub use value::kind::{NO_LIMIT, split_models};
pub use value::origin::{FileLocation, Origin};
pub use value::wait::duration_ms;

/// The name of the database inside the data folder.
const DATABASE: &str = "runs.db";
/// The demo's own folder inside the data folder.
const DEMO: &str = "demo";

/// All settings, resolved.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The models on the panel, as written.
    pub panel: Vec<String>,
    /// The chain of synthesizers, as written.
    pub synthesizer: Vec<String>,
    /// The strategy.
    pub strategy: String,
    /// Output cap of each call in tokens, reasoning included.
    pub max_tokens: u32,
    /// The budget of one run.
    pub budget: PicoUsd,
    /// The most that all runs together may cost per day.
    pub budget_day: Option<PicoUsd>,
    /// The longest prompt in characters.
    pub prompt_chars_max: usize,
    /// Most concurrent calls with one provider key.
    pub calls_per_key_max: usize,
    /// Most concurrent calls in the process.
    pub calls_max: usize,
    /// Time limit for connecting to a provider, in milliseconds.
    pub connect_timeout_ms: u64,
    /// The time limits of a run and its parts.
    pub timers: Timers,
    /// Most retries of one call.
    pub retries_max: u32,
    /// The wait rule of the panel.
    pub wait: Wait,
    /// The time-out of MCP clients in milliseconds, if the user sets it.
    pub client_wall_ms: Option<u64>,
    /// How long the program waits for calls in flight when it is stopped, in milliseconds.
    pub drain_ms: u64,
    /// Whether seats whose short answers are counted are asked for the answer line.
    pub answer_line: AnswerLine,
    /// The model that says which short answers mean the same, or `auto` or `off`.
    pub equivalence_model: String,
    /// The store mode of runs.
    pub store: StoreMode,
    /// Whether answers are also written as files.
    pub files: bool,
    /// The names of those files.
    pub file_names: FileNames,
    /// The folder for files of runs, if it is outside the data folder.
    pub output_dir: Option<PathBuf>,
    /// The folder of the database and of the files of runs.
    pub data_dir: PathBuf,
    /// The server that holds the runs in place of the database in the data folder.
    pub database_url: Option<DatabaseUrl>,
    /// The log level: `off`, `error`, `warn`, `info`, `debug` or `trace`.
    pub log_level: String,
    /// The log file.
    pub log_file: Option<PathBuf>,
    /// Where telemetry goes.
    pub telemetry: TelemetrySettings,
    /// Most bytes of all files attached to a question.
    pub attachment_bytes_max: u64,
    /// The folders from which calling models may attach files; empty if from none.
    pub attach_roots: Vec<PathBuf>,
    /// Longest use of a cached model list, in milliseconds.
    pub catalogue_max_age_ms: u64,
    /// The reasoning effort of the panel.
    pub effort: Option<Effort>,
    /// The routing options for OpenRouter.
    pub routing: Routing,
    /// The program's name as sent to OpenRouter.
    pub app_title: Option<String>,
    /// The program's address as sent to OpenRouter.
    pub app_url: Option<String>,
    /// A file of certificates to trust besides the system's.
    pub ca_file: Option<PathBuf>,
    /// The check command for answers, if any.
    pub check: Option<CheckSettings>,
    /// The identity server whose tokens are accepted, if any.
    pub issuer: Option<IssuerSettings>,
    /// Host names that clients use for the HTTP server besides its own address.
    pub http_hosts: Vec<String>,
    /// Origins that the HTTP server accepts besides its own.
    pub http_origins: Vec<String>,
    /// The file with the HTTP server's certificate.
    pub tls_cert: Option<PathBuf>,
    /// The file with the key of that certificate.
    pub tls_key: Option<PathBuf>,
    /// Whether a reverse proxy provides TLS for the HTTP server.
    pub behind_proxy: bool,
    /// How a stream of the OpenAI-compatible endpoint shows progress: `comments`, `reasoning` or `off`.
    pub stream_progress: String,
    /// Every known provider, the default one first, then the user's own.
    pub providers: Vec<ProviderSettings>,
    /// The file of stored keys, which may not exist; `None` without a home folder.
    pub keys_file: Option<PathBuf>,
    /// The folder for data that may be lost; `None` without a home folder.
    pub state_dir: Option<PathBuf>,
    /// The folders with settings of this and other programs; `None` without a home folder.
    pub config_paths: Option<ConfigPaths>,
    /// Presets by name, including the built-in ones.
    pub presets: Presets,
    /// The user's flows by name, including those that cannot be read.
    pub flows: Flows,
    /// The folder of those flows, which may not exist; `None` without a home folder.
    pub flows_folder: Option<PathBuf>,
    /// The user's own names for models.
    pub aliases: Aliases,
    /// The user's own prices.
    pub prices: BTreeMap<ModelRef, Price>,
    /// Personas by name, including the built-in ones.
    pub personas: Personas,
    /// The user file, if it exists.
    pub user_file: Option<PathBuf>,
    /// The project file, if it exists.
    pub project_file: Option<PathBuf>,
    /// Facts from the environment that are not settings.
    pub host_info: HostInfo,
    /// Whether nothing is read or written below the data folder, because there is none.
    pub in_memory: bool,
    /// Whether remote hosts are reached through the proxy of the environment.
    pub system_proxy: bool,
    /// What is wrong with the parts of the settings that could not be read and were left out; see
    /// [`Settings::load_readable`].
    pub unread: Vec<Failure>,
    /// The values for [`Settings::shown`].
    pub shown: Vec<EffectiveValue>,
}

impl Settings {
    /// The settings of a complete layer, with the tables of the user's and the project's file.
    fn of_documents(
        layer: &Layer,
        environment: &Environment,
        current_dir: &Path,
        [user, project]: [Document; 2],
    ) -> Result<Self, Failure> {
        let mut settings = Self::of_layer(layer)?;
        settings.check = check::read(layer, environment);
        settings.telemetry = telemetry::read(layer, environment);
        settings.keys_file = providers::kept::path(environment);
        settings.state_dir = environment.folders().map(|folders| folders.state.join(FOLDER));
        settings.config_paths = ConfigPaths::of(environment, current_dir);
        let kept = settings.keys_file.as_deref().map(providers::kept::read).transpose()?.unwrap_or_default();
        let kept = (&kept, settings.keys_file.as_deref());
        let (providers, shown) =
            providers::provider::resolve(Sources { environment, tables: &user.providers, kept })?;
        settings.providers = providers;
        settings.shown.extend(shown);
        settings.presets = tables::preset::built_in();
        settings.presets.extend(user.presets);
        settings.presets.extend(project.presets);
        settings.flows_folder = tables::flow::folder(environment, current_dir);
        let flows = settings.flows_folder.iter().flat_map(|folder| tables::flow::in_folder(folder));
        settings.flows = flows.map(|named| settings.apart_from_presets(named)).collect();
        tables::alias::check(&user.aliases, &settings.providers)?;
        settings.aliases = Aliases::of(&user.aliases);
        settings.shown.extend(user.aliases.iter().map(|(name, alias)| tables::alias::shown(name, alias)));
        let ids: Vec<_> = settings.providers.iter().map(|provider| provider.id.clone()).collect();
        settings.prices = tables::price::by_model(&user.prices, &ids);
        settings.shown.extend(user.prices.iter().map(|(name, set)| tables::price::shown(name, set)));
        let shown = user.personas.iter();
        let shown =
            shown.map(|(name, (origin, persona))| tables::persona::shown(name, persona, origin.clone()));
        settings.shown.extend(shown);
        settings.personas = tables::persona::built_in();
        settings.personas.extend(user.personas.into_iter().map(|(name, (_, persona))| (name, persona)));
        settings.host_info = HostInfo::of(environment);
        Ok(settings)
    }

    /// The settings of the demo: the defaults, with a home folder inside the data folder. Of the user's settings it
    /// reads only the location of the data folder from the environment.
    pub fn of_demo(
        environment: &Environment,
        current_dir: &Path,
        overrides: &[(&'static str, String)],
    ) -> Result<Self, Failure> {
        let mut layer = Layer::defaults();
        if let Some(entry) = environment.entry(Setting::DataDir)? {
            layer.set(Setting::DataDir, entry);
        }
        make_absolute(&mut layer, environment, current_dir);
        let folder = Self::demo_folder(&layer.path(Setting::DataDir).ok_or_else(no_home_folder)?);
        let own = Environment::with_folders(Folders::of_home(&folder));
        Self::load(&own.with(&Setting::DataDir.variable(), &folder), &folder, overrides)
    }

    /// The folder of the demo's runs in a data folder.
    pub fn demo_folder(data_dir: &Path) -> PathBuf {
        data_dir.join(DEMO)
    }

    /// The settings for a run whose request leaves them out.
    pub fn defaults(&self) -> Defaults {
        Defaults {
            panel: self.panel.clone(),
            synthesizers: self.synthesizer.clone(),
            personas: self.personas.clone(),
            strategy: self.strategy.clone(),
            max_tokens: self.max_tokens,
            answer_line: self.answer_line,
            equivalence: self.equivalence(),
            budget: self.budget,
            prices: self.prices(),
            prompt_chars_max: self.prompt_chars_max,
            timers: self.timers,
            retries_max: self.retries_max,
            wait: self.wait,
            store: self.store,
            files: self.files,
            file_names: self.file_names.clone(),
            effort: self.effort,
            routing: self.routing.clone(),
            limits: self.limits(),
            checker: self.check.as_ref().map(CheckSettings::fingerprint),
            flow: None,
        }
    }

    fn equivalence(&self) -> Equivalence {
        match &*self.equivalence_model {
            value::kind::OFF => Equivalence::Off,
            value::kind::AUTO => {
                let budget = self.presets.get(tables::preset::BUDGET);
                Equivalence::CheapestOf(budget.and_then(|preset| preset.panel.clone()).unwrap_or_default())
            }
            model => Equivalence::Model(model.to_owned()),
        }
    }

    /// What the settings say of prices: the table `[prices]`, the servers on this machine, and a dearer tier.
    fn prices(&self) -> PriceBook {
        let own = self.providers.iter().filter(|provider| provider.is_own_machine());
        let routers = self.providers.iter().filter(|provider| provider.dialect.routes);
        let tiered = routers.filter(|_| self.routing.asks_for_dearer_tier());
        PriceBook {
            set: self.prices.clone(),
            own_machines: own.map(|provider| provider.id.clone()).collect(),
            dearer_tiers: tiered.map(|provider| provider.id.clone()).collect(),
            ..PriceBook::default()
        }
    }

    /// The daily limits: of all runs together, and of each provider with a limit.
    fn limits(&self) -> Vec<DayLimit> {
        let name = Setting::BudgetDayUsd.name();
        let whole = self.budget_day.map(|usd| DayLimit {
            provider: None,
            asked_by: None,
            usd,
            setting: name.to_owned(),
        });
        let of = |provider: &ProviderSettings| {
            let setting = format!("providers.{}.{name}", provider.id);
            let usd = provider.budget_day?;
            Some(DayLimit { provider: Some(provider.id.clone()), asked_by: None, usd, setting })
        };
        whole.into_iter().chain(self.providers.iter().filter_map(of)).collect()
    }

    /// The path of the database, if it is a file.
    pub fn database(&self) -> PathBuf {
        self.data_dir.join(DATABASE)
    }

    /// Whether there is a database: on a server, or as a file, which opening would create.
    pub fn has_database(&self) -> bool {
        self.database_url.is_some() || self.database().exists()
    }

    /// Folders for answers that neither the database nor its own folder accepts, in the order they are tried.
    pub fn spill_folders(&self) -> Vec<PathBuf> {
        self.state_dir.iter().chain(&self.output_dir).cloned().collect()
    }

    /// The names of all settings, in the order of their table.
    pub fn setting_names() -> impl Iterator<Item = &'static str> {
        Setting::names()
    }

    /// All resolved values in the order of the reference.
    pub fn shown(&self) -> &[EffectiveValue] {
        &self.shown
    }

    /// The log level, unless it is the default.
    pub fn log_level_if_chosen(&self) -> Option<&str> {
        let by_default = |shown: &EffectiveValue| {
            shown.name == Setting::LogLevel.name() && shown.origin == Origin::Default
        };
        (!self.shown.iter().any(by_default)).then_some(self.log_level.as_str())
    }

    /// The default provider.
    pub fn default_provider(&self) -> &ProviderSettings {
        self.providers.first().expect("the table of known providers is not empty")
    }

    /// The next steps for a key, if every provider on the panel needs one and none has one.
    pub fn panel_key_advice(&self) -> Option<Vec<Next>> {
        let is_provider = |name: &str| self.providers.iter().any(|provider| provider.id.0 == name);
        let named = self
            .panel
            .iter()
            .filter_map(|model| value::kind::provider_of(&self.aliases.expand(model), is_provider));
        let asked: Vec<&ProviderSettings> = named.filter_map(|id| self.provider(&id.0).ok()).collect();
        let lacks = |provider: &&ProviderSettings| {
            matches!(provider.key, ProviderKey::Missing) && provider.needs_key()
        };
        asked.first().filter(|_| asked.iter().all(lacks)).map(|provider| provider.key_advice())
    }

    /// The variables that may hold keys. Empty if a key comes from a program, which may read any variable.
    pub fn key_variables(&self) -> Vec<String> {
        if self.providers.iter().any(|provider| matches!(provider.key, ProviderKey::Command(_))) {
            return Vec::new();
        }
        self.providers.iter().filter_map(|provider| provider.key_variable.clone()).collect()
    }

    /// The provider of this name, in any case.
    pub fn provider(&self, name: &str) -> Result<&ProviderSettings, Failure> {
        self.providers.iter().find(|provider| provider.id.0.eq_ignore_ascii_case(name)).ok_or_else(|| {
            let names: Vec<&str> = self.providers.iter().map(|provider| provider.id.0.as_str()).collect();
            let failure = Failure::new(Code::Usage, format!("there is no provider `{name}`"));
            nearest::suggest_or_list(failure, name, &names)
        })
    }

    /// The resolved fields of a complete layer.
    fn of_layer(layer: &Layer) -> Result<Self, Failure> {
        Ok(Self {
            panel: layer.list(Setting::Panel),
            synthesizer: layer.list(Setting::Synthesizer),
            strategy: layer.word(Setting::Strategy),
            answer_line: AnswerLine::by_word(&layer.word(Setting::AnswerLine)).unwrap_or_default(),
            equivalence_model: layer.word(Setting::EquivalenceModel),
            max_tokens: layer.whole(Setting::MaxTokens),
            budget: layer.usd(Setting::BudgetUsd),
            budget_day: layer.usd_if_set(Setting::BudgetDayUsd),
            prompt_chars_max: layer.whole(Setting::PromptCharsMax),
            calls_per_key_max: layer.whole(Setting::CallsPerKeyMax),
            calls_max: layer.whole(Setting::CallsMax),
            connect_timeout_ms: layer.whole(Setting::ConnectTimeoutMs),
            timers: timers(layer),
            retries_max: layer.whole(Setting::RetriesMax),
            wait: wait_rule(layer),
            client_wall_ms: layer.whole_if_set(Setting::ClientWallMs),
            drain_ms: layer.whole(Setting::DrainMs),
            store: layer.store(Setting::Store),
            files: layer.switch(Setting::Files),
            file_names: file_names(layer)?,
            output_dir: layer.path(Setting::OutputDir),
            data_dir: layer.path(Setting::DataDir).ok_or_else(no_home_folder)?,
            database_url: layer.server(Setting::DatabaseUrl),
            log_level: layer.word(Setting::LogLevel),
            log_file: layer.path(Setting::LogFile),
            telemetry: TelemetrySettings::default(),
            attachment_bytes_max: layer.whole(Setting::AttachmentBytesMax),
            attach_roots: layer.paths(Setting::AttachRoots),
            catalogue_max_age_ms: layer.whole(Setting::CatalogueMaxAgeMs),
            effort: layer.word_if_set(Setting::ReasoningEffort).and_then(|word| Effort::by_word(&word)),
            routing: routing(layer),
            app_title: layer.word_if_set(Setting::AppTitle),
            app_url: layer.word_if_set(Setting::AppUrl),
            ca_file: layer.path(Setting::CaFile),
            check: None,
            issuer: issuer::read(layer)?,
            http_hosts: layer.list(Setting::HttpHosts),
            http_origins: layer.list(Setting::HttpOrigins),
            tls_cert: layer.path(Setting::TlsCert),
            tls_key: layer.path(Setting::TlsKey),
            behind_proxy: layer.switch(Setting::BehindProxy),
            stream_progress: layer.word(Setting::StreamProgress),
            providers: Vec::new(),
            keys_file: None,
            state_dir: None,
            config_paths: None,
            presets: Presets::new(),
            flows: Flows::new(),
            flows_folder: None,
            aliases: Aliases::default(),
            prices: BTreeMap::new(),
            personas: Personas::new(),
            user_file: None,
            project_file: None,
            host_info: HostInfo::default(),
            in_memory: false,
            system_proxy: true,
            unread: Vec::new(),
            shown: shown(layer),
        })
    }
}

/// Makes all paths absolute, and sets the default data folder.
fn make_absolute(layer: &mut Layer, environment: &Environment, current_dir: &Path) {
    let folders = environment.folders();
    // A bare file name would otherwise depend on the current folder.
    layer.set_folder(Setting::LogFile, || folders.map(|folders| folders.state.join(FOLDER)));
    layer.make_paths_absolute(current_dir, folders.map(|folders| folders.home.as_path()));
    layer.set_default_path(Setting::DataDir, || folders.map(|folders| folders.data.join(FOLDER)));
}

fn file_names(layer: &Layer) -> Result<FileNames, Failure> {
    let names = FileNames::new(layer.word(Setting::AnswerFileName), layer.word(Setting::FinalFileName));
    names.map_err(|why| invalid(why).with_next(Advice::OtherFileNames))
}

fn timers(layer: &Layer) -> Timers {
    Timers {
        first_text_ms: layer.whole(Setting::FirstTextTimeoutMs),
        idle_ms: layer.whole(Setting::IdleTimeoutMs),
        content_ms: layer.whole(Setting::ContentTimeoutMs),
        call_ms: layer.whole(Setting::CallTimeoutMs),
        run_ms: layer.whole(Setting::RunTimeoutMs),
    }
}

/// The wait rule with its numbers, which are separate settings.
fn wait_rule(layer: &Layer) -> Wait {
    match layer.wait(Setting::Wait) {
        Wait::Stragglers { .. } => Wait::Stragglers {
            // The table limits the share to 1, so the percentage fits.
            share_percent: (layer.decimal(Setting::StragglerShare) * 100.0).round() as u8,
            after_ms: layer.whole(Setting::StragglerAfterMs),
        },
        rule => rule,
    }
}

/// The routing options. The table allows no other words than those matched here.
fn routing(layer: &Layer) -> Routing {
    Routing {
        order: layer.list(Setting::ProviderOrder),
        only: layer.list(Setting::ProviderOnly),
        ignore: layer.list(Setting::ProviderIgnore),
        fallbacks: layer.switch_if_set(Setting::ProviderFallbacks),
        data_collection: layer.word_if_set(Setting::DataCollection).map(|word| match word.as_str() {
            "allow" => DataCollection::Allow,
            _ => DataCollection::Deny,
        }),
        zdr: layer.switch(Setting::Zdr),
        input_price_max: layer.usd_if_set(Setting::MaxInputUsdPerMillion),
        output_price_max: layer.usd_if_set(Setting::MaxOutputUsdPerMillion),
        service_tier: layer.word_if_set(Setting::ServiceTier),
        session: match layer.word(Setting::Session).as_str() {
            "run" => Session::Run,
            "seat" => Session::Seat,
            _ => Session::Off,
        },
    }
}

fn shown(layer: &Layer) -> Vec<EffectiveValue> {
    let entries = layer.entries();
    entries
        .map(|(setting, entry)| EffectiveValue {
            name: setting.name().to_owned(),
            value: entry.value.to_string(),
            origin: entry.origin.clone(),
        })
        .collect()
}

fn no_home_folder() -> Failure {
    invalid("there is no home folder to keep runs in").with_next(Advice::SetDataFolder)
}

/// Checks that this text is valid as the user's file at this path.
pub fn check_user_text(path: &Path, text: &str) -> Result<(), Failure> {
    let source = sources::file::Source { path: path.to_owned(), text: text.to_owned() };
    Document::read(&source, FileOwner::User).map(drop)
}
