//! What doors require of the listener: their paths, their policy for browsers, and the origins that may read them.

pub(super) mod cors;
pub(super) mod door;
pub(super) mod paths;
pub(super) mod policy;
