//! What a caller orders that costs money: a question, or continuing a run. It is begun here, and nowhere without the
//! user's consent where it may cost more than the settings allow.
//!
//! Only the owner is asked: a token holder cannot go beyond what was granted. What always holds: an order is
//! resolved once, and once more where its user approved it; an order that was approved has exactly the approved amount as
//! its budget, and one call asks at most once. How a user is asked is the door's to say: it is told what there is to
//! approve, and comes back with the decision.

use parallel_llm_engine::value::next::{Advice, Limit, Next};
use parallel_llm_engine::{Code, Failure, PicoUsd};
use serde::{Deserialize, Serialize};

use super::{Asking, Continuation, Question, Quote, QuotedCost};
use crate::access::Principal;
use crate::runs::RunHandle;

/// What is ordered.
#[derive(Clone)]
pub enum Order {
    /// The answers of a panel.
    Ask(Question),
    /// A further part of a run.
    Continue {
        /// The run, by its name.
        run: String,
        /// What is wanted of it.
        continuation: Continuation,
    },
}

/// What a user is asked to approve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Excess {
    /// The most the call can cost.
    pub worst_case: PicoUsd,
    /// What it would be allowed: exactly that becomes its budget.
    pub amount: PicoUsd,
    /// What it is allowed without being asked.
    pub limit: PicoUsd,
}

/// What the user said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It may be spent.
    Approved(Excess),
    /// Not more than the settings allow.
    Declined(Excess),
}

/// Whether the user of a call consents to spend more than the settings allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consent {
    /// Nobody can be asked there.
    CannotBeAsked,
    /// The user can be asked.
    CanBeAsked,
    /// The user was asked.
    Given(Decision),
}

/// What came of an order.
pub enum Begun {
    /// It is on its way.
    Run(RunHandle),
    /// Nothing has been begun: the user is to be asked first.
    Unapproved(Box<Unapproved>),
}

/// An order that waits for its user.
pub struct Unapproved {
    /// What there is to approve.
    pub excess: Excess,
    /// Why the order is refused as it is.
    pub refused: Failure,
    order: Order,
}

impl Unapproved {
    /// The failure where no decision comes, for this reason.
    pub fn undecided(&self, why: &str) -> Failure {
        adding(&self.refused, why)
    }
}

impl Asking {
    /// Begins an order where nothing stands against it, or with the user's consent. Without it nothing is paid.
    pub async fn begin_order(&self, order: Order, consent: Consent) -> Result<Begun, Failure> {
        if let Consent::Given(decision) = consent {
            return self.begin_decided(order, decision).await.map(Begun::Run);
        }
        let (budget, thrift) = (order.budget(), order.thrift());
        let is_owner = self.planner.principal == Principal::Owner;
        // A question may be megabytes, so it is kept a second time only for somebody who may be asked about it.
        let kept = (is_owner && consent == Consent::CanBeAsked).then(|| order.clone());
        let quote = self.quote_order(order).await?;
        let wish = Wish { cost: quote.cost(), budget, allowed: self.planner.settings().budget };
        let Err(refused) = wish.check(quote.check()) else {
            return quote.begin().await.map(Begun::Run);
        };
        let refused = refused.with_next(wish.next(thrift, is_owner));
        // The quote holds the question, too, and the user may take minutes.
        drop(quote);
        let Some(excess) = wish.excess() else { return Err(refused) };
        match kept {
            Some(order) => Ok(Begun::Unapproved(Box::new(Unapproved { excess, refused, order }))),
            None if is_owner => Err(adding(&refused, "this client cannot ask its user to allow more")),
            None => Err(refused),
        }
    }

    /// Begins an order that waited, as its user has decided.
    pub async fn begin_unapproved(
        &self,
        unapproved: Unapproved,
        decision: Decision,
    ) -> Result<RunHandle, Failure> {
        self.begin_decided(unapproved.order, decision).await
    }

    async fn begin_decided(&self, order: Order, decision: Decision) -> Result<RunHandle, Failure> {
        match decision {
            Decision::Approved(excess) => self.quote_order(order.within(excess.amount)).await?.begin().await,
            Decision::Declined(Excess { worst_case, limit, .. }) => {
                let message = format!(
                    "the call may cost up to {worst_case}; the setting `budget_usd` allows {limit}, and the user declined to go beyond it"
                );
                Err(Failure::new(Code::Budget, message).with_next(order.thrift()))
            }
        }
    }

    async fn quote_order(&self, order: Order) -> Result<Quote, Failure> {
        match order {
            Order::Ask(question) => self.quote(question).await,
            Order::Continue { run, continuation } => self.quote_continuation(&run, continuation).await,
        }
    }
}

/// The same refusal, with what came of asking the user.
fn adding(refused: &Failure, why: &str) -> Failure {
    Failure { message: format!("{}; {why}", refused.message), ..refused.clone() }
}

impl Order {
    /// The most it may cost, where that is said.
    const fn budget(&self) -> Option<PicoUsd> {
        match self {
            Self::Ask(question) => question.request.budget,
            Self::Continue { continuation, .. } => continuation.budget(),
        }
    }

    /// How it would cost less.
    fn thrift(&self) -> [Next; 2] {
        match self {
            Self::Ask(_) => [Next::Do(Advice::AskFewerModels), Next::Lower(Limit::OutputTokens)],
            Self::Continue { .. } => [Next::Do(Advice::AskFewerModels), Next::Do(Advice::AskCheaperWriter)],
        }
    }

    fn within(self, amount: PicoUsd) -> Self {
        match self {
            Self::Ask(mut question) => {
                question.request.budget = Some(amount);
                Self::Ask(question)
            }
            Self::Continue { run, continuation } => {
                Self::Continue { run, continuation: continuation.within(amount) }
            }
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
    /// Fails where it is not begun without the user's consent: the call's own budget is above what the user allows, or
    /// the worst case is not `within` the budget that holds.
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
    fn next(self, thrift: [Next; 2], is_owner: bool) -> Vec<Next> {
        let (worst_case, allowed) = (self.cost.worst_case, self.allowed);
        if worst_case <= allowed {
            Next::BudgetBetween { from: worst_case, to: allowed }.into()
        } else {
            let raise = is_owner.then(|| Next::raise_setting("budget_usd"));
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
            let allowed = (wish.check(within).is_ok(), asked(wish));
            assert_eq!(allowed, (is_allowed, excess), "{worst_case} {budget:?}");
        }
    }
}
