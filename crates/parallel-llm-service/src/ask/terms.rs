//! A principal's defaults and daily limits, and the check of the check command.

use parallel_llm_engine::plan::{DayLimit, Defaults};
use parallel_llm_engine::request::strategy::StrategyChoice;
use parallel_llm_engine::value::next::{Advice, Argument, Next};
use parallel_llm_engine::{Code, Failure};

use super::plan::Planner;
use crate::access::Principal;

impl Planner {
    /// The defaults of this principal. The check command runs on the owner's machine, for the owner alone.
    pub(super) fn defaults(&self) -> Defaults {
        let defaults = self.settings().defaults();
        let checker = defaults.checker.filter(|_| self.may_check());
        Defaults { checker, ..defaults }
    }

    fn may_check(&self) -> bool {
        self.checks && self.principal == Principal::Owner
    }

    /// Fails if the recipe checks answers and there is no check command or the principal may not use it.
    pub(super) fn check_checker(&self, strategy: StrategyChoice) -> Result<(), Failure> {
        let check = self.settings().check.as_ref();
        if !strategy.options.is_checked() {
            return match check.filter(|check| check.is_asked_for) {
                Some(_) => Err(Failure::new(
                    Code::Usage,
                    format!("`{strategy}` checks nothing, so `--check` would do nothing"),
                )
                .with_next(Next::Give(Argument::Strategy))),
                None => Ok(()),
            };
        }
        if !self.may_check() {
            let message =
                format!("`{strategy}` runs the owner's check command, which is not available over HTTP");
            return Err(Failure::new(Code::ScopeMissing, message).with_next(Advice::NameAnotherStrategy));
        }
        let none = || {
            let message = format!("`{strategy}` needs a check command, and none is set");
            Failure::new(Code::CheckUnavailable, message)
        };
        check.ok_or_else(none)?.check()
    }

    /// The daily limits for this principal's runs: its own first, then those of the settings.
    pub(super) fn day_limits(&self) -> Vec<DayLimit> {
        self.principal.day_limit().into_iter().chain(self.settings().defaults().limits).collect()
    }
}
