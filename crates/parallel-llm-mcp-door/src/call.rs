//! One tool call under way: who called, how long there is, what ends the waiting, and whether its user can be asked.

use std::sync::Arc;
use std::time::Duration;

use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::{Code, Failure};
use rmcp::model::{
    ClientResult, CreateTaskResult, ElicitRequest, InputRequiredResult, ProtocolVersion, ServerRequest,
};
use rmcp::service::{PeerRequestOptions, RequestContext, RoleServer};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::client_cancel::ClientCancel;
use super::confirm::{self, Confirmations, Excess, Fingerprint, Word};
use super::progress::Progress;
use super::task::{self, OpenTasks};
use super::{client_timeout, version};
use parallel_llm_service::render::report::Report;
use parallel_llm_service::{Principal, RunHandle, Scope, Services};

/// The longest wait for room to tell a client that its user need not answer any more.
const TAKE_BACK_MAX: Duration = Duration::from_secs(1);

/// What the calls of one server have in common.
pub(super) struct Host {
    /// Set when the server is told to stop.
    pub(super) stop: CancellationToken,
    /// How long calls under way may still wait then.
    pub(super) stop_soft: Duration,
    /// The questions to users that are open.
    pub(super) confirmations: Confirmations,
    /// The runs whose calls were answered with a task.
    pub(super) open_tasks: OpenTasks,
}

/// One tool call.
pub(super) struct Call {
    /// What does the work.
    pub(super) service: Services,
    context: RequestContext<RoleServer>,
    host: Arc<Host>,
    fingerprint: Fingerprint,
    word: Option<Word>,
    begun: Instant,
}

impl Call {
    /// A call that has just come, with what it brings of its user's word.
    pub(super) fn new(
        service: Services,
        context: RequestContext<RoleServer>,
        host: Arc<Host>,
        (fingerprint, word): (Fingerprint, Option<Word>),
    ) -> Self {
        Self { service, context, host, fingerprint, word, begun: Instant::now() }
    }

    /// How the caller is told how far it is.
    pub(super) fn progress(&self) -> Progress {
        let has_messages = version::of(&self.context) >= ProtocolVersion::V_2025_03_26;
        Progress::new(self.context.peer.clone(), self.context.meta.get_progress_token(), has_messages)
    }

    /// Waits for the run's answer, but no longer than the client, the server or the caller's own wish allow; the run
    /// goes on either way. Fails where the client takes its call back.
    pub(super) async fn wait(
        &self,
        handle: &RunHandle,
        progress: &mut Progress,
        wish: Option<Duration>,
    ) -> Result<Report, Failure> {
        tokio::select! {
            biased;
            () = self.cancelled() => Err(taken_back()),
            report = handle.wait(None) => Ok(report),
            () = self.waited_enough(wish) => Ok(handle.wait(Some(Instant::now())).await),
            never = progress.follow(handle) => match never {},
        }
    }

    /// How long the client waits for a run whose texts are kept like this; `None` where it waits as long as it takes, also
    /// because a task answers the call at once.
    pub(super) fn wall(&self, store: StoreMode) -> Option<Duration> {
        if store == StoreMode::Full && self.takes_tasks() { None } else { self.client_wall() }
    }

    fn client_wall(&self) -> Option<Duration> {
        let name = self.context.client_info().map(|client| client.name);
        client_timeout::of_client(name.as_deref(), self.service.settings.client_wall_ms)
    }

    /// When to answer at the latest.
    fn soft_end(&self, wish: Option<Duration>) -> Option<Instant> {
        let waits = [self.client_wall().map(client_timeout::soft), wish].into_iter().flatten().min();
        waits.and_then(|wait| self.begun.checked_add(wait))
    }

