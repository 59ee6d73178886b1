//! The files of a run: the prompt, each answer as it lands, the final text and the report.
//!
//! Derived from the run, which stays the truth: a file that cannot be written is told in the report and costs
//! nothing else. What always holds: nothing partial stands under a final name, folders are 0700 and files 0600,
//! and two runs never share a folder.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parallel_llm_engine::live::{Hub, Update, Watch};
use parallel_llm_engine::run::{Run, SeatView};
use parallel_llm_engine::{Code, Event, Failure, RunId, SeatStatus};
use tokio::sync::watch;

use crate::attachment;
use crate::output::report::{FilesReport, FilesState, Report};

/// The longest part of a model's name that enters a file name, in bytes.
const SLUG_BYTES_MAX: usize = 64;

/// The folder of one run.
#[derive(Clone, Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// Makes the folder of a run inside `base`. Fails before anything is paid where it cannot be written.
    pub(crate) fn create(base: &Path, run_id: RunId) -> Result<Self, Failure> {
        let dir = base.join(run_id.to_string());
        let unwritable = |error: std::io::Error| {
            let message = format!("the folder `{}` cannot be written: {error}", base.display());
            Failure::new(Code::OutputUnwritable, message)
        };
        private_folder_builder().recursive(true).create(base).map_err(unwritable)?;
        // Not recursive: a folder that exists already belongs to somebody else.
        private_folder_builder().recursive(false).create(&dir).map_err(unwritable)?;
        Ok(Self(dir))
    }

    /// The folder of a run that has begun before, made anew where it is not there.
    pub(crate) fn of(base: &Path, run_id: RunId) -> Self {
        let dir = base.join(run_id.to_string());
        // What is wrong with it shows with the first file, and in the report.
        let _ = private_folder_builder().recursive(true).create(&dir);
        Self(dir)
    }

    /// Takes the folder of a run away that did not begin.
    pub(crate) fn discard(&self) {
        // Removes nothing but an empty folder; what else may be wrong with it is no news to anyone.
        let _ = std::fs::remove_dir(&self.0);
    }

    /// Where it lies.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a whole file or none: a temporary name, flushed to disk, then renamed.
    fn write(&self, name: &str, content: &[u8]) -> std::io::Result<()> {
        let temporary = self.0.join(format!(".{name}.new"));
        // One that was left behind by a process that was killed while writing it.
        let _ = std::fs::remove_file(&temporary);
        let mut file = private_file_options().open(&temporary)?;
        file.write_all(content)?;
        file.sync_all()?;
        std::fs::rename(&temporary, self.0.join(name))
    }
}

