//! Says what kind of failure a provider's error is.
//!
//! Pure: status, headers, body and wall time in, [`Failure`] out. Kinds are told by the protocol's own fields
//! where it has them and by known phrases where it has none; the table below is all there is. What always holds: no
//! HTML, no flagged piece of the prompt, no key and no address a redirect points to is shown.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::{HeaderMap, StatusCode, header};
use parallel_llm_engine::{Code, Failure};
use url::Url;

use crate::retry_after;
use crate::scrubber::Scrubber;
use crate::wire::error::ErrorBody;

/// A day, for free models are counted afresh at midnight UTC.
const DAY_S: u64 = 24 * 60 * 60;
/// The status of an error in a stream whose code says nothing: the provider's own fault, so it may be retried.
const STATUS_UNKNOWN: u16 = 500;
/// Characters of a body that are shown where it is no API's answer.
const EXCERPT_CHARS: usize = 120;

/// Who said something, when it came, and what must not be repeated of it.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    /// The provider's name in the settings.
    pub(crate) provider: String,
    /// The wall time, against which dates are reckoned.
    pub(crate) now: SystemTime,
    /// Takes keys out while the words are whole: half a key at the end of a shortened text is not known as one.
    pub(crate) scrubber: Scrubber,
    /// The fields of the request that can be left out.
    pub(crate) optional_fields: &'static [&'static str],
}

/// One line of the table: which errors get which code.
struct Row(u16, u16, fn(&ErrorBody) -> bool, Code);

/// The first row whose statuses (from, to) and condition fit decides.
const TABLE: &[Row] = &[
    Row(400, 599, is_context_overflow, Code::ContextLength),
    Row(400, 400, |error| says(error, &["is not a valid model id"]), Code::ModelUnknown),
    Row(400, 404, |error| error.has_word("model_not_found"), Code::ModelUnknown),
    // Google answers 400 to a bad key.
    Row(400, 400, |error| says(error, &["api key not valid"]), Code::Auth),
    Row(400, 403, is_moderated, Code::Moderated),
    Row(400, 403, |error| error.has_word("refusal"), Code::Refused),
    Row(401, 401, any, Code::Auth),
    Row(
        402,
        402,
        |error| error.metadata("reason") == Some("in_flight_budget_exhausted"),
        Code::CreditsInFlight,
    ),
    Row(402, 402, any, Code::Credits),
    Row(403, 403, is_key_limit, Code::KeyLimit),
    Row(403, 403, any, Code::Forbidden),
    Row(404, 404, is_policy, Code::Forbidden),
    // A server that knows no such path is not the API we took it for.
    Row(404, 404, is_no_api, Code::Protocol),
    Row(404, 404, any, Code::ModelUnknown),
    Row(408, 409, any, Code::Upstream),
    Row(413, 413, any, Code::TooLarge),
    Row(425, 425, any, Code::Upstream),
    // OpenAI's word for an empty account. OpenRouter uses it in metadata for a passing state, which is not read.
    Row(429, 429, |error| error.has_word("insufficient_quota"), Code::Credits),
    Row(429, 429, any, Code::RateLimited),
    // Groq's word for no capacity.
    Row(498, 499, any, Code::Upstream),
    Row(400, 499, any, Code::BadRequest),
    Row(500, 599, any, Code::Upstream),
];

/// The failure that an answer with an error status is.
pub(crate) fn answered(origin: &Origin, status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Failure {
    if status.is_redirection() {
        return redirected(origin, status, headers);
    }
    let error = ErrorBody::parse(body).unwrap_or_default();
    let verb = format!("answered {}", status.as_u16());
    failure(&Said { origin, verb, status: status.as_u16(), headers, error })
}

/// The failure that an error inside a reply of status 200 is.
pub(crate) fn reported(origin: &Origin, error: ErrorBody) -> Failure {
    let status = reported_status(&error);
    let verb = format!("reported {}", error.code().unwrap_or_else(|| "an error".to_owned()));
    failure(&Said { origin, verb, status, headers: &HeaderMap::new(), error })
}

/// The failure that a body is which is no API's answer. Of a page only that it is one: markup tells people nothing.
pub(crate) fn no_api(origin: &Origin, body: &[u8]) -> Failure {
    let text = origin.scrubber.scrub(&String::from_utf8_lossy(body));
    let text = if text.trim_start().starts_with('<') { "a web page" } else { text.trim() };
    let excerpt: String = text.chars().take(EXCERPT_CHARS).collect();
    Failure::new(
        Code::Protocol,
        format!("{} answered with something that is no API reply: {excerpt}", origin.provider),
    )
}

/// An error with all that came with it.
struct Said<'a> {
    origin: &'a Origin,
    verb: String,
    status: u16,
    headers: &'a HeaderMap,
    error: ErrorBody,
}

