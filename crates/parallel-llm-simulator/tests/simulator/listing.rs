//! The endpoints that only read.

use parallel_llm_simulator::{Simulator, SimulatorConfig};
use serde_json::{Value, json};

use crate::client::{Ask, MODEL, Reply, chat, get, question, send};

async fn asked(path: &str) -> Reply {
    let simulator = Simulator::start(SimulatorConfig::instant()).await.unwrap();
    send(&simulator, &get(&simulator, path)).await
}

#[tokio::test]
async fn models_are_listed_whole_and_in_parts() {
    let all = asked("/api/v1/models").await;
    assert_eq!(all.header("Cache-Control"), Some("max-age=120"));
    let embedded: Value = serde_json::from_str(include_str!("../../assets/models.json")).unwrap();
    assert_eq!(all.json(), embedded);
    let page = asked("/api/v1/models?q=claude&offset=1&limit=2").await.json();
    assert_eq!((&page["total_count"], page["data"].as_array().unwrap().len()), (&json!(5), 2));
    assert_eq!(asked("/api/v1/models/count").await.json(), json!({"data": {"count": 31}}));
}

#[tokio::test]
async fn one_model_is_described() {
    assert_eq!(asked(&format!("/api/v1/model/{MODEL}")).await.json()["data"]["id"], MODEL);
    let endpoints = asked(&format!("/api/v1/models/{MODEL}/endpoints")).await.json();
    assert_eq!(endpoints["data"]["endpoints"][0]["provider_name"], "OpenAI");
    let reply = asked("/api/v1/model/x/y").await;
    assert_eq!(reply.text(), r#"{"error":{"message":"Model not found","code":404}}"#);
}

#[tokio::test]
async fn a_key_is_needed_where_it_matters() {
    assert_eq!(asked("/api/v1/key").await.json()["data"]["usage"], 0);
    let simulator = Simulator::start(SimulatorConfig::instant()).await.unwrap();
    for path in ["/api/v1/key", "/api/v1/credits", "/api/v1/models/user", "/api/v1/generation?id=x"] {
        let ask = Ask { authorization: None, ..get(&simulator, path) };
        assert_eq!(send(&simulator, &ask).await.status, 401, "{path}");
    }
}

#[tokio::test]
async fn the_plain_dialect_is_openais() {
    let simulator = Simulator::start(SimulatorConfig::instant()).await.unwrap();
    let plain = |body: &Value| Ask { path: "/v1/chat/completions".to_owned(), ..chat(&simulator, body) };
    let messages = json!([{"role": "user", "content": "Hi"}]);
    let body = json!({"model": "gpt-6-luna", "messages": messages, "stream": true, "stream_options": {"include_usage": true}});
    let reply = send(&simulator, &plain(&body)).await;
    let events = reply.events();
    assert!(events[0].starts_with("{\"id\":\"chatcmpl-") && !events[0].contains("provider"));
    assert!(events[events.len() - 2].contains("\"choices\":[],\"usage\":{\"prompt_tokens\":1,"));

    let body = json!({"model": "gpt-6.1-sol", "messages": messages, "max_tokens": 5});
    assert_eq!(
        send(&simulator, &plain(&body)).await.text(),
        r#"{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}}"#
    );
    let ask = Ask {
        authorization: None,
        path: "/v1/chat/completions".to_owned(),
        ..question(&simulator, MODEL, false)
    };
    assert_eq!(send(&simulator, &ask).await.json()["error"]["code"], "invalid_api_key");
}
