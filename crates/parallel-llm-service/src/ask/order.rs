//! Orders, which cost money: a question or a continuation, begun only with the user's consent if it may cost more than
//! the settings allow.
//!
//! Only the owner is asked: a token holder cannot exceed its grant. Invariants: an order is resolved once, and
//! once more after its user approved it; an approved order has exactly the approved amount as its budget; and one call
//! asks at most once. The door decides how to ask: it gets the amounts, and returns with the decision.

use futures_util::future::{BoxFuture, FutureExt as _};
use parallel_llm_engine::plan::DayLimit;
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
        /// The run's id, or its place, such as `@`.
        run: String,
        /// How to continue it.
        continuation: Continuation,
    },
}

/// Why an order is refused that its user could approve.
const CANNOT_ASK: &str = "this client cannot ask its user to allow more";

/// The amounts that a user is asked to approve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Excess {
    /// What the call will cost if replies are of the usual length.
    pub likely: PicoUsd,
    /// The amount to approve, which becomes its budget: the most the call can cost.
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
    /// The user closed the question without deciding.
    Dismissed(Excess),
}

/// The user's reply to the question whether an amount may be spent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConsentReply {
    /// Yes.
    Approves,
    /// No.
    Declines,
    /// Neither: the question was closed.
    Dismisses,
}

impl ConsentReply {
    /// The decision on these amounts.
    pub const fn on(self, excess: Excess) -> Decision {
        match self {
            Self::Approves => Decision::Approved(excess),
            Self::Declines => Decision::Declined(excess),
            Self::Dismisses => Decision::Dismissed(excess),
        }
    }
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
    pub fn begin_with_consent(
        &self,
        mut order: Order,
        consent: Consent,
    ) -> BoxFuture<'_, Result<Begun, Failure>> {
        async move {
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
            let Err(refused) = quote.check() else { return quote.begin().await.map(Begun::Run) };
            let (excess, refused) = self.refusal(quote.cost(), budget, savings, refused);
            match excess.zip(kept) {
                Some((excess, order)) => {
                    Ok(Begun::Unapproved(Box::new(Unapproved { excess, refused, order })))
                }
                None => Err(self.unasked(excess, refused)),
            }
        }
        .boxed()
    }

    /// The quote of a question whose caller cannot ask its user, and why beginning it would be refused.
    pub fn quote_unasked(
        &self,
        question: Question,
    ) -> BoxFuture<'_, Result<(Quote, Option<Failure>), Failure>> {
        async move {
            let order = Order::Ask(question);
            let (budget, savings) = (order.budget(), order.savings());
            let quote = self.quote_order(order).await?;
            let Err(refused) = quote.check() else {
                let refused = quote.check_day().await.err();
                return Ok((quote, refused));
            };
            let (excess, refused) = self.refusal(quote.cost(), budget, savings, refused);
            Ok((quote, Some(self.unasked(excess, refused))))
        }
        .boxed()
    }

    /// The refusal of an order whose user is not asked. Only the owner could have approved it.
    fn unasked(&self, excess: Option<Excess>, refused: Failure) -> Failure {
        match excess {
            Some(_) if self.planner.principal == Principal::Owner => adding(&refused, CANNOT_ASK),
            _ => refused,
        }
    }

    /// What the user could approve of a refused order, and the refusal without approval.
    fn refusal(
        &self,
        cost: QuotedCost,
        asked: Option<PicoUsd>,
        savings: [Next; 2],
        refused: Failure,
    ) -> (Option<Excess>, Failure) {
        let allowed = self.planner.settings().budget;
        let check = BudgetCheck { cost, asked, allowed, ceiling: self.ceiling() };
        let Some(worst_case) = check.cost.worst_case.known() else { return (None, refused) };
        let is_owner = self.planner.principal == Principal::Owner;
        let refused = refused.with_next(check.next(worst_case, savings, is_owner));
        match check.excess(worst_case) {
            Some(excess) => (Some(excess), refused),
            None => (None, check.beyond_approval(worst_case, refused)),
        }
    }

    /// Begins an order as its user has decided.
    pub fn begin_unapproved(
        &self,
        unapproved: Unapproved,
        decision: Decision,
    ) -> BoxFuture<'_, Result<RunHandle, Failure>> {
        async move { self.begin_decided(unapproved.order, decision).await }.boxed()
    }

    async fn begin_decided(&self, order: Order, decision: Decision) -> Result<RunHandle, Failure> {
        match decision {
            Decision::Approved(excess) => self.begin(order.within(excess.amount)).await,
            Decision::Declined(excess) => Err(excess.refused("the user declined to go beyond it", &order)),
            Decision::Dismissed(excess) => {
                Err(excess.refused("the user closed the question without deciding", &order))
            }
        }
    }

    /// The limit of the day beyond which an approved run would be refused all the same.
    fn ceiling(&self) -> Option<DayLimit> {
        let limits = self.planner.day_limits().into_iter().filter(|limit| limit.provider.is_none());
        limits.min_by_key(|limit| limit.usd)
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

    /// The quote of an order as it is. A model that calls a tool may lower its budget, never raise it.
    async fn quote_order(&self, order: Order) -> Result<Quote, Failure> {
        let budget = order.budget();
        let quote = self.quote(order).await?;
        Ok(if budget.is_some() { quote.at_most(self.planner.settings().budget) } else { quote })
    }
}

