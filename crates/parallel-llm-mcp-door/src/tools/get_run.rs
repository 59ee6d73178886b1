//! `get_run`: waits for a run that was answered early, or fetches a run or a part of it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parallel_llm_engine::value::next::Advice;
use parallel_llm_engine::{Code, Failure};
use rmcp::model::{CallToolResult, JsonObject, Tool, ToolAnnotations};
use schemars::JsonSchema;
use tokio::time::Instant;

use super::arguments::{self, Values};
use super::long_results::long_results;
use super::schema;
use crate::call::tool_call::Call;
use crate::protocol::reply_turns::ReplyTurn;
use crate::results::part::{self, Page, Part};
use crate::results::run_result;
use parallel_llm_service::KnownRun;
use parallel_llm_service::form::{Field, ValueKind};
use parallel_llm_service::report::Report;

pub(super) const NAME: &str = "get_run";

const ABOUT: &str = "Wait for the answer of a run, or fetch a part of it by pages: its whole report with tokens, costs and \
    agreement, or the answer of one model. Costs nothing.";

const ARGUMENTS: &[Field] = &[
    Field {
        name: "run_id",
        kind: ValueKind::RequiredText,
        about: "As process_prompt gave it.",
        example: "\"01JD0M3Z8K5Q2W7V9X4B6N1C0A\"",
    },
    Field {
        name: "wait_s",
        kind: ValueKind::Whole(0, run_result::WAIT_S_MAX),
        about: "Seconds to wait while running.",
        example: "50",
    },
    Field {
        name: "part",
        kind: ValueKind::Text,
        about: "report, answer, answer:<seat>, prompt, plan or events. Without it, the reply of process_prompt.",
        example: "\"answer:2\"",
    },
    Field {
        name: "offset",
        kind: ValueKind::Whole(0, u32::MAX as u64),
        about: "The character to begin at.",
        example: "40000",
    },
];

/// The longest wait for a decided run to close, so that its events are stored.
const CLOSING_MAX: Duration = Duration::from_secs(1);
/// The polling interval of that wait.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// What only the report has. Its other members are in `docs/report.schema.json`.
#[derive(JsonSchema)]
#[allow(dead_code, reason = "it is only a schema")]
struct InReport {
    /// In part `report`, each seat with its text, tokens and cost.
    answers: Vec<BTreeMap<String, String>>,
}

/// The tool as clients list it.
pub(super) fn tool() -> Tool {
    let of_part = [schema::of::<Page>(), schema::of::<InReport>()];
    Tool::new(NAME, ABOUT, Arc::new(arguments::schema(ARGUMENTS)))
        .with_title("Get a run")
        .with_raw_output_schema(Arc::new(schema::of_run(of_part)))
        .with_annotations(ToolAnnotations::new().read_only(true).open_world(false))
        .with_meta(long_results())
}

/// Waits if asked to, and returns the part.
pub(super) async fn call(call: &Call, arguments: Option<JsonObject>) -> Result<CallToolResult, Failure> {
    let mut values = Values::read(ARGUMENTS, arguments)?;
    let name = values.text("part");
    let part = name.as_deref().map(Part::read).transpose()?;
    let run_id = values.text("run_id").unwrap_or_default();
    let wait = Duration::from_secs(values.whole("wait_s").unwrap_or_default());
    let (report, _turn) = wait_for(call, run_id.trim(), wait).await?;
    let principal = &call.service.principal;
    let text = match part {
        None => return Ok(run_result::of_run(principal, report)),
        Some(Part::Report) => return Ok(run_result::of_report(principal, report)),
        Some(Part::Events) => events(call, &report.run_id).await?.into(),
        Some(part) => part.text(principal, &call.service.runs.find(&report.run_id).await?.run())?,
    };
    let offset = values.whole("offset").and_then(|offset| usize::try_from(offset).ok()).unwrap_or_default();
    Ok(part::page(&report.run_id, &name.unwrap_or_default(), &text, offset))
}

/// The run's report, as soon as it has an answer or `wait` has passed, and the turn to make the reply.
async fn wait_for(call: &Call, run_id: &str, wait: Duration) -> Result<(Report, ReplyTurn), Failure> {
    let (handle, turn) = call.in_turn_to_read(run_id).await?;
    if let Some(turn) = turn {
        // Returned at once, even to a client that has just left.
        return Ok((handle.wait(None).await, turn));
    }
    let report = call.answer(&handle, &mut call.progress(), wait).await?;
    Ok((report, call.turn_to_reply().await))
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
