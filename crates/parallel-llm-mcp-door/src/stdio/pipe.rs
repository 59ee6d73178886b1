//! Threads that read lines from a client and write lines to it.
//!
//! Threads instead of the runtime's file operations, because a read from a terminal or a write to a full pipe cannot be
//! cancelled, and must delay neither a run nor the end of the process. Parsing JSON of many megabytes happens here,
//! too. Both queues are bounded.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::{mpsc, oneshot};

use super::outbox::Lines;
use crate::protocol::line::{self, Line, Refusal};
use parallel_llm_http::message;

/// The most messages read ahead: few, because each may be as long as the longest line.
const READ_AHEAD_MAX: usize = 2;
/// The size of the read buffer in bytes.
const READ_BYTES: usize = 64 * 1024;
/// The bytes kept of the start and of the end of a line that is too long, to find its id.
const KEPT_BYTES: usize = 4 * 1024;

/// What was read of a client.
#[derive(Debug, Default)]
pub(super) struct Heard {
    message: AtomicBool,
    other: AtomicBool,
}

impl Heard {
    fn note(&self, line: &Line) {
        match line {
            Line::Message(_) => self.message.store(true, Ordering::Relaxed),
            Line::Refused(refusal) if !refusal.is_json => self.other.store(true, Ordering::Relaxed),
            // An answer of a client that only just begins is JSON all the same.
            Line::Refused(_) | Line::Silent => {}
        }
    }

    /// Whether there was text, but no message: nobody speaks the protocol there.
    pub(super) fn is_no_client(&self) -> bool {
        self.other.load(Ordering::Relaxed) && !self.message.load(Ordering::Relaxed)
    }
}

/// Reads lines until the end of the input, then closes the queue. Notes what they are.
pub(super) fn read_lines(
    source: impl Read + Send + 'static,
    heard: Arc<Heard>,
) -> io::Result<mpsc::Receiver<Line>> {
    let (queue, lines) = mpsc::channel(READ_AHEAD_MAX);
    let read_all = move || {
        let mut source = BufReader::with_capacity(READ_BYTES, source);
        loop {
            let line = match next_line(&mut source) {
                Ok(Some(line)) => line,
                Ok(None) => return,
                Err(error) => return tracing::warn!("the client cannot be read: {error}"),
            };
            heard.note(&line);
            // The receiver is gone: the program is ending.
            if queue.blocking_send(line).is_err() {
                return;
            }
        }
    };
    std::thread::Builder::new().name("mcp-in".to_owned()).spawn(read_all)?;
    Ok(lines)
}

fn next_line(source: &mut impl BufRead) -> io::Result<Option<Line>> {
    let mut line = Vec::new();
    let limit = message::BYTES_MAX as u64 + 1;
    let count = source.by_ref().take(limit).read_until(b'\n', &mut line)?;
    if count == 0 {
        return Ok(None);
    }
    if count <= message::BYTES_MAX || line.ends_with(b"\n") {
        return Ok(Some(line::read(&line)));
    }
    line.truncate(KEPT_BYTES);
    let tail = skip_line(source)?;
    Ok(Some(Line::Refused(Refusal::too_long(&line, &tail))))
}

/// Skips to the end of the line and returns its last bytes.
fn skip_line(source: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut tail = Vec::new();
    loop {
        let count = source.by_ref().take(KEPT_BYTES as u64).read_until(b'\n', &mut tail)?;
        if count == 0 || tail.ends_with(b"\n") {
            return Ok(tail);
        }
        tail.drain(..tail.len().saturating_sub(KEPT_BYTES));
    }
}

/// Writes lines until the sender is gone, then completes the returned receiver. If the client is gone, lines are
/// dropped.
pub(super) fn write_lines(
    mut lines: Lines,
    mut sink: impl Write + Send + 'static,
) -> io::Result<oneshot::Receiver<()>> {
    let (done, written) = oneshot::channel();
    let write_all = move || {
        while let Some(result) = lines.write_next(|line| sink.write_all(line).and_then(|()| sink.flush())) {
            if let Err(error) = result {
                tracing::warn!("the client cannot be written to: {error}");
                break;
            }
        }
        // Nobody may be waiting for the end.
        let _ = done.send(());
    };
    std::thread::Builder::new().name("mcp-out".to_owned()).spawn(write_all)?;
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_line_that_is_too_long_is_cut_and_the_next_is_read() {
        let long = format!(r#"{{"params":"{}","id":1}}"#, "a".repeat(message::BYTES_MAX + 1));
        let input = format!("{long}\n{{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}}");
        let mut lines = read_lines(io::Cursor::new(input), Arc::default()).unwrap();
        let Some(Line::Refused(refusal)) = lines.recv().await else { panic!("it was taken") };
        assert_eq!(refusal.id.unwrap().get(), "1");
        assert!(matches!(lines.recv().await, Some(Line::Message(_))));
        assert!(lines.recv().await.is_none());
    }
}
