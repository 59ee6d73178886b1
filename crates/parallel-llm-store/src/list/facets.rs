//! Adds runs to facets, one by one.

use std::collections::BTreeSet;

use parallel_llm_engine::RunId;

use super::results::{FacetCount, FacetFilter, Facets};
use crate::history::day::Day;
use crate::history::runs::{PRESET_MARK, RunSummary};

/// For each property, whether a run passes its filter.
struct Passes {
    status: bool,
    model: bool,
    strategy: bool,
    day: bool,
}

impl FacetFilter {
    fn passes(&self, run: &RunSummary) -> Passes {
        Passes {
            status: self.status.is_none_or(|status| run.status == status),
            model: self.model.as_ref().is_none_or(|model| of_run(run).any(|of_run| of_run == *model)),
            strategy: self.strategy.as_ref().is_none_or(|strategy| run.strategy == *strategy),
            day: self.day.is_none_or(|day| day_of(run.run_id) == Some(day)),
        }
    }

    /// Whether a run has these properties.
    pub fn matches(&self, run: &RunSummary) -> bool {
        let Passes { status, model, strategy, day } = self.passes(run);
        status && model && strategy && day
    }
}

/// The models of a run, and its preset or flow behind its mark.
fn of_run(run: &RunSummary) -> impl Iterator<Item = String> {
    let preset = run.preset.iter().map(|preset| format!("{PRESET_MARK}{preset}"));
    run.models.iter().cloned().chain(preset)
}

/// The day on which a run began, which its id says.
pub(crate) fn day_of(run_id: RunId) -> Option<Day> {
    Day::of_ms(run_id.unix_ms())
}

impl Facets {
    /// Most models.
    pub const MODELS_MAX: usize = 100;
    /// Most days.
    pub const DAYS_MAX: usize = 60;

    /// Counts a run for every facet whose other filters it passes.
    pub fn add(&mut self, run: &RunSummary, filter: &FacetFilter) {
        let Passes { status, model, strategy, day } = filter.passes(run);
        if model && strategy && day {
            add(&mut self.statuses, run.status.as_str());
        }
        if status && strategy && day {
            let models: BTreeSet<String> = of_run(run).collect();
            for model in models {
                add(&mut self.models, &model);
            }
        }
        if status && model && day {
            add(&mut self.strategies, &run.strategy);
        }
        if status
            && model
            && strategy
            && let Some(day) = day_of(run.run_id)
        {
            add(&mut self.days, &day.to_string());
        }
    }

    /// Takes what is found by model apart: the presets and flows, without their mark, and the models.
    pub fn split_presets(&mut self) -> (Vec<FacetCount>, Vec<FacetCount>) {
        let counts = std::mem::take(&mut self.models);
        let (mut presets, models): (Vec<_>, _) =
            counts.into_iter().partition(|count| count.value.starts_with(PRESET_MARK));
        for preset in &mut presets {
            preset.value.remove(0);
        }
        (presets, models)
    }

    /// Sorts the values: frequent ones first, and the newest days.
    pub(crate) fn sort(&mut self) {
        for counts in [&mut self.statuses, &mut self.models, &mut self.strategies] {
            counts
                .sort_by(|one, other| other.count.cmp(&one.count).then_with(|| one.value.cmp(&other.value)));
        }
        self.days.sort_by(|one, other| other.value.cmp(&one.value));
    }

    /// Sorts the values and drops those beyond the limits. `is_cut`: some runs were not counted.
    pub(crate) fn finish(&mut self, is_cut: bool) {
        self.sort();
        self.models.truncate(Self::MODELS_MAX);
        self.days.truncate(Self::DAYS_MAX);
        let all = [&mut self.statuses, &mut self.models, &mut self.strategies, &mut self.days];
        all.into_iter().flatten().for_each(|count| count.is_lower_bound |= is_cut);
    }
}

fn add(counts: &mut Vec<FacetCount>, value: &str) {
    match counts.iter_mut().find(|count| count.value == value) {
        Some(count) => count.count += 1,
        None => counts.push(FacetCount { value: value.to_owned(), count: 1, is_lower_bound: false }),
    }
}
