//! The closed list of error codes: the meaning of each, its class and its next steps.
//!
//! A code is the same on the command line, over MCP and over HTTP, and never changes its meaning. `explain CODE` prints its
//! page from this table. No part of the program branches on the text of an error.

use std::borrow::Cow;

use crate::value::next::{Advice, Argument, Limit, MachineStep, Next, Operation};

use serde::{Deserialize, Serialize};

macro_rules! codes {
    ($( $(#[$doc:meta])* $variant:ident = $text:literal, $class:expr, $about:literal, next: [$($next:expr),+]; )*) => {
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

            /// What kind of error it is.
            pub const fn class(self) -> Class {
                match self { $( Self::$variant => $class, )* }
            }

            /// What the code means, in one or two sentences.
            pub const fn about(self) -> &'static str {
                match self { $( Self::$variant => $about, )* }
            }

            /// The steps to choose from.
            pub const fn next(self) -> &'static [Next] {
                match self { $( Self::$variant => const { &[$( $next ),+] }, )* }
            }
        }
    };
}

/// A kind of error, from which follow its exit code, its HTTP status, and whether to repeat the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The request cannot be used as it is.
    Request,
    /// The request is longer than allowed.
    TooLong,
    /// The request is well formed, but what it holds does not fit.
    Unfit,
    /// What the request names does not exist.
    NotFound,
    /// The request repeats another.
    Repeated,
    /// The request may cost more than its budget.
    Budget,
    /// The caller's own token is refused.
    Token,
    /// The caller may not do that.
    Permission,
    /// The owner's account at a provider does not allow it.
    Account,
    /// The same, for now.
    AccountBusy,
    /// A provider or a model declined, and would again; or something about its answers has to be told.
    Declined,
    /// A provider, or this program's server, asks for fewer requests.
    RateLimited,
    /// A provider failed.
    Upstream,
    /// What is needed is not to be had now.
    Unavailable,
    /// The request was cancelled.
    Cancelled,
    /// A timer ran out.
    Timeout,
    /// The run database fails.
    Store,
    /// What the owner's disk holds or should hold: a file that cannot be written, or is not what was written.
    Disk,
    /// The owner's settings cannot be used.
    Settings,
    /// The owner has no key for a provider.
    Key,
    /// A defect in this program.
    Defect,
}

impl Class {
    /// Whether the same request may succeed later, unchanged.
    pub const fn is_retryable(self) -> bool {
        matches!(
            self,
            Self::AccountBusy
                | Self::RateLimited
                | Self::Upstream
                | Self::Unavailable
                | Self::Cancelled
                | Self::Timeout
                | Self::Store
        )
    }
}

