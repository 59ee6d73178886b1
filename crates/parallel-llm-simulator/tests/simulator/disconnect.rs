//! A client that disconnects is noticed at once, in every state of its request.

use std::time::Duration;

use parallel_llm_simulator::{Behaviour, Fault, Latency, Script, Simulator, SimulatorConfig};
use tokio::time::Instant;

use crate::client::{MODEL, connect, question, send, until};

/// The longest time until it is noticed. It takes about a millisecond; the rest is for a busy machine.
const NOTICED_MAX: Duration = Duration::from_secs(1);

async fn check(script: Script, stream: bool) {
    let config = SimulatorConfig { time_scale: 1.0, ..SimulatorConfig::instant() };
    let simulator = Simulator::start(config).await.unwrap();
    simulator.script(MODEL, script.clone());
    let connection = connect(&simulator, &question(&simulator, MODEL, stream)).await;
    until(|| simulator.stats().in_flight == 1).await;
    let left = Instant::now();
    drop(connection);
    until(|| simulator.stats().client_cancelled == 1).await;
    assert!(left.elapsed() < NOTICED_MAX, "{script:?}");
    let request = &simulator.requests()[0];
    assert!(request.client_cancelled && request.last_byte_us.is_some(), "{script:?}");
    assert_eq!(simulator.stats().in_flight, 0, "{script:?}");
}

#[tokio::test]
async fn a_client_that_leaves_is_noticed() {
    let slow = Behaviour { ttft_ms: Latency::of(60_000), ..Behaviour::instant() };
    let silent = Behaviour { comment_every_ms: 0, ..slow.clone() };
    for script in [
        Script::behaving(slow),
        Script::behaving(silent),
        Script::fault(Fault::Stall),
        Script::fault(Fault::AcceptNoReply),
        Script::fault(Fault::CommentsForever),
        Script::fault(Fault::SlowDrip),
    ] {
        check(script.clone(), true).await;
        check(script, false).await;
    }
}

#[tokio::test]
async fn a_reply_that_was_read_is_not_cancelled() {
    let simulator = Simulator::start(SimulatorConfig::instant()).await.unwrap();
    for stream in [true, false] {
        send(&simulator, &question(&simulator, MODEL, stream)).await;
    }
    assert_eq!(simulator.stats().client_cancelled, 0);
    for request in simulator.requests() {
        assert!(request.arrived_us <= request.first_byte_us.unwrap());
        assert!(request.first_byte_us <= request.last_byte_us);
        assert_eq!((request.status, request.provider.as_deref()), (Some(200), Some("OpenAI")));
    }
}

#[tokio::test]
async fn dropping_the_simulator_closes_its_connections() {
    let simulator = Simulator::start(SimulatorConfig::instant()).await.unwrap();
    let ask = question(&simulator, MODEL, true).scenario("stall");
    let mut stream = connect(&simulator, &ask).await;
    simulator.shutdown().await;
    let mut rest = Vec::new();
    let ended =
        tokio::time::timeout(NOTICED_MAX, tokio::io::AsyncReadExt::read_to_end(&mut stream, &mut rest));
    assert!(ended.await.is_ok());
}
