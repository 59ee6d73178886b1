//! Turns a provider's error into a failure with a code.
//!
//! Pure: status, headers, body and wall time in, [`Failure`] out. Errors are recognised by the protocol's own fields
//! where it has them and by known phrases otherwise; the table below is complete. Invariant: no HTML, no flagged part
//! of the prompt, no key and no redirect address is shown.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::{HeaderMap, StatusCode, header};
use parallel_llm_engine::value::next::{Advice, Next};
use parallel_llm_engine::{Code, Failure};
use serde_json::Value;
use url::Url;

use super::retry_after;
use crate::providers::scrubber::Scrubber;
use crate::wire::error::ErrorBody;

/// A wait this short is worth it even if the limit is a daily one.
const SOON: Duration = Duration::from_secs(60);
/// Seconds in a day. Limits on free models reset at midnight UTC.
const DAY_S: u64 = 24 * 60 * 60;
/// The status of an error in a stream whose code is missing or unknown: a provider error, so it may be retried.
const STATUS_UNKNOWN: u16 = 500;
/// Characters that are shown of a body in an unknown format: two lines of a terminal.
const EXCERPT_CHARS_MAX: usize = 160;
/// Bytes of a body that are read for the excerpt. A key that is cut off there is far behind what is shown.
const EXCERPT_BYTES_READ: usize = 4 * 1024;

/// Where an answer came from, when, and what must not be repeated of it.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    /// The provider's name in the settings.
    pub(crate) provider: String,
    /// The wall time, to which dates are compared.
    pub(crate) now: SystemTime,
    /// Removes keys before a text is shortened, because half a key would not be recognised.
    pub(crate) scrubber: Scrubber,
    /// The fields that were sent and can be left out. Empty once a reply has begun, because then nothing is sent again.
    pub(crate) optional_fields: Vec<&'static str>,
    /// What to do if the key is refused; empty if the general advice applies.
    pub(crate) refused_key_advice: Vec<Next>,
}

/// Which calls a limit applies to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Calls to the same model. Nearly all limits are like this, and it is the most cautious assumption.
    #[default]
    Model,
    /// Calls to free models with the same key.
    FreeModels,
    /// All calls with the same key.
    Key,
}

/// The phrases that identify a limit which is not for one model. They count only in the provider's own message: what
/// OpenRouter passes on is about OpenRouter's accounts.
const SCOPES: &[(&[&str], Scope)] = &[
    (&["free-models-per-"], Scope::FreeModels),
    // Moonshot: `request reached max organization concurrency: 1`, `… organization max RPM: 3`.
    (&["request reached", "organization"], Scope::Key),
    (&["organization rate limit exceeded"], Scope::Key),
];

/// One row of the table: first status, last status, condition, code.
struct Row(u16, u16, fn(&ErrorBody) -> bool, Code);

/// The first row whose statuses and condition match decides.
const TABLE: &[Row] = &[
    Row(400, 599, is_context_overflow, Code::ContextLength),
    Row(400, 404, is_unknown_model, Code::ModelUnknown),
    Row(400, 599, is_moderated, Code::Moderated),
    Row(400, 599, |error| error.has_word("refusal"), Code::Refused),
    // Google and xAI answer 400 or 403 to a bad key.
    Row(400, 403, is_bad_key, Code::Auth),
    Row(401, 401, any, Code::Auth),
    Row(
        402,
        402,
        |error| error.metadata("reason") == Some("in_flight_budget_exhausted"),
        Code::CreditsInFlight,
    ),
    Row(402, 402, any, Code::Credits),
    Row(400, 403, is_key_limit, Code::KeyLimit),
    Row(400, 429, is_out_of_credit, Code::Credits),
    Row(403, 403, any, Code::Forbidden),
    Row(404, 404, is_policy, Code::Forbidden),
    Row(
        404,
        404,
        |error| error.contains_all(&["no endpoints found that support", "input"]),
        Code::AttachmentUnsupported,
    ),
    Row(404, 404, |error| error.contains_all(&["no endpoints found that can handle"]), Code::BadRequest),
    // A server without this path is not the expected API.
    Row(404, 404, is_no_api, Code::Protocol),
    Row(404, 404, any, Code::ModelUnknown),
    Row(408, 409, any, Code::Upstream),
    Row(413, 413, any, Code::TooLarge),
    Row(425, 425, any, Code::Upstream),
    Row(429, 429, any, Code::RateLimited),
    // Groq uses this for insufficient capacity.
    Row(498, 499, any, Code::Upstream),
    Row(400, 499, any, Code::BadRequest),
    Row(500, 599, any, Code::Upstream),
];

