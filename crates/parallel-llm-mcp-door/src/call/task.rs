//! Tasks (the extension `io.modelcontextprotocol/tasks`): a call is answered with a handle that its client polls.
//!
//! A task is a run and has its id, so every process knows it for as long as the run is kept, also after a restart, and any
//! can give it up. What always holds: a task is created only if the run and its texts are
//! stored; a task that nobody polls goes on; other principals' tasks do not exist.

use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::{Code, Failure, RunId, RunStatus};
use rmcp::ErrorData;
use rmcp::model::{
    CallToolResult, CreateTaskResult, DetailedTask, GetTaskResult, Task, TaskPayload, TaskStatus,
};
use serde_json::Value;

use crate::resources;
use crate::results::run_result;
use parallel_llm_service::report::event::progress_line;
use parallel_llm_service::{Detached, RunHandle, Services};
use parallel_llm_settings::clock;

/// The suggested polling interval: people read no faster, and a run takes half a minute.
const POLL_EVERY_MS: u64 = 2_000;

/// The task for a run in progress; `None` if the call has to wait for it, because it is decided already or its texts
/// are not stored.
pub(super) fn create(detached: &Detached, handle: &RunHandle) -> Option<CreateTaskResult> {
    if handle.with_run(|run| run.is_decided() || run.plan.store != StoreMode::Full) {
        return None;
    }
    detached.keep(handle);
    let mut task = seed(handle, TaskStatus::Working);
    // Only this answer can carry the note, because later polls use other handles.
    if let Some(note) = handle.note() {
        task.status_message = Some(note.message.clone());
    }
    Some(CreateTaskResult::new(task))
}

/// `tasks/get`: the status of a task, and the result of its call if there is one.
pub(crate) async fn get(service: &Services, task_id: &str) -> Result<GetTaskResult, ErrorData> {
    let handle = find(service, task_id).await?;
    let payload = match handle.with_run(|run| run.status) {
        RunStatus::Running => TaskPayload::Working,
        RunStatus::Cancelled => TaskPayload::Cancelled,
        // An interrupted run is completed, too: its report says so, and how to continue it.
        _ => completed(&run_result::of_run(&service.principal, handle.wait(None).await)),
    };
    let task = seed(&handle, payload.status());
    Ok(GetTaskResult::new(DetailedTask::new(task, payload)))
}

/// `tasks/cancel`: gives the run up.
pub(crate) async fn cancel(service: &Services, task_id: &str) -> Result<(), ErrorData> {
    let id: RunId = task_id.parse().map_err(|_| unknown())?;
    service.detached.give_up(&id.to_string()).await.map_err(|failure| refused(service, failure))
}

/// `tasks/update`: only checks the task, because no task asks its client anything.
pub(crate) async fn update(service: &Services, task_id: &str) -> Result<(), ErrorData> {
    find(service, task_id).await.map(drop)
}

/// The run of a task. Its id must be complete: a prefix, which a person may type, names no task.
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

/// The members common to all states of a task. Its times are the run's; nothing after its end is reported.
fn seed(handle: &RunHandle, status: TaskStatus) -> Task {
    let age_ms = handle.age_ms();
    let (message, newest_ms) = handle.with_run(|run| {
        let newest_ms = run.decided_ms.unwrap_or(run.elapsed_ms);
        (progress_line::of(run, if status.is_terminal() { newest_ms } else { age_ms }), newest_ms)
    });
    let began_ms = handle.id().unix_ms();
    let (created, updated) = (clock::stamp(began_ms), clock::stamp(began_ms.saturating_add(newest_ms)));
    // No time to live: runs are kept until their owner purges them.
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
