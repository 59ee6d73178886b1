//! The transport between a client and the protocol library: whole lines, and an answer to every request.
//!
//! It tracks the requests in flight, which the library does not. So an id cannot be used twice at once, the end of the
//! input waits for due answers, and a stopping server says so instead of going silent. What always holds: the
//! connection ends when it is stopped, even if the client reads nothing; what is kept for a client is bounded in bytes.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, GetExtensions, GetMeta, JsonRpcMessage,
    JsonRpcRequest, ProtocolVersion, RequestId, ServerJsonRpcMessage, ServerNotification, ServerResult,
};
use rmcp::transport::Transport;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::outbox::Outbox;
use crate::protocol::answer_first;
use crate::protocol::line::{Line, Message, Refusal};
use crate::protocol::pending::{Pending, answered};
use crate::protocol::reply_turns::Unqueued;

/// The longest time a client may read nothing while its outbox is full. Until then its lines are not read either, so
/// the end of its input goes unnoticed.
const STALL_MAX: Duration = Duration::from_secs(60);

/// The connection of one client.
pub(super) struct Wire {
    input: mpsc::Receiver<Line>,
    /// Whether the input has ended.
    is_ended: bool,
    output: Option<Outbox>,
    /// Our own reply that is not queued yet.
    reply: Option<Vec<u8>>,
    /// The time since which the outbox is full.
    full_since: Option<Instant>,
    pending: Arc<Pending>,
    /// Whether the protocol has begun; before that the library accepts only requests.
    has_begun: bool,
    stopping: Stopping,
}

/// The end of the connection.
pub(super) struct Stopping {
    /// Set by a signal, and by the wire at the end of the input.
    pub(super) stop: CancellationToken,
    /// The longest wait for due answers after that.
    pub(super) drain: Duration,
    deadline: Option<Instant>,
}

impl Stopping {
    /// Waits this long for answers after `stop`.
    pub(super) const fn new(stop: CancellationToken, drain: Duration) -> Self {
        Self { stop, drain, deadline: None }
    }

    /// The deadline, set at the first call.
    fn deadline(&mut self) -> Instant {
        *self.deadline.get_or_insert_with(|| Instant::now() + self.drain)
    }

    /// Returns at the deadline.
    async fn over(&mut self) {
        self.stop.cancelled().await;
        sleep_until(self.deadline()).await;
    }
}

impl Wire {
    /// A connection over these two queues.
    pub(super) fn new(input: mpsc::Receiver<Line>, output: Outbox, stopping: Stopping) -> Self {
        Self {
            input,
            is_ended: false,
            output: Some(output),
            reply: None,
            full_since: None,
            pending: Arc::default(),
            has_begun: false,
            stopping,
        }
    }

