//! Where telemetry goes, and what it may carry: our settings, and the standard variables of OpenTelemetry.
//!
//! The standard variables are meant for every program of a machine. So one that this program cannot use turns the export off
//! and is reported, and never stops a question. Invariant: values of headers are secrets.

use std::str::FromStr;

use parallel_llm_engine::request::panel::DEFAULT_PROVIDER;
use parallel_llm_engine::value::trace::TraceContext;
use parallel_llm_engine::{ModelRef, PanelEntry, ProviderId};
use parallel_llm_provider::TraceReach;
use percent_encoding::percent_decode_str;
use secrecy::SecretString;

use super::Settings;
use super::sources::environment::{
    COLLECTOR, COLLECTOR_HEADERS, EXPORT_DISABLED, Environment, RESOURCE, SERVICE_NAME, TRACE_PARENT,
    TRACE_STATE,
};
use super::sources::layer::Layer;
use super::table::Setting;
use super::value::origin::Origin;

/// The most headers, and the most facts: many times what a collector needs.
const PAIRS_MAX: usize = 32;

/// Who gets the server's figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MetricsReach {
    /// Everyone who reaches the server.
    Open,
    /// The owner, and tokens with the scope for it.
    #[default]
    Granted,
    /// No one.
    Off,
}

/// Where telemetry goes.
#[derive(Clone, Debug, Default)]
pub struct TelemetrySettings {
    /// The collector's address; `None` if nothing is exported.
    pub endpoint: Option<String>,
    /// The standard variable that should name the collector and cannot be read.
    pub unread: Option<&'static str>,
    /// Headers for the collector.
    pub headers: Vec<(String, SecretString)>,
    /// Whether questions and answers are exported, too.
    pub content: bool,
    /// The name of this service in traces.
    pub service_name: Option<String>,
    /// Further facts about this service.
    pub resource: Vec<(String, String)>,
    /// Which addresses get the trace of a call.
    pub trace_calls: TraceReach,
    /// Who gets the server's figures.
    pub metrics: MetricsReach,
    /// The trace in which a command is called.
    pub parent: Option<TraceContext>,
}

impl Settings {
    /// The models that the settings name: of the panel, the synthesizers, the presets and the flows. Short names stay short.
    pub fn named_models(&self) -> Vec<ModelRef> {
        let default = ProviderId(DEFAULT_PROVIDER.to_owned());
        let is_provider = |name: &str| self.providers.iter().any(|provider| provider.id.0 == name);
        let presets = self.presets.values().flat_map(|preset| [&preset.panel, &preset.synthesizer]);
        let flows = self.flows.values().filter_map(|file| file.flow.as_ref().ok());
        let stages = flows.flat_map(|named| &named.flow.stages);
        let of_stages = stages.flat_map(|stage| stage.panel.iter().chain(stage.synthesizer.iter().flatten()));
        let written =
            self.panel.iter().chain(&self.synthesizer).chain(presets.flatten().flatten()).chain(of_stages);
        let read = |text: &String| PanelEntry::parse(&self.aliases.expand(text), &default, is_provider).ok();
        written.filter_map(read).map(|entry| entry.model).collect()
    }
}

/// The settings of telemetry.
pub(super) fn read(layer: &Layer, environment: &Environment) -> TelemetrySettings {
    let is_disabled =
        environment.readable(EXPORT_DISABLED).is_some_and(|text| text.eq_ignore_ascii_case("true"));
    let named = layer.entry(Setting::OtlpEndpoint);
    let is_standard = environment.is_set(COLLECTOR) && matches!(named.origin, Origin::Default);
    TelemetrySettings {
        endpoint: layer.word_if_set(Setting::OtlpEndpoint).filter(|_| !is_disabled),
        unread: (is_standard && !is_disabled).then_some(COLLECTOR),
        headers: pairs(environment, COLLECTOR_HEADERS).map(|(name, value)| (name, value.into())).collect(),
        content: layer.switch(Setting::OtlpContent),
        service_name: environment.readable(SERVICE_NAME).map(str::to_owned),
        resource: pairs(environment, RESOURCE).collect(),
        // The table allows no other words than those matched here.
        trace_calls: match layer.word(Setting::TraceCalls).as_str() {
            "all" => TraceReach::Everybody,
            "own" => TraceReach::Own,
            _ => TraceReach::Nobody,
        },
        metrics: match layer.word(Setting::Metrics).as_str() {
            "open" => MetricsReach::Open,
            "on" => MetricsReach::Granted,
            _ => MetricsReach::Off,
        },
        parent: parent(environment),
    }
}

