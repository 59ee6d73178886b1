//! Sessions of the protocol's versions that have them: how many there are, whose they are, and when they end.
//!
//! The library keeps a session for each client that begins one, without a bound, for whoever knows its id, and ends it
//! after minutes even with a call in flight. Here the table is bounded, a session belongs to the principal who began it, and
//! it ends when it was idle for a day: a call in flight keeps it.
//!
//! The library also takes any number of requests, and leaves one without an answer where another comes with its id. Here
//! each is known from its arrival to its answer: their number is bounded, an id in flight is refused, and a call is taken
//! back by the client's own word and not by the end of its session.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::Response;
use futures_util::{Stream, StreamExt};
use parallel_llm_engine::value::next::Advice;
use parallel_llm_engine::{Code, Failure};
use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, GetExtensions, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError, SessionConfig, SessionTransport,
};
use rmcp::transport::streamable_http_server::session::{ServerSseMessage, SessionId, SessionManager};
use tokio::time::{Instant, timeout};

use super::client_cancel::ClientCancel;
use super::line::Refusal;
use super::{pending, refusal, wire};
use parallel_llm_http::failure;
use parallel_llm_http::status::Fault;
use parallel_llm_service::Principal;

/// The header that names a session.
pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
/// When to come again where there is no room: calls end all the time.
const AGAIN_AFTER: Duration = Duration::from_secs(5);
/// The longest wait for a session to take note of its end.
const CLOSE_MAX: Duration = Duration::from_secs(1);

/// How many sessions there may be, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct SessionLimits {
    /// Sessions at once. The idlest makes room for a new one.
    pub sessions_max: usize,
    /// Sessions at once of one principal, so that no principal takes the room of all.
    pub sessions_of_one_max: usize,
    /// How long a session may go without a request and without a call in flight.
    pub idle_max: Duration,
    /// Calls in flight in one session. One is in flight until it is answered, also where nobody listens any more.
    pub calls_max: usize,
    /// Calls in flight in all sessions of one principal.
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
    /// Whoever makes the request that is being served.
    static REQUESTER: Arc<Requester>;
}

/// Who makes a request, and how it was refused where the library would not say why.
#[derive(Debug, Default)]
struct Requester {
    principal: Option<String>,
    refused: Mutex<Option<Response>>,
}

/// One session.
#[derive(Debug)]
struct Session {
    /// Who began it; `None` is the owner.
    principal: Option<String>,
    used: Instant,
    /// Requests of the client that are not answered.
    calls: HashMap<RequestId, ClientCancel>,
}

/// One request that is not answered.
struct InFlight {
    table: Table,
    session: SessionId,
    request: RequestId,
    recall: ClientCancel,
}

/// A request on its way to the library, which has ended where it does not arrive.
struct Boarding(Option<InFlight>);

/// The sessions of one server.
#[derive(Clone, Debug)]
struct Table(Arc<Mutex<HashMap<SessionId, Session>>>);

/// The library's sessions, within bounds.
#[derive(Debug)]
pub(super) struct Sessions {
    inner: LocalSessionManager,
    table: Table,
    limits: SessionLimits,
}

/// Why a session does not go on.
#[derive(Debug)]
pub(super) enum SessionsError {
    Full,
    Call(Refusal),
    Library(LocalSessionManagerError),
}

impl fmt::Display for SessionsError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => out.write_str("every session has a call in flight"),
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

/// Lets a request pass unless it names another principal's session, and tells where there is no room for a new one.
pub(super) async fn admit(State(sessions): State<Arc<Sessions>>, request: Request, next: Next) -> Response {
    let principal = request.extensions().get::<Principal>().and_then(Principal::name).map(str::to_owned);
    let mut ids = request.headers().get_all(SESSION).iter();
    if let Some(id) = ids.next() {
        let is_of = id.to_str().ok().and_then(|id| sessions.table.is_of(id, principal.as_deref()));
        // One that is not there is the library's to refuse, which it does not where it is to be ended.
        if !is_of.unwrap_or(request.method() != Method::DELETE) || ids.next().is_some() {
            let failure =
                Failure::new(Code::Usage, "there is no such session").with_next(Advice::BeginSession);
            return failure::refusal(Fault::NotFound, &failure);
        }
    }
    let requester = Arc::new(Requester { principal, refused: Mutex::default() });
    let response = REQUESTER.scope(Arc::clone(&requester), next.run(request)).await;
    requester.refused.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or(response)
}

