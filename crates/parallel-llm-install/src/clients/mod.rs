//! The MCP clients that can use this program, the locations of their configuration, and how our entry is added and
//! removed.
//!
//! [`table`] has a row per client; [`entry`] builds an entry, [`change`] computes a file with or without it, [`format`]
//! edits the text, [`mod@file`] reads and writes it. Asking the user is left to the caller.
//!
//! Invariants: every value and comment outside our entry stays, and in a file with one value per line every other line
//! that is not blank stays byte for byte; a file that cannot be parsed is not touched; this module never writes a key
//! by itself.

mod address;
mod change;
mod diff;
mod entry;
pub mod file;
mod format;
mod json;
mod node;
mod snippet;
mod table;
#[cfg(test)]
mod tests;
mod text;
mod toml;
mod yaml;

use std::path::{Path, PathBuf};

pub use address::address;
pub use change::plain_json;
pub use change::{Act, Change, notes};
pub use diff::unified as diff;
pub use entry::{EntrySpec, Installed, Reach};
pub use snippet::{example, page, snippet};
pub use table::{ALL, Client};

use entry::path_of;
use parallel_llm_settings::settings::ConfigPaths;

/// The entry for this program in a client's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstallState {
    /// The file.
    pub path: PathBuf,
    /// Its state.
    pub content: Content,
}

/// The content of a client's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// There is no file.
    Missing,
    /// The file cannot be read or parsed; the reason in one sentence without a period.
    Unreadable(String),
    /// The file has no entry with our name.
    Absent,
    /// The entry with our name.
    Present(Installed),
}

/// The state of the client's user file; `None` if this machine has no folder for such a file. Reads only that file.
pub fn state(client: &Client, paths: &ConfigPaths) -> Option<InstallState> {
    client.user_file(paths).map(|path| state_at(client, &path))
}

/// The state of one file of a client.
pub fn state_at(client: &Client, path: &Path) -> InstallState {
    let content = match file::read(path) {
        Err(failure) => Content::Unreadable(failure.message),
        Ok(None) => Content::Missing,
        Ok(Some(text)) => content(client, &text),
    };
    InstallState { path: path.to_owned(), content }
}

fn content(client: &Client, text: &str) -> Content {
    match client.format.read(text.trim_start_matches('\u{feff}'), &path_of(client)) {
        Err(refusal) => Content::Unreadable(refusal.0),
        Ok(None) => Content::Absent,
        Ok(Some(entry)) => Content::Present(client.read_entry(&entry)),
    }
}
