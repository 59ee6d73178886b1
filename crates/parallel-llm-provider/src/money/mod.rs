//! What calls cost: the list of models with their prices, the charge of a call, and the credit of a key.

pub(super) mod charge;
pub(super) mod credit;
pub(super) mod models;
