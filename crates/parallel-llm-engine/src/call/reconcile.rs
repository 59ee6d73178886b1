//! Finding out what a request cost of which nobody heard the end: its provider is asked by its own name for it.
//!
//! It happens beside the run and holds up nothing but its close. What cannot be found out stays unknown.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::join_all;
use tokio::time::{sleep, timeout};

use crate::call::run_context::RunContext;
use crate::port::Charge;
use crate::request::panel::ModelRef;
use crate::run::Run;
use crate::run::event::Event;

/// How long providers are asked.
const LOOK_UP_MAX: Duration = Duration::from_secs(10);
/// How long after a failure that may pass it is asked again: an account is often written a second or two after its
/// request has ended, and sometimes only minutes after.
const AGAIN_AFTER: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(3)];

/// Notes what the requests of earlier parts cost, as far as their providers tell.
pub(crate) async fn look_up(context: &RunContext, before: &Run) {
    let lookups = before.views().filter_map(|view| {
        let (attempt, generation_id) = view.unheard_of()?;
        // A panic costs this answer only.
        let asked = AssertUnwindSafe(ask(context, &view.model, generation_id)).catch_unwind();
        Some(async move { Some((attempt, timeout(LOOK_UP_MAX, asked).await.ok()?.ok()??)) })
    });
    let found: Vec<_> = tokio::select! {
        biased;
        // Whoever gives the run up does not wait for its account.
        () = context.stop.cancelled() => return,
        found = join_all(lookups) => found.into_iter().flatten().collect(),
    };
    if found.is_empty() {
        return;
    }
    for (attempt, charge) in found {
        context.log.stage(Event::Reconciled { attempt, cost: charge.cost, usage: charge.usage });
    }
    // A failed write is told by whatever is written next.
    let _ = context.log.commit().await;
}

async fn ask(context: &RunContext, model: &ModelRef, generation_id: &str) -> Option<Charge> {
    let mut waits = AGAIN_AFTER.into_iter();
    loop {
        match context.caller.look_up(model, generation_id).await {
            Ok(charge) => return charge,
            Err(failure) if failure.retryable => sleep(waits.next()?).await,
            Err(_) => return None,
        }
    }
}
