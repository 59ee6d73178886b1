//! What the page calls the things that can be done next: its buttons and fields.

use parallel_llm_engine::value::next::{Argument, Audience, Limit, Operation, PLAIN, Vocabulary};
use parallel_llm_service::Principal;

const OWNERS: Vocabulary = Vocabulary { operation, argument, limit, audience: Audience::Owner, ..PLAIN };
const TENANTS: Vocabulary = Vocabulary { operation, argument, limit, audience: Audience::Tenant, ..PLAIN };

/// The vocabulary for a principal.
pub(crate) const fn of(principal: &Principal) -> &'static Vocabulary {
    match principal {
        Principal::Owner => &OWNERS,
        Principal::TokenHolder(_) => &TENANTS,
    }
}

/// The vocabulary for a visitor who is not known yet.
pub(crate) const fn of_strangers() -> &'static Vocabulary {
    &TENANTS
}

const fn operation(operation: Operation) -> Option<&'static str> {
    Some(match operation {
        Operation::Resume | Operation::Resend => "“Ask the missing seats”",
        Operation::AddModels => "“Ask one more model”",
        Operation::Synthesize | Operation::Replay => "“Make another text”",
        Operation::FindRun => "on the page “Runs”",
        Operation::AskAnew => "“Ask again with changes”",
        Operation::KeepTexts => "“Keep everything”",
        Operation::KeepFacts => "“Keep figures only”",
        Operation::ListModels | Operation::ListModelsTakingFiles | Operation::ListProviderModels => {
            "on the page “Models”"
        }
        // A person is on the page of the run, or is led to it.
        Operation::ShowRun
        | Operation::WaitForRun
        | Operation::Help
        | Operation::Demo
        | Operation::Doctor
        | Operation::DoctorDeep
        | Operation::ListKeys
        | Operation::RemoveKey
        | Operation::CreateToken
        | Operation::WidenToken
        | Operation::ShowSettings
        | Operation::ListCodes
        | Operation::ExportReport => return None,
    })
}

const fn argument(argument: Argument) -> Option<&'static str> {
    match argument {
        Argument::Prompt => Some("in the field “Question”"),
        Argument::Synthesizer => Some("in the field “Synthesizer”"),
        Argument::Strategy => Some("in the field “Strategy”"),
        Argument::AllowSecretFile => Some("the box “Send files although they seem to hold secrets”"),
        Argument::Check | Argument::OutputFolder | Argument::Wait => None,
    }
}

const fn limit(limit: &Limit) -> Option<&'static str> {
    match limit {
        Limit::Budget => Some("Budget"),
        Limit::OutputTokens => Some("Output cap"),
        Limit::Deadline => Some("Deadline"),
        Limit::Setting { .. } => None,
    }
}
