//! What an event is to a program, a line of JSON, and to people, a sentence.

pub mod line;
pub mod progress_line;
pub mod sentence;
