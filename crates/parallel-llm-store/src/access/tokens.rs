//! Access tokens for callers over the network. Only the hash of a token is stored, never the token itself.

use parallel_llm_engine::{Failure, PicoUsd};

use crate::row::checksum::Checksum;
use crate::system::error;

/// The most tokens, revoked ones included: one per day for twenty-seven years.
pub(crate) const TOKENS_MAX: i64 = 10_000;
/// How long a recorded last use stays valid, so that a busy client costs one write a minute.
pub(crate) const USED_MS: i64 = 60 * 1_000;

/// A token to be created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewToken {
    /// The name that its runs carry, unique among all tokens ever created.
    pub name: String,
    /// The hash that identifies the token, from which it cannot be computed.
    pub hash: [u8; 32],
    /// Its last four characters, for display.
    pub last_four: String,
    /// The allowed scopes, in the service's words.
    pub scopes: Vec<String>,
    /// The most that its runs may cost per day (UTC); `None`: no limit of its own.
    pub budget_day: Option<PicoUsd>,
    /// Requests allowed per minute; `None`: no limit.
    pub requests_per_minute: Option<u32>,
    /// When it expires, in milliseconds since 1970; `None`: never.
    pub expires_at_ms: Option<i64>,
}

/// A stored token, valid or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Its number; the first token has 1.
    pub token_id: i64,
    /// The name that its runs carry.
    pub name: String,
    /// Its last four characters.
    pub last_four: String,
    /// The allowed scopes, in the service's words.
    pub scopes: Vec<String>,
    /// The most that its runs may cost per day (UTC).
    pub budget_day: Option<PicoUsd>,
    /// Requests allowed per minute.
    pub requests_per_minute: Option<u32>,
    /// When it was created, in milliseconds since 1970.
    pub created_at_ms: i64,
    /// When it expires.
    pub expires_at_ms: Option<i64>,
    /// When it was revoked, if it was.
    pub revoked_at_ms: Option<i64>,
    /// When it was last used, to the minute.
    pub last_used_at_ms: Option<i64>,
}

/// A token as read from the database.
#[derive(Debug)]
pub(crate) struct StoredToken {
    pub(crate) token: Token,
    pub(crate) hash: Vec<u8>,
    /// The checksum of its immutable columns; `None` if not this program wrote it.
    pub(crate) checksum: Option<i64>,
}

impl StoredToken {
    /// A token about to be written.
    pub(crate) fn of(new: &NewToken, now_ms: i64) -> Self {
        let token = Token {
            token_id: 0,
            name: new.name.clone(),
            last_four: new.last_four.clone(),
            scopes: new.scopes.clone(),
            budget_day: new.budget_day,
            requests_per_minute: new.requests_per_minute,
            created_at_ms: now_ms,
            expires_at_ms: new.expires_at_ms,
            revoked_at_ms: None,
            last_used_at_ms: None,
        };
        Self { token, hash: new.hash.to_vec(), checksum: None }.sealed()
    }

    /// The token with its checksum.
    pub(crate) fn sealed(mut self) -> Self {
        self.checksum = Some(self.expected().finish());
        self
    }

    /// The token. Fails if it is damaged: it must not admit anyone, since it may allow more than it was created for.
    pub(crate) fn checked(self) -> Result<Token, Failure> {
        let is_sound = self.checksum.is_some() && self.expected().matches(self.checksum);
        let damaged = || error::unreadable("a token", &"it does not match its checksum");
        is_sound.then_some(self.token).ok_or_else(damaged)
    }

    fn expected(&self) -> Checksum {
        let Self { token, hash, .. } = self;
        let hash = hash.iter().fold(String::new(), |hex, byte| format!("{hex}{byte:02x}"));
        let sum = Checksum::of("tokens").text(Some(&token.name)).text(Some(&hash));
        let sum = sum.text(Some(&token.last_four)).text(Some(&scopes_json(&token.scopes)));
        let sum = sum.number(token.budget_day.map(|budget| budget.0));
        let sum = sum.number(token.requests_per_minute.map(i64::from));
        sum.number(Some(token.created_at_ms)).number(token.expires_at_ms)
    }
}

/// The scopes as stored in their column.
pub(crate) fn scopes_json(scopes: &[String]) -> String {
    serde_json::to_string(scopes).expect("words are plain data")
}

impl Token {
    /// Whether it is valid at this time, in milliseconds since 1970.
    pub fn is_in_force(&self, now_ms: i64) -> bool {
        self.revoked_at_ms.is_none() && !self.is_expired(now_ms)
    }

    /// Whether it has expired at this time, in milliseconds since 1970.
    pub fn is_expired(&self, now_ms: i64) -> bool {
        self.expires_at_ms.is_some_and(|end_ms| end_ms <= now_ms)
    }
}
