//! Sessions of browsers. Their cookies are stored nowhere, only what finds them, so that whoever reads the database signs in
//! as nobody.

/// How long a recorded use stays valid, so that a busy browser costs one write a minute.
pub(crate) const USED_MS: i64 = 60 * 1_000;

/// How many sessions there may be, and how long one lasts.
#[derive(Clone, Copy, Debug)]
pub struct SessionLimits {
    /// The most of all. Beyond it the one that was used least recently ends.
    pub count_max: usize,
    /// The most of one holder, so that no holder ends the sessions of others.
    pub of_holder_max: usize,
    /// The longest time that one lasts unused, in milliseconds.
    pub unused_ms_max: i64,
    /// The longest time that one lasts, in milliseconds.
    pub life_ms_max: i64,
}

/// A session to be begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSession {
    /// What finds it.
    pub hash: [u8; 32],
    /// What its holder's token is known by; `None` for the owner.
    pub holder: Option<[u8; 32]>,
    /// The holder's token, enciphered with a key that is not here; `None` for the owner.
    pub sealed: Option<Vec<u8>>,
}

/// A stored session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredSession {
    /// The holder's token, enciphered; `None` for the owner.
    pub sealed: Option<Vec<u8>>,
    /// When it began, in milliseconds since 1970.
    pub begun_at_ms: i64,
    /// When it was last used, to the minute.
    pub used_at_ms: i64,
}

impl StoredSession {
    /// Whether it has not ended at this time, in milliseconds since 1970.
    pub const fn is_in_force(&self, limits: &SessionLimits, now_ms: i64) -> bool {
        now_ms - self.used_at_ms <= limits.unused_ms_max && now_ms - self.begun_at_ms <= limits.life_ms_max
    }
}
