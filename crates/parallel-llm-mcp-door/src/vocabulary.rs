//! The vocabulary of this door: tools and their arguments.

use parallel_llm_engine::value::next::{Argument, Audience, Limit, Operation, PLAIN, Vocabulary};
use parallel_llm_service::Principal;

/// For the owner's model.
const OWNERS: Vocabulary = Vocabulary { operation, argument, limit, audience: Audience::Delegate, ..PLAIN };
/// For tenants.
const TENANTS: Vocabulary = Vocabulary { operation, argument, limit, audience: Audience::Tenant, ..PLAIN };

/// The vocabulary for a principal.
pub const fn of(principal: &Principal) -> &'static Vocabulary {
    match principal {
        Principal::Owner => &OWNERS,
        Principal::TokenHolder(_) => &TENANTS,
    }
}

const fn operation(operation: Operation) -> Option<&'static str> {
    match operation {
        Operation::ShowRun | Operation::WaitForRun => Some("get_run"),
        Operation::Resume => Some("resume_run"),
        Operation::Resend => Some("resume_run and `\"resend\":true`"),
        Operation::AddModels => Some("resume_run and `models`"),
        Operation::Synthesize => Some("resume_run and `synthesizer`"),
        Operation::Replay => Some("resume_run and `\"strategy\":\"synthesize\"`"),
        Operation::FindRun => Some("the `run_id` that process_prompt gave"),
        Operation::AskAnew => Some("process_prompt and `\"fresh\":true`"),
        Operation::KeepTexts => Some("`\"store\":\"full\"`"),
        Operation::KeepFacts => Some("`\"store\":\"metadata\"`"),
        Operation::ListModels | Operation::ListModelsTakingFiles => Some("list_models"),
        Operation::Help => Some("the tool's arguments"),
        Operation::Demo
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
        Argument::Prompt => Some("`prompt`"),
        Argument::Synthesizer => Some("`synthesizer`"),
        Argument::Strategy => Some("`strategy`"),
        Argument::Check | Argument::OutputFolder | Argument::Wait | Argument::AllowSecretFile => None,
    }
}

const fn limit(limit: &Limit) -> Option<&'static str> {
    match limit {
        Limit::Budget => Some("budget_usd"),
        Limit::OutputTokens => Some("max_tokens"),
        Limit::Deadline => Some("deadline_s"),
        Limit::Setting { .. } => None,
    }
}
