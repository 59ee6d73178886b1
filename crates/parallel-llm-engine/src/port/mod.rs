//! The engine's traits outward: how a model is called, how events become durable, and how an answer is checked.
//!
//! They are implemented by the provider, the store and the program; the engine holds them as trait objects, because one
//! process serves many runs and the choice is made once, where the program is put together.

pub mod memory;

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::future::BoxFuture;
use futures_util::stream::{BoxStream, Stream};

use crate::plan::RunPlan;
use crate::plan::caller_slot::CallerSlot;
use crate::request::panel::{ModelRef, SeatNumber};
use crate::request::routing::Routing;
use crate::request::{Effort, Message};
use crate::run::event::{Attempt, Recorded};
use crate::value::answer::{Failure, Finish};
use crate::value::id::RunId;
use crate::value::money::PicoUsd;
use crate::value::usage::Usage;
use crate::value::warning::Warning;

/// One request to one model, whole: nothing is looked up after this.
#[derive(Clone, Debug)]
pub struct Call {
    /// The run it belongs to; sent as the session, so that a provider can keep its cache warm.
    pub run_id: RunId,
    /// Whose request, and which try.
    pub attempt: Attempt,
    /// Which model.
    pub model: ModelRef,
    /// What is said to it.
    pub messages: Arc<[Message]>,
    /// Sampling temperature; `None` leaves it out.
    pub temperature: Option<f64>,
    /// Output cap in tokens, reasoning included.
    pub max_tokens: u32,
    /// How hard the model is asked to think; `None` leaves it out.
    pub effort: Option<Effort>,
    /// Whether the reply is to be one JSON object. Only where the model is known to keep to that.
    pub json: bool,
    /// The terms for the providers behind a router.
    pub routing: Arc<Routing>,
    /// Optional fields of the request that the provider has rejected and that are left out.
    pub without: Vec<String>,
}

/// A piece of a reply, in the order it came.
#[derive(Clone, Debug, PartialEq)]
pub enum ReplyPart {
    /// The provider took the request; comes once, before any text, where the provider names its calls.
    Accepted {
        /// The provider's name for the call.
        generation_id: String,
    },
    /// Bytes came that carry neither text nor reasoning, such as a keep-alive comment.
    Alive,
    /// Hidden reasoning. Its text is not kept.
    Reasoning,
    /// The next piece of the answer. Never empty.
    Text(String),
    /// The reply is whole. Nothing follows.
    End(ReplyEnd),
}

/// What a provider says at the end of a reply.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReplyEnd {
    /// Why the model stopped.
    pub finish: Option<Finish>,
    /// What it used.
    pub usage: Usage,
    /// What the provider says it cost.
    pub cost: Option<PicoUsd>,
    /// The model that answered.
    pub served_model: Option<String>,
    /// The provider's name for the call, where it came only now.
    pub generation_id: Option<String>,
    /// The words with which the model declined, where the protocol marks them as such.
    pub refusal: Option<String>,
    /// Whether a filter of the provider stopped the answer, and not the model itself.
    pub filtered: bool,
}

/// The pieces of one reply. It ends after [`ReplyPart::End`] or the first failure; dropping it closes the
/// connection to the provider.
pub struct ReplyStream {
    parts: BoxStream<'static, Result<ReplyPart, Failure>>,
    on_timeout: Option<OnTimeout>,
}

type OnTimeout = Box<dyn FnOnce(&Failure) + Send>;

impl ReplyStream {
    /// A reply of these parts.
    pub fn new(parts: impl Stream<Item = Result<ReplyPart, Failure>> + Send + 'static) -> Self {
        Self { parts: Box::pin(parts), on_timeout: None }
    }

    /// Has `learn` called where the reply is dropped because it was too slow, with what is said of that. A reply that
    /// is dropped without was not wanted any more, which says nothing of who gives it.
    #[must_use]
    pub fn with_on_timeout(mut self, learn: impl FnOnce(&Failure) + Send + 'static) -> Self {
        self.on_timeout = Some(Box::new(learn));
        self
    }

    /// Says that the reply was too slow and is about to be dropped.
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

/// The right to send one request now. Dropping it gives the right back; sending keeps it until the reply is
/// dropped.
pub struct Permit {
    send: Box<dyn FnOnce() -> ReplyStream + Send>,
    stops_billing: bool,
}

impl Permit {
    /// A permit that sends by calling `send`. Closing its connection is taken to stop its cost.
    pub fn new(send: impl FnOnce() -> ReplyStream + Send + 'static) -> Self {
        Self { send: Box::new(send), stops_billing: true }
    }

