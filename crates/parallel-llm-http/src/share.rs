//! How many requests each principal has under way, so that none takes the room of all.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};

/// The places of each principal by name; who has none is not there.
type Places = Arc<Mutex<HashMap<String, usize>>>;

/// What each principal has of the places of one server.
#[derive(Clone, Debug)]
pub(super) struct Shares {
    share_max: usize,
    places: Places,
}

/// One place of a principal, until it is dropped.
#[derive(Debug)]
pub(super) struct Share {
    name: String,
    places: Places,
}

impl Shares {
    /// Nobody has a place yet, and each principal may have so many.
    pub(super) fn new(share_max: usize) -> Self {
        Self { share_max, places: Places::default() }
    }

    /// One more place for this principal, unless it has its share already.
    pub(super) fn take(&self, name: &str) -> Option<Share> {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        let held = places.get(name).copied().unwrap_or_default();
        if held >= self.share_max {
            return None;
        }
        places.insert(name.to_owned(), held + 1);
        Some(Share { name: name.to_owned(), places: Arc::clone(&self.places) })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        if let Entry::Occupied(mut held) = places.entry(std::mem::take(&mut self.name)) {
            *held.get_mut() -= 1;
            if *held.get() == 0 {
                held.remove();
            }
        }
    }
}
