//! Tasks (the extension `io.modelcontextprotocol/tasks`): a call is answered with a handle, and its client asks how it is.
//!
//! A task is a run, and its id is the run's, so it is known as long as the run is: to every process, and after a
//! restart. Only giving it up needs the process that does it. What always holds: a handle is given only where the run
//! and its texts are kept; a task that nobody asks about goes on; others' tasks do not exist.

use std::sync::{Mutex, PoisonError};

use parallel_llm_engine::request::StoreMode;
use parallel_llm_engine::value::next::Advice;
use parallel_llm_engine::{Code, Failure, RunId, RunStatus};
use rmcp::ErrorData;
use rmcp::model::{
    CallToolResult, CreateTaskResult, DetailedTask, GetTaskResult, Task, TaskPayload, TaskStatus,
};
use serde_json::Value;

use super::{outcome, progress, resources};
use parallel_llm_service::{Hold, RunHandle, Scope, Services};
use parallel_llm_settings::clock;

/// How often a client should ask: people read no faster, and a run takes half a minute.
const POLL_EVERY_MS: u64 = 2_000;

/// The tasks that a client may still give up: a hold for each run that was begun in this process, is not over, and whose
/// call was answered with a task.
#[derive(Default)]
pub(super) struct OpenTasks(Mutex<Vec<Hold>>);

impl OpenTasks {
    /// Keeps a hold until the run is over. Two tasks of one run have one id, so they are one hold.
    fn keep(&self, handle: &RunHandle) {
        let mut holds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        holds.retain(|hold| !hold.is_over());
        if holds.iter().any(|hold| hold.id() == handle.id()) {
            handle.cancel();
        } else {
            // Also of a run that another process does: this one may come to go on with it.
            holds.push(handle.hold());
        }
    }

    /// Gives the run up for all who were answered with this task. Other callers may want it still.
    fn give_up(&self, id: RunId) {
        let mut holds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        holds.extract_if(.., |hold| hold.id() == id).for_each(|hold| hold.give_up());
    }
}

/// The answer to a call whose run goes on; `None` where the call has to wait for it: because it is over already, or because
/// its texts are kept nowhere.
pub(super) fn create(open_tasks: &OpenTasks, handle: &RunHandle) -> Option<CreateTaskResult> {
    if handle.look(|run| run.is_decided() || run.plan.store != StoreMode::Full) {
        return None;
    }
    open_tasks.keep(handle);
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
    let payload = match handle.look(|run| run.status) {
        RunStatus::Running => TaskPayload::Working,
        RunStatus::Cancelled => TaskPayload::Cancelled,
        // Also where it was interrupted: its report says so, and how to go on.
        _ => completed(&outcome::of_report(&service.principal, handle.wait(None).await)),
    };
    let task = seed(&handle, payload.status());
    Ok(GetTaskResult::new(DetailedTask::new(task, payload)))
}

/// `tasks/cancel`: gives the run up. A task that is over stays as it is; one that another process does cannot be given up
/// here, which is said: its client would take silence for the end of its costs.
pub(super) async fn cancel(
    service: &Services,
    open_tasks: &OpenTasks,
    task_id: &str,
) -> Result<(), ErrorData> {
    let handle = find(service, task_id).await?;
    service
        .principal
        .check(Scope::Ask)
        .map_err(|failure| resources::error_of(&service.principal, failure))?;
    if handle.look(|run| run.is_decided() || run.status != RunStatus::Running) {
        return Ok(());
    }
    if handle.is_elsewhere() {
        // This process is not to go on with it.
        open_tasks.give_up(handle.id());
        let failure =
            Failure::new(Code::Busy, "another server does this run, and only that one can give it up");
        return Err(resources::error_of(&service.principal, failure.with_next(Advice::CancelAtItsServer)));
    }
    open_tasks.give_up(handle.id());
    Ok(())
}

/// `tasks/update`: no task asks its client anything, so there is nothing to be told.
pub(super) async fn update(service: &Services, task_id: &str) -> Result<(), ErrorData> {
    find(service, task_id).await.map(drop)
}

/// The run of a task. Its id must be whole: a beginning of it, which a person may type, names no task.
async fn find(service: &Services, task_id: &str) -> Result<RunHandle, ErrorData> {
    let id: RunId = task_id.parse().map_err(|_| unknown())?;
    service.runs.watch(&id.to_string()).await.map_err(|failure| match failure.code {
        Code::RunNotFound => unknown(),
        _ => resources::error_of(&service.principal, failure),
    })
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
    let (message, newest_ms) = handle.look(|run| {
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
