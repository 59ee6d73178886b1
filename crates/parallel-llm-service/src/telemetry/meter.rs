//! The figures of this process, counted from the events of its runs.
//!
//! [`Meter`] is read in two ways: as text at `/metrics`, and by the export to a collector. Every family is in [`Families`], with
//! its meaning. Invariant: labels are those of [`Labels`](super::labels::Labels), so that no caller adds a line.

use std::fmt::{self, Write};
use std::sync::Arc;

use parallel_llm_engine::{ModelRef, PicoUsd, RunStatus};
use prometheus::core::Collector;
use prometheus::proto::MetricFamily;
use prometheus::{
    CounterVec, GaugeVec, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, Opts, Registry,
    TextEncoder,
};

use super::calls::EndedCall;
use super::labels::{Labels, conventional};

/// The media type of the text.
pub const MEDIA_TYPE: &str = prometheus::TEXT_FORMAT;

/// The bounds of durations of calls in seconds: those of the GenAI conventions, and three more for models that think for minutes.
const CALL_SECONDS: [f64; 17] = [
    0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92, 163.84, 327.68,
    655.36,
];
/// The bounds of token counts, from the GenAI conventions.
const TOKENS: [f64; 14] = [
    1.0,
    4.0,
    16.0,
    64.0,
    256.0,
    1024.0,
    4096.0,
    16384.0,
    65536.0,
    262_144.0,
    1_048_576.0,
    4_194_304.0,
    16_777_216.0,
    67_108_864.0,
];
/// The bounds of the time to the first word, in seconds. The last one is `first_text_timeout_ms`.
const FIRST_TOKEN_SECONDS: [f64; 11] = [0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0];
/// The bounds of the time to the answer of a run, in seconds. The last one is `run_timeout_ms`.
const RUN_SECONDS: [f64; 12] = [0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 45.0, 90.0, 180.0, 300.0, 600.0, 1200.0];

/// The operation of every call.
pub(super) const OPERATION: &str = "chat";
/// The family of durations that the GenAI conventions define, as its name is written in text.
pub(super) const DURATION: &str = "gen_ai_client_operation_duration_seconds";
/// The family of token counts that the GenAI conventions define, as its name is written in text.
pub(super) const TOKEN_USAGE: &str = "gen_ai_client_token_usage";

/// The figures of this process. Cheap to clone; clones count together.
#[derive(Clone)]
pub struct Meter {
    registry: Registry,
    families: Arc<Families>,
    labels: Arc<Labels>,
}

impl fmt::Debug for Meter {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Meter")
    }
}

/// Every family of figures.
struct Families {
    build: IntGauge,
    runs_begun: IntCounterVec,
    runs_ended: IntCounterVec,
    runs_in_flight: IntGauge,
    run_answer_seconds: HistogramVec,
    calls_sent: IntCounterVec,
    calls_in_flight: IntGauge,
    answers: IntCounterVec,
    failures: IntCounterVec,
    retries: IntCounterVec,
    tokens: IntCounterVec,
    cost_usd: CounterVec,
    first_token_seconds: HistogramVec,
    duration: HistogramVec,
    token_usage: HistogramVec,
    commit_queue: IntGauge,
    spill_files: IntGauge,
    open_circuits: GaugeVec,
    http_requests: IntCounterVec,
    dropped_spans: IntCounter,
}

/// What is looked at when the figures are read.
#[derive(Clone, Debug, Default)]
pub struct Moment {
    /// Work that waits for the store's next commit.
    pub commit_queue: usize,
    /// Files with events that the database has yet to take.
    pub spill_files: usize,
    /// The providers with a model that is not asked for a while, one entry for each model.
    pub open_circuits: Vec<String>,
}

/// Registers families as they are made.
struct Maker(Registry);

impl Maker {
    fn register<T: Collector + Clone + 'static>(&self, made: prometheus::Result<T>) -> T {
        let made = made.expect("names of families and labels are valid");
        self.0.register(Box::new(made.clone())).expect("every name stands once");
        made
    }

    fn counter(&self, name: &str, help: &str, labels: &[&str]) -> IntCounterVec {
        self.register(IntCounterVec::new(Opts::new(name, help), labels))
    }

    fn gauge(&self, name: &str, help: &str) -> IntGauge {
        self.register(IntGauge::new(name, help))
    }

    fn histogram(&self, name: &str, help: &str, labels: &[&str], bounds: &[f64]) -> HistogramVec {
        let options = HistogramOpts::new(name, help).buckets(bounds.to_vec());
        self.register(HistogramVec::new(options, labels))
    }
}

