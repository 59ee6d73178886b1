//! The parts that strategies are made of. A part does one thing, and no strategy imports another one.

pub(crate) mod answers;
pub(crate) mod best;
pub(crate) mod call;
pub(crate) mod chain;
pub(crate) mod check;
pub(crate) mod considered;
pub(crate) mod counting;
pub(crate) mod early;
pub(crate) mod equivalence;
pub(crate) mod fusion;
pub(crate) mod gate;
pub(crate) mod judge;
pub(crate) mod rounds;
pub(crate) mod selection;
pub(crate) mod shown;
pub(crate) mod synthesis;
pub(crate) mod verbatim;
pub(crate) mod written;