    /// The task that answers the call in place of the run's report, where the client takes tasks.
    pub(super) fn task(&self, handle: &RunHandle) -> Option<CreateTaskResult> {
        (self.takes_tasks() && !self.is_taken_back())
            .then(|| task::create(&self.host.open_tasks, handle))
            .flatten()
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

    /// What the call brings of its user's word.
    pub(super) const fn word(&self) -> Option<Word> {
        self.word
    }

    /// Whether the user can be asked to go beyond their settings: they are the owner's, and the client can show a form.
    pub(super) fn can_ask_user(&self) -> bool {
        let client = self.context.client_capabilities();
        let knows_forms = version::of(&self.context) >= ProtocolVersion::V_2025_06_18;
        knows_forms
            && self.service.principal == Principal::Owner
            && client.is_some_and(|client| confirm::can_ask(&client))
    }

    /// Whether the user is asked by answering the call with the question.
    pub(super) fn carries_questions(&self) -> bool {
        self.is_newest()
    }

    /// The question to the user as the answer to this call.
    pub(super) fn question(&self, excess: Excess) -> Option<InputRequiredResult> {
        self.host.confirmations.ask(&self.fingerprint, excess)
    }

    /// Asks the user while the client waits for this call. Fails, saying why, where no word comes of it; what was refused
    /// is what it is about.
    pub(super) async fn ask_user(&self, excess: Excess, refused: &Failure) -> Result<Word, Failure> {
        let request = ServerRequest::ElicitRequest(ElicitRequest::new(confirm::form(excess)));
        let sending = self.context.peer.send_cancellable_request(request, PeerRequestOptions::no_options());
        let cannot = || besides(refused, "the user could not be asked");
        let mut question = tokio::select! {
            sent = sending => sent.map_err(|_| cannot())?,
            failure = self.given_up(refused) => return Err(failure),
        };
        let failure = tokio::select! {
            answer = &mut question.rx => return match answer {
                Ok(Ok(ClientResult::ElicitResult(answer))) => Ok(confirm::word(Some(&answer), excess)),
                _ => Err(cannot()),
            },
            failure = self.given_up(refused) => failure,
        };
        // The form need not stand there any longer; a client that is gone or does not read has none.
        let taking_back = question.cancel(Some(failure.message.clone()));
        let _ = tokio::time::timeout(TAKE_BACK_MAX, taking_back).await;
        Err(failure)
    }

    /// Returns, with the reason, when the user is not waited for any longer.
    async fn given_up(&self, refused: &Failure) -> Failure {
        tokio::select! {
            () = self.cancelled() => taken_back(),
            () = self.waited_enough(Some(confirm::ANSWER_MAX)) => {
                besides(refused, "the user was asked and did not answer in time")
            }
        }
    }

    /// The client gave this call up. A server that stops ends calls too, but that is no reason to end a run.
    async fn cancelled(&self) {
        self.taking_back().cancelled().await;
        if !self.is_taken_back() {
            std::future::pending::<()>().await;
        }
    }

    fn is_taken_back(&self) -> bool {
        self.taking_back().is_cancelled() && !self.host.stop.is_cancelled()
    }

    /// Cancelled when the client gives up: in a session by its own word, elsewhere also by closing the answer's stream.
    fn taking_back(&self) -> &CancellationToken {
        self.context.extensions.get::<ClientCancel>().map_or(&self.context.ct, ClientCancel::given)
    }

    async fn waited_enough(&self, wish: Option<Duration>) {
        let stopped = async {
            self.host.stop.cancelled().await;
            tokio::time::sleep(self.host.stop_soft).await;
        };
        let waited = async {
            match self.soft_end(wish) {
                Some(end) => tokio::time::sleep_until(end).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = stopped => {}
            () = waited => {}
        }
    }
}

/// The same refusal, with what came of asking the user.
pub(super) fn besides(refused: &Failure, why: &str) -> Failure {
    Failure { message: format!("{}; {why}", refused.message), ..refused.clone() }
}

fn taken_back() -> Failure {
    Failure::new(Code::Cancelled, "the client took its call back")
}
