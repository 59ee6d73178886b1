//! A reply, read from its bytes.

pub(super) mod reply;
pub(super) mod template;
