//! The requests of one connection that are not yet answered.

use std::collections::HashSet;

use rmcp::model::RequestId;
use tokio::sync::watch;

use super::line::Refusal;

/// Requests in flight at once. The service does a thousand runs; the rest are short.
const REQUESTS_MAX: usize = 4_096;

/// Requests that are not yet answered.
#[derive(Default)]
pub(super) struct Pending(watch::Sender<HashSet<RequestId>>);

impl Pending {
    /// Takes a request up, or says why not.
    pub(super) fn take_up(&self, id: &RequestId) -> Result<(), Refusal> {
        let mut is_new = false;
        self.0.send_if_modified(|ids| {
            is_new = ids.len() < REQUESTS_MAX && ids.insert(id.clone());
            is_new
        });
        if is_new {
            return Ok(());
        }
        Err(if self.holds(id) { repeated(id) } else { too_many(id, REQUESTS_MAX) })
    }

    /// The request is answered, or will never be.
    pub(super) fn settle(&self, id: &RequestId) {
        self.0.send_if_modified(|ids| ids.remove(id));
    }

    /// Whether a request of this id is in flight.
    pub(super) fn holds(&self, id: &RequestId) -> bool {
        self.0.borrow().contains(id)
    }

    /// Returns when no request is in flight.
    pub(super) async fn empty(&self) {
        // The sender lives in `self`, so waiting cannot fail.
        let _ = self.0.subscribe().wait_for(HashSet::is_empty).await;
    }
}

/// Refuses a request whose id another one has.
pub(super) fn repeated(id: &RequestId) -> Refusal {
    let message = format!("a request with id {id} is still in flight: give each request an id of its own");
    Refusal::of_request(id, message)
}

/// Refuses a request beside which there are as many as there may be.
pub(super) fn too_many(id: &RequestId, requests_max: usize) -> Refusal {
    let message = format!("{requests_max} requests are in flight: try again when one is answered");
    Refusal::unavailable(id, message)
}
