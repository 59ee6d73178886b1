//! The floor: a bare HTTP client that makes the six calls of a run and nothing else, five at once and then one.
//!
//! Its first line of stdin is a [`Script`]. Every later line is one run, answered with one line after the last byte of the last
//! reply. It sends the same bytes as the program over persistent connections. With one thread, no timers and no parsing, only
//! the network and the wake-ups remain.

use std::io::{BufRead, Write};
use std::process::ExitCode;

use bytes::Bytes;
use futures_util::future::try_join_all;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{CONTENT_LENGTH, HeaderName, HeaderValue};
use hyper::{HeaderMap, Request};
use hyper_util::rt::TokioIo;
use parallel_llm_bench::call::Script;
use parallel_llm_bench::failure::{Failure, Outcome};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

/// A parsed request.
struct ScriptedRequest {
    path: String,
    headers: HeaderMap,
    body: Bytes,
}

type Sender = SendRequest<Full<Bytes>>;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            #[expect(clippy::print_stderr, reason = "a measuring tool prints to a terminal")]
            {
                eprintln!("floor: {failure}");
            }
            ExitCode::FAILURE
        }
    }
}

fn run() -> Outcome<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut lines = std::io::stdin().lock().lines();
    let Some(first) = lines.next() else { return Ok(()) };
    let script: Script = serde_json::from_str(&first?)?;
    let requests: Vec<ScriptedRequest> =
        script.requests.iter().map(|text| parse(text)).collect::<Outcome<_>>()?;
    let (last, seats) = requests.split_last().ok_or_else(|| Failure::new("the script has no requests"))?;
    let mut connections = JoinSet::new();
    let mut senders = connect(&runtime, &script.address, seats.len(), &mut connections)?;
    acknowledge()?;
    for line in lines {
        line?;
        runtime.block_on(async {
            try_join_all(senders.iter_mut().zip(seats).map(|(sender, request)| call(sender, request)))
                .await?;
            call(&mut senders[0], last).await
        })?;
        acknowledge()?;
    }
    Ok(())
}

fn acknowledge() -> Outcome<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(b"done\n")?;
    Ok(out.flush()?)
}

fn connect(
    runtime: &Runtime,
    address: &str,
    count: usize,
    connections: &mut JoinSet<hyper::Result<()>>,
) -> Outcome<Vec<Sender>> {
    runtime.block_on(async {
        let mut senders = Vec::new();
        for _ in 0..count {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
            connections.spawn(connection);
            senders.push(sender);
        }
        Ok(senders)
    })
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
