//! stdin and files as parts of a prompt: piped text is read to its end, but an open and silent pipe does not block the
//! question for ever, and a file that is a pipe is not waited for in silence.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;
use std::time::Duration;

use parallel_llm_engine::Failure;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::bounded_text;
use crate::terminal::console::Console;

/// The longest wait for the first byte. A pipeline sends it within milliseconds, a slow query within seconds; for
/// anything slower there is `-`, which waits without limit.
const FIRST_BYTE_MAX: Duration = Duration::from_secs(5);

/// The name of stdin in messages.
pub(super) const STDIN: &str = "stdin";

/// Reads what is piped with `read`; `None` if it is blank, or silent, which is reported.
pub(super) async fn read(
    console: &Console,
    read: impl FnOnce(Beginning) -> Result<Vec<u8>, Failure> + Send + 'static,
) -> Result<Option<Vec<u8>>, Failure> {
    let (begins, begun) = oneshot::channel::<()>();
    // A blocking read cannot be cancelled. Its thread is left behind, and ends with the process.
    let mut reading = tokio::task::spawn_blocking(|| read(Beginning(Some(begins))));
    // Nothing is sent: the first byte, the end or an error drops the sender.
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
    let bytes = read.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))?;
    let is_blank = std::str::from_utf8(&bytes).is_ok_and(|text| text.trim().is_empty());
    if is_blank && is_pipe() {
        console.insist("note: what is piped is empty, so the question goes without it");
    }
    Ok(Some(bytes).filter(|_| !is_blank))
}

/// Whether stdin comes from another program, and not from a file or from nothing.
#[cfg(unix)]
fn is_pipe() -> bool {
    let mode = rustix::fs::fstat(io::stdin()).map(|stat| stat.st_mode);
    mode.is_ok_and(|mode| rustix::fs::FileType::from_raw_mode(mode) == rustix::fs::FileType::Fifo)
}

/// Other systems do not tell.
#[cfg(not(unix))]
const fn is_pipe() -> bool {
    false
}

/// Everything that a file holds, which may be a pipe of the shell, as in `@<(git diff)`. `name` stands for it in messages.
/// A wait longer than for stdin is announced: nobody may be writing to it.
pub(super) async fn file(
    console: &Console,
    path: &Path,
    name: &str,
    bytes_max: u64,
) -> Result<Vec<u8>, Failure> {
    let (path, shown) = (path.to_owned(), name.to_owned());
    // Opening a pipe waits for its writer. The thread is left behind as above.
    let reading = tokio::task::spawn_blocking(move || {
        let file = File::open(path).map_err(|error| bounded_text::unreadable(&shown, &error))?;
        bounded_text::bytes(file, bytes_max, &shown)
    });
    announced(console, name, reading).await
}

/// The result of a thread that reads this. A wait longer than for stdin is announced.
pub(in crate::command) async fn announced<T>(console: &Console, name: &str, mut reading: JoinHandle<T>) -> T {
    let read = if let Ok(read) = timeout(FIRST_BYTE_MAX, &mut reading).await {
        read
    } else {
        console.insist(&format!("note: {name} is read until it ends, which takes long; Ctrl-C gives up"));
        reading.await
    };
    read.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
}

/// stdin that drops a channel's sender at its first byte, end or error.
pub(super) struct Beginning(Option<oneshot::Sender<()>>);

impl Read for Beginning {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = Stdin.read(buffer);
        self.0 = None;
        read
    }
}

/// stdin that also works in non-blocking mode, which some runtimes set on pipes they pass on.
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

/// Other systems have no such mode.
#[cfg(not(unix))]
fn await_more() -> io::Result<()> {
    Err(ErrorKind::WouldBlock.into())
}