impl Excess {
    /// The failure without approval, for this reason.
    fn refused(self, why: &str, order: &Order) -> Failure {
        let Self { likely, amount, limit } = self;
        let message = format!(
            "the call would cost about {likely}, at most {amount}; the setting `budget_usd` allows {limit}, and {why}"
        );
        Failure::new(Code::Budget, message).with_next(order.savings())
    }
}

/// The failure, with the reason why there is no approval.
fn adding(refused: &Failure, why: &str) -> Failure {
    Failure { message: format!("{}; {why}", refused.message), ..refused.clone() }
}

impl From<Question> for Order {
    fn from(question: Question) -> Self {
        Self::Ask(question)
    }
}

impl Order {
    /// Continues a run, named by its id or by its place, such as `@`.
    pub fn on(run: impl Into<String>, continuation: Continuation) -> Self {
        Self::Continue { run: run.into(), continuation }
    }

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

/// The cost of an order beside its budget and the user's limits.
struct BudgetCheck {
    cost: QuotedCost,
    /// The budget that the call asks for.
    asked: Option<PicoUsd>,
    /// The user's setting.
    allowed: PicoUsd,
    /// The limit of the day, beyond which no user could grant.
    ceiling: Option<DayLimit>,
}

impl BudgetCheck {
    /// The amounts to approve: never more than the call can cost, whatever it asks for. `None` if approval would not help,
    /// because its worst case is above what it asks for itself, or above what the user could grant.
    fn excess(&self, worst_case: PicoUsd) -> Option<Excess> {
        let amount = worst_case.min(self.asked.unwrap_or(PicoUsd::UNLIMITED)).min(self.grantable());
        let limit = if self.asked.is_some() { self.allowed } else { self.cost.budget };
        (worst_case <= amount).then_some(Excess { likely: self.cost.likely, amount, limit })
    }

    /// The most that the user could grant.
    fn grantable(&self) -> PicoUsd {
        self.ceiling.as_ref().map_or(PicoUsd::UNLIMITED, |limit| limit.usd)
    }

    /// The refusal that no approval could lift.
    fn beyond_approval(&self, worst_case: PicoUsd, refused: Failure) -> Failure {
        let Some(limit) = self.ceiling.as_ref().filter(|limit| worst_case > limit.usd) else {
            return refused;
        };
        let whose = match limit.asked_by {
            Some(_) => "this token".to_owned(),
            None => format!("the setting `{}`", limit.setting),
        };
        adding(&refused, &format!("{whose} allows {} a day", limit.usd))
    }

    /// Steps for the caller, which cannot raise the user's limit.
    fn next(&self, worst_case: PicoUsd, savings: [Next; 2], is_owner: bool) -> Vec<Next> {
        if worst_case <= self.allowed {
            Next::BudgetBetween { from: worst_case.rounded_up().min(self.allowed), to: self.allowed }.into()
        } else {
            let raise = is_owner.then(|| Next::raise_setting("budget_usd"));
            savings.into_iter().chain(raise).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use parallel_llm_engine::plan::worst_case::WorstCase;

    use super::*;

    #[test]
    fn the_user_is_asked_for_what_the_call_can_cost_and_for_no_more() {
        let usd = PicoUsd::from_usd;
        for (worst_case, asked, grantable, excess) in [
            (4, None, 100, Some((4, 3))),
            (4, Some(500), 100, Some((4, 3))),
            (4, Some(4), 100, Some((4, 3))),
            (4, Some(3), 100, None),
            (5, Some(4), 100, None),
            (5, Some(500), 4, None),
        ] {
            let asked = asked.map(usd);
            let check = BudgetCheck {
                cost: QuotedCost {
                    likely: usd(1),
                    worst_case: WorstCase::Known(usd(worst_case)),
                    budget: usd(3),
                },
                asked,
                allowed: usd(3),
                ceiling: Some(DayLimit {
                    provider: None,
                    asked_by: None,
                    usd: usd(grantable),
                    setting: String::new(),
                }),
            };
            let found = check.excess(usd(worst_case)).map(|excess| (excess.amount, excess.limit));
            assert_eq!(
                found,
                excess.map(|(amount, limit)| (usd(amount), usd(limit))),
                "{worst_case} {asked:?}"
            );
        }
    }
}
