//! stdin as a part of a prompt: what is piped beside an argument is read to its end and never dropped, and a pipe that a
//! script left open does not hold the question for ever.

use std::io::{self, ErrorKind, Read};
use std::time::Duration;

use parallel_llm_engine::Failure;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::terminal::console::Console;

/// How long the first byte is waited for. A pipeline gives it within milliseconds, a slow query within seconds; whoever
/// pipes something slower writes `-`, which waits without a bound.
const FIRST_BYTE_MAX: Duration = Duration::from_secs(5);

/// What stdin is called in messages.
pub(super) const STDIN: &str = "stdin";

/// The text that is piped to stdin, read in this way; `None` where it is empty, or stays silent, which is then said.
pub(super) async fn read(
    console: &Console,
    read: impl FnOnce(Beginning) -> Result<String, Failure> + Send + 'static,
) -> Result<Option<String>, Failure> {
    let (begins, begun) = oneshot::channel::<()>();
    // A read cannot be called back. Whoever is given up here is left behind, and ends with the process.
    let mut reading = tokio::task::spawn_blocking(|| read(Beginning(Some(begins))));
    // Nothing is sent: the first byte, the end or an error drops the other side.
    if timeout(FIRST_BYTE_MAX, begun).await.is_err() {
        console.insist(&format!(
            "note: nothing came on stdin within {} s, so the question goes without it; write `-` behind the prompt to wait for it, or `< /dev/null` where there is nothing to come",
            FIRST_BYTE_MAX.as_secs()
        ));
        return Ok(None);
    }
    let read = if let Ok(read) = timeout(FIRST_BYTE_MAX, &mut reading).await {
        read
    } else {
        console.insist("note: stdin is read until it ends; Ctrl-C gives up");
        reading.await
    };
    let text = read.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))?;
    Ok(Some(text).filter(|text| !text.trim().is_empty()))
}

/// stdin, which lets go of a channel's end with its first byte, its end or its first error.
pub(super) struct Beginning(Option<oneshot::Sender<()>>);

impl Read for Beginning {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = Stdin.read(buffer);
        self.0 = None;
        read
    }
}

/// stdin, also where whoever started us has set it not to block, as some runtimes do with the pipes they hand on.
pub(super) struct Stdin;

impl Read for Stdin {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match io::stdin().read(buffer) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => await_more()?,
                read => return read,
            }
        }
    }
}

#[cfg(unix)]
fn await_more() -> io::Result<()> {
    use rustix::event::{PollFd, PollFlags, poll};
    match poll(&mut [PollFd::new(&io::stdin(), PollFlags::IN)], None) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Elsewhere nobody sets it so.
#[cfg(not(unix))]
fn await_more() -> io::Result<()> {
    Err(ErrorKind::WouldBlock.into())
}
