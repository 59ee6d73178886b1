//! The table of all figures: name, labels and meaning.
//!
//! The text at `/metrics`, the export and the documentation use this table.

use std::fmt::Write;

use prometheus::core::Collector;
use prometheus::{
    CounterVec, GaugeVec, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, Opts, Registry,
};

/// The bounds of durations of calls in seconds: those of the GenAI conventions, and three more for models that think for
/// minutes.
const CALL_SECONDS: &[f64] = &[
    0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92, 163.84, 327.68,
    655.36,
];
/// The bounds of token counts, from the GenAI conventions.
const TOKENS: &[f64] = &[
    1.0,
    4.0,
    16.0,
    64.0,
    256.0,
    1_024.0,
    4_096.0,
    16_384.0,
    65_536.0,
    262_144.0,
    1_048_576.0,
    4_194_304.0,
    16_777_216.0,
    67_108_864.0,
];
/// The bounds of the time to the first word, in seconds. The last one is the default of `first_text_timeout_ms`.
const FIRST_TOKEN_SECONDS: &[f64] = &[0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0];
/// The bounds of the time to the answer of a run, in seconds. The last one is the default of `run_timeout_ms`.
const RUN_SECONDS: &[f64] = &[0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 45.0, 90.0, 180.0, 300.0, 600.0, 1200.0];

/// The durations that the GenAI conventions define, as their name is written in text.
pub(super) const DURATION: &str = "gen_ai_client_operation_duration_seconds";
/// The token counts that the GenAI conventions define, as their name is written in text.
pub(super) const TOKEN_USAGE: &str = "gen_ai_client_token_usage";
/// The labels of both, before a last one of their own.
const OPERATION: &str = "gen_ai_operation_name";
const PROVIDER: &str = "gen_ai_provider_name";
const MODEL: &str = "gen_ai_request_model";

/// A family of figures.
struct Family {
    name: &'static str,
    labels: &'static [&'static str],
    /// The upper bounds of a histogram; empty for others.
    bounds: &'static [f64],
    help: &'static str,
}

macro_rules! families {
    ($( $field:ident: $kind:ty = $name:expr, [$( $label:expr ),*] $( within $bounds:ident )?, $help:literal; )*) => {
        /// Every family, ready to count.
        pub(super) struct Families { $( pub(super) $field: $kind, )* }

        /// Every family, in the order of the documentation.
        const ALL: &[Family] = &[$( Family {
            name: $name,
            labels: &[$( $label ),*],
            bounds: bounds!($( $bounds )?),
            help: $help,
        }, )*];

        impl Families {
            /// The families, of which this registry knows.
            pub(super) fn new(registry: &Registry) -> Self {
                let mut all = ALL.iter();
                Self { $( $field: next(&mut all, registry), )* }
            }
        }
    };
}

macro_rules! bounds {
    () => {
        &[]
    };
    ($bounds:ident) => {
        $bounds
    };
}

