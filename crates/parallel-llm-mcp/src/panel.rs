//! [`Panel`]: asks models and makes one text of their answers.
//!
//! It is the way of every door: a request becomes a run, which is stored where the builder says, and its handle reports
//! events and the outcome. Invariants: a panel that is dropped leaves no task and no connection behind; one that is closed
//! begins nothing more.

pub(crate) mod builder;
pub(crate) mod provider;
pub(crate) mod question;
pub(crate) mod run_handle;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parallel_llm_engine::{Code, Failure, PicoUsd, RunRequest};
use parallel_llm_service::report::expected_cost::ExpectedCost;
use parallel_llm_service::{Continuation, KnownRun, Order, Quote, Services, TokenRequest};
use secrecy::SecretString;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::blocking::Blocking;
use crate::error::{Cause, Error};
use crate::panel::builder::PanelBuilder;
use crate::panel::question::Question;
use crate::panel::run_handle::RunHandle;
use crate::report::Report;
use crate::vocabulary::LIBRARY;

/// How long dropping a panel whose calls block waits for the last events of its runs: a commit takes milliseconds, on a
/// network drive a second or two.
const DROP_MAX: Duration = Duration::from_secs(2);

/// A panel of models, ready to be asked. Clones share its connections, limits and runs.
///
/// Dropping the last clone, and the last handle of a run, gives up the runs in progress and closes every connection.
/// [`Panel::close`] waits for them first.
#[derive(Clone)]
pub struct Panel(Arc<PanelShared>);

/// What the clones share.
pub(crate) struct PanelShared {
    services: Services,
    /// Set when nothing more may begin.
    closed: CancellationToken,
    /// Set when everything is closed, so that nobody waits any more for a run to begin.
    ended: CancellationToken,
    /// Questions whose runs have not begun.
    beginning: TaskTracker,
    blocking: Blocking,
}

/// What a question may cost, known before anything is paid.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Cost {
    /// What it will cost in USD if replies are of the usual length; `None` if a model has no known price.
    pub likely_usd: Option<f64>,
    /// The most it can cost, in USD; of the models with a known price if there are others.
    pub worst_case_usd: f64,
    /// The models without a known price. A question to any of them is refused, unless there is no budget.
    pub unpriced_models: Vec<String>,
    /// Its budget. A question whose worst case is above is refused. Infinite if the setting is `none`.
    pub budget_usd: f64,
}

impl Drop for PanelShared {
    fn drop(&mut self) {
        self.services.abandon();
        let services = self.services.clone();
        // The runtime of blocking calls ends with the panel, and the tasks of its runs with it: they come to their end first.
        self.blocking.end_after(async move { services.abandon_within(DROP_MAX).await }, DROP_MAX);
    }
}

impl fmt::Debug for Panel {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Panel").field("models", &self.0.services.settings.panel).finish_non_exhaustive()
    }
}

impl Panel {
    /// A builder with the defaults of the program: five models, fused by a sixth call.
    pub fn builder() -> PanelBuilder {
        PanelBuilder::default()
    }

    pub(crate) fn of(services: Services) -> Self {
        let (closed, ended) = (CancellationToken::new(), CancellationToken::new());
        let (beginning, blocking) = (TaskTracker::new(), Blocking::default());
        Self(Arc::new(PanelShared { services, closed, ended, beginning, blocking }))
    }

    /// The use cases behind it, for a server.
    #[cfg(feature = "server")]
    pub(crate) fn services(&self) -> &Services {
        &self.0.services
    }

    /// Asks a question and waits for the answer. Fails with [`Error::Unanswered`], which holds the report, if no answer
    /// came.
    ///
    /// Dropping the future gives the run up: connections are closed where that stops the cost, and what has come is kept if
    /// the panel has a folder. After the answer, late seats are only awaited, in the background, if their answers will be
    /// stored.
    pub async fn ask(&self, question: impl Into<Question>) -> Result<Report, Error> {
        Self::answer_of(self.begin(question).await?).await
    }

    /// The answer of a run that only this caller knows of.
    async fn answer_of(handle: RunHandle) -> Result<Report, Error> {
        let mut waiting = GiveUpOnDrop { handle: &handle, wants_late_seats: false };
        let report = handle.wait().await;
        waiting.wants_late_seats = handle.is_stored();
        report
    }

