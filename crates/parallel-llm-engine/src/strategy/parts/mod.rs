//! The parts that strategies are made of. A part does one thing, and no strategy imports another one.
//!
//! `choice/` takes answers as they are, `calls/` asks models, and `texts/` makes new texts with both.

pub(crate) mod calls;
pub(crate) mod choice;
pub(crate) mod texts;
