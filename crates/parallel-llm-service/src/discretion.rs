//! What others than the owner are told of a failure: what became of what they asked for, and a next step that they can
//! take.
//!
//! What always holds: a failure whose words may name the owner's files or programs is told in the words of the table
//! here, and in its own in the log alone; no next step tells somebody else to do what only the owner can. The code
//! decides, so every code has its row.

use std::borrow::Cow;

use parallel_llm_engine::value::warning::Warning;
use parallel_llm_engine::{Code, Event, Failure, Recorded, RunPlan};

use super::Principal;
use crate::render::report::{ErrorReport, Report};

/// How a failure of some code is told to others.
enum Telling {
    /// As it is.
    AsItIs,
    /// With this in place of the code's own next step; one that is more than that stays.
    OwnStep(&'static str),
    /// With this as the next step, whatever it was.
    Step(&'static str),
    /// In these words, with this next step.
    Words(&'static str, &'static str),
}

/// The next step where only the owner can take one.
const ASK_THE_OWNER: &str = "ask the owner of this server, whose log says why";

/// What next steps say to the owner, and what to others. A phrase stands before those that are in what it becomes.
const PHRASES: &[(&str, &str)] = &[
    ("raise the setting", "ask the owner of this server for a higher setting"),
    ("or the setting", "or ask the owner of this server for a higher setting"),
    ("have the owner ", "ask the owner of this server to "),
];

const fn telling(code: Code) -> Telling {
    use Telling::{AsItIs, OwnStep, Step, Words};
    match code {
        Code::Storage => Words("the run database of this server has trouble", ASK_THE_OWNER),
        Code::Damaged => Step(ASK_THE_OWNER),
        Code::Spilled => Words(
            "a part of the run waits to be written to the run database of this server",
            "nothing is lost: go on as usual",
        ),
        Code::OutputUnwritable => Words("this server cannot write what it has to", ASK_THE_OWNER),
        Code::SettingsInvalid | Code::InsecureUrl => {
            Words("a setting of this server cannot be used, or does not fit", ASK_THE_OWNER)
        }
        Code::KeyMissing => Words("this server has no key for a provider", ASK_THE_OWNER),
        // Its own words name a command of the owner's, which is run for nobody else.
        Code::CheckUnavailable => {
            Words("answers are not checked for you", "name another strategy, such as `best-of-n`")
        }
        Code::Internal => Words("a defect of this server ended it", ASK_THE_OWNER),
        // Its own words quote those of the seats.
        Code::AllFailed => Words("no model answered", Code::AllFailed.next()),
        Code::Auth | Code::Forbidden | Code::Protocol | Code::Redirect => {
            Step("ask another model, or ask the owner of this server to see to the provider")
        }
        Code::Credits | Code::CreditsInFlight | Code::KeyLimit => {
            Step("ask a model of another provider, or ask the owner of this server to see to the credit")
        }
        Code::Connection => Step("try again later, or ask a model of another provider"),
        Code::PromptTooLong => Step("shorten the prompt"),
        Code::Budget => OwnStep("ask fewer or cheaper models, or lower `--max-tokens`"),
        Code::TokenRefused => {
            OwnStep("ask the owner of this server for a token, and send it as `Authorization: Bearer ...`")
        }
        Code::ScopeMissing => {
            OwnStep("ask the owner of this server for a token with the scope that the message names")
        }
        Code::PromptEmpty
        | Code::PromptNotUtf8
        | Code::Usage
        | Code::AttachmentInvalid
        | Code::AttachmentUnsupported
        | Code::PanelSize
        | Code::ModelInvalid
        | Code::ModelUnknown
        | Code::RunNotFound
        | Code::Refused
        | Code::Moderated
        | Code::ContextLength
        | Code::TooLarge
        | Code::BadRequest
        | Code::RateLimited
        | Code::Upstream
        | Code::Timeout
        | Code::Empty
        | Code::ReasoningOnly
        | Code::Incomplete
        | Code::AnswerTooLarge
        | Code::NoMajority
        | Code::CircuitOpen
        | Code::CheckFailed
        | Code::Repeated
        | Code::Unneeded
        | Code::SuspectedInjection
        | Code::LinkUnknown
        | Code::HiddenText
        | Code::IdempotencyConflict
        | Code::Cancelled
        | Code::Interrupted
        | Code::Busy
        | Code::HostRefused => AsItIs,
    }
}

/// A failure as it is told to others. Where that takes its words away, they are in the log.
pub fn discreet(mut failure: Failure) -> Failure {
    if matches!(telling(failure.code), Telling::Words(..)) {
        tracing::warn!("told in other words to whoever asked: {}", failure.message);
    }
    soften(&mut failure);
    failure
}

fn soften(failure: &mut Failure) {
    // They tell of the owner's network and disks.
    failure.causes = None;
    let mut next = failure.next_step().to_owned();
    tell(failure.code, &mut failure.message, &mut next);
    failure.next = Some(next);
}

fn soften_warning(warning: &mut Warning) {
    tell(warning.code, &mut warning.message, &mut warning.next);
}

fn soften_report(error: &mut ErrorReport) {
    // A report's codes are ours. What is none would be told as what says least.
    let code = Code::parse(&error.code).unwrap_or(Code::Internal);
    tell(code, &mut error.message, &mut error.next);
    error.causes.clear();
}

fn tell(code: Code, message: &mut String, next: &mut String) {
    match telling(code) {
        Telling::OwnStep(step) if next == code.next() => step.clone_into(next),
        Telling::AsItIs | Telling::OwnStep(_) => {
            for (theirs, others) in PHRASES {
                *next = next.replace(theirs, others);
            }
        }
        Telling::Step(step) => step.clone_into(next),
        Telling::Words(words, step) => {
            words.clone_into(message);
            step.clone_into(next);
        }
    }
}

impl Principal {
    /// A failure as this principal is told of it.
    #[must_use]
    pub fn told(&self, failure: Failure) -> Failure {
        if *self == Self::Owner { failure } else { discreet(failure) }
    }

    /// A run's report as this principal is told it.
    #[must_use]
    pub fn told_report(&self, mut report: Report) -> Report {
        if *self == Self::Owner {
            return report;
        }
        let of_seats = report.answers.iter_mut().filter_map(|seat| seat.error.as_mut());
        let of_calls = report.calls.iter_mut().filter_map(|call| call.error.as_mut());
        let of_places = of_seats.chain(of_calls);
        report.error.iter_mut().chain(&mut report.warnings).chain(of_places).for_each(soften_report);
        let Some(error) = &mut report.error else { return report };
        if error.code == Code::AllFailed.as_str() {
            let reasons = report.answers.iter().filter_map(|seat| Some((seat, seat.error.as_ref()?)));
            let reasons = reasons.map(|(seat, error)| format!("{}: {}", seat.model, error.message));
            error.message = format!("no model answered ({})", reasons.collect::<Vec<_>>().join("; "));
        }
        // Without an answer it is the message of the failure.
        if let Some(synthesis) = report.synthesis.as_mut().filter(|_| report.answer.is_none()) {
            synthesis.reason.clone_from(&error.message);
        }
        report
    }

    /// What was planned as this principal is told it. What a persona says is the owner's: others use it by its name. A model
    /// may repeat it to whoever asks for it.
    pub fn told_plan<'a>(&self, plan: &'a RunPlan) -> Cow<'a, RunPlan> {
        if *self == Self::Owner {
            return Cow::Borrowed(plan);
        }
        let mut plan = plan.without_briefs();
        plan.warnings.iter_mut().for_each(soften_warning);
        Cow::Owned(plan)
    }

