//! The read-only endpoints.

use parallel_llm_simulator::{Simulator, SimulatorConfig};
use serde_json::{Value, json};

use crate::client::{Ask, MODEL, Reply, chat, get, question, send};

async fn fetch(path: &str) -> Reply {
    let simulator = Simulator::start(SimulatorConfig::instant()).await.unwrap();
    send(&simulator, &get(&simulator, path)).await
}

#[tokio::test]
async fn models_are_listed_whole() {
    let all = fetch("/api/v1/models").await;
    assert_eq!(all.header("Cache-Control"), Some("max-age=120"));
    let embedded: Value = serde_json::from_str(include_str!("../../assets/models.json")).unwrap();
    assert_eq!(all.json(), embedded);
}

#[tokio::test]
async fn a_key_is_needed_for_its_own_data() {
    assert_eq!(fetch("/api/v1/key").await.json()["data"]["usage"], 0);
    let simulator = Simulator::start(SimulatorConfig::instant()).await.unwrap();
    for path in ["/api/v1/key", "/api/v1/credits", "/api/v1/generation?id=x"] {
        let ask = Ask { authorization: None, ..get(&simulator, path) };
        assert_eq!(send(&simulator, &ask).await.status, 401, "{path}");
    }
}

#[tokio::test]
async fn the_plain_dialect_is_openais() {
    let simulator = Simulator::start(SimulatorConfig::instant()).await.unwrap();
    let plain =
        |body: &Value| Ask { path: "/openai/v1/chat/completions".to_owned(), ..chat(&simulator, body) };
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
        path: "/openai/v1/chat/completions".to_owned(),
        ..question(&simulator, MODEL, false)
    };
    assert_eq!(send(&simulator, &ask).await.json()["error"]["code"], "invalid_api_key");
}
