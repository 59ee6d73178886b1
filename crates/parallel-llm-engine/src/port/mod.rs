//! The traits the engine calls out through: `Caller` for models, `Journal` for events, `Checker` for answers.
//!
//! The provider, the store and the program implement them. The engine holds trait objects, because the implementations are
//! chosen once per process.

pub mod memory;

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::future::{BoxFuture, FutureExt as _};
use futures_util::stream::{BoxStream, Stream};

use crate::plan::RunPlan;
use crate::plan::caller_slot::CallerSlot;
use crate::request::panel::{ModelRef, SeatNumber};
use crate::request::routing::Routing;
use crate::request::{Effort, Lineage, Message};
use crate::run::event::{Attempt, Recorded};
use crate::value::answer::{Failure, Finish};
use crate::value::code::Code;
use crate::value::id::RunId;
use crate::value::money::PicoUsd;
use crate::value::usage::Usage;
use crate::value::warning::Warning;

/// One request to one model. It is complete: nothing else is looked up to send it.
#[derive(Clone, Debug)]
pub struct Call {
    /// The run it belongs to; sent as the session, so that a provider can reuse its prompt cache.
    pub run_id: RunId,
    /// The caller slot and the number of the try.
    pub attempt: Attempt,
    /// The model.
    pub model: ModelRef,
    /// The messages it gets.
    pub messages: Arc<[Message]>,
    /// Sampling temperature; `None` leaves it out.
    pub temperature: Option<f64>,
    /// Output cap in tokens, reasoning included.
    pub max_tokens: u32,
    /// Reasoning effort; `None` leaves it out.
    pub effort: Option<Effort>,
    /// Whether to ask for JSON mode; only for models known to have it.
    pub json: bool,
    /// The terms for the providers behind a router.
    pub routing: Arc<Routing>,
    /// What it passes on of the run's own caller.
    pub lineage: Arc<Lineage>,
    /// The principal who asked; `None` for the owner.
    pub asked_by: Option<Arc<str>>,
    /// Optional request fields to leave out, because the provider rejected them.
    pub without: Vec<String>,
}

/// A piece of a reply, in the order it came.
#[derive(Clone, Debug, PartialEq)]
pub enum ReplyPart {
    /// The head of the reply has come. Comes once, before all other parts, if the caller sees heads.
    Connected,
    /// The provider accepted the request. Comes once, before any text, if the provider gives its calls ids.
    Accepted {
        /// The provider's id of the call.
        generation_id: String,
    },
    /// Bytes without text or reasoning, such as a keep-alive comment.
    Alive,
    /// Hidden reasoning. Its text is not kept.
    Reasoning,
    /// The next piece of the answer. Never empty.
    Text(String),
    /// The reply is whole. Nothing follows.
    End(ReplyEnd),
}

/// What a provider reports at the end of a reply.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplyEnd {
    /// Why the model stopped.
    pub finish: Option<Finish>,
    /// Its token counts.
    pub usage: Usage,
    /// Its cost, if the provider reports it.
    pub cost: Option<PicoUsd>,
    /// The model that answered.
    pub served_model: Option<String>,
    /// The provider's id of the call, if it comes only now.
    pub generation_id: Option<String>,
    /// The text of a refusal, if the protocol marks it as such.
    pub refusal: Option<String>,
    /// Whether a filter of the provider stopped the answer, and not the model itself.
    pub filtered: bool,
}

impl ReplyEnd {
    /// The failure of a reply that came to its end but is no whole answer; `None` for an answer. `silent` says that it has
    /// no text, or only white space; `thought` that it has reasoning.
    pub fn failure(&self, silent: bool, thought: bool) -> Option<Failure> {
        let capped = self.finish == Some(Finish::Length);
        match &self.refusal {
            _ if self.filtered => {
                return Some(Failure::new(
                    Code::Moderated,
                    "the provider's content filter stopped the answer",
                ));
            }
            Some(words) if silent => {
                return Some(Failure::new(Code::Refused, format!("the model declined: {words}")));
            }
            _ if !silent => return None,
            _ => {}
        }
        if capped && (thought || self.usage.reasoning_tokens.is_some_and(|tokens| tokens > 0)) {
            return Some(Failure::new(
                Code::ReasoningOnly,
                "the whole output was reasoning; no text was written",
            ));
        }
        Some(Failure::new(Code::Empty, "the model answered with nothing"))
    }
}

