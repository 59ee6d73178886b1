//! Keys and tokens that are known by their own shape.

pub(super) mod pem;
pub(super) mod services;
pub(super) mod shapes;
