//! How many calls run at once: so many with one provider's key, so many in the whole process.
//!
//! What always holds: who waits for a key holds no place of the process, so a busy provider does not hold up
//! the others; a place comes back when its [`Place`] is dropped, however the call ended.

use std::collections::BTreeMap;
use std::sync::Arc;

use parallel_llm_engine::ProviderId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The right to run one call. Given back on drop.
#[derive(Debug)]
pub(crate) struct Place {
    _key: OwnedSemaphorePermit,
    _process: OwnedSemaphorePermit,
}

/// The places there are.
#[derive(Debug)]
pub(crate) struct Pace {
    keys: BTreeMap<ProviderId, Arc<Semaphore>>,
    process: Arc<Semaphore>,
}

impl Pace {
    /// Places for each provider's key, and for all of them together.
    pub(crate) fn new(keys: impl IntoIterator<Item = (ProviderId, usize)>, calls_max: usize) -> Self {
        let keys = keys.into_iter().map(|(id, calls_max)| (id, places(calls_max))).collect();
        Self { keys, process: places(calls_max) }
    }

    /// Waits for a place, in the order of asking. `None` where the provider is not configured.
    pub(crate) async fn place(&self, provider: &ProviderId) -> Option<Place> {
        let key = Arc::clone(self.keys.get(provider)?);
        let key = key.acquire_owned().await.expect(NEVER_CLOSED);
        let process = Arc::clone(&self.process).acquire_owned().await.expect(NEVER_CLOSED);
        Some(Place { _key: key, _process: process })
    }
}

const NEVER_CLOSED: &str = "the places are never closed";

/// At least one place: a bound of zero would let every call wait for ever.
fn places(calls_max: usize) -> Arc<Semaphore> {
    Arc::new(Semaphore::new(calls_max.clamp(1, Semaphore::MAX_PERMITS)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    fn id(name: &str) -> ProviderId {
        ProviderId(name.to_owned())
    }

    #[test]
    fn a_key_has_its_bound_and_the_process_has_one_for_all() {
        let pace = Pace::new([(id("a"), 1), (id("b"), 5)], 2);
        let place = |name| pace.place(&id(name)).now_or_never();
        let first = place("a").unwrap();
        assert!(place("a").is_none(), "the key's only place is taken");
        let second = place("b").unwrap();
        assert!(place("b").is_none(), "the process has two");
        drop(first);
        assert!(place("a").is_some());
        drop(second);
        assert!(place("c").unwrap().is_none(), "nobody knows this provider");
    }
}
