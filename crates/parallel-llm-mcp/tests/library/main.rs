//! The library as its users import it, against the simulator.

mod blocking;
mod builder;
mod client;
mod examples;
mod panel;
mod parallel;
mod server;
mod upstream;
