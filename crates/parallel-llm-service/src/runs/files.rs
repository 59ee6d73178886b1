//! The files of a run: the prompt, each answer as it arrives, the final text and the report.
//!
//! They are derived from the run: a file that cannot be written is noted in the report and has no other effect.
//! Invariants: no partial file has a final name, folders are 0700 and files 0600, and two runs never share a folder.

mod erase;
mod rebuild;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parallel_llm_engine::call::hub::{Hub, Phase, Update, Watch};
use parallel_llm_engine::run::calibration::Calibration;
use parallel_llm_engine::run::event::EventPhase;
use parallel_llm_engine::run::{Run, SeatView};
use parallel_llm_engine::value::warning::Warning;
use parallel_llm_engine::{Code, Failure, RunId, SeatNumber, SeatStatus};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use erase::{Erased, erase};
pub use rebuild::rebuild;

use crate::attachment;
use crate::report::{FilesReport, FilesState, Report};
use parallel_llm_settings::pinned_folder::{self, OpenFolder, PinnedFolder};
use parallel_llm_settings::private_files;

/// The file of the question.
const PROMPT: &str = "prompt.md";
/// The file of the report.
const REPORT: &str = "run.json";
/// The longest wait for another process to write the files of a decided run: it takes milliseconds.
const WRITTEN_WITHIN: Duration = Duration::from_secs(2);
/// The interval of looking for them.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// Attempts and interval if a resource is short for a moment: by then a burst of runs has released its files and
/// sockets.
const TRIES: u32 = 10;
const RETRY_INTERVAL: Duration = Duration::from_millis(300);
/// Attempts after the files were reported as failed. The pause before each is twice as long as the one before, up to the
/// longest: a shortage that lasts for a quarter of an hour does not end by itself.
const LATER_TRIES: u32 = 20;
const LATER_PAUSE_MAX: Duration = Duration::from_secs(60);
/// The longest part of a model's name in a file name, in bytes.
const SLUG_BYTES_MAX: usize = 64;

/// The longest time for an operation on a folder: a drive that wakes up, or one on the network, takes a second or two.
const FOLDER_MAX: Duration = Duration::from_secs(5);

/// A wrapper around the writing of each file. It gets the run's folder and the write, and must call the write.
pub type AroundFiles = Arc<dyn Fn(&Path, &mut dyn FnMut() -> io::Result<()>) -> io::Result<()> + Send + Sync>;

/// A file to write: its name, and a function that writes its content. Long texts are not copied until then.
type Due = (String, Box<dyn Fn(&mut dyn Write) -> io::Result<()> + Send>);

/// The folder of one run.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
    /// `None` if it cannot be used; the first write reports why.
    pinned: Option<PinnedFolder>,
}

impl Folder {
    /// Makes the folder of a run inside `base`. Called before anything is paid, so that an unwritable folder costs
    /// nothing.
    pub fn create(base: &Path, run_id: RunId) -> Result<Self, Failure> {
        let dir = base.join(run_id.to_string());
        let unwritable = |error: io::Error| {
            let why = if base.is_file() { "it is a file".to_owned() } else { error.to_string() };
            let message = format!("the folder `{}` cannot be written: {why}", base.display());
            Failure::new(Code::OutputUnwritable, message)
        };
        private_files::folder_builder().recursive(true).create(base).map_err(unwritable)?;
        // Not recursive: an existing folder belongs to another run.
        private_files::folder_builder().recursive(false).create(&dir).map_err(unwritable)?;
        let pinned = PinnedFolder::of(&dir).map_err(unwritable)?;
        Ok(Self { path: dir, pinned: Some(pinned) })
    }

    /// Makes the folder for the files of another process's run. `None` if it exists: the process that made it writes the files.
    pub fn claim(base: &Path, run_id: RunId) -> Result<Option<Self>, Failure> {
        match Self::create(base, run_id) {
            Err(_) if has_folder(base, run_id) => Ok(None),
            made => made.map(Some),
        }
    }

