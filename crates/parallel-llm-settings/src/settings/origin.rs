//! Where a value came from, so that every value and every error can say so.

use std::fmt;
use std::path::PathBuf;

/// A place in a settings file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileLocation {
    /// The file.
    pub path: PathBuf,
    /// The line, counted from 1.
    pub line: usize,
    /// The character in the line, counted from 1.
    pub column: usize,
}

impl fmt::Display for FileLocation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}:{}", self.path.display(), self.line, self.column)
    }
}

/// Who set a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Nobody.
    Default,
    /// The user's own file.
    User(FileLocation),
    /// The project's file.
    Project(FileLocation),
    /// A variable of the environment, by its name.
    Environment(String),
    /// A flag, by the name of its setting.
    Flag(&'static str),
    /// The file of kept keys.
    Kept(PathBuf),
}

impl fmt::Display for Origin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => out.write_str("default"),
            Self::User(FileLocation { path, line, .. }) => write!(out, "user file {}:{line}", path.display()),
            Self::Project(FileLocation { path, line, .. }) => {
                write!(out, "project file {}:{line}", path.display())
            }
            Self::Environment(variable) => write!(out, "environment {variable}"),
            Self::Flag(name) => write!(out, "flag {}", flag(name)),
            Self::Kept(path) => write!(out, "kept in {}", path.display()),
        }
    }
}

/// How a flag for the setting is typed. The currency is left to its help, and so is that it takes a command: `budget_usd` is
/// `--budget`, `check_command` is `--check`.
pub(super) fn flag(name: &str) -> String {
    let short = ["_usd", "_command"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    format!("--{}", short.replace('_', "-"))
}
