//! Where this program and others keep their settings on this machine.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::environment::Environment;
use super::file;

/// The user's folders, and what the environment says of those of other programs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConfigPaths {
    /// The user's home.
    pub home: PathBuf,
    /// What programs read, after XDG.
    pub config: PathBuf,
    /// What programs read, on Windows: `APPDATA`.
    pub app_data: Option<PathBuf>,
    /// Where Codex keeps its own: `CODEX_HOME`.
    pub codex: Option<PathBuf>,
    /// Where Claude Code keeps its own: `CLAUDE_CONFIG_DIR`.
    pub claude: Option<PathBuf>,
    /// This program's user file, whether it is there or not.
    pub user_file: PathBuf,
    /// Where this program was started.
    pub current_dir: PathBuf,
    /// Where programs are looked for: `PATH`.
    pub programs: OsString,
}

impl ConfigPaths {
    /// What the environment says; `None` where there is no home.
    pub(super) fn of(environment: &Environment, current_dir: &Path) -> Option<Self> {
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
