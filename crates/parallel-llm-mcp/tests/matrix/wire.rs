//! A raw server that says exactly the bytes it is told, and counts what it was asked. A provider named `wire` stands
//! for it beside the simulator's models.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use parallel_llm_testkit::{Call, Sandbox};

/// What goes before a stream.
pub(crate) const EVENTS: &str =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
/// A piece of an answer.
pub(crate) const HELLO: &str =
    "data: {\"id\":\"gen-7\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hello\"}}]}\n\n";
/// How an answer ends.
pub(crate) const END: &str =
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
/// The variable the provider's key is read from.
const KEY_VARIABLE: &str = "WIRE_KEY";

/// One thing the server does with a request.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// Says these bytes.
    Say(Vec<u8>),
    /// Says these bytes so many times, or until nobody listens.
    Repeat(Vec<u8>, usize),
    /// Says nothing for so many milliseconds.
    Wait(u64),
    /// Closes with a reset instead of an end.
    Reset,
    /// Waits for the client to close.
    Listen,
}

/// Says a text.
pub(crate) fn say(text: impl AsRef<[u8]>) -> Act {
    Act::Say(text.as_ref().to_vec())
}

/// An answer of one body.
pub(crate) fn whole(status: &str, headers: &str, body: &str) -> Act {
    let length = body.len();
    say(format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n{headers}\r\n{body}"))
}

/// A healthy answer.
pub(crate) fn answer() -> Vec<Act> {
    vec![say(EVENTS), say(HELLO), say(END)]
}

/// The server. It ends with the value.
pub(crate) struct Wire {
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
    _runtime: Runtime,
}

impl Wire {
    /// Answers each call with the acts for its number, counted from 1.
    pub(crate) fn start(acts: impl Fn(usize) -> Vec<Act> + Send + Sync + 'static) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.expect("a test machine can start a thread");
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a local port is free");
        let port = listener.local_addr().expect("it is bound").port();
        let asked = Arc::default();
        runtime.spawn(serve(listener, Arc::new(acts), Arc::clone(&asked)));
        Self { port, asked, _runtime: runtime }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The calls so far, heads and bodies.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("nobody panics with it").clone()
    }

    /// Makes this server the provider `wire` of a sandbox.
    pub(crate) fn join(&self, sandbox: &Sandbox) {
        provide(sandbox, &format!("http://127.0.0.1:{}/v1", self.port));
    }
}

/// Makes what is at this address the provider `wire` of a sandbox.
pub(crate) fn provide(sandbox: &Sandbox, base_url: &str) {
    let table = format!(
        "[providers.wire]\nkind = 'openai'\nbase_url = '{base_url}'\nkey_variable = '{KEY_VARIABLE}'\n"
    );
    sandbox.write(".config/parallel-llm-mcp/config.toml", table);
}

/// The call with the key of the provider `wire`, which is the simulator's, so that it is looked for.
pub(crate) fn with_key<'a>(sandbox: &Sandbox, call: Call<'a>) -> Call<'a> {
    call.env(KEY_VARIABLE, sandbox.simulator().api_key())
}

type Acts = Arc<dyn Fn(usize) -> Vec<Act> + Send + Sync>;

async fn serve(listener: TcpListener, acts: Acts, asked: Arc<Mutex<Vec<String>>>) {
    let mut connections = JoinSet::new();
    while let Ok((mut stream, _)) = listener.accept().await {
        let (acts, asked) = (Arc::clone(&acts), Arc::clone(&asked));
        connections.spawn(async move {
            let Some(request) = read_request(&mut stream).await else { return };
            if request.starts_with("GET ") {
                // A list of models, which this server does not have: no call.
                let _ = perform(&mut stream, vec![whole("404 Not Found", "", "")]).await;
                return;
            }
            let number = {
                let mut asked = asked.lock().expect("nobody panics with it");
                asked.push(request);
                asked.len()
            };
            // Whoever has had enough hangs up.
            let _ = perform(&mut stream, acts(number)).await;
        });
    }
}

async fn perform(stream: &mut TcpStream, acts: Vec<Act>) -> std::io::Result<()> {
    for act in acts {
        match act {
            Act::Say(bytes) => stream.write_all(&bytes).await?,
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

/// One request, head and body; `None` where there is none.
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
