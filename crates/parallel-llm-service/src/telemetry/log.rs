//! The log: one line for each event, on stderr and in an optional file. Only the program starts it, once.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Duration;

use parallel_llm_engine::run::Run;
use parallel_llm_engine::{Code, Event, Failure, Recorded, RunStatus};
use parallel_llm_store::{RunFilter, RunScope, Store};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::report::cost::Cost;
use parallel_llm_engine::text::safe;
use parallel_llm_settings::private_files;

/// The size at which a log file is renamed to `NAME.1`, replacing the one before: at most two files.
const FILE_BYTES_MAX: u64 = 10 * 1024 * 1024;

/// The most queued lines. If stderr's reader stops reading, lines are lost, but no run stops.
const WAITING_LINES_MAX: usize = 4_096;

/// The longest wait for queued lines at the end of the program.
const FLUSH_MAX: Duration = Duration::from_secs(1);
/// The most interrupted runs named when the store is opened; `runs list` has all.
const INTERRUPTED_MAX: usize = 5;

/// The running log. Dropping it flushes the queued lines.
pub struct Log {
    writers: Vec<Writer>,
}

impl Drop for Log {
    fn drop(&mut self) {
        for writer in &self.writers {
            let (done, flushed) = sync_channel(1);
            if writer.0.try_send(LogLine::Flush(done)).is_ok() {
                // A reader that is too slow loses the end of the log.
                let _ = flushed.recv_timeout(FLUSH_MAX);
            }
        }
    }
}

/// Passes lines to a thread, so that no caller waits for a full pipe or a slow disk.
#[derive(Clone)]
struct Writer(SyncSender<LogLine>);

enum LogLine {
    Text(Vec<u8>),
    Flush(SyncSender<()>),
}

impl Writer {
    fn to(mut sink: impl Write + Send + 'static) -> Result<Self, Failure> {
        let (writer, lines) = sync_channel(WAITING_LINES_MAX);
        let write_all = move || {
            for line in lines {
                // A write error must not stop the program.
                let _ = match line {
                    LogLine::Text(text) => sink.write_all(&text),
                    LogLine::Flush(done) => sink.flush().map(|()| done.try_send(()).unwrap_or_default()),
                };
            }
        };
        let thread = std::thread::Builder::new().name("log".to_owned()).spawn(write_all);
        thread.map_err(|error| Failure::new(Code::Internal, format!("the log cannot start: {error}")))?;
        Ok(Self(writer))
    }
}

