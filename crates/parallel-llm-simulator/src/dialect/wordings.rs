//! Every provider's own words for what is wrong. A kind that a provider has no words for is said as OpenAI says it,
//! since all but three copied their errors from there.
//!
//! Wordings follow the providers' documents and what clients have reported of them; they may drift.

use super::words::{Kind, Wording, words};

const INVALID: &str = "invalid_request_error";

/// OpenAI's, for every kind.
pub(super) const FALLBACK: &[Wording] = &[
    (
        Kind::KeyMissing,
        words(
            401,
            INVALID,
            "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer \
             auth (i.e. Authorization: Bearer YOUR_KEY). You can obtain an API key from \
             https://platform.openai.com/account/api-keys.",
        )
        .code("invalid_api_key"),
    ),
    (
        Kind::KeyBad,
        words(
            401,
            INVALID,
            "Incorrect API key provided: {key}. You can find your API key at \
             https://platform.openai.com/account/api-keys.",
        )
        .code("invalid_api_key"),
    ),
    (
        Kind::KeyInQuery,
        words(400, INVALID, "API keys are not accepted in the URL. Send the key in a header.")
            .code("invalid_request"),
    ),
    (Kind::VersionMissing, words(400, INVALID, "A version header is required.")),
    (
        Kind::BadBody,
        words(
            400,
            INVALID,
            "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP \
             library correctly.)",
        ),
    ),
    (
        Kind::NoMessages,
        words(400, INVALID, "Missing required parameter: 'messages'.")
            .code("missing_required_parameter")
            .param("messages"),
    ),
    (Kind::WrongType, words(400, INVALID, "Invalid type: {reason}.").code("invalid_type")),
    (
        Kind::UnknownField,
        words(400, INVALID, "Unknown parameter: '{field}'.").code("unknown_parameter").param("{field}"),
    ),
    (
        Kind::BadModel,
        words(404, INVALID, "The model `{model}` does not exist or you do not have access to it.")
            .code("model_not_found"),
    ),
    (Kind::NoModel, words(400, INVALID, "you must provide a model parameter")),
    (
        Kind::NoEndpoints,
        words(404, INVALID, "The model `{model}` has been deprecated.").code("model_not_found"),
    ),
    (
        Kind::Context,
        words(
            400,
            INVALID,
            "This model's maximum context length is {context} tokens. However, you requested {total} tokens ({input} \
             in the messages, {output} in the completion). Please reduce the length of the messages or completion.",
        )
        .code("context_length_exceeded")
        .param("messages"),
    ),
    (
        Kind::ReasoningMandatory,
        words(
            400,
            INVALID,
            "Unsupported value: 'reasoning_effort' does not support 'none' with this model. Supported values are: \
             'low', 'medium', and 'high'.",
        )
        .code("unsupported_value")
        .param("reasoning_effort"),
    ),
    (
        Kind::Modality,
        words(400, INVALID, "Invalid content type. {reason} input is only supported by certain models.")
            .code("invalid_value")
            .param("messages"),
    ),
    (
        Kind::Credits,
        words(
            429,
            "insufficient_quota",
            "You exceeded your current quota, please check your plan and billing details. For more information on \
             this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.",
        )
        .code("insufficient_quota"),
    ),
    (Kind::InFlight, words(429, "requests", "Too many requests in flight.").code("rate_limit_exceeded")),
    (
        Kind::KeyLimit,
        words(429, "insufficient_quota", "You exceeded your current quota.").code("insufficient_quota"),
    ),
    (
        Kind::Moderation,
        words(
            400,
            INVALID,
            "Invalid prompt: your prompt was flagged as potentially violating our usage policy. Please try again with \
             a different prompt: https://platform.openai.com/docs/guides/reasoning#advice-on-prompting",
        )
        .code("invalid_prompt"),
    ),
    (Kind::DataPolicy, words(403, INVALID, "Your organization's data policy forbids this request.")),
    (Kind::NoProvider, words(404, INVALID, "No provider serves this request.")),
    (Kind::AllIgnored, words(404, INVALID, "No provider serves this request.")),
    (Kind::TooDear, words(404, INVALID, "No provider serves this request at this price.")),
    (Kind::Timeout, words(408, "timeout", "Request timed out.").code("timeout")),
    (
        Kind::TooLarge,
        words(413, INVALID, "The request body is too large. The maximum size is 10 MB.").code("request_too_large"),
    ),
    (Kind::Invalid, words(422, INVALID, "Unprocessable entity: the request holds an invalid argument.")),
    (
        Kind::Rate,
        words(
            429,
            "tokens",
            "Rate limit reached for {model} in organization org-sim on tokens per min (TPM): Limit 30000, Used 30000, \
             Requested {input}. Visit https://platform.openai.com/account/rate-limits to learn more.",
        )
        .code("rate_limit_exceeded"),
    ),
    (
        Kind::RateHinted,
        words(
            429,
            "tokens",
            "Rate limit reached for {model} in organization org-sim on tokens per min (TPM): Limit 30000, Used 30000, \
             Requested {input}. Please try again in 1s. Visit https://platform.openai.com/account/rate-limits to learn \
             more.",
        )
        .code("rate_limit_exceeded"),
    ),
    (
        Kind::RateDay,
        words(429, "requests", "Rate limit reached for {model} on requests per day (RPD): Limit 50, Used 50.")
            .code("rate_limit_exceeded"),
    ),
    (
        Kind::RateMinute,
        words(429, "requests", "Rate limit reached for {model} on requests per min (RPM): Limit 3, Used 3.")
            .code("rate_limit_exceeded"),
    ),
    (
        Kind::Server,
        words(500, "server_error", "The server had an error while processing your request. Sorry about that!"),
    ),
    (Kind::BadGateway, words(502, "cf_bad_gateway", "Bad gateway.").code("502")),
    (Kind::Unavailable, words(503, "cf_service_unavailable", "Service Unavailable.").code("503")),
    (
        Kind::Overloaded,
        words(503, "server_error", "The engine is currently overloaded, please try again later."),
    ),
    (Kind::KeyEcho, words(400, INVALID, "Malformed request: unexpected header value `{reason}`")),
    (Kind::NotFound, words(404, INVALID, "Invalid URL: no such endpoint.")),
    (Kind::Order, words(400, INVALID, "{reason}")),
];

