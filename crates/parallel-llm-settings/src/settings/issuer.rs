//! Whose tokens are accepted besides this program's own.

use parallel_llm_engine::value::next::Advice;
use parallel_llm_engine::{Code, Failure, PicoUsd};

use super::layer::Layer;
use super::table::Setting;

/// A server for identities whose tokens are taken, and what they grant besides their scopes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssuerSettings {
    /// The address by which it calls itself.
    pub address: String,
    /// What it calls this server. A token for somebody else is not for us.
    pub audience: String,
    /// The most the runs of each person it names may cost in a day.
    pub budget_day: Option<PicoUsd>,
    /// How many requests each person it names may make in a minute.
    pub requests_per_minute: Option<u32>,
}

/// The issuer, where one is set.
pub(super) fn read(layer: &Layer) -> Result<Option<IssuerSettings>, Failure> {
    let Some(address) = layer.word_if_set(Setting::Issuer) else { return Ok(None) };
    let audience = layer.word_if_set(Setting::IssuerAudience).ok_or_else(|| {
        Failure::new(Code::SettingsInvalid, "`issuer` is set, and `issuer_audience` is not")
            .with_next(Advice::SetIssuerAudience)
    })?;
    Ok(Some(IssuerSettings {
        address,
        audience,
        budget_day: layer.usd_if_set(Setting::IssuerBudgetDayUsd),
        requests_per_minute: layer.whole_if_set(Setting::IssuerRequestsPerMinute),
    }))
}
