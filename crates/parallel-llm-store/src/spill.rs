//! Files for events that the database did not accept, one per append, until they are imported.
//!
//! A file is written whole or not at all: a temporary file is flushed and renamed, and its folder is flushed. It names
//! its run, epoch and events, so that it is imported once and never over newer events. A file that cannot be imported
//! is renamed, never deleted.
//!
//! This module only handles the files; `writer/task.rs` decides when to write and import them.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parallel_llm_engine::port::Lease;
use parallel_llm_engine::{Code, Event, Failure, Recorded, RunId};
use serde::{Deserialize, Serialize};

use crate::row::checksum;
use crate::row::damage::{self, CheckedText};
use crate::row::event_batch::{EventBatch, text_of};
use crate::system::file;

/// The first line of a file holds this word, the format version, and the BLAKE3 hash of the rest.
const MAGIC: &str = "parallel-llm-spill";
const VERSION: &str = "1";
/// The extension of a file that waits to be imported.
const WAITING: &str = "spill";
/// The extension of a file whose run the database does not have.
pub(crate) const ASIDE: &str = "aside";
/// The extension of a damaged file.
pub(crate) const DAMAGED: &str = "damaged";
/// Most files in one folder. A run spills a handful, so these are some hundred runs; with the database unavailable for
/// longer, more should not be paid for.
const FILES_MAX: usize = 4_096;
/// Most bytes in one folder.
const BYTES_MAX: u64 = 1 << 30;

/// The spill folders in the order they are tried.
#[derive(Clone, Debug)]
pub(crate) struct Spills {
    folders: Arc<[PathBuf]>,
}

/// The spill files, by their state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpillState {
    /// Files waiting to be imported.
    pub waiting: Vec<PathBuf>,
    /// Files of runs that the database does not have.
    pub aside: Vec<PathBuf>,
    /// Damaged files.
    pub damaged: Vec<PathBuf>,
}

/// One spilled append.
#[derive(Debug)]
pub(crate) struct Spill {
    pub(crate) lease: Lease,
    pub(crate) batch: EventBatch,
    /// When it was spilled, in milliseconds since 1970.
    pub(crate) at_ms: i64,
}

/// Why a file cannot be read.
#[derive(Debug)]
pub(crate) enum Unreadable {
    /// Another process has imported it.
    Gone,
    /// Its content does not match its hash.
    Damaged,
    /// A newer version wrote it, or it cannot be read now.
    NotNow,
}

/// The content of a file.
#[derive(Debug, Serialize, Deserialize)]
struct Body {
    run_id: RunId,
    epoch: u64,
    at_ms: i64,
    events: Vec<SpilledEvent>,
    /// The texts of the events, if the run stores texts; matched by hash.
    texts: Vec<Arc<str>>,
}

#[derive(Debug, Serialize, Deserialize)]
struct SpilledEvent {
    seq: u64,
    elapsed_ms: u64,
    /// JSON, as in the database.
    body: String,
}

impl Spills {
    /// A folder beside this database, then these folders, which other databases may share.
    pub(crate) fn of(database: &Path, others: &[PathBuf]) -> Self {
        let name = folder_name(database.as_os_str().as_encoded_bytes());
        let others = others.iter().map(|folder| folder.join(&name));
        Self { folders: std::iter::once(file::beside(database, ".spill")).chain(others).collect() }
    }

    /// Folders in these, which other databases may share. The database is known by its id and not by its address: several
    /// addresses may lead to it, and an address to another database tomorrow.
    pub(crate) fn of_id(database_id: &str, folders: &[PathBuf]) -> Self {
        let name = folder_name(database_id.as_bytes());
        Self { folders: folders.iter().map(|folder| folder.join(&name)).collect() }
    }

    /// Writes a file to the first folder that accepts it, and returns its path.
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

    /// All files by state, the waiting ones in the order they were written.
    pub(crate) fn state(&self) -> SpillState {
        let mut state = SpillState::default();
        let files = self.folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten();
        // Of a pipe of such a name nothing could be read without end.
        let files = files.filter_map(Result::ok);
        let files = files.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
        for path in files.map(|entry| entry.path()) {
            match path.extension().and_then(|ending| ending.to_str()) {
                Some(WAITING) => state.waiting.push(path),
                Some(ASIDE) => state.aside.push(path),
                Some(DAMAGED) => state.damaged.push(path),
                _ => {}
            }
        }
        // Sorted by name across folders: a run may have spilled into several, and its events must stay in order.
        for paths in [&mut state.waiting, &mut state.aside, &mut state.damaged] {
            paths.sort_by(|one, other| one.file_name().cmp(&other.file_name()));
        }
        state
    }

    /// The readable waiting files of a run, in order; the import reports the others.
    pub(crate) fn of_run(&self, run_id: RunId) -> Vec<Spill> {
        let waiting = self.state().waiting.into_iter();
        let of_run = waiting.filter(|path| run_of(path) == Some(run_id));
        of_run.filter_map(|path| Spill::read(&path).ok()).collect()
    }

    /// Lets files that an earlier version set aside wait again.
    pub(crate) fn revive(&self) {
        for path in self.state().aside {
            // If the rename fails, the next start finds the file again.
            let _ = fs::rename(&path, path.with_extension(WAITING));
        }
    }

    /// Deletes all files of purged runs, so that no word of theirs remains.
    pub(crate) fn forget(&self, runs: &[RunId]) {
        let SpillState { waiting, aside, damaged } = self.state();
        for path in waiting.into_iter().chain(aside).chain(damaged) {
            if run_of(&path).is_some_and(|run_id| runs.contains(&run_id)) {
                // A file that cannot be deleted is reported by the doctor.
                let _ = fs::remove_file(path);
            }
        }
    }
}

/// The name of a database's folder in one that databases share.
fn folder_name(database: &[u8]) -> String {
    format!("spill-{}", &blake3::hash(database).to_hex()[..16])
}

/// The run in the name of a file.
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

/// A file to be written.
#[derive(Debug)]
pub(crate) struct Content {
    name: String,
    text: String,
}

impl Content {
    /// The file for these events, without texts if the run stores none.
    pub(crate) fn of(lease: Lease, batch: &EventBatch, keeps_texts: bool, at_ms: i64) -> Self {
        let first_seq = batch.events.first().map_or(0, |first| first.seq);
        // Names sort in the order of events.
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

/// The events of a file, with their texts.
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
    // A file without texts belongs to a run that stores none, and its events carry none.
    Ok(EventBatch::of(events.into_iter().map(recorded).collect::<Result<_, _>>()?, true))
}

/// Writes a file durably, whole or not at all.
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
        // The new name must be durable as well as the content.
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

/// The notice for readers of the run that a part of it is not in the database yet.
pub(crate) fn notice(path: &Path, cause: &Failure) -> Failure {
    let folder = path.parent().unwrap_or(path).display();
    Failure::new(
        Code::Spilled,
        format!("it is in a file in `{folder}`, because this failed: {}", cause.message),
    )
}
