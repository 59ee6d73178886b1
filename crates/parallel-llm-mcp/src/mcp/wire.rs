//! The transport between a client and the protocol library: whole lines in, whole lines out, every request answered.
//!
//! It keeps the books the library does not: which requests are in flight. So an id cannot be used twice at once, the
//! end of the input waits for the answers that are due, and a server that is stopping says so instead of going
//! silent. What always holds: a reply never waits behind progress, and progress never makes anyone wait.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, GetMeta, JsonRpcMessage, JsonRpcRequest,
    ProtocolVersion, RequestId, ServerJsonRpcMessage, ServerNotification,
};
use rmcp::transport::Transport;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::line::{Line, Refusal};
use super::pending::Pending;
use super::pipe::WRITE_QUEUE_MAX;

/// One client's connection.
pub(super) struct Wire {
    input: mpsc::Receiver<Line>,
    /// Whether the input has ended.
    is_ended: bool,
    output: Option<mpsc::Sender<Vec<u8>>>,
    /// A reply of ours that could not yet be queued.
    reply: Option<Vec<u8>>,
    pending: Arc<Pending>,
    /// Whether the protocol has begun; before that the library takes nothing but requests.
    has_begun: bool,
    stopping: Stopping,
}

/// When the connection ends.
pub(super) struct Stopping {
    /// Set by a signal, and by the wire at the end of the input.
    pub(super) stop: CancellationToken,
    /// How long answers that are due are waited for after that.
    pub(super) drain: Duration,
    deadline: Option<Instant>,
}

impl Stopping {
    /// Waits so long for answers once `stop` is set.
    pub(super) const fn new(stop: CancellationToken, drain: Duration) -> Self {
        Self { stop, drain, deadline: None }
    }

    /// Set, and how long there is left.
    fn deadline(&mut self) -> Instant {
        *self.deadline.get_or_insert_with(|| Instant::now() + self.drain)
    }
}

impl Wire {
    /// A connection over these two queues.
    pub(super) fn new(
        input: mpsc::Receiver<Line>,
        output: mpsc::Sender<Vec<u8>>,
        stopping: Stopping,
    ) -> Self {
        Self {
            input,
            is_ended: false,
            output: Some(output),
            reply: None,
            pending: Arc::default(),
            has_begun: false,
            stopping,
        }
    }

    /// The next line; `None` at the end of the connection. Nothing is lost where the future is dropped.
    async fn next_line(&mut self) -> Option<Line> {
        loop {
            let is_stopping = self.stopping.stop.is_cancelled();
            let deadline = is_stopping.then(|| self.stopping.deadline());
            let output = self.output.as_ref()?;
            tokio::select! {
                biased;
                // The client has gone away without a word.
                () = output.closed() => {
                    self.stopping.stop.cancel();
                    return None;
                }
                line = self.input.recv(), if !self.is_ended => {
                    if line.is_some() {
                        return line;
                    }
                    self.is_ended = true;
                    self.stopping.stop.cancel();
                }
                () = self.stopping.stop.cancelled(), if !is_stopping => {}
                () = answered_all(&self.pending, deadline), if is_stopping => return None,
            }
        }
    }

    /// Passes a message on to the library where it is one the library can take now.
    fn admit(&mut self, message: ClientJsonRpcMessage) -> Result<Option<ClientJsonRpcMessage>, Refusal> {
        match &message {
            JsonRpcMessage::Request(request) => {
                self.admit_request(request)?;
                Ok(Some(message))
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.pending.settle(id);
                }
                // A client that gave up a first attempt says so before it begins anew.
                Ok(self.has_begun.then_some(message))
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => Ok(self.has_begun.then_some(message)),
        }
    }

    fn admit_request(&mut self, request: &JsonRpcRequest<ClientRequest>) -> Result<(), Refusal> {
        if self.stopping.stop.is_cancelled() {
            return Err(Refusal::unavailable(&request.id, "the server is stopping: start it again"));
        }
        self.pending.take_up(&request.id)?;
        self.has_begun |= begins(&request.request);
        Ok(())
    }

    /// Keeps a reply of ours until there is room for it.
    fn refuse(&mut self, mut refusal: Refusal) {
        let is_in_flight = |id: &str| serde_json::from_str(id).is_ok_and(|id| self.pending.holds(&id));
        // An id found in a broken line is a guess, and must not end a call that is under way.
        if refusal.is_guess && refusal.id.as_ref().is_some_and(|id| is_in_flight(id.get())) {
            refusal.id = None;
        }
        self.reply = Some(refusal.to_line());
    }
}

/// Returns when nothing is in flight, or at the deadline.
async fn answered_all(pending: &Pending, deadline: Option<Instant>) {
    match deadline {
        // Past the deadline what is in flight stays unanswered; the runs themselves are kept.
        Some(deadline) => drop(tokio::time::timeout_at(deadline, pending.empty()).await),
        None => pending.empty().await,
    }
}

/// Whether the library leaves its opening with this request: an `initialize`, or a first request that carries what
/// `initialize` would have said.
fn begins(request: &ClientRequest) -> bool {
    match request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => false,
        request => {
            let meta = request.get_meta();
            let is_whole = meta.missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty();
            is_whole
                && meta
                    .protocol_version()
                    .is_some_and(|version| ProtocolVersion::KNOWN_VERSIONS.contains(&version))
        }
    }
}

