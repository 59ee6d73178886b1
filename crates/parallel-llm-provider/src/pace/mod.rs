//! When a call may be sent: limits at once, waits after a 429, and circuits of models that keep failing.

pub(super) mod admission;
pub(super) mod breaker;
pub(super) mod concurrency;
mod gate;
