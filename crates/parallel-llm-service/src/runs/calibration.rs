//! The calibration table of the data folder: how often answers that agreed were right, as somebody has measured it.
//!
//! Read once, when it is first needed. What always holds: a table that cannot be used fails no run; each run is warned of it, and
//! nothing is calibrated.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parallel_llm_engine::Code;
use parallel_llm_engine::run::calibration::{Calibration, Table};
use parallel_llm_engine::value::next::Advice;
use parallel_llm_engine::value::warning::Warning;
use tokio::sync::OnceCell;

/// The file in the data folder.
const NAME: &str = "calibration.json";
/// What to do where it is wrong.
pub(crate) const MEND: Advice = Advice::RepairFileAndRestart;
/// The longest file that is read, in bytes: the most rows, a hundred bytes each.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// The table of a data folder, read when it is first needed.
pub struct CalibrationFile {
    path: PathBuf,
    read: OnceCell<Arc<Calibration>>,
}

impl CalibrationFile {
    /// The table of this folder, whether there is one or not.
    pub fn of(data_dir: &Path) -> Self {
        Self { path: data_dir.join(NAME), read: OnceCell::new() }
    }

    /// What it says.
    pub async fn get(&self) -> Arc<Calibration> {
        Arc::clone(self.read.get_or_init(|| self.look()).await)
    }

    async fn look(&self) -> Arc<Calibration> {
        let path = self.path.clone();
        let found = tokio::task::spawn_blocking(move || read(&path)).await;
        Arc::new(match found.unwrap_or_else(|error| Err(error.to_string())) {
            Ok(None) => Calibration::Absent,
            Ok(Some(table)) => Calibration::Table(table),
            Err(wrong) => Calibration::Unusable(Warning {
                code: Code::SettingsInvalid,
                message: format!("no answer is calibrated: {wrong}"),
                next: MEND.into(),
            }),
        })
    }
}

impl CalibrationFile {
    /// What is wrong with it, where there is one.
    pub(crate) async fn warning(&self) -> Option<Warning> {
        match &*self.get().await {
            Calibration::Unusable(warning) => Some(warning.clone()),
            Calibration::Absent | Calibration::Table(_) => None,
        }
    }
}

/// The table of a data folder, where there is one. Fails with a sentence that names the file and, where it is one row, the row.
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

/// The file as far as it is read.
fn bytes(path: &Path) -> std::io::Result<Vec<u8>> {
    // A pipe of that name would be waited for.
    if !path.metadata()?.is_file() {
        return Err(std::io::Error::other("it is no file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
