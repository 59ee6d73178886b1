//! One upstream call and its retries: admission, sending, reading, timers, cancellation and cost.

pub(crate) mod checkpoint;
pub mod deadline;
pub mod hub;
pub(crate) mod log;
pub(crate) mod reconcile;
pub(crate) mod reply_clock;
pub mod reply_timers;
pub mod retry;
pub(crate) mod run_context;
pub mod stop;
pub(crate) mod text_budget;
pub(crate) mod upstream_call;
