//! A program of the user's, run without a shell, for a bounded time and with a bounded output.
//!
//! What always holds: dropping the wait ends the program, and only the beginning of its output is kept.

use std::io;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, Command};
use tokio::time::timeout;

/// What is kept of each of its streams.
pub const OUTPUT_BYTES_MAX: u64 = 4 * 1024;
/// How long the pipes of a program that has ended are still read. One that left a helper behind, as agents are, leaves
/// it the pipes too.
const PIPES_MAX: Duration = Duration::from_millis(250);

/// A program to be run.
pub struct ChildProgram {
    /// The program, its arguments and what it finds around itself. Its streams are set here.
    pub command: Command,
    /// What it reads on stdin; nothing where `None`.
    pub input: Option<Arc<str>>,
    /// How long it may take.
    pub wait_max: Duration,
    /// What becomes of programs that it starts.
    pub descendants: Descendants,
}

/// What becomes of the programs that a program starts, when it ends or is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Descendants {
    /// They stay, as an agent does that holds a password manager open.
    Keep,
    /// They are ended, too, as far as they stay in its process group. Elsewhere than on Unix there is none, and they stay.
    Kill,
}

/// What a program wrote before it ended, and how it ended.
pub struct ChildOutput {
    /// The beginning of what it wrote: at most one byte more than [`OUTPUT_BYTES_MAX`].
    pub stdout: Vec<u8>,
    /// The same of what it wrote beside it.
    pub stderr: Vec<u8>,
    /// How it ended; a failure where that was lost.
    pub status: io::Result<ExitStatus>,
}

/// Why a program did not come to an end of its own.
pub enum ChildError {
    /// It could not be started.
    NotStarted(io::Error),
    /// It took longer than it may, and was ended.
    TimedOut,
}

/// Runs a program to its end. Dropped before that, it ends the program.
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

/// Keeps the beginning of what it writes until it ends. The group is dropped before the child, which has its number.
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

/// Whoever does not read to the end wants no more of it.
async fn feed(pipe: Option<ChildStdin>, input: Option<Arc<str>>) {
    if let (Some(mut pipe), Some(input)) = (pipe, input) {
        let _ = pipe.write_all(input.as_bytes()).await;
    }
}

/// What came before a pipe broke is what came.
async fn read(pipe: Option<impl AsyncRead + Unpin>, bytes: &mut Vec<u8>) {
    let Some(mut pipe) = pipe else { return };
    let _ = (&mut pipe).take(OUTPUT_BYTES_MAX + 1).read_to_end(bytes).await;
    // The rest is let through, so that a program that says much of how it goes is not held up.
    let _ = tokio::io::copy(&mut pipe, &mut tokio::io::sink()).await;
}

/// The first line of what a program wrote.
pub fn first_line(bytes: &[u8]) -> &[u8] {
    bytes.split(|byte| *byte == b'\n').next().unwrap_or_default()
}

/// The programs that a program has started, as long as they stay with it. ChildOutput once: later their number may be another's.
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
            // There may be none left.
            let _ = rustix::process::kill_process_group(number, rustix::process::Signal::KILL);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.end();
    }
}
