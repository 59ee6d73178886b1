//! A server that says exactly the bytes it is told and keeps what it was asked.

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

/// A key of the right shape that is nobody's.
pub(crate) const KEY: &str = "sk-or-v1-0000000000000000000000000000000000000000000000000000000000000000";
/// What goes before a stream.
pub(crate) const EVENTS: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nX-Generation-Id: gen-1\r\nConnection: close\r\n\r\n";

/// One thing the server does with a connection.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// Says these bytes.
    Say(Vec<u8>),
    /// Says these bytes so many times, or until nobody listens.
    Repeat(Vec<u8>, usize),
    /// Says nothing for a while.
    Wait(Duration),
    /// Closes with a reset instead of an end.
    Reset,
    /// Waits for the client to close.
    Listen,
}

/// Says a text.
pub(crate) fn say(text: impl AsRef<[u8]>) -> Act {
    Act::Say(text.as_ref().to_vec())
}

type Asked = Arc<Mutex<Vec<(Instant, String)>>>;

/// A server on loopback. Ends with the value.
pub(crate) struct Upstream {
    pub(crate) url: String,
    asked: Asked,
    connections: Arc<AtomicUsize>,
    _tasks: JoinSet<()>,
}

impl Upstream {
    /// Answers every request on every connection with these acts.
    pub(crate) async fn start(acts: Vec<Act>) -> Self {
        Self::in_turn(vec![acts]).await
    }

    /// Answers the first request with the first acts, the second with the second, and those beyond with the last.
    pub(crate) async fn in_turn(acts: Vec<Vec<Act>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/api/v1", listener.local_addr().unwrap());
        let (asked, connections) = (Arc::default(), Arc::default());
        let mut tasks = JoinSet::new();
        tasks.spawn(serve(listener, acts, Arc::clone(&asked), Arc::clone(&connections)));
        Self { url, asked, connections, _tasks: tasks }
    }

    /// The requests so far, heads and bodies.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().iter().map(|(_, request)| request.clone()).collect()
    }

    /// When they came.
    pub(crate) fn asked_at(&self) -> Vec<Instant> {
        self.asked.lock().unwrap().iter().map(|(at, _)| *at).collect()
    }

    /// The connections so far.
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

/// The smallest call.
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
        without: Vec::new(),
    }
}

/// The smallest call to this model.
pub(crate) fn call_to(model: &str) -> Call {
    Call { model: ModelRef { provider: id(), model: model.to_owned() }, ..call() }
}

/// An answer of one JSON body.
pub(crate) fn json(status: &str, headers: &str, body: &str) -> Act {
    let length = body.len();
    say(format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
    ))
}

/// The parts of one reply, `Alive` left out.
pub(crate) async fn ask(provider: &Provider) -> Vec<Result<ReplyPart, Failure>> {
    let reply = provider.admit(call()).await.unwrap().send();
    reply.filter(|part| std::future::ready(*part != Ok(ReplyPart::Alive))).collect().await
}

/// The text of a reply and how it ended.
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

async fn serve(listener: TcpListener, acts: Vec<Vec<Act>>, asked: Asked, connections: Arc<AtomicUsize>) {
    let mut tasks = JoinSet::new();
    while let Ok((mut stream, _)) = listener.accept().await {
        connections.fetch_add(1, Ordering::SeqCst);
        let (acts, asked) = (acts.clone(), Arc::clone(&asked));
        tasks.spawn(async move {
            while let Some(request) = read_request(&mut stream).await {
                let before = asked.lock().unwrap().len();
                asked.lock().unwrap().push((Instant::now(), request));
                let Some(acts) = acts.get(before).or(acts.last()) else { return };
                if perform(&mut stream, acts).await.is_none() {
                    return;
                }
            }
        });
    }
}

/// `None` where the connection is done with.
async fn perform(stream: &mut TcpStream, acts: &[Act]) -> Option<()> {
    for act in acts {
        match act {
            Act::Say(bytes) => stream.write_all(bytes).await.ok()?,
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
            Act::Listen => while stream.read(&mut [0; 1024]).await.is_ok_and(|read| read > 0) {},
        }
    }
    let said_close = acts
        .iter()
        .any(|act| matches!(act, Act::Say(bytes) if bytes.windows(5).any(|word| word == b"close")));
    (!said_close).then_some(())
}

/// One request, head and body.
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
