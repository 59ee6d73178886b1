//! The remaining credit and the expiry of each key, for providers that report them.

use std::time::Duration;

use futures_util::future::join_all;
use parallel_llm_engine::value::next::Advice;
use parallel_llm_engine::{Code, Failure, PicoUsd, ProviderId};
use parallel_llm_provider::Credit;

use crate::doctor::finding::Finding;
use crate::doctor::instruments::Doctor;
use parallel_llm_settings::clock;
use parallel_llm_settings::settings::ProviderSettings;

/// The longest wait for a provider's report. Usually it takes a tenth of a second.
const CREDIT_MAX: Duration = Duration::from_secs(5);
/// A key with fewer days left is reported: long enough to make another.
const EXPIRES_SOON_DAYS: i64 = 14;

pub(crate) async fn examine(doctor: &Doctor) -> Vec<Finding> {
    let routers = doctor.settings.providers.iter().filter(|provider| provider.dialect.routes);
    let asked = routers.map(|provider| async move {
        findings(&provider.id, &provider.name, credit_of(doctor, provider).await)
    });
    join_all(asked).await.into_iter().flatten().collect()
}

async fn credit_of(doctor: &Doctor, provider: &ProviderSettings) -> Result<Option<Credit>, Failure> {
    // A key command has a time limit of its own.
    doctor.providers().check_key(&provider.id).await?;
    let late = |_| {
        let limit_s = CREDIT_MAX.as_secs();
        let message = format!("{} did not say within {limit_s} s what is left of its key", provider.name);
        Failure::new(Code::Timeout, message).with_next(Advice::TryAgain)
    };
    let fetched = (*doctor.fetch_credit)(provider.id.clone());
    tokio::time::timeout(CREDIT_MAX, fetched).await.map_err(late)?
}

/// Empty if the provider reports nothing or has no key, which the check of keys reports.
fn findings(id: &ProviderId, name: &str, credit: Result<Option<Credit>, Failure>) -> Vec<Finding> {
    match credit {
        Ok(None) => Vec::new(),
        Ok(Some(credit)) => {
            std::iter::once(remaining(id, name, &credit)).chain(expiry(id, name, &credit)).collect()
        }
        Err(failure) if failure.code == Code::KeyMissing => Vec::new(),
        Err(failure) => vec![Finding::refused(id, &failure)],
    }
}

fn remaining(id: &ProviderId, name: &str, credit: &Credit) -> Finding {
    let free = if credit.is_free_tier { ", on the free tier" } else { "" };
    let resets = credit.resets.map(|word| format!(" {word}")).unwrap_or_default();
    let limit = credit.limit.map(|limit| format!(" of its{resets} limit of {limit}")).unwrap_or_default();
    match credit.remaining {
        Some(left) if left <= PicoUsd::ZERO => {
            let found = format!("nothing is left of {name}'s key{limit}{free}");
            Finding::muting(id, found, Code::KeyLimit.next())
        }
        Some(left) => Finding::ok(format!("{left} is left of {name}'s key{limit}{free}")),
        None => Finding::ok(format!("{name}'s key has no limit of its own{free}")),
    }
}

fn expiry(id: &ProviderId, name: &str, credit: &Credit) -> Option<Finding> {
    let day = credit.expires_on.as_deref()?;
    let next = "make another key at the provider, and keep it with `keys set`";
    Some(match clock::days_until(day)? {
        ..0 => Finding::muting(id, format!("{name}'s key was valid until {day}, which has passed"), next),
        days @ 0..EXPIRES_SOON_DAYS => {
            Finding::warning(format!("{name}'s key is valid until {day}, {days} days from now"), next)
        }
        _ => Finding::ok(format!("{name}'s key is valid until {day}")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(credit: Result<Option<Credit>, Failure>) -> Vec<Finding> {
        findings(&ProviderId("x".to_owned()), "X", credit)
    }

    /// Compares the finding, and whether no call would be accepted.
    fn described(credit: Credit) -> Vec<String> {
        let word = |it: &Finding| if it.mutes.is_some() { "mute" } else { it.state.word() };
        of(Ok(Some(credit))).iter().map(|it| format!("{} {}", word(it), it.found)).collect()
    }

    #[test]
    fn the_remaining_credit_is_reported() {
        let usd = |dollars| Some(PicoUsd::from_usd(dollars));
        let none = Credit::default();
        assert_eq!(described(Credit { remaining: usd(7), ..none.clone() }), ["ok $7.00 is left of X's key"]);
        let limited = Credit { remaining: usd(7), limit: usd(10), resets: Some("monthly"), ..none.clone() };
        assert_eq!(described(limited), ["ok $7.00 is left of X's key of its monthly limit of $10.00"]);
        let free = Credit { remaining: usd(0), is_free_tier: true, ..none.clone() };
        assert_eq!(described(free), ["mute nothing is left of X's key, on the free tier"]);
        assert_eq!(described(none), ["ok X's key has no limit of its own"]);
        assert_eq!(of(Ok(None)), []);
        assert_eq!(of(Err(Failure::new(Code::KeyMissing, "no key"))), []);
    }

    #[test]
    fn an_expiring_key_is_reported_in_time() {
        const DAY_MS: u64 = 24 * 60 * 60 * 1000;
        let on = |days_ms: u64| {
            let expires_on = Some(clock::day(days_ms));
            described(Credit { expires_on, ..Credit::default() })[1]
                .split_whitespace()
                .next()
                .unwrap()
                .to_owned()
        };
        let now_ms = clock::unix_ms();
        let described = [on(now_ms + 40 * DAY_MS), on(now_ms + 5 * DAY_MS), on(now_ms - 2 * DAY_MS)];
        assert_eq!(described, ["ok", "warning", "mute"]);
    }
}
