//! The words of providers and local servers that copied OpenAI's endpoint: only what differs from the original's.

use super::words::{Kind, Wording, words};

const INVALID: &str = "invalid_request_error";

pub(super) const GROQ: &[Wording] = &[
    (Kind::KeyMissing, words(401, INVALID, "Invalid API Key").code("invalid_api_key")),
    (Kind::KeyBad, words(401, INVALID, "Invalid API Key").code("invalid_api_key")),
    (Kind::UnknownField, words(400, INVALID, "property '{field}' is unsupported")),
    (
        Kind::Context,
        words(400, INVALID, "Please reduce the length of the messages or completion.")
            .code("context_length_exceeded")
            .param("messages"),
    ),
    (
        Kind::ReasoningMandatory,
        words(400, INVALID, "`reasoning_effort` must be one of `low`, `medium`, or `high`"),
    ),
    (Kind::Modality, words(400, INVALID, "messages[0].content must be a string")),
    (
        Kind::Credits,
        words(400, INVALID, "API access is blocked because the spend limit was reached.").code("blocked_api_access"),
    ),
    (
        Kind::TooLarge,
        words(
            413,
            "tokens",
            "Request too large for model `{model}` in organization `org_sim` service tier `on_demand` on tokens per \
             minute (TPM): Limit 6000, Requested {input}, please reduce your message size and try again.",
        )
        .code("rate_limit_exceeded"),
    ),
    (Kind::Rate, words(429, "tokens", GROQ_RATE).code("rate_limit_exceeded")),
    (
        Kind::RateHinted,
        words(
            429,
            "tokens",
            "Rate limit reached for model `{model}` in organization `org_sim` service tier `on_demand` on tokens per \
             minute (TPM): Limit 6000, Used 6000, Requested {input}. Please try again in 1s.",
        )
        .code("rate_limit_exceeded"),
    ),
    (
        Kind::RateDay,
        words(
            429,
            "requests",
            "Rate limit reached for model `{model}` in organization `org_sim` service tier `on_demand` on requests per \
             day (RPD): Limit 1000, Used 1000, Requested 1. Please try again in 7h12m0s.",
        )
        .code("rate_limit_exceeded"),
    ),
    (Kind::Server, words(500, "internal_server_error", "Internal Server Error")),
    (
        Kind::Overloaded,
        words(498, "flex_tier_capacity_exceeded", "Flex tier capacity exceeded. Please try again later.")
            .code("capacity_exceeded"),
    ),
];

const GROQ_RATE: &str = "Rate limit reached for model `{model}` in organization `org_sim` service tier `on_demand` on \
    tokens per minute (TPM): Limit 6000, Used 6000, Requested {input}.";

pub(super) const DEEPSEEK: &[Wording] = &[
    (
        Kind::KeyMissing,
        words(401, "authentication_error", "Authentication Fails (auth header format should be Bearer sk-...)")
            .code(INVALID),
    ),
    (
        Kind::KeyBad,
        words(401, "authentication_error", "Authentication Fails, Your api key: {key} is invalid").code(INVALID),
    ),
    (Kind::BadModel, words(400, INVALID, "Model Not Exist").code(INVALID)),
    (
        Kind::Context,
        words(
            400,
            INVALID,
            "This model's maximum context length is {context} tokens. However, you requested {total} tokens ({input} \
             in the messages, {output} in the completion). Please reduce the length of the messages or completion.",
        )
        .code(INVALID),
    ),
    (Kind::Credits, words(402, "unknown_error", "Insufficient Balance").code(INVALID)),
    (Kind::Moderation, words(400, INVALID, "Content Exists Risk").code(INVALID)),
    (
        Kind::WrongType,
        words(422, INVALID, "Failed to deserialize the JSON body into the target type: {reason}").code(INVALID),
    ),
    (
        Kind::NoMessages,
        words(
            422,
            INVALID,
            "Failed to deserialize the JSON body into the target type: missing field `messages` at line 1 column 2",
        )
        .code(INVALID),
    ),
    (
        Kind::Modality,
        words(
            400,
            INVALID,
            "Failed to deserialize the JSON body into the target type: messages[0]: unknown variant `{reason}`, \
             expected `text`",
        )
        .code(INVALID),
    ),
    (Kind::Invalid, words(422, INVALID, "Invalid Parameters").code(INVALID)),
    (Kind::Rate, words(429, "rate_limit_error", "Rate Limit Reached").code("rate_limit_reached")),
    (Kind::RateHinted, words(429, "rate_limit_error", "Rate Limit Reached").code("rate_limit_reached")),
    (Kind::Server, words(500, "server_error", "Server Error").code("server_error")),
    (Kind::Unavailable, words(503, "service_unavailable_error", DEEPSEEK_BUSY).code("service_unavailable_error")),
    (Kind::Overloaded, words(503, "service_unavailable_error", DEEPSEEK_BUSY).code("service_unavailable_error")),
];

