//! `batch` and `worker`: files of questions, each worked through as a run.

mod description;
mod line;
mod lines;
mod progress;
mod results;
pub(super) mod subcommands;
mod submit;
pub(super) mod work;
