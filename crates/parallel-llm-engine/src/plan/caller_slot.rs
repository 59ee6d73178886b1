//! The caller slot: the seat, synthesizer or step of a plan that a call belongs to.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::request::panel::SeatNumber;

/// The maker of a call: a seat of the panel, a synthesizer of the chain, or a step of the strategy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallerSlot {
    /// A seat of the panel.
    Seat(SeatNumber),
    /// A synthesizer; the first of the chain is 1.
    Synthesizer(SeatNumber),
    /// Another call of the strategy.
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

/// The number of a step, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct StepNumber(pub u16);

impl StepNumber {
    /// The number of the step at this index of a list.
    pub(crate) fn at(index: usize) -> Self {
        Self(u16::try_from(index + 1).unwrap_or(u16::MAX))
    }

    /// Its index in the list of steps.
    pub const fn index(self) -> usize {
        (self.0 as usize).saturating_sub(1)
    }
}

impl fmt::Display for StepNumber {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(out)
    }
}