    /// The folder of an earlier run, made again if it is missing.
    pub fn of(base: &Path, run_id: RunId) -> Self {
        let dir = base.join(run_id.to_string());
        // The first write reports an error of this.
        let _ = private_files::folder_builder().recursive(true).create(&dir);
        Self { pinned: PinnedFolder::of(&dir).ok(), path: dir }
    }

    /// Removes the folder of a run that did not begin.
    pub fn discard(&self) {
        // Removes only an empty folder; any error can be ignored.
        let _ = std::fs::remove_dir(&self.path);
    }

    /// The folder's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a file atomically.
    fn write(&self, (name, content): &Due) -> io::Result<()> {
        self.pinned_folder()?.write(name, content)
    }

    /// Removes the files of these names that exist.
    fn remove(&self, names: &[String]) -> io::Result<()> {
        let pinned = self.pinned_folder()?;
        names.iter().try_for_each(|name| pinned.remove(name))
    }

    fn pinned_folder(&self) -> io::Result<Cow<'_, PinnedFolder>> {
        self.pinned
            .as_ref()
            .map_or_else(|| PinnedFolder::of(&self.path).map(Cow::Owned), |pinned| Ok(Cow::Borrowed(pinned)))
    }
}

/// Runs file work on a blocking thread for a bounded time, because a folder may not answer.
pub async fn in_time<T: Send + 'static>(
    base: &Path,
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    let failed = |why: &str| {
        let message = format!("the folder `{}` cannot be used: {why}", base.display());
        Failure::new(Code::OutputUnwritable, message)
    };
    match tokio::time::timeout(FOLDER_MAX, tokio::task::spawn_blocking(work)).await {
        Ok(Ok(done)) => done,
        Ok(Err(_)) => Err(failed("a defect stopped what was done with it")),
        Err(_) => Err(failed(&format!("it has not answered for {} s", FOLDER_MAX.as_secs()))),
    }
}

/// The state of a run's files, to be watched.
#[derive(Clone, Debug)]
pub enum FilesWatch {
    /// Written by this process, or settled.
    Reported(watch::Receiver<FilesReport>),
    /// Written by another process: the folder shows the state.
    Observed(Arc<ObservedFolder>),
}

/// The folder of a run whose files another process writes.
#[derive(Debug)]
pub struct ObservedFolder {
    dir: PathBuf,
    /// The state when the folder was last read, so that a report does not wait for the folder.
    last: Mutex<FilesReport>,
}

impl ObservedFolder {
    /// Reads the folder; `None` if it does not answer, else whether it exists without its report.
    async fn refresh(&self) -> Option<bool> {
        let dir = self.dir.clone();
        let read = in_time(&self.dir, move || Ok((dir.is_dir(), read_state(&dir)))).await;
        let (is_there, files) = read.ok()?;
        let is_unfinished = is_there && files.state == FilesState::Off;
        *self.last.lock() = files;
        Some(is_unfinished)
    }
}

impl FilesWatch {
    /// A run without files.
    pub fn off() -> Self {
        Self::settled_as(FilesReport::default())
    }

    /// Files that are settled in this state.
    pub fn settled_as(files: FilesReport) -> Self {
        Self::Reported(watch::channel(files).1)
    }

    /// Files of another process, if the run has any; `now` is their state a moment ago.
    pub fn of_another(base: &Path, run: &Run, now: FilesReport) -> Self {
        if !run.plan.files {
            return Self::off();
        }
        Self::Observed(Arc::new(ObservedFolder {
            dir: base.join(run.plan.run_id.to_string()),
            last: Mutex::new(now),
        }))
    }

    /// The state now, or when the folder was last read.
    pub fn now(&self) -> FilesReport {
        match self {
            Self::Reported(reports) => reports.borrow().clone(),
            Self::Observed(folder) => folder.last.lock().clone(),
        }
    }

    /// Waits until the files of a decided run are written or have failed.
    pub async fn settled(&self) -> FilesReport {
        match self {
            // If the writer has ended, its last report counts.
            Self::Reported(reports) => {
                let _ = reports.clone().wait_for(|files| files.state != FilesState::Writing).await;
            }
            Self::Observed(folder) => {
                let give_up = Instant::now() + WRITTEN_WITHIN;
                while folder.refresh().await == Some(true) && Instant::now() < give_up {
                    tokio::time::sleep(POLL_INTERVAL).await;
                }
            }
        }
        self.now()
    }
}

