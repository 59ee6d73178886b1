//! The reply to an admitted request: its script applied, and the draft made a stream or one body.

pub(crate) mod respond;
mod stream;
mod whole;
