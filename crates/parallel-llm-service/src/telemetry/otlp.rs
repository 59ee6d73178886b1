//! OTLP as JSON: what a collector is sent. Version 1 of the protocol, which only grows.
//!
//! Written here, because the SDK brings a dozen crates, a queue, threads and readers of the environment, of which this program
//! needs none: its spans are facts of the past, with their own ids and times.

use parallel_llm_engine::value::trace::{SpanId, TraceId};
use prometheus::proto::{Histogram, Metric, MetricFamily, MetricType};
use serde_json::{Map, Value, json};

use super::families::{DURATION, TOKEN_USAGE};

/// The path of spans below the collector's address.
pub(super) const TRACES: &str = "v1/traces";
/// The path of metrics.
pub(super) const METRICS: &str = "v1/metrics";

/// The bit of a span's flags that says that it is recorded.
const SAMPLED: u32 = 1;
/// The bits that say whether its parent is in another process.
const KNOWS_REMOTE: u32 = 0x100;
const IS_REMOTE: u32 = 0x200;
/// Figures are sums since the start of the process, which every backend accepts.
const CUMULATIVE: u32 = 2;
/// The status of a span that failed. Others are left open, as the conventions say.
const ERROR: u32 = 2;
/// The scope of everything that is exported.
const SCOPE: &str = "parallel-llm-mcp";
/// What the labels of the GenAI conventions are called where dots are allowed.
const NAMES: [(&str, &str); 7] = [
    (DURATION, "gen_ai.client.operation.duration"),
    (TOKEN_USAGE, "gen_ai.client.token.usage"),
    ("gen_ai_operation_name", "gen_ai.operation.name"),
    ("gen_ai_provider_name", "gen_ai.provider.name"),
    ("gen_ai_request_model", "gen_ai.request.model"),
    ("gen_ai_token_type", "gen_ai.token.type"),
    ("error_type", "error.type"),
];

/// The kind of a span.
#[derive(Clone, Copy, Debug)]
pub(super) enum SpanKind {
    /// Work of this process.
    Internal = 1,
    /// A request to another server.
    Client = 3,
}

/// A finished span.
pub(super) struct Span<'a> {
    pub(super) trace: TraceId,
    pub(super) id: SpanId,
    pub(super) parent: Option<SpanId>,
    /// Whether the parent is in another process.
    pub(super) is_remote: bool,
    /// The `tracestate`; empty if there is none.
    pub(super) state: &'a str,
    pub(super) name: String,
    pub(super) kind: SpanKind,
    /// Milliseconds since 1970.
    pub(super) start_ms: u64,
    pub(super) end_ms: u64,
    pub(super) is_error: bool,
    pub(super) attributes: Attributes,
}

/// The attributes of a span, each name once.
#[derive(Default)]
pub(super) struct Attributes(Vec<Value>);

impl Attributes {
    pub(super) fn text(&mut self, name: &str, value: &str) {
        self.add(name, &json!({ "stringValue": value }));
    }

    pub(super) fn text_if(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.text(name, value);
        }
    }

    pub(super) fn whole(&mut self, name: &str, value: u64) {
        // Numbers of 64 bits are texts in this protocol.
        self.add(name, &json!({ "intValue": value.to_string() }));
    }

    pub(super) fn whole_if(&mut self, name: &str, value: Option<u64>) {
        if let Some(value) = value {
            self.whole(name, value);
        }
    }

    pub(super) fn decimal(&mut self, name: &str, value: f64) {
        self.add(name, &json!({ "doubleValue": value }));
    }

    pub(super) fn switch(&mut self, name: &str, value: bool) {
        self.add(name, &json!({ "boolValue": value }));
    }

    pub(super) fn list(&mut self, name: &str, values: &[String]) {
        let values: Vec<Value> = values.iter().map(|value| json!({ "stringValue": value })).collect();
        self.add(name, &json!({ "arrayValue": { "values": values } }));
    }

    fn add(&mut self, name: &str, value: &Value) {
        self.0.push(json!({ "key": name, "value": value }));
    }

    /// The attributes as the protocol writes them.
    pub(super) fn into_json(self) -> Value {
        self.0.into()
    }
}

impl Span<'_> {
    pub(super) fn into_json(self) -> Value {
        let remote = if self.is_remote { IS_REMOTE } else { 0 };
        let mut span = json!({
            "traceId": self.trace.to_string(),
            "spanId": self.id.to_string(),
            "flags": SAMPLED | KNOWS_REMOTE | remote,
            "name": self.name,
            "kind": self.kind as u32,
            "startTimeUnixNano": nanoseconds(self.start_ms),
            "endTimeUnixNano": nanoseconds(self.end_ms),
            "attributes": self.attributes.into_json(),
            "status": if self.is_error { json!({ "code": ERROR }) } else { json!({}) },
        });
        if let Some(parent) = self.parent {
            span["parentSpanId"] = parent.to_string().into();
        }
        if !self.state.is_empty() {
            span["traceState"] = self.state.into();
        }
        span
    }
}

