//! The retry policy of calls, and the budget of retries of each provider key.
//!
//! This is the only retry layer. A call is retried only before its first text: afterwards a retry would pay a second time
//! for a text that is partly there.

use std::collections::BTreeMap;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::request::panel::ProviderId;
use crate::value::answer::Failure;
use crate::value::code::Code;
use crate::value::retry::Retry;

/// The shortest and the longest backoff in seconds. Half a second outlives a hiccup; after eight, an answer without this
/// seat serves the user better.
const BACKOFF_S: (f64, f64) = (0.5, 8.0);
/// The longest `Retry-After` that is obeyed. Beyond it the seat fails at once, and the failure says when to retry.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(60);
/// The share of `Retry-After` by which a retry may be later, so that the calls of a panel do not return all at once.
const RETRY_AFTER_SPREAD: f64 = 0.1;
/// The retries after an empty answer: only one, because empty answers are often billed.
const EMPTY_RETRIES_MAX: u32 = 1;

/// The retries a key may make at once, and how fast they refill: 20 in 10 s.
const BUDGET_BURST: f64 = 20.0;
const BUDGET_PER_S: f64 = 2.0;
/// The retries each first try adds: one for ten calls.
const BUDGET_PER_CALL: f64 = 0.1;
/// The most retries that a busy hour can save up.
const BUDGET_MAX: f64 = 100.0;

/// The names of the output cap. A server that knows neither is not asked.
const CAPS: [&str; 2] = ["max_tokens", "max_completion_tokens"];

/// A failed try, as far as the retry decision depends on it.
#[derive(Clone, Copy, Debug)]
pub struct Trial<'a> {
    /// The failure.
    pub failure: &'a Failure,
    /// The retries so far. Retries without a rejected field are not counted, because the request was at fault.
    pub retries: u32,
    /// The most retries of a call.
    pub retries_max: u32,
    /// Fields already left out.
    pub without: &'a [String],
    /// How long the call may still take.
    pub time_left: Duration,
    /// A number from 0 to 1 that spreads retries over time.
    pub jitter: f64,
}

/// Decides by the failure and the time left. The caller must also ask the [`RetryBudget`].
pub fn decide(trial: &Trial<'_>) -> Retry {
    if let Some(field) = &trial.failure.rejected_field {
        let is_cap = |name: &str| CAPS.contains(&name);
        // Without any cap a call may cost more than was counted for it.
        let has_no_cap = is_cap(field) && trial.without.iter().any(|name| is_cap(name));
        let tried = trial.without.contains(field) || has_no_cap;
        return if tried { Retry::Never } else { Retry::Without { field: field.clone() } };
    }
    let retries_max = match trial.failure.code {
        Code::Empty => trial.retries_max.min(EMPTY_RETRIES_MAX),
        _ => trial.retries_max,
    };
    if !trial.failure.retryable || trial.retries >= retries_max {
        return Retry::Never;
    }
    let wait = match trial.failure.retry_after_ms.map(Duration::from_millis) {
        Some(asked) if asked > RETRY_AFTER_MAX => return Retry::Never,
        Some(asked) => asked.mul_f64(1.0 + RETRY_AFTER_SPREAD * trial.jitter),
        None => backoff(trial.retries, trial.jitter),
    };
    if wait >= trial.time_left {
        return Retry::Never;
    }
    Retry::After { ms: u64::try_from(wait.as_millis()).unwrap_or(u64::MAX) }
}

/// Exponential backoff with full jitter: from the shortest wait up to twice the previous bound, at most the longest wait.
fn backoff(retries: u32, jitter: f64) -> Duration {
    let (shortest, longest) = BACKOFF_S;
    let top = (shortest * 2f64.powi(i32::try_from(retries + 1).unwrap_or(i32::MAX))).min(longest);
    Duration::from_secs_f64(shortest + (top - shortest) * jitter.clamp(0.0, 1.0))
}

