//! Replies as values, within and outside the providers' APIs, and a request until the last byte of its reply.

pub(crate) mod exchange;
pub(crate) mod json;
pub(crate) mod off_protocol;
pub(crate) mod reply;
