//! What a call orders that costs money: a question, or going on with a run. It is begun here, and nowhere without the
//! user's word where it may cost more than the settings allow.
//!
//! The word is asked of clients that can show a form, and only where the owner asks: the holder of a token cannot go
//! beyond what was granted. What always holds: an order is resolved once, and once more where its user approved it; an
//! order that was approved has exactly the approved amount as its budget, and one call asks at most once.

use parallel_llm_engine::value::next::{Advice, Limit, Next};
use parallel_llm_engine::{Code, Failure, PicoUsd};
use rmcp::model::InputRequiredResult;

use super::call::{Call, besides};
use super::confirm::{Excess, Word};
use parallel_llm_service::{Continuation, Principal, Question, Quote, QuotedCost, RunHandle, Services};

/// What is ordered.
#[derive(Clone)]
pub(super) enum Order {
    /// The answers of a panel.
    Ask(Question),
    /// More of a run, by its name.
    GoOn(String, Continuation),
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
        return approved(call, order, word).await;
    }
    let (budget, thrift) = (order.budget(), order.thrift());
    let kept = call.can_ask_user().then(|| order.clone());
    let quote = order.propose(&call.service).await?;
    let wish = Wish { cost: quote.cost(), budget, allowed: call.service.settings.budget };
    let Err(refused) = wish.check(quote.check()) else {
        return quote.begin().await.map(Begun::Run);
    };
    let refused = refused.with_next(wish.next(thrift, &call.service.principal));
    // It holds the question a second time, and the user may take minutes.
    drop(quote);
    let Some(excess) = wish.excess() else { return Err(refused) };
    let Some(order) = kept else {
        return Err(match &call.service.principal {
            Principal::Owner => besides(&refused, "this client cannot ask its user to allow more"),
            Principal::TokenHolder(_) => refused,
        });
    };
    if call.carries_questions() {
        return call.question(excess).map(Begun::Asked).ok_or(refused);
    }
    let word = call.ask_user(excess, &refused).await?;
    approved(call, order, word).await
}

/// Begins an order as the user wants it.
async fn approved(call: &Call, order: Order, word: Word) -> Result<Begun, Failure> {
    let thrift = order.thrift();
    match word {
        Word::Approved(excess) => {
            let quote = order.within(excess.amount).propose(&call.service).await?;
            quote.begin().await.map(Begun::Run)
        }
        Word::Declined(Excess { worst_case, limit, .. }) => {
            let message = format!(
                "the call may cost up to {worst_case}; the setting `budget_usd` allows {limit}, and the user declined to go beyond it"
            );
            Err(Failure::new(Code::Budget, message).with_next(thrift))
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

    /// How it would cost less.
    fn thrift(&self) -> [Next; 2] {
        match self {
            Self::Ask(_) => [Next::Do(Advice::AskFewerModels), Next::Lower(Limit::OutputTokens)],
            Self::GoOn(..) => [Next::Do(Advice::AskFewerModels), Next::Do(Advice::AskCheaperWriter)],
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

    async fn propose(self, service: &Services) -> Result<Quote, Failure> {
        match self {
            Self::Ask(question) => service.ask.quote(question).await,
            Self::GoOn(name, further) => service.ask.quote_continuation(&name, further).await,
        }
    }
}

/// What an order may cost, beside what its call and the user's settings allow.
#[derive(Clone, Copy)]
struct Wish {
    cost: QuotedCost,
    /// The call's own word.
    budget: Option<PicoUsd>,
    /// The user's setting. A model that calls a tool may spend less, never more by itself.
    allowed: PicoUsd,
}

impl Wish {
    /// Fails where it is not begun without the user's word: the call's own budget is above what the user allows, or the
    /// worst case is not `within` the budget that holds.
    fn check(self, within: Result<(), Failure>) -> Result<(), Failure> {
        let Some(budget) = self.budget.filter(|budget| *budget > self.allowed) else { return within };
        let message = format!("`budget_usd` is {budget}; the user's settings allow {}", self.allowed);
        Err(Failure::new(Code::Budget, message))
    }

    /// What the user would have to approve; `None` where that would change nothing, because the call's own budget does
    /// not hold its worst case.
    fn excess(self) -> Option<Excess> {
        let QuotedCost { worst_case, budget } = self.cost;
        let limit = if self.budget.is_some() { self.allowed } else { budget };
        let amount = self.budget.unwrap_or(worst_case);
        (worst_case <= amount && amount > limit).then_some(Excess { worst_case, amount, limit })
    }

    /// What the caller itself can do, who cannot raise what the user allows.
    fn next(self, thrift: [Next; 2], principal: &Principal) -> Vec<Next> {
        let (worst_case, allowed) = (self.cost.worst_case, self.allowed);
        if worst_case <= allowed {
            Next::BudgetBetween { from: worst_case, to: allowed }.into()
        } else {
            let raise = (*principal == Principal::Owner).then(|| Next::raise_setting("budget_usd"));
            thrift.into_iter().chain(raise).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use parallel_llm_engine::plan::budget;

    use super::*;

    #[test]
    fn a_calling_model_may_not_spend_more_than_the_user_allows() {
        let usd = PicoUsd::from_usd;
        let wish = |worst_case, budget: Option<i64>| Wish {
            cost: QuotedCost { worst_case: usd(worst_case), budget: usd(budget.unwrap_or(3)) },
            budget: budget.map(usd),
            allowed: usd(3),
        };
        let asked = |wish: Wish| wish.excess().map(|excess| (excess.amount, excess.limit));
        for (worst_case, budget, is_allowed, excess) in [
            (2, None, true, None),
            (2, Some(3), true, None),
            (2, Some(1), false, None),
            (2, Some(4), false, Some((usd(4), usd(3)))),
            (4, None, false, Some((usd(4), usd(3)))),
            (4, Some(3), false, None),
            (5, Some(4), false, None),
        ] {
            let wish = wish(worst_case, budget);
            let within = budget::check("the run", wish.cost.worst_case, wish.cost.budget);
            let told = (wish.check(within).is_ok(), asked(wish));
            assert_eq!(told, (is_allowed, excess), "{worst_case} {budget:?}");
        }
    }
}