    /// [`Panel::ask`] for programs without an async runtime. Fails with [`Error::InsideRuntime`] inside of one, except in the
    /// closure of [`Parallel::map_blocking`](crate::parallel::Parallel::map_blocking).
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), parallel_llm_mcp::Error> {
    /// use parallel_llm_mcp::{Error, Panel};
    ///
    /// let panel = Panel::builder().key("sk-or-...").build()?;
    /// assert!(matches!(panel.ask_blocking("Why?"), Err(Error::InsideRuntime)));
    /// # Ok(())
    /// # }
    /// ```
    pub fn ask_blocking(&self, question: impl Into<Question>) -> Result<Report, Error> {
        self.0.blocking.run(self.ask(question))
    }

    /// [`Panel::resume`] and the wait for its answer, for programs without an async runtime. Fails as
    /// [`Panel::ask_blocking`] does.
    pub fn resume_blocking(&self, run: impl fmt::Display) -> Result<Report, Error> {
        self.0.blocking.run(async { Self::answer_of(self.resume(run).await?).await })
    }

    /// [`Panel::replay`] and the wait for its answer, for programs without an async runtime. Fails as
    /// [`Panel::ask_blocking`] does.
    pub fn replay_blocking(
        &self,
        run: impl fmt::Display,
        strategy: impl Into<String>,
    ) -> Result<Report, Error> {
        self.0.blocking.run(async { Self::answer_of(self.replay(run, strategy).await?).await })
    }

    /// [`Panel::report`] for programs without an async runtime. Fails as [`Panel::ask_blocking`] does.
    pub fn report_blocking(&self, run: impl fmt::Display) -> Result<Report, Error> {
        self.0.blocking.run(self.report(run))
    }

    /// [`Panel::close`] for programs without an async runtime. Inside of one it fails and closes nothing.
    pub fn close_blocking(&self) -> Result<(), Error> {
        self.0.blocking.run(async {
            self.close().await;
            Ok(())
        })
    }

    /// Begins a run and returns its handle. A failure has cost nothing. The run goes on if the handle is dropped, for as
    /// long as there is a panel. If this future is dropped before it returned the handle, the run is given up.
    pub async fn begin(&self, question: impl Into<Question>) -> Result<RunHandle, Error> {
        let (question, services) = (question.into(), self.0.services.clone());
        self.begin_quoted(async move {
            let question = question.resolve(services.settings.attachment_bytes_max).await?;
            Box::pin(services.ask.quote(question)).await
        })
        .await
    }

    /// Begins what `quoting` quotes, in a task of its own: nobody would know of a run whose caller left as it began, so that
    /// one is given up. Until it has begun, closing the panel stops it.
    async fn begin_quoted(
        &self,
        quoting: impl Future<Output = Result<Quote, Failure>> + Send + 'static,
    ) -> Result<RunHandle, Error> {
        self.check_open()?;
        let (sender, begun) = oneshot::channel();
        let panel = self.clone();
        let quoting = Box::pin(quoting);
        self.0.beginning.spawn(async move {
            let quoted = panel.0.closed.run_until_cancelled(quoting).await.ok_or(Error::Closed);
            let begun = match quoted.and_then(|quoted| quoted.map_err(refused)) {
                Ok(quote) => Box::pin(panel.begin_quote(quote)).await,
                Err(error) => Err(error),
            };
            // Whoever asked may have left by now, or may leave before it takes the handle.
            drop(sender.send(begun.map(|handle| Unclaimed(Some(handle)))));
        });
        let defect = || Failure::new(Code::Internal, "a defect stopped the run as it began");
        begun.await.unwrap_or_else(|_| Err(refused(defect()))).and_then(Unclaimed::claim)
    }

    async fn begin_quote(&self, quote: Quote) -> Result<RunHandle, Error> {
        self.check_open()?;
        let begun = self.0.ended.run_until_cancelled(quote.begin()).await.ok_or(Error::Closed)?;
        let handle = RunHandle::new(begun.map_err(refused)?, &self.0);
        // The panel may have been closed as the run began.
        self.check_open().inspect_err(|_| handle.abort())?;
        Ok(handle)
    }

    /// What a question may cost at most, without asking it.
    pub async fn quote(&self, question: impl Into<Question>) -> Result<Cost, Error> {
        self.check_open()?;
        let services = &self.0.services;
        let question =
            question.into().resolve(services.settings.attachment_bytes_max).await.map_err(refused)?;
        let quote = Box::pin(services.ask.quote(question)).await.map_err(refused)?;
        let cost = quote.plan().map_or_else(ExpectedCost::default, ExpectedCost::of);
        Ok(Cost {
            likely_usd: cost.likely().map(PicoUsd::as_usd),
            worst_case_usd: cost.worst_case.known_part().as_usd(),
            unpriced_models: cost.worst_case.unpriced().iter().map(ToString::to_string).collect(),
            budget_usd: quote.cost().budget.limit_as_usd().unwrap_or(f64::INFINITY),
        })
    }

    /// Continues a run that was interrupted or lacks seats: asks those without an answer. `run` is the run's id, or `@` for
    /// the newest. Needs a folder, as all further parts of a run do.
    ///
    /// If the future of this, or of [`Panel::resend`], [`Panel::replay`] and [`Panel::add`], is dropped before it returned the
    /// handle, that part of the run is given up.
    pub async fn resume(&self, run: impl fmt::Display) -> Result<RunHandle, Error> {
        self.go_on(run, Continuation::Resume { resend: false, budget: None }).await
    }

    /// [`Panel::resume`], and asks seats again whose request was sent without a known end: they may be paid a second time.
    pub async fn resend(&self, run: impl fmt::Display) -> Result<RunHandle, Error> {
        self.go_on(run, Continuation::Resume { resend: true, budget: None }).await
    }

    /// Makes another text of a run's answers with this strategy, such as `vote`, and asks no seat again.
    pub async fn replay(
        &self,
        run: impl fmt::Display,
        strategy: impl Into<String>,
    ) -> Result<RunHandle, Error> {
        let request = RunRequest { strategy: Some(strategy.into()), ..RunRequest::default() };
        self.go_on(run, Continuation::Rewrite(request)).await
    }

    /// Asks further models the question of a run, and makes a text of all answers.
    pub async fn add<I>(&self, run: impl fmt::Display, models: I) -> Result<RunHandle, Error>
    where
        I: IntoIterator<Item: Into<String>>,
    {
        let models = models.into_iter().map(Into::into).collect();
        self.go_on(run, Continuation::Add(RunRequest { models: Some(models), ..RunRequest::default() })).await
    }

    async fn go_on(&self, run: impl fmt::Display, how: Continuation) -> Result<RunHandle, Error> {
        let (name, services) = (run.to_string(), self.0.services.clone());
        let quoting = async move { Box::pin(services.ask.quote(Order::on(name, how))).await };
        self.begin_quoted(quoting).await
    }

    /// The report of a run by its id: in progress, or stored in the folder.
    pub async fn report(&self, run: impl fmt::Display) -> Result<Report, Error> {
        let found = Box::pin(self.0.services.runs.find(&run.to_string())).await.map_err(refused)?;
        let report = match found {
            KnownRun::Live(handle) => handle.report(),
            KnownRun::Past(past) => past.report(),
        };
        Ok(report.in_vocabulary(&LIBRARY))
    }

    /// An observer's handle on a run of this folder, which another process may do. It cannot give the run up.
    pub async fn watch(&self, run: impl fmt::Display) -> Result<RunHandle, Error> {
        let watched = Box::pin(self.0.services.runs.watch(&run.to_string())).await.map_err(refused)?;
        Ok(RunHandle::new(watched, &self.0))
    }

    /// Makes a token that admits a program to a server of this panel, such as `ci`. Tokens are kept in the folder.
    pub async fn make_token(&self, name: impl Into<String>) -> Result<SecretString, Error> {
        let request = TokenRequest {
            name: name.into(),
            scopes: Vec::new(),
            budget_day: None,
            requests_per_minute: None,
            lifetime_ms: None,
        };
        let made = self.0.services.access.create_token(request).await.map_err(refused)?;
        Ok(made.secret)
    }

    /// Begins nothing more, waits for the runs in progress for at most `drain` (25 seconds unless the builder says
    /// otherwise), gives up the others and stores how they ended, and closes the database and every connection. A question
    /// whose run has not begun ends with [`Error::Closed`].
    pub async fn close(&self) {
        self.0.closed.cancel();
        let close_by = Instant::now() + Duration::from_millis(self.0.services.settings.drain_ms);
        self.0.beginning.close();
        // What begins after this, although it must not, is aborted as soon as it has.
        let _ = timeout_at(close_by, self.0.beginning.wait()).await;
        self.0.services.close_and_live_on(close_by.saturating_duration_since(Instant::now())).await;
        self.0.services.abandon();
        self.0.ended.cancel();
    }

    fn check_open(&self) -> Result<(), Error> {
        if self.0.closed.is_cancelled() { Err(Error::Closed) } else { Ok(()) }
    }
}

