//! `--output FILE`: an answer file that is known to be writable before anything is paid.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parallel_llm_engine::value::next::{Advice, Next, Operation};
use parallel_llm_engine::{Code, Failure};
use tokio::time::{Instant, sleep};

use parallel_llm_service::attachment::Attachments;
use parallel_llm_settings::clock;
use parallel_llm_settings::private_files;
use parallel_llm_settings::signals::Signals;

/// The longest wait for the reader of a pipe. It is started beside this program, or not at all.
const READER_MAX: Duration = Duration::from_secs(5);
/// The interval of looking for the reader.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The most links that are followed from one to the next, as on Linux.
const LINKS_MAX: usize = 40;

/// Fails if the answer would replace a file of the question.
pub(super) fn check_apart(path: &Path, attachments: &Attachments) -> Result<(), Failure> {
    if !attachments.holds(path) {
        return Ok(());
    }
    let message = format!("`--output {}` would replace a file of the question", path.display());
    let ending = path.extension().map(|ending| format!(".{}", ending.to_string_lossy())).unwrap_or_default();
    let other = path.with_extension(format!("answer{ending}"));
    let next = Next::WriteAs(format!("--output {}", other.display()).into());
    Err(Failure::new(Code::Usage, message).with_next(next))
}

/// The reserved answer file. Dropping it unwritten leaves nothing.
pub(in crate::command) struct AnswerFile {
    path: PathBuf,
    file: File,
    temporary: Option<Temporary>,
}

/// The file's temporary name; `None` if it is not a regular file.
struct Temporary(PathBuf);

impl AnswerFile {
    /// Checks that the answer can be written to this path. An existing file stays as it is until then.
    pub(super) async fn reserve(path: &Path) -> Result<Self, Failure> {
        // A link stays a link: its target is written, even one that does not exist yet.
        let path = path.canonicalize().unwrap_or_else(|_| target(path));
        // A link that still leads to something has no target by name, such as `/dev/stdout` to a file that was removed.
        let is_link = path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
        if is_link || path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
            let file = open_in_place(&path).await?;
            return Ok(Self { path, file, temporary: None });
        }
        let name = path.file_name().ok_or_else(|| unwritable(&path, "it names no file"))?;
        let temporary = path.with_file_name(format!(".{}.{}.new", name.to_string_lossy(), clock::unix_ms()));
        let file =
            private_files::file_options().open(&temporary).map_err(|error| unwritable(&path, error))?;
        Ok(Self { path, file, temporary: Some(Temporary(temporary)) })
    }

    /// Writes the answer, atomically to a regular file. A signal ends the wait for a pipe's reader.
    pub(super) async fn write(self, answer: &Arc<str>, signals: &mut Signals) -> Result<(), Failure> {
        let (path, answer) = (self.path.clone(), Arc::clone(answer));
        let writing = tokio::task::spawn_blocking(move || self.write_whole(&answer));
        let written = tokio::select! {
            written = writing => written.unwrap_or_else(|error| Err(io::Error::other(error))),
            _ = signals.next() => Err(io::Error::other("nobody has read it to its end")),
        };
        written.map_err(|error| unwritable(&path, error).with_next(Operation::ShowRun))
    }

    fn write_whole(mut self, answer: &str) -> io::Result<()> {
        if self.file.metadata()?.is_file() {
            self.file.set_len(0)?;
        }
        self.file.write_all(answer.as_bytes())?;
        let Some(temporary) = &self.temporary else { return Ok(()) };
        // Synced before it replaces the existing file.
        self.file.sync_all()?;
        std::fs::rename(&temporary.0, &self.path)?;
        if let Some(folder) = self.path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            // Some file systems cannot sync folders; the file itself is safe.
            let _ = File::open(folder).and_then(|folder| folder.sync_all());
        }
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // After the rename there is nothing to remove; otherwise a leftover is a hidden file.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// The path that links lead to although nothing is there; the path itself if something is there, or it is no link.
fn target(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..LINKS_MAX {
        let is_dangling = path.metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound);
        let Some(next) = is_dangling.then(|| path.read_link().ok()).flatten() else { break };
        // A relative target starts from the folder of its link.
        path = path.parent().unwrap_or(Path::new("")).join(next);
    }
    path
}

/// Opens what is written in place: a device, the target of a link, or a pipe once it has a reader. Opening a pipe without a
/// reader would block for ever.
async fn open_in_place(path: &Path) -> Result<File, Failure> {
    let mut options = private_files::private(OpenOptions::new());
    // What is there stays until the answer is.
    options.write(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        rustix::fs::OFlags::NONBLOCK.bits().cast_signed(),
    );
    let give_up = Instant::now() + READER_MAX;
    loop {
        match options.open(path) {
            Ok(file) => return blocking(file).map_err(|error| unwritable(path, error)),
            Err(error) if is_unread(&error) && Instant::now() < give_up => sleep(POLL_INTERVAL).await,
            Err(error) if is_unread(&error) => {
                return Err(unwritable(path, format!("nobody has read it for {} s", READER_MAX.as_secs()))
                    .with_next(Advice::StartReaderFirst));
            }
            Err(error) => return Err(unwritable(path, error)),
        }
    }
}

/// Whether the error says that a pipe has no reader.
#[cfg(unix)]
fn is_unread(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::NXIO.raw_os_error())
}

/// Other systems have no such pipes.
#[cfg(not(unix))]
const fn is_unread(_: &io::Error) -> bool {
    false
}

/// The file in blocking mode, so that writes wait for the reader.
#[cfg(unix)]
fn blocking(file: File) -> io::Result<File> {
    let flags = rustix::fs::fcntl_getfl(&file)?;
    rustix::fs::fcntl_setfl(&file, flags - rustix::fs::OFlags::NONBLOCK)?;
    Ok(file)
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "the same shape as where it can fail")]
fn blocking(file: File) -> io::Result<File> {
    Ok(file)
}

fn unwritable(path: &Path, why: impl std::fmt::Display) -> Failure {
    Failure::new(Code::OutputUnwritable, format!("the file `{}` cannot be written: {why}", path.display()))
        .with_next(Advice::NameWritableFile)
}