/// Writes the files of a run as its events arrive.
pub struct FileWriter {
    folder: Folder,
    hub: Arc<Hub>,
    calibration: Arc<Calibration>,
    state: watch::Sender<FilesReport>,
    written: BTreeSet<String>,
    /// What the written report was made from.
    reported: Option<ReportBasis>,
    around: Option<AroundFiles>,
    /// The writes under way. The process waits for them when it ends, so that none leaves half a file.
    writing: TaskTracker,
}

impl FileWriter {
    /// A writer into this folder, and its watch.
    pub fn new(
        folder: Folder,
        hub: Arc<Hub>,
        calibration: Arc<Calibration>,
        writing: TaskTracker,
    ) -> (Self, FilesWatch) {
        let begun =
            FilesReport { dir: Some(folder.path().to_owned()), state: FilesState::Writing, error: None };
        let (state, watch) = watch::channel(begun);
        let written = BTreeSet::new();
        let writer = Self { folder, hub, calibration, state, written, reported: None, around: None, writing };
        (writer, FilesWatch::Reported(watch))
    }

    /// The same with a wrapper around each write.
    #[must_use]
    pub fn within(self, around: Option<AroundFiles>) -> Self {
        Self { around, ..self }
    }

    /// Follows the run until it is closed or its process is lost. Files that cannot be written for want of a resource are
    /// written later, unless the process is `leaving`.
    pub async fn follow(mut self, leaving: CancellationToken) {
        let hub = Arc::clone(&self.hub);
        let mut over = std::pin::pin!(hub.reached(Phase::Closed));
        let (mut run, mut events) = hub.watch_events();
        let mut is_over = false;
        loop {
            let tries = if is_over { TRIES } else { 1 };
            let is_short = self.write_patiently(&run, tries).await;
            if is_over {
                if is_short {
                    leaving.run_until_cancelled(self.write_later(&run)).await;
                }
                return;
            }
            is_over = tokio::select! {
                biased;
                () = &mut over => true,
                () = wait_for_text(&mut events) => false,
            };
            run = hub.snapshot();
        }
    }

    /// Writes the missing files at intervals as long as a resource is short.
    async fn write_later(&mut self, run: &Run) {
        let mut pause = RETRY_INTERVAL;
        for _ in 0..LATER_TRIES {
            pause = (pause * 2).min(LATER_PAUSE_MAX);
            tokio::time::sleep(pause).await;
            if !self.write_patiently(run, 1).await {
                return;
            }
        }
    }

    /// Writes the missing files, and retries if a resource is short for a moment. New events bring another call, so
    /// only the last call uses several tries. Returns whether the resource is still short.
    async fn write_patiently(&mut self, run: &Run, tries: u32) -> bool {
        let mut written = self.write_new(run).await;
        for _ in 1..tries {
            match &written {
                Err(error) if is_shortage(error) => tokio::time::sleep(RETRY_INTERVAL).await,
                _ => break,
            }
            written = self.write_new(run).await;
        }
        let is_short = written.as_ref().is_err_and(is_shortage);
        match written {
            Ok(()) if run.is_decided() => self.publish(FilesState::Written, None),
            Ok(()) => {}
            Err(error) => self.publish(FilesState::Failed, Some(error.to_string())),
        }
        is_short
    }

