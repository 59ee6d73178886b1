//! Compares this machine's clock with those of the providers.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use parallel_llm_engine::Failure;

use crate::doctor::finding::Finding;
use crate::doctor::instruments::Doctor;
use parallel_llm_settings::clock::unix_ms;

/// The smallest reported difference: certificates, run leases and daily budgets depend on the clock. Network delay and
/// the whole seconds that providers report are far below it.
const SKEW_MS_MAX: u64 = 30_000;

pub(crate) async fn examine(doctor: &Doctor) -> Vec<Finding> {
    let named: BTreeSet<_> =
        doctor.configured.models().into_iter().map(|named| named.model.provider).collect();
    let providers = doctor.providers().all().filter(|provider| named.contains(&provider.id));
    let asked = providers.map(async |provider| {
        // A provider that cannot be called is skipped; the check of keys reports why.
        doctor.providers().check_key(&provider.id).await.ok()?;
        let before_ms = unix_ms();
        let reported_ms = (*doctor.fetch_time)(provider.id.clone()).await;
        finding(&provider.name, reported_ms, before_ms.midpoint(unix_ms()))
    });
    let described: Vec<Finding> = join_all(asked).await.into_iter().flatten().collect();
    if described.is_empty() { vec![Finding::ok("no provider reported the time")] } else { described }
}

/// `None` if the provider reports no time.
fn finding(name: &str, reported_ms: Result<Option<u64>, Failure>, here_ms: u64) -> Option<Finding> {
    let there_ms = match reported_ms {
        Ok(there_ms) => there_ms?,
        Err(failure) => return Some(Finding::warning(failure.message.clone(), failure.next_steps())),
    };
    let skew_ms = there_ms.abs_diff(here_ms);
    if skew_ms <= SKEW_MS_MAX {
        return Some(Finding::ok(format!("it agrees with {name}'s")));
    }
    let way = if here_ms > there_ms { "ahead of" } else { "behind" };
    let found =
        format!("it is {} s {way} {name}'s: certificates and the leases of runs go by it", skew_ms / 1_000);
    Some(Finding::warning(found, "set this machine's clock, best by NTP: `sudo timedatectl set-ntp true`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_may_be_half_a_minute_off() {
        const HERE_MS: u64 = 1_795_305_601_000;
        let described = |there_ms: u64| {
            let finding = finding("X", Ok(Some(there_ms)), HERE_MS).expect("there is a time");
            format!("{} {}", finding.state.word(), finding.found)
        };
        assert_eq!(described(HERE_MS - 30_000), "ok it agrees with X's");
        assert_eq!(described(HERE_MS + 30_000), "ok it agrees with X's");
        let ahead = "warning it is 31 s ahead of X's: certificates and the leases of runs go by it";
        assert_eq!(described(HERE_MS - 31_000), ahead);
        let behind = "warning it is 90 s behind X's: certificates and the leases of runs go by it";
        assert_eq!(described(HERE_MS + 90_000), behind);
        assert_eq!(finding("X", Ok(None), HERE_MS), None);
    }
}
