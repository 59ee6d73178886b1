//! Sessions, for the protocol versions that have them: limits, ownership and expiry.
//!
//! The library keeps sessions without limit, for anybody who knows their id, and ends one after minutes even with a
//! call in flight. Here the table is bounded, a session belongs to the principal that began it, and ends after a day of
//! idleness: a call in flight keeps it.
//!
//! The library also accepts any number of requests, and never answers one if another comes with its id. Here each is
//! tracked from its arrival to its answer: their number is bounded, an id in flight is refused, and only the client's
//! own cancel cancels a call, not the end of its session. How the stream of a call ends is in [`stream`].

mod stream;

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::Response;
use futures_util::{Stream, StreamExt};
use parallel_llm_engine::value::next::Advice;
use parallel_llm_engine::{Code, Failure};
use parking_lot::{Mutex, MutexGuard};
use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, GetExtensions, JsonRpcMessage, ProtocolVersion, RequestId,
    ServerJsonRpcMessage, ServerResult,
};
use rmcp::transport::Transport;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError, SessionConfig, SessionTransport,
};
use rmcp::transport::streamable_http_server::session::{ServerSseMessage, SessionId, SessionManager};
use tokio::time::{Instant, timeout};

use self::stream::StreamedCall;
use super::refusal;
use crate::protocol::client_cancel::ClientCancel;
use crate::protocol::line::Refusal;
use crate::protocol::pending;
use parallel_llm_http::failure;
use parallel_llm_http::status::Fault;
use parallel_llm_service::Principal;

/// The header with the session's id.
pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
/// When to retry if there is no room: calls end all the time.
const AGAIN_AFTER: Duration = Duration::from_secs(5);
/// The longest wait for the library to close a session.
const CLOSE_MAX: Duration = Duration::from_secs(1);
/// The newest streams of a session whose calls are known: as many as it may have in flight, and as many that have ended, for
/// clients that come back late.
const STREAMS_MAX: usize = 512;

/// The limits of sessions.
#[derive(Clone, Copy, Debug)]
pub struct SessionLimits {
    /// The most sessions. The one idle longest is replaced by a new one.
    pub sessions_max: usize,
    /// The most sessions of one principal, so that none takes all.
    pub sessions_of_one_max: usize,
    /// The longest idle time, without a request and without a call in flight.
    pub idle_max: Duration,
    /// The most calls in flight in one session. A call is in flight until it is answered, even if nobody listens any
    /// more.
    pub calls_max: usize,
    /// The most calls in flight in all sessions of one principal.
    pub calls_of_one_max: usize,
}

impl Default for SessionLimits {
    fn default() -> Self {
        Self {
            // Several for each client of a large team; one takes a few kilobytes.
            sessions_max: 256,
            sessions_of_one_max: 128,
            // A working day and a night: clients stay open.
            idle_max: Duration::from_secs(24 * 60 * 60),
            // More than a client with many agents asks at once.
            calls_max: 256,
            // Half of the runs that the service does at once.
            calls_of_one_max: 512,
        }
    }
}

tokio::task_local! {
    /// The sender of the current request.
    static REQUESTER: Arc<Requester>;
}

/// The sender of a request, and its refusal if the library would not give the reason.
#[derive(Debug, Default)]
struct Requester {
    principal: Option<String>,
    refused: Mutex<Option<Response>>,
}

/// A session.
#[derive(Debug)]
struct Session {
    /// The principal that began it; `None` for the owner.
    principal: Option<String>,
    used: Instant,
    /// Whether its version of the protocol has events without a message, which name a stream for those who resume it.
    knows_priming: bool,
    /// The unanswered requests of the client.
    calls: HashMap<RequestId, ClientCancel>,
    /// Its streams, the newest last.
    streams: VecDeque<StreamedCall>,
}

/// An unanswered request.
struct InFlight {
    table: Table,
    session: SessionId,
    request: RequestId,
    client_cancel: ClientCancel,
}

/// A request that is being passed to the library. Dropping it ends the request.
struct Arrival(Option<InFlight>);

/// The sessions of one server.
#[derive(Clone, Debug)]
struct Table(Arc<Mutex<HashMap<SessionId, Session>>>);

/// The library's sessions within limits.
#[derive(Debug)]
pub(super) struct Sessions {
    inner: LocalSessionManager,
    table: Table,
    limits: SessionLimits,
}

/// Why a session or a call is refused.
#[derive(Debug)]
pub(super) enum SessionsError {
    Full,
    /// The events after the one that a client names are not kept.
    NotResumable,
    Call(Refusal),
    Library(LocalSessionManagerError),
}

