//! Replies that refuse: a status, OpenRouter's error object, and the headers that belong to it.
//!
//! Each constructor is one row of the specification. The chat endpoint uses them when a rule is broken; a fault uses
//! the same ones, so what is played on purpose cannot differ from what happens by itself.

use hyper::StatusCode;

use crate::json::Object;
use crate::reply::Reply;

/// The account that error bodies name.
pub(crate) const USER_ID: &str = "user_sim";

/// The hint of a 429; the capture's own text is not known.
const RATE_REMEDY: &str = "Add your own provider key to accumulate your rate limits.";

/// An error object in the making.
#[derive(Clone, Debug)]
pub(crate) struct Refusal {
    status: u16,
    message: String,
    metadata: Option<Object>,
    names_user: bool,
    headers: Vec<(&'static str, String)>,
}

impl Refusal {
    fn new(status: u16, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), metadata: None, names_user: false, headers: Vec::new() }
    }

    fn metadata(mut self, metadata: Object) -> Self {
        self.metadata = Some(metadata);
        self
    }

    fn naming_user(mut self) -> Self {
        self.names_user = true;
        self
    }

    /// Adds a header.
    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub(crate) fn reply(self) -> Reply {
        let error = Object::new().with("message", &self.message).with("code", &self.status);
        let error = match self.metadata {
            Some(metadata) => error.nest("metadata", metadata),
            None => error,
        };
        let body = Object::new().nest("error", error);
        let body = if self.names_user { body.with("user_id", USER_ID) } else { body };
        let status = StatusCode::from_u16(self.status).expect("every refusal has a three-digit status");
        let reply = Reply::json(status, body.bytes());
        self.headers.into_iter().fold(reply, |reply, (name, value)| reply.header(name, &value))
    }

    pub(crate) fn key_missing() -> Self {
        Self::new(401, "No cookie auth credentials found")
    }

    pub(crate) fn key_unknown() -> Self {
        Self::new(401, "User not found.")
    }

    pub(crate) fn no_input() -> Self {
        Self::new(400, "Input must have at least 1 token.").metadata(no_provider())
    }

    pub(crate) fn no_messages() -> Self {
        Self::new(400, r#"Input required: specify "prompt" or "messages""#).metadata(no_provider())
    }

    pub(crate) fn no_model() -> Self {
        Self::new(400, "No models provided")
    }

    pub(crate) fn unknown_model(slug: &str) -> Self {
        Self::new(400, format!("{slug} is not a valid model ID")).naming_user()
    }

    /// What was asked of the simulator itself cannot be done.
    pub(crate) fn bad_order(reason: &str) -> Self {
        Self::new(400, reason)
    }

    /// `context` and `input` are what the model holds and what it got; `output` is what was asked for.
    pub(crate) fn context_exceeded(context: u64, input: u64, output: u64) -> Self {
        let requested = input + output;
        let message = format!(
            "This endpoint's maximum context length is {context} tokens. However, you requested about {requested} \
             tokens ({input} of text input, {output} in the output). Please reduce the length of either one, or use \
             the context-compression plugin to compress your prompt automatically."
        );
        Self::new(400, message).metadata(no_provider().with("error_type", "context_length_exceeded"))
    }

    pub(crate) fn reasoning_mandatory() -> Self {
        Self::new(400, "Reasoning is mandatory for this endpoint and cannot be disabled.")
            .metadata(no_provider())
    }

    pub(crate) fn credits(requested: u64, affordable: u64) -> Self {
        let message = format!(
            "This request requires more credits, or fewer max_tokens. You requested up to {requested} tokens, but can \
             only afford {affordable}. To increase, visit https://openrouter.ai/settings/credits and upgrade to a paid \
             account"
        );
        let metadata = no_provider()
            .with("limit_source", "openrouter_credits")
            .with("remedy_hint", "Add credits or lower max_tokens.");
        Self::new(402, message).metadata(metadata)
    }

    pub(crate) fn in_flight() -> Self {
        let metadata = Object::new()
            .with("reason", "in_flight_budget_exhausted")
            .with("limit_source", "openrouter_in_flight_budget")
            .with("remedy_hint", "Retry after in-flight requests settle, or add credits.");
        Self::new(
            402,
            "This request would exceed your available credits given your current in-flight requests. Retry after \
             in-flight requests settle, or add credits.",
        )
        .metadata(metadata)
        .header("retry-after", "1")
    }

    pub(crate) fn key_limit() -> Self {
        let hash = blake3::hash(USER_ID.as_bytes()).to_hex();
        let keys = "https://openrouter.ai/workspaces/default/keys";
        Self::new(403, format!("Key limit exceeded (daily limit). Manage it using {keys}/{hash}"))
    }

    pub(crate) fn moderation(prompt: &str, provider: &str, slug: &str) -> Self {
        let quoted: String = prompt.chars().take(100).collect();
        let metadata = Object::new()
            .with("reasons", &["violence"])
            .with("flagged_input", &quoted)
            .with("provider_name", provider)
            .with("model_slug", slug);
        Self::new(403, "Your input was flagged").metadata(metadata)
    }

    pub(crate) fn no_endpoints(slug: &str) -> Self {
        Self::new(404, format!("No endpoints found for {slug}."))
    }

    pub(crate) fn data_policy() -> Self {
        let step = |name: &str, count: u32| Object::new().with("step", name).with("endpoint_count", &count);
        let metadata = Object::new()
            .list("routing_funnel", [step("all", 3), step("data_policy", 0)])
            .with("failed_routing_step", "data_policy");
        Self::new(
            404,
            "No endpoints found matching your data policy (Free model training). Configure: \
             https://openrouter.ai/settings/privacy",
        )
        .metadata(metadata)
    }

    /// `modality` is the catalogue's word for what the model does not read.
    pub(crate) fn no_modality(modality: &str) -> Self {
        Self::new(404, format!("No endpoints found that support {modality} input"))
    }

    pub(crate) fn no_provider_allowed() -> Self {
        Self::new(404, "No allowed providers are available for the selected model.")
    }

    pub(crate) fn all_ignored() -> Self {
        Self::new(
            404,
            "All providers have been ignored. To change your default ignored providers, visit: \
             https://openrouter.ai/settings/preferences",
        )
    }

    pub(crate) fn too_dear() -> Self {
        Self::new(404, "No models match your request and model restrictions")
    }

    pub(crate) fn not_found() -> Self {
        Self::new(404, "Not Found")
    }

    pub(crate) fn model_not_found() -> Self {
        Self::new(404, "Model not found")
    }

    pub(crate) fn generation_not_found(id: &str) -> Self {
        Self::new(404, format!("Generation {id} not found"))
    }

    pub(crate) fn timed_out() -> Self {
        Self::new(408, "Operation timed out. Please try again later.")
    }

    pub(crate) fn too_large() -> Self {
        Self::new(413, "Request payload too large")
    }

    pub(crate) fn invalid() -> Self {
        Self::new(422, "Invalid argument")
    }

    /// The captured 429 from upstream, without the hints of when to come back.
    pub(crate) fn rate_upstream(slug: &str, hint: RateHint) -> Self {
        let raw = format!(
            "{slug} is temporarily rate-limited upstream. Please retry shortly, or add your own key to accumulate your \
             rate limits: https://openrouter.ai/settings/integrations"
        );
        let metadata = Object::new()
            .with("raw", &raw)
            .with("provider_name", "Google AI Studio")
            .with("is_byok", &false)
            .with("provider_error_code", "429")
            .with("limit_source", "upstream_provider_shared_pool")
            .with("remedy_hint", RATE_REMEDY);
        let metadata = match hint {
            RateHint::None => metadata,
            RateHint::InBody { seconds } => metadata
                .with("retry_after_seconds", &seconds)
                .with("retry_after_seconds_raw", &seconds)
                .nest("headers", Object::new().with("Retry-After", &seconds.to_string())),
        };
        Self::new(429, "Provider returned error").metadata(metadata).naming_user()
    }

    /// `reset_unix_ms` is when requests are free again.
    pub(crate) fn rate_free(period: FreePeriod, limit: u32, reset_unix_ms: u64) -> Self {
        let message = match period {
            FreePeriod::Day => {
                "Rate limit exceeded: free-models-per-day. Add 10 credits to unlock 1000 free model requests per day"
            }
            FreePeriod::Minute => "Rate limit exceeded: free-models-per-min.",
        };
        let (limit, reset) = (limit.to_string(), reset_unix_ms.to_string());
        let headers = Object::new()
            .with("X-RateLimit-Limit", &limit)
            .with("X-RateLimit-Remaining", "0")
            .with("X-RateLimit-Reset", &reset);
        Self::new(429, message)
            .metadata(Object::new().nest("headers", headers))
            .naming_user()
            .header("x-ratelimit-limit", limit)
            .header("x-ratelimit-remaining", "0")
            .header("x-ratelimit-reset", reset)
    }

    pub(crate) fn server_error() -> Self {
        Self::new(500, "Internal Server Error")
    }

    pub(crate) fn bad_gateway() -> Self {
        let metadata = Object::new()
            .with("raw", r#"{"error":"upstream exploded"}"#)
            .with("provider_name", "Sim")
            .with("error_type", "provider_unavailable");
        Self::new(502, "Provider returned error").metadata(metadata)
    }

    pub(crate) fn unavailable() -> Self {
        Self::new(503, "Service temporarily unavailable")
    }

    pub(crate) fn overloaded() -> Self {
        Self::new(529, "Provider returned error")
    }

    /// What a provider might do that quotes what it was sent.
    pub(crate) fn key_echo(authorization: &str) -> Self {
        Self::new(400, format!("Malformed request: unexpected header value `{authorization}`"))
    }
}

/// Whether the body of a 429 says when to come back.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RateHint {
    None,
    InBody { seconds: u64 },
}

/// Which of the limits on free models was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FreePeriod {
    Minute,
    Day,
}

/// Metadata of an error that no provider caused.
fn no_provider() -> Object {
    Object::new().with("provider_name", &None::<&str>)
}
