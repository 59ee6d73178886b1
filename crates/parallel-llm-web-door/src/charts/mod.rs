//! The charts about models: each figure as a picture in SVG, drawn here, with a sentence and a table.
//!
//! Invariants: no chart depends on colours alone; a foreign name is text; without data there is no picture; and the attributes
//! of a picture hold no style, which the page's policy would not let run.

mod budget;
mod canvas;
mod figure;
mod latency;
mod reliability;
mod rows;
mod scale;
mod spending;
mod strip;
mod table;

use parallel_llm_service::Figures;

pub(crate) use figure::Figure;

/// All figures, in the order of the page.
pub(crate) fn all(figures: &Figures) -> Vec<Figure> {
    vec![
        latency::whole_answers(figures),
        latency::first_tokens(figures),
        reliability::figure(figures),
        spending::figure(figures),
        budget::figure(figures),
    ]
}

#[cfg(test)]
mod tests;
