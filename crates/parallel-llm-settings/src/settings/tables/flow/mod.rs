//! Flow files: one flow each, in the folder `flows` beside the user's file, or anywhere if named by its path.
//!
//! [`read`] reads their text; the engine knows the rules. Invariant: a flow that cannot be read breaks only its own use.

pub(in crate::settings) mod named_flow;
mod read;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use parallel_llm_engine::Failure;
use parallel_llm_engine::request::flow::{NAME_BYTES_MAX, is_name};
use parallel_llm_engine::value::next::{Advice, Next};

use crate::settings::sources::environment::Environment;
use crate::settings::sources::file::{self, Source, contents};
use crate::settings::sources::reader::Reader;
use crate::settings::value::failure::invalid;
use named_flow::{FlowErrors, NamedFlow};

/// The folder of flows beside the user's file.
const FOLDER: &str = "flows";
/// How the name of a flow's file ends.
const EXTENSION: &str = "toml";
/// Largest file in bytes. Sixteen stages with every key take less than a tenth.
const FLOW_BYTES_MAX: u64 = 64 << 10;
/// Most flows, as many as presets in a file; they are listed to models like those.
const FLOWS_MAX: usize = 64;

/// A file with a flow.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowFile {
    /// The file.
    pub path: PathBuf,
    /// The flow, or what is wrong with it.
    pub flow: Result<NamedFlow, FlowErrors>,
}

/// Flow files by name.
pub type Flows = BTreeMap<String, FlowFile>;

impl FlowFile {
    /// Reads a file, whose name is that of the flow.
    pub fn read(path: &Path) -> Self {
        Self { path: path.to_owned(), flow: flow_of(path) }
    }

    /// The same file with an error in place of its flow.
    pub(super) fn refused(self, failure: Failure) -> Self {
        let flow = Err(FlowErrors::of_whole(&self.path, failure));
        Self { flow, ..self }
    }
}

/// The folder of flows, beside the user's file.
pub(in crate::settings) fn folder(environment: &Environment, current_dir: &Path) -> Option<PathBuf> {
    Some(file::user_path(environment, current_dir)?.parent()?.join(FOLDER))
}

/// The flows in their folder.
pub(in crate::settings) fn in_folder(folder: &Path) -> Flows {
    let Ok(entries) = fs::read_dir(folder) else { return Flows::new() };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut paths: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|extension| extension == EXTENSION)).collect();
    // Folders list their files in any order.
    paths.sort();
    let read = |(index, path): (usize, PathBuf)| {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if index < FLOWS_MAX {
            return (name, FlowFile::read(&path));
        }
        let failure =
            invalid(format!("there are more than {FLOWS_MAX} flows")).with_next(Advice::MoveOutOfTheWay);
        let flow = Err(FlowErrors::of_whole(&path, failure));
        (name, FlowFile { path, flow })
    };
    paths.into_iter().enumerate().map(read).collect()
}

fn flow_of(path: &Path) -> Result<NamedFlow, FlowErrors> {
    let refused = |why: &str| {
        let failure = invalid(format!("cannot read the flow: {why}"));
        let next = [Next::Do(Advice::RepairFile), Next::Do(Advice::MoveOutOfTheWay)];
        FlowErrors::of_whole(path, failure.with_next(next))
    };
    let bytes = contents(path, FLOW_BYTES_MAX).map_err(|why| refused(&why))?;
    let missing = || {
        let failure = invalid("cannot read the flow: there is no such file").with_next(Advice::NameFlow);
        FlowErrors::of_whole(path, failure)
    };
    let bytes = bytes.ok_or_else(missing)?;
    let (text, invalid_from) = match String::from_utf8(bytes) {
        Ok(text) => (text, None),
        Err(error) => {
            let valid = error.utf8_error().valid_up_to();
            (String::from_utf8_lossy(error.as_bytes()).into_owned(), Some(valid))
        }
    };
    let source = Source { path: path.to_owned(), text };
    if let Some(byte) = invalid_from {
        let failure =
            invalid(format!("it is not valid UTF-8 from byte {byte}")).with_next(Advice::RepairFile);
        return Err(FlowErrors::at(Reader(&source).location(byte..byte), failure));
    }
    let name = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    if !is_name(name) {
        let message = format!(
            "the name of a flow has 1 to {NAME_BYTES_MAX} letters, digits, `-` or `_`, not `{}`",
            path.file_stem().unwrap_or_default().to_string_lossy()
        );
        return Err(FlowErrors::of_whole(path, invalid(message).with_next(Advice::RenameFile)));
    }
    read::flow(&source, name)
}
