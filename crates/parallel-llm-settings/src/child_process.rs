//! Runs a program of the user's without a shell, for a bounded time and with bounded output.
//!
//! Invariants: dropping the future ends the program, and only the beginning of its output is stored.

use std::io;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, Command};
use tokio::time::timeout;

/// Bytes stored of each output stream.
pub const OUTPUT_BYTES_MAX: u64 = 4 * 1024;
/// How long the pipes of an ended program are still read: a background process it left behind may hold them open.
const PIPES_MAX: Duration = Duration::from_millis(250);

/// A program to run.
pub struct ChildProgram {
    /// The program, its arguments and its environment. Its streams are set here.
    pub command: Command,
    /// The text on stdin, if any.
    pub input: Option<Arc<str>>,
    /// Time limit.
    pub wait_max: Duration,
    /// The fate of processes that it starts.
    pub descendants: Descendants,
}

/// The fate of the processes that a program starts, when it ends or is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Descendants {
    /// They continue, such as an agent that keeps a password manager unlocked.
    Keep,
    /// They are ended as far as they stay in its process group. Systems other than Unix have none, so they continue.
    Kill,
}

/// The output of a program, and how it ended.
pub struct ChildOutput {
    /// The beginning of stdout, at most one byte more than [`OUTPUT_BYTES_MAX`].
    pub stdout: Vec<u8>,
    /// The same of stderr.
    pub stderr: Vec<u8>,
    /// The exit status, or the error of waiting for it.
    pub status: io::Result<ExitStatus>,
}

/// Why a program has no result.
pub enum ChildError {
    /// It could not be started.
    NotStarted(io::Error),
    /// It exceeded the time limit and was ended.
    TimedOut,
}

/// Runs a program to its end. Dropping the future ends the program.
pub async fn run(program: ChildProgram) -> Result<ChildOutput, ChildError> {
    let ChildProgram { mut command, input, wait_max, descendants } = program;
    command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() });
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    #[cfg(unix)]
    if descendants == Descendants::Kill {
        command.process_group(0);
    }
    let mut child = command.spawn().map_err(ChildError::NotStarted)?;
    let group = Group::of(&child, descendants);
    let feeding = feed(child.stdin.take(), input);
    timeout(wait_max, listen(child, feeding, group)).await.map_err(|_| ChildError::TimedOut)
}

/// Reads output until the program ends. `group` is dropped before the child, which owns its process id.
async fn listen(mut child: Child, feeding: impl Future<Output = ()>, mut group: Group) -> ChildOutput {
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let (out, err) = (child.stdout.take(), child.stderr.take());
    let mut status = None;
    {
        let reading = async { tokio::join!(feeding, read(out, &mut stdout), read(err, &mut stderr)) };
        tokio::pin!(reading);
        tokio::select! {
            _ = &mut reading => {}
            ended = child.wait() => {
                group.end();
                let _ = timeout(PIPES_MAX, &mut reading).await;
                status = Some(ended);
            }
        }
    }
    let status = match status {
        Some(status) => status,
        None => child.wait().await,
    };
    group.end();
    ChildOutput { stdout, stderr, status }
}

/// A program that does not read all its input does not need the rest.
async fn feed(pipe: Option<ChildStdin>, input: Option<Arc<str>>) {
    if let (Some(mut pipe), Some(input)) = (pipe, input) {
        let _ = pipe.write_all(input.as_bytes()).await;
    }
}

/// If the pipe breaks, what was read so far counts.
async fn read(pipe: Option<impl AsyncRead + Unpin>, bytes: &mut Vec<u8>) {
    let Some(mut pipe) = pipe else { return };
    let _ = (&mut pipe).take(OUTPUT_BYTES_MAX + 1).read_to_end(bytes).await;
    // The rest is discarded, so that a program with much output does not block.
    let _ = tokio::io::copy(&mut pipe, &mut tokio::io::sink()).await;
}

/// The first line of an output.
pub fn first_line(bytes: &[u8]) -> &[u8] {
    bytes.split(|byte| *byte == b'\n').next().unwrap_or_default()
}

/// The process group of a program. Ended only once, since its id may be reused afterwards.
struct Group {
    #[cfg(unix)]
    number: Option<rustix::process::Pid>,
}

impl Group {
    #[cfg(unix)]
    fn of(child: &Child, descendants: Descendants) -> Self {
        let number = child.id().filter(|_| descendants == Descendants::Kill);
        let number = number.and_then(|id| i32::try_from(id).ok());
        Self { number: number.and_then(rustix::process::Pid::from_raw) }
    }

    #[cfg(not(unix))]
    fn of(_: &Child, _: Descendants) -> Self {
        Self {}
    }

    fn end(&mut self) {
        #[cfg(unix)]
        if let Some(number) = self.number.take() {
            // The group may be empty.
            let _ = rustix::process::kill_process_group(number, rustix::process::Signal::KILL);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.end();
    }
}
