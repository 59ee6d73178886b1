//! All simulated faults in one table.
//!
//! `dialect` holds the errors, `draft` the answers that break, and `off_protocol` the replies outside every API. A
//! fault has the same name in scripts, in `X-Sim-Scenario` and in the documentation.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

macro_rules! faults {
    ($($variant:ident $name:literal $meaning:literal,)+) => {
        /// One way to fail. `Display` writes its name; `FromStr` parses it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum Fault {
            $(#[doc = $meaning] #[serde(rename = $name)] $variant,)+
        }

        impl Fault {
            /// Every fault, in the order of the specification.
            pub const ALL: &[Fault] = &[$(Fault::$variant,)+];

            /// The name used in scripts and headers.
            pub fn name(self) -> &'static str {
                match self { $(Fault::$variant => $name,)+ }
            }
        }
    };
}

faults! {
    AuthMissing "auth_missing" "401 as if no key was sent.",
    AuthBad "auth_bad" "401 as if the key was unknown.",
    BadModel "bad_model" "400 as if the slug was unknown.",
    CtxOverflow "ctx_overflow" "400: the prompt is longer than the model's context.",
    ReasoningMandatory "reasoning_mandatory" "400: reasoning cannot be switched off.",
    Credits "credits" "402: the balance does not cover the tokens asked for.",
    InFlight "in_flight" "402 with `Retry-After: 1`: other calls in flight hold the budget.",
    KeyLimit "key_limit" "403: the key's daily limit is used up; the message holds the key's hash.",
    Moderation "moderation" "403: the input was flagged; the metadata quotes the prompt.",
    NoEndpoints "no_endpoints" "404: no provider serves this model any more.",
    DataPolicy "data_policy" "404: the account's privacy settings exclude every provider.",
    Timeout408 "timeout_408" "408: operation timed out.",
    TooLarge413 "too_large_413" "413: payload too large.",
    Invalid422 "invalid_422" "422: invalid argument.",
    RateUpstream "rate_upstream" "429 from upstream, with `Retry-After: 1` and the hint in the body.",
    RateUpstreamB "rate_upstream_b" "429 with the hint in the body only.",
    RateUpstreamC "rate_upstream_c" "429 without any hint.",
    RateUpstreamD "rate_upstream_d" "429 with an HTTP date in `Retry-After`.",
    RateUpstreamE "rate_upstream_e" "429 with `Retry-After: 3600`.",
    RateFreeDay "rate_free_day" "429: the free requests of the day are used up.",
    Server500 "server_500" "500: internal server error.",
    BadGateway "bad_gateway" "502: the provider returned an error.",
    Unavailable503 "unavailable_503" "503 with an HTTP date in `Retry-After`.",
    Overloaded529 "overloaded_529" "529: the provider is overloaded.",
    Cf524Html "cf_524_html" "524 with an HTML page.",
    OkErrorBody "ok_error_body" "200, padding while waiting, then a body that holds only an error.",
    OkFinishError "ok_finish_error" "200, partial content, `finish_reason` is `error`.",
    EmptyChoices "empty_choices" "200 with `choices: []`.",
    NullContent "null_content" "200 with `content: null`.",
    EmptyContent "empty_content" "200 with `content: \"\"` and `finish_reason: stop`.",
    ReasoningBurn "reasoning_burn" "200: all tokens went into reasoning; nothing is left for the answer.",
    TruncatedLength "truncated_length" "200: content, cut by `finish_reason: length`.",
    Refusal "refusal" "200: the model refuses, in `message.refusal`.",
    ContentFilter "content_filter" "200: `finish_reason` is `content_filter`.",
    SseErrorMid "sse_error_mid" "Some chunks, then an error chunk with code 429, then the end without `[DONE]`.",
    SseErrorFirst "sse_error_first" "Comments, then an error chunk as the first and only event.",
    SseErrorBare "sse_error_bare" "Some chunks, then an error event without `choices` whose code is a string.",
    SseCut "sse_cut" "Some chunks, then a clean end without finish reason and `[DONE]`.",
    SseReset "sse_reset" "Some chunks, then a TCP reset.",
    SseEofInChunk "sse_eof_in_chunk" "Some chunks, then the connection closes inside an HTTP chunk.",
    SseNoDone "sse_no_done" "The whole answer, but no `[DONE]`.",
    Stall "stall" "Some chunks, then silence with the socket open.",
    CommentsForever "comments_forever" "Keep-alive comments and never an event.",
    SlowDrip "slow_drip" "One token a second, without end.",
    BadJsonChunk "bad_json_chunk" "Some chunks, then an event whose JSON breaks off.",
    OddFraming "odd_framing" "Every legal oddity of SSE: BOM, CRLF, no space, several `data:` lines, other fields.",
    ByteSplit "byte_split" "The answer in HTTP chunks of one byte, with emoji and CJK text.",
    HugeLine "huge_line" "One `data:` line of 64 MiB.",
    Flood "flood" "Content without end, as fast as it is read.",
    Html200 "html_200" "200 with a login page.",
    Redirect307 "redirect_307" "307 to a second listener that records who follows.",
    AcceptNoReply "accept_no_reply" "The request is read and never answered.",
    AcceptAndClose "accept_and_close" "The request is read and the connection closed.",
    Zod400 "zod_400" "400 in the shape of the validation library.",
    KeyEcho "key_echo" "400 whose message holds the `Authorization` value.",
    UnknownFields "unknown_fields" "The answer with unknown fields and an unknown finish reason.",
}

