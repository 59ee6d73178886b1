//! The context that the calls and the strategy of one run share.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

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

/// The plan, log, budget and ports of one run.
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
    /// Providers that refused their key in this part of the run. Every other call with the key would fail the same way.
    pub(crate) refused_keys: Mutex<BTreeSet<ProviderId>>,
    /// Whether the first commit of this part is durable. Its requests were checked against the limits of the day together.
    pub(crate) has_begun: AtomicBool,
}

impl RunContext {
    /// Whether each further request must be checked against the limits of the day.
    pub(crate) fn checks_day_limits(&self) -> bool {
        !self.plan.limits.is_empty() && self.has_begun.load(Ordering::Relaxed)
    }
}
