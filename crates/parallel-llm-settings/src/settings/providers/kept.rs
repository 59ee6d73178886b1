//! Reads the keys stored by `keys set` from a private file.
//!
//! [`crate::keys`] writes it. Invariants: a file that others may have read or written is refused with the remedy.
//! Failures show nothing of its contents.

use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use parallel_llm_engine::value::next::{Advice, MachineStep, Next, Operation};
use parallel_llm_engine::{Code, Failure};
use secrecy::{ExposeSecret, SecretString};
use toml::de::DeTable;

use super::provider_table;
use crate::settings::sources::environment::Environment;
use crate::settings::sources::environment::FOLDER;
use crate::settings::sources::file;
use crate::settings::sources::reader::Reader;
use crate::settings::value::failure::invalid;

/// The name of the file in our configuration folder.
const KEYS_FILE: &str = "keys.toml";
/// The table of keys by provider.
const PROVIDERS: &str = "providers";
/// The first line of the file.
const OPENING: &str = "# Written by `parallel-llm-mcp keys`. Nobody else may read it.\n";
/// Longest file in bytes: several times a hundred keys.
const FILE_BYTES_MAX: u64 = 64 * 1024;
/// Most attempts to open a file that is replaced between the check and the opening. Each writer replaces it once, so
/// few attempts are needed.
const ATTEMPTS_MAX: usize = 16;

/// Keys by provider.
pub type KeptKeys = BTreeMap<String, SecretString>;

/// The path of the file; `None` without a home folder.
pub(in crate::settings) fn path(environment: &Environment) -> Option<PathBuf> {
    environment.folders().map(|folders| folders.config.join(FOLDER).join(KEYS_FILE))
}

/// The keys in the file; empty if there is no file.
pub fn read(path: &Path) -> Result<KeptKeys, Failure> {
    let Some(file) = open(path)? else { return Ok(KeptKeys::new()) };
    let unreadable = || {
        invalid(format!("the kept keys in `{}` cannot be read", path.display()))
            .with_next([Next::Do(Advice::RepairFile), Next::Do(Advice::MoveFileSetKeysAgain)])
    };
    let mut text = String::new();
    // The file may have grown since the check; a truncated one fails to parse or has an overlong key.
    file.take(FILE_BYTES_MAX).read_to_string(&mut text).map_err(|_| unreadable())?;
    let source = file::Source { path: path.to_owned(), text };
    let table = Reader(&source).parse().map_err(|_| unreadable())?;
    keys_of(table.get_ref()).ok_or_else(unreadable)
}

/// Opens the file if it is private; `None` if there is none. Checks the opened file itself, and follows no link.
fn open(path: &Path) -> Result<Option<File>, Failure> {
    let unreadable = |error: std::io::Error| {
        refused(path, &error.to_string())
            .with_next([Next::Do(Advice::RepairFile), Next::Do(Advice::MoveOutOfTheWay)])
    };
    for _ in 0..ATTEMPTS_MAX {
        let named = match path.symlink_metadata() {
            Err(error) if is_missing(&error) => return Ok(None),
            named => named.map_err(unreadable)?,
        };
        if !named.is_file() {
            // Opening anything else, such as a pipe, could block forever.
            return Err(refused(path, "it is a link or no plain file").with_next(Advice::MoveAway));
        }
        let file = match File::open(path) {
            Err(error) if is_missing(&error) => continue,
            file => file.map_err(unreadable)?,
        };
        let opened = file.metadata().map_err(unreadable)?;
        if is_same(&named, &opened) {
            check_private(path, &opened)?;
            return Ok(Some(file));
        }
    }
    Err(refused(path, "it is being changed").with_next(Advice::TryAgain))
}

