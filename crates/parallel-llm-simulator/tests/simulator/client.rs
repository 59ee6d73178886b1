//! A client that works with bytes: it writes one request, reads the reply, and reports how the connection ended.

use std::time::Duration;

use parallel_llm_simulator::Simulator;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

/// Silence longer than this counts as a connection that stays open.
const QUIET: Duration = Duration::from_secs(1);

/// The longest wait for what usually takes milliseconds, for a busy machine.
const PATIENCE: Duration = Duration::from_secs(5);

/// The most bytes read, so that an endless reply ends.
const BYTES_MAX: usize = 80 * 1024 * 1024;

/// The default model of the tests.
pub(crate) const MODEL: &str = "openai/gpt-6.1-terra";

/// One request.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) method: &'static str,
    pub(crate) path: String,
    pub(crate) authorization: Option<String>,
    pub(crate) scenario: Option<String>,
    pub(crate) extra_headers: String,
    pub(crate) body: String,
}

/// A chat request with this body.
pub(crate) fn chat(simulator: &Simulator, body: &Value) -> Ask {
    Ask {
        method: "POST",
        path: "/api/v1/chat/completions".to_owned(),
        authorization: Some(format!("Bearer {}", simulator.api_key())),
        scenario: None,
        extra_headers: String::new(),
        body: body.to_string(),
    }
}

/// A chat request with a single question.
pub(crate) fn question(simulator: &Simulator, model: &str, stream: bool) -> Ask {
    let messages = json!([{"role": "user", "content": "How do we name things?"}]);
    chat(simulator, &json!({"model": model, "stream": stream, "messages": messages}))
}

/// A request without a body.
pub(crate) fn get(simulator: &Simulator, path: &str) -> Ask {
    Ask { method: "GET", path: path.to_owned(), body: String::new(), ..question(simulator, MODEL, false) }
}

impl Ask {
    pub(crate) fn scenario(self, name: &str) -> Self {
        Self { scenario: Some(name.to_owned()), ..self }
    }

    fn bytes(&self) -> Vec<u8> {
        let header = |name: &str, value: &Option<String>| match value {
            Some(value) => format!("{name}: {value}\r\n"),
            None => String::new(),
        };
        let head = format!(
            "{} {} HTTP/1.1\r\nHost: sim\r\nContent-Length: {}\r\n{}{}{}\r\n",
            self.method,
            self.path,
            self.body.len(),
            header("Authorization", &self.authorization),
            header("X-Sim-Scenario", &self.scenario),
            self.extra_headers,
        );
        [head.as_bytes(), self.body.as_bytes()].concat()
    }
}

/// How a reply ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// With the last chunk.
    Whole,
    /// By a closed connection, before the last chunk.
    Cut,
    /// By a reset connection, before the last chunk.
    Reset,
    /// Not: nothing more came, and the connection stays open.
    Open,
    /// It was longer than the limit.
    Endless,
}

/// A reply as received.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    /// The head, as text, without the `Date` line.
    pub(crate) head: String,
    pub(crate) chunks: Vec<Vec<u8>>,
    pub(crate) end: End,
}

impl Reply {
    pub(crate) fn body(&self) -> Vec<u8> {
        self.chunks.concat()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body()).unwrap()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body()).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    /// The data of all events, for plain framing.
    pub(crate) fn events(&self) -> Vec<String> {
        let text = self.text();
        text.lines().filter_map(|line| line.strip_prefix("data: ")).map(str::to_owned).collect()
    }

    /// The text of the deltas of all events.
    pub(crate) fn streamed_text(&self) -> String {
        let chunks = self.events().into_iter().filter_map(|event| serde_json::from_str::<Value>(&event).ok());
        chunks
            .filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str().map(str::to_owned))
            .collect()
    }
}

/// Waits until the condition holds.
pub(crate) async fn until(is_so: impl Fn() -> bool) {
    let waiting = async {
        while !is_so() {
            sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(PATIENCE, waiting).await.unwrap();
}

/// Connects and sends a request.
pub(crate) async fn connect(simulator: &Simulator, ask: &Ask) -> TcpStream {
    let mut stream = TcpStream::connect(simulator.address()).await.unwrap();
    stream.write_all(&ask.bytes()).await.unwrap();
    stream
}

/// Sends a request and reads its whole reply.
pub(crate) async fn send(simulator: &Simulator, ask: &Ask) -> Reply {
    let mut stream = connect(simulator, ask).await;
    let mut bytes = Vec::new();
    let mut piece = vec![0; 64 * 1024];
    let end = loop {
        if bytes.ends_with(b"\r\n0\r\n\r\n") {
            break End::Whole;
        }
        if bytes.len() > BYTES_MAX {
            break End::Endless;
        }
        match timeout(QUIET, stream.read(&mut piece)).await {
            Err(_) => break End::Open,
            Ok(Err(_)) => break End::Reset,
            Ok(Ok(0)) => break End::Cut,
            Ok(Ok(count)) => bytes.extend_from_slice(&piece[..count]),
        }
    };
    parse(&bytes, end)
}

fn parse(bytes: &[u8], end: End) -> Reply {
    let head_end = bytes.windows(4).position(|window| window == b"\r\n\r\n");
    let Some(head_end) = head_end else {
        return Reply { status: 0, head: String::new(), chunks: Vec::new(), end };
    };
    let head = String::from_utf8(bytes[..head_end].to_vec()).unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let head = head.lines().filter(|line| !line.starts_with("Date: ")).collect::<Vec<_>>().join("\n");
    Reply { status, head, chunks: chunks(&bytes[head_end + 4..]), end }
}

/// The data of each HTTP chunk; the last one may be incomplete.
fn chunks(mut rest: &[u8]) -> Vec<Vec<u8>> {
    let mut chunks = Vec::new();
    while let Some(line_end) = rest.windows(2).position(|window| window == b"\r\n") {
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..line_end]).unwrap(), 16).unwrap();
        let data = &rest[line_end + 2..];
        if size > 0 {
            chunks.push(data[..size.min(data.len())].to_vec());
        }
        rest = data.get(size + 2..).unwrap_or_default();
    }
    chunks
}

/// Replaces what differs from run to run: the ids and the time.
pub(crate) fn scrub(text: &str) -> String {
    let mut scrubbed = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("gen-1") {
        scrubbed.push_str(&rest[..at]);
        scrubbed.push_str("gen-ID");
        let id_end = rest[at + 4..].find(|sign: char| !sign.is_alphanumeric() && sign != '-');
        rest = id_end.map_or("", |end| &rest[at + 4 + end..]);
    }
    scrubbed.push_str(rest);
    let Some(at) = scrubbed.find("\"created\":") else { return scrubbed };
    let seconds = scrubbed[at + 10..].split(',').next().unwrap().to_owned();
    scrubbed.replace(&format!("\"created\":{seconds}"), "\"created\":NOW")
}
