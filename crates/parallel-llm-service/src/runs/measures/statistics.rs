//! [`Statistics`]: figures over the runs of a principal.

use std::sync::Arc;

use parallel_llm_engine::PicoUsd;
use parallel_llm_store::Store;

use crate::access::Principal;
use crate::lazy::Lazy;

/// Sums and shares over many runs.
#[derive(Clone)]
pub struct Statistics {
    pub(crate) store: Arc<Lazy<Store>>,
    pub(crate) principal: Principal,
    /// The owner's daily budget, if there is one.
    pub(crate) budget_day: Option<PicoUsd>,
}

impl Statistics {
    /// The daily budget of the principal. A token holder sees that of its grant, as the owner's counts runs that it
    /// may not see.
    pub(super) fn budget_day(&self) -> Option<PicoUsd> {
        match self.principal {
            Principal::Owner => self.budget_day,
            Principal::TokenHolder(_) => self.principal.day_limit().map(|limit| limit.usd),
        }
    }
}
