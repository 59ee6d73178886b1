//! Classifies connection errors.
//!
//! Invariants: a message contains the provider's host and the innermost cause, never the requested address; all causes
//! are kept with the failure. An untrusted certificate is never retried.

use std::error::Error;
use std::io;

use parallel_llm_engine::value::next::{Advice, Next, Operation};
use parallel_llm_engine::{Code, Failure};

use super::endpoint::Endpoint;

/// The failure for an error of the HTTP client, with all its causes.
pub(crate) fn failure(endpoint: &Endpoint, connect_timeout_ms: u64, error: &reqwest::Error) -> Failure {
    kind(endpoint, connect_timeout_ms, error).with_causes(causes(error).map(ToString::to_string))
}

fn kind(endpoint: &Endpoint, connect_timeout_ms: u64, error: &reqwest::Error) -> Failure {
    let (id, host) = (endpoint.id(), endpoint.authority());
    if error.is_connect() && error.is_timeout() {
        let message =
            format!("no connection to {id} at {host} within the timer `connect` of {connect_timeout_ms} ms");
        let failure = Failure::new(Code::Timeout, message).never_sent();
        return failure.with_next(Next::raise_setting("connect_timeout_ms"));
    }
    let cause = innermost(error);
    if is_certificate(error) {
        let message = format!("the certificate of {id} at {host} is not trusted: {cause}");
        return Failure::new(Code::Connection, message)
            .never_sent()
            .with_retryable(false)
            .with_next([Next::Do(Advice::CheckClock), Next::Do(Advice::NameTrustedCertificate)]);
    }
    if is_malformed(error) {
        return Failure::new(Code::Protocol, format!("the reply of {id} at {host} cannot be read: {cause}"));
    }
    if endpoint.is_local_server() && is_refused(error) {
        // Nobody starts it between two tries.
        return Failure::new(Code::Connection, format!("{id} is not running at {host}: {cause}"))
            .never_sent()
            .with_retryable(false)
            .with_next([Next::Do(Advice::StartLocalServer), Next::Use(Operation::Doctor)]);
    }
    if error.is_connect() {
        return Failure::new(Code::Connection, format!("{id} at {host} cannot be reached: {cause}"))
            .never_sent();
    }
    Failure::new(Code::Connection, format!("{id} at {host} broke the connection: {cause}"))
}

fn is_refused(error: &reqwest::Error) -> bool {
    let is_refused = |cause: &io::Error| cause.kind() == io::ErrorKind::ConnectionRefused;
    causes(error).any(|cause| cause.downcast_ref().is_some_and(is_refused))
}

fn is_certificate(error: &reqwest::Error) -> bool {
    causes(error).filter_map(|cause| cause.downcast_ref::<rustls::Error>()).any(|cause| {
        matches!(cause, rustls::Error::InvalidCertificate(_) | rustls::Error::NoCertificatesPresented)
    })
}

/// Whether the answer is invalid HTTP or gzip, as opposed to missing. Broken TLS is a connection error.
fn is_malformed(error: &reqwest::Error) -> bool {
    let no_head = |cause: &hyper::Error| cause.is_parse();
    let no_body =
        |cause: &io::Error| matches!(cause.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData);
    causes(error).all(|cause| !cause.is::<rustls::Error>())
        && causes(error).any(|cause| {
            cause.downcast_ref().is_some_and(no_head) || cause.downcast_ref().is_some_and(no_body)
        })
}

/// The message of the last cause, such as a system error or a certificate problem. None of these contains the requested
/// address.
fn innermost(error: &reqwest::Error) -> String {
    causes(error).last().map_or_else(|| "no reason is known".to_owned(), ToString::to_string)
}

/// The causes of an error, from the outside in. An IO error hides what it wraps from `source`.
fn causes(error: &reqwest::Error) -> impl Iterator<Item = &(dyn Error + 'static)> {
    std::iter::successors(error.source(), |cause| behind(*cause))
}

fn behind<'a>(cause: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    match cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        Some(wrapped) => Some(wrapped),
        None => cause.source(),
    }
}
