//! The control interface, with which a test in another process reads and changes the simulator.

use parallel_llm_simulator::{
    Fault, RecordedRequest, Script, ScriptRequest, Simulator, SimulatorConfig, Stats,
};
use serde_json::json;

use crate::client::{Ask, MODEL, connect, get, question, send, until};

fn control_request(simulator: &Simulator, path: &str, body: &impl serde::Serialize) -> Ask {
    let body = serde_json::to_string(body).unwrap();
    Ask { path: path.to_owned(), body, ..question(simulator, MODEL, false) }
}

#[tokio::test]
async fn scripts_are_set_and_requests_read_from_outside() {
    let simulator = Simulator::start(SimulatorConfig::instant()).await.unwrap();
    let script = ScriptRequest { model: "*".to_owned(), script: Script::fault(Fault::Server500) };
    let reply = send(&simulator, &control_request(&simulator, "/__sim/script", &script)).await;
    assert_eq!((reply.status, reply.text().as_str()), (200, "{}"));
    assert_eq!(send(&simulator, &question(&simulator, MODEL, false)).await.status, 500);

    let reply = send(&simulator, &get(&simulator, "/__sim/stats")).await;
    let stats: Stats = serde_json::from_slice(&reply.body()).unwrap();
    assert_eq!((stats.requests, stats.per_model[MODEL], stats.concurrent_high_water), (1, 1, 1));
    let reply = send(&simulator, &get(&simulator, "/__sim/requests")).await;
    let requests: Vec<RecordedRequest> = serde_json::from_slice(&reply.body()).unwrap();
    assert_eq!(requests, simulator.requests());
    assert_eq!(requests[0].body["messages"][0]["content"], "How do we name things?");
}

#[tokio::test]
async fn a_wrong_control_request_is_explained() {
    let simulator = Simulator::start(SimulatorConfig::instant()).await.unwrap();
    let wrong = json!({"model": "*", "script": {"fault": "stal"}});
    let reply = send(&simulator, &control_request(&simulator, "/__sim/script", &wrong)).await;
    assert_eq!(reply.status, 400);
    assert!(reply.text().contains("unknown variant `stal`"), "{}", reply.text());
    let wrong = json!({"model": "x/y", "script": {"fault": "stall"}});
    let reply = send(&simulator, &control_request(&simulator, "/__sim/script", &wrong)).await;
    assert_eq!(
        (reply.status, reply.json()["error"]["message"].as_str()),
        (400, Some("x/y is not a valid model ID"))
    );
    assert_eq!(send(&simulator, &get(&simulator, "/__sim/nothing")).await.status, 404);
}

#[tokio::test]
async fn the_high_water_mark_counts_requests_at_once() {
    const AT_ONCE: u64 = 12;
    let simulator = Simulator::start(SimulatorConfig::instant()).await.unwrap();
    let ask = question(&simulator, MODEL, true).scenario("stall");
    let mut connections = Vec::new();
    for _ in 0..AT_ONCE {
        connections.push(connect(&simulator, &ask).await);
    }
    until(|| simulator.stats().in_flight == AT_ONCE).await;
    drop(connections);
    until(|| simulator.stats().in_flight == 0).await;
    let stats = simulator.stats();
    let counts = (stats.concurrent_high_water, stats.connections, stats.client_cancelled);
    assert_eq!(counts, (AT_ONCE, AT_ONCE, AT_ONCE));
}
