//! Tools that become tasks, for a client that can follow one.

use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use rmcp::ErrorData;
use rmcp::model::{
    CallToolRequestParams, CallToolResult, CancelTaskParams, ClientCapabilities, CreateTaskResult,
    GetTaskParams, GetTaskResult, JsonObject, Tool, UpdateTaskParams,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::task_manager::{TaskContext, TaskExit, TaskManager, TaskOptions};
use serde_json::{Value, json};

use super::{Called, Row, input};

/// Long enough that a task is seen working, short enough not to slow the suite.
const SHORT_WORK: Duration = Duration::from_millis(200);
/// The most seconds a call may ask for.
const SECONDS_MAX: f64 = 30.0;

/// When a tool becomes a task.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Becomes {
    Never,
    /// If the client can follow one.
    Gladly,
    /// Always; a client that cannot follow one is refused.
    Always,
}

struct Job {
    row: Row,
    becomes: Becomes,
    work: fn(JsonObject, Workplace) -> BoxFuture<'static, Result<CallToolResult, TaskExit>>,
}

/// Where work is done: in a task, which can ask and be cancelled, or in the call itself.
type Workplace = Option<TaskContext>;

const JOBS: &[Job] = &[
    Job {
        row: Row { name: "greet", description: "Greets, and is never a task" },
        becomes: Becomes::Never,
        work: |arguments, _| {
            async move { Ok(super::text(format!("Hello, {}!", word(&arguments, "name")))) }.boxed()
        },
    },
    Job {
        row: Row { name: "slow_compute", description: "Takes as many `seconds` as it is told" },
        becomes: Becomes::Gladly,
        work: |arguments, task| compute(arguments, task).boxed(),
    },
    Job {
        row: Row { name: "failing_job", description: "A task whose tool fails" },
        becomes: Becomes::Always,
        work: |_, _| {
            async {
                tokio::time::sleep(SHORT_WORK).await;
                let mut failed = super::text("this job fails on purpose");
                failed.is_error = Some(true);
                Ok(failed)
            }
            .boxed()
        },
    },
    Job {
        row: Row {
            name: "protocol_error_job",
            description: "A task that ends with an error of the protocol",
        },
        becomes: Becomes::Gladly,
        work: |_, _| {
            async {
                tokio::time::sleep(SHORT_WORK).await;
                Err(TaskExit::Error(ErrorData::internal_error("this job errs on purpose", None)))
            }
            .boxed()
        },
    },
    Job {
        row: Row { name: "confirm_delete", description: "A task that asks one thing" },
        becomes: Becomes::Always,
        work: |_, task| {
            async move {
                let confirmed = question(task, "confirm", "Delete it?", "boolean").await?;
                Ok(super::text(format!("confirmed: {confirmed}")))
            }
            .boxed()
        },
    },
    Job {
        row: Row { name: "multi_input", description: "A task that asks two things at once" },
        becomes: Becomes::Always,
        work: |_, task| {
            async move {
                let first = question(task.clone(), "first", "What is the first value?", "string");
                let second = question(task, "second", "What is the second value?", "string");
                let (first, second) = tokio::try_join!(first, second)?;
                Ok(super::text(format!("first: {first}, second: {second}")))
            }
            .boxed()
        },
    },
    Job {
        row: Row { name: "test_tool_with_task", description: "Asks for a name, then becomes a task" },
        becomes: Becomes::Always,
        work: |arguments, _| {
            async move {
                tokio::time::sleep(SHORT_WORK).await;
                Ok(super::text(format!("Hello, {}!", word(&arguments, "name"))))
            }
            .boxed()
        },
    },
];

/// The running tasks.
#[derive(Clone, Default)]
pub(super) struct Tasks {
    under_way: TaskManager,
}

/// The tools of this group.
pub(super) fn tools() -> impl Iterator<Item = Tool> {
    let schema = json!({"type": "object", "properties": {
        "name": {"type": "string"},
        "label": {"type": "string"},
        "filename": {"type": "string"},
        "seconds": {"type": "number"},
    }});
    JOBS.iter().map(move |job| super::tool(job.row.name, job.row.description, schema.clone()))
}

impl Tasks {
    /// The answer of a tool of this group; `None` for another tool.
    pub(super) async fn call(
        &self,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Option<Called> {
        let job = JOBS.iter().find(|job| job.row.name == request.name)?;
        let can = input::capabilities(context);
        if job.becomes == Becomes::Always && !can.supports_tasks() {
            let needed = ClientCapabilities::builder().enable_tasks().build();
            return Some(Err(ErrorData::missing_required_client_capability(needed)));
        }
        let mut arguments = request.arguments.clone().unwrap_or_default();
        if job.row.name == "test_tool_with_task" {
            let key = "user_name";
            let Some(answer) = input::answer(request.input_responses.as_ref(), key) else {
                return Some(Ok(input::ask(&[key], None, &can).into()));
            };
            arguments.extend(answer.get("content").and_then(Value::as_object).cloned().unwrap_or_default());
        }
        if job.becomes == Becomes::Never || !can.supports_tasks() {
            let done = (job.work)(arguments, None).await;
            return Some(done.map(Into::into).map_err(|exit| match exit {
                TaskExit::Error(error) => error,
                TaskExit::Cancelled => ErrorData::internal_error("the job was cancelled", None),
            }));
        }
        let work = job.work;
        let started = self.under_way.spawn(TaskOptions::default(), move |task| work(arguments, Some(task)));
        Some(Ok(CreateTaskResult::new(started).into()))
    }

    pub(super) fn get(&self, request: &GetTaskParams) -> Result<GetTaskResult, ErrorData> {
        self.under_way.get_task(&request.task_id).map(GetTaskResult::new)
    }

    pub(super) fn update(&self, request: UpdateTaskParams) -> Result<(), ErrorData> {
        self.under_way.update_task(&request.task_id, request.input_responses)
    }

    pub(super) fn cancel(&self, request: &CancelTaskParams) -> Result<(), ErrorData> {
        self.under_way.cancel_task(&request.task_id)
    }
}

async fn compute(arguments: JsonObject, task: Workplace) -> Result<CallToolResult, TaskExit> {
    let seconds = arguments.get("seconds").and_then(Value::as_f64).unwrap_or(1.0).clamp(0.0, SECONDS_MAX);
    let work = tokio::time::sleep(Duration::from_secs_f64(seconds));
    match task {
        None => work.await,
        Some(task) => tokio::select! {
            () = task.cancelled() => return Err(TaskExit::Cancelled),
            () = work => {}
        },
    }
    Ok(super::text(format!("computed {} in {seconds} s", word(&arguments, "label"))))
}

/// The client's answer to a form with one field, named like the question.
async fn question(task: Workplace, key: &str, message: &str, kind: &str) -> Result<Value, TaskExit> {
    let Some(task) = task else {
        return Err(TaskExit::Error(ErrorData::internal_error("only a task can ask", None)));
    };
    let answer = task.request_input(key, super::read(input::form(message, key, kind))).await?;
    Ok(answer["content"].clone())
}

fn word<'a>(arguments: &'a JsonObject, name: &str) -> &'a str {
    arguments.get(name).and_then(Value::as_str).unwrap_or("friend")
}
