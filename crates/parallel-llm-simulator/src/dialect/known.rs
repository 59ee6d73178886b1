//! The fields and rules of every endpoint. This file is only tables.

use super::fields::{Fields, Unknown};
use super::rules::{Rule, When, Wrong};
use super::words::{Words, words};

const INVALID: &str = "invalid_request_error";

/// A rule on a field.
const fn rule(place: &'static str, when: When, wrong: Wrong, words: Words) -> Rule {
    Rule { place, when, wrong, words }
}

/// OpenRouter drops what it does not know.
pub(super) const ROUTER: Fields = Fields { known: &[], unknown: Unknown::Ignored, rules: &[] };

/// Nothing but what OpenAI publishes, and Azure's own; reasoning models take no sampling.
pub(super) const OPENAI: Fields = Fields {
    known: &[(
        "",
        &[
            "audio",
            "data_sources",
            "frequency_penalty",
            "function_call",
            "functions",
            "logit_bias",
            "logprobs",
            "max_completion_tokens",
            "max_tokens",
            "messages",
            "metadata",
            "modalities",
            "model",
            "n",
            "parallel_tool_calls",
            "prediction",
            "presence_penalty",
            "prompt_cache_key",
            "prompt_cache_retention",
            "reasoning_effort",
            "response_format",
            "safety_identifier",
            "seed",
            "service_tier",
            "stop",
            "store",
            "stream",
            "stream_options",
            "temperature",
            "tool_choice",
            "tools",
            "top_logprobs",
            "top_p",
            "user",
            "user_security_context",
            "verbosity",
            "web_search_options",
        ],
    )],
    unknown: Unknown::Refused,
    rules: &[
        rule("max_tokens", When::Reasoner, Wrong::Present, unsupported(MAX_TOKENS)),
        rule("temperature", When::Reasoning, Wrong::Present, unsupported(UNSUPPORTED)),
        rule("top_p", When::Reasoning, Wrong::Present, unsupported(UNSUPPORTED)),
        rule("presence_penalty", When::Reasoning, Wrong::Present, unsupported(UNSUPPORTED)),
        rule("frequency_penalty", When::Reasoning, Wrong::Present, unsupported(UNSUPPORTED)),
        rule("stop", When::Reasoning, Wrong::Present, unsupported(UNSUPPORTED)),
        rule("max_completion_tokens", When::Always, Wrong::AboveOutputMax, TOO_MANY_TOKENS),
    ],
};

const UNSUPPORTED: &str = "Unsupported parameter: '{field}' is not supported with this model.";
const MAX_TOKENS: &str = "Unsupported parameter: 'max_tokens' is not supported with this model. Use \
    'max_completion_tokens' instead.";

const fn unsupported(message: &'static str) -> Words {
    words(400, INVALID, message).code("unsupported_parameter").param("{field}")
}

const TOO_MANY_TOKENS: Words = words(
    400,
    INVALID,
    "max_tokens is too large: {value}. This model supports at most {output_max} completion tokens, whereas you \
     provided {value}.",
)
.code("invalid_value")
.param("{field}");

/// Anthropic's own endpoint refuses every extra field. The version `2026-10-21` knows no sampling.
pub(super) const ANTHROPIC: Fields = Fields {
    known: &[
        (
            "",
            &[
                "cache_control",
                "container",
                "context_management",
                "inference_geo",
                "max_tokens",
                "mcp_servers",
                "messages",
                "metadata",
                "model",
                "output_config",
                "service_tier",
                "stop_sequences",
                "stream",
                "system",
                "temperature",
                "thinking",
                "tool_choice",
                "tools",
                "top_k",
                "top_p",
            ],
        ),
        ("messages[]", &["content", "role"]),
        ("thinking", &["budget_tokens", "display", "type"]),
        ("metadata", &["user_id"]),
        ("output_config", &["effort", "format"]),
    ],
    unknown: Unknown::Refused,
    rules: &[
        rule("max_tokens", When::Always, Wrong::Missing, words(400, INVALID, "max_tokens: Field required")),
        rule(
            "max_tokens",
            When::Always,
            Wrong::AboveOutputMax,
            words(
                400,
                INVALID,
                "max_tokens: {value} > {output_max}, which is the maximum allowed number of output tokens for {model}",
            ),
        ),
        rule("messages[].role", When::Always, Wrong::Is("system"), words(400, INVALID, ANTHROPIC_SYSTEM)),
        rule(
            "messages[].role",
            When::Always,
            Wrong::NoneOf(&["user", "assistant"]),
            words(400, INVALID, "{field}: Input should be 'user' or 'assistant'"),
        ),
        rule(
            "messages[0].role",
            When::Always,
            Wrong::NoneOf(&["user"]),
            words(400, INVALID, "messages: first message must use the \"user\" role"),
        ),
        rule(
            "temperature",
            When::Always,
            Wrong::Above(1.0),
            words(400, INVALID, "temperature: Input should be less than or equal to 1"),
        ),
        rule("temperature", ANTHROPIC_LATE, Wrong::Present, words(400, INVALID, ANTHROPIC_EXTRA)),
        rule("top_p", ANTHROPIC_LATE, Wrong::Present, words(400, INVALID, ANTHROPIC_EXTRA)),
        rule("top_k", ANTHROPIC_LATE, Wrong::Present, words(400, INVALID, ANTHROPIC_EXTRA)),
    ],
};

