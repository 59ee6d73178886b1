//! Rebuilds the files of a run from the store, also of an interrupted run.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};

use parallel_llm_engine::run::Run;
use parallel_llm_engine::run::calibration::Calibration;
use parallel_llm_engine::value::next::{Advice, Next};
use parallel_llm_engine::{Code, Failure};
use serde::Deserialize;

use super::{Folder, REPORT, is_among, names, report_file, stale, texts};
use crate::report::{FilesReport, FilesState, Report};
use parallel_llm_settings::pinned_folder::{OpenFolder, PinnedFolder};

/// The longest report read to find its run, in bytes. The largest holds 65 texts of 8 MiB, with escapes.
const REPORT_BYTES_MAX: u64 = 1 << 31;

/// Writes the files of a run into its folder inside `base`; returns that folder. An existing folder is used only if its
/// report is this run's, or if it has no report and only files of this run, as after an interruption. Each file is
/// replaced atomically.
pub fn rebuild(base: &Path, run: &Run, calibration: &Calibration) -> Result<PathBuf, Failure> {
    let run_id = run.plan.run_id;
    let dir = base.join(run_id.to_string());
    let unwritable = |error: std::io::Error| {
        let message = format!("the files of run {run_id} cannot be written to `{}`: {error}", dir.display());
        Failure::new(Code::OutputUnwritable, message)
    };
    let folder =
        if dir.symlink_metadata().is_ok() { owned(&dir, run)? } else { Folder::create(base, run_id)? };
    let described = FilesReport { dir: Some(dir.clone()), state: FilesState::Written, error: None };
    folder.remove(&stale(run)).map_err(unwritable)?;
    for file in texts(run).into_iter().chain([report_file(Report::of(run, described, calibration))]) {
        folder.write(&file).map_err(unwritable)?;
    }
    Ok(dir)
}

/// The existing folder, if it is this run's.
fn owned(dir: &Path, run: &Run) -> Result<Folder, Failure> {
    let run_id = run.plan.run_id;
    let report = dir.join(REPORT);
    let is_ours = if report.symlink_metadata().is_ok() {
        reported(&report).is_some_and(|named| named == run_id.to_string())
    } else {
        holds_only(dir, &names(run)).unwrap_or(false)
    };
    let is_folder = dir.symlink_metadata().is_ok_and(|found| found.is_dir());
    if is_folder && is_ours {
        return Ok(Folder { pinned: PinnedFolder::of(dir).ok(), path: dir.to_owned() });
    }
    let message = format!("`{}` is there already, without a report of run {run_id}", dir.display());
    let next = [Next::Do(Advice::MoveAway), Next::NameWith("--dir".into())];
    Err(Failure::new(Code::OutputUnwritable, message).with_next(next))
}

/// Whether a folder holds only files of these names.
fn holds_only(dir: &Path, ours: &BTreeSet<String>) -> std::io::Result<bool> {
    let folder = OpenFolder::open(dir)?;
    for name in folder.names()? {
        if !is_among(ours, &folder, &name)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The id of the run whose report a file is.
fn reported(path: &Path) -> Option<String> {
    #[derive(Deserialize)]
    struct NamedFile {
        run_id: String,
    }
    if !path.symlink_metadata().ok()?.is_file() {
        return None;
    }
    let file = std::io::BufReader::new(std::fs::File::open(path).ok()?.take(REPORT_BYTES_MAX));
    serde_json::from_reader(file).ok().map(|named: NamedFile| named.run_id)
}
