//! The floor: a bare HTTP client that makes the calls of a run and nothing else, all seats at once and then the synthesis.
//!
//! Its first line of stdin is a [`Script`]. Every later line is one run, answered with its number after the last byte of the last
//! reply; runs whose lines come together are made together. It sends the same bytes as the program over persistent connections.
//! With one thread, no timers and no parsing, only the network and the wake-ups remain.

use std::io::{BufRead, Write};
use std::process::ExitCode;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::try_join_all;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{CONTENT_LENGTH, HeaderName, HeaderValue};
use hyper::{HeaderMap, Request};
use hyper_util::rt::TokioIo;
use parallel_llm_bench::failure::{Failure, Outcome};
use parallel_llm_bench::programs::call::Script;
use parallel_llm_bench::terminal;
use parking_lot::Mutex;
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

/// The most lines that wait to become runs.
const LINES_MAX: usize = 4096;

/// A parsed request.
struct ScriptedRequest {
    path: String,
    headers: HeaderMap,
    body: Bytes,
}

type Sender = SendRequest<Full<Bytes>>;

/// The script and the connections that no run uses.
struct Floor {
    address: String,
    seats: Vec<ScriptedRequest>,
    synthesis: ScriptedRequest,
    idle: Mutex<Vec<Sender>>,
    connections: Mutex<JoinSet<hyper::Result<()>>>,
}

fn main() -> ExitCode {
    terminal::end("floor", run())
}

fn run() -> Outcome<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut first = String::new();
    std::io::stdin().lock().read_line(&mut first)?;
    let script: Script = serde_json::from_str(&first)?;
    let mut seats: Vec<ScriptedRequest> =
        script.requests.iter().map(|text| parse(text)).collect::<Outcome<_>>()?;
    let synthesis = seats.pop().ok_or_else(|| Failure::new("the script has no requests"))?;
    let floor = Arc::new(Floor {
        address: script.address,
        seats,
        synthesis,
        idle: Mutex::default(),
        connections: Mutex::default(),
    });
    acknowledge(0)?;
    let (send, mut lines) = mpsc::channel(LINES_MAX);
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if send.blocking_send(line).is_err() {
                return;
            }
        }
    });
    runtime.block_on(async {
        let mut runs = JoinSet::new();
        let mut number = 0;
        loop {
            tokio::select! {
                line = lines.recv() => match line {
                    Some(_) => {
                        number += 1;
                        runs.spawn(one_run(Arc::clone(&floor), number));
                    }
                    None => return Ok(()),
                },
                Some(ended) = runs.join_next() => {
                    ended.map_err(|error| Failure::new(format!("a run failed: {error}")))??;
                }
            }
        }
    })
}

async fn one_run(floor: Arc<Floor>, number: u64) -> Outcome<()> {
    try_join_all(floor.seats.iter().map(|request| floor.call(request))).await?;
    floor.call(&floor.synthesis).await?;
    acknowledge(number)
}

fn acknowledge(number: u64) -> Outcome<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{number}")?;
    Ok(out.flush()?)
}

impl Floor {
    /// Makes one call on an idle connection, or on a new one.
    async fn call(&self, request: &ScriptedRequest) -> Outcome<()> {
        let idle = self.idle.lock().pop();
        let mut sender = match idle {
            Some(sender) => sender,
            None => self.connect().await?,
        };
        call(&mut sender, request).await?;
        self.idle.lock().push(sender);
        Ok(())
    }

    async fn connect(&self) -> Outcome<Sender> {
        let stream = TcpStream::connect(&self.address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
        self.connections.lock().spawn(connection);
        Ok(sender)
    }
}

async fn call(sender: &mut Sender, scripted: &ScriptedRequest) -> Outcome<()> {
    let mut request = Request::post(&scripted.path);
    if let Some(headers) = request.headers_mut() {
        headers.clone_from(&scripted.headers);
    }
    let request = request.body(Full::new(scripted.body.clone()));
    let request = request.map_err(|error| Failure::new(format!("a request cannot be made: {error}")))?;
    sender.ready().await.map_err(broken)?;
    let response = sender.send_request(request).await.map_err(broken)?;
    if !response.status().is_success() {
        return Err(Failure::new(format!("the upstream answered {}", response.status())));
    }
    let mut body = response.into_body();
    while let Some(frame) = body.frame().await {
        frame.map_err(broken)?;
    }
    Ok(())
}

#[expect(clippy::needless_pass_by_value, reason = "used with `map_err`")]
fn broken(error: hyper::Error) -> Failure {
    Failure::new(format!("the upstream broke off: {error}"))
}

fn parse(text: &str) -> Outcome<ScriptedRequest> {
    let unreadable = || Failure::new("the script holds a request that cannot be read");
    let (head, body) = text.split_once("\r\n\r\n").ok_or_else(unreadable)?;
    let mut lines = head.lines();
    let path = lines.next().and_then(|line| line.split(' ').nth(1)).ok_or_else(unreadable)?.to_owned();
    let mut headers = HeaderMap::new();
    for line in lines {
        let (name, value) = line.split_once(": ").ok_or_else(unreadable)?;
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| unreadable())?;
        if name != CONTENT_LENGTH {
            headers.append(name, HeaderValue::from_str(value).map_err(|_| unreadable())?);
        }
    }
    Ok(ScriptedRequest { path, headers, body: Bytes::copy_from_slice(body.as_bytes()) })
}