/// Azure's gateway has its own; the models behind it say what OpenAI says.
pub(super) const AZURE: &[Wording] = &[
    (Kind::KeyMissing, words(401, "", AZURE_KEY).code("401")),
    (Kind::KeyBad, words(401, "", AZURE_KEY).code("401")),
    (
        Kind::BadModel,
        words(
            404,
            "",
            "The API deployment for this resource does not exist. If you created the deployment within the last 5 \
             minutes, please wait a moment and try again.",
        )
        .code("DeploymentNotFound"),
    ),
    (
        Kind::Moderation,
        words(
            400,
            "",
            "The response was filtered due to the prompt triggering Azure OpenAI's content management policy. Please \
             modify your prompt and retry. To learn more about our content filtering policies please read our \
             documentation: https://go.microsoft.com/fwlink/?linkid=2198766",
        )
        .code("content_filter"),
    ),
    (
        Kind::Rate,
        words(
            429,
            "",
            "Requests to the ChatCompletions_Create Operation under Azure OpenAI API have exceeded token rate limit of \
             your current OpenAI S0 pricing tier.",
        )
        .code("429"),
    ),
    (
        Kind::RateHinted,
        words(
            429,
            "",
            "Requests to the ChatCompletions_Create Operation under Azure OpenAI API have exceeded token rate limit of \
             your current OpenAI S0 pricing tier. Please retry after 1 second.",
        )
        .code("429"),
    ),
    (Kind::NotFound, words(404, "", "Resource not found").code("404")),
    (Kind::Server, words(500, "", "The server had an error while processing your request.").code("InternalServerError")),
    (Kind::Timeout, words(408, "", "The operation was timeout.").code("Timeout")),
];

