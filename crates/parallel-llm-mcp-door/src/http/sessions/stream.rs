//! The event stream of one call: its end, and what a client gets that resumes it.
//!
//! A client that resumes streams asks for the rest of one that ended without the answer, again and again. So every stream
//! ends with the answer of its call, that of a cancelled call with an error, and one that cannot be resumed is refused.
//! A client that names the last event it has gets only later ones.

use futures_util::future::ready;
use futures_util::stream::{Stream, StreamExt, iter, once};
use rmcp::ErrorData;
use rmcp::model::{ErrorCode, RequestId, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::ServerSseMessage;

use crate::protocol::client_cancel::ClientCancel;
use crate::protocol::pending;

/// The code of JSON-RPC's widest use, the Language Server Protocol, for a call that its client cancelled. MCP has none.
const CANCELLED: ErrorCode = ErrorCode(-32800);

/// A call whose stream this is.
#[derive(Clone, Debug)]
pub(super) struct StreamedCall {
    /// The name of the stream in the ids of its events.
    pub(super) name: String,
    pub(super) request: RequestId,
    pub(super) client_cancel: ClientCancel,
}

impl StreamedCall {
    /// Whether the client cancelled the call.
    pub(super) fn is_cancelled(&self) -> bool {
        self.client_cancel.given().is_cancelled()
    }

    /// The answer to a cancelled call.
    fn cancelled(&self) -> ServerSseMessage {
        let error = ErrorData::new(CANCELLED, "the client cancelled this call", None);
        ServerSseMessage::from_message(ServerJsonRpcMessage::error(error, Some(self.request.clone())))
    }
}

/// The events of a call, and the answer that they lack if it was cancelled.
pub(super) fn ended(
    events: impl Stream<Item = ServerSseMessage> + Send + Sync + 'static,
    call: StreamedCall,
) -> impl Stream<Item = ServerSseMessage> + Send + Sync + 'static {
    let mut is_answered = false;
    events.map(Some).chain(once(ready(None))).filter_map(move |event| {
        let event = event.inspect(|event| {
            let answered = event.message.as_deref().and_then(pending::answered);
            is_answered |= answered == Some(&call.request);
        });
        ready(event.or_else(|| (!is_answered && call.is_cancelled()).then(|| call.cancelled())))
    })
}

/// The rest of a call's stream; `None` if it is not kept and there is no other answer.
pub(super) fn resumed(
    rest: Option<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static>,
    call: StreamedCall,
) -> Option<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static> {
    let is_over = rest.is_none() && !call.is_cancelled();
    (!is_over).then(|| ended(iter(rest).flatten(), call))
}

/// Whether an event only names a stream, so that a client could resume it.
pub(super) fn is_priming(event: &ServerSseMessage) -> bool {
    event.message.is_none()
}

/// The name of the stream in the id of an event, `INDEX/NAME`; `None` for the stream that belongs to no call.
pub(super) fn name_of(event_id: &str) -> Option<&str> {
    event_id.split_once('/').map(|(_, name)| name)
}

/// The id of the event after this one: the library replays from the event on that it is given.
pub(super) fn next_id(event_id: &str) -> Option<String> {
    let (index, rest) = event_id.split_at(event_id.find('/').unwrap_or(event_id.len()));
    let index: usize = index.parse().ok()?;
    Some(format!("{}{rest}", index.checked_add(1)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_event_is_of_the_same_stream() {
        for (id, next) in [("0/3", Some("1/3")), ("9", Some("10")), ("x/3", None), ("", None)] {
            assert_eq!(next_id(id).as_deref(), next, "{id}");
        }
        assert!(next_id(&format!("{}/1", usize::MAX)).is_none());
    }
}
