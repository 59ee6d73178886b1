//! The page that asks: the question, the panel with prices, the quote before anything is sent, and the budget.

mod again;
mod attached;
mod fields;
mod file_set;
mod kept;
mod page;
mod question;
mod returning;
mod signed_out;

pub(crate) use kept::KeptFiles;
pub(crate) use page::{ask, quote, show};
pub(crate) use returning::{SIGN_IN, sign_in};
