//! The one closed list of error codes: what each means and what to do next.
//!
//! A code is the same over the command line, MCP and HTTP, and never changes its meaning. `explain CODE` prints
//! its page from this table; nothing else in the program decides by an error's text.

use serde::{Deserialize, Serialize};

macro_rules! codes {
    ($( $(#[$doc:meta])* $variant:ident = $text:literal, retryable: $retryable:literal, $about:literal, next: $next:literal; )*) => {
        /// A stable name for one kind of error.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Code {
            $( #[doc = $about] #[serde(rename = $text)] $variant, )*
        }

        impl Code {
            /// Every code, in the order of their pages.
            pub const ALL: &[Self] = &[$( Self::$variant, )*];

            /// The stable text of the code, such as `rate_limited`.
            pub const fn as_str(self) -> &'static str {
                match self { $( Self::$variant => $text, )* }
            }

            /// Whether the same request may succeed later, unchanged.
            pub const fn retryable(self) -> bool {
                match self { $( Self::$variant => $retryable, )* }
            }

            /// What the code means, in one or two sentences.
            pub const fn about(self) -> &'static str {
                match self { $( Self::$variant => $about, )* }
            }

            /// What to do next.
            pub const fn next(self) -> &'static str {
                match self { $( Self::$variant => $next, )* }
            }
        }
    };
}

