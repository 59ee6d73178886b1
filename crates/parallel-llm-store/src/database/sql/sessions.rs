//! Statements for sessions of browsers.

use super::parts::session::{Reader, Session};
use super::parts::value::values;
use crate::access::sessions::{NewSession, SessionLimits, StoredSession};
use crate::row::integer;
use crate::system::error::DatabaseResult as Result;

impl Reader<'_> {
    /// The session of this hash.
    pub(crate) fn session(&self, hash: [u8; 32]) -> Result<Option<StoredSession>> {
        let sql = "SELECT sealed, begun_at_ms, used_at_ms FROM sessions WHERE hash = $1";
        self.session.first(sql, &values![hash], |row| {
            Ok(StoredSession { sealed: row.get(0)?, begun_at_ms: row.get(1)?, used_at_ms: row.get(2)? })
        })
    }

    /// The key that forms are marked with.
    pub(crate) fn form_key(&self) -> Result<Vec<u8>> {
        self.session.value("SELECT key FROM form_key", &[])
    }
}

impl dyn Session + '_ {
    /// Inserts a session.
    pub(crate) fn insert_session(&self, new: &NewSession, now_ms: i64) -> Result<()> {
        let sql = "INSERT INTO sessions (hash, holder, sealed, begun_at_ms, used_at_ms) VALUES ($1, $2, $3, $4, $4) \
                   ON CONFLICT (hash) DO NOTHING";
        self.execute(sql, &values![new.hash, new.holder, &new.sealed, now_ms]).map(drop)
    }

    /// Deletes the sessions that have ended, and those that were used least recently of too many, so that there is room for
    /// one more.
    pub(crate) fn make_room_for_session(
        &self,
        holder: Option<[u8; 32]>,
        limits: &SessionLimits,
        now_ms: i64,
    ) -> Result<()> {
        let ended = "DELETE FROM sessions WHERE used_at_ms < $1 OR begun_at_ms < $2";
        self.execute(ended, &values![now_ms - limits.unused_ms_max, now_ms - limits.life_ms_max])?;
        if let Some(holder) = holder {
            let of_holder = "DELETE FROM sessions WHERE hash IN (SELECT hash FROM sessions WHERE holder = $1 \
                             ORDER BY used_at_ms DESC LIMIT 9223372036854775807 OFFSET $2)";
            self.execute(of_holder, &values![holder, integer(limits.of_holder_max as u64 - 1)])?;
        }
        let of_all = "DELETE FROM sessions WHERE hash IN (SELECT hash FROM sessions ORDER BY used_at_ms DESC \
                      LIMIT 9223372036854775807 OFFSET $1)";
        self.execute(of_all, &values![integer(limits.count_max as u64 - 1)]).map(drop)
    }

    /// Deletes a session.
    pub(crate) fn delete_session(&self, hash: [u8; 32]) -> Result<()> {
        self.execute("DELETE FROM sessions WHERE hash = $1", &values![hash]).map(drop)
    }

    /// Records that a session is used.
    pub(crate) fn note_session_use(&self, hash: [u8; 32], now_ms: i64) -> Result<()> {
        self.execute("UPDATE sessions SET used_at_ms = $1 WHERE hash = $2", &values![now_ms, hash]).map(drop)
    }
}
