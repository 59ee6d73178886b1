//! A run that is watched until it has an answer: on the terminal, or as a page in the browser.

pub(super) mod opened;
pub(super) mod view;
