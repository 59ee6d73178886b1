//! What a question may choose from: models, presets, strategies and flows.

pub(super) mod flow;
pub(super) mod models;
pub(super) mod presets;
pub(super) mod strategies;
