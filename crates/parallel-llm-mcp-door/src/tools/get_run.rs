//! `get_run`: waits for a run that was answered early, or fetches a run or a part of it.

use std::sync::Arc;
use std::time::Duration;

use parallel_llm_engine::value::next::Advice;
use parallel_llm_engine::{Code, Failure, RunStatus};
use rmcp::model::{CallToolResult, JsonObject, Tool, ToolAnnotations};
use tokio::time::Instant;

use crate::arguments::{self, Argument, Kind, Values};
use crate::call::Call;
use crate::part::{self, Part};
use crate::{run_result, schema};
use parallel_llm_service::KnownRun;
use parallel_llm_service::report::Report;

pub(super) const NAME: &str = "get_run";

const ABOUT: &str = "Wait for the answer of a run, or fetch a part of it by pages. Costs nothing.";

const ARGUMENTS: &[Argument] = &[
    Argument {
        name: "run_id",
        kind: Kind::RequiredText,
        about: "As process_prompt gave it.",
        example: "\"01JD0M3Z8K5Q2W7V9X4B6N1C0A\"",
    },
    Argument {
        name: "wait_s",
        kind: Kind::Whole(0, run_result::WAIT_S_MAX),
        about: "Seconds to wait while running.",
        example: "50",
    },
    Argument {
        name: "part",
        kind: Kind::Text,
        about: "report (default), answer, answer:<seat>, prompt, plan or events.",
        example: "\"answer:2\"",
    },
    Argument {
        name: "offset",
        kind: Kind::Whole(0, u32::MAX as u64),
        about: "The character to begin at.",
        example: "40000",
    },
];

/// The longest wait for a decided run to close, so that its events are stored.
const CLOSING_MAX: Duration = Duration::from_secs(1);
/// The polling interval of that wait.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The tool as clients list it.
pub(super) fn tool() -> Tool {
    let of_part = [
        ("text", "string", "The part, or a page of it."),
        ("next_offset", "integer", "Where the next page begins."),
    ];
    Tool::new(NAME, ABOUT, Arc::new(arguments::schema(ARGUMENTS)))
        .with_title("Get a run")
        .with_raw_output_schema(Arc::new(schema::of_report(&of_part)))
        .with_annotations(ToolAnnotations::new().read_only(true).open_world(false))
        .with_meta(super::long_results())
}

/// Waits if asked to, and returns the part.
pub(super) async fn call(call: &Call, arguments: Option<JsonObject>) -> Result<CallToolResult, Failure> {
    let mut values = Values::read(ARGUMENTS, arguments)?;
    let name = values.text("part").unwrap_or_else(|| "report".to_owned());
    let part = Part::read(&name)?;
    let run_id = values.text("run_id").unwrap_or_default();
    let wait = Duration::from_secs(values.whole("wait_s").unwrap_or_default());
    let report = wait_for(call, run_id.trim(), wait).await?;
    if part == Part::Report {
        return Ok(run_result::of_report(&call.service.principal, report));
    }
    let text = match part {
        Part::Events => events(call, &report.run_id).await?.into(),
        part => part.text(&call.service.principal, &call.service.runs.find(&report.run_id).await?.run())?,
    };
    let offset = values.whole("offset").and_then(|offset| usize::try_from(offset).ok()).unwrap_or_default();
    Ok(part::page(&report.run_id, &name, &text, offset))
}

/// The run's report, as soon as it has an answer or `wait` has passed.
async fn wait_for(call: &Call, run_id: &str, wait: Duration) -> Result<Report, Failure> {
    let handle = call.service.runs.watch(run_id).await?;
    if handle.with_run(|run| run.status != RunStatus::Running) {
        // Returned at once, even to a client that has just left.
        return Ok(handle.wait(None).await);
    }
    call.answer(&handle, &mut call.progress(), wait).await
}

/// The events of a closed run, one on each line: before that they may not be stored.
async fn events(call: &Call, run_id: &str) -> Result<String, Failure> {
    let give_up = Instant::now() + CLOSING_MAX;
    loop {
        match call.service.runs.find(run_id).await? {
            KnownRun::Past(past) => return part::lines(&call.service.principal, past.events),
            // Closed, but kept in memory because its texts are not stored; its events may be.
            KnownRun::Live(handle) if handle.is_closed() => {
                return part::events(&call.service, &handle).await;
            }
            KnownRun::Live(_) => {}
        }
        if Instant::now() >= give_up {
            let failure =
                Failure::new(Code::Busy, "the run goes on, and its events are read when it is over");
            return Err(failure.with_next(Advice::WaitFirst));
        }
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}
