//! The table, row by row, with exact bodies.

use super::*;
use crate::codec;
use crate::providers::dialect::Protocol;

/// 2026-11-20 12:00:00 UTC.
fn origin() -> Origin {
    let now = UNIX_EPOCH + Duration::from_secs(1_795_176_000);
    let scrubber = Scrubber::new(["plain0key0without0shape".into()]);
    let optional_fields = codec::of(Protocol::Chat).optional_fields().to_vec();
    Origin {
        provider: "openrouter".to_owned(),
        now,
        scrubber,
        optional_fields,
        refused_key_advice: Vec::new(),
    }
}

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    pairs.iter().map(|(name, value)| (http::HeaderName::from_static(name), value.parse().unwrap())).collect()
}

fn fail(status: u16, body: &str) -> Failure {
    error_response(&origin(), StatusCode::from_u16(status).unwrap(), &HeaderMap::new(), body.as_bytes())
}

/// A failure in one line: code, whether it is retried, after what wait, without which field.
fn summary(failure: &Failure) -> String {
    let retry = if failure.retryable { " retry" } else { "" };
    let wait = failure.retry_after_ms.map(|wait| format!(" after {wait}")).unwrap_or_default();
    let field =
        failure.rejected_field.as_deref().map(|field| format!(" without {field}")).unwrap_or_default();
    format!("{}{retry}{wait}{field}", failure.code)
}

fn check(rows: &[(u16, &str, &str)]) {
    for (status, body, expected) in rows {
        assert_eq!(summary(&fail(*status, body)), *expected, "{status} {body}");
    }
}

