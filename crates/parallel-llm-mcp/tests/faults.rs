//! Every known fault of a provider, through the real program: error code, attempts, what the run still returned, and
//! the exit code.
//!
//! Each fault is played twice: to one seat of three, where an answer still comes, and to a seat that is alone. The
//! tables are whole outputs with one row per fault; every row is compared with the simulator's own record.

use parallel_llm_testkit::simulator::{Fault, Script};
use parallel_llm_testkit::{Output, Sandbox, each, seats, synthesis};
use serde_json::Value;

const FAULTY: &str = "x-ai/grok-4.7";
const HEALTHY: [&str; 2] = ["openai/gpt-6.1-sol", "mistralai/mistral-large-4-0"];
const SYNTHESIZER: &str = "google/gemini-4-argon";
const QUESTION: &str = "Which of two designs is safer?";

/// The limit of the timers under test: long enough for a healthy answer on a busy machine.
const TIMER_MS: &str = "3000";

/// Faults of the account or its limits.
const ACCOUNT: &[Fault] = &[
    Fault::AuthMissing,
    Fault::AuthBad,
    Fault::Credits,
    Fault::InFlight,
    Fault::KeyLimit,
    Fault::DataPolicy,
    Fault::RateUpstream,
    Fault::RateUpstreamB,
    Fault::RateUpstreamC,
    Fault::RateUpstreamD,
    Fault::RateUpstreamE,
    Fault::RateFreeDay,
];

/// Faults of the request.
const REQUEST: &[Fault] = &[
    Fault::BadModel,
    Fault::CtxOverflow,
    Fault::ReasoningMandatory,
    Fault::Moderation,
    Fault::NoEndpoints,
    Fault::TooLarge413,
    Fault::Invalid422,
    Fault::Zod400,
    Fault::KeyEcho,
];

/// Faults of the provider, or of a server that is no provider at all.
const PROVIDER: &[Fault] = &[
    Fault::Timeout408,
    Fault::Server500,
    Fault::BadGateway,
    Fault::Unavailable503,
    Fault::Overloaded529,
    Fault::Cf524Html,
    Fault::OkErrorBody,
    Fault::SseErrorFirst,
    Fault::AcceptAndClose,
    Fault::AcceptNoReply,
    Fault::Html200,
    Fault::Redirect307,
];

/// Replies that are complete, whatever they contain.
const COMPLETE: &[Fault] = &[
    Fault::EmptyChoices,
    Fault::NullContent,
    Fault::EmptyContent,
    Fault::ReasoningBurn,
    Fault::TruncatedLength,
    Fault::Refusal,
    Fault::ContentFilter,
    Fault::SseNoDone,
    Fault::OddFraming,
    Fault::ByteSplit,
    Fault::UnknownFields,
];

/// Replies that begin and do not complete.
const INCOMPLETE: &[Fault] = &[
    Fault::OkFinishError,
    Fault::SseErrorMid,
    Fault::SseErrorBare,
    Fault::SseCut,
    Fault::SseReset,
    Fault::SseEofInChunk,
    Fault::Stall,
    Fault::CommentsForever,
    Fault::SlowDrip,
    Fault::BadJsonChunk,
    Fault::HugeLine,
    Fault::Flood,
];

fn sandbox(script: Script) -> Sandbox {
    Sandbox::new(env!("CARGO_BIN_EXE_parallel-llm-mcp")).scripted(FAULTY, script)
}

/// Settings that end this fault in a few seconds; other faults end by themselves.
fn timers(fault: Fault) -> Vec<(&'static str, &'static str)> {
    match fault {
        Fault::Stall => vec![("idle_timeout_ms", TIMER_MS)],
        Fault::SlowDrip => vec![("call_timeout_ms", TIMER_MS)],
        Fault::CommentsForever | Fault::AcceptNoReply => {
            vec![("first_text_timeout_ms", TIMER_MS), ("retries_max", "1")]
        }
        _ => Vec::new(),
    }
}

