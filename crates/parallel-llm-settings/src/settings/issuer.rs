//! The identity server whose tokens are accepted besides this program's own.

use parallel_llm_engine::value::next::Advice;
use parallel_llm_engine::{Code, Failure, PicoUsd};

use super::sources::layer::Layer;
use super::table::Setting;

/// An identity server, and what its tokens grant besides their scopes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssuerSettings {
    /// The server's issuer address.
    pub address: String,
    /// This server's name in its tokens. Tokens for other audiences are refused.
    pub audience: String,
    /// The most that the runs of each person may cost per day.
    pub budget_day: Option<PicoUsd>,
    /// Requests per minute for each person.
    pub requests_per_minute: Option<u32>,
}

/// The issuer, if one is set.
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
