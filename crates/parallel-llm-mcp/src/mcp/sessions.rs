//! Sessions of the protocol's versions that have them: how many there are, whose they are, and when they end.
//!
//! The library keeps a session for each client that begins one, without a bound, for whoever knows its id, and ends it
//! after minutes even with a call in flight. Here the table is bounded, a session belongs to the asker who began it, and
//! it ends when it was idle for a day: a call in flight keeps it.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::extract::{Request, State};
use axum::http::{HeaderName, Method, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use futures_util::Stream;
use parallel_llm_engine::{Code, Failure};
use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError, SessionConfig, SessionTransport,
};
use rmcp::transport::streamable_http_server::session::{ServerSseMessage, SessionId, SessionManager};
use tokio::time::{Instant, timeout};

use super::refusal;
use crate::service::Asker;

/// The header that names a session.
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
/// When to come again where there is no room: calls end all the time.
const AGAIN_AFTER: Duration = Duration::from_secs(5);
/// The longest wait for a session to take note of its end.
const CLOSE_MAX: Duration = Duration::from_secs(1);

/// How many sessions there may be, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct SessionLimits {
    /// Sessions at once. The idlest makes room for a new one.
    pub sessions_max: usize,
    /// Sessions at once of one asker, so that no asker takes the room of all.
    pub sessions_of_one_max: usize,
    /// How long a session may go without a request and without a call in flight.
    pub idle_max: Duration,
}

impl Default for SessionLimits {
    fn default() -> Self {
        Self {
            // Several for each client of a large team; one takes a few kilobytes.
            sessions_max: 256,
            sessions_of_one_max: 128,
            // A working day and a night: clients stay open.
            idle_max: Duration::from_secs(24 * 60 * 60),
        }
    }
}

tokio::task_local! {
    /// Whoever makes the request that is being served.
    static CALLER: Arc<Caller>;
}

/// Who makes a request, and whether a session was refused in it.
#[derive(Debug, Default)]
struct Caller {
    asker: Option<String>,
    refused: AtomicBool,
}

/// One session.
#[derive(Debug)]
struct Seat {
    /// Who began it; `None` is the owner.
    asker: Option<String>,
    used: Instant,
    /// Requests of the client that are not answered.
    calls: HashSet<RequestId>,
}

/// The sessions of one server.
#[derive(Clone, Debug)]
struct Table(Arc<Mutex<HashMap<SessionId, Seat>>>);

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
    Library(LocalSessionManagerError),
}

impl fmt::Display for SessionsError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => out.write_str("every session has a call in flight"),
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

