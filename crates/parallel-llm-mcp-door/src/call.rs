//! One tool call under way: who called, how long its client waits, and whether its user can be asked.

use std::time::Duration;

use parallel_llm_engine::Failure;
use parallel_llm_engine::request::StoreMode;
use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestParams, ClientResult, CreateTaskResult, ElicitRequest, InputRequiredResult,
    ProtocolVersion, ServerRequest,
};
use rmcp::service::{PeerRequestOptions, RequestContext, RoleServer};
use tokio_util::sync::CancellationToken;

use super::client_cancel::ClientCancel;
use super::progress::Progress;
use super::{client_timeout, confirm, task, version};
use parallel_llm_service::report::Report;
use parallel_llm_service::{
    Consent, Decision, Excess, Fingerprint, RunHandle, Scope, Services, Shutdown, Unapproved, Waiting,
};

/// The longest wait for room to tell a client that its user need not answer any more.
const TAKE_BACK_MAX: Duration = Duration::from_secs(1);

/// One tool call.
pub(super) struct Call {
    /// What does the work.
    pub(super) service: Services,
    context: RequestContext<RoleServer>,
    fingerprint: Fingerprint,
    /// What it brings of its user's decision.
    decision: Option<Decision>,
    waiting: Waiting,
}

impl Call {
    /// A call that has just come. Fails where it brings a decision that is not on this very call.
    pub(super) fn new(
        service: Services,
        context: RequestContext<RoleServer>,
        shutdown: &Shutdown,
        request: &CallToolRequestParams,
    ) -> Result<Self, ErrorData> {
        let fingerprint = confirm::fingerprint(&service.approvals, request);
        let decision = confirm::redeem(&service.approvals, fingerprint, request)?;
        let waiting = Waiting::new(client_timeout(&service, &context), shutdown.clone());
        Ok(Self { service, context, fingerprint, decision, waiting })
    }

    /// How the caller is told how far it is.
    pub(super) fn progress(&self) -> Progress {
        let has_messages = version::of(&self.context) >= ProtocolVersion::V_2025_03_26;
        Progress::new(self.context.peer.clone(), self.context.meta.get_progress_token(), has_messages)
    }

    /// Waits for the answer of a run that somebody else may pay for, showing how far it is.
    pub(super) async fn answer(
        &self,
        handle: &RunHandle,
        progress: &mut Progress,
        wish: Duration,
    ) -> Result<Report, Failure> {
        tokio::select! {
            biased;
            answer = self.waiting.answer(handle, Some(wish), self.client_cancel()) => answer,
            never = progress.follow(handle) => match never {},
        }
    }

    /// Waits for the answer of a run that this call pays for, showing how far it is.
    pub(super) async fn paid_answer(
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

    /// How long the client waits for a run whose texts are kept like this; `None` where it waits as long as it takes, also
    /// because a task answers the call at once.
    pub(super) fn client_timeout(&self, store: StoreMode) -> Option<Duration> {
        let is_answered_at_once = store == StoreMode::Full && self.takes_tasks();
        if is_answered_at_once { None } else { client_timeout(&self.service, &self.context) }
    }

    /// The task that answers the call in place of the run's report, where the client takes tasks.
    pub(super) fn task(&self, handle: &RunHandle) -> Option<CreateTaskResult> {
        let takes_one = self.takes_tasks() && !self.waiting.is_left(self.client_cancel());
        takes_one.then(|| task::create(&self.service.detached, handle)).flatten()
    }

    /// Whether this very request says that a task may answer it. Older protocols have other tasks under the same name.
    fn takes_tasks(&self) -> bool {
        let client = self.context.client_capabilities();
        // Whoever may not read could never fetch the result.
        let may_read = self.service.principal.check(Scope::Read).is_ok();
        may_read && self.is_newest() && client.is_some_and(|client| client.supports_tasks())
    }

    /// Whether the request is of a protocol in which servers send no requests.
    fn is_newest(&self) -> bool {
        version::is_newest(&version::of(&self.context))
    }

    /// Whether the user consents to spend more than the settings allow, or can be asked: with a form, where the client
    /// shows one.
    pub(super) fn consent(&self) -> Consent {
        let knows_forms = version::of(&self.context) >= ProtocolVersion::V_2025_06_18;
        let shows_forms =
            || self.context.client_capabilities().is_some_and(|client| confirm::can_ask(&client));
        match self.decision {
            Some(decision) => Consent::Given(decision),
            None if knows_forms && shows_forms() => Consent::CanBeAsked,
            None => Consent::CannotBeAsked,
        }
    }

    /// Whether the user is asked by answering the call with the question.
    pub(super) fn carries_questions(&self) -> bool {
        self.is_newest()
    }

    /// The question to the user as the answer to this call.
    pub(super) fn question(&self, excess: Excess) -> Option<InputRequiredResult> {
        confirm::question(&self.service.approvals, self.fingerprint, excess)
    }

    /// Asks the user while the client waits for this call. Fails, saying why, where no decision comes of it.
    pub(super) async fn ask_user(&self, order: &Unapproved) -> Result<Decision, Failure> {
        let request = ServerRequest::ElicitRequest(ElicitRequest::new(confirm::form(order.excess)));
        let sending = self.context.peer.send_cancellable_request(request, PeerRequestOptions::no_options());
        let cannot = || order.undecided("the user could not be asked");
        let late = || order.undecided("the user was asked and did not answer in time");
        let sent = self.waiting.decision(sending, self.client_cancel(), late).await?;
        let mut question = sent.map_err(|_| cannot())?;
        let failure = match self.waiting.decision(&mut question.rx, self.client_cancel(), late).await {
            Ok(Ok(Ok(ClientResult::ElicitResult(answer)))) => {
                let decide =
                    if confirm::approves(Some(&answer)) { Decision::Approved } else { Decision::Declined };
                return Ok(decide(order.excess));
            }
            Ok(_) => return Err(cannot()),
            Err(failure) => failure,
        };
        // The form need not stand there any longer; a client that is gone or does not read has none.
        let taking_back = question.cancel(Some(failure.message.clone()));
        let _ = tokio::time::timeout(TAKE_BACK_MAX, taking_back).await;
        Err(failure)
    }

    /// Cancelled when the client gives up: in a session by its own word, elsewhere also by closing the answer's stream.
    fn client_cancel(&self) -> &CancellationToken {
        self.context.extensions.get::<ClientCancel>().map_or(&self.context.ct, ClientCancel::given)
    }
}

/// How long the client of a request waits; `None` where it waits as long as it takes.
fn client_timeout(service: &Services, context: &RequestContext<RoleServer>) -> Option<Duration> {
    let name = context.client_info().map(|client| client.name);
    client_timeout::of_client(name.as_deref(), service.settings.client_wall_ms)
}
