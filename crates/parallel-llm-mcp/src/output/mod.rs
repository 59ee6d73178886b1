//! How a run is told: as one JSON object, as text for people, as a live view. Reads runs, changes nothing.

pub mod age;
pub mod agreement;
pub mod columns;
pub mod console;
pub mod cost;
pub mod live;
pub mod next;
pub mod plain;
pub mod report;
pub mod seat;
pub mod summary;
pub mod table;
mod writer;
