//! The table of all flat settings: name, kind, default with its reason, and who may set it.
//!
//! Files, environment, flags, `config show` and the reference page all use this table. Settings of single providers are
//! in [`super::providers::provider`]. Invariants: every default is valid, and names follow one pattern in files (`max_tokens`) and
//! in the environment (`PARALLEL_LLM_MAX_TOKENS`).

use parallel_llm_engine::Failure;
use parallel_llm_engine::request::OUTPUT_TOKENS_MAX;
use parallel_llm_engine::value::nearest;

use super::value::failure::invalid;
use super::value::kind::{FileNameOf, Kind, Value};

/// The prefix of our variables.
pub(super) const PREFIX: &str = "PARALLEL_LLM_";

/// The reasoning efforts from none to all. A test compares them with the engine's.
pub(super) const EFFORTS: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];
/// A day: longer than any model thinks, and short enough that sums of timers do not overflow.
const DAY_MS: u64 = 86_400_000;

/// Who may set a setting. A project's file comes with a stranger's repository: it may choose what is asked within the user's
/// limits, and may neither raise what that costs nor lose what was paid for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Everybody, including project files.
    Project,
    /// Project files may set it, but not looser than the user.
    Tighter,
    /// Project files may set it, but not shorter than the user: a call that times out is paid for anyway.
    Longer,
    /// Only the user's file, the environment and flags.
    User,
}

macro_rules! settings {
    ($( $variant:ident = $name:literal, $kind:expr, $default:literal, $reach:ident,
        $about:literal, because $reason:literal; )*) => {
        /// A setting.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub(super) enum Setting { $( $variant, )* }

        impl Setting {
            /// Every setting, in the order of the reference.
            pub(super) const ALL: &[Self] = &[$( Self::$variant, )*];

            /// The name in files and output.
            pub(super) const fn name(self) -> &'static str {
                match self { $( Self::$variant => $name, )* }
            }

            /// The kind of its value.
            pub(super) const fn kind(self) -> Kind {
                match self { $( Self::$variant => $kind, )* }
            }

            /// The default as text; empty if there is none, or if it depends on the machine.
            pub(super) const fn default(self) -> &'static str {
                match self { $( Self::$variant => $default, )* }
            }

            /// Who may set it.
            pub(super) const fn reach(self) -> Reach {
                match self { $( Self::$variant => Reach::$reach, )* }
            }

            /// The description in one sentence.
            pub(super) const fn about(self) -> &'static str {
                match self { $( Self::$variant => $about, )* }
            }

            /// The reason for the default, continuing "because".
            pub(super) const fn reason(self) -> &'static str {
                match self { $( Self::$variant => $reason, )* }
            }
        }
    };
}

