//! Redaction for tenants: removes the owner's files, programs and personas from failures, reports, plans and events.
//!
//! Invariants: a failure whose message may name the owner's files or programs is replaced by the public message of
//! its class, and its own message is only in the log; no next step asks a tenant for what only the owner can do. The
//! class decides, so every class has its row.

use std::borrow::Cow;

use parallel_llm_engine::value::answer::by_reason;
use parallel_llm_engine::value::code::Class;
use parallel_llm_engine::value::next::{Advice, Next};
use parallel_llm_engine::value::warning::Warning;
use parallel_llm_engine::{Code, Event, Failure, Recorded, RunPlan};

use crate::access::Principal;
use crate::report::{ErrorReport, Report};

/// What replaces a failure's own message and next steps, which may name the owner's files or programs.
struct PublicMessage {
    message: &'static str,
    next: &'static [Next],
}

/// The public message of a code whose own messages may name things of the owner's; `None` for a code that is harmless.
const fn public_message(code: Code) -> Option<PublicMessage> {
    let (message, next) = match code {
        Code::Spilled => (
            "a part of the run waits to be written to the run database of this server",
            const { &[Next::Do(Advice::NothingIsLost)] as &[Next] },
        ),
        // Its own message names a command of the owner's, which is run for no one else.
        Code::CheckUnavailable => {
            ("answers are not checked for you", const { &[Next::Do(Advice::NameAnotherStrategy)] as &[Next] })
        }
        // Its own message quotes those of the seats.
        Code::AllFailed => ("no model answered", code.next()),
        // Its own message names a run and a seat.
        Code::Damaged => return None,
        _ => match code.class() {
            Class::Store => ("the run database of this server has trouble", code.next()),
            Class::Disk => ("this server cannot write what it has to", code.next()),
            Class::Settings => ("a setting of this server cannot be used, or does not fit", code.next()),
            Class::Key => ("this server has no key for a provider", code.next()),
            Class::Defect => ("a defect of this server ended it", code.next()),
            Class::Request
            | Class::TooLong
            | Class::Unfit
            | Class::NotFound
            | Class::Repeated
            | Class::Budget
            | Class::Token
            | Class::Permission
            | Class::Account
            | Class::AccountBusy
            | Class::Declined
            | Class::RateLimited
            | Class::Upstream
            | Class::Unavailable
            | Class::Cancelled
            | Class::Timeout => return None,
        },
    };
    Some(PublicMessage { message, next })
}

/// A failure as anybody but the owner reads it. A message that is replaced goes to the log.
pub fn redacted(mut failure: Failure) -> Failure {
    if public_message(failure.code).is_some() {
        tracing::warn!("the caller is shown a public message in place of: {}", failure.message);
    }
    redact(&mut failure);
    failure
}

fn redact(failure: &mut Failure) {
    // Causes name the owner's network and disks.
    failure.causes = None;
    if let Some(PublicMessage { message, next }) = public_message(failure.code) {
        message.clone_into(&mut failure.message);
        failure.next = next.to_vec();
    }
}

fn redact_warning(warning: &mut Warning) {
    if let Some(PublicMessage { message, next }) = public_message(warning.code) {
        message.clone_into(&mut warning.message);
        warning.next = next.to_vec();
    }
}

fn redact_error(error: &mut ErrorReport) {
    error.causes.clear();
    // A report's codes are ours. A text that is none of them gets the message that says least.
    let code = Code::parse(&error.code).unwrap_or(Code::Internal);
    if let Some(PublicMessage { message, next }) = public_message(code) {
        message.clone_into(&mut error.message);
        error.steps = next.to_vec();
    }
}

impl Principal {
    /// A failure as this principal may read it.
    #[must_use]
    pub fn redact(&self, failure: Failure) -> Failure {
        if *self == Self::Owner { failure } else { redacted(failure) }
    }

    /// A run's report as this principal may read it.
    #[must_use]
    pub fn redact_report(&self, mut report: Report) -> Report {
        if *self == Self::Owner {
            return report;
        }
        let of_seats = report.answers.iter_mut().filter_map(|seat| seat.error.as_mut());
        let of_calls = report.calls.iter_mut().filter_map(|call| call.error.as_mut());
        let of_each = of_seats.chain(of_calls);
        report.error.iter_mut().chain(&mut report.warnings).chain(of_each).for_each(redact_error);
        let Some(error) = &mut report.error else { return report };
        if error.code == Code::AllFailed.as_str() {
            let reasons = report.answers.iter().filter_map(|seat| Some((seat, seat.error.as_ref()?)));
            let reasons = reasons.map(|(seat, error)| (&seat.model, &error.message));
            error.message = format!("no model answered ({})", by_reason(reasons));
        }
        // Without an answer, the reason repeats the message of the failure.
        if let Some(synthesis) = report.synthesis.as_mut().filter(|_| report.answer.is_none()) {
            synthesis.reason.clone_from(&error.message);
        }
        report
    }

    /// A plan as this principal may read it. Persona prompts belong to the owner: others use a persona by its name. A model
    /// may still repeat its persona prompt when it is asked for it.
    pub fn redact_plan<'a>(&self, plan: &'a RunPlan) -> Cow<'a, RunPlan> {
        if *self == Self::Owner {
            return Cow::Borrowed(plan);
        }
        let mut plan = plan.without_persona_prompts();
        plan.warnings.iter_mut().for_each(redact_warning);
        Cow::Owned(plan)
    }

    /// An event of a run as this principal may read it.
    #[must_use]
    pub fn redact_event(&self, mut recorded: Recorded) -> Recorded {
        if *self == Self::Owner {
            return recorded;
        }
        redact_fact(&mut recorded.event);
        recorded
    }
}

/// Redacts failures, warnings and persona prompts. Texts of models and costs of calls belong to the caller.
fn redact_fact(event: &mut Event) {
    event.failure_mut().into_iter().for_each(redact);
    if let Event::Reopened { reopening, .. } = event {
        reopening.seats.iter_mut().for_each(|seat| *seat = seat.without_text());
    }
    if let Some(outcome) = event.outcome_mut() {
        outcome.failure.iter_mut().chain(&mut outcome.unfused).for_each(redact);
        outcome.warnings.iter_mut().for_each(redact_warning);
        if let Some(failure) = &outcome.failure {
            outcome.reason.clone_from(&failure.message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_may_name_the_owners_files_is_replaced() {
        for code in Code::ALL.iter().copied() {
            let failure = Failure::new(code, "`/home/x`").with_causes(["`/home/x/y`".to_owned()]);
            assert_eq!(Principal::Owner.redact(failure.clone()), failure);
            let public = redacted(failure);
            assert_eq!(public.causes(), &[] as &[String]);
            assert_eq!(
                public.message == "`/home/x`",
                public_message(code).is_none(),
                "{code}: {}",
                public.message
            );
        }
    }
}
