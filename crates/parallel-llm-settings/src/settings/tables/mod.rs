//! What the user gives names to: aliases, personas, presets and flows, and the prices of models.

pub(super) mod alias;
pub(super) mod flow;
pub(super) mod named;
pub(super) mod persona;
pub(super) mod preset;
pub(super) mod price;