    /// Says whether closing the connection stops what the request costs. Where it does not, a run that is given up
    /// still reads the reply to its end: it is paid for either way.
    #[must_use]
    pub const fn with_stops_billing(mut self, stops_billing: bool) -> Self {
        self.stops_billing = stops_billing;
        self
    }

    /// Whether closing the connection stops what the request costs.
    pub const fn stops_billing(&self) -> bool {
        self.stops_billing
    }

    /// Sends the request. Its bytes leave when the reply is first polled.
    pub fn send(self) -> ReplyStream {
        (self.send)()
    }
}

impl std::fmt::Debug for Permit {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Permit")
    }
}

/// What a provider says of a request afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charge {
    /// What it cost.
    pub cost: PicoUsd,
    /// What it used.
    pub usage: Usage,
}

/// How a model is called.
pub trait Caller: Send + Sync + 'static {
    /// Waits until the call may be sent: within the bounds of calls at once, past a shared wait. Fails where it
    /// may never be, for instance because there is no key. Costs nothing and sends nothing.
    fn admit(&self, call: Call) -> BoxFuture<'static, Result<Permit, Failure>>;

    /// Asks the provider what a request cost that nobody heard the end of; `None` where it never says, and a failure
    /// that is worth a retry where it does not say yet. `generation_id` is the provider's own name for the request. Bounded by the caller's own timers; costs nothing.
    fn look_up(
        &self,
        model: &ModelRef,
        generation_id: &str,
    ) -> BoxFuture<'static, Result<Option<Charge>, Failure>>;
}

/// An answer to be checked.
#[derive(Clone, Debug)]
pub struct AnswerToCheck {
    /// Whose it is.
    pub seat: SeatNumber,
    /// Its whole text, as the model wrote it. A stranger's: it may be made to do harm to whoever runs it.
    pub text: Arc<str>,
}

/// What a check says of an answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Grade {
    /// Whether it passes.
    pub passed: bool,
    /// How well, from 0 to 1, where the check says so. Counts only beside the scores of others that pass.
    pub score: Option<f64>,
    /// What the check says of it for people.
    pub said: Option<Arc<str>>,
}

/// The user's own way of telling whether an answer is right, such as running it.
pub trait Checker: Send + Sync + 'static {
    /// Checks one answer. Costs no money, so it may be done again. Fails where nothing can be said of the answer: the check could
    /// not be run, or took longer than it may. Dropped where the run is given up or its time is over; whatever was started
    /// for it then ends, too.
    fn check(&self, candidate: AnswerToCheck) -> BoxFuture<'static, Result<Grade, Failure>>;
}

/// The right to write one run's history. A store refuses an append whose epoch is not its newest, so a process
/// that was paused and overtaken cannot write over its successor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Which run.
    pub run_id: RunId,
    /// Grows by one with every process that takes the run over.
    pub epoch: u64,
    /// The number the next event gets.
    pub next_seq: u64,
}

/// How events become durable.
pub trait Journal: Send + Sync + 'static {
    /// Takes the right to write a new run's history. Nothing need be durable yet: the plan becomes so with the
    /// first append.
    fn open(&self, plan: Arc<RunPlan>) -> BoxFuture<'static, Result<Lease, Failure>>;

    /// Takes over the history of a run whose process is gone, or that is over; whoever had it is refused from now on.
    /// Fails with `busy`, and leaves the run as it is, where more has happened in it than its event `seq`: what the caller
    /// knows of it is not all there is, so seats could be asked again that have answered.
    fn reopen(&self, run_id: RunId, seq: u64) -> BoxFuture<'static, Result<Lease, Failure>>;

    /// Makes the events durable, all or none, in one commit. The caller goes on only when they are.
    fn append(&self, lease: Lease, events: Vec<Recorded>) -> BoxFuture<'static, Result<(), Failure>>;

    /// What whoever reads the run is to know of how its events are kept, once some of them could not be kept as usual.
    fn notice(&self, _run_id: RunId) -> Option<Warning> {
        None
    }

    /// Whether the day's limits of a run hold one more request of this place. Asked before each request of a run with limits
    /// that has begun: a provider may bill more than its prices say. What has happened is durable by then.
    fn check_day(&self, plan: Arc<RunPlan>, slot: CallerSlot) -> BoxFuture<'static, Result<(), Failure>>;

    /// Keeps the text of a reply on its way, in place of what was kept of it before. Best effort: it is never
    /// waited for on a path that costs the user time.
    fn checkpoint(
        &self,
        lease: Lease,
        attempt: Attempt,
        text: String,
    ) -> BoxFuture<'static, Result<(), Failure>>;
}
