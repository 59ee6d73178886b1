//! The one table from error code to HTTP status, and the few things that HTTP itself refuses with a status of its own.
//!
//! Clients repeat a request by themselves where they are answered 429, 502, 503 or 504, and some where they are answered
//! 408, 409 or any 5xx. What always holds: one of the first four stands exactly where repeating may help, so that no client
//! pays a second time for what cannot come out differently.

use axum::http::StatusCode;
use parallel_llm_engine::Code;

/// The status of an answer that is this failure.
pub const fn of(code: Code) -> StatusCode {
    match code {
        Code::PromptEmpty
        | Code::PromptNotUtf8
        | Code::Usage
        | Code::InsecureUrl
        | Code::PanelSize
        | Code::ModelInvalid
        | Code::CheckUnavailable => StatusCode::BAD_REQUEST,
        // The caller's own token; never the key of a provider, which the caller may know nothing of.
        Code::TokenRefused => StatusCode::UNAUTHORIZED,
        // What the caller may spend, not what the owner's account at a provider holds.
        Code::Budget => StatusCode::PAYMENT_REQUIRED,
        Code::ScopeMissing | Code::HostRefused => StatusCode::FORBIDDEN,
        Code::ModelUnknown | Code::RunNotFound => StatusCode::NOT_FOUND,
        Code::Repeated => StatusCode::CONFLICT,
        Code::PromptTooLong => StatusCode::PAYLOAD_TOO_LARGE,
        Code::AttachmentInvalid | Code::AttachmentUnsupported | Code::IdempotencyConflict => {
            StatusCode::UNPROCESSABLE_ENTITY
        }
        // Something this server depends on said no, and says so again.
        Code::Auth
        | Code::Credits
        | Code::KeyLimit
        | Code::Forbidden
        | Code::Refused
        | Code::Moderated
        | Code::ContextLength
        | Code::TooLarge
        | Code::BadRequest
        | Code::Protocol
        | Code::Redirect
        | Code::ReasoningOnly
        | Code::Incomplete
        | Code::AnswerTooLarge
        | Code::NoMajority
        | Code::CheckFailed
        | Code::Unneeded
        | Code::SuspectedInjection
        | Code::LinkUnknown
        | Code::HiddenText => StatusCode::FAILED_DEPENDENCY,
        Code::RateLimited => StatusCode::TOO_MANY_REQUESTS,
        // The owner has to mend it.
        Code::SettingsInvalid
        | Code::KeyMissing
        | Code::OutputUnwritable
        | Code::Damaged
        | Code::Spilled
        | Code::Internal => StatusCode::INTERNAL_SERVER_ERROR,
        Code::Upstream | Code::Connection | Code::Empty | Code::AllFailed => StatusCode::BAD_GATEWAY,
        Code::Storage
        | Code::CreditsInFlight
        | Code::CircuitOpen
        | Code::Cancelled
        | Code::Interrupted
        | Code::Busy => StatusCode::SERVICE_UNAVAILABLE,
        Code::Timeout => StatusCode::GATEWAY_TIMEOUT,
    }
}

/// What is wrong with a request as HTTP, for which its status is more exact than that of any code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It cannot be read.
    Malformed,
    /// Nothing is served at its path, or what it names there is not.
    NotFound,
    /// Its method is not served.
    Method,
    /// Its body came too slowly.
    TooSlow,
    /// Its body is too long.
    BodyTooLarge,
    /// Its body is of a type that is not read.
    MediaType,
    /// Its caller has too much under way.
    TooMany,
    /// Its head is too long.
    HeadTooLarge,
    /// What would have to be known of it cannot be learned just now.
    Unavailable,
}

impl Fault {
    /// The status that says so.
    pub const fn status(self) -> StatusCode {
        match self {
            Self::Malformed => StatusCode::BAD_REQUEST,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::BodyTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::MediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::TooMany => StatusCode::TOO_MANY_REQUESTS,
            Self::HeadTooLarge => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Self::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_repeats_by_itself_only_what_repeating_may_help() {
        for code in Code::ALL {
            let status = of(*code);
            assert!(status.is_client_error() || status.is_server_error(), "{code}: {status}");
            let invites = matches!(status.as_u16(), 429 | 502 | 503 | 504);
            assert_eq!(invites, code.retryable(), "{code}: {status}");
        }
    }

    #[test]
    fn a_challenge_goes_with_no_refusal_but_that_of_the_caller_s_own_token() {
        let challenged: Vec<&Code> =
            Code::ALL.iter().filter(|code| of(**code) == StatusCode::UNAUTHORIZED).collect();
        assert_eq!(challenged, [&Code::TokenRefused]);
    }
}
