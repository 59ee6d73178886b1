//! The client: the configured providers, and what their requests share: keys, headers, limits, and the scrubber.
//!
//! [`exchange`] makes a call, [`lookup`] fetches small documents. Every failure and every name that leaves passes the
//! [scrubber](crate::providers::scrubber) once.

mod date;
mod exchange;
mod guarded;
mod lookup;
pub(crate) mod provider;
mod shared;
