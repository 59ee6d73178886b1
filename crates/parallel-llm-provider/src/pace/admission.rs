//! Decides when a call may be sent, and learns from its reply.
//!
//! Combines the [concurrency limits](super::concurrency), the rate limit [gates](super::gate) and the [circuit
//! breakers](super::breaker). Invariants: a call that waits at a gate holds no slot; a call that waits for a slot has
//! not entered a gate; a call that is dropped at any step gives back everything it holds.

use std::sync::Arc;
use std::time::Duration;

use parallel_llm_engine::port::ReplyPart;
use parallel_llm_engine::{Code, Failure, ModelRef};

use super::breaker::{Breakers, Circuit, Token};
use super::concurrency::{CallSlot, ConcurrencyLimits, SlotRequest};
use super::gate::{Gates, Pass, Waiter};
use crate::wire::classify::Scope;

/// Everything that is checked before a call is sent.
#[derive(Debug)]
pub(crate) struct Admission {
    limits: ConcurrencyLimits,
    gates: Arc<Gates>,
    breakers: Arc<Breakers>,
}

/// The permission to make one call, until it is dropped.
#[derive(Debug)]
pub(crate) struct Admitted {
    pass: Pass,
    token: Arc<Token>,
    scope: Scope,
    _slot: Option<CallSlot>,
}

impl Admission {
    pub(crate) fn new(limits: ConcurrencyLimits) -> Self {
        Self { limits, gates: Arc::default(), breakers: Arc::default() }
    }

    /// Waits until this call to this model may be sent. Fails at once when waiting would not help.
    pub(crate) async fn admit(&self, request: &SlotRequest, model: &ModelRef) -> Result<Admitted, Failure> {
        let mut waiter = Waiter::default();
        // Repeats when the gate closed while the call waited for a slot, or when another call became its probe.
        loop {
            self.breakers.check(model)?;
            self.gates.wait(model, &mut waiter).await?;
            let slot = self.limits.acquire(request, &model.provider).await;
            let Some(pass) = self.gates.enter(model) else { continue };
            let token = Arc::new(self.breakers.enter(model)?);
            return Ok(Admitted { pass, token, scope: Scope::default(), _slot: slot });
        }
    }

    /// The models whose circuit is open or half open.
    pub(crate) fn circuits(&self) -> Vec<Circuit> {
        self.breakers.circuits()
    }
}

impl Admitted {
    /// The provider has accepted the request and begun a reply.
    pub(crate) fn reply_began(&mut self) {
        self.pass.reply_began();
    }

    /// The provider has refused the request; if because of a limit, the limit has this scope.
    pub(crate) const fn refused(&mut self, scope: Scope) {
        self.scope = scope;
    }

    /// The callback to run if the reply is dropped because it is too slow.
    pub(crate) fn too_slow(&self) -> impl FnOnce(&Failure) + Send + use<> {
        let token = Arc::clone(&self.token);
        move |failure| token.failed(failure)
    }

    /// Records a part of the reply, or how the reply failed.
    pub(crate) fn record(&mut self, part: &Result<ReplyPart, Failure>) {
        match part {
            Ok(ReplyPart::Text(_) | ReplyPart::Reasoning) => self.token.succeeded(),
            Ok(_) => {}
            Err(failure) if failure.code == Code::RateLimited => {
                self.pass.limited(self.scope, failure.retry_after_ms.map(Duration::from_millis));
            }
            Err(failure) => self.token.failed(failure),
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;
    use parallel_llm_engine::{ProviderId, RunId};
    use tokio::time::Instant;

    use super::*;
    use crate::pace::concurrency::Share;

    const RUN: &SlotRequest = &SlotRequest {
        run_id: RunId::from_parts(1_700_000_000_000, 1),
        share: Share { is_batch: false, asked_by: None },
    };

    fn model(name: &str) -> ModelRef {
        ModelRef { provider: ProviderId("openrouter".to_owned()), model: name.to_owned() }
    }

    /// This many calls that fail together open a circuit.
    const BATCH: usize = 10;

    /// An admission whose key has this many slots.
    fn admission(calls_max: usize) -> Admission {
        Admission::new(ConcurrencyLimits::new([(ProviderId("openrouter".to_owned()), calls_max)], 2 * BATCH))
    }

    fn failed(code: Code) -> Result<ReplyPart, Failure> {
        Err(Failure::new(code, "x"))
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_waits_at_a_gate_holds_no_slot() {
        let admission = admission(1);
        admission.admit(RUN, &model("a")).await.unwrap().record(&failed(Code::RateLimited));
        let a = model("a");
        let mut waiting = std::pin::pin!(admission.admit(RUN, &a));
        assert!((&mut waiting).now_or_never().is_none());
        let other = admission.admit(RUN, &model("b")).now_or_never().expect("the only slot is free");
        tokio::time::advance(Duration::from_secs(2)).await;
        assert!((&mut waiting).now_or_never().is_none(), "now it waits for the slot");
        drop(other);
        assert!(waiting.now_or_never().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_waits_for_a_slot_sees_a_gate_that_closes_meanwhile() {
        let admission = admission(1);
        let mut first = admission.admit(RUN, &model("a")).await.unwrap();
        let a = model("a");
        let mut waiting = std::pin::pin!(admission.admit(RUN, &a));
        assert!((&mut waiting).now_or_never().is_none());
        first.record(&failed(Code::RateLimited));
        drop(first);
        assert!((&mut waiting).now_or_never().is_none());
        assert!(admission.admit(RUN, &model("b")).now_or_never().is_some(), "the slot was given back");
        let start = Instant::now();
        assert!(waiting.await.is_ok());
        assert_eq!(start.elapsed(), Duration::from_secs(1));
    }

    #[tokio::test(start_paused = true)]
    async fn a_waiting_call_sees_a_circuit_that_opens_meanwhile() {
        let admission = admission(BATCH);
        let mut admitted = Vec::new();
        for _ in 0..BATCH {
            admitted.push(admission.admit(RUN, &model("a")).await.unwrap());
        }
        let a = model("a");
        let mut waiting = std::pin::pin!(admission.admit(RUN, &a));
        assert!((&mut waiting).now_or_never().is_none());
        for call in &mut admitted {
            call.record(&failed(Code::Upstream));
        }
        drop(admitted);
        assert_eq!(waiting.await.unwrap_err().code, Code::CircuitOpen);
        assert_eq!(admission.circuits().len(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_probe_that_finds_the_circuit_open_leaves_the_gate_to_the_next_call() {
        let admission = admission(2 * BATCH);
        let mut admitted = Vec::new();
        for _ in 0..=BATCH {
            admitted.push(admission.admit(RUN, &model("a")).await.unwrap());
        }
        admitted.pop().unwrap().record(&failed(Code::RateLimited));
        for call in &mut admitted {
            call.record(&failed(Code::Upstream));
        }
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!(admission.admit(RUN, &model("a")).await.unwrap_err().code, Code::CircuitOpen);
        tokio::time::advance(Duration::from_secs(30)).await;
        let probe = admission.admit(RUN, &model("a")).await.unwrap();
        assert_eq!(
            admission.admit(RUN, &model("a")).await.unwrap_err().code,
            Code::CircuitOpen,
            "it is half open"
        );
        drop(probe);
        assert!(admission.admit(RUN, &model("a")).await.is_ok());
    }
}
