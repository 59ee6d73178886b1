//! Conversations that go on, and answers that are fetched by their ids.

use std::net::SocketAddr;

use parallel_llm_testkit::Sandbox;
use parallel_llm_testkit::simulator::Script;
use serde_json::{Value, json};

use super::{chat, get, masked, panel, send};
use crate::http::client::Reply;
use crate::http::program::{PANEL, sandbox_with, serve};

/// Asks for a response with these fields.
fn respond(address: SocketAddr, fields: &Value) -> Reply {
    let mut asked = json!({"model": format!("panel/{}", PANEL[0])});
    for (name, value) in fields.as_object().into_iter().flatten() {
        asked[name] = value.clone();
    }
    send(address, "/v1/responses", "", &asked)
}

/// What the model was sent last, one message a word.
fn sent(sandbox: &Sandbox) -> String {
    let last = sandbox.chats().pop().expect("it was asked");
    let messages = last.body["messages"].as_array().cloned().unwrap_or_default();
    let word = |message: &Value| format!("{} {}", message["role"], message["content"]).replace('"', "");
    messages.iter().map(word).collect::<Vec<_>>().join(" | ")
}

/// `instructions` are for one response; what stands in `input` stays.
#[test]
fn instructions_are_not_carried_over_and_take_nothing_away() {
    let sandbox = sandbox_with(None).scripted(PANEL[0], Script::answering("Yes."));
    let (_running, address) = serve(&sandbox, &["--no-auth"], &[]);
    let developer = json!({"role": "developer", "content": "In English."});
    let first =
        json!({"instructions": "Be brief.", "input": [developer, {"role": "user", "content": "One?"}]});
    let id = respond(address, &first).json()["id"].clone();
    assert_eq!(sent(&sandbox), "system Be brief. | system In English. | user One?");
    let second = json!({"previous_response_id": id, "instructions": "Be long.", "input": "Two?"});
    let second = respond(address, &second).json()["id"].clone();
    assert_eq!(
        sent(&sandbox),
        "system Be long. | system In English. | user One? | assistant Yes. | user Two?"
    );
    let further = json!([{"role": "system", "content": "In French."}, {"role": "user", "content": "Three?"}]);
    respond(address, &json!({"previous_response_id": second, "input": further}));
    assert_eq!(
        sent(&sandbox),
        "system In English. | user One? | assistant Yes. | user Two? | assistant Yes. | system In French. | user Three?"
    );
}

/// A client that keeps the conversation itself sends back every item that it got.
#[test]
fn the_items_of_a_response_can_be_sent_back() {
    let sandbox = sandbox_with(None).scripted(PANEL[0], Script::answering("Yes."));
    let (_running, address) = serve(&sandbox, &["--no-auth"], &[]);
    let reasoning = json!({
        "type": "reasoning", "id": "rs_1", "status": "completed", "content": null, "encrypted_content": null,
        "summary": [{"type": "summary_text", "text": "1 of 3 answered"}],
    });
    let answer = respond(address, &json!({"input": "One?"})).json()["output"][0].clone();
    let input =
        json!([{"role": "user", "content": "One?"}, reasoning, answer, {"role": "user", "content": "Two?"}]);
    let reply = respond(address, &json!({"input": input}));
    assert_eq!(reply.status, 200, "{reply:?}");
    assert_eq!(sent(&sandbox), "user One? | assistant Yes. | user Two?");
}

#[test]
fn two_conversations_cannot_go_on_in_one_question() {
    let sandbox = sandbox_with(None);
    let (_running, address) = serve(&sandbox, &["--no-auth"], &[]);
    let ids: Vec<String> = ["One?", "Two?"]
        .map(|input| respond(address, &json!({"input": input})).json()["id"].as_str().unwrap().to_owned())
        .into();
    let both = |other: &str| {
        let own = json!({"continue_run": other});
        respond(address, &json!({"input": "Why?", "previous_response_id": ids[0], "parallel_llm": own}))
    };
    assert_eq!(both(&ids[0]).status, 200);
    insta::assert_snapshot!(masked(&both(&ids[1]).json()), @r#"{"error":{"code":"invalid_value","message":"`previous_response_id` names one conversation, and `parallel_llm.continue_run` another: leave `parallel_llm.continue_run` out","parallel_llm":{"code":"usage","next":"leave `parallel_llm.continue_run` out","retryable":false},"param":"parallel_llm.continue_run","type":"invalid_request_error"}}"#);
}

/// A run that has ended and whose texts are not kept is neither in progress nor worth waiting for.
#[test]
fn an_answer_that_was_not_kept_is_refused_for_good() {
    let sandbox = sandbox_with(None);
    let (running, address) = serve(&sandbox, &["--no-auth"], &[]);
    let mut asked = chat(&panel());
    asked["store"] = false.into();
    let answered = send(address, "/v1/chat/completions", "", &asked);
    let run = answered.header("x-request-id").unwrap();
    // The process that made the run still has its text, the next one has not.
    running.signal("TERM");
    assert_eq!(running.wait().code, Some(0));
    let (_running, address) = serve(&sandbox, &["--no-auth"], &[]);
    for path in [format!("/v1/responses/resp_{run}"), format!("/v1/chat/completions/chatcmpl-{run}")] {
        let reply = get(address, &path);
        assert_eq!((reply.status, reply.header("x-should-retry")), (400, Some("false")), "{reply:?}");
        insta::allow_duplicates! {
            insta::assert_snapshot!(masked(&reply.json()), @r#"{"error":{"code":"usage","message":"the texts of run <run> were not kept: ask again and have texts kept with `\"store\": true`","parallel_llm":{"code":"usage","next":"ask again and have texts kept with `\"store\": true`","retryable":false,"run_id":"<run>"},"param":null,"type":"invalid_request_error"}}"#);
        }
    }
}
