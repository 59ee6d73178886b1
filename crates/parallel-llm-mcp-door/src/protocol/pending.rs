//! The requests of a connection that are not answered yet.

use std::collections::HashMap;
use std::sync::Arc;

use rmcp::model::{JsonRpcMessage, RequestId, ServerJsonRpcMessage};
use tokio::sync::{OwnedSemaphorePermit, watch};

use super::line::Refusal;
use parallel_llm_http::message;

/// The most requests in flight. The service does a thousand runs; other requests are short.
pub(crate) const REQUESTS_MAX: usize = 4_096;

/// The unanswered requests.
#[derive(Default)]
pub(crate) struct Pending(watch::Sender<HashMap<RequestId, Accepted>>);

/// An unanswered request.
struct Accepted {
    /// Its memory in bytes.
    load: usize,
    /// The turn in which its reply is made; held, not read.
    turn: Option<Arc<OwnedSemaphorePermit>>,
}

impl Pending {
    /// Accepts a request of this load, or returns the refusal. A single request is never too large.
    pub(crate) fn accept(&self, id: &RequestId, load: usize) -> Result<(), Refusal> {
        let mut refused = None;
        self.0.send_if_modified(|requests| {
            refused = refusal(requests, id, load);
            if refused.is_none() {
                requests.insert(id.clone(), Accepted { load, turn: None });
            }
            refused.is_none()
        });
        refused.map_or(Ok(()), Err)
    }

    /// Holds the turn until the request is answered, if it is not yet.
    pub(super) fn hold(&self, id: &RequestId, turn: Arc<OwnedSemaphorePermit>) {
        self.0.send_if_modified(|requests| {
            if let Some(request) = requests.get_mut(id) {
                request.turn = Some(turn);
            }
            false
        });
    }

    /// Removes a request that is answered or never will be.
    pub(crate) fn settle(&self, id: &RequestId) {
        self.0.send_if_modified(|requests| requests.remove(id).is_some());
    }

    /// Whether a request of this id is in flight.
    pub(crate) fn holds(&self, id: &RequestId) -> bool {
        self.0.borrow().contains_key(id)
    }

    /// Returns when no request is in flight.
    pub(crate) async fn empty(&self) {
        // The sender lives in `self`, so waiting cannot fail.
        let _ = self.0.subscribe().wait_for(HashMap::is_empty).await;
    }
}

/// Why a request is refused beside the others.
fn refusal(requests: &HashMap<RequestId, Accepted>, id: &RequestId, load: usize) -> Option<Refusal> {
    if requests.contains_key(id) {
        return Some(repeated(id));
    }
    let taken: usize = requests.values().map(|request| request.load).sum();
    let is_too_large = taken > 0 && taken + load > message::ALL_BYTES_MAX;
    if is_too_large {
        let message = "the requests in flight take all the room there is: try again when one is answered";
        return Some(Refusal::unavailable(id, message));
    }
    (requests.len() >= REQUESTS_MAX).then(|| too_many(id, REQUESTS_MAX))
}

/// The refusal of a request whose id is in use.
pub(crate) fn repeated(id: &RequestId) -> Refusal {
    let message = format!("a request with id {id} is still in flight: give each request an id of its own");
    Refusal::of_request(id, message)
}

/// The refusal of a request beyond the limit.
pub(crate) fn too_many(id: &RequestId, requests_max: usize) -> Refusal {
    let message = format!("{requests_max} requests are in flight: try again when one is answered");
    Refusal::unavailable(id, message)
}

/// The id of the request that a message answers.
pub(crate) const fn answered(message: &ServerJsonRpcMessage) -> Option<&RequestId> {
    match message {
        JsonRpcMessage::Response(response) => Some(&response.id),
        JsonRpcMessage::Error(error) => error.id.as_ref(),
        JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_in_flight_take_bounded_memory_and_one_alone_is_taken() {
        let pending = Pending::default();
        let described = |id: i64, load: usize| {
            let taken = pending.accept(&RequestId::Number(id), load);
            taken.err().map(|refused| String::from_utf8_lossy(&refused.to_line()).into_owned())
        };
        assert_eq!(described(1, message::ALL_BYTES_MAX + 1), None);
        let expected =
            r#""id":2,"error":{"code":-32000,"message":"the requests in flight take all the room there is: "#;
        assert!(described(2, 1).is_some_and(|reply| reply.contains(expected)));
        pending.settle(&RequestId::Number(1));
        assert_eq!(described(2, message::ALL_BYTES_MAX), None);
    }
}
