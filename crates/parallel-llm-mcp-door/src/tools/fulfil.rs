//! What the tools that cost money share: an order begun, with its user asked if needed, and answered in time.

use parallel_llm_engine::Failure;
use rmcp::model::{CallToolResponse, CallToolResult, InputRequiredResult};

use crate::call::progress::Progress;
use crate::call::tool_call::Call;
use crate::results::run_result;
use parallel_llm_service::{Begun, Order, RunHandle};

/// Begins an order, and answers with the report in time, a task, or a question to the user.
pub(super) async fn fulfil(call: &Call, mut order: Order) -> Result<CallToolResponse, Failure> {
    let via = call.via()?;
    if let Order::Ask(question) = &mut order {
        question.request.lineage.via = via;
    }
    let mut progress = call.progress();
    // Boxed, because planning and beginning a run takes kilobytes, which the futures of all calls would hold otherwise.
    let beginning = Box::pin(begin(call, order));
    let handle = match progress.begin(beginning).await? {
        Started::Run(handle) => handle,
        Started::Question(question) => return Ok((*question).into()),
    };
    match call.task(&handle) {
        Some(task) => Ok(task.into()),
        None => Ok(answer(call, &handle, &mut progress).await.into()),
    }
}

/// A begun order.
enum Started {
    Run(RunHandle),
    /// The client has to ask its user first, and call again.
    Question(Box<InputRequiredResult>),
}

/// Begins an order, asking the user if needed in the way of the call's protocol version.
async fn begin(call: &Call, order: Order) -> Result<Started, Failure> {
    let asking = &call.service.ask;
    let unapproved = match asking.begin_with_consent(order, call.consent()).await? {
        Begun::Run(handle) => return Ok(Started::Run(handle)),
        Begun::Unapproved(unapproved) => unapproved,
    };
    if call.carries_questions() {
        let question = call.question(unapproved.excess).map(Box::new);
        return question.map(Started::Question).ok_or(unapproved.refused);
    }
    let decision = call.ask_user(&unapproved).await?;
    asking.begin_unapproved(*unapproved, decision).await.map(Started::Run)
}

/// The result of a run begun by this call, in time.
async fn answer(call: &Call, handle: &RunHandle, progress: &mut Progress) -> CallToolResult {
    match call.paid_answer(handle, progress).await {
        Ok(report) => run_result::of_run(&call.service.principal, report),
        Err(taken_back) => run_result::of_run_failure(&call.service.principal, handle.id(), taken_back),
    }
}
