//! Detects private keys, passwords and tokens that people attach by mistake, by name and content.
//!
//! Invariants: a name is compared in lower case, without the endings of copies, and so is the target of a link;
//! a public file, such as a certificate, passes whatever its ending. If in doubt, a file is a secret: sending one
//! cannot be undone, and insisting takes one flag.
//!
//! `file_names` judges by name, `content` by content: it looks in `places/` of any text, in `formats/` of whole files, and for `keys/`
//! known by their shape. Whether a name and a value are a secret is decided in `judgement/`.

mod content;
mod file_names;
mod formats;
mod judgement;
mod keys;
mod places;
#[cfg(test)]
mod tests;

pub(super) use self::content::by_content;
pub(super) use self::file_names::by_name;
