//! Tokens that let others ask over the network: what is known of each. Never the token itself: its hash is enough to
//! know it again.

use parallel_llm_engine::{Failure, PicoUsd};

use crate::error;
use crate::row::checksum::Checksum;

/// The most tokens there may be, revoked ones included: a new one for every day of twenty-seven years.
pub(crate) const TOKENS_MAX: i64 = 10_000;
/// How long the moment of the last use stands before it is written anew. A client that asks all day costs a write a minute.
pub(crate) const USED_MS: i64 = 60 * 1_000;

/// A token about to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewToken {
    /// The name that runs asked with it carry. No two tokens ever have the same.
    pub name: String,
    /// What the token is known again by: 32 bytes that nobody can compute who has not the token.
    pub hash: [u8; 32],
    /// Its last four characters, for people.
    pub last_four: String,
    /// What it allows, in the service's words.
    pub scopes: Vec<String>,
    /// The most that runs asked with it may cost in a day (UTC); no limit of its own where `None`.
    pub budget_day: Option<PicoUsd>,
    /// How many requests it allows in a minute; no limit where `None`.
    pub requests_per_minute: Option<u32>,
    /// When it is over, in milliseconds since 1970; never where `None`.
    pub expires_at_ms: Option<i64>,
}

/// A token that was made, in force or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Its number: 1 for the first.
    pub token_id: i64,
    /// The name that runs asked with it carry.
    pub name: String,
    /// Its last four characters.
    pub last_four: String,
    /// What it allows, in the service's words.
    pub scopes: Vec<String>,
    /// The most that runs asked with it may cost in a day (UTC).
    pub budget_day: Option<PicoUsd>,
    /// How many requests it allows in a minute.
    pub requests_per_minute: Option<u32>,
    /// When it was made, in milliseconds since 1970.
    pub created_at_ms: i64,
    /// When it is over.
    pub expires_at_ms: Option<i64>,
    /// When it was revoked, where it was.
    pub revoked_at_ms: Option<i64>,
    /// When it was last let in, to the minute.
    pub last_used_at_ms: Option<i64>,
}

/// A token as it was read.
#[derive(Debug)]
pub(crate) struct StoredToken {
    pub(crate) token: Token,
    pub(crate) hash: Vec<u8>,
    /// Of what never changes of it; `None` where an older version wrote it.
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
        let mut stored = Self { token, hash: new.hash.to_vec(), checksum: None };
        stored.checksum = Some(stored.expected().finish());
        stored
    }

    /// The token. Fails where it is damaged: it lets nobody in, because what it allows may be more than it was made for.
    pub(crate) fn checked(self) -> Result<Token, Failure> {
        let is_sound = self.expected().matches(self.checksum);
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

/// The scopes as a column holds them.
pub(crate) fn scopes_json(scopes: &[String]) -> String {
    serde_json::to_string(scopes).expect("words are plain data")
}

impl Token {
    /// Whether it lets its holder in at this moment, in milliseconds since 1970.
    pub fn is_in_force(&self, now_ms: i64) -> bool {
        self.revoked_at_ms.is_none() && !self.is_expired(now_ms)
    }

    /// Whether its time is over at this moment, in milliseconds since 1970.
    pub fn is_expired(&self, now_ms: i64) -> bool {
        self.expires_at_ms.is_some_and(|end_ms| end_ms <= now_ms)
    }
}
