//! How much text all runs of a process may be making one answer of at once.
//!
//! Answers that are compared, put into a prompt and put into a request are held several times over. Usual answers are
//! kilobytes, and nobody waits; runs with answers of megabytes take turns, in the order in which they had them.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};

use crate::stop::Stop;

/// All such text together, in KiB.
const KIB_MAX: u32 = 256 * 1024;
/// How often an answer is held while it is read: by itself, in a prompt, and in the request.
const COPIES: usize = 3;

/// The room there is. Cloning shares it.
#[derive(Clone, Debug)]
pub(crate) struct Room {
    kib: Arc<Semaphore>,
}

impl Default for Room {
    fn default() -> Self {
        Self { kib: Arc::new(Semaphore::new(KIB_MAX as usize)) }
    }
}

impl Room {
    /// Waits for room for answers of so many bytes. `None` where the run's time is up or it was stopped first: it sends
    /// nothing more then, and needs none.
    pub(crate) async fn take(
        &self,
        bytes: usize,
        until: Instant,
        stop: &Stop,
    ) -> Option<OwnedSemaphorePermit> {
        // One that needs more than all of it has all of it.
        let kib = u32::try_from(bytes.saturating_mul(COPIES) / 1024).map_or(KIB_MAX, |kib| kib.min(KIB_MAX));
        let taken = timeout_at(until, Arc::clone(&self.kib).acquire_many_owned(kib));
        tokio::select! {
            biased;
            taken = taken => taken.ok()?.ok(),
            () = stop.cancelled() => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::FutureExt;

    use super::*;

    const MIB: usize = 1024 * 1024;

    #[tokio::test(start_paused = true)]
    async fn runs_with_long_answers_take_turns() {
        let (room, stop) = (Room::default(), Stop::default());
        let until = Instant::now() + Duration::from_secs(60);
        let take = |bytes| room.take(bytes, until, &stop);
        let first = take(60 * MIB).await;
        assert!(first.is_some() && take(10_000).now_or_never().flatten().is_some(), "usual ones do not wait");
        let mut second = std::pin::pin!(take(60 * MIB));
        assert!((&mut second).now_or_never().is_none());
        drop(first);
        assert!(second.await.is_some());
        assert!(take(900 * MIB).await.is_some(), "one that needs more than all of it has all of it");
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_waits_beyond_its_time_or_its_stop() {
        let (room, stop) = (Room::default(), Stop::default());
        let until = Instant::now() + Duration::from_secs(60);
        let _all = room.take(900 * MIB, until, &stop).await;
        assert!(room.take(MIB, until, &stop).await.is_none());
        assert_eq!(Instant::now(), until);
        let mut waiting = std::pin::pin!(room.take(MIB, until + Duration::from_secs(60), &stop));
        assert!((&mut waiting).now_or_never().is_none());
        stop.cancel();
        assert!(waiting.await.is_none());
        assert_eq!(Instant::now(), until);
    }
}
