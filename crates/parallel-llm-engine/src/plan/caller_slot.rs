//! Who makes a call: every request of a run belongs to one place of its plan.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::request::panel::SeatNumber;

/// Who makes a call: a seat of the panel, a synthesizer by its place in the chain, or a step of the strategy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallerSlot {
    /// A seat of the panel.
    Seat(SeatNumber),
    /// A synthesizer, the first of the chain being 1.
    Synthesizer(SeatNumber),
    /// A call a strategy makes beside these.
    Step(StepNumber),
}

impl fmt::Display for CallerSlot {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Seat(number) => write!(out, "seat {number}"),
            Self::Synthesizer(number) => write!(out, "synthesizer {number}"),
            Self::Step(number) => write!(out, "step {number}"),
        }
    }
}

/// Numbers the steps of a run from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct StepNumber(pub u16);

impl StepNumber {
    /// The number of the step at this place of a list.
    pub(crate) fn at(index: usize) -> Self {
        Self(u16::try_from(index + 1).unwrap_or(u16::MAX))
    }

    /// Its place in a list.
    pub const fn index(self) -> usize {
        (self.0 as usize).saturating_sub(1)
    }
}

impl fmt::Display for StepNumber {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}
