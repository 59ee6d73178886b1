//! What something will cost and may cost at most, as people are told before anything is paid.

use parallel_llm_engine::plan::slots::TYPICAL_REPLY_TOKENS;
use parallel_llm_engine::plan::worst_case::{self, WorstCase};
use parallel_llm_engine::run::Run;
use parallel_llm_engine::{ModelRef, PicoUsd, Reopening, RunPlan};

/// What a run, or all runs of a batch, will cost.
#[derive(Clone, Debug, Default)]
pub struct ExpectedCost {
    /// What it will cost if replies are of the usual length, as far as prices are known.
    likely: PicoUsd,
    /// The most it can cost if no call fails.
    pub worst_case: WorstCase,
    /// The most it can cost if calls are repeated or made by others, as far as prices are known.
    pub most: PicoUsd,
    /// The models whose price is that of another provider, each once.
    estimated: Vec<ModelRef>,
}

impl ExpectedCost {
    /// What a run of this plan will cost.
    pub fn of(plan: &RunPlan) -> Self {
        let worst_case = plan.worst_case.clone().plus(&plan.unlisted());
        Self { worst_case, ..Self::of_begun(plan) }
    }

    /// What a run of this plan costs that has begun. Where something bounds its cost, models are not asked that their provider
    /// does not list.
    pub fn of_begun(plan: &RunPlan) -> Self {
        let unlisted = if plan.is_limited() { WorstCase::ZERO } else { plan.unlisted() };
        let worst_case = plan.worst_case.clone().plus(&unlisted);
        Self { likely: plan.likely_cost(), worst_case, most: plan.most(), estimated: plan.estimated() }
    }

    /// What a further part of this run costs that has begun with this reserved.
    pub fn of_part(part: &Reopening, run: &Run, reserved: PicoUsd) -> Self {
        let worst_case = match part.worst_case(&run.plan, run.chain()) {
            WorstCase::Known(_) => WorstCase::Known(reserved),
            unknown @ WorstCase::Unknown { .. } => unknown,
        };
        Self { worst_case, most: part.most(&run.plan, run.chain()), ..Self::default() }
    }

    /// Both together.
    #[must_use]
    pub fn plus(mut self, other: &Self) -> Self {
        let more: Vec<ModelRef> =
            other.estimated.iter().filter(|model| !self.estimated.contains(model)).cloned().collect();
        self.estimated.extend(more);
        Self {
            likely: self.likely.plus(other.likely),
            worst_case: self.worst_case.plus(&other.worst_case),
            most: self.most.plus(other.most),
            ..self
        }
    }

    /// What it will likely cost; `None` if a model has no known price.
    pub fn likely(&self) -> Option<PicoUsd> {
        self.worst_case.known().map(|_| self.likely)
    }

    /// In words, with the length of a reply that it counts on: `about $0.02 with 1500 tokens for each reply, at most $0.27`.
    pub fn explained(&self) -> String {
        self.told(&format!(" with {TYPICAL_REPLY_TOKENS} tokens for each reply"))
    }

    /// The most that it costs, in words: `at most $0.27 if no call fails`, or why nobody knows.
    pub fn bound(&self) -> String {
        let amount = self.worst_case.known_part();
        let condition = if self.most > amount { " if no call fails" } else { "" };
        match self.worst_case.unpriced_words() {
            None => format!("at most {amount}{condition}"),
            Some(models) => format!("at an unknown cost, because no price is known for {models}"),
        }
    }

    fn told(&self, condition: &str) -> String {
        let Some(unpriced) = self.worst_case.unpriced_words() else {
            let estimated = match self.estimated.as_slice() {
                [] => String::new(),
                models => format!(", by OpenRouter's prices for {}", worst_case::names(models)),
            };
            return format!("about {}{condition}, {}{estimated}", self.likely, self.bound());
        };
        let others = match self.likely {
            PicoUsd::ZERO => String::new(),
            likely => format!("; the others cost about {likely}"),
        };
        format!("unknown, because no price is known for {unpriced}{others}")
    }
}

impl std::fmt::Display for ExpectedCost {
    /// In words: `about $0.02, at most $0.27 if no call fails`, or `cost unknown, because no price is known for `lab/a``.
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let noun = if self.likely().is_none() { "cost " } else { "" };
        write!(out, "{noun}{}", self.told(""))
    }
}
