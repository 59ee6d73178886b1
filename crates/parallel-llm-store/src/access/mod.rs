//! Who may come in: access tokens, and the sessions of browsers.

pub(crate) mod sessions;
pub(crate) mod tokens;