codes! {
    PromptEmpty = "prompt_empty", retryable: false,
        "The prompt holds nothing but white space.",
        next: "give a prompt as an argument, on stdin or as `@file`";
    PromptTooLong = "prompt_too_long", retryable: false,
        "The prompt has more characters than `prompt_chars_max` allows, attachments included.",
        next: "shorten the prompt, or raise the setting `prompt_chars_max` (at most 16777216)";
    PromptNotUtf8 = "prompt_not_utf8", retryable: false,
        "The prompt is not valid UTF-8. The message gives the offset of the first bad byte.",
        next: "convert the input to UTF-8 and send it again";
    Usage = "usage", retryable: false,
        "An argument is missing, unknown or has a value that cannot be used.",
        next: "see `parallel-llm-mcp help`";
    SettingsInvalid = "settings_invalid", retryable: false,
        "A settings file or an environment variable holds a value that cannot be used.",
        next: "correct the value at the place the message names";
    KeyMissing = "key_missing", retryable: false,
        "No API key is set for a provider of the panel, or it is blank.",
        next: "set `OPENROUTER_API_KEY`, or keep it with `keys set openrouter`, or try `parallel-llm-mcp demo`, which needs no key";
    InsecureUrl = "insecure_url", retryable: false,
        "A base URL uses plain http to a host that is not this machine, which would show the key to the network.",
        next: "use https, or http only for 127.0.0.1, [::1] or localhost";
    AttachmentInvalid = "attachment_invalid", retryable: false,
        "An attached file cannot be read, is too large, or is neither text, a picture nor a PDF document.",
        next: "attach text, PNG, JPEG, GIF, WebP or PDF, within `attachment_bytes_max`";
    AttachmentUnsupported = "attachment_unsupported", retryable: false,
        "The model, or its provider's protocol, does not take files of this kind. Nothing was sent to it.",
        next: "ask a model that takes such files (`models --attachments`), or leave the file out";
    PanelSize = "panel_size", retryable: false,
        "A panel has between 1 and 64 seats.",
        next: "name between 1 and 64 models";
    ModelInvalid = "model_invalid", retryable: false,
        "A model reference cannot be read. It is written `[provider:]model[*N][@key=value,...]`.",
        next: "write it as `vendor/model`, for example `~openai/gpt-sol-latest`";
    ModelUnknown = "model_unknown", retryable: false,
        "The provider does not know the model, or no longer offers it.",
        next: "see `models` (over MCP `list_models`) for current names";
    OutputUnwritable = "output_unwritable", retryable: false,
        "The data folder, the output folder, a file that was named or stdout cannot be written. Before a run, nothing was sent and nothing was paid; what a run came to is kept.",
        next: "choose another folder with `--output-dir` or `PARALLEL_LLM_DATA_DIR`, or mend its permissions";
    Storage = "storage", retryable: true,
        "The run database could not be opened, read or written.",
        next: "check free space and permissions of the data folder";
    Damaged = "damaged", retryable: false,
        "Something in the run database is not what was written: it does not match its checksum. It is not shown, and nothing is made of it; the rest of the run is.",
        next: "see how much is damaged with `doctor --deep`, and restore the database from a backup";
    Spilled = "spilled", retryable: false,
        "A part of the run could not be written to the run database and was kept in a file of its own. It is as durable there, and is taken in as soon as the database can be written.",
        next: "nothing is lost: free the database or its disk; `doctor` shows what still waits";
    RunNotFound = "run_not_found", retryable: false,
        "No run has this id in this data folder.",
        next: "see `runs list`";
    Budget = "budget", retryable: false,
        "The worst case of the run costs more than its budget, or the budget is used up.",
        next: "raise `--budget`, lower `--max-tokens`, or ask fewer models";
    Auth = "auth", retryable: false,
        "The provider refused the API key.",
        next: "check that the key is current and belongs to this provider";
    Credits = "credits", retryable: false,
        "The account at the provider has too little credit for this request.",
        next: "add credit at the provider, or lower `--max-tokens`";
    CreditsInFlight = "credits_in_flight", retryable: true,
        "Credit is held by requests that are still running.",
        next: "wait for the running requests to end, or add credit";
    KeyLimit = "key_limit", retryable: false,
        "The spending limit set on the API key is reached.",
        next: "raise the key's limit at the provider, or wait until it resets";
    Forbidden = "forbidden", retryable: false,
        "The provider's policy or the account's settings do not allow this request.",
        next: "look at the provider's account settings";
    Refused = "refused", retryable: false,
        "The model or its moderation declined to answer.",
        next: "rephrase the question, or ask another model";
    Moderated = "moderated", retryable: false,
        "A filter of the provider stopped the question or the answer, before or instead of the model.",
        next: "rephrase the question, or ask a model of another provider";
    ContextLength = "context_length", retryable: false,
        "The prompt is longer than the model can read.",
        next: "shorten the prompt, or choose a model with a larger context";
    TooLarge = "too_large", retryable: false,
        "The provider refused the request for its size.",
        next: "shorten the prompt";
    BadRequest = "bad_request", retryable: false,
        "The provider found the request invalid.",
        next: "read the provider's message; an option may not suit this model";
    RateLimited = "rate_limited", retryable: true,
        "The provider, or this program's server, asks for fewer requests.",
        next: "wait, as long as the message says where it says";
    Upstream = "upstream", retryable: true,
        "The provider answered with an error of its own.",
        next: "try again later, or ask another model";
    Connection = "connection", retryable: true,
        "The connection to the provider could not be made or broke.",
        next: "check the network and the base URL";
    Timeout = "timeout", retryable: true,
        "A timer ran out. The message names the timer, its limit and the setting that changes it.",
        next: "raise the setting named in the message";
    Protocol = "protocol", retryable: false,
        "The provider's reply could not be understood.",
        next: "check that the base URL is that of an OpenAI-compatible API";
    Redirect = "redirect", retryable: false,
        "The provider answered with a redirect. Redirects are never followed, because they would carry the key away.",
        next: "set the base URL to the address the provider really uses";
    Empty = "empty", retryable: true,
        "The model answered with nothing, or with white space only.",
        next: "ask again, or ask another model";
    ReasoningOnly = "reasoning_only", retryable: false,
        "The model spent its whole output on reasoning and wrote no answer.",
        next: "raise `--max-tokens`";
    Incomplete = "incomplete", retryable: false,
        "The answer stopped before its end. What had arrived is kept.",
        next: "ask again if the text so far is not enough";
    AnswerTooLarge = "answer_too_large", retryable: false,
        "The answer grew beyond what this program keeps of one answer.",
        next: "ask for a shorter answer, or lower `--max-tokens`";
    AllFailed = "all_failed", retryable: true,
        "No model of the panel gave an answer.",
        next: "read the reason of each model below";
    NoMajority = "no_majority", retryable: false,
        "Too few answers of a vote agree for one of them to win it. The text is the answer closest to the others.",
        next: "lower `min_share`, ask more models with `runs add`, or have the answers fused with `runs replay`";
    CircuitOpen = "circuit_open", retryable: true,
        "The model has failed so often that it is not asked for a while.",
        next: "wait until it is asked again, or ask another model";
    CheckFailed = "check_failed", retryable: false,
        "No answer passes the check command. The best one is given all the same, and is told as one that does not pass.",
        next: "find out what the answers lack before you use one, or ask in other words";
    CheckUnavailable = "check_unavailable", retryable: false,
        "There is no check command, or it could not be run.",
        next: "set `check_command`, or name one with `--check`, and try it by hand";
    Unneeded = "unneeded", retryable: false,
        "The seat was not asked, because those asked before it were enough.",
        next: "nothing is missing; its answer was not needed";
    Repeated = "repeated", retryable: false,
        "The same question is being answered already, or was under the same idempotency key. The message names its run.",
        next: "see that run with `runs wait` or `runs show`";
    IdempotencyConflict = "idempotency_conflict", retryable: false,
        "Another question was asked under the same idempotency key.",
        next: "give each question a key of its own";
    Cancelled = "cancelled", retryable: true,
        "The run was cancelled. Answers that had arrived are kept.",
        next: "see `runs show` for what had arrived";
    Interrupted = "interrupted", retryable: true,
        "The process that did the run ended before the run did. Answers that had arrived are kept.",
        next: "go on with `runs resume`; with `--resend` it also asks again what may have been paid already";
    Busy = "busy", retryable: true,
        "The program does as many runs as it may, or the run is under way already, here or in another process.",
        next: "try again when a run has ended";
    TokenRefused = "token_refused", retryable: false,
        "A request to this program's server came without a token, or with one that is unknown, revoked or over.",
        next: "make a token with `parallel-llm-mcp keys create NAME` and send it as `Authorization: Bearer ...`";
    ScopeMissing = "scope_missing", retryable: false,
        "The token does not allow what was asked of the server.",
        next: "make a token with the scope that the message names, with `keys create NAME --scope ...`";
    HostRefused = "host_refused", retryable: false,
        "A request to this program's server names a host that is not its own, or comes from a page of another origin.",
        next: "call the server by the address it tells at its start, or add the name to `http_hosts`, the origin to `http_origins`";
    SuspectedInjection = "suspected_injection", retryable: false,
        "An answer may have tried to instruct whoever read it. It was not left out for that.",
        next: "read that answer before you rely on the result";
    LinkUnknown = "link_unknown", retryable: false,
        "The text has a link to a host that stands in no answer, or in one alone, and not in the question.",
        next: "do not open the link unless you know the host";
    HiddenText = "hidden_text", retryable: false,
        "The text holds characters that nobody sees. They are kept, and may say something to a program or a model that reads it.",
        next: "take them out before you hand the text on";
    Internal = "internal", retryable: false,
        "A defect in this program. Only the part it happened in is lost.",
        next: "report it with the message";
}

impl Code {
    /// Finds a code by its text.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.as_str() == text)
    }

    /// Whether every other call with the same key would fail the same way, so that retrying is pointless.
    pub const fn stops_key(self) -> bool {
        matches!(self, Self::Auth | Self::Credits | Self::KeyLimit | Self::KeyMissing)
    }
}

impl std::fmt::Display for Code {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_page() {
        for code in Code::ALL {
            assert_eq!(Code::parse(code.as_str()), Some(*code));
            assert_eq!(serde_json::to_value(code).unwrap(), code.as_str());
            assert!(code.about().ends_with('.'), "{code} is told in sentences");
            assert!(!code.next().is_empty() && !code.next().ends_with('.'), "{code} says what to do next");
        }
    }
}
