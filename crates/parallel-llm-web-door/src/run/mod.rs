//! The page of a run: the answer first, then who backs it, the answers side by side, time, money, and what can be done next.

pub(crate) mod actions;
mod agreement;
mod answer;
pub(crate) mod compare;
mod continuing;
mod costs;
pub(crate) mod files;
mod head;
pub(crate) mod live;
mod page;
mod page_copy;
pub(crate) mod prompts;
mod seat;
mod sections;
mod shown;
mod timeline;
mod viewed;
mod written;

use axum::extract::Path;
use axum::response::Response;

use crate::visit::Visit;

/// Shows a run, or a file of it if the name ends like one.
pub(crate) async fn show(visit: Visit, Path(name): Path<String>) -> Response {
    let shown = match name.strip_suffix(".json") {
        Some(name) => files::report(&visit, name).await,
        None if visit.wants_json => files::report(&visit, &name).await,
        None => page::page(&visit, &name).await,
    };
    visit.answer(shown)
}
