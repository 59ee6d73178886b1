//! The user's files that are changed in place: read up to a limit, replaced atomically, with a backup beside them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use parallel_llm_engine::value::next::{Advice, Next};
use parallel_llm_engine::{Code, Failure};

use parallel_llm_settings::private_files;

/// The largest file that is read, in MiB. A client that keeps its whole history next to its settings has a few, and
/// each is parsed a dozen times to make sure that nothing else changes.
const FILE_MIB_MAX: u64 = 16;
/// The same in bytes.
const FILE_BYTES_MAX: u64 = FILE_MIB_MAX << 20;
/// How many backups are kept beside a file before somebody has to remove some.
const COPIES_MAX: u32 = 999;

/// The text of a file; `None` if there is no file.
pub fn read(path: &Path) -> Result<Option<String>, Failure> {
    let refused = |why: &str| {
        let message = format!("`{}` cannot be read: {why}", path.display());
        Failure::new(Code::SettingsInvalid, message)
            .with_next([Next::Do(Advice::RepairFile), Next::Do(Advice::MoveOutOfTheWay)])
    };
    match path.metadata() {
        // A dangling link cannot be written to either.
        Err(error) if is_missing(&error) && path.symlink_metadata().is_ok() => {
            return Err(refused("it is a link to a file that is not there"));
        }
        Err(error) if is_missing(&error) => return Ok(None),
        Err(error) => return Err(refused(&error.to_string())),
        // Opening anything else, such as a pipe, could block for ever.
        Ok(metadata) if !metadata.is_file() => return Err(refused("it is not a file")),
        Ok(_) => {}
    }
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes));
    read.map_err(|error| refused(&error.to_string()))?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(refused(&format!("it is larger than {FILE_MIB_MAX} MiB")));
    }
    let text = String::from_utf8(bytes);
    text.map(Some).map_err(|error| {
        refused(&format!("it is not valid UTF-8 from byte {}", error.utf8_error().valid_up_to()))
    })
}

/// Writes a file whose content was `before` when it was read. Links are followed, and the target keeps its permissions;
/// a new file is private to its owner. Returns the backup, `<file>.bak-<n>`.
pub fn write(path: &Path, before: Option<&str>, after: &str) -> Result<Option<PathBuf>, Failure> {
    let failed = |error: &io::Error| {
        let message = format!("`{}` cannot be written: {error}", path.display());
        Failure::new(Code::OutputUnwritable, message).with_next(Advice::CorrectPermissions)
    };
    if read(path)?.as_deref() != before {
        let message = format!("`{}` has changed in the meantime", path.display());
        return Err(Failure::new(Code::OutputUnwritable, message).with_next(Advice::RunAgain));
    }
    let (real, copy) = if let Some(before) = before {
        let real = path.canonicalize().map_err(|error| failed(&error))?;
        check_writable(&real).map_err(|error| failed(&error))?;
        let copy = keep(&real, before).map_err(|error| failed(&error))?;
        (real, Some(copy))
    } else {
        let folder = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder).map_err(|error| failed(&error))?;
        (path.to_owned(), None)
    };
    replace(&real, after).map_err(|error| failed(&error))?;
    Ok(copy)
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// A write-protected file is not replaced, although its folder would allow it.
fn check_writable(real: &Path) -> io::Result<()> {
    if real.metadata()?.permissions().readonly() {
        return Err(io::Error::new(ErrorKind::PermissionDenied, "it is read-only"));
    }
    OpenOptions::new().append(true).open(real).map(drop)
}

/// Saves a backup beside the file, under the first free number.
fn keep(real: &Path, text: &str) -> io::Result<PathBuf> {
    for number in 1..=COPIES_MAX {
        let copy = beside(real, "", &format!(".bak-{number}"));
        let mut file = match private_files::file_options().open(&copy) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
            file => file?,
        };
        file.write_all(text.as_bytes())?;
        file.set_permissions(real.metadata()?.permissions())?;
        file.sync_all()?;
        return Ok(copy);
    }
    Err(io::Error::new(ErrorKind::AlreadyExists, format!("there are {COPIES_MAX} copies beside it")))
}

/// Writes a temporary file beside it, flushes it to disk and renames it.
fn replace(real: &Path, text: &str) -> io::Result<()> {
    let temporary = beside(real, ".", &format!(".{}.tmp", std::process::id()));
    // It may be left over from a killed process with the same number.
    let _ = fs::remove_file(&temporary);
    let written = write_beside(&temporary, real, text).and_then(|()| fs::rename(&temporary, real));
    if written.is_err() {
        // The original failure is reported, not one of the clean-up.
        let _ = fs::remove_file(&temporary);
    }
    written?;
    let folder = real.parent().ok_or(ErrorKind::NotFound)?;
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

fn write_beside(temporary: &Path, real: &Path, text: &str) -> io::Result<()> {
    let mut file = private_files::file_options().open(temporary)?;
    file.write_all(text.as_bytes())?;
    if let Ok(metadata) = real.metadata() {
        file.set_permissions(metadata.permissions())?;
    }
    file.sync_all()
}

/// A name beside a file, made from its own name.
fn beside(real: &Path, before: &str, after: &str) -> PathBuf {
    let mut name = std::ffi::OsString::from(before);
    name.push(real.file_name().unwrap_or_default());
    name.push(after);
    real.with_file_name(name)
}
