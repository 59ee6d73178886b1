//! The library as its users import it, against the simulator.

mod parallel;
