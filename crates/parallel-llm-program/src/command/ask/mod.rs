//! `ask`: one question to the panel, from its prompt, files and flags to the answer on stdout.

pub(super) mod answer;
mod answer_file;
pub(super) mod asking;
mod bounded_text;
pub(super) mod continued;
mod dry_run;
mod outgoing;
pub(super) mod piped;
mod preset_as_model;
mod prompt;
pub(super) mod question;
pub(super) mod second_model;
pub(super) mod template;
mod unread_file;