codes! {
    PromptEmpty = "prompt_empty", Class::Request,
        "The prompt holds nothing but white space.",
        next: [Next::Give(Argument::Prompt)];
    PromptTooLong = "prompt_too_long", Class::TooLong,
        "The prompt has more characters than `prompt_chars_max` allows, attachments included.",
        next: [Next::Do(Advice::ShortenPrompt), Next::raise_setting("prompt_chars_max")];
    PromptNotUtf8 = "prompt_not_utf8", Class::Request,
        "The prompt is not valid UTF-8. The message gives the offset of the first bad byte.",
        next: [Next::Do(Advice::ConvertToUtf8)];
    Usage = "usage", Class::Request,
        "An argument is missing, unknown or has a value that cannot be used.",
        next: [Next::Use(Operation::Help)];
    SettingsInvalid = "settings_invalid", Class::Settings,
        "A settings file or an environment variable holds a value that cannot be used.",
        next: [Next::Do(Advice::CorrectValue)];
    KeyMissing = "key_missing", Class::Key,
        "No API key is set for a provider of the panel, or it is blank.",
        next: [Next::Machine(MachineStep::SetVariable(Cow::Borrowed("OPENROUTER_API_KEY"))), Next::Machine(MachineStep::KeepKey(Cow::Borrowed("openrouter"))), Next::Use(Operation::Demo)];
    InsecureUrl = "insecure_url", Class::Settings,
        "A base URL uses plain http to a host that is not this machine, which would show the key to the network.",
        next: [Next::Do(Advice::UseHttps)];
    AttachmentInvalid = "attachment_invalid", Class::Unfit,
        "An attached file cannot be read, is too large, or is neither text, a picture nor a PDF document.",
        next: [Next::Do(Advice::AttachReadableKind)];
    SecretFound = "secret_found", Class::Unfit,
        "What would be sent seems to hold a key, a password or another secret. Nothing was sent.",
        next: [Next::Do(Advice::TakeSecretsOut)];
    AttachmentUnsupported = "attachment_unsupported", Class::Unfit,
        "The model, or its provider's protocol, does not take files of this kind. Nothing was sent to it.",
        next: [Next::Use(Operation::ListModelsTakingFiles), Next::Do(Advice::LeaveFileOut)];
    PanelSize = "panel_size", Class::Request,
        "A panel has between 1 and 64 seats.",
        next: [Next::Do(Advice::NamePanelOfItsSize)];
    ModelInvalid = "model_invalid", Class::Request,
        "A model reference cannot be read. It is written `[provider:]model[*N][@key=value,...]`.",
        next: [Next::Do(Advice::WriteModel)];
    ModelUnknown = "model_unknown", Class::NotFound,
        "The provider does not know the model or no longer offers it, or a short name fits more than one.",
        next: [Next::Use(Operation::ListModels)];
    OutputUnwritable = "output_unwritable", Class::Disk,
        "The data folder, the output folder, a file that was named or stdout cannot be written. Before a run, nothing was sent and nothing was paid; the result of a run is kept.",
        next: [Next::Give(Argument::OutputFolder), Next::Do(Advice::SetDataFolder), Next::Do(Advice::CorrectFolderPermissions)];
    Storage = "storage", Class::Store,
        "The run database could not be opened, read or written.",
        next: [Next::Do(Advice::CheckDataFolder)];
    Damaged = "damaged", Class::Disk,
        "Something in the run database is not what was written: it does not match its checksum. It is neither shown nor used; the rest of the run is.",
        next: [Next::Use(Operation::DoctorDeep), Next::Do(Advice::RestoreBackup)];
    Spilled = "spilled", Class::Disk,
        "A part of the run could not be written to the run database and was kept in a file of its own. It is as durable there, and is taken in as soon as the database can be written.",
        next: [Next::Do(Advice::FreeDatabase), Next::Use(Operation::Doctor)];
    RunNotFound = "run_not_found", Class::NotFound,
        "No run has this id in this data folder.",
        next: [Next::Use(Operation::FindRun)];
    PriceUnknown = "price_unknown", Class::Budget,
        "No price is known for a model of the question, so nobody can say what the run may cost, and a budget cannot hold. Its provider's list was asked, and OpenRouter's list was searched for the same model. No list tells what a web search (`:online`), a faster endpoint (`:nitro`, `:exacto`) or a service tier costs. Nothing was sent.",
        next: [Next::AllowAnyCost, Next::GivePrice(Cow::Borrowed("MODEL")), Next::Do(Advice::AskAnotherModel)];
    PricesOld = "prices_old", Class::Budget,
        "The prices that the run is counted with are not of today: the list of models could not be renewed. The provider may charge others.",
        next: [Next::Type(Cow::Borrowed("models --refresh"))];
    Budget = "budget", Class::Budget,
        "The worst case of the run costs more than its budget, or the budget is used up.",
        next: [Next::Raise(Limit::Budget), Next::Lower(Limit::OutputTokens), Next::Do(Advice::AskFewerModels)];
    Auth = "auth", Class::Account,
        "The provider refused the API key.",
        next: [Next::Do(Advice::CheckKey), Next::Do(Advice::AskAnotherModel)];
    Credits = "credits", Class::Account,
        "The account at the provider has too little credit for this request.",
        next: [Next::Do(Advice::AddCredit), Next::Lower(Limit::OutputTokens), Next::Do(Advice::AskAnotherProvider)];
    CreditsInFlight = "credits_in_flight", Class::AccountBusy,
        "Credit is held by requests that are still running.",
        next: [Next::Do(Advice::WaitForRequests), Next::Do(Advice::AddCredit)];
    KeyLimit = "key_limit", Class::Account,
        "The spending limit set on the API key is reached.",
        next: [Next::Do(Advice::RaiseKeyLimit), Next::Do(Advice::WaitForLimit), Next::Do(Advice::AskAnotherProvider)];
    Forbidden = "forbidden", Class::Declined,
        "The provider's policy or the account's settings do not allow this request.",
        next: [Next::Do(Advice::SeeAccount), Next::Do(Advice::AskAnotherModel)];
    Refused = "refused", Class::Declined,
        "The model or its moderation declined to answer.",
        next: [Next::Do(Advice::Rephrase), Next::Do(Advice::AskAnotherModel)];
    Moderated = "moderated", Class::Declined,
        "A filter of the provider stopped the question or the answer, before or instead of the model.",
        next: [Next::Do(Advice::Rephrase), Next::Do(Advice::AskAnotherProvider)];
    ContextLength = "context_length", Class::Declined,
        "The prompt is longer than the model can read.",
        next: [Next::Do(Advice::ShortenPrompt), Next::Do(Advice::AskLargerContext)];
    TooLarge = "too_large", Class::Declined,
        "The provider refused the request for its size.",
        next: [Next::Do(Advice::ShortenPrompt)];
    BadRequest = "bad_request", Class::Declined,
        "The provider found the request invalid.",
        next: [Next::Do(Advice::ReadProvidersMessage)];
    RateLimited = "rate_limited", Class::RateLimited,
        "The provider, or this program's server, asks for fewer requests.",
        next: [Next::Do(Advice::WaitAsAsked), Next::Do(Advice::AskAnotherModel)];
    Upstream = "upstream", Class::Upstream,
        "The provider answered with an error of its own.",
        next: [Next::Do(Advice::TryLater), Next::Do(Advice::AskAnotherModel)];
    Connection = "connection", Class::Upstream,
        "The connection to the provider could not be made or broke.",
        next: [Next::Do(Advice::CheckNetwork), Next::Do(Advice::TryLater)];
    Timeout = "timeout", Class::Timeout,
        "A timer ran out. The message names the timer, its limit and the setting that changes it.",
        next: [Next::Do(Advice::RaiseNamedSetting)];
    Protocol = "protocol", Class::Declined,
        "The provider's reply could not be understood.",
        next: [Next::Do(Advice::CheckApi), Next::Do(Advice::AskAnotherModel)];
    Redirect = "redirect", Class::Declined,
        "The provider answered with a redirect. Redirects are never followed, because they would carry the key away.",
        next: [Next::Do(Advice::UseRealAddress), Next::Do(Advice::AskAnotherModel)];
    Empty = "empty", Class::Upstream,
        "The model answered with nothing, or with white space only.",
        next: [Next::Do(Advice::AskAgain), Next::Do(Advice::AskAnotherModel)];
    ReasoningOnly = "reasoning_only", Class::Declined,
        "The model spent its whole output on reasoning and wrote no answer.",
        next: [Next::Raise(Limit::OutputTokens)];
    Incomplete = "incomplete", Class::Declined,
        "The answer stopped before its end. What had arrived is kept.",
        next: [Next::Do(Advice::AskAgainWhereTooLittle)];
    AnswerTooLarge = "answer_too_large", Class::Declined,
        "The answer grew beyond what this program keeps of one answer.",
        next: [Next::Do(Advice::AskForShorterAnswer), Next::Lower(Limit::OutputTokens)];
    AllFailed = "all_failed", Class::Upstream,
        "No model of the panel gave an answer.",
        next: [Next::Do(Advice::ReadReasons)];
    NoMajority = "no_majority", Class::Declined,
        "Too few answers of a vote agree for one of them to win it. The text is the answer closest to the others.",
        next: [Next::Do(Advice::LowerMinShare), Next::Use(Operation::AddModels), Next::Use(Operation::Replay)];
    SynthesisUnusable = "synthesis_unusable", Class::Declined,
        "What a model wrote from the answers is no answer: it only talks about them, repeats itself or the instructions, or has nothing to do with the question. It was paid for and is kept, but the next model wrote the text, or the best answer stands word for word.",
        next: [Next::Use(Operation::ShowRun), Next::Give(Argument::Synthesizer)];
    CircuitOpen = "circuit_open", Class::Unavailable,
        "The model has failed so often that it is not asked for a while.",
        next: [Next::Do(Advice::WaitForModel), Next::Do(Advice::AskAnotherModel)];
    CheckFailed = "check_failed", Class::Declined,
        "No answer passes the check command. The best one is returned anyway, marked as not passing.",
        next: [Next::Do(Advice::AskInOtherWords)];
    CheckUnavailable = "check_unavailable", Class::Request,
        "There is no check command, or it could not be run.",
        next: [Next::Set(Cow::Borrowed("check_command")), Next::Give(Argument::Check), Next::Do(Advice::NameAnotherStrategy)];
    Unneeded = "unneeded", Class::Declined,
        "The seat was not asked, because those asked before it were enough.",
        next: [Next::Do(Advice::NothingIsMissing)];
    Repeated = "repeated", Class::Repeated,
        "The same question is being answered already, or was under the same idempotency key. The message names its run.",
        next: [Next::Use(Operation::WaitForRun), Next::Use(Operation::ShowRun)];
    IdempotencyConflict = "idempotency_conflict", Class::Unfit,
        "Another question was asked under the same idempotency key.",
        next: [Next::Do(Advice::GiveEachQuestionItsKey)];
    Cancelled = "cancelled", Class::Cancelled,
        "The run was cancelled. Answers that had arrived are kept.",
        next: [Next::Use(Operation::ShowRun)];
    Interrupted = "interrupted", Class::Unavailable,
        "The process that did the run ended before the run did. Answers that had arrived are kept.",
        next: [Next::Use(Operation::Resume), Next::Use(Operation::Resend)];
    Busy = "busy", Class::Unavailable,
        "The program has as many runs in progress as it may, or the run is in progress already, here or in another process.",
        next: [Next::Do(Advice::WaitForRunToEnd)];
    TokenRefused = "token_refused", Class::Token,
        "A request to this program's server came without a token, or with one that is unknown, revoked or expired.",
        next: [Next::Use(Operation::CreateToken)];
    ScopeMissing = "scope_missing", Class::Permission,
        "The token does not allow what was asked of the server.",
        next: [Next::Use(Operation::WidenToken)];
    HostRefused = "host_refused", Class::Permission,
        "A request to this program's server names a host that is not its own, or comes from a page of another origin.",
        next: [Next::Do(Advice::CallByItsAddress), Next::Do(Advice::AllowHost)];
    Recursion = "recursion", Class::Request,
        "A question came back to the server that asked it, or passed through too many servers of this program. Nothing was asked.",
        next: [Next::Do(Advice::AskAnotherModel), Next::Do(Advice::BreakLoop)];
    SuspectedInjection = "suspected_injection", Class::Declined,
        "An answer may have tried to instruct its reader. It was not left out for that reason.",
        next: [Next::Do(Advice::ReadThatAnswer)];
    LinkUnknown = "link_unknown", Class::Declined,
        "The text has a link to a host that is in no answer or only in one, and not in the question.",
        next: [Next::Do(Advice::DoNotOpenLink)];
    HiddenText = "hidden_text", Class::Declined,
        "The text holds what a person does not see and a program or a model may act on: invisible characters, or parts that are not rendered. An answer that is handed on word for word loses it; a fused text keeps its characters.",
        next: [Next::Do(Advice::TakeHiddenTextOut)];
    Internal = "internal", Class::Defect,
        "A defect in this program. Only the part it happened in is lost.",
        next: [Next::Do(Advice::ReportMessage)];
}

impl Code {
    /// Finds a code by its text.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.as_str() == text)
    }

    /// Whether the same request may succeed later, unchanged.
    pub const fn retryable(self) -> bool {
        self.class().is_retryable()
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
            assert!(code.about().ends_with('.'), "{code} is described in sentences");
            assert!(!code.next().is_empty(), "{code} has a next step");
        }
    }
}
