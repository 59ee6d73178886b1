//! A tool call: its caller, its client's timeout, and whether its user can be asked.

use std::time::Duration;

use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::value::trace::TraceContext;
use parallel_llm_engine::{Failure, RunStatus};
use parallel_llm_http::trace_of;
use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestParams, ClientResult, CreateTaskResult, ElicitRequest, InputRequiredResult,
    ProtocolVersion, ServerRequest,
};
use rmcp::service::{PeerRequestOptions, RequestContext, RoleServer};
use tokio_util::sync::CancellationToken;

use super::progress::Progress;
use super::{client_timeout, confirm, task};
use crate::protocol::client_cancel::ClientCancel;
use crate::protocol::reply_turns::{ReplyTurn, ReplyTurns};
use crate::protocol::version;
use parallel_llm_http::via;
use parallel_llm_service::report::Report;
use parallel_llm_service::{
    Consent, Decision, Excess, Fingerprint, RunHandle, Scope, Services, Shutdown, Unapproved, Waiting,
};

/// The longest wait to tell a client that its user need not answer any more.
const TAKE_BACK_MAX: Duration = Duration::from_secs(1);

/// One tool call.
pub(crate) struct Call {
    /// The services, for the caller's principal.
    pub(crate) service: Services,
    context: RequestContext<RoleServer>,
    fingerprint: Fingerprint,
    /// The user's decision that the call brings.
    decision: Option<Decision>,
    waiting: Waiting,
    turns: ReplyTurns,
}

impl Call {
    /// A new call. Fails if it brings a decision on another call.
    pub(crate) fn new(
        service: Services,
        context: RequestContext<RoleServer>,
        shutdown: Shutdown,
        request: &CallToolRequestParams,
    ) -> Result<Self, ErrorData> {
        let fingerprint = confirm::fingerprint(&service.approvals, request);
        let decision = confirm::redeem(&service.approvals, fingerprint, request)?;
        let waiting = Waiting::new(client_timeout(&service, &context), shutdown);
        Ok(Self { service, context, fingerprint, decision, waiting, turns: ReplyTurns::new() })
    }

    /// The same call, whose reply is made in one of these turns.
    pub(crate) fn in_turn(self, turns: ReplyTurns) -> Self {
        Self { turns, ..self }
    }

    /// Waits for the turn to make the reply.
    pub(crate) async fn turn_to_reply(&self) -> ReplyTurn {
        self.turns.for_reply(&self.context.extensions).await
    }

    /// Waits for a turn to read a run, and keeps it for the reply if the run is over: a call that waits for it holds none.
    pub(crate) async fn in_turn_to_read(
        &self,
        name: &str,
    ) -> Result<(RunHandle, Option<ReplyTurn>), Failure> {
        let turn = self.turns.brief().await;
        let handle = self.service.runs.watch(name).await?;
        if handle.with_run(|run| run.status == RunStatus::Running) {
            return Ok((handle, None));
        }
        turn.until_queued(&self.context.extensions);
        Ok((handle, Some(turn)))
    }

    /// The servers of this program that the call passed through. Fails if this one is among them.
    pub(crate) fn via(&self) -> Result<Vec<String>, Failure> {
        self.context
            .extensions
            .get::<http::request::Parts>()
            .map_or(Ok(Vec::new()), |parts| via::of(&parts.headers))
    }

    /// The progress notifications to the caller.
    pub(crate) fn progress(&self) -> Progress {
        let has_messages = version::of(&self.context) >= ProtocolVersion::V_2025_03_26;
        Progress::new(self.context.peer.clone(), self.context.meta.get_progress_token(), has_messages)
    }

    /// The caller's place in its trace: from the call itself, else from the request that brought it.
    pub(crate) fn trace(&self) -> Option<TraceContext> {
        let meta = &self.context.meta;
        if let Some(parent) = meta.get_traceparent() {
            let context: TraceContext = parent.parse().ok()?;
            return Some(context.with_state(meta.get_tracestate().unwrap_or_default()));
        }
        trace_of(&self.context.extensions.get::<http::request::Parts>()?.headers)
    }

    /// Waits up to `wait_max` for the answer of a run begun by any call, and reports progress.
    pub(crate) async fn answer(
        &self,
        handle: &RunHandle,
        progress: &mut Progress,
        wait_max: Duration,
    ) -> Result<Report, Failure> {
        tokio::select! {
            biased;
            answer = self.waiting.answer(handle, Some(wait_max), self.client_cancel()) => answer,
            never = progress.follow(handle) => match never {},
        }
    }