/// The pairs of a variable written like `name=value,name=value`, percent-encoded as the standard says. What is no pair is left
/// out.
fn pairs(environment: &Environment, variable: &str) -> impl Iterator<Item = (String, String)> {
    let text = environment.readable(variable).unwrap_or_default().to_owned();
    let pairs: Vec<(String, String)> = text
        .split(',')
        .filter_map(|pair| {
            let (name, value) = pair.split_once('=')?;
            let value = percent_decode_str(value.trim()).decode_utf8().ok()?;
            let name = name.trim();
            (!name.is_empty()).then(|| (name.to_owned(), value.into_owned()))
        })
        .take(PAIRS_MAX)
        .collect();
    pairs.into_iter()
}

/// The trace in which a command is called. One that cannot be read is none, as the standard says.
fn parent(environment: &Environment) -> Option<TraceContext> {
    let context = TraceContext::from_str(environment.readable(TRACE_PARENT)?).ok()?;
    Some(context.with_state(environment.readable(TRACE_STATE).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use secrecy::ExposeSecret;

    fn with(variables: &[(&str, &str)]) -> TelemetrySettings {
        let add = |environment: Environment, (name, value): &(&str, &str)| environment.with(name, *value);
        let environment = variables.iter().fold(Environment::default(), add);
        let layer = Layer::defaults().under(&environment.layer().unwrap());
        read(&layer, &environment)
    }

    #[test]
    fn the_standard_variables_are_understood() {
        let settings = with(&[
            (COLLECTOR, "http://localhost:4318"),
            (COLLECTOR_HEADERS, "authorization=Basic%20YTpi, x-team = blue ,nonsense,=x"),
            (SERVICE_NAME, "asker"),
            (RESOURCE, "deployment.environment.name=test"),
        ]);
        assert_eq!(settings.endpoint.as_deref(), Some("http://localhost:4318"));
        let headers = settings.headers.iter().map(|(name, value)| (name.as_str(), value.expose_secret()));
        assert_eq!(headers.collect::<Vec<_>>(), [("authorization", "Basic YTpi"), ("x-team", "blue")]);
        assert_eq!(settings.service_name.as_deref(), Some("asker"));
        assert_eq!(settings.resource, [("deployment.environment.name".to_owned(), "test".to_owned())]);
        assert!(!format!("{settings:?}").contains("YTpi"), "{settings:?}");
        assert_eq!((settings.content, settings.metrics), (false, MetricsReach::Granted));
    }

    #[test]
    fn our_own_address_comes_first_and_a_standard_one_that_cannot_be_read_stops_nothing() {
        let ours = "PARALLEL_LLM_OTLP_ENDPOINT";
        let of = |variables: &[(&str, &str)]| {
            let settings = with(variables);
            (settings.endpoint, settings.unread)
        };
        let there = |address: &str| Some(address.to_owned());
        assert_eq!(of(&[]), (None, None));
        assert_eq!(of(&[(COLLECTOR, "localhost:4317")]), (None, Some(COLLECTOR)));
        assert_eq!(of(&[(COLLECTOR, "https://a"), (ours, "https://b")]), (there("https://b"), None));
        assert_eq!(of(&[(COLLECTOR, "https://a"), (ours, "off")]), (None, None));
        assert_eq!(of(&[(COLLECTOR, "https://a"), (EXPORT_DISABLED, "TRUE")]), (None, None));
        assert_eq!(of(&[(COLLECTOR, "https://a"), (EXPORT_DISABLED, "false")]), (there("https://a"), None));
    }

    #[test]
    fn a_command_may_be_called_within_a_trace() {
        let header = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let parent = with(&[(TRACE_PARENT, header), (TRACE_STATE, "a=1")]).parent.unwrap();
        assert_eq!((parent.to_string(), parent.state), (header.to_owned(), "a=1".to_owned()));
        assert_eq!(with(&[(TRACE_PARENT, "00-0-0-01")]).parent, None);
    }
}
