//! A tiny HTTP client that writes requests byte by byte, and a server for it. It uses the program's own types only to
//! start the server.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::sync_channel;
use std::thread::JoinHandle;
use std::time::Duration;

use parallel_llm_http::{Config, Door, bind};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

/// The longest a test waits for anything. Only a test that fails waits so long.
const WAIT_MAX: Duration = Duration::from_secs(60);
/// The longest that something may take that has nothing to wait for: far less than what it must not wait for, and
/// enough for a busy machine.
pub(crate) const SOON: Duration = Duration::from_secs(10);
/// How long the servers of tests wait for calls when they stop.
const DRAIN: Duration = Duration::from_secs(20);

/// A server on a thread of its own. It stops when dropped.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    pub(crate) stop: CancellationToken,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Serves this door, which gets a token that is cancelled when its streams must end.
    pub(crate) fn start<D: Into<Door>>(
        config: Config,
        door: impl FnOnce(CancellationToken) -> D + Send + 'static,
    ) -> Self {
        Self::start_all(config, |end| vec![door(end).into()])
    }

    /// Serves these doors.
    pub(crate) fn start_all(
        config: Config,
        doors: impl FnOnce(CancellationToken) -> Vec<Door> + Send + 'static,
    ) -> Self {
        let stop = CancellationToken::new();
        let (sender, bound) = sync_channel(1);
        let stopped = stop.clone();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let runtime = runtime.expect("a test machine can start a thread");
            runtime.block_on(async {
                let listener = bind(config).await.expect("the server can listen");
                sender.send(listener.address()).expect("the test waits");
                let end = CancellationToken::new();
                listener.serve(doors(end.clone()), stopped, DRAIN).await;
                end.cancel();
            });
        });
        Self { address: bound.recv().expect("the server begins"), stop, thread: Some(thread) }
    }

    /// The head of a request to it: the target, its host, and these headers, each with a line end.
    pub(crate) fn head(&self, target: &str, headers: &str) -> String {
        format!("{target} HTTP/1.1\r\nHost: {}\r\n{headers}\r\n", self.address)
    }

    /// Sends this on a new connection and reads one reply.
    pub(crate) fn send(&self, bytes: impl AsRef<[u8]>) -> Reply {
        let mut wire = Wire::to(self.address);
        wire.write(bytes);
        wire.reply().expect("the server answers")
    }

    /// Sends JSON with these headers, each with a line end.
    pub(crate) fn post(&self, path: &str, headers: &str, body: &str) -> Reply {
        self.send(post(self.address, path, headers, body))
    }

    /// Stops it and waits until it has ended.
    pub(crate) fn end(&mut self) {
        self.stop.cancel();
        if let Some(thread) = self.thread.take() {
            thread.join().expect("the server ends without a panic");
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.cancel();
        // A test that failed has already said why.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// A request with a JSON body.
pub(crate) fn post(address: SocketAddr, path: &str, headers: &str, body: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\nContent-Length: {}\r\n{headers}\r\n{body}",
        body.len()
    )
}

/// A reply.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    /// The first header of this name, in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The body as JSON, or the last event of a stream.
    pub(crate) fn json(&self) -> Value {
        self.try_json().unwrap_or_else(|error| panic!("no JSON: {error}: {self:?}"))
    }

    /// The same of a reply that may have been cut off.
    pub(crate) fn try_json(&self) -> serde_json::Result<Value> {
        let text = self.text();
        let mut events = text.lines().filter_map(|line| line.strip_prefix("data: "));
        serde_json::from_str(events.next_back().unwrap_or(&text))
    }

    /// The code of an error.
    pub(crate) fn code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap_or_else(|| panic!("no error: {self:?}")).to_owned()
    }
}

/// A stream of bytes in both directions.
pub(crate) trait Pipe: Read + Write + Send {}
impl<T: Read + Write + Send> Pipe for T {}

/// One connection.
pub(crate) struct Wire {
    pipe: BufReader<Box<dyn Pipe>>,
    /// Whether the head of the reply has been read.
    is_headed: bool,
    /// The bytes of a stream after its last whole event.
    rest: String,
}

impl Wire {
    pub(crate) fn to(address: SocketAddr) -> Self {
        Self::over(Box::new(tcp(address)))
    }

    pub(crate) fn over(pipe: Box<dyn Pipe>) -> Self {
        Self { pipe: BufReader::new(pipe), is_headed: false, rest: String::new() }
    }

    /// Writes as much as the other side accepts.
    pub(crate) fn write(&mut self, bytes: impl AsRef<[u8]>) {
        // A server that refuses early does not read the rest.
        let _ = self.pipe.get_mut().write_all(bytes.as_ref());
        let _ = self.pipe.get_mut().flush();
    }

    /// The next reply; `None` if the connection ends instead.
    pub(crate) fn reply(&mut self) -> Option<Reply> {
        let mut reply = self.reply_head()?;
        if reply.header("transfer-encoding") == Some("chunked") {
            while let Some(piece) = self.piece() {
                reply.body.extend(piece);
            }
        } else if let Some(length) = reply.header("content-length") {
            reply.body = vec![0; length.parse().ok()?];
            self.pipe.read_exact(&mut reply.body).ok()?;
        }
        self.is_headed = false;
        Some(reply)
    }

    /// The head of the next reply.
    pub(crate) fn reply_head(&mut self) -> Option<Reply> {
        let status = self.line()?.split(' ').nth(1)?.parse().ok()?;
        let mut headers = Vec::new();
        loop {
            let line = self.line()?;
            let Some((name, value)) = line.split_once(':') else { break };
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        self.is_headed = true;
        Some(Reply { status, headers, body: Vec::new() })
    }

    /// The next event of a stream, including comments; `None` at its end.
    pub(crate) fn event(&mut self) -> Option<String> {
        if !self.is_headed {
            self.reply_head()?;
        }
        loop {
            if let Some((event, rest)) = self.rest.split_once("\n\n") {
                let event = event.to_owned();
                self.rest = rest.to_owned();
                return Some(event);
            }
            let piece = self.piece()?;
            self.rest.push_str(&String::from_utf8(piece).expect("events are text"));
        }
    }

    /// The next protocol message in a stream.
    pub(crate) fn message(&mut self) -> Option<Value> {
        loop {
            let event = self.event()?;
            let data = event.lines().find_map(|line| line.strip_prefix("data: "));
            if let Some(message) = data.and_then(|data| serde_json::from_str(data).ok()) {
                return Some(message);
            }
        }
    }

    /// The next chunk of a chunked body; `None` after the last.
    fn piece(&mut self) -> Option<Vec<u8>> {
        let length = usize::from_str_radix(self.line()?.trim(), 16).ok()?;
        let mut piece = vec![0; length];
        self.pipe.read_exact(&mut piece).ok()?;
        self.line()?;
        (length > 0).then_some(piece)
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = self.pipe.read_line(&mut line).ok()?;
        (read > 0).then(|| line.trim_end().to_owned())
    }
}

/// A connection with a bound on every wait.
pub(crate) fn tcp(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("the server listens");
    stream.set_read_timeout(Some(WAIT_MAX)).expect("a wait can be bounded");
    stream.set_write_timeout(Some(WAIT_MAX)).expect("a wait can be bounded");
    stream
}
