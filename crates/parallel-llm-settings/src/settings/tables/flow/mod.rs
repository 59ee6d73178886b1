//! Flow files: one flow each, in the folder `flows` beside the user's file, or anywhere if named by its path.
//!
//! [`read`] reads their text; the engine knows the rules. Invariant: a flow that cannot be read breaks only its own use.

mod read;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use parallel_llm_engine::plan::Defaults;
use parallel_llm_engine::request::flow::{Flow, FlowError, FlowPlace, NAME_BYTES_MAX, is_name};
use parallel_llm_engine::value::next::{Advice, Next};
use parallel_llm_engine::{Failure, PicoUsd};

use crate::settings::sources::environment::Environment;
use crate::settings::sources::file::{self, Source, contents};
use crate::settings::sources::reader::Reader;
use crate::settings::value::failure::invalid;
use crate::settings::value::origin::FileLocation;

/// The folder of flows beside the user's file.
const FOLDER: &str = "flows";
/// How the name of a flow's file ends.
const EXTENSION: &str = "toml";
/// Largest file in bytes. Sixteen stages with every key take less than a tenth.
const FLOW_BYTES_MAX: u64 = 64 << 10;
/// Most flows, as many as presets in a file; they are listed to models like those.
const FLOWS_MAX: usize = 64;
/// Most errors of a file that are reported. Nobody corrects more at a time.
const ERRORS_MAX: usize = 20;

/// A flow and its budget.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedFlow {
    /// The flow.
    pub flow: Flow,
    /// The budget of one run; `None` uses the setting.
    pub budget: Option<PicoUsd>,
    /// Its file.
    path: PathBuf,
    /// Where its stages, their keys and their entries are.
    places: BTreeMap<FlowPlace, FileLocation>,
}

impl NamedFlow {
    /// Applies the flow below the request's own options and above the settings, like a preset.
    pub fn fill(&self, defaults: &mut Defaults) {
        defaults.budget = self.budget.unwrap_or(defaults.budget);
        defaults.flow = Some(self.flow.clone());
    }

    /// The file's errors: of the flow, with their places.
    pub fn refused(&self, mut errors: Vec<FlowError>) -> FlowErrors {
        errors.sort_by_key(|error| {
            let FileLocation { line, column, .. } = self.location(error.place);
            (line, column)
        });
        let more = errors.len().saturating_sub(ERRORS_MAX);
        let mistake = |FlowError { place, failure }: FlowError| {
            let next = failure.next_steps().to_vec();
            // The code says whose mistake it is: a file's, which only its owner may read about.
            FlowMistake::at(self.location(place), invalid(&failure.message).with_next(next))
        };
        FlowErrors { errors: errors.into_iter().take(ERRORS_MAX).map(mistake).collect(), more }
    }

    /// The error of the whole file.
    pub fn refused_whole(&self, failure: Failure) -> FlowErrors {
        FlowErrors::of_whole(&self.path, failure)
    }

    fn location(&self, place: FlowPlace) -> FileLocation {
        let known = place.outward().find_map(|place| self.places.get(&place).cloned());
        known.unwrap_or_else(|| FileLocation { path: self.path.clone(), line: 1, column: 1 })
    }
}

/// An error of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowMistake {
    /// Where it is.
    pub place: FileLocation,
    /// What is wrong. The message begins with the place: `PATH:LINE:COLUMN`.
    pub failure: Failure,
}

/// The errors of a file, in its order. There is at least one.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowErrors {
    /// The first errors.
    pub errors: Vec<FlowMistake>,
    /// How many others there are.
    pub more: usize,
}

impl FlowErrors {
    /// The first error.
    pub fn first(&self) -> &Failure {
        &self.errors[0].failure
    }

    /// All errors as one failure.
    pub fn failure(&self) -> Failure {
        let first = self.first();
        let messages: Vec<&str> =
            self.errors.iter().map(|mistake| mistake.failure.message.as_str()).collect();
        let more = if self.more > 0 { format!("; and {} more", self.more) } else { String::new() };
        let mut next: Vec<Next> = Vec::new();
        for step in self.errors.iter().flat_map(|mistake| mistake.failure.next_steps()) {
            if !next.contains(step) {
                next.push(step.clone());
            }
        }
        Failure { message: messages.join("; ") + &more, ..first.clone() }.with_next(next)
    }

    /// The error of a whole file.
    fn of_whole(path: &Path, failure: Failure) -> Self {
        Self::at(FileLocation { path: path.to_owned(), line: 1, column: 1 }, failure)
    }

    fn at(place: FileLocation, failure: Failure) -> Self {
        Self { errors: vec![FlowMistake::at(place, failure)], more: 0 }
    }

    /// The first of these errors, by their places in the file.
    fn of(mut errors: Vec<(std::ops::Range<usize>, Failure)>, reader: Reader<'_>) -> Self {
        errors.sort_by_key(|(span, _)| (span.start, span.end));
        let more = errors.len().saturating_sub(ERRORS_MAX);
        let first = errors.into_iter().take(ERRORS_MAX);
        let mistake = |(span, failure)| FlowMistake::at(reader.location(span), failure);
        Self { errors: first.map(mistake).collect(), more }
    }
}

impl FlowMistake {
    fn at(place: FileLocation, failure: Failure) -> Self {
        let failure = crate::settings::value::failure::at(&place, failure);
        Self { place, failure }
    }
}

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
