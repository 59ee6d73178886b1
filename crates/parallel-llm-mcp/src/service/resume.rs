//! Resuming: a run that was interrupted goes on where it stopped.

use parallel_llm_engine::panel::Seat;
use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::{Code, Failure, RunStatus};

use super::{Kept, RunHandle, Service};

impl Service {
    /// Takes up an interrupted run. Seats without an answer are asked, those that were sent and never heard of
    /// are not: they may have been paid.
    pub async fn resume(&self, name: &str) -> Result<RunHandle, Failure> {
        let past = match self.find(name).await? {
            Kept::Live(handle) => return Ok(handle),
            Kept::Past(past) => past,
        };
        let run = past.run;
        if run.status != RunStatus::Interrupted {
            let message =
                format!("the run {} is {}; there is nothing to resume", run.plan.run_id, run.status.as_str());
            return Err(Failure::new(Code::Usage, message).with_next("see it with `runs show`"));
        }
        if run.plan.store != StoreMode::Full {
            let message =
                format!("the texts of run {} were not kept, so it cannot be finished", run.plan.run_id);
            return Err(Failure::new(Code::Usage, message).with_next("ask again; `--store full` keeps texts"));
        }
        // The synthesizers need no key: without one the best answer is chosen.
        let seats = run.plan.seats.iter().zip(&run.seats);
        let unasked: Vec<&Seat> =
            seats.filter(|(_, view)| !view.is_settled()).map(|(seat, _)| seat).collect();
        self.check_keys(&[], &unasked).await?;
        self.runs().await?.resume(run, self.output_dir()).await
    }
}
