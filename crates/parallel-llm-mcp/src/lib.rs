//! Ask many language models at once and get one answer you can trust.
//!
//! [`parallel`] runs one closure over many items at once.
//!
//! Importing the library does nothing: no log is set up, no signal handled, no file written, and the environment is read
//! only where a builder is asked to.
#![warn(missing_docs)]

pub mod parallel;

pub use tokio_util::sync::CancellationToken;