impl Families {
    fn new(make: &Maker) -> Self {
        let call = ["provider", "model"];
        let with = |label| [call[0], call[1], label];
        let by_convention = ["gen_ai_operation_name", "gen_ai_provider_name", "gen_ai_request_model"];
        let and = |label| [by_convention[0], by_convention[1], by_convention[2], label];
        let build = Opts::new("parallel_llm_build_info", "Always 1; the version of the program.");
        Self {
            build: make
                .register(IntGauge::with_opts(build.const_label("version", env!("CARGO_PKG_VERSION")))),
            runs_begun: make.counter(
                "parallel_llm_runs_begun_total",
                "Runs begun, and parts that go on with one.",
                &["how"],
            ),
            runs_ended: make.counter(
                "parallel_llm_runs_ended_total",
                "Runs after their last late seat, by status.",
                &["status"],
            ),
            runs_in_flight: make
                .gauge("parallel_llm_runs_in_flight", "Runs under way, those with late seats included."),
            run_answer_seconds: make.histogram(
                "parallel_llm_run_answer_seconds",
                "From the start of a run, or of its further part, to its answer.",
                &["status"],
                &RUN_SECONDS,
            ),
            calls_sent: make.counter(
                "parallel_llm_calls_sent_total",
                "Requests sent to models, retries included.",
                &call,
            ),
            calls_in_flight: make
                .gauge("parallel_llm_calls_in_flight", "Requests whose reply has not ended."),
            answers: make.counter(
                "parallel_llm_answers_total",
                "Requests that gave a text, whole or cut.",
                &with("kind"),
            ),
            failures: make.counter(
                "parallel_llm_failures_total",
                "Requests without a whole answer, by error code, those never sent included.",
                &with("code"),
            ),
            retries: make.counter(
                "parallel_llm_retries_total",
                "Failures after which a request is sent again.",
                &call,
            ),
            tokens: make.counter(
                "parallel_llm_tokens_total",
                "Tokens as providers report them.",
                &with("direction"),
            ),
            cost_usd: make.register(CounterVec::new(
                Opts::new(
                    "parallel_llm_cost_usd_total",
                    "Known cost in US dollars: reported by the provider, or estimated from its prices.",
                ),
                &["provider", "kind"],
            )),
            first_token_seconds: make.histogram(
                "parallel_llm_first_token_seconds",
                "From sending a request to its first text or reasoning.",
                &["provider"],
                &FIRST_TOKEN_SECONDS,
            ),
            duration: make.histogram(
                DURATION,
                "Duration of a request to a model (GenAI conventions).",
                &and("error_type"),
                &CALL_SECONDS,
            ),
            token_usage: make.histogram(
                TOKEN_USAGE,
                "Tokens of a request to a model (GenAI conventions).",
                &and("gen_ai_token_type"),
                &TOKENS,
            ),
            commit_queue: make.gauge(
                "parallel_llm_store_commit_queue",
                "Writes that wait for the next commit of the run database.",
            ),
            spill_files: make.gauge(
                "parallel_llm_store_spill_files",
                "Files with events that the run database has yet to take.",
            ),
            open_circuits: make.register(GaugeVec::new(
                Opts::new(
                    "parallel_llm_circuits_open",
                    "Models that are not asked for a while because they keep failing.",
                ),
                &["provider"],
            )),
            http_requests: make.counter(
                "parallel_llm_http_requests_total",
                "HTTP requests by route, method and status.",
                &["route", "method", "status"],
            ),
            dropped_spans: make.register(IntCounter::new(
                "parallel_llm_spans_dropped_total",
                "Spans that the collector did not take.",
            )),
        }
    }
}

impl Meter {
    /// A meter that has counted nothing.
    pub(super) fn new(labels: Arc<Labels>) -> Self {
        let maker = Maker(Registry::new());
        let families = Families::new(&maker);
        families.build.set(1);
        Self { registry: maker.0, families: Arc::new(families), labels }
    }

    /// A run has begun, or a further part of one.
    pub(super) fn run_begun(&self, is_new: bool) {
        self.families.runs_begun.with_label_values(&[if is_new { "new" } else { "continued" }]).inc();
        self.families.runs_in_flight.inc();
    }

    /// A run is decided, so many milliseconds after it or its newest part began.
    pub(super) fn run_decided(&self, status: RunStatus, elapsed_ms: u64) {
        self.families.run_answer_seconds.with_label_values(&[status.as_str()]).observe(seconds(elapsed_ms));
    }

    /// A run is closed.
    pub(super) fn run_closed(&self, status: RunStatus) {
        self.families.runs_ended.with_label_values(&[status.as_str()]).inc();
    }

    /// A run is no longer followed, with so many requests whose end is not known.
    pub(super) fn run_left(&self, open_calls: usize) {
        self.families.runs_in_flight.dec();
        self.families.calls_in_flight.sub(i64::try_from(open_calls).unwrap_or(i64::MAX));
    }

    /// A request leaves.
    pub(super) fn call_sent(&self, model: &ModelRef) {
        self.families.calls_sent.with_label_values(&self.call(model)).inc();
        self.families.calls_in_flight.inc();
    }

