//! Orders, which cost money: a question or a continuation, begun only with the user's consent if it may cost more than
//! the settings allow.
//!
//! Only the owner is asked: a token holder cannot exceed its grant. Invariants: an order is resolved once, and
//! once more after its user approved it; an approved order has exactly the approved amount as its budget; and one call
//! asks at most once. The door decides how to ask: it gets the amounts, and returns with the decision.

use parallel_llm_engine::value::next::{Advice, Limit, Next};
use parallel_llm_engine::{Code, Failure, PicoUsd, RunId};
use serde::{Deserialize, Serialize};

use super::{Asking, Continuation, Question, Quote, QuotedCost};
use crate::access::Principal;
use crate::runs::RunHandle;

/// An order.
#[derive(Clone)]
pub enum Order {
    /// Ask a panel.
    Ask(Question),
    /// Continue a run.
    Continue {
        /// The run's id.
        run: String,
        /// How to continue it.
        continuation: Continuation,
    },
}

/// The amounts that a user is asked to approve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Excess {
    /// The most the call can cost.
    pub worst_case: PicoUsd,
    /// The amount to approve, which becomes its budget.
    pub amount: PicoUsd,
    /// The amount allowed without approval.
    pub limit: PicoUsd,
}

/// The user's decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The amount may be spent.
    Approved(Excess),
    /// No more than the settings allow.
    Declined(Excess),
}

/// The consent of a call's user to spend more than the settings allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Consent {
    /// The user cannot be asked.
    CannotBeAsked,
    /// The user can be asked.
    CanBeAsked,
    /// The user has decided.
    Given(Decision),
}

/// The result of an order.
pub enum Begun {
    /// The run has begun.
    Run(RunHandle),
    /// Nothing has begun: the user must be asked first.
    Unapproved(Box<Unapproved>),
}

/// An order that needs its user's approval.
pub struct Unapproved {
    /// The amounts to approve.
    pub excess: Excess,
    /// The failure of the order without approval.
    pub refused: Failure,
    order: Order,
}

impl Unapproved {
    /// The failure if no decision comes, with the reason.
    pub fn undecided(&self, why: &str) -> Failure {
        adding(&self.refused, why)
    }
}

impl Asking {
    /// Begins an order that is within its limits, or has the user's consent. Otherwise nothing is paid.
    pub async fn begin_order(&self, mut order: Order, consent: Consent) -> Result<Begun, Failure> {
        if let Consent::Given(decision) = consent {
            return self.begin_decided(order, decision).await.map(Begun::Run);
        }
        let (budget, savings) = (order.budget(), order.savings());
        let is_owner = self.planner.principal == Principal::Owner;
        // A question may be megabytes long, so it is copied only if the user may be asked about it.
        let may_ask = is_owner && consent == Consent::CanBeAsked;
        if may_ask {
            self.pin(&mut order).await?;
        }
        let kept = may_ask.then(|| order.clone());
        let quote = self.quote_order(order).await?;
        let limits = BudgetCheck { cost: quote.cost(), budget, allowed: self.planner.settings().budget };
        let Err(refused) = limits.check(quote.check()) else {
            return quote.begin().await.map(Begun::Run);
        };
        let refused = refused.with_next(limits.next(savings, is_owner));
        // The quote holds the question too, and the user may take minutes.
        drop(quote);
        let Some(excess) = limits.excess() else { return Err(refused) };
        match kept {
            Some(order) => Ok(Begun::Unapproved(Box::new(Unapproved { excess, refused, order }))),
            None if is_owner => Err(adding(&refused, "this client cannot ask its user to allow more")),
            None => Err(refused),
        }
    }