/// A run that has begun and whose handle nobody has taken. Dropping it gives the run up.
struct Unclaimed(Option<RunHandle>);

impl Unclaimed {
    fn claim(mut self) -> Result<RunHandle, Error> {
        self.0.take().ok_or(Error::Closed)
    }
}

impl Drop for Unclaimed {
    fn drop(&mut self) {
        if let Some(unwanted) = &self.0 {
            unwanted.cancel();
        }
    }
}

/// Gives a run up when its caller is dropped, or does not want late seats.
struct GiveUpOnDrop<'a> {
    handle: &'a RunHandle,
    wants_late_seats: bool,
}

impl Drop for GiveUpOnDrop<'_> {
    fn drop(&mut self) {
        if !self.wants_late_seats {
            self.handle.cancel();
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "the shape of `map_err`")]
fn refused(failure: Failure) -> Error {
    Error::Refused(Cause::of(&failure))
}

/// An amount in USD as the settings read it.
pub(crate) fn usd(amount: f64) -> String {
    // `Display` never writes an exponent; what is no amount is refused when it is read.
    format!("{amount}")
}

/// An amount in USD. Fails for what is no amount.
pub(crate) fn amount(usd: f64) -> Option<PicoUsd> {
    PicoUsd::from_decimal(&self::usd(usd))
}