/// The pieces of one reply. It ends after [`ReplyPart::End`] or the first failure; dropping it closes the
/// connection to the provider.
pub struct ReplyStream {
    parts: BoxStream<'static, Result<ReplyPart, Failure>>,
    on_timeout: Option<OnTimeout>,
}

type OnTimeout = Box<dyn FnOnce(&Failure) + Send>;

impl ReplyStream {
    /// A stream of these parts.
    pub fn new(parts: impl Stream<Item = Result<ReplyPart, Failure>> + Send + 'static) -> Self {
        Self { parts: Box::pin(parts), on_timeout: None }
    }

    /// Sets a function that is called with the failure if the reply is dropped for being too slow. A reply dropped without
    /// such a call was no longer wanted, which is no fault of the model.
    #[must_use]
    pub fn with_on_timeout(mut self, learn: impl FnOnce(&Failure) + Send + 'static) -> Self {
        self.on_timeout = Some(Box::new(learn));
        self
    }

    /// Reports that the reply is dropped for being too slow.
    pub fn timed_out(&mut self, failure: &Failure) {
        if let Some(learn) = self.on_timeout.take() {
            learn(failure);
        }
    }
}

impl Stream for ReplyStream {
    type Item = Result<ReplyPart, Failure>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.parts.as_mut().poll_next(context)
    }
}

impl std::fmt::Debug for ReplyStream {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("ReplyStream")
    }
}

/// Whether a request may still leave, asked at the last moment: making its connection takes seconds at times, in which the
/// right to send may end.
#[derive(Clone)]
pub struct SendGuard(Arc<dyn Fn() -> Result<(), Failure> + Send + Sync>);

impl SendGuard {
    /// A guard that asks this function.
    pub fn new(check: impl Fn() -> Result<(), Failure> + Send + Sync + 'static) -> Self {
        Self(Arc::new(check))
    }

    /// A guard that lets everything leave.
    pub fn open() -> Self {
        Self::new(|| Ok(()))
    }

    /// Fails if the request may not leave any more.
    pub fn check(&self) -> Result<(), Failure> {
        (self.0)()
    }
}

impl std::fmt::Debug for SendGuard {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("SendGuard")
    }
}

/// The permission to send one request now. It is returned when it is dropped, or when the reply of the sent request is.
pub struct Permit {
    send: Box<dyn FnOnce(SendGuard) -> ReplyStream + Send>,
    stops_billing: bool,
}

impl Permit {
    /// A permit that sends by calling `send`, at once. Closing its connection is taken to stop its cost.
    pub fn new(send: impl FnOnce() -> ReplyStream + Send + 'static) -> Self {
        Self::guarded(|_| send())
    }

    /// A permit whose `send` asks the guard right before the bytes of the request leave.
    pub fn guarded(send: impl FnOnce(SendGuard) -> ReplyStream + Send + 'static) -> Self {
        Self { send: Box::new(send), stops_billing: true }
    }

    /// Sets whether closing the connection stops the cost of the request. If it does not, a cancelled run still reads the
    /// reply to its end, because it is paid for either way.
    #[must_use]
    pub const fn with_stops_billing(mut self, stops_billing: bool) -> Self {
        self.stops_billing = stops_billing;
        self
    }

    /// Whether closing the connection stops the cost of the request.
    pub const fn stops_billing(&self) -> bool {
        self.stops_billing
    }

    /// Sends the request. Its bytes leave when the reply is first polled.
    pub fn send(self) -> ReplyStream {
        self.send_guarded(SendGuard::open())
    }

    /// Sends the request unless the guard refuses it in the end.
    pub fn send_guarded(self, guard: SendGuard) -> ReplyStream {
        (self.send)(guard)
    }
}

impl std::fmt::Debug for Permit {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Permit")
    }
}

/// The cost and usage of a request that a provider reports afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charge {
    /// Its cost.
    pub cost: PicoUsd,
    /// Its token counts.
    pub usage: Usage,
}

