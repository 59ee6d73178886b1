//! A tool call in progress: its caller, its client's timeout, consent, progress and task.

mod client_timeout;
mod confirm;
pub(super) mod progress;
pub(super) mod task;
pub(super) mod tool_call;