const ANTHROPIC_LATE: When = When::Version("anthropic-version", "2026-10-21");
const ANTHROPIC_EXTRA: &str = "{field}: Extra inputs are not permitted";
const ANTHROPIC_SYSTEM: &str = "messages: Unexpected role \"system\". The Messages API accepts a top-level `system` \
    parameter, not \"system\" as an input message role.";

/// Anthropic's compatible endpoint ignores nearly everything.
pub(super) const ANTHROPIC_COMPAT: Fields = Fields {
    known: &[],
    unknown: Unknown::Ignored,
    rules: &[rule("n", When::Always, Wrong::Above(1.0), words(400, INVALID, "n: must be 1").code(INVALID))],
};

/// Google's own endpoint; it takes names in either case.
pub(super) const GEMINI: Fields = Fields {
    known: &[
        (
            "",
            &[
                "cachedContent",
                "contents",
                "generationConfig",
                "labels",
                "model",
                "safetySettings",
                "systemInstruction",
                "toolConfig",
                "tools",
            ],
        ),
        ("generationConfig", GENERATION_CONFIG),
        ("generation_config", GENERATION_CONFIG),
        ("generationConfig.thinkingConfig", &["includeThoughts", "thinkingBudget", "thinkingLevel"]),
        ("contents[]", &["parts", "role"]),
        ("systemInstruction", &["parts", "role"]),
        (
            "contents[].parts[]",
            &[
                "codeExecutionResult",
                "executableCode",
                "fileData",
                "functionCall",
                "functionResponse",
                "inlineData",
                "mediaResolution",
                "text",
                "thought",
                "thoughtSignature",
                "videoMetadata",
            ],
        ),
    ],
    unknown: Unknown::RefusedInEitherCase,
    rules: &[
        rule(
            "contents[].role",
            When::Always,
            Wrong::NoneOf(&["user", "model"]),
            words(400, "INVALID_ARGUMENT", "Please use a valid role: user, model."),
        ),
        rule(
            "generationConfig.temperature",
            When::Always,
            Wrong::Above(2.0),
            words(
                400,
                "INVALID_ARGUMENT",
                "* GenerateContentRequest.generation_config.temperature: temperature must be in the range [0.0, 2.0].\n",
            ),
        ),
    ],
};

const GENERATION_CONFIG: &[&str] = &[
    "candidateCount",
    "enableEnhancedCivicAnswers",
    "frequencyPenalty",
    "imageConfig",
    "logprobs",
    "maxOutputTokens",
    "mediaResolution",
    "presencePenalty",
    "responseJsonSchema",
    "responseLogprobs",
    "responseMimeType",
    "responseModalities",
    "responseSchema",
    "seed",
    "speechConfig",
    "stopSequences",
    "temperature",
    "thinkingConfig",
    "topK",
    "topP",
];

/// Google's compatible endpoint reads JSON into a message of its own and refuses what does not fit.
pub(super) const GEMINI_COMPAT: Fields = Fields {
    known: &[(
        "",
        &[
            "audio",
            "extra_body",
            "frequency_penalty",
            "max_completion_tokens",
            "max_tokens",
            "messages",
            "modalities",
            "model",
            "n",
            "parallel_tool_calls",
            "presence_penalty",
            "reasoning_effort",
            "response_format",
            "seed",
            "stop",
            "stream",
            "stream_options",
            "temperature",
            "tool_choice",
            "tools",
            "top_p",
        ],
    )],
    unknown: Unknown::Refused,
    rules: &[],
};

pub(super) const GROQ: Fields = Fields {
    known: &[(
        "",
        &[
            "citation_options",
            "compound_custom",
            "disable_tool_validation",
            "documents",
            "exclude_domains",
            "frequency_penalty",
            "function_call",
            "functions",
            "include_domains",
            "include_reasoning",
            "logit_bias",
            "logprobs",
            "max_completion_tokens",
            "max_tokens",
            "messages",
            "metadata",
            "model",
            "n",
            "parallel_tool_calls",
            "presence_penalty",
            "reasoning_effort",
            "reasoning_format",
            "response_format",
            "search_settings",
            "seed",
            "service_tier",
            "stop",
            "store",
            "stream",
            "stream_options",
            "temperature",
            "tool_choice",
            "tools",
            "top_logprobs",
            "top_p",
            "user",
        ],
    )],
    unknown: Unknown::Refused,
    rules: &[
        rule("logprobs", When::Always, Wrong::Present, words(400, INVALID, GROQ_UNSUPPORTED)),
        rule("top_logprobs", When::Always, Wrong::Present, words(400, INVALID, GROQ_UNSUPPORTED)),
        rule("logit_bias", When::Always, Wrong::Present, words(400, INVALID, GROQ_UNSUPPORTED)),
        rule(
            "messages[].name",
            When::Always,
            Wrong::Present,
            words(400, INVALID, "'{field}' : property 'name' is unsupported"),
        ),
        rule("n", When::Always, Wrong::Above(1.0), words(400, INVALID, "'n' : number must be at most 1")),
        rule(
            "temperature",
            When::Always,
            Wrong::Above(2.0),
            words(400, INVALID, "'temperature' : number must be at most 2"),
        ),
        rule(
            "max_completion_tokens",
            When::Always,
            Wrong::AboveOutputMax,
            words(
                400,
                INVALID,
                "`max_completion_tokens` must be less than or equal to `{output_max}`, the maximum value for \
                 `max_completion_tokens` is less than the `context_window` for this model",
            ),
        ),
    ],
};