/// Makes folders that nobody else may look into.
pub(crate) fn private_folder_builder() -> std::fs::DirBuilder {
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

/// Makes files that nobody else may read, and none where there is one.
pub(crate) fn private_file_options() -> std::fs::OpenOptions {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// How far the files of a run are, for whoever reports it.
#[derive(Clone, Debug)]
pub(crate) struct FilesWatch(watch::Receiver<FilesReport>);

impl FilesWatch {
    /// A run without files.
    pub(crate) fn off() -> Self {
        Self(watch::channel(FilesReport::default()).1)
    }

    /// How far they are now.
    pub(crate) fn now(&self) -> FilesReport {
        self.0.borrow().clone()
    }

    /// Waits until the files of a settled run are written, or could not be.
    pub(crate) async fn settled(&mut self) -> FilesReport {
        // Where the writer is gone, what it said last is the truth.
        let _ = self.0.wait_for(|files| files.state != FilesState::Writing).await;
        self.now()
    }
}

/// Writes the files of one run as its events come.
pub(crate) struct FileWriter {
    folder: Folder,
    hub: Arc<Hub>,
    said: watch::Sender<FilesReport>,
    written: BTreeSet<String>,
}

impl FileWriter {
    /// A writer into this folder, and how it can be watched.
    pub(crate) fn new(folder: Folder, hub: Arc<Hub>) -> (Self, FilesWatch) {
        let begun =
            FilesReport { dir: Some(folder.path().to_owned()), state: FilesState::Writing, error: None };
        let (said, watch) = watch::channel(begun);
        (Self { folder, hub, said, written: BTreeSet::new() }, FilesWatch(watch))
    }

    /// Follows the run to its end.
    pub(crate) async fn follow(mut self) {
        let (mut run, mut events) = self.hub.watch_events();
        loop {
            self.write_new(&run).await;
            if run.closed {
                return;
            }
            self.wait_for_text(&mut events).await;
            run = self.hub.snapshot();
        }
    }

    async fn wait_for_text(&self, events: &mut Watch) {
        loop {
            match events.next().await {
                Update::Event(recorded) => match recorded.event {
                    Event::Answered { .. }
                    | Event::Cut { .. }
                    | Event::Decided { .. }
                    | Event::Closed { .. } => return,
                    _ => {}
                },
                Update::Snapshot(_) => return,
                Update::Begun(_) | Update::Text { .. } => {}
            }
        }
    }

    /// Writes what the run has and the folder has not.
    async fn write_new(&mut self, run: &Run) {
        let mut files = vec![("prompt.md".to_owned(), attachment::prompt_text(&run.plan))];
        files.extend(run.seats.iter().zip(1..).filter_map(answer_file));
        if let Some(text) = run.outcome.as_ref().and_then(|outcome| outcome.text.as_deref()) {
            files.push(("final_best.md".to_owned(), text.to_owned()));
        }
        files.retain(|(name, _)| !self.written.contains(name));
        let written = self.write(files).await;
        if written.is_ok() && run.outcome.is_some() {
            let report = self.report(FilesState::Written, None);
            let json = Report::of(run, report.clone()).pretty() + "\n";
            self.written.remove("run.json");
            match self.write(vec![("run.json".to_owned(), json)]).await {
                Ok(()) => drop(self.said.send_replace(report)),
                Err(error) => self.fail(&error),
            }
        } else if let Err(error) = written {
            self.fail(&error);
        }
    }

    async fn write(&mut self, files: Vec<(String, String)>) -> std::io::Result<()> {
        let names: Vec<String> = files.iter().map(|(name, _)| name.clone()).collect();
        let folder = self.folder.clone();
        let write_all = move || files.iter().try_for_each(|(name, text)| folder.write(name, text.as_bytes()));
        tokio::task::spawn_blocking(write_all).await.map_err(std::io::Error::other)??;
        self.written.extend(names);
        Ok(())
    }

    fn fail(&self, error: &std::io::Error) {
        self.said.send_replace(self.report(FilesState::Failed, Some(error.to_string())));
    }

    fn report(&self, state: FilesState, error: Option<String>) -> FilesReport {
        FilesReport { dir: Some(self.folder.path().to_owned()), state, error }
    }
}

fn answer_file((seat, number): (&SeatView, u8)) -> Option<(String, String)> {
    let ending = match seat.status {
        SeatStatus::Answered => "",
        SeatStatus::Cut => "_cut",
        _ => return None,
    };
    let text = seat.answer.as_ref()?.text.to_string();
    Some((format!("answer_{number}_{}{ending}.md", slug(&seat.model.model)), text))
}

/// A model's name as a part of a file name: lower case letters, digits, dots, dashes and underscores.
fn slug(model: &str) -> String {
    let plain = |byte: u8| match byte {
        b'a'..=b'z' | b'0'..=b'9' | b'.' | b'_' => char::from(byte),
        b'A'..=b'Z' => char::from(byte.to_ascii_lowercase()),
        _ => '-',
    };
    let slug: String = model.bytes().map(plain).collect();
    slug.trim_matches(['-', '.']).chars().take(SLUG_BYTES_MAX).collect()
}

/// Where the files of a stored run should lie, and whether they do.
pub(crate) fn look_up(base: &Path, run: &Run) -> FilesReport {
    let dir = base.join(run.plan.run_id.to_string());
    // The report is written last.
    if run.plan.files && dir.join("run.json").is_file() {
        FilesReport { dir: Some(dir), state: FilesState::Written, error: None }
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