impl Transport<RoleServer> for Wire {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let output = self.output.clone();
        let pending = Arc::clone(&self.pending);
        async move {
            let closed = || io::Error::new(io::ErrorKind::NotConnected, "the client is gone");
            let output = output.ok_or_else(closed)?;
            let mut line = serde_json::to_vec(&message)?;
            line.push(b'\n');
            if is_progress(&message) {
                // The next one tells the same and more, so it may be lost; the other half of the queue is for
                // replies.
                if output.capacity() > WRITE_QUEUE_MAX / 2 {
                    let _ = output.try_send(line);
                }
                return Ok(());
            }
            let sent = output.send(line).await.map_err(|_| closed());
            if let Some(id) = answered(&message) {
                pending.settle(id);
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            if self.reply.is_some() {
                let room = self.output.as_ref()?.reserve().await.ok()?;
                room.send(self.reply.take()?);
            }
            match self.next_line().await? {
                Line::Silent => {}
                Line::Refused(refusal) => self.refuse(refusal),
                Line::Message(message) => match self.admit(*message) {
                    Ok(Some(message)) => return Some(message),
                    Ok(None) => {}
                    Err(refusal) => self.refuse(refusal),
                },
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.output = None;
        Ok(())
    }
}

const fn is_progress(message: &ServerJsonRpcMessage) -> bool {
    matches!(message, JsonRpcMessage::Notification(notification)
        if matches!(notification.notification, ServerNotification::ProgressNotification(_)))
}

/// The request this message answers.
pub(super) const fn answered(message: &ServerJsonRpcMessage) -> Option<&RequestId> {
    match message {
        JsonRpcMessage::Response(response) => Some(&response.id),
        JsonRpcMessage::Error(error) => error.id.as_ref(),
        JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::{EmptyResult, JsonRpcVersion2_0, ServerResult};
    use rmcp::model::{
        JsonRpcNotification, NumberOrString, ProgressNotification, ProgressNotificationParam, ProgressToken,
    };

    use super::*;
    use crate::mcp::line;

    /// How long the tests' wires wait for answers.
    const DRAIN: Duration = Duration::from_millis(300);

    fn wire() -> (mpsc::Sender<Line>, mpsc::Receiver<Vec<u8>>, Wire) {
        let (lines, input) = mpsc::channel(16);
        let (output, written) = mpsc::channel(WRITE_QUEUE_MAX);
        let stopping = Stopping::new(CancellationToken::new(), DRAIN);
        (lines, written, Wire::new(input, output, stopping))
    }

    fn request(id: i64, method: &str) -> Line {
        let params =
            r#"{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}"#;
        line::read(
            format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{params}}}"#).as_bytes(),
        )
    }

    fn pong(id: i64) -> ServerJsonRpcMessage {
        ServerJsonRpcMessage::response(ServerResult::EmptyResult(EmptyResult {}), NumberOrString::Number(id))
    }

    fn progress() -> ServerJsonRpcMessage {
        let param = ProgressNotificationParam::new(ProgressToken(NumberOrString::Number(1)), 1.0);
        let notification = ServerNotification::ProgressNotification(ProgressNotification::new(param));
        JsonRpcMessage::Notification(JsonRpcNotification { jsonrpc: JsonRpcVersion2_0, notification })
    }

    #[tokio::test]
    async fn progress_that_nobody_reads_is_dropped_and_leaves_room_for_replies() {
        let (_lines, mut written, mut wire) = wire();
        for _ in 0..1_000 {
            wire.send(progress()).await.unwrap();
        }
        wire.send(pong(1)).await.unwrap();
        let mut count = 0;
        while let Ok(line) = written.try_recv() {
            count += 1;
            assert!(count < WRITE_QUEUE_MAX && line.ends_with(b"}\n"));
        }
        assert_eq!(count, WRITE_QUEUE_MAX / 2 + 1);
    }

    #[tokio::test]
    async fn the_end_of_the_input_waits_for_answers_that_are_due() {
        let (lines, _written, mut wire) = wire();
        lines.send(request(1, "initialize")).await.ok();
        assert!(wire.receive().await.is_some());
        drop(lines);
        let begun = Instant::now();
        let answer = wire.send(pong(1));
        let pending = Arc::clone(&wire.pending);
        let (ended, ()) = tokio::join!(wire.receive(), async {
            tokio::time::sleep(DRAIN / 6).await;
            assert!(pending.holds(&NumberOrString::Number(1)));
            answer.await.unwrap();
        });
        assert!(ended.is_none() && begun.elapsed() < DRAIN);
    }

    #[tokio::test]
    async fn answers_that_never_come_are_waited_for_so_long() {
        let (lines, _written, mut wire) = wire();
        lines.send(request(1, "initialize")).await.ok();
        assert!(wire.receive().await.is_some());
        let begun = Instant::now();
        drop(lines);
        assert!(wire.receive().await.is_none());
        assert!(begun.elapsed() >= DRAIN);
    }

    #[tokio::test]
    async fn a_broken_line_does_not_answer_a_call_that_is_under_way() {
        let (lines, mut written, mut wire) = wire();
        lines.send(request(1, "initialize")).await.ok();
        assert!(wire.receive().await.is_some());
        lines.send(line::read(br#"{"jsonrpc":"2.0","id":1,"meth"#)).await.ok();
        lines.send(request(2, "ping")).await.ok();
        assert!(wire.receive().await.is_some());
        let reply = String::from_utf8(written.recv().await.unwrap()).unwrap();
        assert!(reply.contains(r#""id":null"#), "{reply}");
    }
}
