//! The exit codes for scripts, in one table from classes of errors that the compiler keeps total.

use parallel_llm_engine::Code;
use parallel_llm_engine::value::code::Class;

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
    match code.class() {
        Class::Request | Class::TooLong | Class::Unfit | Class::NotFound | Class::Settings => USAGE,
        Class::Key | Class::Account | Class::AccountBusy | Class::Token | Class::Permission => AUTH,
        Class::Budget => BUDGET,
        Class::Timeout => TIMEOUT,
        Class::Store | Class::Disk => STORAGE,
        Class::Defect => INTERNAL,
        Class::Cancelled => INTERRUPTED,
        Class::Repeated | Class::Declined | Class::RateLimited | Class::Upstream | Class::Unavailable => {
            FAILED
        }
    }
}
