//! The stages of a planned flow: who answers in each, which texts it reads, and what makes one text of them.
//!
//! Every call of a flow is an ordinary one: the seats of all stages are the panel, their chains are one list of
//! synthesizers, and the steps are planned for each stage. So a step belongs to the stage of whoever makes it. Invariant:
//! the stages are in the order of execution, and the last one gives the text of the run.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::plan::RunPlan;
use crate::plan::call_count;
use crate::plan::caller_slot::CallerSlot;
use crate::request::panel::{SEATS_MAX, Seat, SeatNumber};
use crate::request::strategy::{Strategy, StrategyChoice, StrategyOptions};

/// The number of a stage, counted from 1 in the order of execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StageNumber(pub u8);

impl StageNumber {
    /// The number of the stage at this index of a list.
    pub(crate) fn at(index: usize) -> Self {
        Self(u8::try_from(index + 1).unwrap_or(u8::MAX))
    }

    /// Its index in the list of stages.
    pub const fn index(self) -> usize {
        (self.0 as usize).saturating_sub(1)
    }
}

impl fmt::Display for StageNumber {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}

/// The flow of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlannedFlow {
    /// Its name.
    pub name: String,
    /// Its stages, at least two.
    pub stages: Vec<Stage>,
}

/// A stage of a plan. It has seats or reads texts, never both.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// Its name.
    pub name: String,
    /// The stages whose texts it reads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub from: Vec<StageNumber>,
    /// Its seats.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seats: Vec<SeatNumber>,
    /// Its synthesizers, in the order they are asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub synthesizers: Vec<SeatNumber>,
    /// The strategy that makes one text.
    pub strategy: Strategy,
    /// The options of the strategy. Named as in the plan.
    #[serde(rename = "knobs", default, skip_serializing_if = "StrategyOptions::is_default")]
    pub strategy_options: StrategyOptions,
}

impl Stage {
    /// The strategy and its options.
    pub const fn strategy_choice(&self) -> StrategyChoice {
        StrategyChoice { strategy: self.strategy, options: self.strategy_options }
    }

    /// How many answers or texts it makes one text of.
    pub const fn inputs(&self) -> usize {
        self.seats.len() + self.from.len()
    }
}

impl PlannedFlow {
    /// The stages with their numbers.
    pub fn numbered(&self) -> impl DoubleEndedIterator<Item = (StageNumber, &Stage)> {
        self.stages.iter().enumerate().map(|(index, stage)| (StageNumber::at(index), stage))
    }

    /// The stage with this number.
    pub fn stage(&self, number: StageNumber) -> Option<&Stage> {
        self.stages.get(number.index())
    }

    /// The stage that gives the text of the run.
    pub fn last(&self) -> StageNumber {
        StageNumber::at(self.stages.len().saturating_sub(1))
    }

    /// How many stages follow one another from this one to the last, itself included.
    pub(crate) fn stages_left(&self, stage: StageNumber) -> u32 {
        let mut left = vec![1u32; self.stages.len()];
        // A stage comes before all that read it.
        for (number, reader) in self.numbered().rev() {
            for read in &reader.from {
                left[read.index()] = left[read.index()].max(left[number.index()] + 1);
            }
        }
        left.get(stage.index()).copied().unwrap_or(1)
    }

    /// The stage of a seat.
    pub fn of_seat(&self, seat: SeatNumber) -> Option<StageNumber> {
        self.numbered().find(|(_, stage)| stage.seats.contains(&seat)).map(|(number, _)| number)
    }

    /// The stage of a synthesizer.
    pub fn of_synthesizer(&self, synthesizer: SeatNumber) -> Option<StageNumber> {
        let own = |(_, stage): &(StageNumber, &Stage)| stage.synthesizers.contains(&synthesizer);
        self.numbered().find(own).map(|(number, _)| number)
    }

    /// The stage of a call.
    pub fn of_slot(&self, plan: &RunPlan, slot: CallerSlot) -> Option<StageNumber> {
        let by = plan.step_at(slot).map_or(slot, |step| step.key.by);
        match by {
            CallerSlot::Seat(seat) => self.of_seat(seat),
            CallerSlot::Synthesizer(synthesizer) => self.of_synthesizer(synthesizer),
            // A step is by a seat or a synthesizer.
            CallerSlot::Step(_) => None,
        }
    }

    /// The inputs of every stage: its seats, or a stand-in for each text it reads. A stand-in has the output cap of the
    /// text, and nothing else of it counts.
    pub(crate) fn inputs(&self, seats: &[Seat], synthesizers: &[Seat]) -> Vec<Vec<Seat>> {
        let mut inputs: Vec<Vec<Seat>> = Vec::with_capacity(self.stages.len());
        let mut longest: Vec<u32> = Vec::with_capacity(self.stages.len());
        for stage in &self.stages {
            let own = seats.iter().filter(|seat| stage.seats.contains(&seat.number)).cloned();
            let texts = stage.from.iter().map(|read| Seat {
                number: stand_in(*read),
                // A stage comes after those it reads.
                max_tokens: longest.get(read.index()).copied().unwrap_or(0),
                ..call_count::blank_seat(0)
            });
            let read: Vec<Seat> = own.chain(texts).collect();
            // If every synthesizer fails, an input is the text.
            let writers = stage.strategy.fusers(chain_of(stage, synthesizers));
            let caps = read.iter().chain(writers).map(|seat| seat.max_tokens);
            longest.push(caps.max().unwrap_or(0));
            inputs.push(read);
        }
        inputs
    }
}

/// The synthesizers of a stage among those of the plan.
pub(crate) fn chain_of<'a>(stage: &Stage, synthesizers: &'a [Seat]) -> &'a [Seat] {
    let first = stage.synthesizers.first().map_or(0, |first| first.index());
    synthesizers.get(first..first + stage.synthesizers.len()).unwrap_or_default()
}

/// The number under which the text of a stage is an answer among others: above that of every seat. It never leaves the
/// strategy of a stage, except in the record of a prompt.
pub(crate) fn stand_in(stage: StageNumber) -> SeatNumber {
    SeatNumber::at(SEATS_MAX + stage.index())
}

/// The stage whose text has this number; `None` for a seat.
pub(crate) fn stage_of_stand_in(seat: SeatNumber) -> Option<StageNumber> {
    seat.index().checked_sub(SEATS_MAX).map(StageNumber::at)
}