const GROQ_UNSUPPORTED: &str = "property '{field}' is unsupported";

/// DeepSeek ignores what it does not know, `max_completion_tokens` included.
pub(super) const DEEPSEEK: Fields = Fields {
    known: &[],
    unknown: Unknown::Ignored,
    rules: &[
        rule(
            "messages[].role",
            When::Always,
            Wrong::NoneOf(&["system", "user", "assistant", "tool"]),
            words(
                422,
                INVALID,
                "Failed to deserialize the JSON body into the target type: {field}: unknown variant {value}, expected \
                 one of `system`, `user`, `assistant`, `tool`",
            )
            .code(INVALID),
        ),
        rule(
            "max_tokens",
            When::Always,
            Wrong::AboveOutputMax,
            words(400, INVALID, "Invalid max_tokens value, the valid range of max_tokens is [1, {output_max}]")
                .code(INVALID),
        ),
        rule(
            "temperature",
            When::Always,
            Wrong::Above(2.0),
            words(400, INVALID, "Invalid temperature value, the valid range of temperature is [0, 2]").code(INVALID),
        ),
    ],
};

/// xAI: a model that always reasons takes neither an effort nor penalties nor `stop`.
pub(super) const XAI: Fields = Fields {
    known: &[],
    unknown: Unknown::Ignored,
    rules: &[
        rule(
            "messages[].role",
            When::Always,
            Wrong::Is("developer"),
            words(422, XAI_ARGUMENT, "messages: unknown role {value}"),
        ),
        rule("store", When::Always, Wrong::Present, words(400, XAI_ARGUMENT, XAI_UNSUPPORTED)),
        rule("reasoning_effort", When::Mandatory, Wrong::Present, words(400, XAI_ARGUMENT, XAI_UNSUPPORTED)),
        rule("reasoning_effort", When::NoReasoner, Wrong::Present, words(400, XAI_ARGUMENT, XAI_UNSUPPORTED)),
        rule("presence_penalty", When::Reasoner, Wrong::Present, words(400, XAI_ARGUMENT, XAI_UNSUPPORTED)),
        rule("frequency_penalty", When::Reasoner, Wrong::Present, words(400, XAI_ARGUMENT, XAI_UNSUPPORTED)),
        rule("stop", When::Reasoner, Wrong::Present, words(400, XAI_ARGUMENT, XAI_UNSUPPORTED)),
    ],
};

const XAI_ARGUMENT: &str = "Client specified an invalid argument";
const XAI_UNSUPPORTED: &str = "Argument not supported on this model: {field}";

/// Mistral's body is validated: one unknown field spoils it.
pub(super) const MISTRAL: Fields = Fields {
    known: &[
        (
            "",
            &[
                "frequency_penalty",
                "guardrails",
                "max_tokens",
                "messages",
                "model",
                "n",
                "parallel_tool_calls",
                "prediction",
                "presence_penalty",
                "prompt_mode",
                "random_seed",
                "reasoning_effort",
                "response_format",
                "safe_prompt",
                "stop",
                "stream",
                "temperature",
                "tool_choice",
                "tools",
                "top_p",
            ],
        ),
        ("messages[]", &["content", "name", "prefix", "role", "tool_call_id", "tool_calls"]),
    ],
    unknown: Unknown::Refused,
    rules: &[
        rule(
            "reasoning_effort",
            When::NoReasoner,
            Wrong::Present,
            words(422, "extra_forbidden", "Extra inputs are not permitted"),
        ),
        rule(
            "messages[].role",
            When::Always,
            Wrong::NoneOf(&["system", "user", "assistant", "tool"]),
            words(422, "literal_error", "Input should be 'system', 'user', 'assistant' or 'tool'"),
        ),
        rule(
            "temperature",
            When::Always,
            Wrong::Above(1.5),
            words(422, "less_than_equal", "Input should be less than or equal to 1.5"),
        ),
    ],
};

/// Whoever ignores what it does not know and has no rules: Together, Ollama, LM Studio, vLLM.
pub(super) const LENIENT: Fields = Fields { known: &[], unknown: Unknown::Ignored, rules: &[] };

pub(super) const MOONSHOT: Fields = Fields {
    known: &[],
    unknown: Unknown::Ignored,
    rules: &[rule(
        "temperature",
        When::Always,
        Wrong::Above(1.0),
        words(
            400,
            INVALID,
            "Invalid request: invalid temperature: {value}, only values in [0, 1] are allowed",
        ),
    )],
};
