//! Numbers of things in words.

use std::fmt::Display;

/// A number of things: `1 run`, `2 runs`.
pub fn counted<N: Copy + Display + PartialEq + From<u8>>(count: N, noun: &str) -> String {
    let ending = if count == N::from(1) { "" } else { "s" };
    format!("{count} {noun}{ending}")
}
