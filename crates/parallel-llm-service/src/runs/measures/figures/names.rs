//! The models that have a line of their own in the figures about calls.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use parallel_llm_engine::ModelRef;
use parallel_llm_store::CallFact;

/// The most models with a line of their own: as many as a page shows legibly.
pub(super) const MODELS_MAX: usize = 24;

/// The models with the most calls; all further ones share a line.
pub(super) struct ModelNames {
    /// The line of each model.
    lines: BTreeMap<Arc<ModelRef>, usize>,
    /// Their names, as `-m` takes them, by number of calls.
    names: Vec<String>,
    has_others: bool,
}

impl ModelNames {
    pub(super) fn of(calls: &[CallFact]) -> Self {
        let mut counts: BTreeMap<&Arc<ModelRef>, u64> = BTreeMap::new();
        for call in calls {
            *counts.entry(&call.model).or_default() += 1;
        }
        let mut models: Vec<(&Arc<ModelRef>, u64)> = counts.into_iter().collect();
        models.sort_by_key(|(_, count)| Reverse(*count));
        let has_others = models.len() > MODELS_MAX;
        models.truncate(MODELS_MAX);
        let lines = models.iter().zip(0..).map(|((model, _), line)| (Arc::clone(model), line)).collect();
        Self { lines, names: models.iter().map(|(model, _)| model.to_string()).collect(), has_others }
    }

    /// A fold of the calls of each line, with the line's name; `None` is the line of all further models.
    pub(super) fn fold<Line: Default>(
        &self,
        calls: &[CallFact],
        add: impl Fn(&mut Line, &CallFact),
    ) -> Vec<(Option<String>, Line)> {
        let mut lines: Vec<Line> = std::iter::repeat_with(Line::default).take(self.names.len() + 1).collect();
        for call in calls {
            let line = self.lines.get(&call.model).copied().unwrap_or(self.names.len());
            add(&mut lines[line], call);
        }
        let names = self.names.iter().cloned().map(Some).chain(self.has_others.then_some(None));
        names.zip(lines).collect()
    }
}
