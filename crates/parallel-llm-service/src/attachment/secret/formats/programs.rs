//! The settings of npm and of Docker: whether they hold a login.

use serde_json::Value;

use crate::attachment::secret::judgement::value::is_literal;

/// Whether npm settings contain a token or a password.
pub(crate) fn holds_npm_token(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    text.lines().any(|line| {
        let Some((name, value)) = line.trim().split_once(['=', ':']) else { return false };
        let (name, value) = match name {
            // `//registry.npmjs.org/:_authToken=...` begins with a URL.
            name if name.is_empty() || name.starts_with("//") => {
                let Some((name, value)) = line.trim().rsplit_once('=') else { return false };
                (name, value)
            }
            name => (name, value),
        };
        let named = ["_authToken", "_auth", "_password", "npmAuthToken", "npmAuthIdent"];
        // `client_auth` of code is none.
        let is_of_registry = line.trim().starts_with("//");
        let is_named = |known: &&str| name.trim() == *known || (is_of_registry && name.ends_with(known));
        named.iter().any(is_named) && is_literal(value)
    })
}

/// Whether Docker settings hold a login. A file that cannot be parsed counts as one.
pub(crate) fn holds_docker_login(bytes: &[u8]) -> bool {
    let Ok(settings) = serde_json::from_slice::<Value>(bytes) else { return true };
    let logins = settings["auths"].as_object();
    logins
        .is_some_and(|logins| logins.values().any(|login| login.as_object().is_some_and(|it| !it.is_empty())))
}
