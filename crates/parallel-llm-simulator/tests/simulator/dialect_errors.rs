//! The errors of every dialect, each with its whole body, and the place of its key.

use parallel_llm_simulator::{Fault, Script, Simulator, SimulatorConfig};

use crate::client::{Ask, send};
use crate::dialect::*;

/// Each error with its status and its body.
const ERRORS: &[(Encoder, Fault, u16, &str)] = &[
    (
        OPENAI,
        Fault::AuthMissing,
        401,
        r#"{"error":{"message":"You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY). You can obtain an API key from https://platform.openai.com/account/api-keys.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}"#,
    ),
    (
        OPENAI,
        Fault::AuthBad,
        401,
        r#"{"error":{"message":"Incorrect API key provided: KEY. You can find your API key at https://platform.openai.com/account/api-keys.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}"#,
    ),
    (
        OPENAI,
        Fault::BadModel,
        404,
        r#"{"error":{"message":"The model `gpt-6-luna` does not exist or you do not have access to it.","type":"invalid_request_error","param":null,"code":"model_not_found"}}"#,
    ),
    (
        OPENAI,
        Fault::CtxOverflow,
        400,
        r#"{"error":{"message":"This model's maximum context length is 1050000 tokens. However, you requested 6 tokens (6 in the messages, 0 in the completion). Please reduce the length of the messages or completion.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
    ),
    (
        OPENAI,
        Fault::Credits,
        429,
        r#"{"error":{"message":"You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}"#,
    ),
    (
        OPENAI,
        Fault::Moderation,
        400,
        r#"{"error":{"message":"Invalid prompt: your prompt was flagged as potentially violating our usage policy. Please try again with a different prompt: https://platform.openai.com/docs/guides/reasoning#advice-on-prompting","type":"invalid_request_error","param":null,"code":"invalid_prompt"}}"#,
    ),
    (
        OPENAI,
        Fault::RateUpstream,
        429,
        r#"{"error":{"message":"Rate limit reached for gpt-6-luna in organization org-sim on tokens per min (TPM): Limit 30000, Used 30000, Requested 6. Please try again in 1s. Visit https://platform.openai.com/account/rate-limits to learn more.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}"#,
    ),
    (
        OPENAI,
        Fault::Server500,
        500,
        r#"{"error":{"message":"The server had an error while processing your request. Sorry about that!","type":"server_error","param":null,"code":null}}"#,
    ),
    (
        OPENAI,
        Fault::Overloaded529,
        503,
        r#"{"error":{"message":"The engine is currently overloaded, please try again later.","type":"server_error","param":null,"code":null}}"#,
    ),
    (
        ANTHROPIC,
        Fault::AuthMissing,
        401,
        r#"{"type":"error","error":{"type":"authentication_error","message":"x-api-key header is required"},"request_id":"req_LETTERS"}"#,
    ),
    (
        ANTHROPIC,
        Fault::AuthBad,
        401,
        r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"},"request_id":"req_LETTERS"}"#,
    ),
    (
        ANTHROPIC,
        Fault::BadModel,
        404,
        r#"{"type":"error","error":{"type":"not_found_error","message":"model: claude-haiku-5.5"},"request_id":"req_LETTERS"}"#,
    ),
    (
        ANTHROPIC,
        Fault::CtxOverflow,
        400,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 6 tokens > 1000000 maximum"},"request_id":"req_LETTERS"}"#,
    ),
    (
        ANTHROPIC,
        Fault::Credits,
        400,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."},"request_id":"req_LETTERS"}"#,
    ),
    (
        ANTHROPIC,
        Fault::Moderation,
        400,
        r#"{"type":"error","error":{"type":"invalid_request_error","message":"Output blocked by content filtering policy"},"request_id":"req_LETTERS"}"#,
    ),
    (
        ANTHROPIC,
        Fault::RateUpstream,
        429,
        r#"{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your organization's rate limit of 30,000 input tokens per minute. For details, refer to: https://docs.claude.com/en/api/rate-limits. You can see the response headers for current usage."},"request_id":"req_LETTERS"}"#,
    ),
    (
        ANTHROPIC,
        Fault::Server500,
        500,
        r#"{"type":"error","error":{"type":"api_error","message":"Internal server error"},"request_id":"req_LETTERS"}"#,
    ),
    (
        ANTHROPIC,
        Fault::Overloaded529,
        529,
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_LETTERS"}"#,
    ),
    (
        ANTHROPIC_COMPAT,
        Fault::AuthMissing,
        401,
        r#"{"error":{"message":"x-api-key header is required","type":"authentication_error","param":null,"code":"authentication_error"}}"#,
    ),
    (
        ANTHROPIC_COMPAT,
        Fault::AuthBad,
        401,
        r#"{"error":{"message":"invalid x-api-key","type":"authentication_error","param":null,"code":"authentication_error"}}"#,
    ),
    (
        ANTHROPIC_COMPAT,
        Fault::BadModel,
        404,
        r#"{"error":{"message":"model: claude-haiku-5.5","type":"not_found_error","param":null,"code":"not_found_error"}}"#,
    ),
    (
        ANTHROPIC_COMPAT,
        Fault::CtxOverflow,
        400,
        r#"{"error":{"message":"prompt is too long: 6 tokens > 1000000 maximum","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}"#,
    ),
    (
        ANTHROPIC_COMPAT,
        Fault::Credits,
        400,
        r#"{"error":{"message":"Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}"#,
    ),
    (
        ANTHROPIC_COMPAT,
        Fault::Moderation,
        400,
        r#"{"error":{"message":"Output blocked by content filtering policy","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}"#,
    ),
    (
        ANTHROPIC_COMPAT,
        Fault::RateUpstream,
        429,
        r#"{"error":{"message":"This request would exceed your organization's rate limit of 30,000 input tokens per minute. For details, refer to: https://docs.claude.com/en/api/rate-limits. You can see the response headers for current usage.","type":"rate_limit_error","param":null,"code":"rate_limit_error"}}"#,
    ),
    (
        ANTHROPIC_COMPAT,
        Fault::Server500,
        500,
        r#"{"error":{"message":"Internal server error","type":"api_error","param":null,"code":"api_error"}}"#,
    ),
    (
        ANTHROPIC_COMPAT,
        Fault::Overloaded529,
        529,
        r#"{"error":{"message":"Overloaded","type":"overloaded_error","param":null,"code":"overloaded_error"}}"#,
    ),
    (
        GEMINI,
        Fault::AuthMissing,
        403,
        r#"{"error":{"code":403,"message":"Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API.","status":"PERMISSION_DENIED"}}"#,
    ),
    (
        GEMINI,
        Fault::AuthBad,
        400,
        r#"{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","domain":"googleapis.com","metadata":{"service":"generativelanguage.googleapis.com"},"reason":"API_KEY_INVALID"}]}}"#,
    ),
    (
        GEMINI,
        Fault::BadModel,
        404,
        r#"{"error":{"code":404,"message":"models/gemini-3.8-flash is not found for API version v1beta, or is not supported for generateContent. Call ListModels to see the list of available models and their supported methods.","status":"NOT_FOUND"}}"#,
    ),
    (
        GEMINI,
        Fault::CtxOverflow,
        400,
        r#"{"error":{"code":400,"message":"The input token count (6) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}"#,
    ),
    (
        GEMINI,
        Fault::Credits,
        429,
        r#"{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits.","status":"RESOURCE_EXHAUSTED"}}"#,
    ),
    (
        GEMINI,
        Fault::Moderation,
        200,
        r#"data: {"promptFeedback":{"blockReason":"SAFETY","safetyRatings":[{"category":"HARM_CATEGORY_DANGEROUS_CONTENT","probability":"HIGH"}]},"usageMetadata":{"promptTokenCount":6,"totalTokenCount":6},"modelVersion":"gemini-3.8-flash","responseId":"LETTERS"}"#,
    ),
    (
        GEMINI,
        Fault::RateUpstream,
        429,
        r#"{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details. Please retry in 1s.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"1s"}]}}"#,
    ),
    (
        GEMINI,
        Fault::Server500,
        500,
        r#"{"error":{"code":500,"message":"An internal error has occurred. Please retry or report in https://developers.generativeai.google/guide/troubleshooting","status":"INTERNAL"}}"#,
    ),
    (
        GEMINI,
        Fault::Overloaded529,
        503,
        r#"{"error":{"code":503,"message":"The model is overloaded. Please try again later.","status":"UNAVAILABLE"}}"#,
    ),
    (
        GEMINI_COMPAT,
        Fault::AuthMissing,
        403,
        r#"[{"error":{"code":403,"message":"Method doesn't allow unregistered callers (callers without established identity). Please use API Key or other form of API consumer identity to call this API.","status":"PERMISSION_DENIED"}}]"#,
    ),
    (
        GEMINI_COMPAT,
        Fault::AuthBad,
        400,
        r#"[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","domain":"googleapis.com","metadata":{"service":"generativelanguage.googleapis.com"},"reason":"API_KEY_INVALID"}]}}]"#,
    ),
    (
        GEMINI_COMPAT,
        Fault::BadModel,
        404,
        r#"[{"error":{"code":404,"message":"models/gemini-3.8-flash is not found for API version v1beta, or is not supported for generateContent. Call ListModels to see the list of available models and their supported methods.","status":"NOT_FOUND"}}]"#,
    ),
    (
        GEMINI_COMPAT,
        Fault::CtxOverflow,
        400,
        r#"[{"error":{"code":400,"message":"The input token count (6) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]"#,
    ),
    (
        GEMINI_COMPAT,
        Fault::Credits,
        429,
        r#"[{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits.","status":"RESOURCE_EXHAUSTED"}}]"#,
    ),
    (
        GEMINI_COMPAT,
        Fault::Moderation,
        400,
        r#"[{"error":{"code":400,"message":"The prompt was blocked due to SAFETY.","status":"INVALID_ARGUMENT"}}]"#,
    ),
    (
        GEMINI_COMPAT,
        Fault::RateUpstream,
        429,
        r#"[{"error":{"code":429,"message":"You exceeded your current quota, please check your plan and billing details. Please retry in 1s.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"1s"}]}}]"#,
    ),
    (
        GEMINI_COMPAT,
        Fault::Server500,
        500,
        r#"[{"error":{"code":500,"message":"An internal error has occurred. Please retry or report in https://developers.generativeai.google/guide/troubleshooting","status":"INTERNAL"}}]"#,
    ),
    (
        GEMINI_COMPAT,
        Fault::Overloaded529,
        503,
        r#"[{"error":{"code":503,"message":"The model is overloaded. Please try again later.","status":"UNAVAILABLE"}}]"#,
    ),
    (
        AZURE,
        Fault::AuthMissing,
        401,
        r#"{"error":{"code":"401","message":"Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an active subscription and use a correct regional API endpoint for your resource."}}"#,
    ),
    (
        AZURE,
        Fault::AuthBad,
        401,
        r#"{"error":{"code":"401","message":"Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an active subscription and use a correct regional API endpoint for your resource."}}"#,
    ),
    (
        AZURE,
        Fault::BadModel,
        404,
        r#"{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist. If you created the deployment within the last 5 minutes, please wait a moment and try again."}}"#,
    ),
    (
        AZURE,
        Fault::CtxOverflow,
        400,
        r#"{"error":{"message":"This model's maximum context length is 1050000 tokens. However, you requested 6 tokens (6 in the messages, 0 in the completion). Please reduce the length of the messages or completion.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
    ),
    (
        AZURE,
        Fault::Credits,
        429,
        r#"{"error":{"message":"You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}"#,
    ),
    (
        AZURE,
        Fault::Moderation,
        400,
        r#"{"error":{"code":"content_filter","message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy. Please modify your prompt and retry. To learn more about our content filtering policies please read our documentation: https://go.microsoft.com/fwlink/?linkid=2198766","type":null,"param":"prompt","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation","content_filter_result":{"violence":{"filtered":true,"severity":"high"}}}}}"#,
    ),
    (
        AZURE,
        Fault::RateUpstream,
        429,
        r#"{"error":{"code":"429","message":"Requests to the ChatCompletions_Create Operation under Azure OpenAI API have exceeded token rate limit of your current OpenAI S0 pricing tier. Please retry after 1 second."}}"#,
    ),
    (
        AZURE,
        Fault::Server500,
        500,
        r#"{"error":{"code":"InternalServerError","message":"The server had an error while processing your request."}}"#,
    ),
    (
        AZURE,
        Fault::Overloaded529,
        503,
        r#"{"error":{"message":"The engine is currently overloaded, please try again later.","type":"server_error","param":null,"code":null}}"#,
    ),
    (
        GROQ,
        Fault::AuthMissing,
        401,
        r#"{"error":{"message":"Invalid API Key","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}"#,
    ),
    (
        GROQ,
        Fault::AuthBad,
        401,
        r#"{"error":{"message":"Invalid API Key","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}"#,
    ),
    (
        GROQ,
        Fault::BadModel,
        404,
        r#"{"error":{"message":"The model `gpt-oss-120b` does not exist or you do not have access to it.","type":"invalid_request_error","param":null,"code":"model_not_found"}}"#,
    ),
    (
        GROQ,
        Fault::CtxOverflow,
        400,
        r#"{"error":{"message":"Please reduce the length of the messages or completion.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
    ),
    (
        GROQ,
        Fault::Credits,
        400,
        r#"{"error":{"message":"API access is blocked because the spend limit was reached.","type":"invalid_request_error","param":null,"code":"blocked_api_access"}}"#,
    ),
    (
        GROQ,
        Fault::Moderation,
        400,
        r#"{"error":{"message":"Invalid prompt: your prompt was flagged as potentially violating our usage policy. Please try again with a different prompt: https://platform.openai.com/docs/guides/reasoning#advice-on-prompting","type":"invalid_request_error","param":null,"code":"invalid_prompt"}}"#,
    ),
    (
        GROQ,
        Fault::RateUpstream,
        429,
        r#"{"error":{"message":"Rate limit reached for model `gpt-oss-120b` in organization `org_sim` service tier `on_demand` on tokens per minute (TPM): Limit 6000, Used 6000, Requested 6. Please try again in 1s.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}"#,
    ),
    (
        GROQ,
        Fault::Server500,
        500,
        r#"{"error":{"message":"Internal Server Error","type":"internal_server_error","param":null,"code":null}}"#,
    ),
    (
        GROQ,
        Fault::Overloaded529,
        498,
        r#"{"error":{"message":"Flex tier capacity exceeded. Please try again later.","type":"flex_tier_capacity_exceeded","param":null,"code":"capacity_exceeded"}}"#,
    ),
    (
        DEEPSEEK,
        Fault::AuthMissing,
        401,
        r#"{"error":{"message":"Authentication Fails (auth header format should be Bearer sk-...)","type":"authentication_error","param":null,"code":"invalid_request_error"}}"#,
    ),
    (
        DEEPSEEK,
        Fault::AuthBad,
        401,
        r#"{"error":{"message":"Authentication Fails, Your api key: KEY is invalid","type":"authentication_error","param":null,"code":"invalid_request_error"}}"#,
    ),
    (
        DEEPSEEK,
        Fault::BadModel,
        400,
        r#"{"error":{"message":"Model Not Exist","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}"#,
    ),
    (
        DEEPSEEK,
        Fault::CtxOverflow,
        400,
        r#"{"error":{"message":"This model's maximum context length is 1048576 tokens. However, you requested 6 tokens (6 in the messages, 0 in the completion). Please reduce the length of the messages or completion.","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}"#,
    ),
    (
        DEEPSEEK,
        Fault::Credits,
        402,
        r#"{"error":{"message":"Insufficient Balance","type":"unknown_error","param":null,"code":"invalid_request_error"}}"#,
    ),
    (
        DEEPSEEK,
        Fault::Moderation,
        400,
        r#"{"error":{"message":"Content Exists Risk","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}"#,
    ),
    (
        DEEPSEEK,
        Fault::RateUpstream,
        429,
        r#"{"error":{"message":"Rate Limit Reached","type":"rate_limit_error","param":null,"code":"rate_limit_reached"}}"#,
    ),
    (
        DEEPSEEK,
        Fault::Server500,
        500,
        r#"{"error":{"message":"Server Error","type":"server_error","param":null,"code":"server_error"}}"#,
    ),
    (
        DEEPSEEK,
        Fault::Overloaded529,
        503,
        r#"{"error":{"message":"Service is too busy. We advise users to temporarily switch to alternative LLM API service providers.","type":"service_unavailable_error","param":null,"code":"service_unavailable_error"}}"#,
    ),
    (
        XAI,
        Fault::AuthMissing,
        401,
        r#"{"code":"Unauthenticated","error":"No API key was provided. You can obtain one from https://console.x.ai."}"#,
    ),
    (
        XAI,
        Fault::AuthBad,
        400,
        r#"{"code":"Client specified an invalid argument","error":"Incorrect API key provided: KEY. You can obtain an API key from https://console.x.ai."}"#,
    ),
    (
        XAI,
        Fault::BadModel,
        404,
        r#"{"code":"Some requested entity was not found","error":"The model grok-4.7 does not exist or your team does not have access to it. Please ensure you're using the correct API key."}"#,
    ),
    (
        XAI,
        Fault::CtxOverflow,
        400,
        r#"{"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 500000 but the request contains 6 tokens."}"#,
    ),
    (
        XAI,
        Fault::Credits,
        403,
        r#"{"code":"The caller does not have permission to execute the specified operation","error":"Your team has either used all available credits or reached its monthly spending limit. To continue making API requests, please purchase more credits or raise your spending limit."}"#,
    ),
    (
        XAI,
        Fault::Moderation,
        403,
        r#"{"code":"The caller does not have permission to execute the specified operation","error":"Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_VIOLENCE"}"#,
    ),
    (
        XAI,
        Fault::RateUpstream,
        429,
        r#"{"code":"Some resource has been exhausted","error":"Too many requests for team and model grok-4.7. Your team's rate limit is: tokens per minute: 30000."}"#,
    ),
    (XAI, Fault::Server500, 500, r#"{"code":"Internal error","error":"Internal server error"}"#),
    (
        XAI,
        Fault::Overloaded529,
        503,
        r#"{"code":"The service is currently unavailable","error":"The model is at capacity and currently cannot serve this request. Please try again later."}"#,
    ),
    (MISTRAL, Fault::AuthMissing, 401, r#"{"message":"Unauthorized","request_id":"LETTERS"}"#),
    (MISTRAL, Fault::AuthBad, 401, r#"{"message":"Unauthorized","request_id":"LETTERS"}"#),
    (
        MISTRAL,
        Fault::BadModel,
        400,
        r#"{"object":"error","message":"Invalid model: mistral-large-4-0","type":"invalid_model","param":null,"code":"1500"}"#,
    ),
    (
        MISTRAL,
        Fault::CtxOverflow,
        400,
        r#"{"object":"error","message":"Prompt contains 6 tokens, too large for model with 1048576 maximum context length","type":"invalid_request_prompt","param":null,"code":"3051"}"#,
    ),
    (
        MISTRAL,
        Fault::Credits,
        402,
        r#"{"message":"You cannot be served because your account has no credits left.","request_id":"LETTERS"}"#,
    ),
    (
        MISTRAL,
        Fault::Moderation,
        403,
        r#"{"message":"The content violates the moderation policy.","request_id":"LETTERS"}"#,
    ),
    (
        MISTRAL,
        Fault::RateUpstream,
        429,
        r#"{"message":"Requests rate limit exceeded","request_id":"LETTERS"}"#,
    ),
    (
        MISTRAL,
        Fault::Server500,
        500,
        r#"{"object":"error","message":"Internal Server Error","type":"internal_server_error","param":null,"code":"3000"}"#,
    ),
    (
        MISTRAL,
        Fault::Overloaded529,
        429,
        r#"{"object":"error","message":"Service tier capacity exceeded for this model.","type":"service_tier_capacity_exceeded","param":null,"code":"3505"}"#,
    ),
    (
        TOGETHER,
        Fault::AuthMissing,
        401,
        r#"{"error":{"message":"Invalid API key provided. You can find your API key at https://api.together.ai/settings/api-keys.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}"#,
    ),
    (
        TOGETHER,
        Fault::AuthBad,
        401,
        r#"{"error":{"message":"Invalid API key provided. You can find your API key at https://api.together.ai/settings/api-keys.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}"#,
    ),
    (
        TOGETHER,
        Fault::BadModel,
        404,
        r#"{"error":{"message":"Unable to access model minimax-m3. Please visit https://api.together.ai/models to view the list of supported models.","type":"invalid_request_error","param":null,"code":"model_not_available"}}"#,
    ),
    (
        TOGETHER,
        Fault::CtxOverflow,
        422,
        r#"{"error":{"message":"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 524288. Given: 6 `inputs` tokens and 0 `max_new_tokens`","type":"invalid_request_error","param":null,"code":null}}"#,
    ),
    (
        TOGETHER,
        Fault::Credits,
        402,
        r#"{"error":{"message":"Credit limit exceeded, please navigate to https://api.together.ai/settings/billing to update your credit limit.","type":"credit_limit","param":null,"code":null}}"#,
    ),
    (
        TOGETHER,
        Fault::Moderation,
        422,
        r#"{"error":{"message":"Input was flagged by the safety model.","type":"invalid_request_error","param":null,"code":"safety_violation"}}"#,
    ),
    (
        TOGETHER,
        Fault::RateUpstream,
        429,
        r#"{"error":{"message":"You have reached the rate limit specific to this model minimax-m3.","type":"model_rate_limit","param":null,"code":null}}"#,
    ),
    (
        TOGETHER,
        Fault::Server500,
        500,
        r#"{"error":{"message":"The server had an error while processing your request. Sorry about that!","type":"server_error","param":null,"code":null}}"#,
    ),
    (
        TOGETHER,
        Fault::Overloaded529,
        503,
        r#"{"error":{"message":"The server is currently overloaded with requests. Please try again later.","type":"service_unavailable","param":null,"code":"overloaded"}}"#,
    ),
    (
        MOONSHOT,
        Fault::AuthMissing,
        401,
        r#"{"error":{"message":"Invalid Authentication","type":"invalid_authentication_error"}}"#,
    ),
    (
        MOONSHOT,
        Fault::AuthBad,
        401,
        r#"{"error":{"message":"Invalid Authentication","type":"invalid_authentication_error"}}"#,
    ),
    (
        MOONSHOT,
        Fault::BadModel,
        404,
        r#"{"error":{"message":"Not found the model kimi-k3.1-pro or Permission denied","type":"resource_not_found_error"}}"#,
    ),
    (
        MOONSHOT,
        Fault::CtxOverflow,
        400,
        r#"{"error":{"message":"Invalid request: Your request exceeded model token limit: 1048576 (requested: 6)","type":"invalid_request_error"}}"#,
    ),
    (
        MOONSHOT,
        Fault::Credits,
        429,
        r#"{"error":{"message":"You exceeded your current token quota: 0, please check your account balance","type":"exceeded_current_quota_error"}}"#,
    ),
    (
        MOONSHOT,
        Fault::Moderation,
        400,
        r#"{"error":{"message":"The request was rejected because it was considered high risk","type":"content_filter"}}"#,
    ),
    (
        MOONSHOT,
        Fault::RateUpstream,
        429,
        r#"{"error":{"message":"Your account org-sim request reached organization max RPM: 3, please try again after 1 seconds","type":"rate_limit_reached_error"}}"#,
    ),
    (
        MOONSHOT,
        Fault::Server500,
        500,
        r#"{"error":{"message":"Internal server error","type":"server_error"}}"#,
    ),
    (
        MOONSHOT,
        Fault::Overloaded529,
        429,
        r#"{"error":{"message":"The engine is currently overloaded, please try again later","type":"engine_overloaded_error"}}"#,
    ),
    (
        OLLAMA,
        Fault::AuthMissing,
        401,
        r#"{"error":{"message":"unauthorized","type":"authentication_error","param":null,"code":null}}"#,
    ),
    (
        OLLAMA,
        Fault::AuthBad,
        401,
        r#"{"error":{"message":"unauthorized","type":"authentication_error","param":null,"code":null}}"#,
    ),
    (
        OLLAMA,
        Fault::BadModel,
        404,
        r#"{"error":{"message":"model 'gemma-4-31b-it' not found","type":"not_found_error","param":null,"code":null}}"#,
    ),
    (
        OLLAMA,
        Fault::CtxOverflow,
        400,
        r#"{"error":{"message":"the input length exceeds the context length","type":"invalid_request_error","param":null,"code":null}}"#,
    ),
    (
        OLLAMA,
        Fault::RateUpstream,
        429,
        r#"{"error":{"message":"you've reached your hourly usage limit, please upgrade to continue","type":"api_error","param":null,"code":null}}"#,
    ),
    (
        OLLAMA,
        Fault::Server500,
        500,
        r#"{"error":{"message":"llama runner process has terminated: exit status 2","type":"api_error","param":null,"code":null}}"#,
    ),
    (
        OLLAMA,
        Fault::Overloaded529,
        503,
        r#"{"error":{"message":"server busy, please try again. maximum pending requests exceeded","type":"api_error","param":null,"code":null}}"#,
    ),
    (OLLAMA_NATIVE, Fault::AuthMissing, 401, r#"{"error":"unauthorized"}"#),
    (OLLAMA_NATIVE, Fault::AuthBad, 401, r#"{"error":"unauthorized"}"#),
    (OLLAMA_NATIVE, Fault::BadModel, 404, r#"{"error":"model 'gemma-4-31b-it' not found"}"#),
    (OLLAMA_NATIVE, Fault::CtxOverflow, 400, r#"{"error":"the input length exceeds the context length"}"#),
    (
        OLLAMA_NATIVE,
        Fault::RateUpstream,
        429,
        r#"{"error":"you've reached your hourly usage limit, please upgrade to continue"}"#,
    ),
    (
        OLLAMA_NATIVE,
        Fault::Server500,
        500,
        r#"{"error":"llama runner process has terminated: exit status 2"}"#,
    ),
    (
        OLLAMA_NATIVE,
        Fault::Overloaded529,
        503,
        r#"{"error":"server busy, please try again. maximum pending requests exceeded"}"#,
    ),
    (
        LM_STUDIO,
        Fault::AuthMissing,
        401,
        r#"{"error":{"message":"An LM Studio API token is required.","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}"#,
    ),
    (
        LM_STUDIO,
        Fault::AuthBad,
        401,
        r#"{"error":{"message":"Malformed LM Studio API token provided: ","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}"#,
    ),
    (
        LM_STUDIO,
        Fault::BadModel,
        404,
        r#"{"error":{"message":"Invalid model identifier \"gemma-4-31b-it\". Please specify a valid downloaded model.","type":"invalid_request_error","param":"model","code":"model_not_found"}}"#,
    ),
    (
        LM_STUDIO,
        Fault::CtxOverflow,
        400,
        r#"{"error":{"message":"The number of tokens to keep from the initial prompt is greater than the context length (6 >= 262144). Try to load the model with a larger context length, or provide a shorter input.","type":"invalid_request_error","param":null,"code":null}}"#,
    ),
    (
        LM_STUDIO,
        Fault::RateUpstream,
        429,
        r#"{"error":{"message":"Too many requests.","type":"invalid_request_error","param":null,"code":null}}"#,
    ),
    (
        LM_STUDIO,
        Fault::Server500,
        500,
        r#"{"error":{"message":"The model has crashed without additional information. (Exit code: 6)","type":"internal_error","param":null,"code":null}}"#,
    ),
    (
        LM_STUDIO,
        Fault::Overloaded529,
        503,
        r#"{"error":{"message":"Model is still loading.","type":"internal_error","param":null,"code":null}}"#,
    ),
    (VLLM, Fault::AuthMissing, 401, r#"{"error":"Unauthorized"}"#),
    (VLLM, Fault::AuthBad, 401, r#"{"error":"Unauthorized"}"#),
    (
        VLLM,
        Fault::BadModel,
        404,
        r#"{"error":{"message":"The model `gemma-4-31b-it` does not exist.","type":"NotFoundError","param":"model","code":404}}"#,
    ),
    (
        VLLM,
        Fault::CtxOverflow,
        400,
        r#"{"error":{"message":"This model's maximum context length is 262144 tokens. However, you requested 6 tokens (6 in the messages, 0 in the completion). Please reduce the length of the messages or completion.","type":"BadRequestError","param":null,"code":400}}"#,
    ),
    (
        VLLM,
        Fault::RateUpstream,
        429,
        r#"{"error":{"message":"Too many requests","type":"TooManyRequestsError","param":null,"code":429}}"#,
    ),
    (
        VLLM,
        Fault::Server500,
        500,
        r#"{"error":{"message":"EngineCore encountered an issue. See stack trace for the root cause.","type":"InternalServerError","param":null,"code":500}}"#,
    ),
    (
        VLLM,
        Fault::Overloaded529,
        503,
        r#"{"error":{"message":"The server is overloaded.","type":"ServiceUnavailableError","param":null,"code":503}}"#,
    ),
];

/// A key as an error shows it: its beginning and its end.
fn masked(key: &str) -> String {
    format!("{}********{}", &key[..8], &key[key.len() - 4..])
}

#[tokio::test]
async fn every_error_has_its_dialects_body() {
    for &(form, fault, status, body) in ERRORS {
        let simulator = Simulator::start(SimulatorConfig::instant()).await.unwrap();
        simulator.script("*", Script::fault(fault));
        let reply = form.answer(&simulator, true).await;
        let text =
            reply.text().replace(&masked(simulator.api_key()), "KEY").replace(FIRST_LETTERS, "LETTERS");
        assert_eq!((reply.status, text.trim_end()), (status, body), "{form:?} {fault}");
    }
}

#[tokio::test]
async fn every_dialect_has_retry_hints_in_the_header() {
    for form in FORMS {
        for (fault, hint) in [
            (Fault::RateUpstream, Some("1")),
            (Fault::RateUpstreamB, None),
            (Fault::RateUpstreamC, None),
            (Fault::RateUpstreamE, Some("3600")),
        ] {
            let simulator = Simulator::start(SimulatorConfig::instant()).await.unwrap();
            simulator.script("*", Script::fault(fault));
            let reply = form.answer(&simulator, true).await;
            assert_eq!((reply.status, reply.header("Retry-After")), (429, hint), "{form:?} {fault}");
        }
    }
}

#[tokio::test]
async fn each_dialect_accepts_its_key_only_in_its_own_place() {
    for form in FORMS {
        let simulator = Simulator::start(SimulatorConfig::instant()).await.unwrap();
        let body = form.body("Hi", false);
        let status = async |headers: String| {
            let version = "anthropic-version: 2023-06-01\r\n";
            let ask = Ask { extra_headers: headers + version, ..form.ask(&simulator, &body, false) };
            send(&simulator, &ask).await.status
        };
        let key = simulator.api_key();
        let header = |name: &str, value: &str| format!("{name}: {value}\r\n");
        let Some((name, scheme)) = form.key else {
            assert_eq!(status(String::new()).await, 200, "{form:?}");
            assert_eq!(status(header("Authorization", "Bearer whatever")).await, 200, "{form:?}");
            continue;
        };
        assert_eq!(status(header(name, &format!("{scheme}{key}"))).await, 200, "{form:?}");
        assert!(status(String::new()).await >= 400, "{form:?}");
        assert!(status(header(name, &format!("{scheme}wrong"))).await >= 400, "{form:?}");
        assert!(status(header("x-other-key", key)).await >= 400, "{form:?}");
        // A scheme that does not belong there, or a missing one.
        let odd = if scheme.is_empty() { format!("Bearer {key}") } else { key.to_owned() };
        assert!(status(header(name, &odd)).await >= 400, "{form:?}");
    }
    let simulator = Simulator::start(SimulatorConfig::instant()).await.unwrap();
    let mut ask = ANTHROPIC.ask(&simulator, &ANTHROPIC.body("Hi", false), false);
    ask.extra_headers = format!("x-api-key: {}\r\n", simulator.api_key());
    let reply = send(&simulator, &ask).await.json();
    assert_eq!(reply["error"]["message"], "anthropic-version: header is required");
}

#[tokio::test]
async fn a_key_in_the_url_is_refused_and_not_kept() {
    for form in FORMS {
        let simulator = Simulator::start(SimulatorConfig::instant()).await.unwrap();
        let mut ask = form.ask(&simulator, &form.body("Hi", false), false);
        ask.path += &format!("?key={}&x=1", simulator.api_key());
        assert_eq!(send(&simulator, &ask).await.status, 400, "{form:?}");
        let mut stranger = form.ask(&simulator, &form.body("Hi", false), false);
        stranger.path += "?api_key=mine";
        assert_eq!(send(&simulator, &stranger).await.status, 400, "{form:?}");
        let requests = simulator.requests();
        assert!(requests[0].path.ends_with("?key=ok&x=1"), "{}", requests[0].path);
        assert!(requests[1].path.ends_with("?api_key=bad"), "{}", requests[1].path);
        for name in ["authorization", "api-key", "x-api-key", "x-goog-api-key"] {
            let is_used = form.key.is_some_and(|(used, _)| used.eq_ignore_ascii_case(name));
            assert_eq!(requests[0].header(name), is_used.then_some("ok"), "{form:?} {name}");
        }
    }
}
