//! The view of one stage of a flow: the part of the fold about what it came to.

use crate::plan::flow::{PlannedFlow, StageNumber};
use crate::run::outcome::{Outcome, OutcomeKind};

/// The view of one stage.
#[derive(Clone, Debug, PartialEq)]
pub struct StageView {
    /// Its number.
    pub number: StageNumber,
    /// Its name.
    pub name: String,
    /// What it came to; `None` before that. What the last stage came to is the outcome of the run, and not here.
    pub outcome: Option<Outcome>,
    /// When it was decided, in milliseconds from the start.
    pub decided_ms: Option<u64>,
}

impl StageView {
    /// The views of the stages of a flow without events.
    pub(super) fn of_flow(flow: Option<&PlannedFlow>) -> Vec<Self> {
        let stages = flow.into_iter().flat_map(PlannedFlow::numbered);
        let view = |(number, stage): (StageNumber, &crate::plan::flow::Stage)| Self {
            number,
            name: stage.name.clone(),
            outcome: None,
            decided_ms: None,
        };
        stages.map(view).collect()
    }

    pub(super) fn decide(&mut self, outcome: &Outcome, at_ms: u64) {
        self.outcome = Some(outcome.clone());
        self.decided_ms = Some(at_ms);
    }

    /// What it came to, if that is known completely: a text that is lost is made again from its paid calls.
    pub(crate) fn settled(&self) -> Option<&Outcome> {
        let is_whole = |outcome: &&Outcome| outcome.text.is_some() || outcome.kind == OutcomeKind::None;
        self.outcome.as_ref().filter(is_whole)
    }
}
