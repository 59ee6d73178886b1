//! [`BrowserSessions`]: where the sessions of browsers are kept, and how long they last.
//!
//! In the database, so that a restart of the server signs nobody out and every server of a database knows them; in memory
//! for a panel that has none. Invariant: whoever reads what is kept can act for nobody, because the secret of a session is not
//! there.

use std::collections::HashMap;
use std::sync::Arc;

use parallel_llm_engine::Failure;
use parallel_llm_store::{NewSession, SessionLimits, Store, StoredSession};
use parking_lot::Mutex;

use crate::lazy::Lazy;

/// How many sessions there may be, and how long they last.
const LIMITS: SessionLimits = SessionLimits {
    // Beyond a thousand browsers the longest unused one signs in again.
    count_max: 1_000,
    of_holder_max: 100,
    // A night.
    unused_ms_max: 12 * 60 * 60 * 1_000,
    // A week.
    life_ms_max: 7 * 24 * 60 * 60 * 1_000,
};

/// The sessions of all browsers. A clone is another handle to the same sessions.
#[derive(Clone)]
pub struct BrowserSessions(SessionStorage);

#[derive(Clone)]
enum SessionStorage {
    Database(Arc<Lazy<Store>>),
    Memory(Arc<Mutex<HashMap<[u8; 32], HeldSession>>>),
}

/// A session in memory.
struct HeldSession {
    holder: Option<[u8; 32]>,
    session: StoredSession,
}

impl BrowserSessions {
    /// The longest that a session lasts, in seconds.
    pub const LIFE_SECONDS_MAX: u64 = LIMITS.life_ms_max as u64 / 1_000;

    /// The sessions of this database.
    pub(crate) const fn of_store(store: Arc<Lazy<Store>>) -> Self {
        Self(SessionStorage::Database(store))
    }

    /// Sessions that end with this process.
    pub fn in_memory() -> Self {
        Self(SessionStorage::Memory(Arc::default()))
    }

    /// Begins a session.
    pub async fn begin(&self, new: NewSession) -> Result<(), Failure> {
        match &self.0 {
            SessionStorage::Database(store) => store.get().await?.begin_session(new, LIMITS).await,
            SessionStorage::Memory(sessions) => {
                let mut sessions = sessions.lock();
                make_room(&mut sessions, new.holder);
                let now_ms = Store::now_ms();
                let session = StoredSession { sealed: new.sealed, begun_at_ms: now_ms, used_at_ms: now_ms };
                sessions.insert(new.hash, HeldSession { holder: new.holder, session });
                Ok(())
            }
        }
    }

    /// The session of this hash, which counts as used now; `None` if there is none, or if it has ended.
    pub async fn find(&self, hash: [u8; 32]) -> Result<Option<StoredSession>, Failure> {
        match &self.0 {
            SessionStorage::Database(store) => store.get().await?.find_session(hash, &LIMITS).await,
            SessionStorage::Memory(sessions) => {
                let (mut sessions, now_ms) = (sessions.lock(), Store::now_ms());
                let found = sessions.get_mut(&hash).map(|held| &mut held.session);
                let found = found.filter(|session| session.is_in_force(&LIMITS, now_ms));
                Ok(found.map(|session| {
                    session.used_at_ms = now_ms;
                    session.clone()
                }))
            }
        }
    }

    /// Ends a session.
    pub async fn end(&self, hash: [u8; 32]) -> Result<(), Failure> {
        match &self.0 {
            SessionStorage::Database(store) => store.get().await?.end_session(hash).await,
            SessionStorage::Memory(sessions) => {
                sessions.lock().remove(&hash);
                Ok(())
            }
        }
    }

    /// The key that forms are marked with, so that those of another server of this database, or from before a restart, are
    /// known; `None` where nothing is stored.
    pub async fn form_key(&self) -> Result<Option<[u8; 32]>, Failure> {
        match &self.0 {
            SessionStorage::Database(store) => Ok(store.get().await?.form_key().await?.try_into().ok()),
            SessionStorage::Memory(_) => Ok(None),
        }
    }
}

/// Drops the sessions that have ended; then of too many, the holder's own or all, the longest unused.
fn make_room(sessions: &mut HashMap<[u8; 32], HeldSession>, holder: Option<[u8; 32]>) {
    let now_ms = Store::now_ms();
    sessions.retain(|_, held| held.session.is_in_force(&LIMITS, now_ms));
    let is_own = |held: &HeldSession| holder.is_some() && held.holder == holder;
    let has_many = sessions.values().filter(|held| is_own(held)).count() >= LIMITS.of_holder_max;
    if has_many || sessions.len() >= LIMITS.count_max {
        let crowded = sessions.iter().filter(|(_, held)| !has_many || is_own(held));
        let oldest = crowded.min_by_key(|(_, held)| held.session.used_at_ms).map(|(hash, _)| *hash);
        oldest.and_then(|hash| sessions.remove(&hash));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn sessions_in_memory_are_bounded_and_nobody_ends_those_of_others() {
        let sessions = BrowserSessions::in_memory();
        let hash = |number: u16| {
            let mut hash = [0; 32];
            hash[..2].copy_from_slice(&number.to_le_bytes());
            hash
        };
        let new = |number, holder: Option<u8>| NewSession {
            hash: hash(number),
            holder: holder.map(|holder| [holder; 32]),
            sealed: None,
        };
        sessions.begin(new(0, None)).await.unwrap();
        sessions.begin(new(1, Some(1))).await.unwrap();
        for number in 2..1_500 {
            sessions.begin(new(number, Some(2))).await.unwrap();
        }
        assert!(sessions.find(hash(0)).await.unwrap().is_some());
        assert!(sessions.find(hash(1)).await.unwrap().is_some());
        let SessionStorage::Memory(all) = &sessions.0 else { panic!("they are in memory") };
        assert_eq!(all.lock().len(), 2 + LIMITS.of_holder_max);
        for number in 1_500..3_000 {
            sessions.begin(new(number, None)).await.unwrap();
        }
        assert_eq!(all.lock().len(), LIMITS.count_max);
        sessions.end(hash(2_999)).await.unwrap();
        assert!(sessions.find(hash(2_999)).await.unwrap().is_none());
    }
}
