//! Health, readiness, and who may read the figures.

use std::net::SocketAddr;

use parallel_llm_testkit::Sandbox;
use parallel_llm_testkit::simulator::{Fault, Script};
use serde_json::json;

use crate::http::client::{Reply, Wire};
use crate::http::program::{call, question, sandbox_with, serve, structured};
use crate::http::sessions::{modern, modern_with};

use super::{get, try_get};

fn head(address: SocketAddr, path: &str) -> Reply {
    let mut wire = Wire::to(address);
    wire.write(format!("HEAD {path} HTTP/1.1\r\nHost: {address}\r\n\r\n"));
    wire.reply_head().expect("an answer")
}

/// The header with a new token.
fn token(sandbox: &Sandbox, name: &str, flags: &[&str]) -> String {
    let made = sandbox.call(["keys", "create", name]).args(flags).run();
    assert_eq!(made.code, Some(0), "{}", made.transcript());
    format!("Authorization: Bearer {}\r\n", made.text().trim())
}

#[test]
fn health_and_readiness_need_no_token_and_touch_nothing() {
    let sandbox = sandbox_with(None);
    let (_running, address) = serve(&sandbox, &[], &[]);
    let healthy = get(address, "/healthz", "");
    assert_eq!((healthy.status, healthy.text().as_str()), (200, "ok\n"));
    assert_eq!(healthy.header("cache-control"), Some("no-store"));
    let ready = get(address, "/readyz", "");
    assert_eq!((ready.status, ready.json()), (200, json!({"status": "ready"})));
    assert_eq!((head(address, "/healthz").status, head(address, "/readyz").status), (200, 200));
    for path in ["/healthz/", "/healthz/x", "/readyz2"] {
        assert_ne!(get(address, path, "").status, 200, "{path} is not open");
    }
    assert_eq!(sandbox.simulator().requests().len(), 0);
}

#[cfg(unix)]
#[test]
fn a_server_that_cannot_store_is_not_ready_and_names_no_folder() {
    let sandbox = sandbox_with(None);
    // A folder stands where the database should be.
    std::fs::create_dir_all(sandbox.data_dir().join("runs.db")).unwrap();
    let (_running, address) = serve(&sandbox, &["--no-auth"], &[]);
    assert_eq!(get(address, "/healthz", "").status, 200);
    let reply = get(address, "/readyz", "");
    assert_eq!(reply.status, 503);
    assert_eq!(reply.json()["status"], "unready");
    let text = reply.text();
    assert!(text.contains("\"code\":\"storage\""), "{text}");
    assert!(!text.contains(&sandbox.home().display().to_string()), "{text}");
}

#[test]
fn a_server_that_stops_says_so_while_it_answers_what_is_in_flight() {
    let sandbox = sandbox_with(Some(&Script::fault(Fault::Stall)));
    let (running, address) = serve(&sandbox, &["--no-auth"], &[("drain_ms", "8000")]);
    let mut waiting = Wire::to(address);
    waiting.write(modern(address, "process_prompt", &question()));
    sandbox.until("all are asked", || sandbox.simulator().stats().in_flight == 3);
    let mut just_connected = Wire::to(address);
    running.signal("TERM");
    let is_unready = || try_get(address, "/readyz", "").is_some_and(|reply| reply.status == 503);
    sandbox.until("it stops", is_unready);
    let told = get(address, "/readyz", "").json();
    assert_eq!((&told["status"], &told["reasons"][0]["code"]), (&json!("unready"), &json!("busy")), "{told}");
    assert_eq!(get(address, "/healthz", "").status, 200);
    let refused = get(address, "/runs", "");
    assert_eq!((refused.status, refused.code().as_str()), (503, "busy"));
    just_connected.write(format!("GET /runs HTTP/1.1\r\nHost: {address}\r\n\r\n"));
    let refused = just_connected.reply().expect("an answer to who connected before");
    assert_eq!((refused.status, refused.code().as_str()), (503, "busy"));
    let answer = std::iter::from_fn(|| waiting.message()).find(|message| message.get("result").is_some());
    assert_eq!(structured(&answer.expect("an answer"))["status"], "running");
    assert_eq!(running.wait().code, Some(0));
}

#[test]
fn the_figures_are_for_the_owner_and_for_tokens_made_for_them() {
    let sandbox = sandbox_with(None);
    let (_running, address) = serve(&sandbox, &[], &[]);
    let refusal = |headers: &str| {
        let reply = get(address, "/metrics", headers);
        (reply.status, if reply.status == 200 { String::new() } else { reply.code() })
    };
    assert_eq!(refusal(""), (401, "token_refused".to_owned()));
    let usual = token(&sandbox, "anna", &[]);
    assert_eq!(refusal(&usual), (403, "scope_missing".to_owned()));
    let scraper = token(&sandbox, "scraper", &["--scope", "metrics"]);
    assert_eq!(refusal(&scraper).0, 200);
    // A scraper sees sums, and no run.
    let mut wire = Wire::to(address);
    wire.write(modern_with(&scraper, address, "process_prompt", &question()));
    let refused = wire.reply().unwrap();
    assert_eq!((refused.status, refused.code().as_str()), (403, "scope_missing"));
    let text = get(address, "/metrics", &scraper).text();
    assert!(!text.contains("anna") && !text.contains("scraper"), "{text}");
}

#[test]
fn the_figures_may_be_open_or_off() {
    let sandbox = sandbox_with(None);
    let (running, address) = serve(&sandbox, &[], &[("metrics", "open")]);
    assert_eq!(get(address, "/metrics", "").status, 200);
    drop(running);
    let (_running, address) = serve(&sandbox, &["--no-auth"], &[("metrics", "off")]);
    assert_eq!(get(address, "/metrics", "").status, 404);
    assert_eq!(get(address, "/healthz", "").status, 200);
    assert_eq!(structured(&call(address, "process_prompt", &question()))["status"], "complete");
}