    /// A request has ended.
    pub(super) fn call_ended(&self, ended: &EndedCall<'_>) {
        let Families { answers, failures, retries, calls_in_flight, .. } = &*self.families;
        let [provider, model] = self.call(ended.model);
        if ended.answer.is_some() {
            let kind = if ended.is_answered() { "whole" } else { "cut" };
            answers.with_label_values(&[provider, model, kind]).inc();
        }
        if let Some(code) = ended.code {
            failures.with_label_values(&[provider, model, code.as_str()]).inc();
        }
        if ended.is_retried {
            retries.with_label_values(&[provider, model]).inc();
        }
        if ended.sent_ms.is_some() {
            calls_in_flight.dec();
            self.measure(ended);
        }
        if let Some(cost) = ended.cost {
            let is_estimate = ended.answer.is_some_and(|answer| answer.cost_is_estimate);
            self.spend(provider, cost, if is_estimate { "estimated" } else { "reported" });
        }
    }

    /// The cost of a request is known, after its end.
    pub(super) fn call_priced(&self, model: &ModelRef, cost: PicoUsd) {
        self.spend(self.labels.provider(&model.provider), cost, "reported");
    }

    fn spend(&self, provider: &str, cost: PicoUsd, kind: &str) {
        // A counter takes no refund, and no provider has been seen to report one.
        self.families.cost_usd.with_label_values(&[provider, kind]).inc_by(cost.as_usd().max(0.0));
    }

    /// The durations and token counts of a request.
    fn measure(&self, ended: &EndedCall<'_>) {
        let Families { first_token_seconds, duration, tokens, token_usage, .. } = &*self.families;
        let [provider, model] = self.call(ended.model);
        let error = ended.code.map_or("", |code| code.as_str());
        let by_convention = |last| [OPERATION, conventional(provider), model, last];
        let elapsed_ms = ended.ended_ms.saturating_sub(ended.sent_ms.unwrap_or_default());
        duration.with_label_values(&by_convention(error)).observe(seconds(elapsed_ms));
        let Some(answer) = ended.answer else { return };
        if let Some(first_ms) = answer.first_token_ms {
            first_token_seconds.with_label_values(&[provider]).observe(seconds(first_ms));
        }
        for (direction, count) in
            [("input", answer.usage.input_tokens), ("output", answer.usage.output_tokens)]
        {
            let Some(count) = count else { continue };
            tokens.with_label_values(&[provider, model, direction]).inc_by(count);
            token_usage.with_label_values(&by_convention(direction)).observe(count as f64);
        }
    }

    fn call<'a>(&'a self, model: &'a ModelRef) -> [&'a str; 2] {
        [self.labels.provider(&model.provider), self.labels.model(model)]
    }

    /// An HTTP request was answered. The route is a template of the program's, the method one that it serves.
    pub fn http_answered(&self, route: &str, method: &str, status: u16) {
        self.families.http_requests.with_label_values(&[route, method, &status.to_string()]).inc();
    }

    /// So many spans were not taken by the collector.
    pub(super) fn spans_dropped(&self, count: usize) {
        self.families.dropped_spans.inc_by(count as u64);
    }

    /// Every family that has a line, with what is looked at now.
    pub(super) fn gather(&self, moment: &Moment) -> Vec<MetricFamily> {
        let Families { commit_queue, spill_files, open_circuits, .. } = &*self.families;
        let count = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        commit_queue.set(count(moment.commit_queue));
        spill_files.set(count(moment.spill_files));
        for provider in self.labels.providers() {
            let open = moment.open_circuits.iter().filter(|of| *of == provider).count();
            open_circuits.with_label_values(&[provider]).set(open as f64);
        }
        self.registry.gather()
    }

    /// The figures in the text format of Prometheus.
    pub fn text(&self, moment: &Moment) -> String {
        let families = self.gather(moment);
        TextEncoder::new().encode_to_string(&families).expect("counted values are always written")
    }
}

fn seconds(ms: u64) -> f64 {
    ms as f64 / 1000.0
}

/// Every family in Markdown, for the documentation.
pub fn reference() -> String {
    let maker = Maker(Registry::new());
    let families = Families::new(&maker);
    let described: [&dyn Collector; 20] = [
        &families.build,
        &families.runs_begun,
        &families.runs_ended,
        &families.runs_in_flight,
        &families.run_answer_seconds,
        &families.calls_sent,
        &families.calls_in_flight,
        &families.answers,
        &families.failures,
        &families.retries,
        &families.tokens,
        &families.cost_usd,
        &families.first_token_seconds,
        &families.duration,
        &families.token_usage,
        &families.commit_queue,
        &families.spill_files,
        &families.open_circuits,
        &families.http_requests,
        &families.dropped_spans,
    ];
    let mut page = String::from("| figure | labels | meaning |\n|---|---|---|\n");
    for description in described.iter().flat_map(|family| family.desc()) {
        let constant = description.const_label_pairs.iter().map(|pair| pair.name().to_owned());
        let labels = constant.chain(description.variable_labels.iter().cloned());
        let labels: Vec<String> = labels.map(|label| format!("`{label}`")).collect();
        let _ =
            writeln!(page, "| `{}` | {} | {} |", description.fq_name, labels.join(", "), description.help);
    }
    page
}
