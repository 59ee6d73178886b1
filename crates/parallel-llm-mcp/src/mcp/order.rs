//! What a call orders that costs money: a question, or going on with a run. It is begun here, and nowhere without the
//! user's word where it may cost more than the settings allow.
//!
//! The word is asked of clients that can show a form, and only where the owner asks: the holder of a token cannot go
//! beyond what was granted. What always holds: an order that was approved has exactly the approved amount as its
//! budget, and one call asks at most once.

use parallel_llm_engine::{Code, Failure, PicoUsd};
use rmcp::model::InputRequiredResult;

use super::call::Call;
use super::confirm::{Excess, Word};
use crate::service::{Further, Question, RunHandle, Service, Stake};

/// What is ordered.
#[derive(Clone)]
pub(super) enum Order {
    /// The answers of a panel.
    Ask(Question),
    /// More of a run, by its name.
    GoOn(String, Further),
}

/// What came of an order.
pub(super) enum Begun {
    /// It is on its way.
    Run(RunHandle),
    /// Nothing has been begun: the client is to ask its user first.
    Asked(InputRequiredResult),
}

/// Begins an order, with the user's word where it needs that and the user can be asked. Without it nothing is paid.
pub(super) async fn begin(call: &Call, order: Order) -> Result<Begun, Failure> {
    if let Some(word) = call.word() {
        let approved = obey(order, word)?;
        return approved.begin(&call.service).await.map(Begun::Run);
    }
    let kept = call.can_ask_user().then(|| order.clone());
    let refused = match try_within(call, order).await {
        Err(failure) if failure.code == Code::Budget => failure,
        begun => return begun.map(Begun::Run),
    };
    let Some(order) = kept else { return Err(refused) };
    let Some(excess) = order.excess(&call.service).await? else { return Err(refused) };
    if call.carries_questions() {
        return call.question(excess).map(Begun::Asked).ok_or(refused);
    }
    let word = call.ask_user(excess, &refused).await?;
    obey(order, word)?.begin(&call.service).await.map(Begun::Run)
}

/// Begins an order within what the settings allow.
async fn try_within(call: &Call, order: Order) -> Result<RunHandle, Failure> {
    check_budget(order.budget(), call.service.settings().budget)?;
    order.begin(&call.service).await
}

/// A model that calls a tool may spend less than the user allows, never more by itself.
fn check_budget(wished: Option<PicoUsd>, allowed: PicoUsd) -> Result<(), Failure> {
    match wished {
        Some(wished) if wished > allowed => {
            let message = format!("`budget_usd` is {wished}; the user's settings allow {allowed}");
            let next = format!("ask for at most {allowed}, or have the user raise the setting `budget_usd`");
            Err(Failure::new(Code::Budget, message).with_next(next))
        }
        _ => Ok(()),
    }
}

/// The order as the user wants it.
fn obey(order: Order, word: Word) -> Result<Order, Failure> {
    match word {
        Word::Approved(excess) => Ok(order.within(excess.amount)),
        Word::Declined(Excess { worst_case, limit, .. }) => {
            let message = format!(
                "the call may cost up to {worst_case}; the setting `budget_usd` allows {limit}, and the user declined to go beyond it"
            );
            let next = "ask fewer or cheaper models, or lower `max_tokens`";
            Err(Failure::new(Code::Budget, message).with_next(next))
        }
    }
}

impl Order {
    /// The most it may cost, where that is said.
    const fn budget(&self) -> Option<PicoUsd> {
        match self {
            Self::Ask(question) => question.request.budget,
            Self::GoOn(_, further) => further.budget(),
        }
    }

    fn within(self, amount: PicoUsd) -> Self {
        match self {
            Self::Ask(mut question) => {
                question.request.budget = Some(amount);
                Self::Ask(question)
            }
            Self::GoOn(name, further) => Self::GoOn(name, further.within(amount)),
        }
    }

    async fn begin(self, service: &Service) -> Result<RunHandle, Failure> {
        match self {
            Self::Ask(question) => service.ask(question).await,
            Self::GoOn(name, further) => service.go_on(&name, further).await,
        }
    }

    /// What the user would have to approve; `None` where that would change nothing, because the call's own budget does
    /// not hold its worst case or because another limit refuses it.
    async fn excess(&self, service: &Service) -> Result<Option<Excess>, Failure> {
        let wished = self.budget();
        let Stake { worst_case, budget } = match self {
            Self::Ask(question) => service.stake(question.clone()).await?,
            Self::GoOn(name, further) => service.stake_further(name, further).await?,
        };
        let limit = if wished.is_some() { service.settings().budget } else { budget };
        let amount = wished.unwrap_or(worst_case);
        Ok((worst_case <= amount && amount > limit).then_some(Excess { worst_case, amount, limit }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_calling_model_may_not_spend_more_than_the_user_allows() {
        let allowed = PicoUsd::from_usd(3);
        assert!(check_budget(None, allowed).is_ok() && check_budget(Some(allowed), allowed).is_ok());
        let refused = check_budget(Some(PicoUsd::from_usd(4)), allowed).unwrap_err();
        assert_eq!(
            (refused.code, refused.message.as_str()),
            (Code::Budget, "`budget_usd` is $4.00; the user's settings allow $3.00")
        );
    }
}