fn is_missing(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// The text of a file with these keys. Fails if it is longer than the limit for reading.
pub fn text(keys: &KeptKeys) -> Result<SecretString, Failure> {
    // Keys are visible ASCII, so nothing else needs escaping.
    let quoted = |key: &SecretString| key.expose_secret().replace('\\', "\\\\").replace('"', "\\\"");
    let lines = keys.iter().map(|(name, key)| format!("{name} = \"{}\"\n", quoted(key)));
    let text = SecretString::from(format!("{OPENING}\n[{PROVIDERS}]\n{}", lines.collect::<String>()));
    if text.expose_secret().len() as u64 > FILE_BYTES_MAX {
        let message = format!("the kept keys would be longer than {FILE_BYTES_MAX} bytes");
        return Err(Failure::new(Code::Usage, message).with_next(Operation::RemoveKey));
    }
    Ok(text)
}

fn keys_of(table: &DeTable<'_>) -> Option<KeptKeys> {
    let mut tables = table.iter();
    let Some((name, value)) = tables.next() else { return Some(KeptKeys::new()) };
    if name.get_ref() != PROVIDERS || tables.next().is_some() {
        return None;
    }
    let keys = value.get_ref().as_table()?.iter();
    keys.map(|(name, key)| {
        let key = key.get_ref().as_str()?;
        provider_table::is_name(name.get_ref()).then(|| (name.get_ref().to_string(), SecretString::from(key)))
    })
    .collect()
}

fn restrict(path: &Path, mode: &'static str) -> Next {
    Next::Machine(MachineStep::Restrict { path: path.display().to_string().into(), mode: mode.into() })
}

/// Fails if others than the owner could have read or written the file.
fn check_private(path: &Path, metadata: &Metadata) -> Result<(), Failure> {
    let refused = |why: &str| refused(path, why);
    let folder = path.parent().unwrap_or(path);
    if metadata.len() > FILE_BYTES_MAX {
        return Err(refused(&format!("it is larger than {FILE_BYTES_MAX} bytes")).with_next(Advice::MoveAway));
    }
    if allows(metadata, 0o077) {
        return Err(refused("others may read or write it (renew the keys if somebody did)")
            .with_next(restrict(path, "600")));
    }
    let of_folder = folder.metadata().map_err(|error| refused(&error.to_string()))?;
    if allows(&of_folder, 0o022) {
        return Err(refused("others may write its folder").with_next(restrict(folder, "700")));
    }
    // The folder belongs to the user, even if root runs this program.
    if !has_same_owner(metadata, &of_folder) {
        return Err(refused("it is not its folder's owner's").with_next(Advice::MoveAway));
    }
    Ok(())
}

fn refused(path: &Path, why: &str) -> Failure {
    invalid(format!("the file of kept keys `{}` is refused: {why}", path.display()))
}

/// Whether the opened file is the one that was checked.
#[cfg(unix)]
fn is_same(named: &Metadata, opened: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (named.dev(), named.ino()) == (opened.dev(), opened.ino())
}

/// Other systems do not report it.
#[cfg(not(unix))]
fn is_same(_: &Metadata, _: &Metadata) -> bool {
    true
}

#[cfg(unix)]
fn has_same_owner(file: &Metadata, folder: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    file.uid() == folder.uid()
}

/// Other systems do not report it.
#[cfg(not(unix))]
fn has_same_owner(_: &Metadata, _: &Metadata) -> bool {
    true
}

/// Whether any of these permissions is granted.
#[cfg(unix)]
fn allows(metadata: &Metadata, mode: u32) -> bool {
    std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & mode != 0
}

/// On other systems, the user's configuration folder is private.
#[cfg(not(unix))]
fn allows(_: &Metadata, _: u32) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_keys_are_read_back() {
        let source = |text: SecretString| file::Source {
            path: "keys.toml".into(),
            text: text.expose_secret().to_owned(),
        };
        let keys: KeptKeys = [("a-1", r#"x"y\z'#"#), ("openrouter", "0000")]
            .map(|(name, key)| (name.to_owned(), SecretString::from(key)))
            .into();
        for keys in [KeptKeys::new(), keys] {
            let source = source(text(&keys).unwrap());
            let table = Reader(&source).parse().unwrap();
            let read = keys_of(table.get_ref()).unwrap();
            let plain = |keys: &KeptKeys| -> Vec<(String, String)> {
                keys.iter().map(|(name, key)| (name.clone(), key.expose_secret().to_owned())).collect()
            };
            assert_eq!(plain(&read), plain(&keys));
        }
    }
}
