//! What others than the owner are told of a failure: what became of what they asked for, and a next step that they can
//! take.
//!
//! What always holds: a failure whose words may name the owner's files or programs is told in the words of the table
//! here, and in its own in the log alone; no next step tells somebody else to do what only the owner can. The code
//! decides, so every code has its row.

use std::borrow::Cow;

use parallel_llm_engine::value::next::{Advice, Next};
use parallel_llm_engine::value::warning::Warning;
use parallel_llm_engine::{Code, Event, Failure, Recorded, RunPlan};

use super::Principal;
use crate::render::report::{ErrorReport, Report};

/// What others are told in place of a failure's own words, which may name the owner's files or programs.
struct Disguise {
    message: &'static str,
    next: &'static [Next],
}

const fn disguise(code: Code) -> Option<Disguise> {
    let (message, next) = match code {
        Code::Storage => ("the run database of this server has trouble", code.next()),
        Code::Spilled => (
            "a part of the run waits to be written to the run database of this server",
            const { &[Next::Do(Advice::NothingIsLost)] as &[Next] },
        ),
        Code::OutputUnwritable => ("this server cannot write what it has to", code.next()),
        Code::SettingsInvalid | Code::InsecureUrl => {
            ("a setting of this server cannot be used, or does not fit", code.next())
        }
        Code::KeyMissing => ("this server has no key for a provider", code.next()),
        // Its own words name a command of the owner's, which is run for nobody else.
        Code::CheckUnavailable => {
            ("answers are not checked for you", const { &[Next::Do(Advice::NameAnotherStrategy)] as &[Next] })
        }
        Code::Internal => ("a defect of this server ended it", code.next()),
        // Its own words quote those of the seats.
        Code::AllFailed => ("no model answered", code.next()),
        Code::Auth
        | Code::Forbidden
        | Code::Protocol
        | Code::Redirect
        | Code::Credits
        | Code::CreditsInFlight
        | Code::KeyLimit
        | Code::Connection
        | Code::PromptTooLong
        | Code::Budget
        | Code::TokenRefused
        | Code::ScopeMissing
        | Code::Damaged
        | Code::PromptEmpty
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
        | Code::HostRefused => return None,
    };
    Some(Disguise { message, next })
}

/// A failure as it is told to others. Where that takes its words away, they are in the log.
pub fn discreet(mut failure: Failure) -> Failure {
    if disguise(failure.code).is_some() {
        tracing::warn!("told in other words to whoever asked: {}", failure.message);
    }
    soften(&mut failure);
    failure
}

fn soften(failure: &mut Failure) {
    // They tell of the owner's network and disks.
    failure.causes = None;
    if let Some(Disguise { message, next }) = disguise(failure.code) {
        message.clone_into(&mut failure.message);
        failure.next = next.to_vec();
    }
}

fn soften_warning(warning: &mut Warning) {
    if let Some(Disguise { message, next }) = disguise(warning.code) {
        message.clone_into(&mut warning.message);
        warning.next = next.to_vec();
    }
}

fn soften_report(error: &mut ErrorReport) {
    error.causes.clear();
    // A report's codes are ours. What is none would be told as what says least.
    let code = Code::parse(&error.code).unwrap_or(Code::Internal);
    if let Some(Disguise { message, next }) = disguise(code) {
        message.clone_into(&mut error.message);
        error.steps = next.to_vec();
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

    #[test]
    fn what_may_name_the_owners_files_is_said_in_other_words() {
        for code in Code::ALL.iter().copied() {
            let failure = Failure::new(code, "`/home/x`").with_causes(["`/home/x/y`".to_owned()]);
            assert_eq!(Principal::Owner.told(failure.clone()), failure);
            let told = discreet(failure);
            assert_eq!(told.causes(), &[] as &[String]);
            assert_eq!(told.message == "`/home/x`", disguise(code).is_none(), "{code}: {}", told.message);
        }
    }
}
