//! Judges a name and a value, wherever they stand: which is a secret, and which is a word, a placeholder or a reference.

pub(super) mod names;
pub(super) mod randomness;
pub(super) mod references;
pub(super) mod strength;
pub(super) mod value;
pub(super) mod words;
