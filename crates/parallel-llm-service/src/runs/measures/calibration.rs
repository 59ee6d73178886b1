//! The calibration table of the data folder: measured shares of right answers by agreement.
//!
//! The table is read once, when it is first needed. Invariants: an unusable table fails no run; each run gets a
//! warning, and no confidence.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parallel_llm_engine::Code;
use parallel_llm_engine::run::calibration::{Calibration, Table};
use parallel_llm_engine::value::next::Advice;
use parallel_llm_engine::value::warning::Warning;
use tokio::sync::OnceCell;

/// The file's name in the data folder.
const NAME: &str = "calibration.json";
/// The remedy for an unusable file.
pub(crate) const REMEDY: Advice = Advice::RepairFileAndRestart;
/// The longest accepted file, in bytes: the largest number of rows, a hundred bytes each.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The table of a data folder, read when it is first needed.
pub struct CalibrationFile {
    /// `None` if there is no folder to read.
    path: Option<PathBuf>,
    read: OnceCell<Arc<Calibration>>,
}

impl CalibrationFile {
    /// The table of this folder, which may not exist.
    pub fn of(data_dir: &Path) -> Self {
        Self { path: Some(data_dir.join(NAME)), read: OnceCell::new() }
    }

    /// No table, where there is no data folder.
    pub fn absent() -> Self {
        Self { path: None, read: OnceCell::new() }
    }

    /// The table.
    pub async fn get(&self) -> Arc<Calibration> {
        Arc::clone(self.read.get_or_init(|| self.load()).await)
    }

    async fn load(&self) -> Arc<Calibration> {
        let Some(path) = self.path.clone() else { return Arc::new(Calibration::Absent) };
        let found = tokio::task::spawn_blocking(move || read(&path)).await;
        Arc::new(match found.unwrap_or_else(|error| Err(error.to_string())) {
            Ok(None) => Calibration::Absent,
            Ok(Some(table)) => Calibration::Table(table),
            Err(wrong) => Calibration::Unusable(Warning {
                code: Code::SettingsInvalid,
                message: format!("no answer is calibrated: {wrong}"),
                next: REMEDY.into(),
            }),
        })
    }
}

impl CalibrationFile {
    /// The warning about an unusable table.
    pub(crate) async fn warning(&self) -> Option<Warning> {
        match &*self.get().await {
            Calibration::Unusable(warning) => Some(warning.clone()),
            Calibration::Absent | Calibration::Table(_) => None,
        }
    }
}

/// Reads the table of a data folder, if there is one. The error names the file and, if one row is wrong, the row.
pub(crate) fn table_of(data_dir: &Path) -> Result<Option<Table>, String> {
    read(&data_dir.join(NAME))
}

fn read(path: &Path) -> Result<Option<Table>, String> {
    let unusable = |wrong: String| format!("`{}` cannot be used: {wrong}", path.display());
    let bytes = match bytes(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        bytes => bytes.map_err(|error| unusable(error.to_string()))?,
    };
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(unusable(format!("it is longer than {FILE_BYTES_MAX} bytes")));
    }
    Table::read(&bytes).map(Some).map_err(unusable)
}

/// The start of the file, one byte more than the limit.
fn bytes(path: &Path) -> std::io::Result<Vec<u8>> {
    // Opening a pipe of that name would block.
    if !path.metadata()?.is_file() {
        return Err(std::io::Error::other("it is no file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
