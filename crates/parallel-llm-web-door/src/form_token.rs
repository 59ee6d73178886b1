//! The token of a form: shows that a form was rendered here for the same session, as a second wall behind the listener's
//! check of origins.

use std::time::Duration;

use parallel_llm_engine::value::next::Advice;
use parallel_llm_engine::{Code, Failure};
use parallel_llm_service::BrowserSessions;
use tokio::sync::OnceCell;
use tokio::time::timeout;

/// The longest wait for the key in the database, which takes milliseconds. A page is shown in any case.
const STORED_MAX: Duration = Duration::from_secs(2);

/// The key from which the tokens of all sessions derive.
#[derive(Clone, Copy)]
pub(crate) struct FormKey([u8; 32]);

/// Where the key is found: in the database, so that a form from before a restart or of another server is good; and without a
/// database, one that lives as long as the process.
pub(crate) struct FormKeys {
    sessions: BrowserSessions,
    stored: OnceCell<FormKey>,
    own: FormKey,
}

impl FormKeys {
    /// The keys of these sessions.
    pub(crate) fn new(sessions: &BrowserSessions) -> Self {
        Self { sessions: sessions.clone(), stored: OnceCell::new(), own: FormKey::new() }
    }

    /// The key in force.
    pub(crate) async fn key(&self) -> FormKey {
        let read = self.stored.get_or_try_init(async || {
            let found = timeout(STORED_MAX, self.sessions.form_key()).await;
            found.ok().and_then(Result::ok).flatten().map(FormKey).ok_or(())
        });
        read.await.copied().unwrap_or(self.own)
    }
}

impl FormKey {
    /// A random key.
    fn new() -> Self {
        let mut key = [0; 32];
        getrandom::fill(&mut key).expect("the system gave random bytes at the start");
        Self(key)
    }

    /// The token of the forms of a session.
    pub(crate) fn token(&self, session: &str) -> String {
        blake3::keyed_hash(&self.0, session.as_bytes()).to_hex().to_string()
    }

    /// Fails unless a form brought the token of its session.
    pub(crate) fn check(&self, session: &str, token: &str) -> Result<(), Failure> {
        // Hashes of this library are compared in constant time.
        let is_right = blake3::Hash::from_hex(token)
            .is_ok_and(|token| token == blake3::keyed_hash(&self.0, session.as_bytes()));
        let stale = "this form is from an earlier session, or not from this page";
        is_right
            .then_some(())
            .ok_or_else(|| Failure::new(Code::HostRefused, stale).with_next(Advice::ReloadPage))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_good_for_its_session_only() {
        let key = FormKey::new();
        assert!(key.check("a", &key.token("a")).is_ok());
        for (session, token) in
            [("b", key.token("a")), ("a", FormKey::new().token("a")), ("a", String::new())]
        {
            assert_eq!(key.check(session, &token).unwrap_err().code, Code::HostRefused);
        }
    }
}
