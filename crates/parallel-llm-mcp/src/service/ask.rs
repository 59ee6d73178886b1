//! Asking: a request is resolved into a plan, and the plan becomes a run under way.

use parallel_llm_engine::plan::Terms;
use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::{Code, Failure, RunPlan, RunRequest};

use super::{RunHandle, Service};
use crate::clock;

/// A question as a door hands it over.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// What is asked, and the caller's wishes.
    pub request: RunRequest,
    /// A preset whose values stand in for what the request leaves open.
    pub preset: Option<String>,
}

impl Service {
    /// Begins a run. Whatever is wrong is said here, before anything is paid.
    pub async fn ask(&self, question: Question) -> Result<RunHandle, Failure> {
        let plan = self.plan(question).await?;
        self.runs().await?.start(plan, self.output_dir()).await
    }

    async fn plan(&self, question: Question) -> Result<RunPlan, Failure> {
        let mut request = question.request;
        let mut defaults = self.settings().defaults();
        if let Some(name) = &question.preset {
            self.settings().preset(name)?.fill(&mut request, &mut defaults);
        }
        // Whoever wants no text stored wants none in files either, unless this call says so.
        let stored = request.store.unwrap_or(self.settings().store) == StoreMode::Full;
        request.files = request.files.or_else(|| (!stored).then_some(false));
        let typed: Vec<String> =
            request.models.iter().flatten().chain(&request.synthesizer).cloned().collect();
        let catalogue = self.0.catalogues.for_models(&typed).await;
        let catalogues = [(self.0.providers[0].clone(), catalogue)].into();
        let terms = Terms { defaults: &defaults, providers: &self.0.providers, catalogues: &catalogues };
        let identity = clock::new_identity().map_err(|error| {
            Failure::new(Code::Internal, format!("the system gives no random bytes: {error}"))
        })?;
        RunPlan::resolve(request, &terms, identity)
    }
}
