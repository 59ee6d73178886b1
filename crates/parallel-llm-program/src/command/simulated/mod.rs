//! The program against simulated models: the demo, and the simulator for users' own tests.

pub(super) mod demo;
mod killed;
pub(super) mod simulate;
