//! The simulated providers: one row per endpoint, with all their differences as values.
//!
//! `table` reads the rows from `assets/`; `protocol` encodes the answers. Outside this folder only OpenRouter is
//! treated by name.

mod auth;
mod error;
mod error_text;
mod fields;
pub(crate) mod row;
mod rule_input;
mod rules;
mod table;

pub(crate) use auth::{KEY_PARAMETERS, check_key, sent_key};
pub(crate) use error::{USER_ID, error_body, error_reply, openrouter_error};
pub(crate) use error_text::{ApiError, ErrorDetails, ErrorKind};
pub(crate) use fields::{check_fields, check_rules};
pub(crate) use rule_input::RuleInput;

use row::{Dialect, Protocol};
use table::DIALECTS;

/// The endpoint that a path belongs to.
#[derive(Debug)]
pub(crate) enum Route<'a> {
    /// An answer; the rest of the path is Gemini's model and method.
    Chat(&'static Dialect, &'a str),
    Models(&'static Dialect),
    /// A path below the dialect's prefix that it does not serve.
    Unknown(&'static Dialect),
}

/// The route of a path; `None` outside all prefixes, and for OpenRouter's paths that `listing` serves.
pub(crate) fn route(path: &str) -> Option<Route<'_>> {
    let chat = |row: &'static Dialect| {
        let rest = path.strip_prefix(row.path)?;
        (rest.is_empty() || (row.protocol == Protocol::Gemini && rest.contains(':'))).then_some((row, rest))
    };
    if let Some((row, rest)) = DIALECTS.iter().find_map(chat) {
        return Some(Route::Chat(row, rest));
    }
    let others = || DIALECTS.iter().filter(|row| !row.is_openrouter());
    if let Some(row) = others().find(|row| row.models_path == path) {
        return Some(Route::Models(row));
    }
    let is_inside = |row: &&Dialect| path.strip_prefix(row.prefix).is_some_and(|rest| rest.starts_with('/'));
    let inside = others().filter(is_inside);
    inside.max_by_key(|row| row.prefix.len()).map(Route::Unknown)
}

/// The names of all dialects, OpenRouter first.
pub(crate) fn names() -> Vec<&'static str> {
    let mut names: Vec<&'static str> = DIALECTS.iter().map(|row| row.name).collect();
    names.dedup();
    names
}

/// The base URL of a dialect, below this origin (scheme and authority).
pub(crate) fn base_url(origin: &str, name: &str) -> Option<String> {
    let row = DIALECTS.iter().find(|row| row.name == name)?;
    Some(format!("{origin}{}", row.prefix))
}
