//! Looks up the cost of requests whose end is unknown, by their provider's id.
//!
//! The lookups run beside the run and delay nothing but its close. A cost that cannot be found stays unknown.

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

/// The most time the lookup of one request may take.
const LOOK_UP_MAX: Duration = Duration::from_secs(10);
/// The waits before the lookup is repeated after a retryable failure. Providers often know the cost a second or two after
/// the end of a request, sometimes only minutes after.
const RETRY_AFTER: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(3)];

/// Records the cost of requests of earlier parts, as far as their providers report it.
pub(crate) async fn look_up(context: &RunContext, before: &Run) {
    let lookups = before.views().filter_map(|view| {
        let (attempt, generation_id) = view.unreconciled_request()?;
        // A panic must fail this lookup alone.
        let asked = AssertUnwindSafe(ask(context, &view.model, generation_id)).catch_unwind();
        Some(async move { Some((attempt, timeout(LOOK_UP_MAX, asked).await.ok()?.ok()??)) })
    });
    let found: Vec<_> = tokio::select! {
        biased;
        // A cancelled run does not wait for lookups.
        () = context.stop.cancelled() => return,
        found = join_all(lookups) => found.into_iter().flatten().collect(),
    };
    if found.is_empty() {
        return;
    }
    for (attempt, charge) in found {
        context.log.stage(Event::Reconciled { attempt, cost: charge.cost, usage: charge.usage });
    }
    // The log reports a failed write to the next writer.
    let _ = context.log.commit().await;
}

async fn ask(context: &RunContext, model: &ModelRef, generation_id: &str) -> Option<Charge> {
    let mut waits = RETRY_AFTER.into_iter();
    loop {
        match context.caller.look_up(model, generation_id).await {
            Ok(charge) => return charge,
            Err(failure) if failure.retryable => sleep(waits.next()?).await,
            Err(_) => return None,
        }
    }
}