/// Calls models.
pub trait Caller: Send + Sync + 'static {
    /// Waits until the call may be sent: for a free connection, and for the end of a shared wait. Fails if it may never be
    /// sent, for instance because there is no key. Sends nothing, so it costs nothing.
    fn admit(&self, call: Call) -> BoxFuture<'static, Result<Permit, Failure>>;

    /// Asks the provider for the cost of a request whose end is unknown. `None` if the provider never reports it, a
    /// retryable failure if it does not know it yet. `generation_id` is the provider's id of the request. The caller bounds the wait with
    /// its own timers.
    fn look_up(
        &self,
        model: &ModelRef,
        generation_id: &str,
    ) -> BoxFuture<'static, Result<Option<Charge>, Failure>>;
}

/// An answer to check.
#[derive(Clone, Debug)]
pub struct AnswerToCheck {
    /// The seat that gave it.
    pub seat: SeatNumber,
    /// Its whole text, as the model wrote it. It is foreign code and may try to do harm when it is run.
    pub text: Arc<str>,
}

/// The result of a check.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grade {
    /// Whether it passes.
    pub passed: bool,
    /// A score from 0 to 1, if the check gives one. It is compared only among answers that pass.
    pub score: Option<f64>,
    /// The beginning of the check's stderr.
    pub stderr: Option<Arc<str>>,
}

/// Checks answers in the user's own way, such as by running them.
pub trait Checker: Send + Sync + 'static {
    /// Checks one answer. It costs no money, so it may be repeated. Fails if the check could not run or ran too long. If the
    /// run is cancelled or its time is over, the future is dropped and must end whatever it started.
    fn check(&self, candidate: AnswerToCheck) -> BoxFuture<'static, Result<Grade, Failure>>;
}

/// The right to append to one run. A store refuses an append whose epoch is not the newest, so a process that was paused
/// and overtaken cannot write over its successor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The run.
    pub run_id: RunId,
    /// Grows by one with each process that takes the run over.
    pub epoch: u64,
    /// The number the next event gets.
    pub next_seq: u64,
}

/// Makes events durable.
pub trait Journal: Send + Sync + 'static {
    /// Opens a new run. The plan need not be durable before the first append.
    fn open(&self, plan: Arc<RunPlan>) -> BoxFuture<'static, Result<Lease, Failure>>;

    /// Takes over a run that is closed or whose process has ended. The previous holder is refused from now on. Fails with
    /// `busy` and changes nothing if the run has events after `seq`: the caller does not know all of it and might ask seats
    /// again that have answered.
    fn reopen(&self, run_id: RunId, seq: u64) -> BoxFuture<'static, Result<Lease, Failure>>;

    /// Makes the events durable in one commit, all or none.
    fn append(&self, lease: Lease, events: Vec<Recorded>) -> BoxFuture<'static, Result<(), Failure>>;

    /// Whether it is a queue: appends of a run may be given to it while earlier ones are under way. An append takes its place when
    /// it is polled first. It makes them durable in that order, and none after one that has failed. A journal that is no queue gets one append of a run at a time.
    fn is_queue(&self) -> bool {
        false
    }

    /// Whether a request of this run may leave now. Asked when its `Sent` is durable, and again when its connection stands: where
    /// several processes share a journal, one whose lease is over sends nothing, since another may do the run.
    fn may_send(&self, _lease: Lease) -> bool {
        true
    }

    /// Returns when another process is known to have taken the run over. What is appended after that is kept, and merged into
    /// the run later.
    fn overtaken(&self, _lease: Lease) -> BoxFuture<'static, ()> {
        std::future::pending().boxed()
    }

    /// A warning for readers of the run, if its events could not be kept as usual.
    fn notice(&self, _run_id: RunId) -> Option<Warning> {
        None
    }

    /// Fails if the limits of the day do not allow one more request of this slot. Called before each request after the first,
    /// once all earlier events are durable, because a provider may bill more than its prices say. `worst_case` is the most that
    /// it can cost; `None` if its price is unknown.
    fn check_day(
        &self,
        plan: Arc<RunPlan>,
        slot: CallerSlot,
        worst_case: Option<PicoUsd>,
    ) -> BoxFuture<'static, Result<(), Failure>>;

    /// Keeps the text of a streaming reply, in place of its earlier checkpoint. Best effort: no path that costs the user time
    /// waits for it.
    fn checkpoint(
        &self,
        lease: Lease,
        attempt: Attempt,
        text: String,
    ) -> BoxFuture<'static, Result<(), Failure>>;
}
