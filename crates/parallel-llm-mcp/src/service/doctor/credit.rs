//! What may still be spent with the keys of those providers that say.

use futures_util::future::join_all;
use parallel_llm_engine::{Code, Failure, PicoUsd};
use parallel_llm_provider::Credit;

use super::{Finding, Health, Service};

pub(super) async fn look(service: &Service) -> Vec<Finding> {
    let routers = service.settings().providers.iter().filter(|provider| provider.dialect.routes);
    let asked = routers.map(|provider| async {
        (provider.name.as_str(), (service.parts.fetch_credit)(provider.id.clone()).await)
    });
    join_all(asked).await.into_iter().filter_map(|(name, credit)| finding(name, credit)).collect()
}

/// Nothing where the provider cannot say, or has no key: that is told by the check of keys.
fn finding(name: &str, credit: Result<Option<Credit>, Failure>) -> Option<Finding> {
    let credit = match credit {
        Ok(credit) => credit?,
        Err(failure) if failure.code == Code::KeyMissing => return None,
        Err(failure) => {
            let state = if is_final(failure.code) { Health::Failed } else { Health::Warning };
            return Some(Finding::of(state, failure.message.clone(), Some(failure.next_step().to_owned())));
        }
    };
    let free = if credit.is_free_tier { ", on the free tier" } else { "" };
    Some(match credit.remaining {
        Some(left) if left <= PicoUsd::ZERO => {
            Finding::failed(format!("nothing is left of {name}'s key{free}"), Code::KeyLimit.next())
        }
        Some(left) => Finding::ok(format!("{left} is left of {name}'s key{free}")),
        None => Finding::ok(format!("{name}'s key has no limit of its own{free}")),
    })
}

/// Whether calls with this key would fail too. Who could not be reached, or says nothing of its keys, may still answer.
const fn is_final(code: Code) -> bool {
    matches!(code, Code::Auth | Code::Forbidden | Code::KeyLimit | Code::Credits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(remaining: Option<i64>, is_free_tier: bool) -> String {
        let credit = Credit { remaining: remaining.map(PicoUsd), spent: None, is_free_tier };
        let finding = finding("X", Ok(Some(credit))).expect("a credit is told");
        format!("{} {}", finding.state.word(), finding.found)
    }

    #[test]
    fn what_is_left_is_told() {
        assert_eq!(told(Some(7_500_000_000_000), false), "ok $7.50 is left of X's key");
        assert_eq!(told(Some(0), true), "failed nothing is left of X's key, on the free tier");
        assert_eq!(told(None, false), "ok X's key has no limit of its own");
        assert_eq!(finding("X", Ok(None)), None);
        assert_eq!(finding("X", Err(Failure::new(Code::KeyMissing, "no key"))), None);
    }
}
