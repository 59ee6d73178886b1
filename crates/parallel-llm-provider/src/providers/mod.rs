//! What is known of a provider before it is called: its name, its differences from others as data, and its key.

pub(super) mod api_key;
pub(super) mod billing;
pub(super) mod dialect;
pub(super) mod known;
pub(super) mod scrubber;
