//! Files of the user's that are changed in place: read within a bound, written whole or not at all, with a copy beside them
//! of what was there.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use parallel_llm_engine::value::next::{Advice, Next};
use parallel_llm_engine::{Code, Failure};

use parallel_llm_settings::private_files;

/// The largest file that is read, in MiB. A client that keeps its whole history beside its settings has a few, and each is
/// read through a dozen times, to be sure that nothing else in it changes.
const FILE_MIB_MAX: u64 = 16;
/// The same in bytes.
const FILE_BYTES_MAX: u64 = FILE_MIB_MAX << 20;
/// How many copies are kept beside a file before somebody has to look at them.
const COPIES_MAX: u32 = 999;

/// A file's text; `None` where there is no file.
pub fn read(path: &Path) -> Result<Option<String>, Failure> {
    let refused = |why: &str| {
        let message = format!("`{}` cannot be read: {why}", path.display());
        Failure::new(Code::SettingsInvalid, message)
            .with_next([Next::Do(Advice::RepairFile), Next::Do(Advice::MoveOutOfTheWay)])
    };
    match path.metadata() {
        // A link to nothing is no place to write to either.
        Err(error) if is_missing(&error) && path.symlink_metadata().is_ok() => {
            return Err(refused("it is a link to a file that is not there"));
        }
        Err(error) if is_missing(&error) => return Ok(None),
        Err(error) => return Err(refused(&error.to_string())),
        // Opening anything else, such as a pipe, could wait for ever.
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

/// Writes a file that held `before` when it was read. Links are followed, and what they lead to keeps its permissions; a
/// new file is its owner's alone. Gives the copy of what was there, `<file>.bak-<n>`.
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

/// A file that its owner protects is not replaced, although its folder would allow it.
fn check_writable(real: &Path) -> io::Result<()> {
    if real.metadata()?.permissions().readonly() {
        return Err(io::Error::new(ErrorKind::PermissionDenied, "it is read-only"));
    }
    OpenOptions::new().append(true).open(real).map(drop)
}

/// Keeps what is there beside the file, under the first free number.
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

/// Writes a temporary file beside it, flushes it to the disk and renames it.
fn replace(real: &Path, text: &str) -> io::Result<()> {
    let temporary = beside(real, ".", &format!(".{}.tmp", std::process::id()));
    // One that was left behind by a process of the same number that was killed while writing it.
    let _ = fs::remove_file(&temporary);
    let written = write_beside(&temporary, real, text).and_then(|()| fs::rename(&temporary, real));
    if written.is_err() {
        // Nothing stays behind; what is wrong with that is no news beside the failure.
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

/// A name beside a file's, made of its own.
fn beside(real: &Path, before: &str, after: &str) -> PathBuf {
    let mut name = std::ffi::OsString::from(before);
    name.push(real.file_name().unwrap_or_default());
    name.push(after);
    real.with_file_name(name)
}
