//! The formats of clients' files, behind one interface: read what is at a path, set it, take it away.
//!
//! What always holds: every value and every comment that is not at the path stays, or nothing is done. Where a file cannot be
//! understood well enough for that, there is a [`Doubt`] and no guess.

use super::node::Node;
use super::text::Doubt;
use super::{json, toml};

/// How a client writes its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// JSON; comments and trailing commas are understood.
    Json,
    /// TOML.
    Toml,
    /// YAML, which is shown and not edited.
    Yaml,
}

impl Format {
    /// The word that opens a block of it in a page.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Toml => "toml",
            Self::Yaml => "yaml",
        }
    }

    /// What is at a path; `None` where there is nothing.
    pub(super) fn read(self, text: &str, path: &[&str]) -> Result<Option<Node>, Doubt> {
        match self {
            Self::Json => json::read(text, path),
            Self::Toml => toml::read(text, path),
            Self::Yaml => Err(not_edited()),
        }
    }

    /// The text with this value at a path, whether something was there or not.
    pub(super) fn set(self, text: &str, path: &[&str], node: &Node) -> Result<String, Doubt> {
        match self {
            Self::Json => json::set(text, path, node),
            Self::Toml => toml::set(text, path, node),
            Self::Yaml => Err(not_edited()),
        }
    }

    /// The text without what is at a path, which is there, and without the table around it where that held nothing else.
    pub(super) fn take(self, text: &str, path: &[&str]) -> Result<String, Doubt> {
        match self {
            Self::Json => json::take(text, path),
            Self::Toml => toml::take(text, path),
            Self::Yaml => Err(not_edited()),
        }
    }
}

fn not_edited() -> Doubt {
    Doubt::new("its YAML is not read here")
}