/// Limits retries, so that they do not make an outage worse: a key may retry a tenth of its calls, and a few more.
#[derive(Debug, Default)]
pub struct RetryBudget {
    allowances: Mutex<BTreeMap<ProviderId, Allowance>>,
}

#[derive(Debug)]
struct Allowance {
    tokens: f64,
    at: Instant,
}

impl RetryBudget {
    /// Adds the share of a first try.
    pub fn deposit(&self, provider: &ProviderId) {
        self.change(provider, BUDGET_PER_CALL);
    }

    /// Takes one retry. Returns whether there was one.
    pub fn withdraw(&self, provider: &ProviderId) -> bool {
        self.change(provider, -1.0)
    }

    fn change(&self, provider: &ProviderId, by: f64) -> bool {
        let now = Instant::now();
        let mut allowances = self.allowances.lock();
        let allowance =
            allowances.entry(provider.clone()).or_insert(Allowance { tokens: BUDGET_BURST, at: now });
        let refill = now.duration_since(allowance.at).as_secs_f64() * BUDGET_PER_S;
        // The refill stops at the burst but never takes away what deposits have saved up beyond it.
        let refilled = allowance.tokens.max((allowance.tokens + refill).min(BUDGET_BURST));
        allowance.at = now;
        let after = (refilled + by).min(BUDGET_MAX);
        allowance.tokens = if after < 0.0 { refilled } else { after };
        after >= 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decide_for(failure: &Failure, retries: u32) -> Retry {
        decide(&Trial {
            failure,
            retries,
            retries_max: 2,
            without: &[],
            time_left: Duration::from_secs(100),
            jitter: 0.0,
        })
    }

    #[test]
    fn only_transient_failures_are_retried() {
        let upstream = Failure::new(Code::Upstream, "502");
        assert_eq!(decide_for(&upstream, 0), Retry::After { ms: 500 });
        assert_eq!(decide_for(&upstream, 1), Retry::After { ms: 500 });
        assert_eq!(decide_for(&upstream, 2), Retry::Never);
        assert_eq!(decide_for(&Failure::new(Code::Auth, "401"), 0), Retry::Never);
        let empty = Failure::new(Code::Empty, "");
        assert_eq!((decide_for(&empty, 0), decide_for(&empty, 1)), (Retry::After { ms: 500 }, Retry::Never));
    }

    #[test]
    fn a_long_wait_fails_at_once() {
        let limited =
            |s| Failure::new(Code::RateLimited, "429").with_retry_after(Some(Duration::from_secs(s)));
        assert_eq!(decide_for(&limited(2), 0), Retry::After { ms: 2000 });
        assert_eq!(decide_for(&limited(3600), 0), Retry::Never);
        let short = Trial {
            failure: &limited(20),
            retries: 0,
            retries_max: 2,
            without: &[],
            time_left: Duration::from_secs(10),
            jitter: 0.5,
        };
        assert_eq!(decide(&short), Retry::Never);
    }

    #[test]
    fn a_rejected_field_is_left_out_once() {
        let mut failure = Failure::new(Code::BadRequest, "400");
        failure.rejected_field = Some("temperature".into());
        assert_eq!(decide_for(&failure, 0), Retry::Without { field: "temperature".into() });
        let without = ["temperature".to_owned()];
        let again = Trial {
            failure: &failure,
            retries: 0,
            retries_max: 2,
            without: &without,
            time_left: Duration::from_secs(10),
            jitter: 0.0,
        };
        assert_eq!(decide(&again), Retry::Never);
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_runs_out_of_retries_in_a_storm_of_failures() {
        let budget = RetryBudget::default();
        let key = ProviderId("openrouter".into());
        (0..100).for_each(|_| budget.deposit(&key));
        assert_eq!((0..100).filter(|_| budget.withdraw(&key)).count(), 30);
        tokio::time::advance(Duration::from_secs(5)).await;
        assert_eq!((0..100).filter(|_| budget.withdraw(&key)).count(), 10);
        assert!(budget.withdraw(&ProviderId("other".into())));
    }
}