/// The failure for an answer with an error status.
pub(crate) fn error_response(
    origin: &Origin,
    status: StatusCode,
    headers: &HeaderMap,
    body: &[u8],
) -> Failure {
    if status.is_redirection() {
        return redirected(origin, status, headers);
    }
    let error = ErrorBody::parse(body).unwrap_or_default();
    let verb = format!("answered {}", status.as_u16());
    // The code is decided by known fields and phrases; the excerpt is only shown to people.
    let excerpt = if error.is_moderation() { None } else { excerpt(origin, body) };
    let answer = ErrorAnswer { origin, verb, status: status.as_u16(), headers, error, excerpt };
    failure(&answer).with_status(status.as_u16())
}

/// The scope of the limit that an answer with status 429 reports.
pub(crate) fn scope(body: &[u8]) -> Scope {
    let Some(error) = ErrorBody::parse(body) else { return Scope::Model };
    let known = SCOPES.iter().find(|(phrases, _)| error.own_message_contains(phrases));
    known.map_or(Scope::Model, |(_, scope)| *scope)
}

/// The failure for an error inside a reply with status 200.
pub(crate) fn error_in_reply(origin: &Origin, error: ErrorBody) -> Failure {
    let status = reported_status(&error);
    let verb = format!("reported {}", error.code().unwrap_or_else(|| "an error".to_owned()));
    let excerpt =
        if error.is_moderation() { None } else { excerpt(origin, error.value().to_string().as_bytes()) };
    failure(&ErrorAnswer { origin, verb, status, headers: &HeaderMap::new(), error, excerpt })
}

/// The failure for a body that is not an API's answer. Of a web page it only says that it is one.
pub(crate) fn not_an_api_reply(origin: &Origin, body: &[u8]) -> Failure {
    let is_page = body.trim_ascii_start().starts_with(b"<");
    let excerpt = if is_page { Some("a web page".to_owned()) } else { excerpt(origin, body) };
    let excerpt = excerpt.unwrap_or_else(|| "nothing that can be shown".to_owned());
    Failure::new(
        Code::Protocol,
        format!("{} answered with something that is no API reply: {excerpt}", origin.provider),
    )
}

/// The beginning of a body in one line, without keys; `None` for a page, for binary data and for empty JSON.
fn excerpt(origin: &Origin, body: &[u8]) -> Option<String> {
    let body = body.trim_ascii_start();
    let text = origin.scrubber.scrub(&String::from_utf8_lossy(&body[..body.len().min(EXCERPT_BYTES_READ)]));
    let mut line = String::new();
    for word in text.split_whitespace() {
        if line.chars().count() > EXCERPT_CHARS_MAX {
            break;
        }
        line.push_str(if line.is_empty() { "" } else { " " });
        line.push_str(word);
    }
    let is_text = !line.contains(['\u{fffd}', '\0']);
    let has_content = !matches!(line.as_str(), "" | "{}" | "[]" | "null" | "\"\"");
    if line.starts_with('<') || !is_text || !has_content {
        return None;
    }
    if let Some((end, _)) = line.char_indices().nth(EXCERPT_CHARS_MAX) {
        line.truncate(end);
        line.push('…');
    }
    Some(line)
}

/// An error with everything that came with it.
struct ErrorAnswer<'a> {
    origin: &'a Origin,
    verb: String,
    status: u16,
    headers: &'a HeaderMap,
    error: ErrorBody,
    /// What people are shown if the error has no message in a known field.
    excerpt: Option<String>,
}

