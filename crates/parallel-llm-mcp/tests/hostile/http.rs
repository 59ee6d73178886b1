//! A keep-alive connection to the real server over HTTP, written by hand so that it can send anything.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use parallel_llm_testkit::Sandbox;
use serde_json::Value;

/// The longest a test waits for a byte. Only a test that fails waits so long.
const WAIT_MAX: Duration = Duration::from_secs(60);

/// The arguments of the program.
const ARGUMENTS: [&str; 4] = ["serve", "--http", "127.0.0.1:0", "--no-auth"];

/// The real server on a port of its own. It is killed when dropped.
pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) address: SocketAddr,
}

impl Server {
    pub(crate) fn start(sandbox: &Sandbox) -> Self {
        let log = sandbox.home().join("stderr");
        let stderr = File::create(&log).expect("a file can be made");
        let mut command = Command::new(sandbox.binary());
        command
            .args(ARGUMENTS)
            .env_clear()
            .env("HOME", sandbox.home())
            .env("PATH", "/usr/bin:/bin")
            .env("PARALLEL_LLM_LOG_LEVEL", "info")
            .env("OPENROUTER_BASE_URL", sandbox.simulator().base_url())
            .env("OPENROUTER_API_KEY", sandbox.simulator().api_key())
            .current_dir(sandbox.home())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(stderr);
        let child = command.spawn().expect("the program starts");
        let log_text = || std::fs::read_to_string(&log).unwrap_or_default();
        sandbox.until("it listens", || address_in(&log_text()).is_some());
        Self { child, address: address_in(&log_text()).expect("it was just there") }
    }
}

fn address_in(log: &str) -> Option<SocketAddr> {
    log.split("http://").nth(1)?.split('/').next()?.parse().ok()
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One connection; it is opened again if the server closes it.
pub(crate) struct Connection {
    address: SocketAddr,
    stream: Option<BufReader<TcpStream>>,
    pub(crate) session: Option<String>,
}

/// A response.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    pub(crate) body: String,
    headers: Vec<(String, String)>,
}

impl Response {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The messages of the body: the body itself, or the events of a stream.
    pub(crate) fn messages(&self) -> Vec<Value> {
        let events = self.body.lines().filter_map(|line| line.strip_prefix("data:"));
        events.chain([self.body.as_str()]).filter_map(|text| serde_json::from_str(text.trim()).ok()).collect()
    }
}

impl Connection {
    pub(crate) const fn new(address: SocketAddr) -> Self {
        Self { address, stream: None, session: None }
    }

    /// Sends a body to `/mcp` and waits for the response.
    pub(crate) fn post(&mut self, body: &[u8]) -> Response {
        let session = self.session.as_ref().map(|id| format!("Mcp-Session-Id: {id}\r\n")).unwrap_or_default();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\nAccept: application/json, \
             text/event-stream\r\n{session}Content-Length: {}\r\n\r\n",
            self.address,
            body.len()
        );
        let stream = self.stream.get_or_insert_with(|| {
            let stream = TcpStream::connect(self.address).expect("the server listens");
            stream.set_read_timeout(Some(WAIT_MAX)).expect("a time is set");
            stream.set_nodelay(true).expect("a flag is set");
            BufReader::new(stream)
        });
        // The server may reply and close before it has read everything.
        let _ = stream.get_mut().write_all(&[head.as_bytes(), body].concat());
        let response = read(stream).unwrap_or_else(|error| panic!("no response to {}: {error}", shown(body)));
        if response.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close")) {
            self.stream = None;
        }
        response
    }
}

pub(crate) fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(&bytes[..bytes.len().min(200)]).into_owned()
}

fn read(stream: &mut BufReader<TcpStream>) -> std::io::Result<Response> {
    let status = line(stream)?.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.ok_or_else(|| std::io::Error::other("no status"))?;
    let mut headers = Vec::new();
    loop {
        let line = line(stream)?;
        let Some((name, value)) = line.split_once(':') else { break };
        headers.push((name.to_lowercase(), value.trim().to_owned()));
    }
    let mut response = Response { status, headers, body: String::new() };
    let mut body = Vec::new();
    if response.header("transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case("chunked")) {
        loop {
            let length = usize::from_str_radix(line(stream)?.trim(), 16).map_err(std::io::Error::other)?;
            let mut chunk = vec![0; length + 2];
            stream.read_exact(&mut chunk)?;
            body.extend_from_slice(&chunk[..length]);
            if length == 0 {
                break;
            }
        }
    } else {
        let length = response.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        body.resize(length, 0);
        stream.read_exact(&mut body)?;
    }
    response.body = String::from_utf8_lossy(&body).into_owned();
    Ok(response)
}

fn line(stream: &mut BufReader<TcpStream>) -> std::io::Result<String> {
    let mut line = String::new();
    match stream.read_line(&mut line)? {
        0 => Err(std::io::Error::other("the connection is closed")),
        _ => Ok(line.trim_end().to_owned()),
    }
}