    /// Waits for the answer of a run begun by this call, and reports progress.
    pub(crate) async fn paid_answer(
        &self,
        handle: &RunHandle,
        progress: &mut Progress,
    ) -> Result<Report, Failure> {
        tokio::select! {
            biased;
            answer = self.waiting.paid_answer(handle, self.client_cancel()) => answer,
            never = progress.follow(handle) => match never {},
        }
    }

    /// The client's timeout for a run of this store mode; `None` for a client without one, or if a task answers the
    /// call at once.
    pub(crate) fn client_timeout(&self, store: StoreMode) -> Option<Duration> {
        let is_answered_at_once = store == StoreMode::Full && self.takes_tasks();
        if is_answered_at_once { None } else { client_timeout(&self.service, &self.context) }
    }

    /// The task that answers the call instead of the run's report, if the client accepts tasks.
    pub(crate) fn task(&self, handle: &RunHandle) -> Option<CreateTaskResult> {
        let takes_one = self.takes_tasks() && !self.waiting.is_left(self.client_cancel());
        takes_one.then(|| task::create(&self.service.detached, handle)).flatten()
    }

    /// Whether this request accepts a task as its answer. Older protocols use the same name for other tasks.
    fn takes_tasks(&self) -> bool {
        let client = self.context.client_capabilities();
        // A principal that may not read could never fetch the result.
        let may_read = self.service.principal.check(Scope::Read).is_ok();
        may_read && self.is_newest() && client.is_some_and(|client| client.supports_tasks())
    }

    /// Whether the request is of a protocol version in which servers send no requests.
    fn is_newest(&self) -> bool {
        version::is_newest(&version::of(&self.context))
    }

    /// The user's consent to spend more than the settings allow, or whether the user can be asked by a form of the
    /// client.
    pub(crate) fn consent(&self) -> Consent {
        let knows_forms = version::of(&self.context) >= ProtocolVersion::V_2025_06_18;
        let shows_forms =
            || self.context.client_capabilities().is_some_and(|client| confirm::can_ask(&client));
        match self.decision {
            Some(decision) => Consent::Given(decision),
            None if knows_forms && shows_forms() => Consent::CanBeAsked,
            None => Consent::CannotBeAsked,
        }
    }

    /// Whether the question to the user is the answer to the call.
    pub(crate) fn carries_questions(&self) -> bool {
        self.is_newest()
    }

    /// The question to the user as the answer to this call.
    pub(crate) fn question(&self, excess: Excess) -> Option<InputRequiredResult> {
        confirm::question(&self.service.approvals, self.fingerprint, excess)
    }

    /// Asks the user while the client waits for this call. Fails with the reason if there is no decision.
    pub(crate) async fn ask_user(&self, order: &Unapproved) -> Result<Decision, Failure> {
        let request = ServerRequest::ElicitRequest(ElicitRequest::new(confirm::form(order.excess)));
        let sending = self.context.peer.send_cancellable_request(request, PeerRequestOptions::no_options());
        let cannot = || order.undecided("the user could not be asked");
        let late = || order.undecided("the user was asked and did not answer in time");
        let sent = self.waiting.decision(sending, self.client_cancel(), late).await?;
        let mut question = sent.map_err(|_| cannot())?;
        let failure = match self.waiting.decision(&mut question.rx, self.client_cancel(), late).await {
            Ok(Ok(Ok(ClientResult::ElicitResult(answer)))) => {
                return Ok(confirm::reply(Some(&answer)).on(order.excess));
            }
            Ok(_) => return Err(cannot()),
            Err(failure) => failure,
        };
        // Cancels the form. A client that has disconnected or does not read is not waited for long.
        let cancellation = question.cancel(Some(failure.message.clone()));
        let _ = tokio::time::timeout(TAKE_BACK_MAX, cancellation).await;
        Err(failure)
    }

    /// Cancelled when the client gives up: in a session by its cancel notification, elsewhere also by closing the
    /// stream.
    fn client_cancel(&self) -> &CancellationToken {
        self.context.extensions.get::<ClientCancel>().map_or(&self.context.ct, ClientCancel::given)
    }
}

/// The timeout of a request's client; `None` for a client without one.
fn client_timeout(service: &Services, context: &RequestContext<RoleServer>) -> Option<Duration> {
    let name = context.client_info().map(|client| client.name);
    client_timeout::of_client(name.as_deref(), service.settings.client_wall_ms)
}
