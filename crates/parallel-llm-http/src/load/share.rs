//! Requests in flight by principal, so that none takes all permits.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use parking_lot::Mutex;

/// The count of each principal with requests in flight, by name.
type Counts = Arc<Mutex<HashMap<String, usize>>>;

/// The shares of the principals of one server.
#[derive(Clone, Debug)]
pub(super) struct Shares {
    share_max: usize,
    counts: Counts,
}

/// A principal's request in flight, until it is dropped.
#[derive(Debug)]
pub(super) struct Share {
    name: String,
    counts: Counts,
}

impl Shares {
    /// No requests; each principal may have this many.
    pub(super) fn new(share_max: usize) -> Self {
        Self { share_max, counts: Counts::default() }
    }

    /// The requests of this principal in flight.
    pub(super) fn held(&self, name: &str) -> usize {
        self.counts.lock().get(name).copied().unwrap_or_default()
    }

    /// Counts a request of this principal, unless its share is used up.
    pub(super) fn take(&self, name: &str) -> Option<Share> {
        let mut counts = self.counts.lock();
        let held = counts.get(name).copied().unwrap_or_default();
        if held >= self.share_max {
            return None;
        }
        counts.insert(name.to_owned(), held + 1);
        Some(Share { name: name.to_owned(), counts: Arc::clone(&self.counts) })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut counts = self.counts.lock();
        if let Entry::Occupied(mut held) = counts.entry(std::mem::take(&mut self.name)) {
            *held.get_mut() -= 1;
            if *held.get() == 0 {
                held.remove();
            }
        }
    }
}
