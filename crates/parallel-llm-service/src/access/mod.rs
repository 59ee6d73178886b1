//! Access: who asks, what that allows, and whose word is taken for it.

pub(crate) mod issuer;
mod principal;
mod tokens;

pub use issuer::{Issuer, ReadDocument};
pub use principal::{Grant, Principal, Scope};
pub use tokens::{Access, MadeToken, TokenLine, TokenState, TokenWish};
