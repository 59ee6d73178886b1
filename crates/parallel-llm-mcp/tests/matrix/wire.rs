//! A raw server that sends exactly the given bytes and records its requests. A sandbox knows it as the provider `wire`,
//! beside the simulator's models.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use parallel_llm_testkit::{Call, Sandbox};

/// The head of a streamed reply.
pub(crate) const EVENTS: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
/// A piece of an answer.
pub(crate) const HELLO: &str =
    "data: {\"id\":\"gen-7\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hello\"}}]}\n\n";
/// The end of an answer.
pub(crate) const END: &str =
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
/// The variable that holds the provider's key.
const KEY_VARIABLE: &str = "WIRE_KEY";

/// One act of the server in reply to a request.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// Sends these bytes.
    Send(Vec<u8>),
    /// Sends these bytes this many times, or until the client closes the connection.
    Repeat(Vec<u8>, usize),
    /// Waits for this many milliseconds.
    Wait(u64),
    /// Closes the connection with a reset.
    Reset,
    /// Waits until the client closes the connection.
    Listen,
}

/// Sends a text.
pub(crate) fn send(text: impl AsRef<[u8]>) -> Act {
    Act::Send(text.as_ref().to_vec())
}

/// A reply with a body of known length.
pub(crate) fn whole(status: &str, headers: &str, body: &str) -> Act {
    let length = body.len();
    send(format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n{headers}\r\n{body}"))
}

/// A healthy answer.
pub(crate) fn answer() -> Vec<Act> {
    vec![send(EVENTS), send(HELLO), send(END)]
}

/// The server. It ends when dropped.
pub(crate) struct Wire {
    port: u16,
    requests: Arc<Mutex<Vec<String>>>,
    _runtime: Runtime,
}

impl Wire {
    /// Replies to each call with the acts for its number, counted from 1.
    pub(crate) fn start(acts: impl Fn(usize) -> Vec<Act> + Send + Sync + 'static) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a test machine can start a thread");
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a local port is free");
        let port = listener.local_addr().expect("the listener is bound").port();
        let requests = Arc::default();
        runtime.spawn(serve(listener, Arc::new(acts), Arc::clone(&requests)));
        Self { port, requests, _runtime: runtime }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The calls so far, with heads and bodies.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().expect("the lock is not poisoned").clone()
    }

    /// Makes this server the provider `wire` of a sandbox.
    pub(crate) fn join(&self, sandbox: &Sandbox) {
        provide(sandbox, &format!("http://127.0.0.1:{}/v1", self.port));
    }
}

/// Makes the server at this address the provider `wire` of a sandbox.
pub(crate) fn provide(sandbox: &Sandbox, base_url: &str) {
    let table = format!(
        "[providers.wire]\nkind = 'openai'\nbase_url = '{base_url}'\nkey_variable = '{KEY_VARIABLE}'\n"
    );
    sandbox.write(".config/parallel-llm-mcp/config.toml", table);
}

/// The call with the key of the provider `wire`: the simulator's own key, so that checks for leaked keys find it.
pub(crate) fn with_key<'a>(sandbox: &Sandbox, call: Call<'a>) -> Call<'a> {
    call.env(KEY_VARIABLE, sandbox.simulator().api_key())
}

type Acts = Arc<dyn Fn(usize) -> Vec<Act> + Send + Sync>;

async fn serve(listener: TcpListener, acts: Acts, requests: Arc<Mutex<Vec<String>>>) {
    let mut connections = JoinSet::new();
    while let Ok((mut stream, _)) = listener.accept().await {
        let (acts, requests) = (Arc::clone(&acts), Arc::clone(&requests));
        connections.spawn(async move {
            let Some(request) = read_request(&mut stream).await else { return };
            if request.starts_with("GET ") {
                // The list of models, which this server does not have, is not a call.
                let _ = perform(&mut stream, vec![whole("404 Not Found", "", "")]).await;
                return;
            }
            let number = {
                let mut requests = requests.lock().expect("the lock is not poisoned");
                requests.push(request);
                requests.len()
            };
            // A client that has read enough closes the connection.
            let _ = perform(&mut stream, acts(number)).await;
        });
    }
}

async fn perform(stream: &mut TcpStream, acts: Vec<Act>) -> std::io::Result<()> {
    for act in acts {
        match act {
            Act::Send(bytes) => stream.write_all(&bytes).await?,
            Act::Repeat(bytes, times) => {
                for _ in 0..times {
                    stream.write_all(&bytes).await?;
                }
            }
            Act::Wait(ms) => tokio::time::sleep(Duration::from_millis(ms)).await,
            Act::Reset => return stream.set_zero_linger(),
            Act::Listen => while stream.read(&mut [0; 1024]).await? > 0 {},
        }
    }
    stream.shutdown().await
}

/// One request, head and body; `None` if the connection closes before its end.
async fn read_request(stream: &mut TcpStream) -> Option<String> {
    let (mut request, mut bytes) = (Vec::new(), [0; 4096]);
    loop {
        let read = stream.read(&mut bytes).await.ok().filter(|read| *read > 0)?;
        request.extend_from_slice(&bytes[..read]);
        let text = String::from_utf8_lossy(&request);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = |line: &str| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok();
        if body.len() >= head.lines().find_map(length).unwrap_or(0) {
            return Some(text.into_owned());
        }
    }
}
