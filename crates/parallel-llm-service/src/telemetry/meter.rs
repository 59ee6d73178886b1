//! The figures of this process, counted from the events of its runs.
//!
//! [`Meter`] is read in two ways: as text at `/metrics`, and by the export to a collector. [`families`](super::families)
//! has all of them with their meaning. Invariant: labels are those of [`Labels`](super::labels::Labels), so that no caller adds a line.

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use parallel_llm_engine::{ModelRef, PicoUsd, RunStatus};
use parking_lot::Mutex;
use prometheus::proto::MetricFamily;
use prometheus::{Registry, TextEncoder};

use super::calls::EndedCall;
use super::families::Families;
use super::labels::{Labels, conventional};

/// The media type of the text.
pub const MEDIA_TYPE: &str = prometheus::TEXT_FORMAT;

/// The operation of every call.
pub(super) const OPERATION: &str = "chat";

/// The figures of this process. Cheap to clone; clones count together.
#[derive(Clone)]
pub struct Meter {
    registry: Registry,
    families: Arc<Families>,
    labels: Arc<Labels>,
    /// The turn to look: what one reader has looked at is not written over before it is read.
    turn: Arc<Mutex<()>>,
}

impl fmt::Debug for Meter {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Meter")
    }
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

/// Looks at a moment.
pub(crate) type LookAround = Arc<dyn Fn() -> BoxFuture<'static, Moment> + Send + Sync>;

impl Meter {
    /// A meter that has counted nothing.
    pub(super) fn new(labels: Arc<Labels>) -> Self {
        let registry = Registry::new();
        let families = Families::new(&registry);
        families.build.with_label_values(&[env!("CARGO_PKG_VERSION")]).set(1.0);
        Self { registry, families: Arc::new(families), labels, turn: Arc::default() }
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

    /// How many were not.
    pub(super) fn dropped_spans(&self) -> u64 {
        self.families.dropped_spans.get()
    }

    /// Every family that has a line, with what is looked at now.
    pub(super) fn gather(&self, moment: &Moment) -> Vec<MetricFamily> {
        let Families { commit_queue, spill_files, open_circuits, .. } = &*self.families;
        let _turn = self.turn.lock();
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