    /// Writes the missing texts and, once the run is decided, removes outdated files and writes the report, unless it would be
    /// equal to the written one. On one visit to a thread that may block, where the report is made as well.
    async fn write_new(&mut self, run: &Run) -> io::Result<()> {
        let mut texts = texts(run);
        // The final text may change until a further part of the run is decided.
        let is_due = |name: &str| run.is_decided() || name != run.plan.file_names.final_text();
        texts.retain(|(name, _)| !self.written.contains(name) && is_due(name));
        let basis = run.is_decided().then(|| ReportBasis::of(run));
        let decided = (basis.is_some() && basis != self.reported).then(|| run.clone());
        if texts.is_empty() && decided.is_none() {
            return Ok(());
        }
        let (folder, around) = (self.folder.clone(), self.around.clone());
        let (files, calibration) = (self.report(FilesState::Written, None), Arc::clone(&self.calibration));
        let write_all = move || {
            let write = |file: &Due| match &around {
                Some(around) => around(folder.path(), &mut || folder.write(file)),
                None => folder.write(file),
            };
            texts.iter().try_for_each(write)?;
            if let Some(run) = decided {
                folder.remove(&stale(&run))?;
                write(&report_file(Report::of(&run, files, &calibration)))?;
            }
            io::Result::Ok(texts)
        };
        let texts = self.writing.spawn_blocking(write_all).await.map_err(io::Error::other)??;
        self.written.extend(texts.into_iter().map(|(name, _)| name));
        self.reported = basis.or(self.reported.take());
        Ok(())
    }

    fn publish(&self, state: FilesState, error: Option<String>) {
        self.state.send_replace(self.report(state, error));
    }

    fn report(&self, state: FilesState, error: Option<String>) -> FilesReport {
        FilesReport { dir: Some(self.folder.path().to_owned()), state, error }
    }
}

/// What a report of a decided run depends on. That the run was closed since changes nothing by itself.
#[derive(PartialEq)]
struct ReportBasis {
    /// The number of the newest event but the one that closed the run.
    seq: u64,
    /// Closing a run changes the calls that are still open.
    statuses: Vec<SeatStatus>,
    warnings: Vec<Warning>,
}

impl ReportBasis {
    fn of(run: &Run) -> Self {
        let statuses = run.views().map(|view| view.status).collect();
        Self { seq: run.seq - u64::from(run.closed), statuses, warnings: run.warnings() }
    }
}

/// Whether a resource is short that other tasks release: descriptors or memory, but not disk space.
fn is_shortage(error: &io::Error) -> bool {
    // The process or the system has too many open files.
    #[cfg(unix)]
    if let Some(code) = error.raw_os_error() {
        use rustix::io::Errno;
        let short = [Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::AGAIN];
        return short.iter().any(|errno| errno.raw_os_error() == code);
    }
    matches!(error.kind(), io::ErrorKind::OutOfMemory | io::ErrorKind::Interrupted)
}

async fn wait_for_text(events: &mut Watch) {
    loop {
        match events.next().await {
            Update::Event(recorded) => {
                let phase = recorded.event.phase();
                if recorded.event.answer().is_some()
                    || matches!(phase, EventPhase::Decides | EventPhase::Closes | EventPhase::Merges)
                {
                    return;
                }
            }
            Update::Snapshot(_) => return,
            Update::Begun(_) | Update::Text { .. } => {}
        }
    }
}

/// The text files of a run. A paid text is never overwritten by a newer one.
fn texts(run: &Run) -> Vec<Due> {
    let mut files = vec![prompt_file(run)];
    files.extend(run.seats.iter().zip(1..).filter_map(|(seat, number)| answer_file(run, seat, number)));
    let earlier = run.earlier.iter().zip(1..).map(|(outcome, number)| (earlier_name(number), outcome));
    let final_text = run.plan.file_names.final_text();
    let newest = run.outcome.iter().map(|outcome| (final_text.to_owned(), outcome));
    files.extend(
        earlier.chain(newest).filter_map(|(name, outcome)| Some(text_file(name, outcome.text.as_ref()?))),
    );
    files
}

fn earlier_name(number: usize) -> String {
    format!("earlier_best_{number}.md")
}

fn prompt_file(run: &Run) -> Due {
    let plan = Arc::clone(&run.plan);
    let write =
        move |sink: &mut dyn Write| sink.write_all(attachment::prompt_text(&plan.messages).as_bytes());
    (PROMPT.to_owned(), Box::new(write))
}

fn text_file(name: String, text: &Arc<str>) -> Due {
    let text = Arc::clone(text);
    (name, Box::new(move |sink| sink.write_all(text.as_bytes())))
}

/// The report file, which is written last.
fn report_file(report: Report) -> Due {
    let write = move |sink: &mut dyn Write| {
        report.write_pretty(&mut *sink)?;
        sink.write_all(b"\n")
    };
    (REPORT.to_owned(), Box::new(write))
}

