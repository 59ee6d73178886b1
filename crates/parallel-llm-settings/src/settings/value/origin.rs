//! The origin of a value, for errors and for `config show`.

use std::fmt;
use std::path::PathBuf;

/// A location in a settings file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileLocation {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// The character in the line, from 1.
    pub column: usize,
}

impl fmt::Display for FileLocation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}:{}", self.path.display(), self.line, self.column)
    }
}

/// The origin of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The default.
    Default,
    /// The user's file.
    User(FileLocation),
    /// The project's file.
    Project(FileLocation),
    /// A variable of the environment, by its name.
    Environment(String),
    /// A flag, by its setting's name.
    Flag(&'static str),
    /// The file of stored keys.
    Kept(PathBuf),
    /// A program that imports the library.
    Code,
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
            Self::Code => out.write_str("code"),
        }
    }
}

/// The flag of a setting. It omits the currency and `command`, which the help explains: `budget_usd` is `--budget`,
/// `check_command` is `--check`.
pub(in crate::settings) fn flag(name: &str) -> String {
    let short = ["_usd", "_command"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    format!("--{}", short.replace('_', "-"))
}
