//! The page that asks: the question, the panel with prices, the quote before anything is sent, and the budget.

mod again;
mod fields;
mod page;
mod question;

pub(crate) use page::{ask, quote, show};
