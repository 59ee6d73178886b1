//! The plan of a run at the default provider, for tools that have the program's parts inside.

use std::sync::Arc;

use parallel_llm_engine::plan::{Identity, Terms};
use parallel_llm_engine::{ProviderId, RunPlan, RunRequest};
use parallel_llm_provider::embedded_catalogue;
use parallel_llm_service::OPENROUTER;
use parallel_llm_settings::settings::Settings;

use crate::failure::{Failure, Outcome};

/// Asks the panel of the settings.
pub fn of(settings: &Settings, prompt: impl Into<String>, identity: Identity) -> Outcome<RunPlan> {
    let openrouter = || ProviderId(OPENROUTER.to_owned());
    let catalogues = [(openrouter(), Arc::new(embedded_catalogue()))].into();
    let terms = Terms { defaults: &settings.defaults(), providers: &[openrouter()], catalogues: &catalogues };
    RunPlan::resolve(RunRequest::prompt(prompt), &terms, identity).map_err(Failure::from)
}
