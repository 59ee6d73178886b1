//! Events that the database did not take, each append in a file of its own, until the database takes them after all.
//!
//! A file is written whole or not at all: a temporary file, flushed, renamed, and its folder flushed. It names its run,
//! its epoch and its events, so that it can be taken in once and never over anything newer. What cannot be taken in is
//! set aside under another ending, never deleted.
//!
//! Here are only the files. When they are written and taken in is the writer's business (`writer/task.rs`).

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parallel_llm_engine::port::Lease;
use parallel_llm_engine::{Code, Event, Failure, Recorded, RunId};
use serde::{Deserialize, Serialize};

use crate::file;
use crate::row::checksum;
use crate::row::damage::{self, CheckedText};
use crate::row::event_batch::{EventBatch, text_of};

/// The first line of a file: what it is, the version of its format, and the BLAKE3 of what follows.
const MAGIC: &str = "parallel-llm-spill";
const VERSION: &str = "1";
/// The ending of a file that waits to be imported.
const WAITING: &str = "spill";
/// The ending of a file that is older than the database.
pub(crate) const ASIDE: &str = "aside";
/// The ending of a damaged file.
pub(crate) const DAMAGED: &str = "damaged";
/// Files in one folder. A run spills a handful, so these are some hundred runs; a database that is away for longer is
/// not worth more payments.
const FILES_MAX: usize = 4_096;
/// Bytes in one folder.
const BYTES_MAX: u64 = 1 << 30;

/// The folders, in the order in which they are attempted.
#[derive(Clone, Debug)]
pub(crate) struct Spills {
    folders: Arc<[PathBuf]>,
}

/// What waits to be taken in, and what was set aside.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpillState {
    /// Files that wait to be taken in.
    pub waiting: Vec<PathBuf>,
    /// Files that are older than what the database has: their run was continued without them, or is gone.
    pub aside: Vec<PathBuf>,
    /// Files that are not what was written.
    pub damaged: Vec<PathBuf>,
}

/// One append that was spilled.
#[derive(Debug)]
pub(crate) struct Spill {
    pub(crate) lease: Lease,
    pub(crate) batch: EventBatch,
    /// When it happened, in milliseconds since 1970.
    pub(crate) at_ms: i64,
}

/// Why a file is no spill.
#[derive(Debug)]
pub(crate) enum Unreadable {
    /// It is gone: another process has taken it in.
    Gone,
    /// It is not what was written.
    Damaged,
    /// A newer program wrote it, or it could not be read now.
    NotNow,
}

/// What a file holds.
#[derive(Debug, Serialize, Deserialize)]
struct Body {
    run_id: RunId,
    epoch: u64,
    at_ms: i64,
    events: Vec<SpilledEvent>,
    /// The texts of the events, where the run keeps them. They are known again by their hash.
    texts: Vec<Arc<str>>,
}

#[derive(Debug, Serialize, Deserialize)]
struct SpilledEvent {
    seq: u64,
    elapsed_ms: u64,
    /// JSON, as the database would have it.
    body: String,
}

impl Spills {
    /// Beside this database, else in these folders, which other databases may use too.
    pub(crate) fn of(database: &Path, others: &[PathBuf]) -> Self {
        let name = blake3::hash(database.as_os_str().as_encoded_bytes()).to_hex();
        let others = others.iter().map(|folder| folder.join(format!("spill-{}", &name[..16])));
        Self { folders: std::iter::once(file::beside(database, ".spill")).chain(others).collect() }
    }

    /// Keeps this in the first folder that takes it, and says which file that is.
    pub(crate) fn write(&self, content: &Content) -> io::Result<PathBuf> {
        let mut trouble = io::Error::from(io::ErrorKind::NotFound);
        for folder in &*self.folders {
            match write_in(folder, &content.name, &content.text) {
                Ok(path) => return Ok(path),
                Err(cause) => trouble = cause,
            }
        }
        Err(trouble)
    }

    /// Whether there are files to take in.
    pub(crate) fn is_waiting(&self) -> bool {
        !self.state().waiting.is_empty()
    }

    /// The files there are, by what is to become of them; those that wait in the order in which they were written.
    pub(crate) fn state(&self) -> SpillState {
        let mut state = SpillState::default();
        let files = self.folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten();
        for path in files.filter_map(|entry| Some(entry.ok()?.path())) {
            match path.extension().and_then(|ending| ending.to_str()) {
                Some(WAITING) => state.waiting.push(path),
                Some(ASIDE) => state.aside.push(path),
                Some(DAMAGED) => state.damaged.push(path),
                _ => {}
            }
        }
        // By name, whatever the folder: a run may have spilled into several, and its events are in their order then.
        for paths in [&mut state.waiting, &mut state.aside, &mut state.damaged] {
            paths.sort_by(|one, other| one.file_name().cmp(&other.file_name()));
        }
        state
    }

    /// What waits of a run, in order. What cannot be read is left to whoever takes it in.
    pub(crate) fn of_run(&self, run_id: RunId) -> Vec<Spill> {
        let waiting = self.state().waiting.into_iter();
        let of_run = waiting.filter(|path| run_of(path) == Some(run_id));
        of_run.filter_map(|path| Spill::read(&path).ok()).collect()
    }

    /// Deletes what there is of runs that were purged: no word of theirs is to be left.
    pub(crate) fn forget(&self, runs: &[RunId]) {
        let SpillState { waiting, aside, damaged } = self.state();
        for path in waiting.into_iter().chain(aside).chain(damaged) {
            if run_of(&path).is_some_and(|run_id| runs.contains(&run_id)) {
                // The doctor reports one that stays.
                let _ = fs::remove_file(path);
            }
        }
    }
}

