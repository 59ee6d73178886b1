//! A server that answers every request with a list of models and records the requests.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use parallel_llm_testkit::{Call, Sandbox};

/// The longest request head that it reads, in bytes.
const HEAD_BYTES_MAX: usize = 16 * 1024;

/// A base URL where nothing listens: only a system service may take this port.
pub(crate) const NO_SERVER: &str = "http://127.0.0.1:1/v1";

/// The reply to a request about a key.
const KEY_REPLY: &str = r#"{"data":{"limit_remaining":7.5,"usage":2.5}}"#;

/// A server that runs until it is dropped.
pub(crate) struct Lists {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
    stopped: Arc<AtomicBool>,
    serving: Option<JoinHandle<()>>,
}

impl Lists {
    /// Answers every request with this list, except those about a key.
    pub(crate) fn of(body: &str) -> Self {
        Self::with_head(body, "")
    }

    /// The same, with these lines in the head of each reply.
    pub(crate) fn with_head(body: &str, head: &'static str) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a local port is free");
        let address = listener.local_addr().expect("a listener has an address");
        let (asked, stopped) = (Arc::<Mutex<Vec<String>>>::default(), Arc::<AtomicBool>::default());
        let (kept, is_stopped, body) = (Arc::clone(&asked), Arc::clone(&stopped), body.to_owned());
        let serving = std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if is_stopped.load(Ordering::SeqCst) {
                    return;
                }
                if let Some(asked) = answer(stream, head, &body) {
                    kept.lock().unwrap_or_else(PoisonError::into_inner).push(asked);
                }
            }
        });
        Self { address, asked, stopped, serving: Some(serving) }
    }

    /// Its base URL with this path.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Host and port.
    pub(crate) fn authority(&self) -> String {
        self.address.to_string()
    }

    /// The first line and the headers of each request, in lower case.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Lists {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::SeqCst);
        // Wakes the listener, if it is still there.
        drop(TcpStream::connect(self.address));
        if let Some(serving) = self.serving.take() {
            let _ = serving.join();
        }
    }
}

fn answer(mut stream: TcpStream, lines: &str, body: &str) -> Option<String> {
    let mut head = Vec::new();
    let mut byte = [0; 1];
    while !head.ends_with(b"\r\n\r\n") && head.len() < HEAD_BYTES_MAX {
        if stream.read(&mut byte).ok()? == 0 {
            return None;
        }
        head.extend_from_slice(&byte);
    }
    let is_key = head.split(|byte| *byte == b' ').nth(1).is_some_and(|path| path.ends_with(b"/key"));
    let body = if is_key { KEY_REPLY } else { body };
    let reply = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n{lines}connection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(reply.as_bytes()).ok()?;
    Some(String::from_utf8_lossy(&head).to_lowercase())
}

/// The program on a machine without local model servers.
pub(crate) fn without_local_servers<'a>(sandbox: &'a Sandbox, arguments: &[&str]) -> Call<'a> {
    let call = sandbox.call(arguments);
    ["OLLAMA_BASE_URL", "LMSTUDIO_BASE_URL", "VLLM_BASE_URL"]
        .into_iter()
        .fold(call, |call, variable| call.env(variable, NO_SERVER))
}