const DEEPSEEK_BUSY: &str = "Service is too busy. We advise users to temporarily switch to alternative LLM API service \
    providers.";

/// xAI's `code` is the name of a status, and its `error` a text.
pub(super) const XAI: &[Wording] = &[
    (
        Kind::KeyMissing,
        words(
            401,
            "Unauthenticated",
            "No API key was provided. You can obtain one from https://console.x.ai.",
        ),
    ),
    (
        Kind::KeyBad,
        words(
            400,
            XAI_ARGUMENT,
            "Incorrect API key provided: {key}. You can obtain an API key from https://console.x.ai.",
        ),
    ),
    (Kind::KeyInQuery, words(400, XAI_ARGUMENT, "API keys are not accepted in the URL.")),
    (Kind::BadBody, words(400, XAI_ARGUMENT, "Failed to parse the request body as JSON: {reason}")),
    (
        Kind::NoMessages,
        words(
            422,
            XAI_ARGUMENT,
            "Failed to deserialize the JSON body into the target type: missing field `messages`",
        ),
    ),
    (
        Kind::WrongType,
        words(422, XAI_ARGUMENT, "Failed to deserialize the JSON body into the target type: {reason}"),
    ),
    (
        Kind::BadModel,
        words(
            404,
            "Some requested entity was not found",
            "The model {model} does not exist or your team does not have access to it. Please ensure you're using the \
             correct API key.",
        ),
    ),
    (Kind::NoModel, words(400, XAI_ARGUMENT, "missing field `model`")),
    (
        Kind::Context,
        words(
            400,
            XAI_ARGUMENT,
            "This model's maximum prompt length is {context} but the request contains {input} tokens.",
        ),
    ),
    (
        Kind::ReasoningMandatory,
        words(400, XAI_ARGUMENT, "Argument not supported on this model: reasoningEffort"),
    ),
    (Kind::Modality, words(400, XAI_ARGUMENT, "{reason} inputs are not supported by this model.")),
    (
        Kind::Credits,
        words(
            403,
            XAI_PERMISSION,
            "Your team has either used all available credits or reached its monthly spending limit. To continue making \
             API requests, please purchase more credits or raise your spending limit.",
        ),
    ),
    (
        Kind::Moderation,
        words(
            403,
            XAI_PERMISSION,
            "Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_VIOLENCE",
        ),
    ),
    (Kind::Timeout, words(408, "Deadline exceeded", "The request timed out.")),
    (Kind::TooLarge, words(413, XAI_ARGUMENT, "Failed to buffer the request body: length limit exceeded")),
    (Kind::Invalid, words(422, XAI_ARGUMENT, "Unprocessable entity")),
    (
        Kind::Rate,
        words(
            429,
            "Some resource has been exhausted",
            "Too many requests for team and model {model}. Your team's rate limit is: tokens per minute: 30000.",
        ),
    ),
    (Kind::Server, words(500, "Internal error", "Internal server error")),
    (Kind::BadGateway, words(502, "The service is currently unavailable", "Bad gateway")),
    (
        Kind::Unavailable,
        words(503, "The service is currently unavailable", "Service temporarily unavailable."),
    ),
    (
        Kind::Overloaded,
        words(
            503,
            "The service is currently unavailable",
            "The model is at capacity and currently cannot serve this request. Please try again later.",
        ),
    ),
    (Kind::NotFound, words(404, "Some requested entity was not found", "The requested path was not found.")),
];

const XAI_ARGUMENT: &str = "Client specified an invalid argument";
const XAI_PERMISSION: &str = "The caller does not have permission to execute the specified operation";

