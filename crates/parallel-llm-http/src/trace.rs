//! The trace that a request belongs to, from its headers.

use axum::http::HeaderMap;
use parallel_llm_engine::value::trace::{TRACE_PARENT, TRACE_STATE, TraceContext};

/// The caller's place in its trace, as in W3C Trace Context; `None` if there is none, or if it cannot be read.
pub fn trace_of(headers: &HeaderMap) -> Option<TraceContext> {
    let mut parents = headers.get_all(TRACE_PARENT).iter();
    let (Some(parent), None) = (parents.next(), parents.next()) else { return None };
    let context: TraceContext = parent.to_str().ok()?.trim().parse().ok()?;
    // Several headers are one list.
    let states = headers.get_all(TRACE_STATE).iter().map(|state| state.to_str().ok());
    let state = states.collect::<Option<Vec<&str>>>().unwrap_or_default().join(",");
    Some(context.with_state(&state))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(headers: &[(&'static str, &str)], expected: Option<&str>) {
        let headers = headers.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
        let described = trace_of(&headers.collect()).map(|context| format!("{context} {}", context.state));
        assert_eq!(described.as_deref(), expected);
    }

    #[test]
    fn a_trace_is_one_header_that_can_be_read() {
        let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        check(&[], None);
        check(&[("traceparent", parent)], Some(&format!("{parent} ")));
        let states = [("traceparent", parent), ("tracestate", "a=1"), ("tracestate", "b=2")];
        check(&states, Some(&format!("{parent} a=1,b=2")));
        check(&[("traceparent", parent), ("traceparent", parent)], None);
        check(&[("traceparent", "00-0-0-01")], None);
        check(&[("tracestate", "a=1")], None);
    }
}
