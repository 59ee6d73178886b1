//! What the endpoint calls the things that can be done next: its fields and addresses.

use parallel_llm_engine::value::next::{Argument, Audience, Limit, Operation, PLAIN, Vocabulary};
use parallel_llm_service::Principal;

const OWNERS: Vocabulary = Vocabulary { operation, argument, limit, audience: Audience::Delegate, ..PLAIN };
const TENANTS: Vocabulary = Vocabulary { operation, argument, limit, audience: Audience::Tenant, ..PLAIN };

/// The vocabulary for a principal.
pub(crate) const fn of(principal: &Principal) -> &'static Vocabulary {
    match principal {
        Principal::Owner => &OWNERS,
        Principal::TokenHolder(_) => &TENANTS,
    }
}

const fn operation(operation: Operation) -> Option<&'static str> {
    match operation {
        Operation::ShowRun | Operation::WaitForRun | Operation::FindRun => Some("`GET /v1/responses/{id}`"),
        Operation::AskAnew => Some("`\"parallel_llm\": {\"fresh\": true}`"),
        Operation::KeepTexts => Some("`\"store\": true`"),
        Operation::KeepFacts => Some("`\"store\": false`"),
        Operation::ListModels => Some("`GET /v1/models`"),
        Operation::Help => Some("`GET /openapi.json`"),
        // The list is of panels, and does not say what their models take.
        Operation::ListModelsTakingFiles
        | Operation::Resume
        | Operation::Resend
        | Operation::AddModels
        | Operation::Synthesize
        | Operation::Replay
        | Operation::Demo
        | Operation::Doctor
        | Operation::DoctorDeep
        | Operation::ListKeys
        | Operation::RemoveKey
        | Operation::CreateToken
        | Operation::WidenToken
        | Operation::ShowSettings
        | Operation::ListCodes
        | Operation::ExportReport
        | Operation::ListProviderModels => None,
    }
}

const fn argument(argument: Argument) -> Option<&'static str> {
    match argument {
        Argument::Prompt => Some("a message of the role `user` with text"),
        Argument::Synthesizer => Some("`parallel_llm.synthesizer`"),
        Argument::Strategy => Some("`parallel_llm.strategy`"),
        Argument::Check | Argument::OutputFolder | Argument::Wait | Argument::AllowSecretFile => None,
    }
}

const fn limit(limit: &Limit) -> Option<&'static str> {
    match limit {
        Limit::Budget => Some("parallel_llm.budget_usd"),
        Limit::OutputTokens => Some("max_tokens"),
        Limit::Deadline => Some("parallel_llm.deadline_s"),
        Limit::Setting { .. } => None,
    }
}