const AZURE_KEY: &str = "Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a \
    valid key for an active subscription and use a correct regional API endpoint for your resource.";

const AUTHENTICATION: &str = "authentication_error";

/// Anthropic's own endpoint.
pub(super) const ANTHROPIC: &[Wording] = &[
    (Kind::KeyMissing, words(401, AUTHENTICATION, "x-api-key header is required")),
    (Kind::KeyBad, words(401, AUTHENTICATION, "invalid x-api-key")),
    (Kind::VersionMissing, words(400, INVALID, "anthropic-version: header is required")),
    (Kind::BadBody, words(400, INVALID, "The request body is not valid JSON: {reason}")),
    (Kind::NoMessages, words(400, INVALID, "messages: at least one message is required")),
    (Kind::NoModel, words(400, INVALID, "model: Field required")),
    (Kind::WrongType, words(400, INVALID, "Invalid request: {reason}")),
    (Kind::UnknownField, words(400, INVALID, "{field}: Extra inputs are not permitted")),
    (Kind::BadModel, words(404, "not_found_error", "model: {model}")),
    (Kind::Context, words(400, INVALID, "prompt is too long: {input} tokens > {context} maximum")),
    (
        Kind::ReasoningMandatory,
        words(400, INVALID, "thinking.type: \"disabled\" is not supported for this model"),
    ),
    (Kind::Modality, words(400, INVALID, "messages: {reason} content is not supported by this model")),
    (
        Kind::Credits,
        words(
            400,
            INVALID,
            "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or \
             purchase credits.",
        ),
    ),
    (Kind::Moderation, words(400, INVALID, "Output blocked by content filtering policy")),
    (Kind::Timeout, words(504, "timeout_error", "Request timed out")),
    (Kind::TooLarge, words(413, "request_too_large", "Request exceeds the maximum size")),
    (Kind::Invalid, words(422, INVALID, "Unprocessable entity")),
    (Kind::Rate, words(429, "rate_limit_error", ANTHROPIC_RATE)),
    (Kind::Server, words(500, "api_error", "Internal server error")),
    (Kind::BadGateway, words(502, "api_error", "Bad gateway")),
    (Kind::Unavailable, words(503, "api_error", "Service unavailable")),
    (Kind::Overloaded, words(529, "overloaded_error", "Overloaded")),
    (Kind::NotFound, words(404, "not_found_error", "Not found")),
];

const ANTHROPIC_RATE: &str = "This request would exceed your organization's rate limit of 30,000 input tokens per \
    minute. For details, refer to: https://docs.claude.com/en/api/rate-limits. You can see the response headers for \
    current usage.";

/// Anthropic's compatible endpoint: its own messages in OpenAI's shape.
pub(super) const ANTHROPIC_COMPAT: &[Wording] = &[
    (Kind::KeyMissing, words(401, AUTHENTICATION, "x-api-key header is required").code(AUTHENTICATION)),
    (Kind::KeyBad, words(401, AUTHENTICATION, "invalid x-api-key").code(AUTHENTICATION)),
    (Kind::BadModel, words(404, "not_found_error", "model: {model}").code("not_found_error")),
    (
        Kind::Context,
        words(400, INVALID, "prompt is too long: {input} tokens > {context} maximum").code(INVALID),
    ),
    (
        Kind::Modality,
        words(400, INVALID, "messages: {reason} content is not supported by this model").code(INVALID),
    ),
    (
        Kind::Credits,
        words(
            400,
            INVALID,
            "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or \
             purchase credits.",
        )
        .code(INVALID),
    ),
    (Kind::Moderation, words(400, INVALID, "Output blocked by content filtering policy").code(INVALID)),
    (Kind::Rate, words(429, "rate_limit_error", ANTHROPIC_RATE).code("rate_limit_error")),
    (Kind::RateHinted, words(429, "rate_limit_error", ANTHROPIC_RATE).code("rate_limit_error")),
    (Kind::Server, words(500, "api_error", "Internal server error").code("api_error")),
    (Kind::Overloaded, words(529, "overloaded_error", "Overloaded").code("overloaded_error")),
];

