//! Tokens that let others ask over the network: what is known of each. Never the token itself: its hash is enough to
//! know it again.

use parallel_llm_engine::PicoUsd;

/// A token about to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewToken {
    /// What the runs of its holder are asked by. No two tokens ever have the same.
    pub name: String,
    /// What the token is known again by: 32 bytes that nobody can compute who has not the token.
    pub hash: [u8; 32],
    /// Its last four characters, for people.
    pub last_four: String,
    /// What its holder may do, in words of the service's.
    pub scopes: Vec<String>,
    /// The most its holder's runs may cost in a day (UTC); no limit of its own where `None`.
    pub budget_day: Option<PicoUsd>,
    /// How many requests its holder may make in a minute; no limit where `None`.
    pub requests_per_minute: Option<u32>,
    /// When it is over, in milliseconds since 1970; never where `None`.
    pub expires_at_ms: Option<i64>,
}

/// A token that was made, in force or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Its number: 1 for the first.
    pub token_id: i64,
    /// What the runs of its holder are asked by.
    pub name: String,
    /// Its last four characters.
    pub last_four: String,
    /// What its holder may do, in words of the service's.
    pub scopes: Vec<String>,
    /// The most its holder's runs may cost in a day (UTC).
    pub budget_day: Option<PicoUsd>,
    /// How many requests its holder may make in a minute.
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

impl Token {
    /// Whether its holder is let in at this moment, in milliseconds since 1970.
    pub fn is_in_force(&self, now_ms: i64) -> bool {
        self.revoked_at_ms.is_none() && !self.is_expired(now_ms)
    }

    /// Whether its time is over at this moment, in milliseconds since 1970.
    pub fn is_expired(&self, now_ms: i64) -> bool {
        self.expires_at_ms.is_some_and(|end_ms| end_ms <= now_ms)
    }
}
