//! A journal of one's own: every event of a run is kept before it counts. `OPENROUTER_API_KEY=... cargo run --features
//! examples --example journal`.
#![allow(clippy::print_stdout, reason = "an example prints its result")]

use std::sync::{Arc, Mutex};

use parallel_llm_mcp::port::{
    Attempt, BoxFuture, CallerSlot, Failure, Journal, Lease, PicoUsd, Recorded, RunPlan,
};
use parallel_llm_mcp::{Code, Error, Panel, PanelBuilder, RunId};

#[tokio::main]
#[allow(dead_code, reason = "the tests call `run` with a panel of their own")]
async fn main() -> Result<(), Error> {
    println!("{}", run(Panel::builder().from_environment()).await?);
    Ok(())
}

/// Keeps each event as a line of JSON. A real one would write to a database, and return when it is durable.
#[derive(Default)]
struct Lines(Mutex<Vec<String>>);

impl Journal for Lines {
    fn open(&self, plan: Arc<RunPlan>) -> BoxFuture<'static, Result<Lease, Failure>> {
        Box::pin(async move { Ok(Lease { run_id: plan.run_id, epoch: 1, next_seq: 1 }) })
    }

    fn reopen(&self, _: RunId, _: u64) -> BoxFuture<'static, Result<Lease, Failure>> {
        let failure = Failure::new(Code::Usage, "this journal is written and never read");
        Box::pin(async { Err(failure) })
    }

    fn append(&self, _: Lease, events: Vec<Recorded>) -> BoxFuture<'static, Result<(), Failure>> {
        let mut lines = self.0.lock().expect("no one panics while it is locked");
        // Texts are not part of an event's JSON, only their hashes: a real journal would keep them beside it.
        lines.extend(events.iter().filter_map(|event| serde_json::to_string(event).ok()));
        Box::pin(async { Ok(()) })
    }

    fn check_day(
        &self,
        _: Arc<RunPlan>,
        _: CallerSlot,
        _: Option<PicoUsd>,
    ) -> BoxFuture<'static, Result<(), Failure>> {
        Box::pin(async { Ok(()) })
    }

    fn checkpoint(&self, _: Lease, _: Attempt, _: String) -> BoxFuture<'static, Result<(), Failure>> {
        Box::pin(async { Ok(()) })
    }
}

/// Asks one model, and returns the lines of the journal.
pub(crate) async fn run(builder: PanelBuilder) -> Result<String, Error> {
    let journal = Arc::new(Lines::default());
    let kept: Arc<dyn Journal> = Arc::clone(&journal) as _;
    let panel = builder.in_memory().journal(kept).build()?;
    panel.begin("Why is the sky blue?").await?.wait_closed().await?;
    panel.close().await;
    let lines = journal.0.lock().expect("no one panics while it is locked");
    Ok(lines.join("\n"))
}
