//! The token of a form: shows that a form was rendered here for the same session, as a second wall behind the listener's
//! check of origins.

use parallel_llm_engine::value::next::Advice;
use parallel_llm_engine::{Code, Failure};

/// The key from which the tokens of all sessions derive. It lives as long as the process.
pub(crate) struct FormKey([u8; 32]);

impl FormKey {
    /// A random key.
    pub(crate) fn new() -> Self {
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
