//! [`KeptFiles`]: the files that came with a form which was answered with a page instead of a run, so that they need not be
//! chosen again. A browser cannot be given a file back.
//!
//! In memory only. Invariants: a set is found by its token and by the session that brought it, and by no other; sets are
//! bounded in bytes and in time, and the one that was used least recently ends first; a form misses a set that is gone and
//! does not leave it out in silence.

use std::collections::VecDeque;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use super::file_set::{FileSet, GONE};

/// The most bytes of one session: a few questions with the largest attachments that models take.
const OF_ONE_SESSION_BYTES_MAX: usize = 32 << 20;
/// The most bytes of all sessions.
const BYTES_MAX: usize = 128 << 20;
/// How long a set is kept unused: a price is looked at, and a question rewritten, within this time.
const UNUSED_MAX: Duration = Duration::from_secs(60 * 60);
/// Random bytes of a token.
const TOKEN_BYTES: usize = 16;

struct Kept {
    token: String,
    /// The name of the session that brought them; empty if everyone is the owner.
    session: String,
    set: FileSet,
    used: Instant,
}

/// The kept files of one server, the least recently used first.
#[derive(Default)]
pub(crate) struct KeptFiles(Mutex<VecDeque<Kept>>);

impl KeptFiles {
    /// Keeps a set for a session and returns its token, or [`GONE`] if it is too large to be kept.
    pub(super) fn keep(&self, session: &str, set: FileSet, now: Instant) -> String {
        let bytes = set.bytes();
        let mut drawn = [0; TOKEN_BYTES];
        if bytes > OF_ONE_SESSION_BYTES_MAX || getrandom::fill(&mut drawn).is_err() {
            return GONE.to_owned();
        }
        let token = format!("{:032x}", u128::from_le_bytes(drawn));
        let mut all = self.0.lock();
        all.retain(|kept| now - kept.used <= UNUSED_MAX);
        let own = |kept: &Kept| kept.session == session;
        make_room(&mut all, OF_ONE_SESSION_BYTES_MAX - bytes, own);
        make_room(&mut all, BYTES_MAX - bytes, |_| true);
        all.push_back(Kept { token: token.clone(), session: session.to_owned(), set, used: now });
        token
    }

    /// The set of this token, if this session brought it and it is still here. It counts as used now.
    pub(super) fn find(&self, session: &str, token: &str, now: Instant) -> Option<FileSet> {
        let mut all = self.0.lock();
        all.retain(|kept| now - kept.used <= UNUSED_MAX);
        let at = all.iter().position(|kept| kept.token == token && kept.session == session)?;
        let kept = all.remove(at)?;
        let set = kept.set.clone();
        all.push_back(Kept { used: now, ..kept });
        Some(set)
    }
}

/// Drops the least recently used of these sets until the others have at most so many bytes.
fn make_room(all: &mut VecDeque<Kept>, bytes_max: usize, counts: impl Fn(&Kept) -> bool) {
    let mut bytes: usize = all.iter().filter(|kept| counts(kept)).map(|kept| kept.set.bytes()).sum();
    all.retain(|kept| {
        let is_kept = bytes <= bytes_max || !counts(kept);
        if !is_kept {
            bytes -= kept.set.bytes();
        }
        is_kept
    });
}

#[cfg(test)]
mod tests {
    use super::super::file_set::File;
    use super::*;

    fn set(bytes: usize) -> FileSet {
        let file = File { name: "a".to_owned(), bytes: vec![b'x'; bytes].into() };
        FileSet { files: vec![file], ..FileSet::default() }
    }

    #[test]
    fn files_are_kept_for_their_session_until_they_are_unused_for_an_hour() {
        let (kept, begun) = (KeptFiles::default(), Instant::now());
        let token = kept.keep("anna", set(10), begun);
        assert_eq!(kept.find("anna", &token, begun).unwrap().files[0].bytes.len(), 10);
        for (session, token) in [("bert", token.as_str()), ("", &token), ("anna", GONE), ("anna", "")] {
            assert!(kept.find(session, token, begun).is_none(), "{session} {token}");
        }
        let later = begun + UNUSED_MAX;
        assert!(kept.find("anna", &token, later).is_some());
        assert!(kept.find("anna", &token, later + UNUSED_MAX).is_some());
        assert!(kept.find("anna", &token, later + 3 * UNUSED_MAX).is_none());
    }

    #[test]
    fn the_least_recently_used_files_of_a_session_make_room_and_those_of_others_stay() {
        let (kept, now) = (KeptFiles::default(), Instant::now());
        let share = OF_ONE_SESSION_BYTES_MAX / 2 - 1;
        let keep = |session: &str, bytes| kept.keep(session, set(bytes), now);
        let is_there = |session: &str, token: &str| kept.find(session, token, now).is_some();
        let (others, first, second) = (keep("bert", share), keep("anna", share), keep("anna", share));
        assert!(is_there("anna", &first));
        let third = keep("anna", share);
        assert!(!is_there("anna", &second));
        assert!(is_there("anna", &first) && is_there("anna", &third) && is_there("bert", &others));
        assert_eq!(keep("anna", OF_ONE_SESSION_BYTES_MAX + 1), GONE);
        for number in 0..8 {
            keep(&number.to_string(), OF_ONE_SESSION_BYTES_MAX - 1);
        }
        let bytes: usize = kept.0.lock().iter().map(|kept| kept.set.bytes()).sum();
        assert!(bytes <= BYTES_MAX, "{bytes}");
    }
}
