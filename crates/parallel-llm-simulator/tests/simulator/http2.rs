//! HTTP/2 and HTTP/1.1 on one port: the same replies, and for each fault its nearest equivalent.

use std::collections::BTreeSet;
use std::time::Duration;

use hyper::Version;
use parallel_llm_simulator::{Fault, HttpVersions, RecordedRequest, Simulator, SimulatorConfig};
use tokio::time::timeout;

use crate::client::{Ask, MODEL, get, question, scrub, until};
use crate::peer::{End, Heard, Peer, WAYS, Way, meet, read};

const ONE: Way = Way { version: Version::HTTP_11, tls: false };
const TWO: Way = Way { version: Version::HTTP_2, tls: false };

async fn started(tls: bool) -> Simulator {
    Simulator::start(SimulatorConfig { tls, ..SimulatorConfig::instant() }).await.unwrap()
}

async fn scenario(simulator: &Simulator, peer: &mut Peer, name: &str) -> Heard {
    peer.hear(&question(simulator, MODEL, true).scenario(name)).await
}

#[tokio::test]
async fn every_way_to_connect_gets_the_same_reply() {
    let mut heard = BTreeSet::new();
    for way in WAYS {
        let simulator = started(way.tls).await;
        let mut peer = meet(&simulator, way).await;
        for stream in [true, false] {
            let reply = peer.hear(&question(&simulator, MODEL, stream)).await;
            assert_eq!((reply.status.unwrap().as_u16(), reply.end), (200, End::Whole), "{way:?}");
            assert!(reply.header("x-generation-id").unwrap().starts_with("gen-"));
            assert_eq!(reply.header("content-length"), None);
            heard.insert((stream, scrub(&reply.text())));
        }
        let versions: Vec<String> = simulator.requests().into_iter().map(|request| request.version).collect();
        let expected = if way.version == Version::HTTP_2 { "2" } else { "1.1" };
        assert_eq!(versions, [expected, expected], "{way:?}");
        assert_eq!(simulator.stats().connections, 1, "{way:?}");
    }
    assert_eq!(heard.len(), 2);
}

/// Runs the check over every way to connect at once, because most of it is waiting.
async fn each_way<F: Future<Output = ()>>(check: impl Fn(Way) -> F) {
    let [one, two, three, four] = WAYS.map(|way| Box::pin(check(way)));
    tokio::join!(one, two, three, four);
}

async fn sweep(way: Way) {
    let simulator = started(way.tls).await;
    let glance = async |fault: Fault, stream| {
        let ask = question(&simulator, MODEL, stream).scenario(fault.name());
        let mut peer = meet(&simulator, way).await;
        // Some faults send nothing, and some break the connection: neither has a head.
        let head = timeout(Duration::from_millis(40), peer.begin(&ask)).await;
        if let Ok(Ok(response)) = head {
            drop(timeout(Duration::from_millis(10), read(response)).await);
        }
    };
    for fault in Fault::ALL {
        tokio::join!(glance(*fault, true), glance(*fault, false));
    }
    let ended = |request: &RecordedRequest| request.last_byte_us.is_some();
    until(|| simulator.requests().iter().all(ended)).await;
    assert_eq!(simulator.stats().in_flight, 0, "{way:?}");
}

#[tokio::test]
async fn every_fault_ends_over_every_way_to_connect() {
    each_way(sweep).await;
}

async fn nearest(way: Way) {
    let expected = [
        (Fault::SseReset, Some(200), End::Broken),
        (Fault::SseEofInChunk, Some(200), End::Broken),
        (Fault::SseCut, Some(200), End::Whole),
        (Fault::Stall, Some(200), End::Open),
        (Fault::Flood, Some(200), End::Endless),
        (Fault::AcceptNoReply, None, End::Open),
        (Fault::AcceptAndClose, None, End::Broken),
        (Fault::Overloaded529, Some(529), End::Whole),
        (Fault::Redirect307, Some(307), End::Whole),
    ];
    let simulator = started(way.tls).await;
    for (fault, status, end) in expected {
        let reply = scenario(&simulator, &mut meet(&simulator, way).await, fault.name()).await;
        let status_heard = reply.status.map(|status| status.as_u16());
        assert_eq!((status_heard, reply.end), (status, end), "{fault} {way:?}");
        let partial = matches!(fault, Fault::SseReset | Fault::SseEofInChunk | Fault::SseCut);
        assert!(!partial || reply.text().contains("\"delta\""), "{fault} {way:?}");
    }
}

#[tokio::test]
async fn each_fault_has_its_nearest_equivalent() {
    each_way(nearest).await;
}

