//! How a run is told: as one JSON object, as text for people, as a live view. Reads runs, changes nothing.

pub mod agreement;
pub mod columns;
pub mod console;
pub mod live;
pub mod plain;
pub mod seat;
pub mod summary;
pub mod table;
pub mod vocabulary;
mod writer;
