//! The page of a run: the answer first, then who backs it, the answers side by side, time, money, and what can be done next.
//!
//! Everything a visitor can ask for lies in `pages/`; the page of a run is made of `sections/`, and is kept up to date by
//! `following/`. All of them read a run through `view/`.

pub(crate) mod following;
pub(crate) mod pages;
pub(crate) mod sections;
pub(crate) mod view;