settings! {
    Panel = "panel", Kind::Models,
        "~openai/gpt-sol-latest ~anthropic/claude-opus-latest ~google/gemini-pro-latest ~x-ai/grok-latest ~deepseek/deepseek-pro-latest", Project,
        "The models that are asked.",
        because "five labs make different mistakes, and the aliases follow each lab's current model";
    Synthesizer = "synthesizer", Kind::Models,
        "~google/gemini-pro-latest ~anthropic/claude-opus-latest", Project,
        "The models that make one text of the answers; the first that succeeds is used.",
        because "two labs whose context holds all answers, so that one outage does not end a run";
    Strategy = "strategy", Kind::Strategy, "synthesize", Project,
        "How answers become one text.",
        because "it keeps the best answer and changes it only for a stated reason";
    AnswerLine = "answer_line", Kind::Choice(&["auto", "off"]), "auto", Project,
        "Whether seats whose short answers are counted end with the line `ANSWER: …`, which is cut off before the answer is shown.",
        because "a model that is asked says in a line what would have to be guessed from its prose";
    EquivalenceModel = "equivalence_model", Kind::ModelOrWord, "auto", User,
        "The model that says which short answers mean the same where they are written differently; it is shown the short answers alone. With `auto` it is the cheapest of the preset `budget` at a provider that the question goes to anyway, and with `off` what is written differently differs.",
        because "it settles `160` and `160 minutes` for a small part of what one answer costs, and fails to `different`";
    CheckCommand = "check_command", Kind::Command, "", User,
        "Your program that checks answers, for `best-of-n@by=check`: it reads an answer on stdin and exits with 0 if the answer passes.",
        because "only you know which answers are right, and no one else may choose what runs on your machine";
    CheckTimeoutMs = "check_timeout_ms", Kind::Whole { min: 1, max: DAY_MS }, "60000", User,
        "Milliseconds the check of one answer may take.",
        because "a small program is compiled and tested in less, and one that never ends delays no run for long";
    MaxTokens = "max_tokens", Kind::Whole { min: 1, max: OUTPUT_TOKENS_MAX as u64 }, "16000", Tighter,
        "The output cap of each call in tokens, reasoning included.",
        because "it includes reasoning, and without it a call may use the model's own cap, which is several times as much";
    BudgetUsd = "budget_usd", Kind::Budget, "3", Tighter,
        "The most that one run may cost in the worst case; a run above it is refused before anything is sent, and so is a run of a model without a known price. With `none` there is no limit, and models without a price are asked.",
        because "five seats and a synthesizer at their caps cost about 1.2 USD";
    BudgetDayUsd = "budget_day_usd", Kind::Usd, "", Tighter,
        "The most that all runs of this data folder together may cost in a day (UTC), including what runs in progress may still cost; a run above it is refused before anything is sent.",
        because "the budget bounds each run already";
    PromptCharsMax = "prompt_chars_max", Kind::Whole { min: 1, max: 16_777_216 }, "100000", Tighter,
        "The longest prompt in characters, attachments included.",
        because "it is enough for a long document, and a mistyped path to a huge file is not paid for five times";
    CallsPerKeyMax = "calls_per_key_max", Kind::Whole { min: 1, max: 65_536 }, "64", Tighter,
        "Calls in flight with one provider key.",
        because "it allows a dozen runs of five at once, and providers' rate limits are not much higher";
    CallsMax = "calls_max", Kind::Whole { min: 1, max: 65_536 }, "4096", Tighter,
        "Calls in flight in the whole process.",
        because "they fit into tens of megabytes and the usual number of open files";
    ConnectTimeoutMs = "connect_timeout_ms", Kind::Whole { min: 1, max: DAY_MS }, "10000", Longer,
        "Milliseconds to connect to a provider.",
        because "a host that is up answers in far less, even across the world";
    FirstTextTimeoutMs = "first_text_timeout_ms", Kind::Whole { min: 1, max: DAY_MS }, "300000", Longer,
        "Milliseconds from sending a call to its first text or reasoning.",
        because "reasoning models have been seen to think for minutes before the first word";
    IdleTimeoutMs = "idle_timeout_ms", Kind::Whole { min: 1, max: DAY_MS }, "90000", Longer,
        "Milliseconds that a call may go without a byte; keep-alive comments count.",
        because "a provider that is still working sends comments to keep the connection alive, so silence means that it broke";
    ContentTimeoutMs = "content_timeout_ms", Kind::Whole { min: 1, max: DAY_MS }, "180000", Longer,
        "Milliseconds that a call may go without text or reasoning once it has begun.",
        because "keep-alive comments hide a stalled model from the idle timer";
    CallTimeoutMs = "call_timeout_ms", Kind::Whole { min: 1, max: DAY_MS }, "900000", Longer,
        "Milliseconds that one call may take.",
        because "an ordinary question has been seen to take nine minutes of reasoning";
    RunTimeoutMs = "run_timeout_ms", Kind::Whole { min: 1, max: DAY_MS }, "1200000", Longer,
        "Milliseconds that a whole run may take.",
        because "it leaves time for a synthesis after the slowest call";
    RetriesMax = "retries_max", Kind::Whole { min: 0, max: 10 }, "2", Tighter,
        "How often a failed call is retried before its first text.",
        because "two survive a short failure, and more would only worsen an outage";
    Wait = "wait", Kind::Wait, "stragglers", Project,
        "When to stop waiting for the panel; late answers are kept.",
        because "one slow model must not delay the others";
    StragglerAfterMs = "straggler_after_ms", Kind::Whole { min: 0, max: DAY_MS }, "45000", Project,
        "Milliseconds before the `stragglers` rule leaves any seat behind.",
        because "in a recorded run four of five answers had arrived after about that time";
    StragglerShare = "straggler_share", Kind::Decimal { min: 0.01, max: 1.0 }, "0.6", Project,
        "The share of the panel that must have answered before the `stragglers` rule leaves any seat behind.",
        because "three answers of five are enough to compare";
    ClientWallMs = "client_wall_ms", Kind::Whole { min: 1, max: DAY_MS }, "", User,
        "Milliseconds after which the MCP client gives up on a call; the answer comes before that, finished or not.",
        because "known clients are recognized by name, and the setting is for the others";
    DrainMs = "drain_ms", Kind::Whole { min: 0, max: 600_000 }, "25000", User,
        "Milliseconds that the program waits for answers in flight when it is stopped.",
        because "it is below the 30 s after which supervisors commonly kill a program";
    Store = "store", Kind::Store, "full", User,
        "How much of a run is stored in the database.",
        because "an answer that was paid for is not lost";
    Files = "files", Kind::Switch { strict: false }, "on", User,
        "Whether answers are also written as files.",
        because "a file can be read, compared and mailed without this program";
    OutputDir = "output_dir", Kind::Path, "", User,
        "The folder for the files of runs, with a folder for each run.",
        because "files are in the data folder beside the database";
    AnswerFileName = "answer_file_name", Kind::FileName(FileNameOf::Answer), "answer_{seat}_{model}.md", User,
        "The name of an answer's file; `{seat}` is replaced by the seat's number, `{model}` by its model's name.",
        because "it shows at a glance whose answer it is";
    FinalFileName = "final_file_name", Kind::FileName(FileNameOf::FinalText), "final_best.md", User,
        "The name of the final text's file.",
        because "it sorts after the answers, and is found without opening any of them";
    DataDir = "data_dir", Kind::Path, "", User,
        "The folder of the database and of the files of runs; by default `parallel-llm-mcp` in XDG's data folder.",
        because "XDG's data folder is for data that must last";
    DatabaseUrl = "database_url", Kind::ServerOrOff, "", User,
        "The PostgreSQL server on which runs are kept in place of a file in the data folder: several machines that name the same one share their runs.",
        because "a file needs no server, and one machine needs no more";
    Issuer = "issuer", Kind::UrlOrOff, "", User,
        "The identity server whose tokens `serve --http` accepts besides its own, as it names itself.",
        because "tokens made with `keys create` need no other server";
    IssuerAudience = "issuer_audience", Kind::UrlOrOff, "", User,
        "The issuer's name for this server: the address that clients use, such as `https://ask.example.org/mcp`.",
        because "only you know under which name clients reach it";
    IssuerBudgetDayUsd = "issuer_budget_day_usd", Kind::Usd, "", User,
        "The most that the runs of each person named by the issuer may cost in a day (UTC).",
        because "the budget of a run and the daily budget of all runs bound it already";
    IssuerRequestsPerMinute = "issuer_requests_per_minute", Kind::Whole { min: 1, max: 100_000 }, "", User,
        "The most requests that each person named by the issuer may make in a minute.",
        because "what costs money is bounded by budgets";
    LogLevel = "log_level", Kind::Choice(&["off", "error", "warn", "info", "debug", "trace"]), "info", User,
        "How much this program logs to stderr; the libraries below it log warnings only.",
        because "one line for each run shows what happened; calls are logged at `debug`";
    LogFile = "log_file", Kind::Path, "", User,
        "A file that the log is also written to. A name without a folder is in the state folder.",
        because "stderr is enough until something must be looked up later";
    Metrics = "metrics", Kind::Choice(&["open", "on", "off"]), "on", User,
        "Who may read the figures of `serve --http` at `/metrics`: `open` everyone who reaches it, `on` the owner and tokens with the scope `metrics`, `off` no one.",
        because "they are sums over everybody's runs, so no ordinary token shows them";
    OtlpEndpoint = "otlp_endpoint", Kind::UrlOrOff, "", User,
        "The collector of traces and metrics (OpenTelemetry, OTLP over HTTP), such as `http://127.0.0.1:4318`; https, or http on this machine.",
        because "nothing about your runs leaves unless you say where to";
    OtlpContent = "otlp_content", Kind::Switch { strict: false }, "off", User,
        "Whether traces carry your own questions and the answers to them.",
        because "a collector is read by more people than a run is";
    TraceCalls = "trace_calls", Kind::Choice(&["all", "own", "off"]), "own", User,
        "Which servers of models are told the trace of a call (`traceparent`): `all`, or only those at addresses of your `own`.",
        because "ids that tie calls together are of no use to a vendor, and help your own gateway";
    AttachmentBytesMax = "attachment_bytes_max", Kind::Whole { min: 1, max: 67_108_864 }, "10485760", Tighter,
        "The most bytes of all files attached to one question.",
        because "it is enough for a dozen pictures or a long document, and every seat is sent all of it";
    AttachRoots = "attach_roots", Kind::Paths, "", User,
        "The folders from which the model of an MCP client on this machine may attach files by their paths; never over HTTP.",
        because "a model reads only what you have allowed";
    CatalogueMaxAgeMs = "catalogue_max_age_ms", Kind::Whole { min: 0, max: 30 * DAY_MS }, "86400000", User,
        "Milliseconds that a stored list of models is used before it is fetched again.",
        because "models come and go in days";
    ReasoningEffort = "reasoning_effort", Kind::Choice(&EFFORTS), "", Project,
        "The reasoning effort of the panel; a provider without this level uses its nearest one.",
        because "each model's maker has chosen a good default";
    ProviderOrder = "provider_order", Kind::Words, "", User,
        "Providers behind OpenRouter to try first, in this order.",
        because "OpenRouter weighs price and load, and a foreign project must not choose who reads a question";
    ProviderOnly = "provider_only", Kind::Words, "", User,
        "The only providers behind OpenRouter that may serve.",
        because "the other terms decide which providers may serve";
    ProviderIgnore = "provider_ignore", Kind::Words, "", User,
        "Providers behind OpenRouter that may not serve.",
        because "the other terms decide which providers may serve";
    ProviderFallbacks = "provider_fallbacks", Kind::Switch { strict: false }, "", Tighter,
        "Whether others may serve when those of `provider_order` cannot.",
        because "OpenRouter allows it unless told otherwise";
    DataCollection = "data_collection", Kind::Choice(&["allow", "deny"]), "", Tighter,
        "Whether providers behind OpenRouter that keep questions, or train on them, may serve.",
        because "the account at OpenRouter has its own setting";
    Zdr = "zdr", Kind::Switch { strict: true }, "off", Tighter,
        "Whether only providers behind OpenRouter that retain nothing may serve.",
        because "many models have no other provider";
    MaxInputUsdPerMillion = "max_input_usd_per_million", Kind::Usd, "", Tighter,
        "The most that a million tokens sent through OpenRouter may cost.",
        because "an endpoint that is left out cannot answer";
    MaxOutputUsdPerMillion = "max_output_usd_per_million", Kind::Usd, "", Tighter,
        "The most that a million tokens received through OpenRouter may cost.",
        because "an endpoint that is left out cannot answer";
    ServiceTier = "service_tier", Kind::Word, "", User,
        "The service tier to request from OpenRouter, by the provider's name for it, such as `flex` or `priority`. Beyond `default` and `flex` no list tells what models cost, so `[prices]` must.",
        because "the list of models has the prices of the usual tier";
    Session = "session", Kind::Choice(&["run", "seat", "off"]), "run", User,
        "Which calls share a session at OpenRouter, so that a provider's prompt cache is used.",
        because "all seats of a run are sent the same question";
    AppTitle = "app_title", Kind::TextOrOff, "parallel-llm-mcp", User,
        "The name of this program at OpenRouter.",
        because "it identifies your calls in OpenRouter's activity page";
    AppUrl = "app_url", Kind::UrlOrOff, "", User,
        "The address of this program at OpenRouter.",
        because "this program has no address of its own";
    CaFile = "ca_file", Kind::Path, "", User,
        "A file of certificates (PEM) that are trusted besides the system's, for proxies and servers with a certificate of their own.",
        because "the system's certificates are enough for public servers";
    HttpHosts = "http_hosts", Kind::Words, "", User,
        "Names of the HTTP server besides its own address: `llm.example.com`, at any port, or `llm.example.com:8443`.",
        because "clients use the address of a server on this machine";
    HttpOrigins = "http_origins", Kind::Words, "", User,
        "Origins whose pages may use the HTTP server from a browser besides its own, such as `https://llm.example.com`; a page needs a token like any client.",
        because "foreign pages should not use it, and clients other than browsers send no origin";
    TlsCert = "tls_cert", Kind::Path, "", User,
        "A file with the certificate of the HTTP server and its chain (PEM); needs `tls_key`.",
        because "connections within this machine need none";
    TlsKey = "tls_key", Kind::Path, "", User,
        "A file with the key of the HTTP server's certificate (PEM).",
        because "connections within this machine need none";
    BehindProxy = "behind_proxy", Kind::Switch { strict: false }, "off", User,
        "Whether a proxy in front of the HTTP server terminates TLS; needs `http_hosts`.",
        because "nothing is in between unless you put it there";
    StreamProgress = "stream_progress", Kind::Choice(&["comments", "reasoning", "off"]), "comments", User,
        "How a stream of the OpenAI-compatible endpoint shows the progress of the panel: as comments, which clients skip, or as reasoning.",
        because "every client can read comments, and not every one expects reasoning";
}

