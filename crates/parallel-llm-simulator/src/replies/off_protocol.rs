//! Replies outside every provider's API: HTML pages, redirects, foreign error shapes, late errors.

use std::net::SocketAddr;

use hyper::StatusCode;

use super::json::Object;
use super::reply::{Reply, Steps};

/// The login page of a captive portal.
const LOGIN_PAGE: &str = "<!DOCTYPE html><title>Sign in to the network</title>\
    <form action=\"/login\"><input name=\"user\"><input name=\"password\" type=\"password\"></form>";

/// Issues as the validation library writes them: JSON inside a string.
const ZOD_ISSUES: &str = r#"[ { "code": "invalid_type", "expected": "string", "received": "number", "path": ["model"], "message": "Expected string, received number" } ]"#;

/// Keep-alive padding before a JSON body; JSON readers skip white space.
pub(crate) const PADDING: &[u8] = b"\n         \n";

/// Paddings before the late error, at any time scale: the client has to skip some.
const LATE_ERROR_PADDINGS: u32 = 3;

/// The page of a proxy that timed out waiting for this host.
pub(crate) fn timeout_page(host: &str) -> Reply {
    let status = StatusCode::from_u16(524).expect("524 has three digits");
    let page = format!(
        "<!DOCTYPE html><title>{host} | 524: A timeout occurred</title>\
         <h1>A timeout occurred</h1><p>Error code 524</p><script>alert(1)</script>"
    );
    Reply::whole(status, "text/html; charset=UTF-8", page.into())
}

pub(crate) fn login_page() -> Reply {
    Reply::whole(StatusCode::OK, "text/html; charset=UTF-8", LOGIN_PAGE.into())
}

/// A redirect to the listener that records its visitors.
pub(crate) fn redirect(target: SocketAddr) -> Reply {
    let reply = Reply::whole(StatusCode::TEMPORARY_REDIRECT, "text/plain", Vec::new());
    reply.header("location", &format!("http://{target}/steal"))
}

pub(crate) fn zod(issues: Option<&str>) -> Reply {
    let error = Object::new().with("name", "ZodError").with("message", issues.unwrap_or(ZOD_ISSUES));
    let body = Object::new().with("success", &false).nest("error", error);
    Reply::json(StatusCode::BAD_REQUEST, body.bytes())
}

/// A failure after the status was sent: padding, then a body that holds only an error.
pub(crate) fn late_error(generation_id: &str, every_ms: u64, time_scale: f64) -> Reply {
    let mut steps = Steps::new(time_scale);
    for _ in 0..LATE_ERROR_PADDINGS {
        steps.send(PADDING, 0);
        steps.pause_ms(every_ms as f64);
    }
    let error = Object::new()
        .with("code", &502)
        .with("message", "Provider disconnected mid-stream")
        .nest("metadata", Object::new().with("error_type", "provider_unavailable"));
    steps.send(&Object::new().with("id", generation_id).nest("error", error).bytes(), 0);
    Reply::steps(StatusCode::OK, "application/json", steps)
}