/// Lets a request pass unless it names another asker's session, and tells where there is no room for a new one.
pub(super) async fn admit(State(sessions): State<Arc<Sessions>>, request: Request, next: Next) -> Response {
    let asker = request.extensions().get::<Asker>().and_then(Asker::name).map(str::to_owned);
    let mut ids = request.headers().get_all(SESSION).iter();
    if let Some(id) = ids.next() {
        let is_of = id.to_str().ok().and_then(|id| sessions.table.is_of(id, asker.as_deref()));
        // One that is not there is the library's to refuse, which it does not where it is to be ended.
        if !is_of.unwrap_or(request.method() != Method::DELETE) || ids.next().is_some() {
            let failure = Failure::new(Code::Usage, "there is no such session")
                .with_next("begin a new session with `initialize`");
            return refusal::refuse(StatusCode::NOT_FOUND, &failure);
        }
    }
    let caller = Arc::new(Caller { asker, refused: AtomicBool::new(false) });
    let response = CALLER.scope(Arc::clone(&caller), next.run(request)).await;
    if caller.refused.load(Ordering::Relaxed) {
        let failure = Failure::new(Code::Busy, "every session has a call in flight")
            .with_retry_after(Some(AGAIN_AFTER))
            .with_next("try again when a call has ended");
        return refusal::refuse(StatusCode::SERVICE_UNAVAILABLE, &failure);
    }
    response
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
    fn lock(&self) -> MutexGuard<'_, HashMap<SessionId, Seat>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether this asker began this session, where there is one.
    fn is_of(&self, id: &str, asker: Option<&str>) -> Option<bool> {
        self.lock().get(id).map(|seat| seat.asker.as_deref() == asker)
    }

    /// Seats a new session. Gives the one that makes room, where one must; fails where none can.
    fn seat(
        &self,
        id: &SessionId,
        asker: Option<String>,
        limits: &SessionLimits,
    ) -> Result<Option<SessionId>, SessionsError> {
        let mut seats = self.lock();
        let of_asker = seats.values().filter(|seat| seat.asker == asker).count();
        let leaves = if of_asker >= limits.sessions_of_one_max {
            Some(idlest(&seats, |seat| seat.asker == asker).ok_or(SessionsError::Full)?)
        } else if seats.len() >= limits.sessions_max {
            Some(idlest(&seats, |_| true).ok_or(SessionsError::Full)?)
        } else {
            None
        };
        if let Some(leaves) = &leaves {
            seats.remove(leaves);
        }
        seats.insert(Arc::clone(id), Seat { asker, used: Instant::now(), calls: HashSet::new() });
        Ok(leaves)
    }

    /// Notes something that a session does.
    fn note(&self, id: &SessionId, change: impl FnOnce(&mut HashSet<RequestId>)) {
        if let Some(seat) = self.lock().get_mut(id) {
            seat.used = Instant::now();
            change(&mut seat.calls);
        }
    }
}

fn idlest(seats: &HashMap<SessionId, Seat>, of: impl Fn(&Seat) -> bool) -> Option<SessionId> {
    let idle = seats.iter().filter(|(_, seat)| seat.calls.is_empty() && of(seat));
    idle.min_by_key(|(_, seat)| seat.used).map(|(id, _)| Arc::clone(id))
}

impl SessionManager for Sessions {
    type Error = SessionsError;
    type Transport = Counted;

    async fn create_session(&self) -> Result<(SessionId, Counted), SessionsError> {
        let caller = CALLER.try_with(Arc::clone).unwrap_or_default();
        let (id, transport) = self.inner.create_session().await?;
        match self.table.seat(&id, caller.asker.clone(), &self.limits) {
            Ok(None) => {}
            Ok(Some(leaves)) => self.close(&leaves).await?,
            Err(full) => {
                caller.refused.store(true, Ordering::Relaxed);
                self.close(&id).await?;
                return Err(full);
            }
        }
        Ok((Arc::clone(&id), Counted { inner: transport, id, table: self.table.clone() }))
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
            let mut seats = self.table.lock();
            let Some(seat) = seats.get_mut(id) else { return Ok(false) };
            let is_over = seat.calls.is_empty() && seat.used.elapsed() > self.limits.idle_max;
            seat.used = Instant::now();
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
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, SessionsError> {
        Ok(self.inner.create_stream(id, message).await?)
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
pub(super) struct Counted {
    inner: SessionTransport,
    id: SessionId,
    table: Table,
}

impl Transport<RoleServer> for Counted {
    type Error = <SessionTransport as Transport<RoleServer>>::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let answered = match &message {
            JsonRpcMessage::Response(response) => Some(response.id.clone()),
            JsonRpcMessage::Error(error) => error.id.clone(),
            _ => None,
        };
        let (table, id) = (self.table.clone(), Arc::clone(&self.id));
        let sending = self.inner.send(message);
        async move {
            let sent = sending.await;
            if let Some(answered) = answered {
                table.note(&id, |calls| _ = calls.remove(&answered));
            }
            sent
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        let message = self.inner.receive().await?;
        self.table.note(&self.id, |calls| match &message {
            JsonRpcMessage::Request(request) => _ = calls.insert(request.id.clone()),
            // What is taken back is never answered.
            JsonRpcMessage::Notification(said) => {
                if let ClientNotification::CancelledNotification(cancelled) = &said.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    calls.remove(id);
                }
            }
            _ => {}
        });
        Some(message)
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}
