//! Checks the key of a request: where it may be, whether it is accepted, and whether it leaks.

use hyper::header::HeaderMap;

use super::error_text::ErrorKind;
use super::row::Dialect;
use crate::state::account::{Account, KeyVerdict};

/// Query parameters that leak a key into the logs of servers and proxies.
pub(crate) const KEY_PARAMETERS: [&str; 4] = ["key", "api_key", "api-key", "access_token"];

/// Checks the key and the version header.
pub(crate) fn check_key(
    dialect: &Dialect,
    account: &Account,
    headers: &HeaderMap,
    query: &str,
) -> Result<(), ErrorKind> {
    let names = query.split('&').filter_map(|pair| pair.split_once('=')).map(|(name, _)| name);
    if names.into_iter().any(|name| KEY_PARAMETERS.contains(&name)) {
        return Err(ErrorKind::KeyInQuery);
    }
    if dialect.needs_key {
        match verdict(dialect, account, headers) {
            KeyVerdict::Good => {}
            KeyVerdict::Missing => return Err(ErrorKind::KeyMissing),
            KeyVerdict::Bad => return Err(ErrorKind::KeyBad),
        }
    }
    match dialect.version_header {
        Some(name) if !headers.contains_key(name) => Err(ErrorKind::VersionMissing),
        _ => Ok(()),
    }
}

/// The first header that may carry this dialect's key, as sent; empty if there is none.
pub(crate) fn sent_key<'a>(dialect: &Dialect, headers: &'a HeaderMap) -> &'a str {
    let sent = dialect.key_headers.iter().find_map(|name| headers.get(*name)?.to_str().ok());
    sent.unwrap_or_default()
}

/// The verdict on that header. A Bearer key belongs into `authorization` and nowhere else.
fn verdict(dialect: &Dialect, account: &Account, headers: &HeaderMap) -> KeyVerdict {
    let given = dialect.key_headers.iter().find_map(|name| Some((*name, headers.get(*name)?)));
    let Some((name, value)) = given else { return KeyVerdict::Missing };
    let value = value.to_str().unwrap_or_default();
    let is_bearer = value.starts_with("Bearer ");
    if (name == "authorization") == is_bearer { account.judge(Some(value)) } else { KeyVerdict::Bad }
}
