//! What all protocols share of the JSON on the wire.
//!
//! What always holds, here and in every codec: reading is tolerant. Unknown fields are passed over, a field of an
//! unexpected kind is read as missing, and every word of a list that the provider may extend is an open string.
//! What the fields mean is decided elsewhere.

pub(crate) mod error;
pub(crate) mod loose;
pub(crate) mod model;