impl fmt::Display for SessionsError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => out.write_str("every session has a call in flight"),
            Self::NotResumable => out.write_str("the events after this one are not kept"),
            Self::Call(_) => out.write_str("the call cannot be taken"),
            Self::Library(error) => error.fmt(out),
        }
    }
}

impl std::error::Error for SessionsError {}

impl From<LocalSessionManagerError> for SessionsError {
    fn from(error: LocalSessionManagerError) -> Self {
        Self::Library(error)
    }
}

/// Refuses requests to another principal's session, and reports refusals that the library hides.
pub(super) async fn admit(State(sessions): State<Arc<Sessions>>, request: Request, next: Next) -> Response {
    let principal = request.extensions().get::<Principal>().and_then(Principal::name).map(str::to_owned);
    let mut ids = request.headers().get_all(SESSION).iter();
    if let Some(id) = ids.next() {
        let is_of = id.to_str().ok().and_then(|id| sessions.table.is_of(id, principal.as_deref()));
        // The library refuses a missing session itself, except on DELETE.
        if !is_of.unwrap_or(request.method() != Method::DELETE) || ids.next().is_some() {
            let failure =
                Failure::new(Code::Usage, "there is no such session").with_next(Advice::BeginSession);
            return failure::refusal(Fault::NotFound, &failure);
        }
    }
    let requester = Arc::new(Requester { principal, refused: Mutex::default() });
    let response = REQUESTER.scope(Arc::clone(&requester), next.run(request)).await;
    requester.refused.lock().take().unwrap_or(response)
}

impl Requester {
    /// Notes the answer to give in place of the library's.
    fn refuse(&self, error: &SessionsError) {
        let response = match error {
            SessionsError::Full => {
                let failure = Failure::new(Code::Busy, "every session has a call in flight")
                    .with_retry_after(Some(AGAIN_AFTER))
                    .with_next(Advice::WaitForCallToEnd);
                failure::response(&failure)
            }
            SessionsError::NotResumable => {
                let failure =
                    Failure::new(Code::Usage, "the stream of this `Last-Event-ID` is over or unknown")
                        .with_next(Advice::FetchRun);
                // Not 404, which ends a session for its client.
                failure::refusal(Fault::Malformed, &failure)
            }
            SessionsError::Call(refused) if refused.is_for_now() => {
                let mut response = refusal::reply(Fault::TooMany, refused);
                let seconds = HeaderValue::from(AGAIN_AFTER.as_secs());
                response.headers_mut().insert(header::RETRY_AFTER, seconds);
                response
            }
            SessionsError::Call(refused) => refusal::reply(Fault::Malformed, refused),
            SessionsError::Library(_) => return,
        };
        *self.refused.lock() = Some(response);
    }
}

impl Sessions {
    /// No sessions.
    pub(super) fn new(limits: SessionLimits) -> Self {
        let mut inner = LocalSessionManager::default();
        inner.session_config = SessionConfig::default();
        // Otherwise the library would end a session with a call in flight.
        inner.session_config.keep_alive = None;
        Self { inner, table: Table(Arc::default()), limits }
    }

    async fn close(&self, id: &SessionId) -> Result<(), SessionsError> {
        self.table.lock().remove(id);
        // A session that does not respond ends when its handle is dropped.
        timeout(CLOSE_MAX, self.inner.close_session(id)).await.unwrap_or(Ok(())).map_err(Into::into)
    }
}

impl Table {
    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Session>> {
        self.0.lock()
    }

    /// Whether this principal began the session; `None` if there is no such session.
    fn is_of(&self, id: &str, principal: Option<&str>) -> Option<bool> {
        self.lock().get(id).map(|session| session.principal.as_deref() == principal)
    }

    /// Adds a session. Returns the session that it replaces, if any; fails if none is idle.
    fn add(
        &self,
        id: &SessionId,
        principal: Option<String>,
        limits: &SessionLimits,
    ) -> Result<Option<SessionId>, SessionsError> {
        let mut sessions = self.lock();
        let of_principal = sessions.values().filter(|session| session.principal == principal).count();
        let replaced = if of_principal >= limits.sessions_of_one_max {
            Some(idlest(&sessions, |session| session.principal == principal).ok_or(SessionsError::Full)?)
        } else if sessions.len() >= limits.sessions_max {
            Some(idlest(&sessions, |_| true).ok_or(SessionsError::Full)?)
        } else {
            None
        };
        if let Some(replaced) = &replaced {
            sessions.remove(replaced);
        }
        let session = Session {
            principal,
            used: Instant::now(),
            knows_priming: false,
            calls: HashMap::new(),
            streams: VecDeque::new(),
        };
        sessions.insert(Arc::clone(id), session);
        Ok(replaced)
    }

