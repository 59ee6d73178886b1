//! Recursion: a panel that is asked by itself is refused before anything is paid.

use std::net::{SocketAddr, TcpListener};

use parallel_llm_testkit::{Running, Sandbox};
use serde_json::json;

use super::{chat, panel, send};
use crate::http::client::{Wire, post};
use crate::http::program::{sandbox_with, serve, structured};
use crate::http::sessions::modern;

/// An address that is free now.
fn free() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    listener.local_addr().expect("a listener has an address")
}

/// A server at this address whose panel is a model of the server at the other.
fn start(sandbox: &Sandbox, own: SocketAddr, other: SocketAddr) -> Running<'_> {
    let settings =
        format!("panel = [\"other:panel/default\"]\n[providers.other]\nbase_url = \"http://{other}/v1\"\n");
    sandbox.write(".config/parallel-llm-mcp/config.toml", settings);
    let own = own.to_string();
    let running = sandbox.call(["serve", "--http", &own, "--no-auth"]).start();
    sandbox.until("it listens", || std::net::TcpStream::connect(&own).is_ok());
    running
}

#[test]
fn a_provider_that_is_the_server_itself_is_refused_at_planning() {
    let (sandbox, own) = (sandbox_with(None), free());
    let running = start(&sandbox, own, own);
    let reply = send(own, "/v1/chat/completions", "", &chat("panel/default"));
    assert_eq!((reply.status, reply.code().as_str()), (400, "recursion"), "{reply:?}");
    insta::assert_snapshot!(reply.json()["error"]["message"].as_str().unwrap(), @"the base URL of `other` is this server itself: ask another model, or ask the user to give the provider the address of another server");
    sandbox.until("it is said at the start", || {
        running.stderr_so_far().contains("the base URL of the provider `other` is this server itself")
    });
}

#[test]
fn a_circle_of_two_servers_ends_before_anything_is_paid() {
    let (first, second) = (sandbox_with(None), sandbox_with(None));
    let (one, two) = (free(), free());
    let _running = [start(&first, one, two), start(&second, two, one)];
    let reply = send(one, "/v1/chat/completions", "", &chat("panel/default"));
    assert_eq!((reply.status, reply.code().as_str()), (424, "bad_request"), "{reply:?}");
    assert!(reply.text().contains("the question comes from this server itself"), "{reply:?}");
    assert_eq!(first.chats().len() + second.chats().len(), 0);
}

/// The simulator is on this machine, so it might be a server of this program, and learns the way of each question.
#[test]
fn a_question_on_a_circle_is_refused_at_both_doors() {
    let sandbox = sandbox_with(None);
    let (_running, address) = serve(&sandbox, &["--no-auth"], &[]);
    assert_eq!(
        send(address, "/v1/chat/completions", "x-parallel-llm-via: A1\r\n", &chat(&panel())).status,
        200
    );
    let calls = sandbox.chats();
    let via = calls[0].headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("x-parallel-llm-via"));
    let via = &via.expect("the way is passed on").1;
    let (passed, own) = via.split_once(", ").unwrap();
    assert_eq!(passed, "A1");
    let circle = format!("x-parallel-llm-via: B2, {own}\r\n");
    let long = "x-parallel-llm-via: A, B, C, D, E\r\n".to_owned();
    for way in [&circle, &long] {
        let reply = send(address, "/v1/chat/completions", way, &chat(&panel()));
        assert_eq!((reply.status, reply.code().as_str()), (400, "recursion"), "{way} {reply:?}");
    }
    let question = json!({"prompt": "Why?"});
    let asked = modern(address, "process_prompt", &question);
    let mut wire = Wire::to(address);
    wire.write(asked.replacen("\r\n\r\n", &format!("\r\n{circle}\r\n"), 1));
    let reply = wire.reply().expect("an answer").json();
    assert_eq!(structured(&reply)["code"], "recursion", "{reply}");
    let bad =
        post(address, "/v1/chat/completions", "x-parallel-llm-via: a b\r\n", &chat(&panel()).to_string());
    let mut wire = Wire::to(address);
    wire.write(bad);
    assert_eq!(wire.reply().expect("an answer").status, 400);
    assert_eq!(sandbox.chats().len(), calls.len());
}
