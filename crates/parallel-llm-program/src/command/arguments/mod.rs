//! The arguments of a call: parsed, and refused where they are hardly meant as they are typed.

mod bare;
mod lone_word;
mod mistyped;
mod misuse;
pub(super) mod parse;
mod synonyms;
