//! Access: who asks, what that allows, and whose word is taken for it.

pub(crate) mod issuer;
mod principal;
mod tokens;

pub use issuer::{Issuer, ReadDocument};
pub use principal::{Asker, Grant, Scope};
pub use tokens::{MadeToken, TokenLine, TokenState, TokenWish};