impl Write for Writer {
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        // If the queue is full, this line is lost.
        let _ = self.0.try_send(LogLine::Text(line.to_vec()));
        Ok(line.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Starts the log at this level. Fails if it was started before, and then changes nothing: no file is opened, and the log that
/// runs goes on.
pub fn start(level: &str, path: Option<&Path>) -> Result<Log, Failure> {
    let broken = |what: String| Failure::new(Code::SettingsInvalid, what);
    let is_second = || Failure::new(Code::Internal, "the log was started twice");
    if tracing::dispatcher::has_been_set() {
        return Err(is_second());
    }
    // The level is for our own events; libraries log only warnings.
    let filter = EnvFilter::try_new(format!("warn,parallel_llm={level},parallel_llm_mcp={level},rmcp=off"))
        .map_err(|error| broken(format!("the log level `{level}` cannot be used: {error}")))?;
    let mut writers = vec![Writer::to(std::io::stderr())?];
    let file = path.map(LogFile::open).transpose().map_err(|(path, error)| {
        broken(format!("the log file `{}` cannot be written: {error}", path.display()))
    })?;
    writers.extend(file.map(Writer::to).transpose()?);
    let layer = |writer: &Writer| {
        let writer = writer.clone();
        tracing_subscriber::fmt::layer()
            .with_writer(move || writer.clone())
            .with_ansi(false)
            .with_target(false)
    };
    tracing_subscriber::registry()
        .with(filter)
        .with(writers.iter().map(layer).collect::<Vec<_>>())
        .try_init()
        .map_err(|_| is_second())?;
    if let Some(path) = path {
        tracing::info!("the log is also written to `{}`", path.display());
    }
    Ok(Log { writers })
}

/// Whether the level in force logs anything of a run.
pub(super) fn is_wanted() -> bool {
    tracing::enabled!(tracing::Level::WARN)
}

/// Logs runs that ended processes left unfinished, unless the level excludes that. An error of the store is left to its
/// next user.
pub async fn log_interrupted(store: &Store) {
    if !tracing::enabled!(tracing::Level::WARN) {
        return;
    }
    let filter =
        RunFilter { limit: INTERRUPTED_MAX, status: Some(RunStatus::Interrupted), ..RunFilter::default() };
    for run in store.list(RunScope::All, filter).await.unwrap_or_default() {
        let (run_id, answered, seats) = (run.run_id, run.answered, run.seats);
        let Ok(Some(stored)) = store.load(RunScope::All, run_id).await else { continue };
        let how = match stored.run().resuming() {
            Some(command) => format!("{command} finishes it"),
            None => "its texts were not kept, so it cannot be continued".to_owned(),
        };
        tracing::warn!(%run_id, answered, seats, "the run was interrupted: {how}");
    }
}

/// Logs an event that the run has applied. No prompt and no answer.
pub(super) fn log(run: &Run, recorded: &Recorded) {
    let run_id = run.plan.run_id;
    let slot = recorded.event.attempt().map(|attempt| attempt.slot);
    let seat = slot.map(|slot| slot.to_string()).unwrap_or_default();
    let model = slot.and_then(|slot| run.view(slot)).map(|view| view.model.to_string()).unwrap_or_default();
    let ms = recorded.elapsed_ms;
    match &recorded.event {
        Event::Started { reserved, .. } => {
            tracing::info!(%run_id, seats = run.seats.len(), reserved = %reserved, "the run starts");
        }
        Event::Failed { attempt, failure, retry, .. } => {
            let message = safe::excerpt(&failure.message, 300);
            let causes = failure.causes().join(": ");
            let causes = Some(causes.as_str()).filter(|causes| !causes.is_empty());
            tracing::warn!(%run_id, seat, model, attempt = attempt.number, code = %failure.code, ?retry, ms, causes, "{message}");
        }
        Event::Cut { failure, .. } => {
            tracing::warn!(%run_id, seat, model, code = %failure.code, ms, "the answer was cut");
        }
        Event::Sent { attempt, .. } => {
            tracing::debug!(%run_id, seat, model, attempt = attempt.number, ms, "sent");
        }
        Event::Accepted { generation_id, .. } => {
            let generation_id = safe::for_terminal(generation_id);
            tracing::debug!(%run_id, seat, model, generation_id, ms, "accepted");
        }
        Event::Answered { answer, .. } => {
            tracing::debug!(%run_id, seat, model, bytes = answer.text_bytes, ms, "answered");
        }
        Event::Cancelled { .. } => tracing::debug!(%run_id, seat, model, ms, "cancelled"),
        Event::Skipped { seats } => {
            tracing::debug!(%run_id, seats = seats.len(), ms, "not asked, because not needed");
        }
        Event::Reopened { reopening, reserved } => {
            let asked = reopening.ask.len() + reopening.seats.len();
            tracing::info!(%run_id, asked, reserved = %reserved, ms, "the run goes on");
        }
        Event::Reconciled { cost, .. } => {
            tracing::debug!(%run_id, seat, model, cost = %cost, ms, "its cost is known now");
        }
        Event::StageDecided { stage, outcome } => {
            let stage = run.stage_name(*stage);
            tracing::info!(%run_id, stage, kind = ?outcome.kind, ms, "a stage is decided");
        }
        Event::Decided { outcome } => {
            tracing::info!(%run_id, kind = ?outcome.kind, answered = run.answered(), cost = Cost::of(run).described(), ms, "decided");
        }
        Event::Closed { .. } => {
            tracing::info!(%run_id, cost = Cost::of(run).described(), ms, "the run is closed");
        }
        Event::Merged { .. } => {
            tracing::info!(%run_id, seat, model, ms, "taken in from a process that had lost the run");
        }
    }
}

/// A log file of bounded size. Several processes may write to it.
struct LogFile {
    path: PathBuf,
    file: File,
    bytes: u64,
    bytes_max: u64,
}

impl LogFile {
    fn open(path: &Path) -> Result<Self, (PathBuf, std::io::Error)> {
        Self::append_to(path.to_owned()).map_err(|error| (path.to_owned(), error))
    }

    fn append_to(path: PathBuf) -> std::io::Result<Self> {
        let mut options = private_files::private(OpenOptions::new());
        options.create(true).append(true);
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            private_files::folder_builder().recursive(true).create(folder)?;
        }
        let file = options.open(&path)?;
        let bytes = file.metadata()?.len();
        Ok(Self { path, file, bytes, bytes_max: FILE_BYTES_MAX })
    }

    /// Renames a full file, unless another process has: renaming its new file would overwrite the full one.
    fn put_aside(&mut self) -> std::io::Result<()> {
        // Another process holds the lock and is renaming; this line still goes to the full file.
        if self.file.try_lock().is_err() {
            return Ok(());
        }
        if is_named(&self.path, &self.file)? {
            let mut aside = self.path.clone().into_os_string();
            aside.push(".1");
            std::fs::rename(&self.path, aside)?;
        }
        *self = Self { bytes_max: self.bytes_max, ..Self::append_to(self.path.clone())? };
        Ok(())
    }
}

/// Whether a path still leads to this open file.
#[cfg(unix)]
fn is_named(path: &Path, file: &File) -> std::io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let ours = file.metadata()?;
    Ok(path.metadata().is_ok_and(|named| (named.dev(), named.ino()) == (ours.dev(), ours.ino())))
}

