//! Tells when a run changes on a server, whichever process changes it, so that its watchers need not ask all the time.
//!
//! A notification carries no content and may get lost: watchers read the run after it, and look by themselves now and then.

use std::time::Duration;

use parallel_llm_engine::RunId;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::timeout;

/// Notifications kept for a slow watcher. If there are more, it looks at its run whatever they said.
pub(crate) const CHANGES_MAX: usize = 256;
/// How long a watcher of a server waits for a notification before it looks by itself: one was lost, or the lease has ended,
/// which nobody tells.
const QUIET_MAX: Duration = Duration::from_secs(2);
/// How often a watcher of a file looks: a file tells nothing.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// The shortest time between two looks, however often a run changes. No reader sees the difference.
const PACE: Duration = Duration::from_millis(50);

/// A change that was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Events of this run were written, up to this one.
    Events { run_id: RunId, seq: u64 },
    /// More text of an unfinished reply of this run was written.
    Text { run_id: RunId },
    /// Some changes may have gone untold.
    Any,
}

impl Change {
    /// Whether it may concern a watcher of this run who knows its events up to this one.
    fn concerns(self, watched: RunId, known_seq: u64) -> bool {
        match self {
            Self::Events { run_id, seq } => run_id == watched && seq > known_seq,
            Self::Text { run_id } => run_id == watched,
            Self::Any => true,
        }
    }
}

/// The changes of runs from now on.
#[derive(Debug)]
pub struct Changes(Option<Receiver<Change>>);

impl Changes {
    /// Those that a server tells; `None` if the database is a file.
    pub(crate) const fn told(told: Option<Receiver<Change>>) -> Self {
        Self(told)
    }

    /// Returns when it is time to look at this run, of which events are known up to `known_seq`: at once when a server tells
    /// of a change, else after at most two seconds.
    pub async fn next(&mut self, run_id: RunId, known_seq: u64) {
        let Some(told) = &mut self.0 else { return tokio::time::sleep(LOOK_EVERY).await };
        tokio::time::sleep(PACE).await;
        let concerning = async {
            loop {
                match told.recv().await {
                    Ok(change) if change.concerns(run_id, known_seq) => return,
                    Ok(_) => {}
                    Err(RecvError::Lagged(_)) => return,
                    // The server's connections are closed: nothing is told any more.
                    Err(RecvError::Closed) => std::future::pending().await,
                }
            }
        };
        // Either way it is time to look.
        let _ = timeout(QUIET_MAX, concerning).await;
    }
}