    /// What happened in a run as this principal is told it.
    #[must_use]
    pub fn told_event(&self, mut recorded: Recorded) -> Recorded {
        if *self == Self::Owner {
            return recorded;
        }
        match &mut recorded.event {
            Event::Cut { failure, .. } | Event::Failed { failure, .. } => soften(failure),
            Event::Reopened { reopening, .. } => {
                reopening.seats.iter_mut().for_each(|seat| *seat = seat.without_text());
            }
            Event::Decided { outcome } => {
                outcome.failure.iter_mut().chain(&mut outcome.unfused).for_each(soften);
                outcome.warnings.iter_mut().for_each(soften_warning);
                if let Some(failure) = &outcome.failure {
                    outcome.reason.clone_from(&failure.message);
                }
            }
            _ => {}
        }
        recorded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What only the owner can do, in the words of next steps.
    const OWNERS: [&str; 8] = [
        "raise the",
        "set `",
        "keys set",
        "permissions",
        "data folder",
        "base URL",
        "add credit",
        "--output",
    ];

    #[test]
    fn no_next_step_of_a_code_is_the_owners_alone() {
        for code in Code::ALL.iter().copied().filter(|code| *code != Code::HostRefused) {
            let told = discreet(Failure::new(code, "what happened"));
            let next = told.next_step().replace("ask the owner of this server for a higher setting", "");
            assert!(!OWNERS.iter().any(|words| next.contains(words)), "{code}: {next}");
        }
    }

    #[test]
    fn a_step_that_others_can_take_stays_and_the_owners_is_asked_for() {
        for (code, next, expected) in [
            (Code::Usage, "make two calls of it", "make two calls of it"),
            (
                Code::Timeout,
                "raise the setting `call_timeout_ms` (now 5)",
                "ask the owner of this server for a higher setting `call_timeout_ms` (now 5)",
            ),
            (
                Code::Timeout,
                "raise `--deadline` or the setting `run_timeout_ms` (now 5)",
                "raise `--deadline` or ask the owner of this server for a higher setting `run_timeout_ms` (now 5)",
            ),
            (
                Code::Budget,
                "have the owner make a token with a higher limit of the day, or wait",
                "ask the owner of this server to make a token with a higher limit of the day, or wait",
            ),
            (Code::Storage, "end the process that holds `/home/x/runs.db.lock`", ASK_THE_OWNER),
            (Code::TokenRefused, "copy the token again", "copy the token again"),
        ] {
            let failure = Failure::new(code, "`/home/x`").with_next(next);
            assert_eq!(Principal::Owner.told(failure.clone()), failure);
            let told = discreet(failure);
            assert_eq!(told.next_step(), expected);
            assert_eq!(told.message == "`/home/x`", code != Code::Storage, "{}", told.message);
        }
    }
}
