//! The programs that use this one over MCP: which ones there are, where each keeps its settings, and how our entry is
//! added and removed.
//!
//! [`table`] has a row per client; [`entry`] builds an entry, [`change`] computes a file with or without it,
//! [`format`] edits the text, [`mod@file`] reads and writes it. The doors ask the user.
//!
//! What always holds: every value and comment that is not part of our entry stays, and in a file with one value a line
//! every other line that is not blank stays byte for byte; a file that cannot be understood is not touched; this module
//! never writes a key on its own account.

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
pub use entry::{Installed, Reach, Wish};
pub use snippet::{example, page, snippet};
pub use table::{ALL, Client};

use entry::path_of;
use parallel_llm_settings::settings::ConfigPaths;

/// What a client's file says of this program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstallState {
    /// The file.
    pub path: PathBuf,
    /// What is in it.
    pub content: Content,
}

/// What is in a client's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// There is no file.
    Missing,
    /// The file cannot be read or understood; why, in one sentence without a period.
    Unreadable(String),
    /// The file has no entry of our name.
    Absent,
    /// What the entry of our name says.
    Present(Installed),
}

/// What the client's file in the user's own folders says of this program; `None` where this machine has no place for
/// such a file. Nothing but that file is read.
pub fn state(client: &Client, paths: &ConfigPaths) -> Option<InstallState> {
    client.user_file(paths).map(|path| state_at(client, &path))
}

/// What a file of the client's says of this program.
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
        Err(doubt) => Content::Unreadable(doubt.0),
        Ok(None) => Content::Absent,
        Ok(Some(entry)) => Content::Present(client.reading(&entry)),
    }
}
