//! What a tool returns: structured content and text, the parts of a run and their addresses, and the next step.

pub(super) mod address;
mod next_step;
pub(super) mod part;
pub(super) mod result;
pub(super) mod run_result;