#[test]
fn the_caller_is_at_fault() {
    check(&[
        (401, r#"{"error":{"message":"No cookie auth credentials found","code":401}}"#, "auth"),
        (401, r#"{"error":{"message":"User not found.","code":401}}"#, "auth"),
        (
            400,
            r#"{"error":{"message":"x/y is not a valid model ID","code":400},"user_id":"u"}"#,
            "model_unknown",
        ),
        (
            400,
            r#"[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key."}}]"#,
            "auth",
        ),
        (
            400,
            r#"{"error":{"message":"Input required: specify \"prompt\" or \"messages\"","code":400}}"#,
            "bad_request",
        ),
        (413, r#"{"error":{"message":"Request payload too large","code":413}}"#, "too_large"),
        (422, r#"{"error":{"message":"Invalid argument","code":422}}"#, "bad_request"),
        (418, "", "bad_request"),
    ]);
}

#[test]
fn money_and_permission() {
    let hash = "0123456789abcdef".repeat(4);
    let limit = format!(
        r#"{{"error":{{"code":403,"message":"Key limit exceeded (daily limit). Manage it using https://openrouter.ai/workspaces/default/keys/{hash}"}}}}"#
    );
    check(&[
        (
            402,
            r#"{"error":{"code":402,"message":"This request requires more credits, or fewer max_tokens. You requested up to 65536 tokens, but can only afford 3395.","metadata":{"limit_source":"openrouter_credits"}}}"#,
            "credits",
        ),
        (
            402,
            r#"{"error":{"code":402,"message":"Insufficient credits. Add more using https://openrouter.ai/credits"}}"#,
            "credits",
        ),
        (
            402,
            r#"{"error":{"code":402,"message":"x","metadata":{"reason":"weight_exceeds_budget"}}}"#,
            "credits",
        ),
        (
            402,
            r#"{"error":{"code":402,"message":"x","metadata":{"reason":"in_flight_budget_exhausted"}}}"#,
            "credits_in_flight retry",
        ),
        (403, &limit, "key_limit"),
        (
            403,
            r#"{"error":{"code":403,"message":"x","metadata":{"limit_source":"openrouter_guardrail_budget"}}}"#,
            "key_limit",
        ),
        (
            403,
            r#"{"error":{"code":403,"message":"Request blocked: prompt injection patterns detected","metadata":{"patterns":[]}}}"#,
            "forbidden",
        ),
        (
            429,
            r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}"#,
            "credits",
        ),
    ]);
}

#[test]
fn the_waiting_402_keeps_its_wait() {
    let body = br#"{"error":{"code":402,"message":"x","metadata":{"reason":"in_flight_budget_exhausted"}}}"#;
    let failure =
        error_response(&origin(), StatusCode::PAYMENT_REQUIRED, &headers(&[("retry-after", "20")]), body);
    assert_eq!(summary(&failure), "credits_in_flight retry after 20000");
}

#[test]
fn a_moderation_shows_its_reason_and_not_the_prompt() {
    let failure = fail(
        403,
        r#"{"error":{"message":"Your input was flagged","code":403,"metadata":{"reasons":["violence"],"flagged_input":"SECRET PROMPT","provider_name":"OpenAI","raw":"SECRET PROMPT"}}}"#,
    );
    assert_eq!(summary(&failure), "moderated");
    assert_eq!(failure.message, "openrouter (OpenAI) answered 403: Your input was flagged");
}

#[test]
fn a_model_may_be_unknown_or_forbidden() {
    check(&[
        (
            404,
            r#"{"error":{"message":"No endpoints found for openai/gpt-5-codex.","code":404}}"#,
            "model_unknown",
        ),
        (
            404,
            r#"{"error":{"message":"No allowed providers are available for the selected model.","code":404}}"#,
            "forbidden",
        ),
        (
            404,
            r#"{"error":{"message":"No models match your request and model restrictions","code":404}}"#,
            "forbidden",
        ),
        (
            404,
            r#"{"error":{"message":"model 'llama9' not found","type":"not_found_error"}}"#,
            "model_unknown",
        ),
        (404, r#"{"detail":"Not Found"}"#, "protocol"),
        (404, "<html>nginx</html>", "protocol"),
    ]);
    let policy = fail(
        404,
        r#"{"error":{"code":404,"message":"No endpoints found matching your data policy (Free model training). Configure: https://openrouter.ai/settings/privacy","metadata":{"routing_funnel":[]}}}"#,
    );
    assert_eq!(policy.code, Code::Forbidden);
    assert!(policy.next_step().contains("settings"), "{}", policy.next_step());
}

#[test]
fn a_prompt_that_is_too_long_is_recognized_in_many_phrases() {
    check(&[
        (
            400,
            r#"{"error":{"message":"This endpoint's maximum context length is 1048576 tokens. However, you requested about 2000000311 tokens","code":400,"metadata":{"provider_name":null,"error_type":"context_length_exceeded"}}}"#,
            "context_length",
        ),
        (
            400,
            r#"{"error":{"message":"Your input exceeds the context window of this model.","code":"context_length_exceeded"}}"#,
            "context_length",
        ),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#,
            "context_length",
        ),
        (
            413,
            r#"{"error":{"message":"The input token count (9) exceeds the maximum number of tokens allowed (8)."}}"#,
            "context_length",
        ),
        (
            400,
            r#"{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"maximum prompt length is 131072\"}}"}}}"#,
            "context_length",
        ),
        (
            429,
            r#"{"error":{"message":"rate limit: prompt is too long for your tier"}}"#,
            "rate_limited retry",
        ),
    ]);
}

#[test]
fn a_field_we_can_do_without_is_named() {
    check(&[
        (
            400,
            r#"{"error":{"message":"Reasoning is mandatory for this endpoint and cannot be disabled.","code":400,"metadata":{"provider_name":null}}}"#,
            "bad_request without reasoning",
        ),
        (
            400,
            r#"{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}}"#,
            "bad_request without max_tokens",
        ),
        (
            400,
            r#"{"error":{"message":"Unsupported parameter: 'temperature'"}}"#,
            "bad_request without temperature",
        ),
        (
            422,
            r#"{"detail":[{"type":"extra_forbidden","loc":["body","max_completion_tokens"],"msg":"Extra inputs are not permitted","input":100}]}"#,
            "bad_request without max_completion_tokens",
        ),
        (
            400,
            r#"{"error":{"message":"Unrecognized request argument supplied: stream_options"}}"#,
            "bad_request without stream_options",
        ),
        (
            400,
            r#"{"error":{"message":"max_tokens is too large: 200000","param":"max_tokens","code":"invalid_value"}}"#,
            "bad_request",
        ),
        (
            400,
            r#"{"error":{"message":"Unsupported parameter: 'messages'","param":"messages"}}"#,
            "bad_request",
        ),
    ]);
}

#[test]
fn a_rate_limit_reports_when_to_retry() {
    let body = r#"{"error":{"message":"Provider returned error","code":429,"metadata":{"raw":"google/gemma is temporarily rate-limited upstream.","provider_name":"Google AI Studio","provider_error_code":"insufficient_quota","retry_after_seconds":1,"headers":{"Retry-After":"1"}}},"user_id":"user_2abc"}"#;
    let failure = fail(429, body);
    assert_eq!(summary(&failure), "rate_limited retry after 1000");
    assert_eq!(
        failure.message,
        "openrouter (Google AI Studio) answered 429: google/gemma is temporarily rate-limited upstream."
    );
    check(&[
        (429, "", "rate_limited retry"),
        (
            429,
            r#"{"error":{"message":"Rate limit exceeded: free-models-per-min.","metadata":{"headers":{"X-RateLimit-Reset":"1795176030000"}}}}"#,
            "rate_limited retry after 30000",
        ),
    ]);
    for (value, expected) in [
        ("3600", "rate_limited retry after 3600000"),
        ("Fri, 20 Nov 2026 12:00:05 GMT", "rate_limited retry after 5000"),
        ("soon", "rate_limited retry"),
    ] {
        let failure = error_response(
            &origin(),
            StatusCode::TOO_MANY_REQUESTS,
            &headers(&[("retry-after", value)]),
            b"{}",
        );
        assert_eq!(summary(&failure), expected, "{value}");
    }
    let far =
        error_response(&origin(), StatusCode::TOO_MANY_REQUESTS, &headers(&[("retry-after", "3600")]), b"{}");
    assert_eq!(far.next_step(), "wait until Fri, 20 Nov 2026 13:00:00 GMT, or ask another model");
}

#[test]
fn the_daily_cap_is_not_waited_for() {
    let body = r#"{"error":{"code":429,"message":"Rate limit exceeded: free-models-per-day. Add 10 credits to unlock 1000 free model requests per day","metadata":{"headers":{"X-RateLimit-Limit":"50","X-RateLimit-Remaining":"0","X-RateLimit-Reset":"1795219200000"}}}}"#;
    let failure = fail(429, body);
    assert_eq!(summary(&failure), "rate_limited after 43200000");
    assert!(failure.next_step().contains("Sat, 21 Nov 2026 00:00:00 GMT"), "{}", failure.next_step());
    let without_reset = fail(429, r#"{"error":"Rate limit exceeded: free-models-per-day"}"#);
    assert_eq!(summary(&without_reset), "rate_limited after 43200000");
}

#[test]
fn a_limit_is_about_the_model_unless_its_text_is_known() {
    let passed_on = |words: &str| {
        let metadata = serde_json::json!({"raw": words, "provider_name": "Moonshot AI"});
        serde_json::json!({"error": {"message": "Provider returned error", "code": 429, "metadata": metadata}})
    };
    let own =
        |words: &str| serde_json::json!({"error": {"message": words, "type": "rate_limit_reached_error"}});
    for (body, expected) in [
        (own("Rate limit exceeded: free-models-per-day. Add 10 credits"), Scope::FreeModels),
        (own("Rate limit exceeded: free-models-per-min."), Scope::FreeModels),
        (own("Your account x request reached max organization concurrency: 1"), Scope::Key),
        (own("Your account x request reached organization max RPM: 3"), Scope::Key),
        (own("Organization Rate limit exceeded, please try again after 1 seconds"), Scope::Key),
        (own("Rate limit reached for gpt-6 in organization org-x on tokens per min (TPM)"), Scope::Model),
        (own("This request would exceed your organization's rate limit"), Scope::Model),
        (passed_on("Your account x request reached max organization concurrency: 1"), Scope::Model),
        (passed_on("Rate limit exceeded: free-models-per-day"), Scope::Model),
        (serde_json::json!("slow down"), Scope::Model),
    ] {
        assert_eq!(scope(body.to_string().as_bytes()), expected, "{body}");
    }
    assert_eq!(scope(b"<html>"), Scope::Model);
}

#[test]
fn the_provider_is_at_fault() {
    let html = "<!DOCTYPE html><title>openrouter.ai | 524: A timeout occurred</title>";
    check(&[
        (
            408,
            r#"{"error":{"message":"Operation timed out. Please try again later.","code":408}}"#,
            "upstream retry",
        ),
        (409, "", "upstream retry"),
        (425, "", "upstream retry"),
        (500, r#"{"error":{"message":"Internal Server Error","code":500}}"#, "upstream retry"),
        (
            503,
            r#"{"error":{"message":"busy","availability":{"retry_after":4}}}"#,
            "upstream retry after 4000",
        ),
        (522, "", "upstream retry"),
        (524, html, "upstream retry"),
        (529, r#"{"error":{"message":"Provider returned error","code":529}}"#, "upstream retry"),
    ]);
    assert_eq!(fail(524, html).message, "openrouter answered 524");
    let gateway = r#"{"error":{"message":"Provider returned error","code":502,"metadata":{"raw":"{\"error\":\"upstream exploded\"}","provider_name":"Sim","error_type":"provider_unavailable"}}}"#;
    assert_eq!(fail(502, gateway).message, "openrouter (Sim) answered 502: upstream exploded");
    assert_eq!(fail(502, gateway).status, Some(502));
}

#[test]
fn validation_errors_keep_their_words() {
    let failure = fail(
        400,
        r#"{"success":false,"error":{"name":"ZodError","message":"[ {\"code\":\"invalid_type\"} ]"}}"#,
    );
    assert_eq!(failure.message, "openrouter answered 400: [ {\"code\":\"invalid_type\"} ]");
}

#[test]
fn a_redirect_names_the_host_alone() {
    let location = headers(&[("location", "http://evil.example:8080/steal?prompt=x")]);
    let failure = error_response(&origin(), StatusCode::TEMPORARY_REDIRECT, &location, b"");
    assert_eq!(summary(&failure), "redirect");
    assert_eq!(failure.message, "openrouter answered 307 and points to evil.example");
    let here = error_response(&origin(), StatusCode::FOUND, &headers(&[("location", "/login?x")]), b"");
    assert_eq!(here.message, "openrouter answered 302 and points to another path");
}

#[test]
fn an_error_inside_a_reply_is_sorted_by_its_code() {
    for (error, expected) in [
        (serde_json::json!({"code": 502, "message": "Provider disconnected mid-stream"}), "upstream retry"),
        (
            serde_json::json!({"code": 429, "message": "x", "metadata": {"retry_after_seconds": 2}}),
            "rate_limited retry after 2000",
        ),
        (
            serde_json::json!({"code": "server_error", "message": "Upstream idle timeout exceeded"}),
            "upstream retry",
        ),
        (serde_json::json!({"code": "rate_limit_exceeded"}), "rate_limited retry"),
        (serde_json::json!({"type": "overloaded_error", "message": "Overloaded"}), "upstream retry"),
        (serde_json::json!({"code": 402, "message": "Insufficient credits"}), "credits"),
        (serde_json::json!({"code": "context_length_exceeded", "message": "x"}), "context_length"),
        (serde_json::json!({"code": 200}), "upstream retry"),
        (serde_json::json!("boom"), "upstream retry"),
        (serde_json::json!(7), "upstream retry"),
    ] {
        assert_eq!(summary(&error_in_reply(&origin(), ErrorBody::of(error.clone()))), expected, "{error}");
    }
    let failure =
        error_in_reply(&origin(), ErrorBody::of(serde_json::json!({"code": "server_error", "message": "m"})));
    assert_eq!(failure.message, "openrouter reported server_error: m");
}

#[test]
fn half_a_key_at_the_end_of_a_long_message_is_not_shown() {
    for padding in 540..600 {
        let failure = fail(400, &format!(r#"{{"error":"{} plain0key0without0shape"}}"#, "x".repeat(padding)));
        assert!(!failure.message.contains("plain0"), "{}", failure.message);
    }
}

#[test]
fn errors_about_keys_models_and_prompts_are_recognized() {
    check(&[
        (
            403,
            r#"{"error":{"code":403,"message":"Method doesn't allow unregistered callers (callers without established identity).","status":"PERMISSION_DENIED"}}"#,
            "auth",
        ),
        (
            400,
            r#"{"code":"Client specified an invalid argument","error":"Incorrect API key provided: ab***yz."}"#,
            "auth",
        ),
        (
            400,
            r#"{"error":{"message":"Model Not Exist","type":"invalid_request_error","code":"invalid_request_error"}}"#,
            "model_unknown",
        ),
        (
            400,
            r#"{"object":"error","message":"Invalid model: x","type":"invalid_model","param":null,"code":"1500"}"#,
            "model_unknown",
        ),
        (
            404,
            r#"{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist."}}"#,
            "model_unknown",
        ),
        (
            400,
            r#"{"object":"error","message":"Prompt contains 9 tokens, too large for model with 8 maximum context length","type":"invalid_request_prompt","code":"3051"}"#,
            "context_length",
        ),
        (
            400,
            r#"{"error":{"message":"Invalid request: Your request exceeded model token limit: 8 (requested: 9)"}}"#,
            "context_length",
        ),
        (
            422,
            r#"{"error":{"message":"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8. Given: 9"}}"#,
            "context_length",
        ),
    ]);
}

#[test]
fn errors_about_accounts_and_filters_are_recognized() {
    check(&[
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}"#,
            "credits",
        ),
        (
            400,
            r#"{"error":{"message":"API access is blocked because the spend limit was reached.","code":"blocked_api_access"}}"#,
            "credits",
        ),
        (
            403,
            r#"{"code":"x","error":"Your team has either used all available credits or reached its monthly spending limit."}"#,
            "credits",
        ),
        (
            429,
            r#"{"error":{"message":"please check your account balance","type":"exceeded_current_quota_error"}}"#,
            "credits",
        ),
        (400, r#"{"error":{"message":"Content Exists Risk","type":"invalid_request_error"}}"#, "moderated"),
        (
            403,
            r#"{"code":"x","error":"Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_VIOLENCE"}"#,
            "moderated",
        ),
        (
            400,
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"Output blocked by content filtering policy"}}"#,
            "moderated",
        ),
        (
            422,
            r#"{"error":{"message":"Input was flagged by the safety model.","code":"safety_violation"}}"#,
            "moderated",
        ),
    ]);
}

#[test]
fn errors_about_limits_and_fields_are_recognized() {
    check(&[
        (
            429,
            r#"{"error":{"code":429,"message":"slow down","status":"RESOURCE_EXHAUSTED","details":[{"@type":"x","retryDelay":"1.5s"}]}}"#,
            "rate_limited retry after 1500",
        ),
        (
            429,
            r#"{"error":{"code":429,"message":"slow down","details":[{"violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}]}}"#,
            "rate_limited",
        ),
        (
            529,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            "upstream retry",
        ),
        (
            400,
            r#"{"error":{"message":"`reasoning_effort` must be one of `low`, `medium`, or `high`"}}"#,
            "bad_request without reasoning_effort",
        ),
        (
            400,
            r#"{"error":{"message":"This model cannot answer without reasoning.","code":400}}"#,
            "bad_request without reasoning",
        ),
        (
            400,
            r#"{"error":{"message":"think value \"none\" is not supported for this model"}}"#,
            "bad_request without think",
        ),
    ]);
}

#[test]
fn an_error_in_a_stream_is_classified_by_its_text() {
    let summary =
        |body: &str| summary(&error_in_reply(&origin(), ErrorBody::parse(body.as_bytes()).unwrap()));
    for (body, expected) in [
        (r#"{"error":{"message":"x","type":"rate_limit_reached_error"}}"#, "rate_limited retry"),
        (
            r#"{"error":{"message":"You have reached the rate limit specific to this model x.","type":"model_rate_limit"}}"#,
            "rate_limited retry",
        ),
        (
            r#"{"error":{"message":"Too many requests.","type":"invalid_request_error"}}"#,
            "rate_limited retry",
        ),
        (
            r#"{"error":"you've reached your hourly usage limit, please upgrade to continue"}"#,
            "rate_limited retry",
        ),
        (r#"{"object":"error","message":"Requests rate limit exceeded"}"#, "rate_limited retry"),
        (
            r#"{"code":"Some resource has been exhausted","error":"Too many requests for team and model x."}"#,
            "rate_limited retry",
        ),
        (r#"{"error":{"message":"Overloaded","type":"overloaded_error"}}"#, "upstream retry"),
        (r#"{"error":{"message":"bad","type":"invalid_request_error"}}"#, "bad_request"),
        (r#"{"error":{"message":"what?"}}"#, "upstream retry"),
    ] {
        assert_eq!(summary(body), expected, "{body}");
    }
}

#[test]
fn a_sentence_that_mentions_a_field_is_no_rejection_of_it() {
    check(&[
        (
            400,
            r#"{"error":{"message":"Your request violates our usage policy: this content is not permitted."}}"#,
            "bad_request",
        ),
        (
            400,
            r#"{"error":{"message":"Unexpected image in message 3. See the usage guide."}}"#,
            "bad_request",
        ),
        (
            400,
            r#"{"error":{"message":"messages[0].role is not supported with reasoning","param":"messages[0].role","code":"unsupported_value"}}"#,
            "bad_request",
        ),
        (
            400,
            r#"{"error":{"message":"`max_tokens` must not exceed 8192: larger values are not supported by this model"}}"#,
            "bad_request",
        ),
        (400, r#"{"error":{"message":"The model does not support a max_tokens above 4096"}}"#, "bad_request"),
        (
            400,
            r#"{"error":{"message":"Unsupported parameter: 'max_tokens'","code":"unsupported_parameter","param":"max_tokens"}}"#,
            "bad_request without max_tokens",
        ),
        (400, r#"{"error":{"message":"Unknown parameter: 'usage'."}}"#, "bad_request without usage"),
    ]);
}

#[test]
fn a_field_that_was_not_sent_is_not_left_out() {
    let sent = Origin { optional_fields: vec!["temperature"], ..origin() };
    let body = br#"{"error":{"message":"Reasoning is mandatory for this endpoint and cannot be disabled."}}"#;
    let failure = error_response(&sent, StatusCode::BAD_REQUEST, &HeaderMap::new(), body);
    assert_eq!(summary(&failure), "bad_request");
}

#[test]
fn a_refusal_is_one_whatever_its_number() {
    check(&[
        (
            500,
            r#"{"type":"error","error":{"type":"api_error","message":"Output blocked by content filtering policy"}}"#,
            "moderated",
        ),
        (403, r#"{"error":{"message":"x","metadata":{"reasons":null}}}"#, "forbidden"),
        (
            404,
            r#"{"error":{"message":"No endpoints found that support image input"}}"#,
            "attachment_unsupported",
        ),
        (400, r#"{"error":{"message":"You have reached your specified API usage limits."}}"#, "key_limit"),
        (
            429,
            r#"{"error":{"message":"Provider returned error","metadata":{"raw":"Insufficient Balance"}}}"#,
            "rate_limited retry",
        ),
    ]);
    let summary =
        |body: &str| summary(&error_in_reply(&origin(), ErrorBody::parse(body.as_bytes()).unwrap()));
    assert_eq!(
        summary(
            r#"{"error":{"code":502,"message":"x","metadata":{"error_type":"content_policy_violation"}}}"#
        ),
        "moderated"
    );
    assert_eq!(
        summary(r#"{"error":{"code":502,"message":"x","metadata":{"error_type":"refusal"}}}"#),
        "refused"
    );
    assert_eq!(summary(r#"{"error":{"code":"safety_violation","message":"x"}}"#), "moderated");
    assert_eq!(summary(r#"{"error":{"type":"billing_error","message":"x"}}"#), "credits");
}

#[test]
fn a_days_limit_that_is_soon_free_is_waited_for() {
    let body = br#"{"error":{"message":"Rate limit reached on requests per day (RPD): Limit 50, Used 50."}}"#;
    let after = |seconds| {
        summary(&error_response(
            &origin(),
            StatusCode::TOO_MANY_REQUESTS,
            &headers(&[("retry-after", seconds)]),
            body,
        ))
    };
    assert_eq!(after("2"), "rate_limited retry after 2000");
    assert_eq!(after("7200"), "rate_limited");
}

#[test]
fn only_the_beginning_of_a_long_error_is_read() {
    let long = "\u{e9}".repeat(1024 * 1024);
    let body = format!(r#"{{"error":{{"message":"{long}","metadata":{{"raw":"{long}"}}}}}}"#);
    let error = ErrorBody::parse(body.as_bytes()).unwrap();
    assert_eq!(
        error.message().unwrap().len(),
        16 * 1024,
        "every phrase of the tables looks at no more than this"
    );
    assert_eq!(error.upstream_words().unwrap().len(), 16 * 1024);
    assert_eq!(summary(&fail(400, &body)), "bad_request");
}

#[test]
fn words_in_a_form_that_is_not_known_are_shown() {
    let long = format!("shard {}", "7".repeat(400));
    for (status, body, message) in [
        (500, "backend exploded at shard 7\n", "openrouter answered 500: backend exploded at shard 7"),
        (400, r#"{"foo":"bar reason"}"#, r#"openrouter answered 400: {"foo":"bar reason"}"#),
        (
            400,
            r#"{"error":{"reason":"no such shard"}}"#,
            r#"openrouter answered 400: {"error":{"reason":"no such shard"}}"#,
        ),
        (400, r#"{"errors":[{"title":"bad"}]}"#, r#"openrouter answered 400: {"errors":[{"title":"bad"}]}"#),
        (502, "\"upstream is away\"", "openrouter answered 502: \"upstream is away\""),
        (404, "404 page not found", "openrouter answered 404: 404 page not found"),
        (500, "line one\r\n\r\n  line\ttwo", "openrouter answered 500: line one line two"),
        (500, "key plain0key0without0shape is bad", "openrouter answered 500: key *** is bad"),
        (500, &long, &format!("openrouter answered 500: shard {}…", "7".repeat(154))),
        // Messages that help nobody or must not be shown.
        (502, "<html><h1>Bad Gateway</h1></html>", "openrouter answered 502"),
        (500, "\u{1b}[2Jboom", "openrouter answered 500:  [2Jboom"),
        (500, "{}", "openrouter answered 500"),
        (500, "", "openrouter answered 500"),
        (
            403,
            r#"{"error":{"code":403,"metadata":{"flagged_input":"my secret question"}}}"#,
            "openrouter answered 403",
        ),
    ] {
        assert_eq!(fail(status, body).message, message, "{status} {body}");
    }
    let binary =
        error_response(&origin(), StatusCode::BAD_GATEWAY, &HeaderMap::new(), &[0xff, 0xfe, 0x00, 0x80]);
    assert_eq!(binary.message, "openrouter answered 502");
}

#[test]
fn an_excerpt_decides_nothing() {
    check(&[
        (404, "404 page not found", "protocol"),
        (500, "rate limit exceeded", "upstream retry"),
        (400, "No such model: x/y", "bad_request"),
    ]);
}
