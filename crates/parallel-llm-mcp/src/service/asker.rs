//! Who asks, and what that allows: the owner of the data folder everything, the holder of a token what was granted
//! with it.
//!
//! What always holds: an asker who is not the owner sees the runs it asked for itself, and to it no other run exists.

use std::sync::Arc;

use parallel_llm_engine::{Code, Failure, PicoUsd, RunPlan};

use super::Service;

/// Who asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Asker {
    /// The user whose data folder this is.
    #[default]
    Owner,
    /// Somebody who came over the network with a token.
    Holder(Arc<Grant>),
}

/// What the holder of a token may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// What its runs are asked by: never the token itself.
    pub name: String,
    /// What it may do.
    pub scopes: Vec<Scope>,
    /// The most its runs may cost in a day (UTC), with what those under way may still cost.
    pub budget_day: Option<PicoUsd>,
    /// How many requests it may make in a minute.
    pub requests_per_minute: Option<u32>,
}

/// One thing that the holder of a token may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Ask models, which costs money.
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

    /// The scope of this word.
    pub fn by_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.word() == word)
    }
}

impl Asker {
    /// What its runs are asked by; `None` for the owner.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Owner => None,
            Self::Holder(grant) => Some(&grant.name),
        }
    }

    /// Whether a run of this plan exists for it.
    pub fn may_see(&self, plan: &RunPlan) -> bool {
        self.name().is_none_or(|name| plan.asked_by.as_deref() == Some(name))
    }

    /// Refuses what was not granted.
    pub fn check(&self, scope: Scope) -> Result<(), Failure> {
        match self {
            Self::Holder(grant) if !grant.scopes.contains(&scope) => {
                let message = format!("this token lacks the scope `{}`", scope.word());
                Err(Failure::new(Code::ScopeMissing, message))
            }
            _ => Ok(()),
        }
    }
}

impl Service {
    /// Who asks.
    pub const fn asker(&self) -> &Asker {
        &self.asker
    }
}
