//! Where calls go: the address of a provider, the pooled HTTP client, what leaves with a request, and how connections fail.

pub(super) mod endpoint;
pub(super) mod http;
pub(super) mod traces;
pub(super) mod transport;
