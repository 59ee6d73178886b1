//! Model text on its way into a page.

pub(crate) mod figures;
pub(crate) mod glyphs;
pub(crate) mod markdown;