    /// Notes the protocol version of a session.
    fn agree(&self, id: &SessionId, version: &ProtocolVersion) {
        if let Some(session) = self.lock().get_mut(id) {
            session.knows_priming = *version >= ProtocolVersion::V_2025_11_25;
        }
    }

    /// Whether the session's version has priming events.
    fn knows_priming(&self, id: &SessionId) -> bool {
        self.lock().get(id).is_some_and(|session| session.knows_priming)
    }

    /// Notes the stream of a call.
    fn note_stream(&self, id: &SessionId, stream: &StreamedCall) {
        let mut sessions = self.lock();
        let Some(session) = sessions.get_mut(id) else { return };
        if session.streams.len() == STREAMS_MAX {
            session.streams.pop_front();
        }
        session.streams.push_back(stream.clone());
    }

    /// The call of a stream.
    fn call_of(&self, id: &SessionId, stream: &str) -> Option<StreamedCall> {
        self.lock().get(id)?.streams.iter().rev().find(|call| call.name == stream).cloned()
    }

    /// Registers a request. Fails if its id is in use or there are too many; `None` if there is no such session.
    fn register(
        &self,
        id: &SessionId,
        request: &RequestId,
        limits: &SessionLimits,
    ) -> Result<Option<InFlight>, Refusal> {
        let mut sessions = self.lock();
        let Some(session) = sessions.get(id) else { return Ok(None) };
        if session.calls.contains_key(request) {
            return Err(pending::repeated(request));
        }
        let of_principal = sessions.values().filter(|other| other.principal == session.principal);
        let bounds = [
            (session.calls.len(), limits.calls_max),
            (of_principal.map(|session| session.calls.len()).sum(), limits.calls_of_one_max),
        ];
        if let Some((_, calls_max)) = bounds.into_iter().find(|(calls, calls_max)| calls >= calls_max) {
            return Err(pending::too_many(request, calls_max));
        }
        let client_cancel = ClientCancel::default();
        if let Some(session) = sessions.get_mut(id) {
            session.calls.insert(request.clone(), client_cancel.clone());
        }
        Ok(Some(InFlight {
            table: self.clone(),
            session: Arc::clone(id),
            request: request.clone(),
            client_cancel,
        }))
    }

    /// The request of this id, if it is in flight.
    fn find(&self, session: &SessionId, request: &RequestId) -> Option<InFlight> {
        let client_cancel = self.lock().get(session)?.calls.get(request)?.clone();
        Some(InFlight {
            table: self.clone(),
            session: Arc::clone(session),
            request: request.clone(),
            client_cancel,
        })
    }
}

impl InFlight {
    /// Removes a request that is answered or never will be, unless a later request has taken its id.
    fn end(&self) {
        let mut sessions = self.table.lock();
        let Some(session) = sessions.get_mut(&self.session) else { return };
        session.used = Instant::now();
        if session.calls.get(&self.request) == Some(&self.client_cancel) {
            session.calls.remove(&self.request);
        }
    }

    /// Whether this message answers it.
    fn is_answered_by(&self, message: &ServerJsonRpcMessage) -> bool {
        pending::answered(message) == Some(&self.request)
    }
}

impl Drop for Arrival {
    fn drop(&mut self) {
        if let Some(call) = &self.0 {
            call.end();
        }
    }
}

fn idlest(sessions: &HashMap<SessionId, Session>, of: impl Fn(&Session) -> bool) -> Option<SessionId> {
    let idle = sessions.iter().filter(|(_, session)| session.calls.is_empty() && of(session));
    idle.min_by_key(|(_, session)| session.used).map(|(id, _)| Arc::clone(id))
}

impl SessionManager for Sessions {
    type Error = SessionsError;
    type Transport = CountedTransport;