#[tokio::test]
async fn a_reset_ends_one_stream_and_a_closed_connection_ends_all() {
    for (fault, survives) in [("sse_reset", true), ("sse_eof_in_chunk", false), ("accept_and_close", false)] {
        let simulator = started(false).await;
        let mut peer = meet(&simulator, TWO).await;
        let stalled = peer.begin(&question(&simulator, MODEL, true).scenario("stall")).await.unwrap();
        let broken = scenario(&simulator, &mut peer.beside(), fault).await;
        assert_eq!(broken.end, End::Broken, "{fault}");
        let end = if survives { End::Open } else { End::Broken };
        assert_eq!(read(stalled).await.end, end, "{fault}");
        let after = peer.hear(&question(&simulator, MODEL, true)).await.end;
        assert_eq!(after, if survives { End::Whole } else { End::Broken }, "{fault}");
        assert_eq!(simulator.stats().connections, 1, "{fault}");
    }
}

#[tokio::test]
async fn each_byte_is_a_frame_of_its_own() {
    let simulator = started(false).await;
    let reply = scenario(&simulator, &mut meet(&simulator, TWO).await, "byte_split").await;
    assert!(reply.pieces.iter().all(|piece| piece.len() == 1));
    assert!(reply.text().ends_with("data: [DONE]\n\n"));
}

#[tokio::test]
async fn a_cancelled_stream_is_noticed_while_its_connection_stays_open() {
    let simulator = started(false).await;
    let mut peer = meet(&simulator, TWO).await;
    for name in ["stall", "accept_no_reply", "comments_forever", "flood"] {
        let before = simulator.stats().client_cancelled;
        let ask = question(&simulator, MODEL, true).scenario(name);
        drop(timeout(Duration::from_millis(50), peer.begin(&ask)).await);
        until(|| simulator.stats().client_cancelled == before + 1).await;
    }
    assert_eq!(peer.hear(&question(&simulator, MODEL, true)).await.end, End::Whole);
    assert_eq!((simulator.stats().connections, simulator.stats().in_flight), (1, 0));
}

#[tokio::test]
async fn a_connection_has_a_bounded_number_of_streams() {
    const STREAMS_MAX: u64 = 256;
    let simulator = started(false).await;
    let peer = meet(&simulator, TWO).await;
    let ask = question(&simulator, MODEL, true).scenario("stall");
    let mut asking = tokio::task::JoinSet::new();
    for _ in 0..STREAMS_MAX + 44 {
        let (mut peer, ask) = (peer.beside(), ask.clone());
        asking.spawn(async move { peer.begin(&ask).await.unwrap() });
    }
    let mut answered = Vec::new();
    for _ in 0..STREAMS_MAX {
        answered.push(asking.join_next().await.unwrap().unwrap());
    }
    assert_eq!(simulator.stats().in_flight, STREAMS_MAX);
    drop(answered);
    while let Some(response) = asking.join_next().await {
        drop(response.unwrap());
    }
    until(|| simulator.stats().in_flight == 0).await;
    let stats = simulator.stats();
    assert_eq!((stats.requests, stats.concurrent_high_water), (STREAMS_MAX + 44, STREAMS_MAX));
}

#[tokio::test]
async fn a_list_of_headers_has_a_bound() {
    let simulator = started(false).await;
    let mut peer = meet(&simulator, TWO).await;
    let extra_headers = format!("x-much: {}", "m".repeat(70_000));
    let heard = peer.hear(&Ask { extra_headers, ..get(&simulator, "/api/v1/models") }).await;
    assert_eq!(heard.status.map_or(431, |status| status.as_u16()), 431);
    assert_eq!(simulator.requests(), []);
    let models = meet(&simulator, TWO).await.hear(&get(&simulator, "/api/v1/models")).await;
    assert_eq!(models.end, End::Whole);
}

#[tokio::test]
async fn only_the_chosen_versions_are_spoken() {
    for (http, one, two) in [
        (HttpVersions::Both, End::Whole, End::Whole),
        (HttpVersions::Only1, End::Whole, End::Broken),
        (HttpVersions::Only2, End::Broken, End::Whole),
    ] {
        let simulator =
            Simulator::start(SimulatorConfig { http, ..SimulatorConfig::instant() }).await.unwrap();
        for (way, expected) in [(ONE, one), (TWO, two)] {
            let heard = meet(&simulator, way).await.hear(&get(&simulator, "/api/v1/credits")).await;
            assert_eq!(heard.end, expected, "{http:?} {way:?}");
        }
    }
}
