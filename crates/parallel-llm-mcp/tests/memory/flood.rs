//! A raw server that sends more than a client should read; the name of the model selects the flood.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use flate2::Compression;
use flate2::write::GzEncoder;

/// Bytes after which a flood ends by itself, so that a program that reads it all ends too.
const FLOOD_BYTES_MAX: usize = 256 * 1024 * 1024;
/// Bytes written at once.
const PIECE_BYTES: usize = 64 * 1024;
/// The longest request that is read.
const REQUEST_BYTES_MAX: usize = 64 * 1024;

/// The reply of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flood {
    /// An ordinary answer.
    None,
    /// White space, compressed a thousand to one.
    Gzip,
    /// Endless pieces of an answer.
    Answer,
    /// One endless event.
    Line,
    /// One endless JSON document.
    Document,
    /// The endless body of an error.
    Error,
}

impl Flood {
    const ALL: [Self; 6] = [Self::None, Self::Gzip, Self::Answer, Self::Line, Self::Document, Self::Error];

    /// The model that selects this flood.
    pub(crate) fn model(self) -> String {
        format!("flood/{self:?}").to_lowercase()
    }

    fn head(self) -> String {
        let (status, kind) = match self {
            Self::Error => ("500 Internal Server Error", "application/json"),
            Self::Document => ("200 OK", "application/json"),
            _ => ("200 OK", "text/event-stream"),
        };
        let encoding = if self == Self::Gzip { "Content-Encoding: gzip\r\n" } else { "" };
        format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n{encoding}Connection: close\r\n\r\n")
    }

    /// The start of the body, and the piece that is repeated.
    fn body(self) -> (&'static str, Vec<u8>) {
        let words = "more and more and more ".repeat(8);
        let event = format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{words}\"}}}}]}}\n\n");
        match self {
            Self::None | Self::Gzip => ("", Vec::new()),
            Self::Answer => ("", event.repeat(PIECE_BYTES / event.len()).into_bytes()),
            Self::Line => ("data: {\"x\":\"", vec![b'x'; PIECE_BYTES]),
            Self::Document => ("{\"choices\":[{\"message\":{\"content\":\"", vec![b'x'; PIECE_BYTES]),
            Self::Error => ("{\"error\":{\"message\":\"", vec![b'x'; PIECE_BYTES]),
        }
    }
}

/// An ordinary answer.
const ANSWER: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"Enough.\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

/// The server. Its threads end with their connections.
pub(crate) struct Server {
    base_url: String,
}

impl Server {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a local port is free");
        let address = listener.local_addr().expect("the listener is bound");
        thread::spawn(move || {
            for connection in listener.incoming().map_while(Result::ok) {
                // A client that has read enough closes the connection.
                thread::spawn(move || drop(serve(connection)));
            }
        });
        Self { base_url: format!("http://{address}/api/v1") }
    }

    pub(crate) fn base_url(&self) -> String {
        self.base_url.clone()
    }
}

/// A gzip of 256 MiB of white space, about 0.25 MiB long.
fn compressed() -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    let piece = vec![b' '; PIECE_BYTES];
    for _ in 0..FLOOD_BYTES_MAX / PIECE_BYTES {
        encoder.write_all(&piece)?;
    }
    encoder.finish()
}

fn serve(mut connection: TcpStream) -> io::Result<()> {
    let request = read(&mut connection)?;
    let flood = Flood::ALL.into_iter().find(|flood| request.contains(&flood.model()));
    let Some(flood) = flood else {
        return connection.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
    };
    connection.write_all(flood.head().as_bytes())?;
    match flood {
        Flood::None => connection.write_all(ANSWER.as_bytes()),
        Flood::Gzip => connection.write_all(&compressed()?),
        _ => {
            let (before, piece) = flood.body();
            connection.write_all(before.as_bytes())?;
            (0..FLOOD_BYTES_MAX / PIECE_BYTES).try_for_each(|_| connection.write_all(&piece))
        }
    }
}

/// The head of a request, and as much of its body as names the model.
fn read(connection: &mut TcpStream) -> io::Result<String> {
    let mut request = Vec::new();
    let mut piece = [0; 4096];
    while request.len() < REQUEST_BYTES_MAX {
        let read = connection.read(&mut piece)?;
        request.extend_from_slice(&piece[..read]);
        let text = String::from_utf8_lossy(&request);
        let whole = text.starts_with("GET ") && text.contains("\r\n\r\n");
        if read == 0 || whole || text.contains("\"max_completion_tokens\"") {
            return Ok(text.into_owned());
        }
    }
    Ok(String::new())
}
