//! The log: one line per fact on stderr, and in a file where one is named. Set up once, by the program only.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use parallel_llm_engine::live::{Update, Watch};
use parallel_llm_engine::run::Run;
use parallel_llm_engine::{Code, Event, Failure, Recorded};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::output::safe;

/// A log file beyond this is put aside as `NAME.1`, in place of the one before: two of them at most.
const FILE_BYTES_MAX: u64 = 10 * 1024 * 1024;

/// Starts the log at this level. A second start is an error, not a second log.
pub fn start(level: &str, file: Option<&Path>) -> Result<(), Failure> {
    let broken = |what: String| Failure::new(Code::SettingsInvalid, what);
    // Our own facts at the level asked for; libraries only where something is wrong.
    let filter = EnvFilter::try_new(format!("warn,parallel_llm={level},parallel_llm_mcp={level},rmcp=off"))
        .map_err(|error| broken(format!("the log level `{level}` cannot be used: {error}")))?;
    let stderr =
        tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(false).with_target(false);
    let file = file.map(LogFile::open).transpose().map_err(|(path, error)| {
        broken(format!("the log file `{}` cannot be written: {error}", path.display()))
    })?;
    let file = file.map(|file| {
        tracing_subscriber::fmt::layer().with_writer(move || file.clone()).with_ansi(false).with_target(false)
    });
    tracing_subscriber::registry()
        .with(filter)
        .with(stderr)
        .with(file)
        .try_init()
        .map_err(|_| Failure::new(Code::Internal, "the log was started twice"))
}

/// Whether a run has anything to log at the level in force.
pub fn is_wanted() -> bool {
    tracing::enabled!(tracing::Level::WARN)
}

/// Logs a run until it closes: its start and end, its failures, and at `debug` every call. No prompt, no answer.
pub async fn follow(mut run: Run, mut watch: Watch) {
    while !run.closed {
        match watch.next().await {
            Update::Event(recorded) => {
                run.apply(&recorded);
                log(&run, &recorded);
            }
            Update::Snapshot(newer) => run = *newer,
            Update::Begun(_) | Update::Text { .. } => {}
        }
    }
}

fn log(run: &Run, recorded: &Recorded) {
    let run_id = run.plan.run_id;
    let place = recorded.event.attempt().map(|attempt| attempt.place);
    let seat = place.map(|place| place.to_string()).unwrap_or_default();
    let model =
        place.and_then(|place| run.place(place)).map(|view| view.model.to_string()).unwrap_or_default();
    let ms = recorded.elapsed_ms;
    match &recorded.event {
        Event::Started { reserved, .. } => {
            tracing::info!(%run_id, seats = run.seats.len(), reserved = %reserved, "the run starts");
        }
        Event::Failed { attempt, failure, retry, .. } => {
            let message = safe::excerpt(&failure.message, 300);
            tracing::warn!(%run_id, seat, model, attempt = attempt.number, code = %failure.code, ?retry, ms, "{message}");
        }
        Event::Cut { failure, .. } => {
            tracing::warn!(%run_id, seat, model, code = %failure.code, ms, "the answer was cut");
        }
        Event::Sent { attempt } => {
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
        Event::Decided { outcome } => {
            tracing::info!(%run_id, kind = ?outcome.kind, answered = run.answered(), cost = %run.cost(), ms, "decided");
        }
        Event::Closed { cost } => tracing::info!(%run_id, cost = %cost, ms, "the run is closed"),
    }
}

/// A log file that does not grow for ever.
#[derive(Clone)]
struct LogFile(Arc<Mutex<Rotating>>);

struct Rotating {
    path: PathBuf,
    file: File,
    bytes: u64,
}

impl LogFile {
    fn open(path: &Path) -> Result<Self, (PathBuf, std::io::Error)> {
        let opened = Rotating::open(path).map_err(|error| (path.to_owned(), error))?;
        Ok(Self(Arc::new(Mutex::new(opened))))
    }
}

impl Rotating {
    fn open(path: &Path) -> std::io::Result<Self> {
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path)?;
        let bytes = file.metadata()?.len();
        Ok(Self { path: path.to_owned(), file, bytes })
    }
}

impl Write for LogFile {
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if log.bytes >= FILE_BYTES_MAX {
            let mut aside = log.path.clone().into_os_string();
            aside.push(".1");
            std::fs::rename(&log.path, aside)?;
            *log = Rotating::open(&log.path.clone())?;
        }
        log.file.write_all(line)?;
        log.bytes += line.len() as u64;
        Ok(line.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).file.flush()
    }
}