/// The faults that some providers never show. All others apply everywhere, as the provider's nearest equivalent.
const EXCLUSIONS: &[(Fault, Who)] = &[
    // Only OpenRouter limits the credit in flight and the credit of a key.
    (Fault::InFlight, Who::Only(&["openrouter"])),
    (Fault::KeyLimit, Who::Only(&["openrouter"])),
    // Only OpenRouter routes to a provider.
    (Fault::NoEndpoints, Who::Only(&["openrouter"])),
    (Fault::DataPolicy, Who::Only(&["openrouter"])),
    // Only OpenRouter uses this validation library and sends its status before the answer is known.
    (Fault::Zod400, Who::Only(&["openrouter"])),
    (Fault::OkErrorBody, Who::Only(&["openrouter"])),
    // Providers with a daily limit on free requests.
    (Fault::RateFreeDay, Who::Only(&["openrouter", "gemini", "groq"])),
    // Providers with a finish reason for errors.
    (Fault::OkFinishError, Who::Only(&["openrouter", "gemini", "mistral", "vllm"])),
    // Local servers charge nothing and moderate nothing.
    (Fault::Credits, Who::AllBut(&["ollama", "lmstudio", "vllm"])),
    (Fault::Moderation, Who::AllBut(&["ollama", "lmstudio", "vllm"])),
];

/// Some dialects, by name.
#[derive(Clone, Copy, Debug)]
enum Who {
    Only(&'static [&'static str]),
    AllBut(&'static [&'static str]),
}

impl Fault {
    /// Whether this dialect (a name of `Simulator::dialects`) has this fault. A script that asks for it elsewhere gets
    /// a 400 with the reason.
    pub fn applies_to(self, dialect_name: &str) -> bool {
        let row = EXCLUSIONS.iter().find(|(fault, _)| *fault == self);
        row.is_none_or(|(_, who)| match who {
            Who::Only(names) => names.contains(&dialect_name),
            Who::AllBut(names) => !names.contains(&dialect_name),
        })
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// The name of no fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownFault(pub String);

impl fmt::Display for UnknownFault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "no fault is named `{}`", self.0.escape_debug())
    }
}

impl std::error::Error for UnknownFault {}

impl FromStr for Fault {
    type Err = UnknownFault;

    fn from_str(name: &str) -> Result<Self, UnknownFault> {
        let found = Self::ALL.iter().copied().find(|fault| fault.name() == name);
        found.ok_or_else(|| UnknownFault(name.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_reads_back() {
        for fault in Fault::ALL {
            assert_eq!(fault.to_string().parse(), Ok(*fault));
        }
        assert_eq!("stal".parse::<Fault>().unwrap_err().to_string(), "no fault is named `stal`");
    }
}