/// On other systems another process cannot rename an open file.
#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "the same shape as where it can fail")]
const fn is_named(_: &Path, _: &File) -> std::io::Result<bool> {
    Ok(true)
}

impl Write for LogFile {
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        if self.bytes >= self.bytes_max {
            self.put_aside()?;
        }
        self.file.write_all(line)?;
        self.bytes += line.len() as u64;
        Ok(line.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_start_is_refused_and_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let [first, second] = ["first.txt", "second.txt"].map(|name| folder.path().join(name));
        let log = start("info", Some(&first)).unwrap();
        assert_eq!(start("debug", Some(&second)).err().unwrap().message, "the log was started twice");
        assert!(!second.exists());
        tracing::info!(target: "parallel_llm", "still here");
        tracing::debug!(target: "parallel_llm", "the level of the second start");
        drop(log);
        let lines = std::fs::read_to_string(&first).unwrap();
        let texts: Vec<&str> =
            lines.lines().filter_map(|line| line.split_once("INFO ")).map(|(_, text)| text).collect();
        assert_eq!(texts, [&format!("the log is also written to `{}`", first.display()), "still here"]);
        assert!(!lines.contains("DEBUG"), "{lines}");
    }

    #[test]
    fn two_processes_with_one_file_take_no_line_of_each_other_away() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("logs/log.txt");
        let open = || LogFile { bytes_max: 8, ..LogFile::append_to(path.clone()).unwrap() };
        let (mut one, mut other) = (open(), open());
        one.write_all(b"one 1\n").unwrap();
        other.write_all(b"other 1\n").unwrap();
        one.write_all(b"one 2\n").unwrap();
        // One writer finds the file full and sets it aside; the other one finds that already done.
        one.write_all(b"one 3\n").unwrap();
        other.write_all(b"other 2\n").unwrap();
        let read = |path: &Path| std::fs::read_to_string(path).unwrap();
        assert_eq!(read(&folder.path().join("logs/log.txt.1")), "one 1\nother 1\none 2\n");
        assert_eq!(read(&path), "one 3\nother 2\n");
    }
}