/// Asks this panel, in which one model is faulty.
fn ask(sandbox: &Sandbox, models: &[&str], settings: Vec<(&str, &str)>) -> Output {
    let models = models.iter().flat_map(|model| ["-m", model]);
    let call = sandbox.call(["ask", "--json", QUESTION]).args(models);
    let output = call.settings([("synthesizer", SYNTHESIZER)]).settings(settings).run();
    output.assert_no_key();
    sandbox.assert_no_key_in_files();
    assert!(!output.stderr.contains(QUESTION), "the flagged question is not repeated");
    assert_eq!(sandbox.simulator().redirect_target_requests(), [], "no redirect is followed");
    output
}

/// The result of the faulty seat, the end of the run, and the exit code. Attempts are compared with the simulator's
/// record.
fn result_of(sandbox: &Sandbox, output: &Output, report: &Value) -> String {
    let line = seats(report).lines().find(|line| line.contains(FAULTY)).unwrap_or_default().to_owned();
    let seat =
        report["answers"].as_array().and_then(|seats| seats.iter().find(|seat| seat["model"] == FAULTY));
    let attempts = seat.and_then(|seat| seat["attempts"].as_u64());
    assert_eq!(
        attempts,
        u64::try_from(sandbox.asked(FAULTY)).ok(),
        "{line}: attempts as the simulator saw them"
    );
    let line = line.split_once(FAULTY).map_or("", |(_, rest)| rest.trim());
    format!("{line} | {} | exit {}", synthesis(report), output.code.unwrap_or(-1))
}

/// The row of a fault that meets one seat of three: an answer still comes, and a seat without a whole one is named.
fn beside_others(fault: Fault) -> String {
    let sandbox = sandbox(Script::fault(fault));
    let output = ask(&sandbox, &[HEALTHY[0], FAULTY, HEALTHY[1]], timers(fault));
    let report = output.json();
    assert!(report["answer"].is_string(), "{fault}: {report:#}");
    for healthy in HEALTHY {
        assert_eq!(sandbox.asked(healthy), 1, "{fault}: {healthy} is asked once");
        assert!(seats(&report).contains(&format!("{healthy} answered x1")), "{fault}: {}", seats(&report));
    }
    let is_missing = report["answers"][1]["status"] != "answered";
    let named =
        ["Missing", "Used although cut"].map(|how| output.stderr.contains(&format!("{how}: 2 {FAULTY}")));
    let is_named = named.contains(&true);
    assert_eq!(is_missing, is_named, "{fault}: {}", output.stderr);
    let line = format!("{:<20} {}", fault.name(), result_of(&sandbox, &output, &report));
    // How much text arrives before the timeout depends on the machine.
    if fault == Fault::SlowDrip { line.replace(&dripped(&report["answers"][1]), "some") } else { line }
}

fn dripped(seat: &Value) -> String {
    seat["text_bytes"].to_string()
}

/// The row of a fault that meets the only seat, with the error message and the next step.
fn alone(fault: Fault) -> String {
    let sandbox = sandbox(Script::fault(fault));
    let output = ask(&sandbox, &[FAULTY], timers(fault));
    let report = output.json();
    assert_eq!(sandbox.chats().len(), sandbox.asked(FAULTY), "{fault}: a single answer needs no synthesizer");
    let seat = &report["answers"][0];
    let line = format!("{:<20} {}", fault.name(), result_of(&sandbox, &output, &report));
    let line = if fault == Fault::SlowDrip { line.replace(&dripped(seat), "some") } else { line };
    let Some(reason) = seat["error"]["message"].as_str() else { return line };
    if report["answer"].is_null() {
        assert_eq!(report["error"]["code"], seat["error"]["code"], "{fault}");
        assert_eq!(report["error"]["message"], format!("no model answered ({FAULTY}: {reason})"), "{fault}");
    }
    let next = seat["error"]["next"].as_str().unwrap_or_default();
    output.masked(&format!("{line}\n    {reason}\n    next: {next}"))
}

