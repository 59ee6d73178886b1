//! What the calls and the strategy of one run share: its plan, its log, and the ways outward.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use crate::call::deadline::Deadline;
use crate::call::hub::Hub;
use crate::call::log::RunLog;
use crate::call::retry::RetryBudget;
use crate::call::stop::{Sending, Stop};
use crate::call::text_budget::Turn;
use crate::plan::RunPlan;
use crate::plan::budget::Budget;
use crate::port::{Caller, Checker};
use crate::request::panel::ProviderId;

/// What every call of a run shares.
pub(crate) struct RunContext {
    pub(crate) plan: Arc<RunPlan>,
    pub(crate) caller: Arc<dyn Caller>,
    pub(crate) checker: Option<Arc<dyn Checker>>,
    pub(crate) hub: Arc<Hub>,
    pub(crate) log: RunLog,
    pub(crate) budget: Budget,
    pub(crate) retries: Arc<RetryBudget>,
    pub(crate) turn: Turn,
    pub(crate) deadline: Deadline,
    pub(crate) stop: Stop,
    pub(crate) sending: Sending,
    /// Providers that have refused their key in this part of the run: every other call with it would fail the same way.
    pub(crate) refused_keys: Mutex<BTreeSet<ProviderId>>,
    /// Whether what this part of the run begins with is durable: it was held against the day's limits as a whole.
    pub(crate) has_begun: AtomicBool,
}

impl RunContext {
    /// Whether each request is held against the day's limits by itself.
    pub(crate) fn is_limited(&self) -> bool {
        !self.plan.limits.is_empty() && self.has_begun.load(Ordering::Relaxed)
    }
}