/// Mistral's gateway says `{"message"}`, its models `{"object":"error"}`, and its validation `{"detail"}`.
pub(super) const MISTRAL: &[Wording] = &[
    (Kind::KeyMissing, words(401, "", "Unauthorized")),
    (Kind::KeyBad, words(401, "", "Unauthorized")),
    (Kind::BadBody, words(422, INVALID, "JSON decode error")),
    (Kind::NoMessages, words(422, INVALID, "Field required")),
    (Kind::WrongType, words(422, INVALID, "Input should be valid: {reason}")),
    (Kind::UnknownField, words(422, INVALID, "Extra inputs are not permitted")),
    (Kind::BadModel, words(400, "invalid_model", "Invalid model: {model}").code("1500")),
    (Kind::NoModel, words(422, INVALID, "Field required")),
    (
        Kind::Context,
        words(
            400,
            "invalid_request_prompt",
            "Prompt contains {input} tokens, too large for model with {context} maximum context length",
        )
        .code("3051"),
    ),
    (
        Kind::Modality,
        words(400, "invalid_request_message", "{reason} input is not enabled for this model").code("3051"),
    ),
    (Kind::Credits, words(402, "", "You cannot be served because your account has no credits left.")),
    (Kind::Moderation, words(403, "", "The content violates the moderation policy.")),
    (Kind::Invalid, words(422, INVALID, "Invalid argument")),
    (Kind::Rate, words(429, "", "Requests rate limit exceeded")),
    (Kind::Server, words(500, "internal_server_error", "Internal Server Error").code("3000")),
    (Kind::BadGateway, words(502, "", "Bad Gateway")),
    (Kind::Unavailable, words(503, "unavailable", "Service unavailable.").code("3505")),
    (
        Kind::Overloaded,
        words(429, "service_tier_capacity_exceeded", "Service tier capacity exceeded for this model.")
            .code("3505"),
    ),
    (Kind::NotFound, words(404, "", "no Route matched with those values")),
];

pub(super) const TOGETHER: &[Wording] = &[
    (Kind::KeyMissing, words(401, INVALID, TOGETHER_KEY).code("invalid_api_key")),
    (Kind::KeyBad, words(401, INVALID, TOGETHER_KEY).code("invalid_api_key")),
    (
        Kind::BadModel,
        words(
            404,
            INVALID,
            "Unable to access model {model}. Please visit https://api.together.ai/models to view the list of supported \
             models.",
        )
        .code("model_not_available"),
    ),
    (
        Kind::Context,
        words(
            422,
            INVALID,
            "Input validation error: `inputs` tokens + `max_new_tokens` must be <= {context}. Given: {input} `inputs` \
             tokens and {output} `max_new_tokens`",
        ),
    ),
    (
        Kind::Credits,
        words(
            402,
            "credit_limit",
            "Credit limit exceeded, please navigate to https://api.together.ai/settings/billing to update your credit \
             limit.",
        ),
    ),
    (Kind::Moderation, words(422, INVALID, "Input was flagged by the safety model.").code("safety_violation")),
    (
        Kind::Rate,
        words(429, "model_rate_limit", "You have reached the rate limit specific to this model {model}."),
    ),
    (
        Kind::Overloaded,
        words(503, "service_unavailable", "The server is currently overloaded with requests. Please try again later.")
            .code("overloaded"),
    ),
];

const TOGETHER_KEY: &str = "Invalid API key provided. You can find your API key at \
    https://api.together.ai/settings/api-keys.";

pub(super) const MOONSHOT: &[Wording] = &[
    (Kind::KeyMissing, words(401, "invalid_authentication_error", "Invalid Authentication")),
    (Kind::KeyBad, words(401, "invalid_authentication_error", "Invalid Authentication")),
    (
        Kind::BadModel,
        words(404, "resource_not_found_error", "Not found the model {model} or Permission denied"),
    ),
    (
        Kind::Context,
        words(
            400,
            INVALID,
            "Invalid request: Your request exceeded model token limit: {context} (requested: {total})",
        ),
    ),
    (
        Kind::Credits,
        words(
            429,
            "exceeded_current_quota_error",
            "You exceeded your current token quota: 0, please check your account balance",
        ),
    ),
    (
        Kind::Moderation,
        words(400, "content_filter", "The request was rejected because it was considered high risk"),
    ),
    (Kind::Modality, words(400, INVALID, "Invalid request: {reason} input is not supported by this model")),
    (
        Kind::Rate,
        words(
            429,
            "rate_limit_reached_error",
            "Your account org-sim request reached organization max RPM: 3",
        ),
    ),
    (
        Kind::RateHinted,
        words(
            429,
            "rate_limit_reached_error",
            "Your account org-sim request reached organization max RPM: 3, please try again after 1 seconds",
        ),
    ),
    (
        Kind::Overloaded,
        words(429, "engine_overloaded_error", "The engine is currently overloaded, please try again later"),
    ),
    (Kind::Server, words(500, "server_error", "Internal server error")),
];