/// The row of a fault that ends after two attempts: the third is answered.
fn flaky(fault: Fault) -> String {
    let sandbox = sandbox(Script { fail_first: Some(2), ..Script::fault(fault) });
    let output = ask(&sandbox, &[FAULTY], Vec::new());
    format!("{:<20} {}", fault.name(), result_of(&sandbox, &output, &output.json()))
}

fn table(check: fn(Fault) -> String, faults: &[Fault]) -> String {
    each(faults, |fault| check(*fault)).join("\n")
}

#[test]
fn every_fault_of_one_seat_leaves_an_answer_of_the_others() {
    insta::assert_snapshot!(table(beside_others, Fault::ALL), @"
    auth_missing         failed auth x1 | partial fused by google/gemini-4-argon | exit 0
    auth_bad             failed auth x1 | partial fused by google/gemini-4-argon | exit 0
    bad_model            failed model_unknown x1 | partial fused by google/gemini-4-argon | exit 0
    ctx_overflow         failed context_length x1 | partial fused by google/gemini-4-argon | exit 0
    reasoning_mandatory  failed bad_request x1 | partial fused by google/gemini-4-argon | exit 0
    credits              failed credits x1 | partial fused by google/gemini-4-argon | exit 0
    in_flight            failed credits_in_flight x3 | partial fused by google/gemini-4-argon | exit 0
    key_limit            failed key_limit x1 | partial fused by google/gemini-4-argon | exit 0
    moderation           refused moderated x1 | partial fused by google/gemini-4-argon | exit 0
    no_endpoints         failed model_unknown x1 | partial fused by google/gemini-4-argon | exit 0
    data_policy          failed forbidden x1 | partial fused by google/gemini-4-argon | exit 0
    timeout_408          failed upstream x3 | partial fused by google/gemini-4-argon | exit 0
    too_large_413        failed too_large x1 | partial fused by google/gemini-4-argon | exit 0
    invalid_422          failed bad_request x1 | partial fused by google/gemini-4-argon | exit 0
    rate_upstream        failed rate_limited x3 | partial fused by google/gemini-4-argon | exit 0
    rate_upstream_b      failed rate_limited x3 | partial fused by google/gemini-4-argon | exit 0
    rate_upstream_c      failed rate_limited x3 | partial fused by google/gemini-4-argon | exit 0
    rate_upstream_d      failed rate_limited x3 | partial fused by google/gemini-4-argon | exit 0
    rate_upstream_e      failed rate_limited x1 | partial fused by google/gemini-4-argon | exit 0
    rate_free_day        failed rate_limited x1 | partial fused by google/gemini-4-argon | exit 0
    server_500           failed upstream x3 | partial fused by google/gemini-4-argon | exit 0
    bad_gateway          failed upstream x3 | partial fused by google/gemini-4-argon | exit 0
    unavailable_503      failed upstream x3 | partial fused by google/gemini-4-argon | exit 0
    overloaded_529       failed upstream x3 | partial fused by google/gemini-4-argon | exit 0
    cf_524_html          failed upstream x3 | partial fused by google/gemini-4-argon | exit 0
    ok_error_body        failed upstream x3 | partial fused by google/gemini-4-argon | exit 0
    ok_finish_error      cut upstream x1 48 bytes | partial fused by google/gemini-4-argon | exit 0
    empty_choices        failed empty x2 | partial fused by google/gemini-4-argon | exit 0
    null_content         failed empty x2 | partial fused by google/gemini-4-argon | exit 0
    empty_content        failed empty x2 | partial fused by google/gemini-4-argon | exit 0
    reasoning_burn       failed reasoning_only x1 | partial fused by google/gemini-4-argon | exit 0
    truncated_length     answered x1 184 bytes | complete fused by google/gemini-4-argon | exit 0
    refusal              refused refused x1 | partial fused by google/gemini-4-argon | exit 0
    content_filter       refused moderated x1 | partial fused by google/gemini-4-argon | exit 0
    sse_error_mid        cut rate_limited x1 48 bytes | partial fused by google/gemini-4-argon | exit 0
    sse_error_first      failed upstream x3 | partial fused by google/gemini-4-argon | exit 0
    sse_error_bare       cut upstream x1 48 bytes | partial fused by google/gemini-4-argon | exit 0
    sse_cut              cut incomplete x1 48 bytes | partial fused by google/gemini-4-argon | exit 0
    sse_reset            cut connection x1 48 bytes | partial fused by google/gemini-4-argon | exit 0
    sse_eof_in_chunk     cut connection x1 48 bytes | partial fused by google/gemini-4-argon | exit 0
    sse_no_done          answered x1 366 bytes | complete fused by google/gemini-4-argon | exit 0
    stall                cut timeout x1 48 bytes | partial fused by google/gemini-4-argon | exit 0
    comments_forever     failed timeout x2 | partial fused by google/gemini-4-argon | exit 0
    slow_drip            cut timeout x1 some bytes | partial fused by google/gemini-4-argon | exit 0
    bad_json_chunk       cut protocol x1 48 bytes | partial fused by google/gemini-4-argon | exit 0
    odd_framing          answered x1 366 bytes | complete fused by google/gemini-4-argon | exit 0
    byte_split           answered x1 455 bytes | complete fused by google/gemini-4-argon | exit 0
    huge_line            failed protocol x1 | partial fused by google/gemini-4-argon | exit 0
    flood                cut answer_too_large x1 8388608 bytes | partial fused by google/gemini-4-argon | exit 0
    html_200             failed protocol x1 | partial fused by google/gemini-4-argon | exit 0
    redirect_307         failed redirect x1 | partial fused by google/gemini-4-argon | exit 0
    accept_no_reply      failed timeout x2 | partial fused by google/gemini-4-argon | exit 0
    accept_and_close     failed connection x3 | partial fused by google/gemini-4-argon | exit 0
    zod_400              failed bad_request x1 | partial fused by google/gemini-4-argon | exit 0
    key_echo             failed bad_request x1 | partial fused by google/gemini-4-argon | exit 0
    unknown_fields       answered x1 366 bytes | complete fused by google/gemini-4-argon | exit 0
    ");
}

#[test]
fn every_fault_is_listed_once() {
    let listed = [ACCOUNT, REQUEST, PROVIDER, COMPLETE, INCOMPLETE].concat();
    let forgotten: Vec<&Fault> = Fault::ALL.iter().filter(|fault| !listed.contains(fault)).collect();
    assert!(forgotten.is_empty() && listed.len() == Fault::ALL.len(), "{forgotten:?}");
}

#[test]
fn faults_of_the_account_are_explained() {
    insta::assert_snapshot!(table(alone, ACCOUNT), @"
    auth_missing         failed auth x1 | failed none by - | exit 4
        openrouter refused the key (401): No cookie auth credentials found
        next: check that the key is current and belongs to this provider, correct it in `OPENROUTER_API_KEY`, unset that and keep another with `parallel-llm-mcp keys set openrouter`, or ask another model
    auth_bad             failed auth x1 | failed none by - | exit 4
        openrouter refused the key (401): User not found.
        next: check that the key is current and belongs to this provider, correct it in `OPENROUTER_API_KEY`, unset that and keep another with `parallel-llm-mcp keys set openrouter`, or ask another model
    credits              failed credits x1 | failed none by - | exit 4
        openrouter answered 402: This request requires more credits, or fewer max_tokens. You requested up to 16000 tokens, but can only afford 3395. To increase, visit https://openrouter.ai/settings/credits and upgrade to a paid account
        next: add credit at the provider, lower `--max-tokens`, or ask a model of another provider
    in_flight            failed credits_in_flight x3 | failed none by - | exit 4
        openrouter answered 402: This request would exceed your available credits given your current in-flight requests. Retry after in-flight requests settle, or add credits.
        next: wait until the requests under way have ended, or add credit at the provider
    key_limit            failed key_limit x1 | failed none by - | exit 4
        openrouter answered 403: Key limit exceeded (daily limit). Manage it using https://openrouter.ai/workspaces/default/keys/***
        next: raise the key's limit at the provider, wait until the limit is renewed, or ask a model of another provider
    data_policy          failed forbidden x1 | failed none by - | exit 1
        openrouter answered 404: No endpoints found matching your data policy (Free model training). Configure: https://openrouter.ai/settings/privacy
        next: change what the account's privacy and guardrail settings allow
    rate_upstream        failed rate_limited x3 | failed none by - | exit 1
        openrouter (Google AI Studio) answered 429: x-ai/grok-4.7 is temporarily rate-limited upstream. Please retry shortly, or add your own key to accumulate your rate limits: https://openrouter.ai/settings/integrations
        next: wait until <date>, or ask another model
    rate_upstream_b      failed rate_limited x3 | failed none by - | exit 1
        openrouter (Google AI Studio) answered 429: x-ai/grok-4.7 is temporarily rate-limited upstream. Please retry shortly, or add your own key to accumulate your rate limits: https://openrouter.ai/settings/integrations
        next: wait until <date>, or ask another model
    rate_upstream_c      failed rate_limited x3 | failed none by - | exit 1
        openrouter (Google AI Studio) answered 429: x-ai/grok-4.7 is temporarily rate-limited upstream. Please retry shortly, or add your own key to accumulate your rate limits: https://openrouter.ai/settings/integrations
        next: try again in a minute, or ask another model
    rate_upstream_d      failed rate_limited x3 | failed none by - | exit 1
        openrouter (Google AI Studio) answered 429: x-ai/grok-4.7 is temporarily rate-limited upstream. Please retry shortly, or add your own key to accumulate your rate limits: https://openrouter.ai/settings/integrations
        next: wait until <date>, or ask another model
    rate_upstream_e      failed rate_limited x1 | failed none by - | exit 1
        openrouter (Google AI Studio) answered 429: x-ai/grok-4.7 is temporarily rate-limited upstream. Please retry shortly, or add your own key to accumulate your rate limits: https://openrouter.ai/settings/integrations
        next: wait until <date>, or ask another model
    rate_free_day        failed rate_limited x1 | failed none by - | exit 1
        openrouter answered 429: Rate limit exceeded: free-models-per-day. Add 10 credits to unlock 1000 free model requests per day
        next: wait until <date>, or use a model that is not free
    ");
}

#[test]
fn faults_of_the_request_are_explained() {
    insta::assert_snapshot!(table(alone, REQUEST), @r#"
    bad_model            failed model_unknown x1 | failed none by - | exit 1
        openrouter answered 400: x-ai/grok-4.7 is not a valid model ID
        next: see which models there are with `parallel-llm-mcp models`
    ctx_overflow         failed context_length x1 | failed none by - | exit 1
        openrouter answered 400: This endpoint's maximum context length is 500000 tokens. However, you requested about 16008 tokens (8 of text input, 16000 in the output). Please reduce the length of either one, or use the context-compression plugin to compress your prompt automatically.
        next: shorten the prompt, or choose a model with a larger context
    reasoning_mandatory  failed bad_request x1 | failed none by - | exit 1
        openrouter answered 400: Reasoning is mandatory for this endpoint and cannot be disabled.
        next: read the provider's message: an option may not suit this model
    moderation           refused moderated x1 | failed none by - | exit 1
        openrouter (xAI) answered 403: Your input was flagged
        next: rephrase the question, or ask a model of another provider
    no_endpoints         failed model_unknown x1 | failed none by - | exit 1
        openrouter answered 404: No endpoints found for x-ai/grok-4.7.
        next: see which models there are with `parallel-llm-mcp models`
    too_large_413        failed too_large x1 | failed none by - | exit 1
        openrouter answered 413: Request payload too large
        next: shorten the prompt
    invalid_422          failed bad_request x1 | failed none by - | exit 1
        openrouter answered 422: Invalid argument
        next: read the provider's message: an option may not suit this model
    zod_400              failed bad_request x1 | failed none by - | exit 1
        openrouter answered 400: [ { "code": "invalid_type", "expected": "string", "received": "number", "path": ["model"], "message": "Expected string, received number" } ]
        next: read the provider's message: an option may not suit this model
    key_echo             failed bad_request x1 | failed none by - | exit 1
        openrouter answered 400: Malformed request: unexpected header value `Bearer ***`
        next: read the provider's message: an option may not suit this model
    "#);
}

#[test]
fn faults_of_the_provider_are_explained() {
    insta::assert_snapshot!(table(alone, PROVIDER), @"
    timeout_408          failed upstream x3 | failed none by - | exit 1
        openrouter answered 408: Operation timed out. Please try again later.
        next: try again later, or ask another model
    server_500           failed upstream x3 | failed none by - | exit 1
        openrouter answered 500: Internal Server Error
        next: try again later, or ask another model
    bad_gateway          failed upstream x3 | failed none by - | exit 1
        openrouter (Sim) answered 502: upstream exploded
        next: try again later, or ask another model
    unavailable_503      failed upstream x3 | failed none by - | exit 1
        openrouter answered 503: Service temporarily unavailable
        next: try again later, or ask another model
    overloaded_529       failed upstream x3 | failed none by - | exit 1
        openrouter answered 529: Provider returned error
        next: try again later, or ask another model
    cf_524_html          failed upstream x3 | failed none by - | exit 1
        openrouter answered 524
        next: try again later, or ask another model
    ok_error_body        failed upstream x3 | failed none by - | exit 1
        openrouter reported 502: Provider disconnected mid-stream
        next: try again later, or ask another model
    sse_error_first      failed upstream x3 | failed none by - | exit 1
        openrouter reported 502: Provider disconnected mid-stream
        next: try again later, or ask another model
    accept_and_close     failed connection x3 | failed none by - | exit 1
        openrouter at <simulator> broke the connection: connection closed before message completed
        next: check the network and the base URL, or try again later
    accept_no_reply      failed timeout x2 | failed none by - | exit 6
        no text or reasoning came within 3 s
        next: raise the setting `first_text_timeout_ms` (now 3000)
    html_200             failed protocol x1 | failed none by - | exit 1
        openrouter answered with something that is no API reply: a web page
        next: check that the base URL is that of an OpenAI-compatible API, or ask another model
    redirect_307         failed redirect x1 | failed none by - | exit 1
        openrouter answered 307 and points to 127.0.0.1
        next: set the base URL to the address the provider really uses, or ask another model
    ");
}

#[test]
fn complete_replies_are_used_or_explained() {
    insta::assert_snapshot!(table(alone, COMPLETE), @"
    empty_choices        failed empty x2 | failed none by - | exit 1
        the model answered with nothing
        next: ask again, or ask another model
    null_content         failed empty x2 | failed none by - | exit 1
        the model answered with nothing
        next: ask again, or ask another model
    empty_content        failed empty x2 | failed none by - | exit 1
        the model answered with nothing
        next: ask again, or ask another model
    reasoning_burn       failed reasoning_only x1 | failed none by - | exit 1
        the whole output was reasoning; no text was written
        next: raise `--max-tokens`
    truncated_length     answered x1 184 bytes | complete verbatim by x-ai/grok-4.7 | exit 0
    refusal              refused refused x1 | failed none by - | exit 1
        the model declined: I can't help with that request.
        next: rephrase the question, or ask another model
    content_filter       refused moderated x1 | failed none by - | exit 1
        the provider's content filter stopped the answer
        next: rephrase the question, or ask a model of another provider
    sse_no_done          answered x1 366 bytes | complete verbatim by x-ai/grok-4.7 | exit 0
    odd_framing          answered x1 366 bytes | complete verbatim by x-ai/grok-4.7 | exit 0
    byte_split           answered x1 455 bytes | complete verbatim by x-ai/grok-4.7 | exit 0
    unknown_fields       answered x1 366 bytes | complete verbatim by x-ai/grok-4.7 | exit 0
    ");
}

#[test]
fn incomplete_replies_are_explained() {
    insta::assert_snapshot!(table(alone, INCOMPLETE), @"
    ok_finish_error      cut upstream x1 48 bytes | failed none by - | exit 1
        openrouter reported 502: Provider disconnected mid-stream
        next: try again later, or ask another model
    sse_error_mid        cut rate_limited x1 48 bytes | failed none by - | exit 1
        openrouter reported 429: Rate limit exceeded
        next: try again in a minute, or ask another model
    sse_error_bare       cut upstream x1 48 bytes | failed none by - | exit 1
        openrouter reported server_error: Upstream idle timeout exceeded
        next: try again later, or ask another model
    sse_cut              cut incomplete x1 48 bytes | failed none by - | exit 1
        openrouter: the stream ended in the middle of the answer
        next: ask again if the text so far is not enough
    sse_reset            cut connection x1 48 bytes | failed none by - | exit 1
        openrouter at <simulator> broke the connection: Connection reset by peer (os error 104)
        next: check the network and the base URL, or try again later
    sse_eof_in_chunk     cut connection x1 48 bytes | failed none by - | exit 1
        openrouter at <simulator> broke the connection: end of file before message length reached
        next: check the network and the base URL, or try again later
    stall                cut timeout x1 48 bytes | failed none by - | exit 6
        nothing came within 3 s
        next: raise the setting `idle_timeout_ms` (now 3000)
    comments_forever     failed timeout x2 | failed none by - | exit 6
        no text or reasoning came within 3 s
        next: raise the setting `first_text_timeout_ms` (now 3000)
    slow_drip            cut timeout x1 some bytes | failed none by - | exit 6
        the answer was not whole within 3 s
        next: raise the setting `call_timeout_ms` (now 3000)
    bad_json_chunk       cut protocol x1 48 bytes | failed none by - | exit 1
        openrouter: an event of 40 bytes is no valid JSON (Eof)
        next: check that the base URL is that of an OpenAI-compatible API, or ask another model
    huge_line            failed protocol x1 | failed none by - | exit 1
        openrouter: one event is longer than 4194304 bytes
        next: check that the base URL is that of an OpenAI-compatible API, or ask another model
    flood                cut answer_too_large x1 8388608 bytes | partial verbatim by x-ai/grok-4.7 | exit 0
        openrouter: the answer is longer than 8388608 bytes
        next: ask for a shorter answer, or lower `--max-tokens`
    ");
}

#[test]
fn temporary_faults_are_retried_until_they_pass() {
    let passing = [
        Fault::InFlight,
        Fault::Timeout408,
        Fault::RateUpstream,
        Fault::RateUpstreamB,
        Fault::RateUpstreamC,
        Fault::RateUpstreamD,
        Fault::Server500,
        Fault::BadGateway,
        Fault::Unavailable503,
        Fault::Overloaded529,
        Fault::Cf524Html,
        Fault::OkErrorBody,
        Fault::SseErrorFirst,
        Fault::AcceptAndClose,
    ];
    insta::assert_snapshot!(table(flaky, &passing), @"
    in_flight            answered x3 366 bytes | complete verbatim by x-ai/grok-4.7 | exit 0
    timeout_408          answered x3 366 bytes | complete verbatim by x-ai/grok-4.7 | exit 0
    rate_upstream        answered x3 366 bytes | complete verbatim by x-ai/grok-4.7 | exit 0
    rate_upstream_b      answered x3 366 bytes | complete verbatim by x-ai/grok-4.7 | exit 0
    rate_upstream_c      answered x3 366 bytes | complete verbatim by x-ai/grok-4.7 | exit 0
    rate_upstream_d      answered x3 366 bytes | complete verbatim by x-ai/grok-4.7 | exit 0
    server_500           answered x3 366 bytes | complete verbatim by x-ai/grok-4.7 | exit 0
    bad_gateway          answered x3 366 bytes | complete verbatim by x-ai/grok-4.7 | exit 0
    unavailable_503      answered x3 366 bytes | complete verbatim by x-ai/grok-4.7 | exit 0
    overloaded_529       answered x3 366 bytes | complete verbatim by x-ai/grok-4.7 | exit 0
    cf_524_html          answered x3 366 bytes | complete verbatim by x-ai/grok-4.7 | exit 0
    ok_error_body        answered x3 366 bytes | complete verbatim by x-ai/grok-4.7 | exit 0
    sse_error_first      answered x3 366 bytes | complete verbatim by x-ai/grok-4.7 | exit 0
    accept_and_close     answered x3 366 bytes | complete verbatim by x-ai/grok-4.7 | exit 0
    ");
}

#[test]
fn a_closed_port_is_retried_like_a_broken_connection() {
    let sandbox = sandbox(Script::default());
    let call = sandbox.call(["ask", "--json", "-m", FAULTY, QUESTION]);
    let output = call.env("OPENROUTER_BASE_URL", "http://127.0.0.1:1/api/v1").run();
    let report = output.json();
    insta::assert_snapshot!(format!("{} | exit {:?}", seats(&report), output.code.unwrap_or(-1)), @"1 x-ai/grok-4.7 failed connection x3 | exit 1");
    insta::assert_snapshot!(report["answers"][0]["error"]["message"], @r#""openrouter at 127.0.0.1:1 cannot be reached: Connection refused (os error 111)""#);
}

#[test]
fn a_wrong_key_appears_nowhere() {
    const WRONG: &str = "sk-or-v1-00112233445566778899aabbccddeeff";
    let sandbox = sandbox(Script::default());
    let models = ["-m", HEALTHY[0], "-m", FAULTY, "-m", HEALTHY[1]];
    let call = sandbox.call(["ask", "--json", QUESTION]).args(models).settings([("log_level", "trace")]);
    let output = call.env("OPENROUTER_API_KEY", WRONG).run();
    insta::assert_snapshot!(format!("{}\nexit {:?}", seats(&output.json()), output.code.unwrap_or(-1)), @"
    1 openai/gpt-6.1-sol failed auth x1
    2 x-ai/grok-4.7 failed auth x1
    3 mistralai/mistral-large-4-0 failed auth x1
    exit 4
    ");
    assert_eq!(sandbox.chats().len(), 3, "each seat is asked once, and no synthesizer");
    assert!(!output.text().contains(&WRONG[9..]) && !output.stderr.contains(&WRONG[9..]));
    sandbox.assert_nowhere(&WRONG.as_bytes()[9..]);
}

#[test]
fn the_most_verbose_log_holds_no_key() {
    let sandbox = sandbox(Script::fault(Fault::KeyEcho));
    let settings = vec![("log_level", "trace"), ("log_file", "loud.log")];
    let output = ask(&sandbox, &[HEALTHY[0], FAULTY], settings);
    assert_eq!(output.code, Some(0));
    assert!(sandbox.home().join(".local/state/parallel-llm-mcp/loud.log").is_file(), "there is a log");
}
