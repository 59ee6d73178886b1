//! Access: principals, their tokens, and the issuers whose tokens are accepted.

pub(crate) mod issuer;
mod principal;
mod sessions;
mod tokens;

pub use issuer::{Issuer, ReadDocument};
pub use principal::{Grant, Principal, Scope};
pub use sessions::BrowserSessions;
pub use tokens::{Access, MadeToken, TokenLine, TokenRequest, TokenState, may_be_token};