    /// The next line; `None` at the end of the connection. Dropping the future loses nothing.
    async fn next_line(&mut self) -> Option<Line> {
        loop {
            let is_stopping = self.stopping.stop.is_cancelled();
            let deadline = is_stopping.then(|| self.stopping.deadline());
            let output = self.output.as_ref()?;
            tokio::select! {
                biased;
                // The client is gone.
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

    /// The message, if the library can accept it now.
    fn admit(&mut self, read: Message) -> Result<Option<ClientJsonRpcMessage>, Refusal> {
        let Message { mut message, load } = read;
        match &mut message {
            JsonRpcMessage::Request(request) => {
                self.admit_request(request, load)?;
                let unqueued = Unqueued { pending: Arc::clone(&self.pending), id: request.id.clone() };
                request.request.extensions_mut().insert(unqueued);
                Ok(Some(message))
            }
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.pending.settle(id);
                }
                // A client that gave up a first attempt cancels it before it begins again.
                Ok(self.has_begun.then_some(message))
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => Ok(self.has_begun.then_some(message)),
        }
    }

    fn admit_request(&mut self, request: &JsonRpcRequest<ClientRequest>, load: usize) -> Result<(), Refusal> {
        if self.stopping.stop.is_cancelled() {
            return Err(Refusal::unavailable(&request.id, "the server is stopping: start it again"));
        }
        self.pending.accept(&request.id, load)?;
        self.has_begun |= begins(&request.request);
        Ok(())
    }

    /// Keeps our reply until there is room for it.
    fn refuse(&mut self, mut refusal: Refusal) {
        let is_in_flight = |id: &str| serde_json::from_str(id).is_ok_and(|id| self.pending.holds(&id));
        // An id recovered from a broken line is a guess, and must not end a call in flight.
        if refusal.is_guess && refusal.id.as_ref().is_some_and(|id| is_in_flight(id.get())) {
            refusal.id = None;
        }
        self.reply = Some(refusal.to_line());
    }

    /// Queues the waiting reply, if there is one. `None` if the connection ends before there is room.
    async fn put_reply(&mut self) -> Option<()> {
        if self.reply.is_none() {
            return Some(());
        }
        let since = *self.full_since.get_or_insert_with(Instant::now);
        let reserved = tokio::select! {
            biased;
            reserved = self.output.as_ref()?.reserve() => reserved.ok()?,
            () = self.stopping.over() => return None,
            () = sleep_until(since + STALL_MAX) => {
                tracing::warn!("the client reads nothing of what it asked for: the connection ends");
                self.stopping.stop.cancel();
                return None;
            }
        };
        reserved.put(self.reply.take()?);
        self.full_since = None;
        Some(())
    }
}

/// Returns when no request is in flight, or at the deadline.
async fn answered_all(pending: &Pending, deadline: Option<Instant>) {
    match deadline {
        // After the deadline, requests in flight stay unanswered; the runs themselves are kept.
        Some(deadline) => drop(tokio::time::timeout_at(deadline, pending.empty()).await),
        None => pending.empty().await,
    }
}

/// Whether this request ends the library's opening phase: an `initialize`, or a first request with the same
/// information.
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
            answer_first::put_in_order(&mut line);
            line.push(b'\n');
            if is_progress(&message) {
                output.progress(line);
                return Ok(());
            }
            let id = answered(&message).cloned();
            if !output.has_room(&line) {
                let Some(id) = &id else { return Err(io::Error::other("the client reads nothing")) };
                line = left_out(id, &message).to_line();
            }
            // Only its length counts where it waits.
            line.shrink_to_fit();
            // Dropped early: it may be as long as its line, and the line may have to wait.
            drop(message);
            let sent = output.put(line).await.map_err(|_| closed());
            if let Some(id) = id {
                pending.settle(&id);
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            self.put_reply().await?;
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

/// The reply in place of an answer that does not fit.
fn left_out(id: &RequestId, message: &ServerJsonRpcMessage) -> Refusal {
    let how = match run_of(message) {
        Some(run_id) => format!("call get_run with {{\"run_id\":\"{run_id}\"}}"),
        None => "ask again".to_owned(),
    };
    Refusal::unavailable(
        id,
        format!("too many answers are unread, so this one was left out: read them, then {how}"),
    )
}

/// The id of the run whose report a message is.
fn run_of(message: &ServerJsonRpcMessage) -> Option<&str> {
    let JsonRpcMessage::Response(response) = message else { return None };
    let ServerResult::CallToolResult(result) = &response.result else { return None };
    result.structured_content.as_ref()?.get("run_id")?.as_str()
}

const fn is_progress(message: &ServerJsonRpcMessage) -> bool {
    matches!(message, JsonRpcMessage::Notification(notification)
        if matches!(notification.notification, ServerNotification::ProgressNotification(_)))
}

#[cfg(test)]
mod tests {
    use rmcp::model::{
        CallToolResult, JsonRpcNotification, NumberOrString, ProgressNotification, ProgressNotificationParam,
        ProgressToken,
    };
    use rmcp::model::{EmptyResult, JsonRpcVersion2_0};

    use serde_json::{Value, json};

    use super::*;
    use crate::protocol::line;
    use crate::stdio::outbox::{Lines, outbox};

    /// How long the tests' wires wait for answers.
    const DRAIN: Duration = Duration::from_millis(300);

    fn wire() -> (mpsc::Sender<Line>, Lines, Wire) {
        let (lines, input) = mpsc::channel(16);
        let (output, written) = outbox();
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
        let (_lines, written, mut wire) = wire();
        for _ in 0..1_000 {
            wire.send(progress()).await.unwrap();
        }
        let few = written.waiting();
        wire.send(pong(1)).await.unwrap();
        assert!((1..100).contains(&few), "{few} lines of progress wait");
        assert_eq!(written.waiting(), few + 1);
    }

    #[tokio::test]
    async fn answers_that_nobody_reads_are_bounded_in_bytes_and_each_request_has_one() {
        let (_lines, mut written, mut wire) = wire();
        let answer = |id| {
            let mut result = CallToolResult::success(Vec::new());
            result.structured_content = Some(json!({"run_id": "01J", "answer": "a".repeat(1 << 20)}));
            let result = ServerResult::CallToolResult(result);
            ServerJsonRpcMessage::response(result, NumberOrString::Number(id))
        };
        for id in 0..200 {
            wire.send(answer(id)).await.unwrap();
        }
        let (mut whole, mut bytes) = (0, 0);
        for id in 0..200 {
            let line = written.next().await.unwrap();
            bytes += line.len();
            let reply: Value = serde_json::from_slice(&line).unwrap();
            assert_eq!(reply["id"], id);
            match reply["error"]["message"].as_str() {
                None => whole += 1,
                Some(described) => assert_eq!(
                    described,
                    "too many answers are unread, so this one was left out: read them, then call get_run with \
                     {\"run_id\":\"01J\"}"
                ),
            }
        }
        assert!((50..100).contains(&whole) && bytes < 65 << 20, "{whole} answers, {bytes} bytes");
        wire.send(answer(200)).await.unwrap();
        assert!(written.next().await.unwrap().len() > 1 << 20, "there is room again");
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_nothing_is_left_at_the_stop_or_after_a_while() {
        for (stops, bound) in [(true, DRAIN), (false, STALL_MAX)] {
            let (lines, written, mut wire) = wire();
            let output = wire.output.clone().unwrap();
            while output.has_room_for_a_line() {
                wire.send(pong(1)).await.unwrap();
            }
            lines.send(line::read(b"no message")).await.ok();
            if stops {
                wire.stopping.stop.cancel();
            }
            let begun = Instant::now();
            assert!(wire.receive().await.is_none());
            assert_eq!(begun.elapsed().as_secs(), bound.as_secs());
            assert!(wire.stopping.stop.is_cancelled() && written.waiting() > 1_000);
        }
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
        let reply = String::from_utf8(written.next().await.unwrap()).unwrap();
        assert!(reply.contains(r#""id":null"#), "{reply}");
    }
}
