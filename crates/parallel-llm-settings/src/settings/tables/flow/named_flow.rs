//! A flow with the places of its parts in its file, and the errors of a file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use parallel_llm_engine::plan::Defaults;
use parallel_llm_engine::request::flow::{Flow, FlowError, FlowPlace};
use parallel_llm_engine::value::next::Next;
use parallel_llm_engine::{Failure, PicoUsd};

use crate::settings::sources::reader::Reader;
use crate::settings::value::failure::invalid;
use crate::settings::value::origin::FileLocation;

/// Most errors of a file that are reported. Nobody corrects more at a time.
pub(super) const ERRORS_MAX: usize = 20;

/// A flow and its budget.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedFlow {
    /// The flow.
    pub flow: Flow,
    /// The budget of one run; `None` uses the setting.
    pub budget: Option<PicoUsd>,
    /// Its file.
    pub(super) path: PathBuf,
    /// Where its stages, their keys and their entries are.
    pub(super) places: BTreeMap<FlowPlace, FileLocation>,
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
    pub(super) fn of_whole(path: &Path, failure: Failure) -> Self {
        Self::at(FileLocation { path: path.to_owned(), line: 1, column: 1 }, failure)
    }

    pub(super) fn at(place: FileLocation, failure: Failure) -> Self {
        Self { errors: vec![FlowMistake::at(place, failure)], more: 0 }
    }

    /// The first of these errors, by their places in the file.
    pub(super) fn of(mut errors: Vec<(std::ops::Range<usize>, Failure)>, reader: Reader<'_>) -> Self {
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
