//! The bodies of OpenAI's batch files: a question each, without a connection.

use axum::body::Bytes;
use parallel_llm_engine::value::next::Next;
use parallel_llm_engine::{Code, Failure};
use parallel_llm_service::{Question, Services, Shutdown};

use crate::caller::Caller;
use crate::request::{self, ChatRequest};

/// The only address that lines are for.
pub const BATCH_URL: &str = "/v1/chat/completions";

/// A question of a batch file.
#[derive(Debug)]
pub struct BatchQuestion {
    /// The question.
    pub question: Question,
    /// Whether its line names a panel. Otherwise it names a model of another service, and the panel is the caller's to
    /// choose.
    pub names_panel: bool,
}

/// The question of a line with this body, read and refused like the body of a request. If the caller has a panel for lines
/// that name none, a name that is no panel's is not refused.
pub async fn batch_question(
    services: &Services,
    body: &str,
    has_panel: bool,
) -> Result<BatchQuestion, Failure> {
    let caller = Caller {
        services: services.clone(),
        shutdown: Shutdown::new(std::time::Duration::ZERO),
        since: 0,
        via: Vec::new(),
        trace: None,
        idempotency_key: None,
        client_timeout: None,
    };
    let read = move |mut request: ChatRequest| {
        if request.stream.unwrap_or_default() {
            let failure = Failure::new(Code::Usage, "a line of a batch has no `stream`");
            return Err(failure.with_next(Next::LeaveOut("stream".into())).into());
        }
        let names_panel = !has_panel || request.names_panel();
        if names_panel {
            let question = request.ask(&caller)?.question;
            return Ok(BatchQuestion { question, names_panel });
        }
        request.ask_default_panel();
        let question = Question { preset: None, ..request.ask(&caller)?.question };
        Ok(BatchQuestion { question, names_panel })
    };
    let asked = request::read(Bytes::copy_from_slice(body.as_bytes()), read).await;
    asked.map_err(crate::refusal::Refusal::failure)
}
