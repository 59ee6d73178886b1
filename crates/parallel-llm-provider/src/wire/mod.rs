//! What all protocols share: JSON types and readers, server-sent events, errors, and how long a provider asks to wait.
//!
//! Invariant, here and in every codec: reading is tolerant. Unknown fields are ignored, a field of an unexpected type
//! counts as missing, and every extensible list of words is an open string. What the fields mean is decided elsewhere.

pub(crate) mod classify;
pub(crate) mod error;
pub(crate) mod loose;
pub(crate) mod model;
pub(crate) mod retry_after;
pub(crate) mod sse;
