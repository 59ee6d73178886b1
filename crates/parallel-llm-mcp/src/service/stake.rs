//! What is at stake: the most that something may cost, said before anybody is asked whether it may.
//!
//! Nothing is begun here and nothing is paid.

use parallel_llm_engine::{Failure, PicoUsd};

use super::{Further, Question, Scope, Service};

/// What something may cost, and what it is allowed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stake {
    /// The most it can cost, as far as prices are known.
    pub worst_case: PicoUsd,
    /// The most it may cost: its own budget, else that of its preset, else that of the settings.
    pub budget: PicoUsd,
}

impl Service {
    /// What a question puts at stake. Fails where it cannot be asked whatever it costs.
    pub async fn stake(&self, mut question: Question) -> Result<Stake, Failure> {
        self.asker().check(Scope::Ask)?;
        let mut defaults = self.settings().defaults();
        if let Some(name) = &question.preset {
            self.settings().preset(name)?.fill(&mut question.request, &mut defaults);
        }
        let budget = question.request.budget.unwrap_or(defaults.budget);
        question.request.budget = Some(PicoUsd::MAX);
        Ok(Stake { worst_case: self.plan(question).await?.worst_case, budget })
    }

    /// What going on with a run puts at stake, besides what it has cost. Fails where it cannot be gone on with.
    pub async fn stake_further(&self, name: &str, further: &Further) -> Result<Stake, Failure> {
        self.asker().check(Scope::Ask)?;
        let run = self.find(name).await?.run();
        let part = self.part(&run, &further.clone().within(PicoUsd::MAX)).await?;
        let budget = further.budget().unwrap_or_else(|| self.settings().defaults().budget);
        Ok(Stake { worst_case: part.worst_case(&run.plan, run.chain()), budget })
    }
}
