//! The terminal: shows runs as text, as a live view or as JSON lines, and changes nothing.

pub mod agreement;
pub mod columns;
pub mod console;
pub mod flow_picture;
pub mod line;
pub mod live;
pub mod markdown;
pub mod missing;
pub mod plain;
pub mod seat;
pub mod summary;
pub mod table;
pub mod verdict;
pub mod vocabulary;
mod writer;
