//! The keys that `keys set` keeps: a file of the user's own that nobody else may read, and its text.
//!
//! Reading only; [`crate::keys`] writes it. What always holds: a file that others could have read or written is
//! refused with what mends it, and no failure shows anything of what it holds.

use std::collections::BTreeMap;
use std::fs::Metadata;
use std::path::{Path, PathBuf};

use parallel_llm_engine::Failure;
use secrecy::{ExposeSecret, SecretString};
use toml::de::DeTable;

use super::environment::Environment;
use super::reader::Reader;
use super::{FOLDER, file, invalid, provider_table};

/// What the file is called, in our folder of the configuration.
const KEYS_FILE: &str = "keys.toml";
/// The table that holds the keys of providers, by their names.
const PROVIDERS: &str = "providers";
/// What the file begins with.
const OPENING: &str = "# Written by `parallel-llm-mcp keys`. Nobody else may read it.\n";
/// The longest file that is read: a hundred keys, several times over.
const FILE_BYTES_MAX: u64 = 64 * 1024;

/// Keys by the names of their providers.
pub(crate) type KeptKeys = BTreeMap<String, SecretString>;

/// Where the file is, where there is a home.
pub(super) fn path(environment: &Environment) -> Option<PathBuf> {
    environment.folders().map(|folders| folders.config.join(FOLDER).join(KEYS_FILE))
}

/// The keys in the file; none where there is no file.
pub(crate) fn read(path: &Path) -> Result<KeptKeys, Failure> {
    if let Ok(metadata) = path.symlink_metadata() {
        check_private(path, &metadata)?;
    }
    let unreadable = || {
        invalid(format!("the kept keys in `{}` cannot be read", path.display()))
            .with_next("mend the file, or move it away and set the keys again")
    };
    let Some(source) = file::read(path)? else { return Ok(KeptKeys::new()) };
    let table = Reader(&source).parse().map_err(|_| unreadable())?;
    keys_of(table.get_ref()).ok_or_else(unreadable)
}

/// The text of a file that holds these keys.
pub(crate) fn text(keys: &KeptKeys) -> SecretString {
    // Visible ASCII, as every key is, needs no other escape.
    let quoted = |key: &SecretString| key.expose_secret().replace('\\', "\\\\").replace('"', "\\\"");
    let lines = keys.iter().map(|(name, key)| format!("{name} = \"{}\"\n", quoted(key)));
    SecretString::from(format!("{OPENING}\n[{PROVIDERS}]\n{}", lines.collect::<String>()))
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

/// Whether it is a file that only its owner can have read or written.
fn check_private(path: &Path, metadata: &Metadata) -> Result<(), Failure> {
    let refused =
        |why: &str| invalid(format!("the file of kept keys `{}` is refused: {why}", path.display()));
    if !metadata.is_file() {
        return Err(refused("it is a link or no plain file").with_next("move it away"));
    }
    if metadata.len() > FILE_BYTES_MAX {
        return Err(refused(&format!("it is larger than {FILE_BYTES_MAX} bytes")).with_next("move it away"));
    }
    if allows(metadata, 0o077) {
        return Err(refused("others may read or write it")
            .with_next(format!("run `chmod 600 {}`; if others had access, renew the keys", path.display())));
    }
    let folder = path.parent().unwrap_or(path);
    if folder.metadata().is_ok_and(|folder| allows(&folder, 0o022)) {
        return Err(
            refused("others may write its folder").with_next(format!("run `chmod 700 {}`", folder.display()))
        );
    }
    Ok(())
}

/// Whether any of these permissions is given.
#[cfg(unix)]
fn allows(metadata: &Metadata, mode: u32) -> bool {
    std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & mode != 0
}

/// Elsewhere the folder of the user's configuration is private by itself.
#[cfg(not(unix))]
fn allows(_: &Metadata, _: u32) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let source = |text: SecretString| file::Source {
            path: "keys.toml".into(),
            text: text.expose_secret().to_owned(),
        };
        let keys: KeptKeys = [("a-1", r#"x"y\z'#"#), ("openrouter", "0000")]
            .map(|(name, key)| (name.to_owned(), SecretString::from(key)))
            .into();
        for keys in [KeptKeys::new(), keys] {
            let source = source(text(&keys));
            let table = Reader(&source).parse().unwrap();
            let read = keys_of(table.get_ref()).unwrap();
            let plain = |keys: &KeptKeys| -> Vec<(String, String)> {
                keys.iter().map(|(name, key)| (name.clone(), key.expose_secret().to_owned())).collect()
            };
            assert_eq!(plain(&read), plain(&keys));
        }
    }
}