fn failure(answer: &ErrorAnswer<'_>) -> Failure {
    let error = &answer.error;
    let row =
        TABLE.iter().find(|Row(from, to, when, _)| (*from..=*to).contains(&answer.status) && when(error));
    let code = row.map_or(Code::Upstream, |Row(.., code)| *code);
    let mut failure = Failure::new(code, answer.origin.scrubber.scrub(&message(answer, code)));
    match code {
        Code::RateLimited => failure = rate_limited(failure, answer),
        Code::Auth => failure = failure.with_next(answer.origin.refused_key_advice.clone()),
        Code::BadRequest => failure.rejected_field = rejected_field(error, &answer.origin.optional_fields),
        Code::Forbidden if is_policy(error) => {
            failure = failure.with_next(Advice::ChangePrivacySettings);
        }
        _ => {}
    }
    if failure.retryable && failure.retry_after_ms.is_none() {
        let wait = retry_after::wait(answer.headers, Some(error.value()), answer.origin.now);
        failure = failure.with_retry_after(wait);
        if code == Code::RateLimited {
            let wait = match wait {
                Some(wait) => Next::WaitUntil(httpdate::fmt_http_date(answer.origin.now + wait).into()),
                None => Next::Do(Advice::TryInAMinute),
            };
            failure = failure.with_next([wait, Next::Do(Advice::AskAnotherModel)]);
        }
    }
    failure
}

/// Provider, upstream provider, status, and the provider's message.
fn message(answer: &ErrorAnswer<'_>, code: Code) -> String {
    let error = &answer.error;
    let provider = &answer.origin.provider;
    let verb = match code {
        Code::Auth => &format!("refused the key ({})", answer.status),
        _ => &answer.verb,
    };
    let upstream = error.provider_name().map(|name| format!(" ({name})")).unwrap_or_default();
    // OpenRouter's general message says less than the one it passes on.
    let general = error.message().is_none_or(|message| message == "Provider returned error");
    let passed_on = if general && !error.is_moderation() { error.upstream_words() } else { None };
    match passed_on.as_deref().or(error.message()).or(answer.excerpt.as_deref()) {
        Some(words) => format!("{provider}{upstream} {verb}: {words}"),
        None => format!("{provider}{upstream} {verb}"),
    }
}

/// A daily limit on free models is not retried; the failure says when it ends.
fn rate_limited(failure: Failure, answer: &ErrorAnswer<'_>) -> Failure {
    let error = &answer.error;
    let now = answer.origin.now;
    let hint = retry_after::wait(answer.headers, Some(error.value()), now);
    // A limit counted over the last 24 hours may be free again in seconds.
    if !is_daily(error) || hint.is_some_and(|hint| hint <= SOON) {
        return failure;
    }
    let failure = failure.with_retryable(false);
    // OpenRouter resets at midnight UTC; for others only a reset time in the answer is known.
    let midnight = || error.contains_all(&["free-models-per-day"]).then(|| next_midnight(now));
    let Some(reset) = retry_after::reset(answer.headers, Some(error.value()), now).or_else(midnight) else {
        return failure.with_next([Next::Do(Advice::WaitForLimit), Next::Do(Advice::AskAnotherModel)]);
    };
    let next = [Next::WaitUntil(httpdate::fmt_http_date(reset).into()), Next::Do(Advice::AskPaidModel)];
    failure.with_retry_after(reset.duration_since(now).ok()).with_next(next)
}

/// Whether a daily number of requests is used up. Google says so in the name of the quota.
fn is_daily(error: &ErrorBody) -> bool {
    let quota_of_day = |detail: &Value| {
        let mut violations = detail.get("violations").and_then(Value::as_array).into_iter().flatten();
        violations.any(|it| it["quotaId"].as_str().is_some_and(|id| id.contains("PerDay")))
    };
    contains_any_sentence(error, &[&["per-day"], &["per day"]]) || error.details().any(quota_of_day)
}

fn next_midnight(now: SystemTime) -> SystemTime {
    let since = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    UNIX_EPOCH + Duration::from_secs((since / DAY_S + 1) * DAY_S)
}

/// Only the host is shown: the rest of the address may contain secrets.
fn redirected(origin: &Origin, status: StatusCode, headers: &HeaderMap) -> Failure {
    let location = headers.get(header::LOCATION).and_then(|value| value.to_str().ok());
    let host = location.and_then(|to| Url::parse(to).ok()).and_then(|url| url.host_str().map(str::to_owned));
    let target = host.unwrap_or_else(|| "another path".to_owned());
    let message = format!("{} answered {} and points to {target}", origin.provider, status.as_u16());
    Failure::new(Code::Redirect, message).with_status(status.as_u16())
}

