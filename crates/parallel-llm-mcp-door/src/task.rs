//! Tasks (the extension `io.modelcontextprotocol/tasks`): a call is answered with a handle, and its client asks how it is.
//!
//! A task is a run, and its id is the run's, so it is known as long as the run is: to every process, and after a
//! restart. Only giving it up needs the process that does it. What always holds: a handle is given only where the run
//! and its texts are kept; a task that nobody asks about goes on; others' tasks do not exist.

use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::{Code, Failure, RunId, RunStatus};
use rmcp::ErrorData;
use rmcp::model::{
    CallToolResult, CreateTaskResult, DetailedTask, GetTaskResult, Task, TaskPayload, TaskStatus,
};
use serde_json::Value;

use super::{progress, resources, run_result};
use parallel_llm_service::{Detached, RunHandle, Services};
use parallel_llm_settings::clock;

/// How often a client should ask: people read no faster, and a run takes half a minute.
const POLL_EVERY_MS: u64 = 2_000;

/// The answer to a call whose run goes on; `None` where the call has to wait for it: because it is over already, or because
/// its texts are kept nowhere.
pub(super) fn create(detached: &Detached, handle: &RunHandle) -> Option<CreateTaskResult> {
    if handle.with_run(|run| run.is_decided() || run.plan.store != StoreMode::Full) {
        return None;
    }
    detached.keep(handle);
    let mut task = seed(handle, TaskStatus::Working);
    // It is told here or never, because the hold that knows it is not asked again.
    if let Some(note) = handle.note() {
        task.status_message = Some(note.message.clone());
    }
    Some(CreateTaskResult::new(task))
}

/// `tasks/get`: how a task is, and the result of its call once there is one.
pub(super) async fn get(service: &Services, task_id: &str) -> Result<GetTaskResult, ErrorData> {
    let handle = find(service, task_id).await?;
    let payload = match handle.with_run(|run| run.status) {
        RunStatus::Running => TaskPayload::Working,
        RunStatus::Cancelled => TaskPayload::Cancelled,
        // Also where it was interrupted: its report says so, and how to go on.
        _ => completed(&run_result::of_report(&service.principal, handle.wait(None).await)),
    };
    let task = seed(&handle, payload.status());
    Ok(GetTaskResult::new(DetailedTask::new(task, payload)))
}

/// `tasks/cancel`: gives the run up.
pub(super) async fn cancel(service: &Services, task_id: &str) -> Result<(), ErrorData> {
    let id: RunId = task_id.parse().map_err(|_| unknown())?;
    service.detached.give_up(&id.to_string()).await.map_err(|failure| refused(service, failure))
}

/// `tasks/update`: no task asks its client anything, so there is nothing to be told.
pub(super) async fn update(service: &Services, task_id: &str) -> Result<(), ErrorData> {
    find(service, task_id).await.map(drop)
}

/// The run of a task. Its id must be whole: a beginning of it, which a person may type, names no task.
async fn find(service: &Services, task_id: &str) -> Result<RunHandle, ErrorData> {
    let id: RunId = task_id.parse().map_err(|_| unknown())?;
    service.runs.watch(&id.to_string()).await.map_err(|failure| refused(service, failure))
}

fn refused(service: &Services, failure: Failure) -> ErrorData {
    match failure.code {
        Code::RunNotFound => unknown(),
        _ => resources::error_of(&service.principal, failure),
    }
}

fn unknown() -> ErrorData {
    ErrorData::invalid_params(
        "there is no such task: it is named by the `taskId` that its call was answered with",
        None,
    )
}

/// What is told of a task in any state. Its times are the run's own; what comes after its end is not told of any more.
fn seed(handle: &RunHandle, status: TaskStatus) -> Task {
    let age_ms = handle.age_ms();
    let (message, newest_ms) = handle.with_run(|run| {
        let newest_ms = run.decided_ms.unwrap_or(run.elapsed_ms);
        (progress::line(run, if status.is_terminal() { newest_ms } else { age_ms }), newest_ms)
    });
    let began_ms = handle.id().unix_ms();
    let (created, updated) = (clock::stamp(began_ms), clock::stamp(began_ms.saturating_add(newest_ms)));
    // Without a time to live: runs are kept until their owner purges them.
    Task::new(handle.id().to_string(), status, created, updated)
        .with_status_message(message)
        .with_poll_interval_ms(POLL_EVERY_MS)
}

fn completed(result: &CallToolResult) -> TaskPayload {
    let Ok(Value::Object(result)) = serde_json::to_value(result) else {
        unreachable!("a result is an object of plain data")
    };
    TaskPayload::Completed { result }
}