/// Ollama's, at both endpoints.
pub(super) const OLLAMA: &[Wording] = &[
    (Kind::KeyMissing, words(401, "authentication_error", "unauthorized")),
    (Kind::KeyBad, words(401, "authentication_error", "unauthorized")),
    (Kind::BadBody, words(400, INVALID, "invalid character in the body: {reason}")),
    (Kind::NoMessages, words(400, INVALID, "[] is too short - 'messages'")),
    (Kind::NoModel, words(400, INVALID, "model is required")),
    (Kind::WrongType, words(400, INVALID, "json: cannot unmarshal: {reason}")),
    (Kind::BadModel, words(404, "not_found_error", "model '{model}' not found")),
    (Kind::Context, words(400, INVALID, "the input length exceeds the context length")),
    (Kind::ReasoningMandatory, words(400, INVALID, "think value \"none\" is not supported for this model")),
    (Kind::Modality, words(400, INVALID, "this model is missing data required for {reason} input")),
    (Kind::TooLarge, words(413, INVALID, "http: request body too large")),
    (
        Kind::Rate,
        words(429, "api_error", "you've reached your hourly usage limit, please upgrade to continue"),
    ),
    (Kind::Server, words(500, "api_error", "llama runner process has terminated: exit status 2")),
    (Kind::BadGateway, words(502, "api_error", "upstream model server closed the connection")),
    (
        Kind::Unavailable,
        words(503, "api_error", "server busy, please try again. maximum pending requests exceeded"),
    ),
    (
        Kind::Overloaded,
        words(503, "api_error", "server busy, please try again. maximum pending requests exceeded"),
    ),
    (Kind::NotFound, words(404, INVALID, "404 page not found")),
];

pub(super) const LM_STUDIO: &[Wording] = &[
    (Kind::KeyMissing, words(401, INVALID, "An LM Studio API token is required.").code("invalid_api_key")),
    (
        Kind::KeyBad,
        words(401, INVALID, "Malformed LM Studio API token provided: {key}").code("invalid_api_key"),
    ),
    (
        Kind::BadModel,
        words(404, INVALID, "Invalid model identifier \"{model}\". Please specify a valid downloaded model.")
            .code("model_not_found")
            .param("model"),
    ),
    (
        Kind::Context,
        words(
            400,
            INVALID,
            "The number of tokens to keep from the initial prompt is greater than the context length ({input} >= \
             {context}). Try to load the model with a larger context length, or provide a shorter input.",
        ),
    ),
    (
        Kind::Modality,
        words(400, INVALID, "Model does not support {reason} input. Please use a model that does."),
    ),
    (Kind::Rate, words(429, INVALID, "Too many requests.")),
    (
        Kind::Server,
        words(500, "internal_error", "The model has crashed without additional information. (Exit code: 6)"),
    ),
    (Kind::Unavailable, words(503, "internal_error", "Model is still loading.")),
    (Kind::Overloaded, words(503, "internal_error", "Model is still loading.")),
    (Kind::NotFound, words(404, INVALID, "Unexpected endpoint or method.")),
];

pub(super) const VLLM: &[Wording] = &[
    (Kind::KeyMissing, words(401, "", "Unauthorized")),
    (Kind::KeyBad, words(401, "", "Unauthorized")),
    (Kind::BadBody, words(422, "BadRequestError", "JSON decode error")),
    (Kind::NoMessages, words(422, "BadRequestError", "Field required")),
    (Kind::WrongType, words(422, "BadRequestError", "{reason}")),
    (Kind::BadModel, words(404, "NotFoundError", "The model `{model}` does not exist.").param("model")),
    (
        Kind::Context,
        words(
            400,
            "BadRequestError",
            "This model's maximum context length is {context} tokens. However, you requested {total} tokens ({input} \
             in the messages, {output} in the completion). Please reduce the length of the messages or completion.",
        ),
    ),
    (Kind::ReasoningMandatory, words(400, "BadRequestError", "This model cannot answer without reasoning.")),
    (Kind::Modality, words(400, "BadRequestError", "At most 0 {reason}(s) may be provided in one prompt.")),
    (Kind::Invalid, words(422, "BadRequestError", "Value error, invalid argument")),
    (Kind::Rate, words(429, "TooManyRequestsError", "Too many requests")),
    (
        Kind::Server,
        words(
            500,
            "InternalServerError",
            "EngineCore encountered an issue. See stack trace for the root cause.",
        ),
    ),
    (Kind::BadGateway, words(502, "InternalServerError", "Bad gateway")),
    (Kind::Unavailable, words(503, "ServiceUnavailableError", "The server is not ready.")),
    (Kind::Overloaded, words(503, "ServiceUnavailableError", "The server is overloaded.")),
    (Kind::NotFound, words(404, "NotFoundError", "Not Found")),
];