    /// Begins an order as its user has decided.
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
                Err(Failure::new(Code::Budget, message).with_next(order.savings()))
            }
        }
    }

    /// Names the order's run by its id: until the user has decided, `@` may come to name another run.
    async fn pin(&self, order: &mut Order) -> Result<(), Failure> {
        let name = match order {
            Order::Ask(question) => question.continues.as_mut(),
            Order::Continue { run, .. } => Some(run),
        };
        if let Some(name) = name
            && name.parse::<RunId>().is_err()
        {
            *name = self.history.run_id(name).await?.to_string();
        }
        Ok(())
    }

    async fn quote_order(&self, order: Order) -> Result<Quote, Failure> {
        match order {
            Order::Ask(question) => self.quote(question).await,
            Order::Continue { run, continuation } => self.quote_continuation(&run, continuation).await,
        }
    }
}

/// The failure, with the reason why there is no approval.
fn adding(refused: &Failure, why: &str) -> Failure {
    Failure { message: format!("{}; {why}", refused.message), ..refused.clone() }
}

impl Order {
    /// The budget of the call, if it has one.
    const fn budget(&self) -> Option<PicoUsd> {
        match self {
            Self::Ask(question) => question.request.budget,
            Self::Continue { continuation, .. } => continuation.budget(),
        }
    }

    /// Steps that lower its cost.
    fn savings(&self) -> [Next; 2] {
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

/// The cost of an order beside its budget and the user's limit.
#[derive(Clone, Copy)]
struct BudgetCheck {
    cost: QuotedCost,
    /// The budget of the call, if it has one.
    budget: Option<PicoUsd>,
    /// The user's setting. A model that calls a tool may lower its budget, never raise it.
    allowed: PicoUsd,
}

impl BudgetCheck {
    /// Fails if the order needs the user's consent: the call's own budget is above the user's limit, or the worst case
    /// exceeds its budget (`within`).
    fn check(self, within: Result<(), Failure>) -> Result<(), Failure> {
        let Some(budget) = self.budget.filter(|budget| *budget > self.allowed) else { return within };
        let message = format!("`budget_usd` is {budget}; the user's settings allow {}", self.allowed);
        Err(Failure::new(Code::Budget, message))
    }

    /// The amounts to approve; `None` if approval would not help, because the call's own budget is below its worst
    /// case.
    fn excess(self) -> Option<Excess> {
        let QuotedCost { worst_case, budget } = self.cost;
        let limit = if self.budget.is_some() { self.allowed } else { budget };
        let amount = self.budget.unwrap_or(worst_case);
        (worst_case <= amount && amount > limit).then_some(Excess { worst_case, amount, limit })
    }

    /// Steps for the caller, which cannot raise the user's limit.
    fn next(self, savings: [Next; 2], is_owner: bool) -> Vec<Next> {
        let (worst_case, allowed) = (self.cost.worst_case, self.allowed);
        if worst_case <= allowed {
            Next::BudgetBetween { from: worst_case.rounded_up().min(allowed), to: allowed }.into()
        } else {
            let raise = is_owner.then(|| Next::raise_setting("budget_usd"));
            savings.into_iter().chain(raise).collect()
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
        let order = |worst_case, budget: Option<i64>| BudgetCheck {
            cost: QuotedCost { worst_case: usd(worst_case), budget: usd(budget.unwrap_or(3)) },
            budget: budget.map(usd),
            allowed: usd(3),
        };
        let asked = |limits: BudgetCheck| limits.excess().map(|excess| (excess.amount, excess.limit));
        for (worst_case, budget, is_allowed, excess) in [
            (2, None, true, None),
            (2, Some(3), true, None),
            (2, Some(1), false, None),
            (2, Some(4), false, Some((usd(4), usd(3)))),
            (4, None, false, Some((usd(4), usd(3)))),
            (4, Some(3), false, None),
            (5, Some(4), false, None),
        ] {
            let limits = order(worst_case, budget);
            let within = budget::check("the run", limits.cost.worst_case, limits.cost.budget);
            let allowed = (limits.check(within).is_ok(), asked(limits));
            assert_eq!(allowed, (is_allowed, excess), "{worst_case} {budget:?}");
        }
    }
}
