//! What a check reports: a finding, its state and its remedy.

use parallel_llm_engine::{Code, Failure, ProviderId};
use serde::Serialize;

use super::remedy::Remedy;

/// The state of the checked item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Health {
    /// No problem.
    Ok,
    /// A problem that does not prevent runs.
    Warning,
    /// A problem that prevents runs.
    Failed,
}

impl Health {
    /// The name in tables and JSON.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Failed => "failed",
        }
    }
}

/// A finding of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The check.
    pub check: &'static str,
    /// The state.
    pub state: Health,
    /// The finding.
    pub found: String,
    /// The remedy; null if none is needed.
    pub next: Option<Remedy>,
    /// The provider that cannot be called because of this finding.
    #[serde(skip)]
    pub(super) mutes: Option<ProviderId>,
}

impl Finding {
    /// A finding of a check that a door makes itself.
    pub fn described(
        check: &'static str,
        state: Health,
        found: impl Into<String>,
        next: Option<Remedy>,
    ) -> Self {
        Self { check, ..Self::of(state, found, next) }
    }

    pub(super) fn ok(found: impl Into<String>) -> Self {
        Self::of(Health::Ok, found, None)
    }

    pub(super) fn warning(found: impl Into<String>, next: impl Into<Remedy>) -> Self {
        Self::of(Health::Warning, found, Some(next.into()))
    }

    pub(super) fn failed(found: impl Into<String>, next: impl Into<Remedy>) -> Self {
        Self::of(Health::Failed, found, Some(next.into()))
    }

    /// A finding that makes a provider unusable. The examination sets its severity, which depends on the other
    /// providers.
    pub(super) fn muting(provider: &ProviderId, found: impl Into<String>, next: impl Into<Remedy>) -> Self {
        Self { mutes: Some(provider.clone()), ..Self::warning(found, next) }
    }

    /// The finding for a failed request to a provider, other than a question.
    pub(super) fn refused(provider: &ProviderId, failure: &Failure) -> Self {
        let mutes = blocks_calls(failure.code.as_str()).then(|| provider.clone());
        Self { mutes, ..Self::warning(failure.message.clone(), failure.next_steps()) }
    }

    /// The examination sets the check's name, so that no check can use another's.
    pub(super) fn of(state: Health, found: impl Into<String>, next: Option<Remedy>) -> Self {
        Self { check: "", state, found: found.into(), next, mutes: None }
    }
}

/// Whether calls would fail for the same reason. A provider that refuses other requests may still answer questions.
pub(super) fn blocks_calls(code: &str) -> bool {
    const CODES: [Code; 10] = [
        Code::KeyMissing,
        Code::Auth,
        Code::Forbidden,
        Code::KeyLimit,
        Code::Credits,
        Code::Connection,
        Code::Timeout,
        Code::SettingsInvalid,
        Code::InsecureUrl,
        Code::HostRefused,
    ];
    CODES.iter().any(|one| one.as_str() == code)
}
