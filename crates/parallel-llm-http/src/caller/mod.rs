//! Who asks: by a token or by the session of a browser, within a rate.

pub(super) mod access;
pub(super) mod check;
pub(super) mod cookie;
mod rate;
pub(super) mod resource;
pub(super) mod sessions;
