//! The trace that a call passes on, by which its server can tell to which request of which run it belongs.
//!
//! Invariant: unless the settings say so, a vendor known by name gets no ids, because they tie together requests that it
//! could not tie together otherwise.

use http::{HeaderMap, HeaderName, HeaderValue};
use parallel_llm_engine::port::Call;
use parallel_llm_engine::value::trace::{TRACE_PARENT, TRACE_STATE, TraceContext, TraceId};

use super::endpoint::Endpoint;

const PARENT: HeaderName = HeaderName::from_static(TRACE_PARENT);
const STATE: HeaderName = HeaderName::from_static(TRACE_STATE);

/// Which addresses get the trace of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TraceReach {
    /// None.
    Nobody,
    /// Those that the user chose, see [`Endpoint::is_users_own`].
    #[default]
    Own,
    /// Every one.
    Everybody,
}

/// How calls pass on their trace.
#[derive(Clone, Copy, Debug, Default)]
pub struct Traces {
    /// The addresses that get it.
    pub reach: TraceReach,
    /// Whether a run begins a trace if its caller gave it none: its spans are exported, so that somebody can see it.
    pub begun: bool,
}

impl Traces {
    /// Adds the headers of a call's trace: the span of this very request, in the caller's trace or that of the run.
    pub(crate) fn add(self, endpoint: &Endpoint, call: &Call, headers: &mut HeaderMap) {
        let reaches = match self.reach {
            TraceReach::Nobody => false,
            TraceReach::Own => endpoint.is_users_own(),
            TraceReach::Everybody => true,
        };
        let Some(context) = self.context(call).filter(|_| reaches) else { return };
        let value = |text: &str| HeaderValue::from_str(text).expect("a trace context is printable ASCII");
        headers.insert(PARENT, value(&context.to_string()));
        if !context.state.is_empty() {
            headers.insert(STATE, value(&context.state));
        }
    }

    fn context(self, call: &Call) -> Option<TraceContext> {
        let span = call.attempt.span(call.run_id);
        match &call.lineage.trace {
            Some(caller) => Some(caller.within(span)),
            None => self.begun.then(|| TraceContext {
                trace: TraceId::of_run(call.run_id),
                span,
                is_sampled: true,
                state: String::new(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parallel_llm_engine::run::event::Attempt;
    use parallel_llm_engine::{CallerSlot, Lineage, ModelRef, ProviderId, RunId, SeatNumber};

    use super::*;
    use crate::providers::dialect::Dialect;

    const CALLER: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";

    /// The headers of a call to this address by a caller with this trace.
    fn told(traces: Traces, address: &str, caller: Option<&str>) -> Vec<String> {
        let id = ProviderId("test".into());
        let endpoint = Endpoint::new(id.clone(), address, None, Dialect::OPENAI_COMPATIBLE).unwrap();
        let trace = caller.map(|text| text.parse::<TraceContext>().unwrap().with_state("a=1"));
        let call = Call {
            run_id: RunId::from_parts(1, 2),
            attempt: Attempt { slot: CallerSlot::Seat(SeatNumber(1)), number: 1 },
            model: ModelRef { provider: id, model: "a/b".to_owned() },
            messages: Arc::default(),
            temperature: None,
            max_tokens: 1,
            effort: None,
            json: false,
            routing: Arc::default(),
            lineage: Arc::new(Lineage { trace, ..Lineage::default() }),
            asked_by: None,
            without: Vec::new(),
        };
        let mut headers = HeaderMap::new();
        traces.add(&endpoint, &call, &mut headers);
        headers.iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect()
    }

    #[test]
    fn a_trace_is_for_servers_of_the_users_own_unless_the_settings_say_so() {
        let (own, vendor) = ("https://gateway.example/v1", "https://api.openai.com/v1");
        let passing = |reach| Traces { reach, begun: false };
        let caller =
            ["traceparent: 00-0af7651916cd43dd8448eb211c80319c-eb812cd905ef651d-00", "tracestate: a=1"];
        assert_eq!(told(passing(TraceReach::Own), own, Some(CALLER)), caller);
        assert_eq!(told(passing(TraceReach::Own), vendor, Some(CALLER)), [""; 0]);
        assert_eq!(told(passing(TraceReach::Everybody), vendor, Some(CALLER)), caller);
        assert_eq!(told(passing(TraceReach::Nobody), own, Some(CALLER)), [""; 0]);
        assert_eq!(told(passing(TraceReach::Own), own, None), [""; 0]);
        // A run whose spans are exported begins a trace of its own.
        let begun = Traces { reach: TraceReach::Own, begun: true };
        assert_eq!(
            told(begun, own, None),
            ["traceparent: 00-00000000000100000000000000000002-eb812cd905ef651d-01"]
        );
    }
}