impl Requester {
    /// Notes what is answered in place of the library's words for this.
    fn refuse(&self, error: &SessionsError) {
        let response = match error {
            SessionsError::Full => {
                let failure = Failure::new(Code::Busy, "every session has a call in flight")
                    .with_retry_after(Some(AGAIN_AFTER))
                    .with_next(Advice::WaitForCallToEnd);
                failure::response(&failure)
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
        *self.refused.lock().unwrap_or_else(PoisonError::into_inner) = Some(response);
    }
}

impl Sessions {
    /// No session yet.
    pub(super) fn new(limits: SessionLimits) -> Self {
        let mut inner = LocalSessionManager::default();
        inner.session_config = SessionConfig::default();
        // The library would end a session with a call in flight.
        inner.session_config.keep_alive = None;
        Self { inner, table: Table(Arc::default()), limits }
    }

    async fn close(&self, id: &SessionId) -> Result<(), SessionsError> {
        self.table.lock().remove(id);
        // A session that does not listen ends when its handle is dropped.
        timeout(CLOSE_MAX, self.inner.close_session(id)).await.unwrap_or(Ok(())).map_err(Into::into)
    }
}

impl Table {
    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Session>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether this principal began this session, where there is one.
    fn is_of(&self, id: &str, principal: Option<&str>) -> Option<bool> {
        self.lock().get(id).map(|session| session.principal.as_deref() == principal)
    }

    /// Takes a new session in. Gives the one that makes room, where one must; fails where none can.
    fn take_in(
        &self,
        id: &SessionId,
        principal: Option<String>,
        limits: &SessionLimits,
    ) -> Result<Option<SessionId>, SessionsError> {
        let mut sessions = self.lock();
        let of_principal = sessions.values().filter(|session| session.principal == principal).count();
        let leaves = if of_principal >= limits.sessions_of_one_max {
            Some(idlest(&sessions, |session| session.principal == principal).ok_or(SessionsError::Full)?)
        } else if sessions.len() >= limits.sessions_max {
            Some(idlest(&sessions, |_| true).ok_or(SessionsError::Full)?)
        } else {
            None
        };
        if let Some(leaves) = &leaves {
            sessions.remove(leaves);
        }
        sessions.insert(Arc::clone(id), Session { principal, used: Instant::now(), calls: HashMap::new() });
        Ok(leaves)
    }

    /// Takes a request up, unless another has its id or there are too many. Nothing, where there is no such session.
    fn take_up(
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
        let recall = ClientCancel::default();
        if let Some(session) = sessions.get_mut(id) {
            session.calls.insert(request.clone(), recall.clone());
        }
        Ok(Some(InFlight { table: self.clone(), session: Arc::clone(id), request: request.clone(), recall }))
    }

    /// The request of this id, where it is in flight.
    fn find(&self, session: &SessionId, request: &RequestId) -> Option<InFlight> {
        let recall = self.lock().get(session)?.calls.get(request)?.clone();
        Some(InFlight { table: self.clone(), session: Arc::clone(session), request: request.clone(), recall })
    }
}

impl InFlight {
    /// It is answered, or will never be. A later request of the same id is another one.
    fn end(&self) {
        let mut sessions = self.table.lock();
        let Some(session) = sessions.get_mut(&self.session) else { return };
        session.used = Instant::now();
        if session.calls.get(&self.request) == Some(&self.recall) {
            session.calls.remove(&self.request);
        }
    }

    /// Whether this answers it.
    fn is_answered_by(&self, message: &ServerJsonRpcMessage) -> bool {
        wire::answered(message) == Some(&self.request)
    }
}

impl Drop for Boarding {
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
        match self.table.take_in(&id, requester.principal.clone(), &self.limits) {
            Ok(None) => {}
            Ok(Some(leaves)) => self.close(&leaves).await?,
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
        Ok(self.inner.initialize_session(id, message).await?)
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
        let mut boarding = Boarding(None);
        if let JsonRpcMessage::Request(request) = &mut message {
            let taken = self.table.take_up(id, &request.id, &self.limits).map_err(SessionsError::Call);
            let requester = REQUESTER.try_with(Arc::clone).unwrap_or_default();
            boarding.0 = taken.inspect_err(|error| requester.refuse(error))?;
            if let Some(call) = &boarding.0 {
                request.request.extensions_mut().insert(call.recall.clone());
            }
        }
        let answers = self.inner.create_stream(id, message).await?;
        let call = boarding.0.take();
        Ok(answers.inspect(move |answer| {
            // Whoever has its answer may use its id again.
            if let (Some(call), Some(message)) = (&call, &answer.message)
                && call.is_answered_by(message)
            {
                call.end();
            }
        }))
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), SessionsError> {
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
        Ok(self.inner.resume(id, last_event_id).await?)
    }
}

/// The way between a session and the handler, on which calls are counted.
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
        let call = wire::answered(&message).and_then(|request| self.table.find(&self.id, request));
        let sending = self.inner.send(message);
        async move {
            let sent = sending.await;
            // Also where nobody reads it.
            if let Some(call) = call {
                call.end();
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        let message = self.inner.receive().await?;
        if let JsonRpcMessage::Notification(said) = &message
            && let ClientNotification::CancelledNotification(cancelled) = &said.notification
            && let Some(request) = &cancelled.params.request_id
            && let Some(call) = self.table.find(&self.id, request)
        {
            // What is taken back is never answered.
            call.recall.give();
            call.end();
        }
        Some(message)
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}
