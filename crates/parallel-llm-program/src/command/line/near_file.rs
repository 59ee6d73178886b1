//! Names of files as people write them: `~` for the home folder, and the file that was probably meant by a name that no file
//! has.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use super::typed_line;

/// What stands for the home folder in front of a path, where no shell has replaced it.
const HOME: &str = "~/";

/// The path with the home folder in place of `~/`, unless there is a folder of that name.
pub(in crate::command) fn at_home(path: &Path) -> Cow<'_, Path> {
    let below = path.to_str().and_then(|path| path.strip_prefix(HOME));
    let home = std::env::home_dir().filter(|home| !home.as_os_str().is_empty());
    match (below, home) {
        (Some(below), Some(home)) if path.symlink_metadata().is_err() => home.join(below).into(),
        _ => path.into(),
    }
}

/// The arguments that were probably meant by the name of no file behind `mark`, such as `@` or `-a `.
pub(in crate::command) fn meant(mark: &str, path: &Path) -> Option<String> {
    let name = path.to_str().filter(|_| path.symlink_metadata().is_err())?;
    let argument = |name: &str| format!("{mark}{}", typed_line::quoted(name));
    let is_there = |name: &&str| !name.is_empty() && Path::new(name).exists();
    if mark == "@" && name == "-" {
        return Some(name.to_owned());
    }
    if let Some((file, text)) = name.split_once(char::is_whitespace)
        && is_there(&file)
        && !text.trim().is_empty()
    {
        return Some(format!("{} {}", argument(file), typed_line::quoted(text.trim())));
    }
    let listed: Vec<&str> = name.split(',').collect();
    if listed.len() > 1 && listed.iter().all(is_there) {
        return Some(listed.into_iter().map(argument).collect::<Vec<_>>().join(" "));
    }
    let plain = name.trim().strip_prefix("file://").unwrap_or(name.trim()).replace("\\ ", " ");
    let is_place = |letter: char| letter == ':' || letter.is_ascii_digit();
    let written = [plain.as_str(), plain.trim_end_matches(is_place)].into_iter().find(is_there);
    let found = written.map(str::to_owned).or_else(|| in_other_case(Path::new(&plain)));
    found.as_deref().map(argument)
}

/// The one file in the same folder whose name differs in capital letters alone.
fn in_other_case(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?.to_lowercase();
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let entries = std::fs::read_dir(folder.unwrap_or(Path::new("."))).ok()?.flatten();
    let names = entries.map(|entry| PathBuf::from(entry.file_name()));
    let mut same = names.filter(|other| other.to_str().is_some_and(|other| other.to_lowercase() == name));
    let (Some(only), None) = (same.next(), same.next()) else { return None };
    Some(folder.map_or_else(|| only.clone(), |folder| folder.join(&only)).display().to_string())
}
