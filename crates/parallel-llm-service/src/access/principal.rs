//! Who asks, and what that allows: the owner of the data folder everything, a token holder what was granted
//! with it.
//!
//! What always holds: a principal who is not the owner sees the runs it asked for itself, and to it no other run exists; it
//! spends no more than it was granted, and no more than the owner's settings allow; and nothing it asks for touches the
//! owner's files. Every use case of the service begins with one of the checks here, so that no door can leave it out.

use std::sync::Arc;

use parallel_llm_engine::plan::DayLimit;
use parallel_llm_engine::value::next::{Advice, Next};
use parallel_llm_engine::{Code, Failure, PicoUsd, RunPlan, RunRequest};
use parallel_llm_store::RunScope;

/// Who asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Principal {
    /// The user whose data folder this is.
    #[default]
    Owner,
    /// Somebody who came over the network with a token.
    TokenHolder(Arc<Grant>),
}

/// What a token holder may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// What its runs are asked by: never the token itself, and never empty. A token's name has no `/` and no `:`, so that a
    /// name made of claims, with their issuer in front, is nobody else's.
    pub name: String,
    /// What it may do.
    pub scopes: Vec<Scope>,
    /// The most its runs may cost in a day (UTC), with what those under way may still cost.
    pub budget_day: Option<PicoUsd>,
    /// How many requests it may make in a minute.
    pub requests_per_minute: Option<u32>,
}

/// One thing that a token holder may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Ask models, which costs money, and read what came of it: whoever pays is not kept from the answer.
    Ask,
    /// Read its runs, and what can be asked.
    Read,
}

impl Scope {
    /// Every scope.
    pub const ALL: [Self; 2] = [Self::Ask, Self::Read];

    /// Its word on the command line and in a token's claims.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::Read => "read",
        }
    }

    /// Whether whoever may do this may do `other`, too.
    fn allows(self, other: Self) -> bool {
        self == other || self == Self::Ask
    }

    /// The scope of this word.
    pub fn by_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.word() == word)
    }
}

impl Principal {
    /// What its runs are asked by; `None` for the owner.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Owner => None,
            Self::TokenHolder(grant) => Some(&grant.name),
        }
    }

    /// Whether a run of this plan exists for it.
    pub fn may_see(&self, plan: &RunPlan) -> bool {
        self.name().is_none_or(|name| plan.asked_by.as_deref() == Some(name))
    }

    /// Whose runs exist for it.
    pub(crate) fn whose(&self) -> RunScope<'_> {
        self.name().map_or(RunScope::All, RunScope::Principal)
    }

    /// What its own runs may cost in a day, where that has a limit.
    pub(crate) fn day_limit(&self) -> Option<DayLimit> {
        let Self::TokenHolder(grant) = self else { return None };
        Some(DayLimit {
            provider: None,
            asked_by: Some(grant.name.clone()),
            usd: grant.budget_day?,
            setting: "budget_day".to_owned(),
        })
    }

    /// Refuses whoever is not the owner.
    pub fn check_owner(&self) -> Result<(), Failure> {
        match self {
            Self::Owner => Ok(()),
            Self::TokenHolder(_) => {
                let message = "no token allows this: it is for the owner of the data folder";
                Err(Failure::new(Code::ScopeMissing, message).with_next(Advice::AskOwnerThere))
            }
        }
    }

    /// Refuses wishes that are the owner's alone: a run that may cost more than `budget`, the setting in force, and files
    /// in the owner's folder, which no holder could read.
    pub(crate) fn check_wishes(&self, request: &RunRequest, budget: PicoUsd) -> Result<(), Failure> {
        if *self == Self::Owner {
            return Ok(());
        }
        if let Some(wished) = request.budget.filter(|wished| *wished > budget) {
            let message = format!("a budget of {wished} is above the owner's setting, which allows {budget}");
            return Err(Failure::new(Code::Budget, message).with_next(Next::BudgetOfAtMost(budget)));
        }
        if request.files == Some(true) {
            let message = "files are written for the owner of the data folder only";
            let next = Advice::LeaveFilesOut;
            return Err(Failure::new(Code::Usage, message).with_next(next));
        }
        Ok(())
    }

    /// Refuses what was not granted.
    pub fn check(&self, scope: Scope) -> Result<(), Failure> {
        match self {
            Self::TokenHolder(grant) if !grant.scopes.iter().any(|granted| granted.allows(scope)) => {
                let message = format!("this token lacks the scope `{}`", scope.word());
                Err(Failure::new(Code::ScopeMissing, message))
            }
            _ => Ok(()),
        }
    }
}
