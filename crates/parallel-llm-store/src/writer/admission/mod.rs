//! What may refuse a run or a request: daily limits, and the same question asked already.

pub(crate) mod limits;
pub(crate) mod repeats;