/// The body with these spans of this resource.
pub(super) fn spans(resource: &Value, spans: &[Value]) -> Vec<u8> {
    let of_scope = json!([{ "scope": scope(), "spans": spans }]);
    bytes_of(&json!({ "resourceSpans": [{ "resource": resource, "scopeSpans": of_scope }] }))
}

/// The body with these families, counted from one moment to the other in milliseconds since 1970.
pub(super) fn metrics(resource: &Value, families: &[MetricFamily], times: (u64, u64)) -> Vec<u8> {
    let metrics: Vec<Value> = families.iter().filter_map(|family| metric(family, times)).collect();
    let of_scope = json!([{ "scope": scope(), "metrics": metrics }]);
    bytes_of(&json!({ "resourceMetrics": [{ "resource": resource, "scopeMetrics": of_scope }] }))
}

fn metric(family: &MetricFamily, times: (u64, u64)) -> Option<Value> {
    let points = |point: fn(&Metric, &mut Map<String, Value>)| -> Vec<Value> {
        let points = family.get_metric().iter().map(|metric| {
            let mut fields = common(metric, times);
            point(metric, &mut fields);
            fields.into()
        });
        points.collect()
    };
    let (kind, data) = match family.get_field_type() {
        MetricType::COUNTER => {
            let points = points(|metric, fields| {
                fields.insert("asDouble".to_owned(), metric.get_counter().get_value().into());
            });
            let sum =
                json!({ "dataPoints": points, "aggregationTemporality": CUMULATIVE, "isMonotonic": true });
            ("sum", sum)
        }
        MetricType::GAUGE => {
            let points = points(|metric, fields| {
                fields.insert("asDouble".to_owned(), metric.get_gauge().get_value().into());
            });
            ("gauge", json!({ "dataPoints": points }))
        }
        MetricType::HISTOGRAM => {
            let points = points(|metric, fields| buckets(metric.get_histogram(), fields));
            ("histogram", json!({ "dataPoints": points, "aggregationTemporality": CUMULATIVE }))
        }
        MetricType::SUMMARY | MetricType::UNTYPED => return None,
    };
    let written = family.name();
    let unit = if written == TOKEN_USAGE {
        "{token}"
    } else if written.ends_with("_seconds") {
        "s"
    } else {
        ""
    };
    Some(json!({ "name": name(written), "description": family.help(), "unit": unit, kind: data }))
}

/// The fields of a point of any kind.
fn common(metric: &Metric, (start_ms, now_ms): (u64, u64)) -> Map<String, Value> {
    let mut attributes = Attributes::default();
    // An empty label is a missing one.
    for label in metric.get_label().iter().filter(|label| !label.value().is_empty()) {
        attributes.text(name(label.name()), label.value());
    }
    Map::from_iter([
        ("attributes".to_owned(), attributes.into_json()),
        ("startTimeUnixNano".to_owned(), nanoseconds(start_ms).into()),
        ("timeUnixNano".to_owned(), nanoseconds(now_ms).into()),
    ])
}

/// The fields of a histogram. Its counts add up in the text format, and stand alone here.
fn buckets(histogram: &Histogram, fields: &mut Map<String, Value>) {
    let (mut bounds, mut counts, mut below) = (Vec::new(), Vec::new(), 0);
    for bucket in histogram.get_bucket().iter().filter(|bucket| bucket.upper_bound().is_finite()) {
        bounds.push(bucket.upper_bound());
        counts.push((bucket.cumulative_count() - below).to_string());
        below = bucket.cumulative_count();
    }
    counts.push((histogram.get_sample_count() - below).to_string());
    fields.insert("count".to_owned(), histogram.get_sample_count().to_string().into());
    fields.insert("sum".to_owned(), histogram.get_sample_sum().into());
    fields.insert("bucketCounts".to_owned(), counts.into());
    fields.insert("explicitBounds".to_owned(), bounds.into());
}

/// The name of a family or label in this protocol.
fn name(written: &str) -> &str {
    let known = NAMES.iter().find(|(text, _)| *text == written).map(|(_, name)| *name);
    known.unwrap_or_else(|| written.strip_suffix("_total").unwrap_or(written))
}

fn scope() -> Value {
    json!({ "name": SCOPE, "version": env!("CARGO_PKG_VERSION") })
}

fn nanoseconds(ms: u64) -> String {
    u128::from(ms).saturating_mul(1_000_000).to_string()
}

fn bytes_of(value: &Value) -> Vec<u8> {
    serde_json::to_vec(value).expect("plain values are always written")
}

/// A value as text, for attributes that hold JSON.
pub(super) fn text_of(value: &Value) -> String {
    value.to_string()
}