    async fn create_session(&self) -> Result<(SessionId, CountedTransport), SessionsError> {
        let requester = REQUESTER.try_with(Arc::clone).unwrap_or_default();
        let (id, transport) = self.inner.create_session().await?;
        match self.table.add(&id, requester.principal.clone(), &self.limits) {
            Ok(None) => {}
            Ok(Some(replaced)) => self.close(&replaced).await?,
            Err(full) => {
                requester.refuse(&full);
                self.close(&id).await?;
                return Err(full);
            }
        }
        Ok((Arc::clone(&id), CountedTransport { inner: transport, id, table: self.table.clone() }))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, SessionsError> {
        let answer = self.inner.initialize_session(id, message).await?;
        if let JsonRpcMessage::Response(response) = &answer
            && let ServerResult::InitializeResult(agreed) = &response.result
        {
            self.table.agree(id, &agreed.protocol_version);
        }
        Ok(answer)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, SessionsError> {
        let is_over = {
            let mut sessions = self.table.lock();
            let Some(session) = sessions.get_mut(id) else { return Ok(false) };
            let is_over = session.calls.is_empty() && session.used.elapsed() > self.limits.idle_max;
            session.used = Instant::now();
            is_over
        };
        if is_over {
            self.close(id).await?;
            return Ok(false);
        }
        Ok(self.inner.has_session(id).await?)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), SessionsError> {
        self.close(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        mut message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionsError> {
        let mut arrival = Arrival(None);
        if let JsonRpcMessage::Request(request) = &mut message {
            let taken = self.table.register(id, &request.id, &self.limits).map_err(SessionsError::Call);
            let requester = REQUESTER.try_with(Arc::clone).unwrap_or_default();
            arrival.0 = taken.inspect_err(|error| requester.refuse(error))?;
            if let Some(call) = &arrival.0 {
                request.request.extensions_mut().insert(call.client_cancel.clone());
            }
        }
        let mut answers = Box::pin(self.inner.create_stream(id, message).await?);
        let Some(call) = arrival.0.take() else { return Ok(answers.left_stream()) };
        // The first event names the stream, and is there already.
        let first = answers.next().await;
        let named = first.as_ref().and_then(|event| stream::name_of(event.event_id.as_deref()?));
        let streamed = StreamedCall {
            name: named.unwrap_or_default().to_owned(),
            request: call.request.clone(),
            client_cancel: call.client_cancel.clone(),
        };
        self.table.note_stream(id, &streamed);
        let knows_priming = self.table.knows_priming(id);
        let first = first.filter(|event| knows_priming || !stream::is_priming(event));
        let answers = futures_util::stream::iter(first).chain(answers).inspect(move |answer| {
            // After its answer, the id may be used again.
            if answer.message.as_deref().is_some_and(|message| call.is_answered_by(message)) {
                call.end();
            }
        });
        Ok(stream::ended(answers, streamed).right_stream())
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), SessionsError> {
        // Before the library ends the call's stream, which then ends with an answer.
        if let JsonRpcMessage::Notification(received) = &message
            && let ClientNotification::CancelledNotification(cancelled) = &received.notification
            && let Some(request) = &cancelled.params.request_id
            && let Some(call) = self.table.find(id, request)
        {
            call.client_cancel.give();
        }
        Ok(self.inner.accept_message(id, message).await?)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionsError> {
        Ok(self.inner.create_standalone_stream(id).await?)
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionsError> {
        let requester = REQUESTER.try_with(Arc::clone).unwrap_or_default();
        let call = stream::name_of(&last_event_id).and_then(|name| self.table.call_of(id, name));
        let rest = match stream::next_id(&last_event_id) {
            Some(next) => self.inner.resume(id, next).await.ok(),
            None => None,
        };
        let resumed = match call {
            Some(call) => stream::resumed(rest, call).map(StreamExt::left_stream),
            None => rest.map(StreamExt::right_stream),
        };
        resumed.ok_or(SessionsError::NotResumable).inspect_err(|error| requester.refuse(error))
    }
}

/// The transport between a session and the handler, which tracks calls.
pub(super) struct CountedTransport {
    inner: SessionTransport,
    id: SessionId,
    table: Table,
}

impl Transport<RoleServer> for CountedTransport {
    type Error = <SessionTransport as Transport<RoleServer>>::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let call = pending::answered(&message).and_then(|request| self.table.find(&self.id, request));
        let sending = self.inner.send(message);
        async move {
            let sent = sending.await;
            // Ended even if nobody reads the answer.
            if let Some(call) = call {
                call.end();
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        let message = self.inner.receive().await?;
        if let JsonRpcMessage::Notification(received) = &message
            && let ClientNotification::CancelledNotification(cancelled) = &received.notification
            && let Some(request) = &cancelled.params.request_id
            && let Some(call) = self.table.find(&self.id, request)
        {
            // The library answers it no more.
            call.end();
        }
        Some(message)
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}