impl Setting {
    /// The variable in the environment.
    pub(super) fn variable(self) -> String {
        format!("{PREFIX}{}", self.name().to_uppercase())
    }

    /// The setting of this name.
    pub(super) fn by_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|setting| setting.name() == name)
    }

    /// The setting of this name, and the value of this text.
    pub(super) fn read(name: &str, text: &str) -> Result<(Self, Value), Failure> {
        let setting = Self::by_name(name).ok_or_else(|| {
            let names: Vec<&str> = Self::names().collect();
            nearest::suggest_or_list(invalid(format!("there is no setting `{name}`")), name, &names)
        })?;
        Ok((setting, setting.kind().read(name, text)?))
    }

    /// The names of all settings.
    pub(super) fn names() -> impl Iterator<Item = &'static str> {
        Self::ALL.iter().map(|setting| setting.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_complete() {
        for setting in Setting::ALL {
            let name = setting.name();
            assert_eq!(Setting::by_name(name), Some(*setting));
            assert!(name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{name}");
            assert!(setting.about().ends_with('.'), "{name} is told in a sentence");
            assert!(!setting.reason().is_empty() && !setting.reason().ends_with('.'), "{name} has a reason");
            if !setting.default().is_empty() {
                setting.kind().read(name, setting.default()).unwrap();
            }
        }
    }

    #[test]
    fn efforts_are_the_engines() {
        use parallel_llm_engine::Effort;
        let words: Vec<&str> = Effort::ALL.iter().map(|effort| effort.word()).collect();
        assert_eq!(words, EFFORTS);
    }

    #[test]
    fn variables_follow_the_pattern() {
        assert_eq!(Setting::MaxTokens.variable(), "PARALLEL_LLM_MAX_TOKENS");
        assert_eq!(Setting::Zdr.variable(), "PARALLEL_LLM_ZDR");
    }
}
