//! A page that follows its run: what it has, and what has changed since.

pub(crate) mod live;
pub(crate) mod page_copy;
