//! What is measured over many runs: cost, figures, insights, and the calibration of agreement.

pub(crate) mod calibration;
pub(super) mod cost;
pub(super) mod figures;
pub(super) mod insights;
pub(super) mod statistics;
