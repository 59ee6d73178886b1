//! Turns of replies: how many replies made of stored runs are in the making at once.
//!
//! A request takes a hundred bytes, and the run that it names megabytes while its reply is made. So a reply waits for a
//! turn, which lasts until it is made, and on pipes until it is queued, where its bytes count. What always holds: the memory
//! of replies is bounded by the turns and the outbox, whatever a client asks for; a call that waits for a run holds none.

use std::sync::Arc;

use rmcp::model::{Extensions, RequestId};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::pending::Pending;

/// The most replies in the making: each takes several times its length until it is queued, and four keep two cores busy.
const TURNS_MAX: usize = 4;

/// The turns of a server. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct ReplyTurns(Arc<Semaphore>);

/// A turn. It ends when its last clone is dropped.
#[derive(Clone, Debug)]
pub(crate) struct ReplyTurn(Arc<OwnedSemaphorePermit>);

/// A request on a pipe, whose turn lasts until its reply is queued.
#[derive(Clone)]
pub(crate) struct Unqueued {
    pub(crate) pending: Arc<Pending>,
    pub(crate) id: RequestId,
}

impl ReplyTurns {
    /// All turns free.
    pub(crate) fn new() -> Self {
        Self(Arc::new(Semaphore::new(TURNS_MAX)))
    }

    /// Waits for a turn to make the reply to the request with these extensions. Once for each request: one that held a turn
    /// and waited for another could wait for itself.
    pub(crate) async fn for_reply(&self, extensions: &Extensions) -> ReplyTurn {
        let turn = self.brief().await;
        turn.until_queued(extensions);
        turn
    }

    /// Waits for a turn that ends when it is dropped.
    pub(crate) async fn brief(&self) -> ReplyTurn {
        let permit = Arc::clone(&self.0).acquire_owned().await;
        ReplyTurn(Arc::new(permit.expect("the semaphore is never closed")))
    }
}

impl ReplyTurn {
    /// Makes the turn last until the reply to the request with these extensions is queued.
    pub(crate) fn until_queued(&self, extensions: &Extensions) {
        if let Some(Unqueued { pending, id }) = extensions.get() {
            pending.hold(id, Arc::clone(&self.0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_turn_on_a_pipe_lasts_until_its_reply_is_queued() {
        let (turns, pending) = (ReplyTurns::new(), Arc::new(Pending::default()));
        let id = RequestId::Number(1);
        pending.accept(&id, 1).unwrap();
        let mut extensions = Extensions::new();
        extensions.insert(Unqueued { pending: Arc::clone(&pending), id: id.clone() });
        drop(turns.for_reply(&extensions).await);
        assert_eq!(turns.0.available_permits(), TURNS_MAX - 1);
        pending.settle(&id);
        assert_eq!(turns.0.available_permits(), TURNS_MAX);
        drop(turns.for_reply(&extensions).await);
        assert_eq!(turns.0.available_permits(), TURNS_MAX, "a settled request holds no turn");
    }
}
