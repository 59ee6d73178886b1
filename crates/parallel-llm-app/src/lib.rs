//! The composition root: the only crate that makes the long-lived parts of the product.
//!
//! [`wire`] makes them from settings, for the program and for the library alike. [`doors`] are the doors over HTTP.

mod certificates;
#[cfg(feature = "doors")]
pub mod doors;
mod router;
mod wiring;

pub use wiring::{Own, make_upstream, wire, wire_around, wire_with};