/// The status the error would have had before the reply began: by its specific word, its number, a known phrase, or a
/// general word.
fn reported_status(error: &ErrorBody) -> u16 {
    const SENTENCES: [(&str, u16); 7] = [
        ("rate limit", 429),
        ("too many requests", 429),
        ("usage limit", 429),
        ("resource has been exhausted", 429),
        ("overloaded", 529),
        ("at capacity", 529),
        ("internal server error", 500),
    ];
    let number = || error.code().and_then(|code| code.parse().ok()).filter(|code| (400..600).contains(code));
    let sentence =
        || SENTENCES.iter().find(|(phrase, _)| error.contains_all(&[phrase])).map(|(_, status)| *status);
    let general = || error.words().find_map(status_of_general_word);
    // The word is more specific than the number: a refusal in the middle of a stream comes with 502.
    error
        .words()
        .find_map(status_of_word)
        .or_else(number)
        .or_else(sentence)
        .or_else(general)
        .unwrap_or(STATUS_UNKNOWN)
}

fn status_of_word(word: &str) -> Option<u16> {
    Some(match word {
        "authentication" | "authentication_error" | "invalid_api_key" => 401,
        "payment_required" | "billing_error" => 402,
        "permission_denied"
        | "permission_error"
        | "content_filter"
        | "content_policy_violation"
        | "safety_violation"
        | "refusal" => 403,
        "not_found" | "not_found_error" | "model_not_found" => 404,
        "payload_too_large" | "request_too_large" => 413,
        "insufficient_quota" | "RESOURCE_EXHAUSTED" => 429,
        word if word.contains("rate_limit") => 429,
        "overloaded_error" | "provider_overloaded" | "UNAVAILABLE" => 529,
        "context_length_exceeded" => 400,
        _ => return None,
    })
}

/// Words that providers use for nearly every error.
fn status_of_general_word(word: &str) -> Option<u16> {
    matches!(word, "invalid_request" | "invalid_request_error" | "invalid_prompt").then_some(400)
}

const fn any(_: &ErrorBody) -> bool {
    true
}

/// Whether the error contains one of these sentences, each given as phrases that must all be present.
fn contains_any_sentence(error: &ErrorBody, sentences: &[&[&str]]) -> bool {
    sentences.iter().any(|phrases| error.contains_all(phrases))
}

/// Whether the error has one of these words.
fn has_any(error: &ErrorBody, words: &[&str]) -> bool {
    words.iter().any(|word| error.has_word(word))
}

/// Providers have no common code for this, so the phrases are listed.
fn is_context_overflow(error: &ErrorBody) -> bool {
    const SENTENCES: &[&[&str]] = &[
        &["maximum context length is"],
        &["exceeds the context window"],
        &["prompt is too long"],
        &["input token count", "exceeds the maximum"],
        &["maximum prompt length is"],
        &["exceeds the available context size"],
        &["context_length_exceeded"],
        &["context length exceeded"],
        &["exceeds the context length"],
        &["greater than the context length"],
        &["too large for model with", "context length"],
        &["exceeded model token limit"],
        &["`inputs` tokens + `max_new_tokens` must be"],
        &["reduce the length of the messages"],
        &["contextwindowexceedederror"],
    ];
    let is_throttle = contains_any_sentence(error, &[&["rate limit"], &["throttl"]]);
    error.has_word("context_length_exceeded") || !is_throttle && contains_any_sentence(error, SENTENCES)
}

fn is_unknown_model(error: &ErrorBody) -> bool {
    has_any(error, &["model_not_found", "invalid_model", "DeploymentNotFound"])
        || contains_any_sentence(
            error,
            &[&["is not a valid model id"], &["model not exist"], &["model not found"]],
        )
}

fn is_bad_key(error: &ErrorBody) -> bool {
    // Only the provider's own message: what OpenRouter passes on is about OpenRouter's key.
    let phrases = ["api key not valid", "incorrect api key", "unregistered callers"];
    has_any(error, &["invalid_api_key", "authentication_error"])
        || phrases.iter().any(|phrase| error.own_message_contains(&[phrase]))
}

/// Whether the account is empty, for providers without a status for it. What OpenRouter passes on, and its metadata,
/// are about OpenRouter's accounts.
fn is_out_of_credit(error: &ErrorBody) -> bool {
    const PHRASES: [&str; 4] = [
        "credit balance is too low",
        "insufficient balance",
        "used all available credits",
        "has no credits left",
    ];
    has_any(error, &["insufficient_quota", "blocked_api_access", "exceeded_current_quota_error"])
        || PHRASES.iter().any(|phrase| error.own_message_contains(&[phrase]))
}

