//! Every fault, streamed and whole: its request always ends in the log.

use std::time::Duration;

use parallel_llm_simulator::{Fault, Simulator, SimulatorConfig};
use tokio::io::AsyncReadExt;
use tokio::time::timeout;

use crate::client::{MODEL, connect, question, until};

#[tokio::test]
async fn every_fault_ends_when_the_client_leaves() {
    let simulator = Simulator::start(SimulatorConfig::instant()).await.unwrap();
    for fault in Fault::ALL {
        for stream in [true, false] {
            let ask = question(&simulator, MODEL, stream).scenario(fault.name());
            let mut connection = connect(&simulator, &ask).await;
            let mut piece = [0; 1024];
            // Some faults send nothing, and some break the connection: neither has a first piece.
            let _first = timeout(Duration::from_millis(40), connection.read(&mut piece)).await;
        }
    }
    until(|| simulator.stats().in_flight == 0).await;
    let requests = simulator.requests();
    assert_eq!(requests.len(), 2 * Fault::ALL.len());
    assert!(requests.iter().all(|request| request.last_byte_us.is_some()));
}