/// The run that a file is about, as its name says.
pub(crate) fn run_of(path: &Path) -> Option<RunId> {
    path.file_name()?.to_str()?.split_once('-')?.0.parse().ok()
}

/// Renames a file that cannot be imported; `ending` is [`ASIDE`] or [`DAMAGED`].
pub(crate) fn set_aside(path: &Path, ending: &str) {
    // If the rename fails, the next import finds the file again.
    let _ = fs::rename(path, path.with_extension(ending));
}

impl Spill {
    /// Reads a file.
    pub(crate) fn read(path: &Path) -> Result<Self, Unreadable> {
        let content = fs::read(path).map_err(|cause| match cause.kind() {
            io::ErrorKind::NotFound => Unreadable::Gone,
            _ => Unreadable::NotNow,
        })?;
        let content = String::from_utf8(content).map_err(|_| Unreadable::Damaged)?;
        let (head, body) = content.split_once('\n').ok_or(Unreadable::Damaged)?;
        let words: Vec<&str> = head.split(' ').collect();
        let [MAGIC, version, hash] = words.as_slice() else { return Err(Unreadable::Damaged) };
        if blake3::hash(body.as_bytes()).to_hex().as_str() != *hash {
            return Err(Unreadable::Damaged);
        }
        if *version != VERSION {
            return Err(Unreadable::NotNow);
        }
        let Body { run_id, epoch, at_ms, events, texts } =
            serde_json::from_str(body).map_err(|_| Unreadable::Damaged)?;
        let batch = batch(events, &texts).map_err(|_| Unreadable::Damaged)?;
        let next_seq = batch.events.first().map_or(0, |first| first.seq);
        Ok(Self { lease: Lease { run_id, epoch, next_seq }, batch, at_ms })
    }
}

/// A file about to be written.
#[derive(Debug)]
pub(crate) struct Content {
    name: String,
    text: String,
}

impl Content {
    /// Of these events. Their texts are left out where the run keeps none.
    pub(crate) fn of(lease: Lease, batch: &EventBatch, keeps_texts: bool, at_ms: i64) -> Self {
        let first_seq = batch.events.first().map_or(0, |first| first.seq);
        // Names sort as the events happened.
        let name = format!("{}-{:08}-{first_seq:08}.{WAITING}", lease.run_id, lease.epoch);
        let events = batch.events.iter().zip(&batch.bodies).map(|(recorded, body)| SpilledEvent {
            seq: recorded.seq,
            elapsed_ms: recorded.elapsed_ms,
            body: body.clone(),
        });
        let carried = batch.events.iter().filter(|_| keeps_texts);
        let texts = carried.filter_map(|recorded| text_of(&recorded.event)?.text.map(Arc::clone));
        let body = Body {
            run_id: lease.run_id,
            epoch: lease.epoch,
            at_ms,
            events: events.collect(),
            texts: texts.collect(),
        };
        let body = serde_json::to_string(&body).expect("texts and numbers are plain data");
        let text = format!("{MAGIC} {VERSION} {}\n{body}", blake3::hash(body.as_bytes()).to_hex());
        Self { name, text }
    }
}

/// The events of a file, their texts put back.
fn batch(events: Vec<SpilledEvent>, texts: &[Arc<str>]) -> Result<EventBatch, serde_json::Error> {
    let recorded = |spilled: SpilledEvent| -> Result<Recorded, serde_json::Error> {
        let mut event: Event = serde_json::from_str(&spilled.body)?;
        let hash = text_of(&event).map(|text| text.hash.to_owned());
        let named = |hash: &str| texts.iter().find(|text| checksum::is_of_hash(text, hash));
        if let Some(text) = hash.as_deref().and_then(named) {
            damage::restore_text(&mut event, CheckedText::Whole(Arc::clone(text)));
        }
        Ok(Recorded { seq: spilled.seq, elapsed_ms: spilled.elapsed_ms, event })
    };
    // A file without texts is one of a run that keeps none, and its events carry none either.
    Ok(EventBatch::of(events.into_iter().map(recorded).collect::<Result<_, _>>()?, true))
}

/// Writes a file whole, so that it is there after a power cut, or not at all.
fn write_in(folder: &Path, name: &str, content: &str) -> io::Result<PathBuf> {
    let path = folder.join(name);
    file::make_folder_of(&path)?;
    if !folder.symlink_metadata()?.is_dir() {
        return Err(io::Error::from(io::ErrorKind::NotADirectory));
    }
    check_room(folder, content.len() as u64)?;
    let temporary = folder.join(format!(".{name}.{}", std::process::id()));
    let write = || -> io::Result<()> {
        let mut file = file::create_private(&temporary)?;
        file.write_all(content.as_bytes())?;
        file.sync_all()?;
        fs::rename(&temporary, &path)?;
        // The name is as much worth as the content.
        File::open(folder)?.sync_all()
    };
    write().inspect_err(|_| drop(fs::remove_file(&temporary)))?;
    Ok(path)
}

fn check_room(folder: &Path, bytes: u64) -> io::Result<()> {
    let (mut files, mut total) = (1, bytes);
    for entry in fs::read_dir(folder)? {
        files += 1;
        total += entry?.metadata().map_or(0, |metadata| metadata.len());
    }
    if files > FILES_MAX || total > BYTES_MAX {
        return Err(io::Error::from(io::ErrorKind::QuotaExceeded));
    }
    Ok(())
}

/// For whoever reads the run: a part of it is not in the database yet.
pub(crate) fn notice(path: &Path, cause: &Failure) -> Failure {
    let folder = path.parent().unwrap_or(path).display();
    Failure::new(Code::Spilled, format!("it is in `{folder}`, because this failed: {}", cause.message))
}
