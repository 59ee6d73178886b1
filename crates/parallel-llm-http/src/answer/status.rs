//! The one table from classes of errors to HTTP status, and the refusals that HTTP itself makes.
//!
//! Clients repeat a request on their own after 429, 502, 503 or 504, and some after 408, 409 or any 5xx.
//! Invariants: one of the first four is used exactly if repeating may help, so that no client pays twice for the same
//! failure.

use axum::http::StatusCode;
use parallel_llm_engine::Code;
use parallel_llm_engine::value::code::Class;

/// The status of a failure.
pub const fn of(code: Code) -> StatusCode {
    match code.class() {
        // Of recursion, too. Not 508: clients repeat whatever is 500 or above.
        Class::Request => StatusCode::BAD_REQUEST,
        // The caller's own token, never a provider's key, which is not the caller's concern.
        Class::Token => StatusCode::UNAUTHORIZED,
        // The caller's own limit, not the owner's account at a provider.
        Class::Budget => StatusCode::PAYMENT_REQUIRED,
        Class::Permission => StatusCode::FORBIDDEN,
        Class::NotFound => StatusCode::NOT_FOUND,
        Class::Repeated => StatusCode::CONFLICT,
        Class::TooLong => StatusCode::PAYLOAD_TOO_LARGE,
        Class::Unfit => StatusCode::UNPROCESSABLE_ENTITY,
        // A dependency of this server refused, and would refuse again.
        Class::Account | Class::Declined => StatusCode::FAILED_DEPENDENCY,
        Class::RateLimited => StatusCode::TOO_MANY_REQUESTS,
        // The owner has to fix it.
        Class::Settings | Class::Key | Class::Disk | Class::Defect => StatusCode::INTERNAL_SERVER_ERROR,
        Class::Upstream => StatusCode::BAD_GATEWAY,
        Class::Store | Class::AccountBusy | Class::Unavailable | Class::Cancelled => {
            StatusCode::SERVICE_UNAVAILABLE
        }
        Class::Timeout => StatusCode::GATEWAY_TIMEOUT,
    }
}

/// A fault of a request as HTTP, whose status is more exact than that of any code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It cannot be parsed.
    Malformed,
    /// Its path, or what it names, does not exist.
    NotFound,
    /// Its method is not served.
    Method,
    /// Its body came too slowly.
    TooSlow,
    /// Its body is too long.
    BodyTooLarge,
    /// The media type of its body is not supported.
    MediaType,
    /// Its caller has too many requests in flight.
    TooMany,
    /// Its head is too long.
    HeadTooLarge,
    /// A necessary check is not possible now.
    Unavailable,
}

impl Fault {
    /// The status of the fault.
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
    fn only_a_refused_token_gets_a_challenge() {
        let challenged: Vec<&Code> =
            Code::ALL.iter().filter(|code| of(**code) == StatusCode::UNAUTHORIZED).collect();
        assert_eq!(challenged, [&Code::TokenRefused]);
    }
}