fn failure(said: &Said<'_>) -> Failure {
    let error = &said.error;
    let row = TABLE.iter().find(|Row(from, to, when, _)| (*from..=*to).contains(&said.status) && when(error));
    let code = row.map_or(Code::Upstream, |Row(.., code)| *code);
    let mut failure = Failure::new(code, said.origin.scrubber.scrub(&message(said))).with_status(said.status);
    match code {
        Code::RateLimited => failure = rate_limited(failure, said),
        Code::BadRequest => failure.rejected_field = rejected_field(error, said.origin.optional_fields),
        Code::Forbidden if is_policy(error) => {
            failure = failure.with_next("change what the account's privacy and guardrail settings allow");
        }
        _ => {}
    }
    if failure.retryable && failure.retry_after_ms.is_none() {
        let wait = retry_after::wait(said.headers, Some(error.value()), said.origin.now);
        failure = failure.with_retry_after(wait);
        if let (Code::RateLimited, Some(wait)) = (code, wait) {
            let until = httpdate::fmt_http_date(said.origin.now + wait);
            failure = failure.with_next(format!("wait until {until}, or ask another model"));
        }
    }
    failure
}

/// Provider, upstream, status, and the provider's own words.
fn message(said: &Said<'_>) -> String {
    let error = &said.error;
    let provider = &said.origin.provider;
    let upstream = error.provider_name().map(|name| format!(" ({name})")).unwrap_or_default();
    // OpenRouter's general sentence says less than what it passes on.
    let general = error.message().is_none_or(|message| message == "Provider returned error");
    let passed_on = if general && !error.is_moderation() { error.upstream_words() } else { None };
    match passed_on.as_deref().or(error.message()) {
        Some(words) => format!("{provider}{upstream} {}: {words}", said.verb),
        None => format!("{provider}{upstream} {}", said.verb),
    }
}

/// A cap on free models per day is not waited for; the failure says when it ends.
fn rate_limited(failure: Failure, said: &Said<'_>) -> Failure {
    let error = &said.error;
    if !says(error, &["per-day"]) && !says(error, &["per day"]) {
        return failure;
    }
    let now = said.origin.now;
    let reset =
        retry_after::reset(said.headers, Some(error.value()), now).unwrap_or_else(|| next_midnight(now));
    let next = format!("wait until {}, or use a model that is not free", httpdate::fmt_http_date(reset));
    failure.with_retryable(false).with_retry_after(reset.duration_since(now).ok()).with_next(next)
}

fn next_midnight(now: SystemTime) -> SystemTime {
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    UNIX_EPOCH + Duration::from_secs((since / DAY_S + 1) * DAY_S)
}

/// The host alone: the rest of the address may carry what is secret.
fn redirected(origin: &Origin, status: StatusCode, headers: &HeaderMap) -> Failure {
    let location = headers.get(header::LOCATION).and_then(|value| value.to_str().ok());
    let host = location.and_then(|to| Url::parse(to).ok()).and_then(|url| url.host_str().map(str::to_owned));
    let target = host.unwrap_or_else(|| "another path".to_owned());
    let message = format!("{} answered {} and points to {target}", origin.provider, status.as_u16());
    Failure::new(Code::Redirect, message).with_status(status.as_u16())
}

/// The status an error would have had if it had come before the reply began.
fn reported_status(error: &ErrorBody) -> u16 {
    let number = error.code().and_then(|code| code.parse().ok()).filter(|code| (400..600).contains(code));
    number.or_else(|| error.words().find_map(status_of_word)).unwrap_or(STATUS_UNKNOWN)
}

