//! The folders where this program and others keep their configuration.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::environment::Environment;
use super::file;

/// The user's folders, and those that the environment sets for other programs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfigPaths {
    /// The user's home.
    pub home: PathBuf,
    /// XDG's configuration folder.
    pub config: PathBuf,
    /// The configuration folder on Windows: `APPDATA`.
    pub app_data: Option<PathBuf>,
    /// Codex's folder: `CODEX_HOME`.
    pub codex: Option<PathBuf>,
    /// Claude Code's folder: `CLAUDE_CONFIG_DIR`.
    pub claude: Option<PathBuf>,
    /// This program's user file, which may not exist.
    pub user_file: PathBuf,
    /// The current folder at the start of this program.
    pub current_dir: PathBuf,
    /// The search path for programs: `PATH`.
    pub programs: OsString,
}

impl ConfigPaths {
    /// The folders in this environment; `None` without a home folder.
    pub(in crate::settings) fn of(environment: &Environment, current_dir: &Path) -> Option<Self> {
        let folders = environment.folders()?;
        let folder = |name| environment.raw(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        Some(Self {
            home: folders.home.clone(),
            config: folders.config.clone(),
            app_data: folder("APPDATA"),
            codex: folder("CODEX_HOME"),
            claude: folder("CLAUDE_CONFIG_DIR"),
            user_file: file::user_path(environment, current_dir)?,
            current_dir: current_dir.to_owned(),
            programs: environment.raw("PATH").unwrap_or_default(),
        })
    }
}
