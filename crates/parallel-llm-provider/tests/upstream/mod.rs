//! A server that sends scripted bytes and records its requests.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::StreamExt;
use parallel_llm_engine::port::{Call, Caller, ReplyPart};
use parallel_llm_engine::run::event::Attempt;
use parallel_llm_engine::{CallerSlot, Failure, Message, ModelRef, ProviderId, Role, RunId, SeatNumber};
use parallel_llm_provider::{ApiKey, Dialect, Endpoint, Provider, ProviderConfig};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::Instant;

/// A well-formed key that belongs to nobody.
pub(crate) const KEY: &str = "sk-or-v1-0000000000000000000000000000000000000000000000000000000000000000";
/// The head of a response with a stream.
pub(crate) const EVENTS: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nX-Generation-Id: gen-1\r\nConnection: close\r\n\r\n";

/// A scripted step of the server on a connection.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// Sends these bytes.
    Send(Vec<u8>),
    /// Sends these bytes this many times, or until the client has closed.
    Repeat(Vec<u8>, usize),
    /// Sends nothing for this long.
    Wait(Duration),
    /// Resets the connection.
    Reset,
    /// Waits for the client to close.
    AwaitClose,
}

/// The step that sends a text.
pub(crate) fn send(text: impl AsRef<[u8]>) -> Act {
    Act::Send(text.as_ref().to_vec())
}

type Requests = Arc<Mutex<Vec<(Instant, String)>>>;

/// A server on loopback, stopped when dropped.
pub(crate) struct Upstream {
    pub(crate) url: String,
    requests: Requests,
    connections: Arc<AtomicUsize>,
    _tasks: JoinSet<()>,
}

impl Upstream {
    /// Performs these steps for every request on every connection.
    pub(crate) async fn start(acts: Vec<Act>) -> Self {
        Self::in_turn(vec![acts]).await
    }

    /// Performs the first steps for the first request, the second for the second, and the last for all later ones.
    pub(crate) async fn in_turn(acts: Vec<Vec<Act>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/api/v1", listener.local_addr().unwrap());
        let (requests, connections) = (Arc::default(), Arc::default());
        let mut tasks = JoinSet::new();
        tasks.spawn(serve(listener, acts, Arc::clone(&requests), Arc::clone(&connections)));
        Self { url, requests, connections, _tasks: tasks }
    }

    /// The requests received so far, each with head and body.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().iter().map(|(_, request)| request.clone()).collect()
    }

    /// The times at which they arrived.
    pub(crate) fn request_times(&self) -> Vec<Instant> {
        self.requests.lock().unwrap().iter().map(|(at, _)| *at).collect()
    }

    /// The number of connections accepted so far.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// A provider whose only endpoint is this server.
    pub(crate) fn provider(&self) -> Provider {
        provider(&self.url, Some(KEY))
    }
}

/// A provider with one endpoint, named `openrouter`.
pub(crate) fn provider(url: &str, key: Option<&str>) -> Provider {
    let key = key.and_then(|key| ApiKey::parse(key).unwrap());
    let endpoint = Endpoint::new(id(), url, key, Dialect::OPENROUTER).unwrap();
    let config =
        ProviderConfig { endpoints: vec![endpoint], connect_timeout_ms: 1_000, ..ProviderConfig::default() };
    Provider::new(config).unwrap()
}

pub(crate) fn id() -> ProviderId {
    ProviderId("openrouter".to_owned())
}

/// A minimal call.
pub(crate) fn call() -> Call {
    Call {
        run_id: RunId::from_parts(1, 2),
        attempt: Attempt { slot: CallerSlot::Seat(SeatNumber(1)), number: 1 },
        model: ModelRef { provider: id(), model: "a/b".to_owned() },
        messages: vec![Message::text(Role::User, "Say hi.")].into(),
        temperature: None,
        max_tokens: 100,
        effort: None,
        json: false,
        routing: Arc::default(),
        lineage: Arc::default(),
        asked_by: None,
        without: Vec::new(),
    }
}

/// A minimal call to this model.
pub(crate) fn call_to(model: &str) -> Call {
    Call { model: ModelRef { provider: id(), model: model.to_owned() }, ..call() }
}

/// A response with a JSON body.
pub(crate) fn json(status: &str, headers: &str, body: &str) -> Act {
    let length = body.len();
    send(format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
    ))
}

/// The parts of one reply without `Alive`.
pub(crate) async fn ask(provider: &Provider) -> Vec<Result<ReplyPart, Failure>> {
    let reply = provider.admit(call()).await.unwrap().send();
    reply.filter(|part| std::future::ready(*part != Ok(ReplyPart::Alive))).collect().await
}

/// The text of a reply, and its failure if it has one.
pub(crate) async fn answer_of(provider: &Provider) -> (String, Result<(), Failure>) {
    let mut text = String::new();
    for part in ask(provider).await {
        match part {
            Ok(ReplyPart::Text(piece)) => text.push_str(&piece),
            Ok(_) => {}
            Err(failure) => return (text, Err(failure)),
        }
    }
    (text, Ok(()))
}

async fn serve(
    listener: TcpListener,
    acts: Vec<Vec<Act>>,
    requests: Requests,
    connections: Arc<AtomicUsize>,
) {
    let mut tasks = JoinSet::new();
    while let Ok((mut stream, _)) = listener.accept().await {
        connections.fetch_add(1, Ordering::SeqCst);
        let (acts, requests) = (acts.clone(), Arc::clone(&requests));
        tasks.spawn(async move {
            while let Some(request) = read_request(&mut stream).await {
                let before = requests.lock().unwrap().len();
                requests.lock().unwrap().push((Instant::now(), request));
                let Some(acts) = acts.get(before).or(acts.last()) else { return };
                if perform(&mut stream, acts).await.is_none() {
                    return;
                }
            }
        });
    }
}

/// Performs the steps; `None` once the connection is closed.
async fn perform(stream: &mut TcpStream, acts: &[Act]) -> Option<()> {
    for act in acts {
        match act {
            Act::Send(bytes) => stream.write_all(bytes).await.ok()?,
            Act::Repeat(bytes, times) => {
                for _ in 0..*times {
                    stream.write_all(bytes).await.ok()?;
                }
            }
            Act::Wait(time) => tokio::time::sleep(*time).await,
            Act::Reset => {
                stream.set_zero_linger().ok()?;
                return None;
            }
            Act::AwaitClose => while stream.read(&mut [0; 1024]).await.is_ok_and(|read| read > 0) {},
        }
    }
    let said_close = acts
        .iter()
        .any(|act| matches!(act, Act::Send(bytes) if bytes.windows(5).any(|word| word == b"close")));
    (!said_close).then_some(())
}

/// Reads one request, head and body; `None` if the connection ends first.
async fn read_request(stream: &mut TcpStream) -> Option<String> {
    let mut request = Vec::new();
    loop {
        let mut bytes = [0; 4096];
        match stream.read(&mut bytes).await {
            Ok(read) if read > 0 => request.extend_from_slice(&bytes[..read]),
            _ => return None,
        }
        let text = String::from_utf8_lossy(&request);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length =
            head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
        if body.len() >= length.unwrap_or(0) {
            return Some(text.into_owned());
        }
    }
}