fn status_of_word(word: &str) -> Option<u16> {
    Some(match word {
        "authentication" | "authentication_error" | "invalid_api_key" => 401,
        "payment_required" => 402,
        "permission_denied"
        | "permission_error"
        | "content_filter"
        | "content_policy_violation"
        | "refusal" => 403,
        "not_found" | "not_found_error" | "model_not_found" => 404,
        "payload_too_large" | "request_too_large" => 413,
        "rate_limit_exceeded" | "rate_limit_error" | "insufficient_quota" => 429,
        "overloaded_error" | "provider_overloaded" => 529,
        "invalid_request" | "invalid_request_error" | "invalid_prompt" | "context_length_exceeded" => 400,
        _ => return None,
    })
}

const fn any(_: &ErrorBody) -> bool {
    true
}

/// Whether all phrases stand in the provider's words, whatever their case.
fn says(error: &ErrorBody, phrases: &[&str]) -> bool {
    let upstream = error.upstream_words();
    let texts = error.message().into_iter().chain(upstream.as_deref());
    let mut texts = texts.map(str::to_lowercase);
    texts.any(|text| phrases.iter().all(|phrase| text.contains(phrase)))
}

/// Providers have no common word for this, so their sentences are known by heart.
fn is_context_overflow(error: &ErrorBody) -> bool {
    const PHRASES: [&[&str]; 9] = [
        &["maximum context length is"],
        &["exceeds the context window"],
        &["prompt is too long"],
        &["input token count", "exceeds the maximum"],
        &["maximum prompt length is"],
        &["exceeds the available context size"],
        &["context_length_exceeded"],
        &["context length exceeded"],
        &["greater than the context length"],
    ];
    let is_throttle = says(error, &["rate limit"]) || says(error, &["throttl"]);
    error.has_word("context_length_exceeded")
        || !is_throttle && PHRASES.iter().any(|phrases| says(error, phrases))
}

/// Whether a moderator stopped the question or the answer, by the protocol's own marks.
fn is_moderated(error: &ErrorBody) -> bool {
    error.is_moderation()
        || ["content_filter", "content_policy_violation"].into_iter().any(|word| error.has_word(word))
}

fn is_key_limit(error: &ErrorBody) -> bool {
    let source = error.metadata("limit_source").unwrap_or_default();
    let sources = ["openrouter_key_limit", "openrouter_workspace_budget", "openrouter_guardrail_budget"];
    sources.contains(&source) || says(error, &["key limit exceeded"])
}

/// Whether the account's own settings leave no provider for the model.
fn is_policy(error: &ErrorBody) -> bool {
    ["data policy", "no allowed providers", "model restrictions", "guardrail"]
        .into_iter()
        .any(|phrase| says(error, &[phrase]))
        || ["privacy_restricted", "constraint_filtered", "region_restricted"].into_iter().any(|code| {
            error.value().pointer("/availability/code").and_then(|own| own.as_str()) == Some(code)
        })
}

fn is_no_api(error: &ErrorBody) -> bool {
    error.message().is_none_or(|message| message.trim_end_matches('.').eq_ignore_ascii_case("not found"))
}

/// The optional field of ours that the provider will not take, if that is what it says. Naming a field is not
/// enough: `max_tokens is too large` is about the value, and leaving the cap out would cost money.
fn rejected_field(error: &ErrorBody, optional_fields: &[&str]) -> Option<String> {
    const REJECTIONS: [&str; 9] = [
        "unsupported",
        "not supported",
        "not support",
        "unrecognized",
        "unknown",
        "unexpected",
        "not permitted",
        "deprecated",
        "mandatory",
    ];
    let rejects = error.has_extra_field()
        || ["unsupported_parameter", "unknown_parameter", "unsupported_value"]
            .iter()
            .any(|word| error.has_word(word))
        || REJECTIONS.iter().any(|phrase| says(error, &[phrase]));
    if !rejects {
        return None;
    }
    let plain = |name: &str| name.replace('_', "").to_ascii_lowercase();
    let ours = |word: &str| {
        let word = plain(word);
        optional_fields.iter().find(|field| plain(field) == word).map(|field| (*field).to_owned())
    };
    let upstream = error.upstream_words();
    let texts = error.message().into_iter().chain(upstream.as_deref());
    let words =
        texts.flat_map(|text| text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_'));
    error.named_fields().find_map(ours).or_else(|| {
        let mut words = words;
        words.find_map(ours)
    })
}

#[cfg(test)]
mod tests;
