//! The files of a run in the report.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Serialize;

/// The files of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FilesReport {
    /// The run's folder.
    pub dir: Option<PathBuf>,
    /// `off`, `writing`, `written` or `failed`.
    pub state: FilesState,
    /// Why a file could not be written.
    pub error: Option<String>,
}

/// The state of a run's files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FilesState {
    /// No files are written for this run.
    #[default]
    Off,
    /// Each is written when its answer arrives.
    Writing,
    /// All files are written.
    Written,
    /// A file could not be written; the stored run is complete anyway.
    Failed,
}
