//! The errors of the library. Each keeps its code, what to do next, and its causes as [`source`](std::error::Error::source):
//! their messages, down to that of the system's error where one is behind.

use std::fmt;

use parallel_llm_engine::value::next;
use parallel_llm_engine::{Code, Failure};

use crate::reply::ChatReply;
use crate::report::Report;
use crate::vocabulary::LIBRARY;

/// Why something could not be done.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A field of a builder has a value that cannot be used.
    #[error("the builder cannot use its `{field}`")]
    Field {
        /// The field: a method of the builder, or a provider as `provider NAME`.
        field: String,
        /// Why.
        source: Cause,
    },
    /// The panel refused what it was asked to do. Nothing was paid.
    #[error("the panel refused")]
    Refused(#[source] Cause),
    /// The run ended without an answer. Its report holds what each seat came to.
    #[error("no answer came: {}", why(.0))]
    Unanswered(Box<Report>),
    /// A call of a [`Client`](crate::Client) brought nothing.
    #[error("the call failed")]
    Call(#[source] Cause),
    /// A call of a [`Client`](crate::Client) brought no whole answer. What has come may be paid for.
    #[error("the reply is no whole answer")]
    Cut {
        /// The text so far, empty from a [`ChatStream`](crate::client::ChatStream), which has handed it out; and what the
        /// provider reported with it.
        reply: Box<ChatReply>,
        /// Why there is no more.
        source: Cause,
    },
    /// A server could not begin.
    #[error("the server did not begin")]
    Server(#[source] Cause),
    /// There is no transport of this name.
    #[error("there is no transport `{0}`; there are `stdio` and `http`")]
    Transport(String),
    /// A blocking call inside an async runtime, whose threads must not block. It is refused on threads of `spawn_blocking`, too,
    /// because those cannot be told apart; only [`Parallel::map_blocking`](crate::parallel::Parallel::map_blocking) knows that
    /// its threads may block.
    #[error(
        "a blocking call inside an async runtime would stop its other tasks: await the async method instead"
    )]
    InsideRuntime,
    /// The panel or the client is closed.
    #[error("it is closed; build another one")]
    Closed,
}

fn why(report: &Report) -> &str {
    report.error.as_ref().map_or("the run has not ended", |error| &error.message)
}

impl Error {
    /// The error of a builder's field.
    pub(crate) fn field(field: impl Into<String>, failure: &Failure) -> Self {
        Self::Field { field: field.into(), source: Cause::of(failure) }
    }

    /// The stable code, to branch on.
    pub fn code(&self) -> Code {
        match self {
            Self::Field { source: cause, .. }
            | Self::Cut { source: cause, .. }
            | Self::Refused(cause)
            | Self::Call(cause)
            | Self::Server(cause) => cause.code,
            Self::Unanswered(report) => {
                let code = report.error.as_ref().and_then(|error| Code::parse(&error.code));
                code.unwrap_or(Code::AllFailed)
            }
            Self::Transport(_) | Self::InsideRuntime | Self::Closed => Code::Usage,
        }
    }

    /// What to do next, as an imperative without a period.
    pub fn next_step(&self) -> String {
        match self {
            Self::Field { source: cause, .. }
            | Self::Cut { source: cause, .. }
            | Self::Refused(cause)
            | Self::Call(cause)
            | Self::Server(cause) => cause.next_step.clone(),
            Self::Unanswered(report) => {
                report.error.as_ref().map_or_else(String::new, |error| error.next.clone())
            }
            Self::Transport(_) => "choose one of: stdio, http".to_owned(),
            Self::InsideRuntime => {
                "await the async method, over many items in `Parallel::map`, or call from a thread of its own"
                    .to_owned()
            }
            Self::Closed => "build another one".to_owned(),
        }
    }

    /// Whether the same call may succeed later.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Field { .. } | Self::Transport(_) | Self::InsideRuntime | Self::Closed => false,
            Self::Cut { source: cause, .. }
            | Self::Refused(cause)
            | Self::Call(cause)
            | Self::Server(cause) => cause.is_retryable,
            Self::Unanswered(report) => report.error.as_ref().is_some_and(|error| error.retryable),
        }
    }

    /// What has come of a reply that was cut.
    pub fn reply(&self) -> Option<&ChatReply> {
        match self {
            Self::Cut { reply, .. } => Some(reply),
            _ => None,
        }
    }

    /// The report of the run that gave no answer.
    pub fn report(&self) -> Option<&Report> {
        match self {
            Self::Unanswered(report) => Some(report),
            _ => None,
        }
    }
}

/// A failure as the cause of an error, with the causes behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    code: Code,
    message: String,
    next_step: String,
    is_retryable: bool,
    behind: Option<Box<Self>>,
}

impl Cause {
    pub(crate) fn of(failure: &Failure) -> Self {
        // The innermost cause is made first.
        let one = |message: &str, behind: Option<Box<Self>>| Self {
            code: failure.code,
            message: message.to_owned(),
            next_step: next::render(failure.next_steps(), &LIBRARY),
            is_retryable: failure.retryable,
            behind,
        };
        let behind =
            failure.causes().iter().rev().fold(None, |behind, cause| Some(Box::new(one(cause, behind))));
        one(&failure.message, behind)
    }

    /// The stable code.
    pub const fn code(&self) -> Code {
        self.code
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.message)
    }
}

impl std::error::Error for Cause {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.behind.as_deref().map(|behind| behind as _)
    }
}