/// Whether a moderator stopped the question or the answer: by the protocol's fields, or by phrases of providers without
/// such fields.
fn is_moderated(error: &ErrorBody) -> bool {
    error.is_moderation()
        || has_any(error, &["content_filter", "content_policy_violation", "safety_violation"])
        || contains_any_sentence(
            error,
            &[
                &["flagged as potentially violating"],
                &["content filtering policy"],
                &["content exists risk"],
                &["content violates"],
                &["violates the moderation policy"],
                &["blocked due to safety"],
            ],
        )
}

fn is_key_limit(error: &ErrorBody) -> bool {
    let source = error.metadata("limit_source").unwrap_or_default();
    let sources = ["openrouter_key_limit", "openrouter_workspace_budget", "openrouter_guardrail_budget"];
    sources.contains(&source)
        || contains_any_sentence(error, &[&["key limit exceeded"], &["specified api usage limits"]])
}

/// Whether the account's own settings exclude every provider of the model.
fn is_policy(error: &ErrorBody) -> bool {
    contains_any(error, &["data policy", "no allowed providers", "model restrictions", "guardrail"])
        || ["privacy_restricted", "constraint_filtered", "region_restricted"].into_iter().any(|code| {
            error.value().pointer("/availability/code").and_then(|own| own.as_str()) == Some(code)
        })
}

fn is_no_api(error: &ErrorBody) -> bool {
    error.message().is_none_or(|message| message.trim_end_matches('.').eq_ignore_ascii_case("not found"))
}

/// The optional field that the provider rejects, if any. Only fields that were sent count, and a field the error names
/// in a structured way takes precedence over one its message mentions. Mentioning a field is not enough: `max_tokens
/// must not exceed 8192` is about the value, and leaving out the cap would cost money.
fn rejected_field(error: &ErrorBody, sent: &[&'static str]) -> Option<String> {
    const REJECTIONS: [&str; 8] = [
        "not supported",
        "not support",
        "deprecated",
        "mandatory",
        "must be one of",
        "only works in",
        "cannot answer without",
        "cannot find field",
    ];
    let is_unknown = is_field_unknown(error);
    if !is_unknown && !error.has_word("unsupported_value") && !contains_any(error, &REJECTIONS) {
        return None;
    }
    let plain = |name: &str| name.replace('_', "").to_ascii_lowercase();
    let ours = |word: &str| {
        let word = plain(word);
        // The cap is renamed if its name is unknown, and never left out because of its value.
        let fits = |field: &&&str| plain(field) == word && (is_unknown || !CAPS.contains(*field));
        sent.iter().find(fits).map(|field| (*field).to_owned())
    };
    if error.named_fields().next().is_some() {
        return error.named_fields().find_map(ours);
    }
    let upstream = error.upstream_words();
    let texts = error.message().into_iter().chain(upstream.as_deref());
    texts.flat_map(field_like_words).find_map(ours)
}

/// The names of the output cap.
const CAPS: [&str; 2] = ["max_tokens", "max_completion_tokens"];

/// Whether the error is about an unknown field, not about its value.
fn is_field_unknown(error: &ErrorBody) -> bool {
    const PHRASES: [&str; 7] = [
        "unsupported parameter",
        "is unsupported",
        "unrecognized",
        "unknown",
        "unexpected",
        "not permitted",
        "argument not supported",
    ];
    error.has_extra_field()
        || has_any(error, &["unsupported_parameter", "unknown_parameter"])
        || contains_any(error, &PHRASES)
}

fn contains_any(error: &ErrorBody, phrases: &[&str]) -> bool {
    phrases.iter().any(|phrase| error.contains_all(&[phrase]))
}

/// The words of a message that may be names of fields. `usage` is also an ordinary word, so it counts only in quotes.
fn field_like_words(text: &str) -> impl Iterator<Item = &str> {
    let is_quoted = ["`usage`", "'usage'", "\"usage\""].iter().any(|name| text.contains(name));
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    words.filter(move |word| is_quoted || *word != "usage")
}

#[cfg(test)]
mod tests;