const ARGUMENT: &str = "INVALID_ARGUMENT";

/// Google's, for both endpoints.
pub(super) const GEMINI: &[Wording] = &[
    (
        Kind::KeyMissing,
        words(
            403,
            "PERMISSION_DENIED",
            "Method doesn't allow unregistered callers (callers without established identity). Please use API Key or \
             other form of API consumer identity to call this API.",
        ),
    ),
    (Kind::KeyBad, words(400, ARGUMENT, "API key not valid. Please pass a valid API key.")),
    (
        Kind::KeyInQuery,
        words(400, ARGUMENT, "API keys are not accepted in the URL. Use the header x-goog-api-key."),
    ),
    (Kind::BadBody, words(400, ARGUMENT, "Invalid JSON payload received. Unexpected token.")),
    (
        Kind::NoMessages,
        words(400, ARGUMENT, "* GenerateContentRequest.contents: contents is not specified\n"),
    ),
    (Kind::NoModel, words(400, ARGUMENT, "* GenerateContentRequest.model: unexpected model name format\n")),
    (Kind::WrongType, words(400, ARGUMENT, "Invalid JSON payload received. {reason}")),
    (
        Kind::UnknownField,
        words(
            400,
            ARGUMENT,
            "Invalid JSON payload received. Unknown name \"{last}\"{parent}: Cannot find field.",
        ),
    ),
    (
        Kind::BadModel,
        words(
            404,
            "NOT_FOUND",
            "models/{model} is not found for API version v1beta, or is not supported for generateContent. Call \
             ListModels to see the list of available models and their supported methods.",
        ),
    ),
    (
        Kind::Context,
        words(
            400,
            ARGUMENT,
            "The input token count ({input}) exceeds the maximum number of tokens allowed ({context}).",
        ),
    ),
    (
        Kind::ReasoningMandatory,
        words(400, ARGUMENT, "Budget 0 is invalid. This model only works in thinking mode."),
    ),
    (Kind::Modality, words(400, ARGUMENT, "{reason} input modality is not enabled for models/{model}")),
    (Kind::Credits, words(429, "RESOURCE_EXHAUSTED", GEMINI_QUOTA)),
    (Kind::Moderation, words(400, ARGUMENT, "The prompt was blocked due to SAFETY.")),
    (Kind::Timeout, words(504, "DEADLINE_EXCEEDED", "Deadline expired before operation could complete.")),
    (Kind::TooLarge, words(413, ARGUMENT, "Request payload size exceeds the limit: 10485760 bytes.")),
    (Kind::Invalid, words(400, ARGUMENT, "Request contains an invalid argument.")),
    (Kind::Rate, words(429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota).")),
    (
        Kind::RateHinted,
        words(
            429,
            "RESOURCE_EXHAUSTED",
            "You exceeded your current quota, please check your plan and billing details. Please retry in 1s.",
        ),
    ),
    (Kind::RateDay, words(429, "RESOURCE_EXHAUSTED", GEMINI_QUOTA)),
    (
        Kind::Server,
        words(
            500,
            "INTERNAL",
            "An internal error has occurred. Please retry or report in \
             https://developers.generativeai.google/guide/troubleshooting",
        ),
    ),
    (Kind::BadGateway, words(502, "UNAVAILABLE", "Bad Gateway")),
    (Kind::Unavailable, words(503, "UNAVAILABLE", "The service is currently unavailable.")),
    (Kind::Overloaded, words(503, "UNAVAILABLE", "The model is overloaded. Please try again later.")),
    (Kind::KeyEcho, words(400, ARGUMENT, "Malformed request: unexpected header value `{reason}`")),
    (Kind::NotFound, words(404, "NOT_FOUND", "Requested entity was not found.")),
    (Kind::Order, words(400, ARGUMENT, "{reason}")),
];

const GEMINI_QUOTA: &str = "You exceeded your current quota, please check your plan and billing details. For more \
    information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits.";
