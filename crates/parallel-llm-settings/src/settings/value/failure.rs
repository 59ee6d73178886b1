//! Failures of the settings.

use parallel_llm_engine::Failure;
use parallel_llm_engine::value::code::Code;

/// A failure of the settings.
pub(in crate::settings) fn invalid(message: impl AsRef<str>) -> Failure {
    Failure::new(Code::SettingsInvalid, message)
}

/// The failure with a location in front.
pub(in crate::settings) fn at(location: &dyn std::fmt::Display, failure: Failure) -> Failure {
    Failure::new(failure.code, format!("{location}: {}", failure.message)).with_next(failure.next)
}
