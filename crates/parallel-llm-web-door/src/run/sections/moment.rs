//! The sections of a run's page, each rendered on its own, so that a live page gets only those that have changed.

use std::collections::BTreeMap;

use super::{agreement, answer, continuing, costs, head, seat, timeline};
use crate::run::view::shown::Shown;

/// The sections of one moment, by the id of their element.
pub(crate) type Sections = BTreeMap<String, String>;

/// Every section. Texts in progress are included, as a page needs them when it is loaded.
pub(crate) fn all(shown: Shown<'_>) -> Sections {
    let mut sections = facts(shown);
    for view in &shown.run.seats {
        sections.insert(seat::text_id(view), seat::text(shown, view));
    }
    sections
}

/// Every section but the texts of the seats, which are long and change only once.
pub(crate) fn facts(shown: Shown<'_>) -> Sections {
    let mut sections = Sections::new();
    let mut put = |id: &str, html: String| sections.insert(id.to_owned(), html);
    put("head", head::head(shown));
    put("warnings", head::warnings(shown));
    put("comparing", head::comparing(shown));
    put("answer", answer::section(shown));
    put("agreement", agreement::section(shown));
    put("worth", costs::worth(shown));
    put("timeline", timeline::section(shown));
    put("costs", costs::section(shown));
    put("actions", continuing::section(shown));
    for view in &shown.run.seats {
        put(&seat::head_id(view), seat::head(shown, view));
    }
    sections
}
