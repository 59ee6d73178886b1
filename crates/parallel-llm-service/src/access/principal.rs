//! Principals and their rights: the owner of the data folder may do everything, a token holder what its grant allows.
//!
//! Invariants: a principal other than the owner sees only the runs that it asked for; it spends no more than its
//! grant and the owner's settings allow; and nothing it asks for touches the owner's files. Every use case of the
//! service begins with one of the checks here, so that no door can leave it out.

use std::sync::Arc;

use parallel_llm_engine::plan::DayLimit;
use parallel_llm_engine::value::next::{Advice, Next};
use parallel_llm_engine::{Code, Failure, PicoUsd, RunPlan, RunRequest};
use parallel_llm_store::RunScope;

/// The party that a call acts for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Principal {
    /// The user who owns the data folder.
    #[default]
    Owner,
    /// A caller over the network with a token.
    TokenHolder(Arc<Grant>),
}

/// The rights of a token holder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The `asked_by` of its runs: never the token itself, and never empty. A token's name has no `/` and no `:`, so it
    /// cannot equal a name made of claims, which begins with the issuer's URL.
    pub name: String,
    /// The granted scopes.
    pub scopes: Vec<Scope>,
    /// The most that its runs may cost in a day (UTC), including the open reservations.
    pub budget_day: Option<PicoUsd>,
    /// The most requests in a minute.
    pub requests_per_minute: Option<u32>,
}

/// A right of a token holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Ask models, which costs money, and read the results: a payer may read the answer.
    Ask,
    /// Read its own runs and the list of models.
    Read,
    /// Read the server's figures, which are sums over everybody's runs.
    Metrics,
}

impl Scope {
    /// Every scope.
    pub const ALL: [Self; 3] = [Self::Ask, Self::Read, Self::Metrics];

    /// Those of a token that is made without naming any. Sums over everybody are not among them.
    pub const USUAL: [Self; 2] = [Self::Ask, Self::Read];

    /// The name on the command line and in a token's claims.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Read => "read",
            Self::Metrics => "metrics",
        }
    }

    /// Whether this scope includes `other`.
    fn allows(self, other: Self) -> bool {
        self == other || self == Self::Ask && other == Self::Read
    }

    /// The scope of this name.
    pub fn by_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.word() == word)
    }
}

impl Principal {
    /// The `asked_by` of its runs; `None` for the owner.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Owner => None,
            Self::TokenHolder(grant) => Some(&grant.name),
        }
    }

    /// Whether the principal may see a run of this plan.
    pub fn may_see(&self, plan: &RunPlan) -> bool {
        self.name().is_none_or(|name| plan.asked_by.as_deref() == Some(name))
    }

    /// The runs that the principal may see.
    pub(crate) fn whose(&self) -> RunScope<'_> {
        self.name().map_or(RunScope::All, RunScope::Principal)
    }

    /// The principal's daily budget, if it has one.
    pub(crate) fn day_limit(&self) -> Option<DayLimit> {
        let Self::TokenHolder(grant) = self else { return None };
        Some(DayLimit {
            provider: None,
            asked_by: Some(grant.name.clone()),
            usd: grant.budget_day?,
            setting: "budget_day".to_owned(),
        })
    }

    /// Fails for any principal but the owner.
    pub fn check_owner(&self) -> Result<(), Failure> {
        match self {
            Self::Owner => Ok(()),
            Self::TokenHolder(_) => {
                let message = "no token allows this: it is for the owner of the data folder";
                Err(Failure::new(Code::ScopeMissing, message).with_next(Advice::AskOwnerThere))
            }
        }
    }

    /// Fails for a request that only the owner may make: a budget above `budget`, the setting in force, or files in the
    /// owner's folder, which no token holder could read.
    pub(crate) fn check_request(&self, request: &RunRequest, budget: PicoUsd) -> Result<(), Failure> {
        if *self == Self::Owner {
            return Ok(());
        }
        if let Some(asked) = request.budget.filter(|asked| *asked > budget) {
            let message = format!("a budget of {asked} is above the owner's setting, which allows {budget}");
            return Err(Failure::new(Code::Budget, message).with_next(Next::BudgetOfAtMost(budget)));
        }
        if request.files == Some(true) {
            let message = "files are written for the owner of the data folder only";
            let next = Advice::LeaveFilesOut;
            return Err(Failure::new(Code::Usage, message).with_next(next));
        }
        Ok(())
    }

    /// Fails if the principal lacks this scope.
    pub fn check(&self, scope: Scope) -> Result<(), Failure> {
        match self {
            Self::TokenHolder(grant) if !grant.scopes.iter().any(|granted| granted.allows(scope)) => {
                let message = format!("this token lacks the scope `{}`", scope.word());
                Err(Failure::new(Code::ScopeMissing, message).with_next(Next::WidenTo(scope.word().into())))
            }
            _ => Ok(()),
        }
    }
}
