//! What the library calls the things that can be done next: its methods.

use parallel_llm_engine::value::next::{Argument, Audience, Limit, Operation, PLAIN, Vocabulary};

/// For whoever writes the code.
pub(crate) const LIBRARY: Vocabulary =
    Vocabulary { operation, argument, limit, audience: Audience::Owner, ..PLAIN };

const fn operation(operation: Operation) -> Option<&'static str> {
    Some(match operation {
        Operation::ShowRun | Operation::FindRun | Operation::ExportReport => "`Panel::report`",
        Operation::WaitForRun => "`Panel::watch`",
        Operation::Resume => "`Panel::resume`",
        Operation::Resend => "`Panel::resend`",
        Operation::AddModels => "`Panel::add`",
        Operation::Synthesize | Operation::Replay => "`Panel::replay`",
        Operation::AskAnew => "`Question::fresh`",
        Operation::KeepTexts | Operation::KeepFacts => "`Question::store`",
        Operation::ListModels | Operation::ListModelsTakingFiles | Operation::ListProviderModels => {
            "`Client::models`"
        }
        Operation::Help => "the guide `docs/library.md`",
        Operation::CreateToken | Operation::WidenToken => "`Panel::make_token`",
        Operation::Demo
        | Operation::Doctor
        | Operation::DoctorDeep
        | Operation::ListKeys
        | Operation::RemoveKey
        | Operation::ShowSettings
        | Operation::ListCodes => return None,
    })
}

const fn argument(argument: Argument) -> Option<&'static str> {
    match argument {
        Argument::Prompt => Some("the text of `Question::new`"),
        Argument::Synthesizer => Some("`Question::synthesizer`"),
        Argument::Strategy => Some("`Question::strategy`"),
        Argument::OutputFolder => Some("`PanelBuilder::folder`"),
        Argument::AllowSecretFile => Some("`Question::allow_secret_files`"),
        Argument::Wait => Some("`PanelBuilder::wait`"),
        Argument::Check => None,
    }
}

const fn limit(limit: &Limit) -> Option<&'static str> {
    match limit {
        Limit::Budget => Some("budget_usd"),
        Limit::OutputTokens => Some("max_tokens"),
        Limit::Deadline => Some("deadline"),
        Limit::Setting { .. } => None,
    }
}
