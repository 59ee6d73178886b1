//! The collector of telemetry: whether it takes what it is sent.

use crate::doctor::finding::Finding;
use crate::doctor::instruments::Doctor;

/// An export without spans, which changes nothing at the collector.
const NOTHING: &[u8] = br#"{"resourceSpans":[]}"#;

/// Reports nothing if nothing is exported, as on most machines.
pub(crate) async fn examine(doctor: &Doctor) -> Vec<Finding> {
    let telemetry = &doctor.settings.telemetry;
    let told = match (&telemetry.endpoint, &doctor.post_telemetry) {
        (_, Some(post)) => match post("v1/traces", NOTHING.to_vec()).await {
            Ok(()) => Finding::ok("the collector takes traces"),
            Err(failure) => {
                Finding::warning(format!("the collector: {}", failure.message), failure.next_steps())
            }
        },
        (Some(_), None) => {
            let found = "`otlp_endpoint` cannot be used, so nothing is exported";
            Finding::warning(found, "name an address with https, or with http on this machine")
        }
        (None, None) => {
            let Some(variable) = telemetry.unread else { return Vec::new() };
            let found = format!("`{variable}` cannot be used, so nothing is exported");
            Finding::warning(found, "name an address such as `http://127.0.0.1:4318`")
        }
    };
    vec![told]
}
