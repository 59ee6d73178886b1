//! The strategy `vote`: the answer most others agree with is selected, by count or weighted by accuracy.
//!
//! It needs no call besides the panel, except one where short answers are written differently and may mean the same. If the
//! answers cannot be compared by value, the one closest to the others is selected. Between clusters of equal weight, the one
//! with the strongest seat wins, else the one with the first seat.

use std::future::{Ready, ready};

use super::parts::choice::answers::Answers;
use super::parts::choice::counting;
use crate::call::run_context::RunContext;
use crate::run::outcome::Outcome;

pub(super) fn decide(context: &RunContext, answers: Answers<'_>) -> Ready<Outcome> {
    ready(counting::counted(context, answers))
}