families! {
    build: GaugeVec = "parallel_llm_build_info", ["version"], "Always 1; the version of the program.";
    runs_begun: IntCounterVec = "parallel_llm_runs_begun_total", ["how"], "Runs begun, and parts that go on with one.";
    runs_ended: IntCounterVec = "parallel_llm_runs_ended_total", ["status"], "Runs after their last late seat, by status.";
    runs_in_flight: IntGauge = "parallel_llm_runs_in_flight", [], "Runs under way, those with late seats included.";
    run_answer_seconds: HistogramVec = "parallel_llm_run_answer_seconds", ["status"] within RUN_SECONDS,
        "From the start of a run, or of its further part, to its answer.";
    calls_sent: IntCounterVec = "parallel_llm_calls_sent_total", ["provider", "model"],
        "Requests sent to models, retries included.";
    calls_in_flight: IntGauge = "parallel_llm_calls_in_flight", [], "Requests whose reply has not ended.";
    answers: IntCounterVec = "parallel_llm_answers_total", ["provider", "model", "kind"],
        "Requests that gave a text, whole or cut.";
    failures: IntCounterVec = "parallel_llm_failures_total", ["provider", "model", "code"],
        "Requests without a whole answer, by error code, those never sent included.";
    retries: IntCounterVec = "parallel_llm_retries_total", ["provider", "model"],
        "Failures after which a request is sent again.";
    tokens: IntCounterVec = "parallel_llm_tokens_total", ["provider", "model", "direction"],
        "Tokens as providers report them.";
    cost_usd: CounterVec = "parallel_llm_cost_usd_total", ["provider", "kind"],
        "Known cost in US dollars: reported by the provider, or estimated from its prices.";
    first_token_seconds: HistogramVec = "parallel_llm_first_token_seconds", ["provider"] within FIRST_TOKEN_SECONDS,
        "From sending a request to its first text or reasoning.";
    duration: HistogramVec = DURATION, [OPERATION, PROVIDER, MODEL, "error_type"] within CALL_SECONDS,
        "Duration of a request to a model (GenAI conventions).";
    token_usage: HistogramVec = TOKEN_USAGE, [OPERATION, PROVIDER, MODEL, "gen_ai_token_type"] within TOKENS,
        "Tokens of a request to a model (GenAI conventions).";
    commit_queue: IntGauge = "parallel_llm_store_commit_queue", [],
        "Writes that wait for the next commit of the run database.";
    spill_files: IntGauge = "parallel_llm_store_spill_files", [],
        "Files with events that the run database has yet to take.";
    open_circuits: GaugeVec = "parallel_llm_circuits_open", ["provider"],
        "Models that are not asked for a while because they keep failing.";
    http_requests: IntCounterVec = "parallel_llm_http_requests_total", ["route", "method", "status"],
        "HTTP requests by route, method and status.";
    dropped_spans: IntCounter = "parallel_llm_spans_dropped_total", [], "Spans that the collector did not take.";
}

/// A kind of figure.
trait Figure: Collector + Clone + 'static {
    fn of(family: &Family) -> prometheus::Result<Self>;
}

impl Family {
    fn options(&self) -> Opts {
        Opts::new(self.name, self.help)
    }
}

impl Figure for IntGauge {
    fn of(family: &Family) -> prometheus::Result<Self> {
        Self::with_opts(family.options())
    }
}

impl Figure for IntCounter {
    fn of(family: &Family) -> prometheus::Result<Self> {
        Self::with_opts(family.options())
    }
}

impl Figure for GaugeVec {
    fn of(family: &Family) -> prometheus::Result<Self> {
        Self::new(family.options(), family.labels)
    }
}

impl Figure for IntCounterVec {
    fn of(family: &Family) -> prometheus::Result<Self> {
        Self::new(family.options(), family.labels)
    }
}

impl Figure for CounterVec {
    fn of(family: &Family) -> prometheus::Result<Self> {
        Self::new(family.options(), family.labels)
    }
}

impl Figure for HistogramVec {
    fn of(family: &Family) -> prometheus::Result<Self> {
        let options = HistogramOpts::new(family.name, family.help).buckets(family.bounds.to_vec());
        Self::new(options, family.labels)
    }
}

/// Makes the next family of the table.
fn next<T: Figure>(families: &mut std::slice::Iter<'_, Family>, registry: &Registry) -> T {
    let family = families.next().expect("the table and its fields are one list");
    let figure = T::of(family).expect("names of families and labels are valid");
    registry.register(Box::new(figure.clone())).expect("every name stands once");
    figure
}

/// Every family in Markdown, for the documentation.
pub fn reference() -> String {
    let mut page = String::from("| figure | labels | meaning |\n|---|---|---|\n");
    for Family { name, labels, help, .. } in ALL {
        let labels: Vec<String> = labels.iter().map(|label| format!("`{label}`")).collect();
        let _ = writeln!(page, "| `{name}` | {} | {help} |", labels.join(", "));
    }
    page
}