fn answer_file(run: &Run, seat: &SeatView, number: u8) -> Option<Due> {
    let is_cut = match seat.status {
        SeatStatus::Answered => false,
        SeatStatus::Cut => true,
        _ => return None,
    };
    Some(text_file(answer_name(run, seat, number, is_cut), &seat.answer.as_ref()?.text))
}

fn answer_name(run: &Run, seat: &SeatView, number: u8, is_cut: bool) -> String {
    run.plan.file_names.answer(SeatNumber(number), &slug(&seat.model.model), is_cut)
}

/// Names of files that are outdated: a further part without a result has moved the earlier text to a name of its own,
/// and a cut seat that was asked again has a complete answer.
fn stale(run: &Run) -> Vec<String> {
    let whole = run.seats.iter().zip(1..).filter(|(seat, _)| seat.status == SeatStatus::Answered);
    let cut = whole.map(|(seat, number)| answer_name(run, seat, number, true));
    cut.chain([earlier_name(run.earlier.len() + 1)]).collect()
}

/// Every name that a file of this run may have.
fn names(run: &Run) -> BTreeSet<String> {
    let answers = run.seats.iter().zip(1..);
    let answers =
        answers.flat_map(|(seat, number)| [false, true].map(|is_cut| answer_name(run, seat, number, is_cut)));
    // One more, because a part that could not be stored may have moved the earlier text.
    let earlier = (1..=run.earlier.len() + 1).map(earlier_name);
    let fixed = [PROMPT, run.plan.file_names.final_text(), REPORT].map(str::to_owned);
    let whole: Vec<String> = fixed.into_iter().chain(earlier).chain(answers).collect();
    whole.iter().map(|name| pinned_folder::temporary(name)).chain(whole.iter().cloned()).collect()
}

/// Whether the folder's entry of this name is one of the run's files.
fn is_among(ours: &BTreeSet<String>, folder: &OpenFolder, name: &OsStr) -> io::Result<bool> {
    Ok(name.to_str().is_some_and(|name| ours.contains(name)) && folder.is_file(name)?)
}

/// A model's name for a file name: lower-case letters, digits, dots, dashes and underscores.
fn slug(model: &str) -> String {
    let plain = |byte: u8| match byte {
        b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' => char::from(byte),
        b'A'..=b'Z' => char::from(byte.to_ascii_lowercase()),
        _ => '-',
    };
    let slug: String = model.bytes().map(plain).collect();
    slug.trim_matches(['-', '.']).chars().take(SLUG_BYTES_MAX).collect()
}

/// Whether `base` has an entry of the run's name.
pub fn has_folder(base: &Path, run_id: RunId) -> bool {
    base.join(run_id.to_string()).symlink_metadata().is_ok()
}

/// The state of the files of a stored run.
pub async fn look_up(base: &Path, run: &Run) -> FilesReport {
    if !run.plan.files {
        return FilesReport::default();
    }
    let dir = base.join(run.plan.run_id.to_string());
    let (read, at) = (dir.clone(), dir.clone());
    let silent = |failure: Failure| FilesReport {
        dir: Some(dir),
        state: FilesState::Failed,
        error: Some(failure.message),
    };
    in_time(&at, move || Ok(read_state(&read))).await.unwrap_or_else(silent)
}

/// The state of the files in this folder. The report is written last, so its state is that of all.
fn read_state(dir: &Path) -> FilesReport {
    if dir.join(REPORT).is_file() {
        FilesReport { dir: Some(dir.to_owned()), state: FilesState::Written, error: None }
    } else {
        FilesReport::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_model_name_leaves_its_folder() {
        for (model, expected) in [
            ("~openai/gpt-sol-latest", "openai-gpt-sol-latest"),
            ("../../etc/passwd", "etc-passwd"),
            ("google/gemma-4:free", "google-gemma-4-free"),
            ("..", ""),
            ("ä\u{202e}x", "x"),
        ] {
            assert_eq!(slug(model), expected, "{model}");
        }
        assert!(slug(&"a".repeat(300)).len() <= SLUG_BYTES_MAX);
    }
}
