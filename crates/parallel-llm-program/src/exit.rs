//! The exit codes for scripts, in one table from error codes that the compiler keeps total.

use parallel_llm_engine::Code;

use parallel_llm_settings::signals::Signal;

/// There is an answer.
pub const ANSWER: u8 = 0;
/// The run gave no answer.
pub const FAILED: u8 = 1;
/// The call or a setting is invalid.
pub const USAGE: u8 = 2;
/// There is an answer, but less than `--strict` requires; or only some of several items were done.
pub const PARTIAL: u8 = 3;
/// A missing or refused key or token, or no credit.
pub const AUTH: u8 = 4;
/// The run exceeds its budget.
pub const BUDGET: u8 = 5;
/// A timer ran out.
pub const TIMEOUT: u8 = 6;
/// The data or output folder is unusable, or stdout or a named file cannot be written.
pub const STORAGE: u8 = 7;
/// A defect in this program.
pub const INTERNAL: u8 = 70;
/// Stopped by the end of the terminal; answers so far are saved.
pub const HUNG_UP: u8 = 129;
/// Stopped by Ctrl-C; answers so far are saved.
pub const INTERRUPTED: u8 = 130;
/// Stopped by SIGTERM; answers so far are saved.
pub const TERMINATED: u8 = 143;

/// Every exit code with its meaning, for the generated reference.
pub const ALL: &[(u8, &str)] = &[
    (ANSWER, "there is an answer"),
    (
        FAILED,
        "the run gave no answer, or `doctor` found a problem that prevents runs, with `--strict` any problem",
    ),
    (USAGE, "the call or a setting cannot be used, or `models --check` found a dead model"),
    (
        PARTIAL,
        "with `--strict`: a seat without a whole answer, or answers that were not fused, counted or chosen as asked, because no model could fuse, a vote has no winner, only one of several seats answered in time, or no answer passes the check; some of several runs were not purged or exported; `store check` could not read everything",
    ),
    (AUTH, "no key or token, a refused one, or no credit"),
    (BUDGET, "the run may cost more than its budget"),
    (TIMEOUT, "a timer ran out"),
    (
        STORAGE,
        "the data or output folder cannot be used, or an answer cannot be written to its file; or `store check` found damage",
    ),
    (INTERNAL, "a defect in this program"),
    (HUNG_UP, "stopped by SIGHUP, because the terminal was closed; answers so far are saved"),
    (INTERRUPTED, "stopped by Ctrl-C; answers so far are saved"),
    (TERMINATED, "stopped by SIGTERM; answers so far are saved"),
];

/// Whether the process was stopped by a signal.
pub const fn is_of_signal(code: u8) -> bool {
    matches!(code, INTERRUPTED | TERMINATED | HUNG_UP)
}

/// The exit code of a process ended by a signal.
pub const fn of_signal(signal: Signal) -> u8 {
    match signal {
        Signal::Interrupt => INTERRUPTED,
        Signal::Terminate => TERMINATED,
        Signal::HangUp => HUNG_UP,
    }
}

/// The exit code of a run that ended with this code and without an answer. If providers rejected every request, the run
/// failed: the call itself was valid, or there would be no run.
pub const fn of_run(code: Code) -> u8 {
    match of(code) {
        USAGE => FAILED,
        exit => exit,
    }
}

/// The exit code of a failure.
pub const fn of(code: Code) -> u8 {
    match code {
        Code::PromptEmpty
        | Code::PromptTooLong
        | Code::PromptNotUtf8
        | Code::Usage
        | Code::SettingsInvalid
        | Code::InsecureUrl
        | Code::HostRefused
        | Code::CheckUnavailable
        | Code::PanelSize
        | Code::ModelInvalid
        | Code::ModelUnknown
        | Code::AttachmentInvalid
        | Code::AttachmentUnsupported
        | Code::RunNotFound
        | Code::IdempotencyConflict
        | Code::Recursion => USAGE,
        Code::KeyMissing
        | Code::Auth
        | Code::Credits
        | Code::CreditsInFlight
        | Code::KeyLimit
        | Code::TokenRefused
        | Code::ScopeMissing => AUTH,
        Code::Budget | Code::PriceUnknown => BUDGET,
        Code::Timeout => TIMEOUT,
        Code::OutputUnwritable | Code::Storage | Code::Damaged | Code::Spilled => STORAGE,
        Code::Internal => INTERNAL,
        Code::Cancelled => INTERRUPTED,
        Code::Forbidden
        | Code::Refused
        | Code::Moderated
        | Code::ContextLength
        | Code::TooLarge
        | Code::BadRequest
        | Code::RateLimited
        | Code::NoMajority
        | Code::SynthesisUnusable
        | Code::CircuitOpen
        | Code::CheckFailed
        | Code::Repeated
        | Code::Unneeded
        | Code::SuspectedInjection
        | Code::LinkUnknown
        | Code::HiddenText
        | Code::Upstream
        | Code::Connection
        | Code::Protocol
        | Code::Redirect
        | Code::Empty
        | Code::ReasoningOnly
        | Code::Incomplete
        | Code::AnswerTooLarge
        | Code::AllFailed
        | Code::Interrupted
        | Code::Busy => FAILED,
    }
}
