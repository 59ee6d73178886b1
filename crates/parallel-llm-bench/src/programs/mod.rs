//! The processes of a measurement, and what they say to each other.

pub mod call;
pub mod door;
pub mod process;
pub mod reply;
pub mod upstream;
