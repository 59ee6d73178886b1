//! The formats of clients' files behind one interface: read, set or remove what is at a path.
//!
//! Invariant: every value and comment outside the path stays, or nothing is done. If a file cannot be parsed well
//! enough for that, the result is an [`EditRefusal`].

use super::node::Node;
use super::text::EditRefusal;
use super::{json, toml};

/// The format of a client's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// JSON, with comments and trailing commas.
    Json,
    /// TOML.
    Toml,
    /// YAML, which is shown but not edited.
    Yaml,
}

impl Format {
    /// The name of the format for a code block.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Toml => "toml",
            Self::Yaml => "yaml",
        }
    }

    /// The value at a path; `None` if there is none.
    pub(super) fn read(self, text: &str, path: &[&str]) -> Result<Option<Node>, EditRefusal> {
        match self {
            Self::Json => json::read(text, path),
            Self::Toml => toml::read(text, path),
            Self::Yaml => Err(not_edited()),
        }
    }

    /// The text with this value at a path, whether or not there was one.
    pub(super) fn set(self, text: &str, path: &[&str], node: &Node) -> Result<String, EditRefusal> {
        match self {
            Self::Json => json::set(text, path, node),
            Self::Toml => toml::set(text, path, node),
            Self::Yaml => Err(not_edited()),
        }
    }

    /// The text without the value at a path, which must exist, and without the table around it if that is then empty.
    pub(super) fn take(self, text: &str, path: &[&str]) -> Result<String, EditRefusal> {
        match self {
            Self::Json => json::take(text, path),
            Self::Toml => toml::take(text, path),
            Self::Yaml => Err(not_edited()),
        }
    }
}

fn not_edited() -> EditRefusal {
    EditRefusal::new("its YAML is not read here")
}
