//! `runs list`: earlier runs, newest first.

use std::str::FromStr;

use parallel_llm_engine::{Code, Failure, PicoUsd, RunId};
use serde_json::json;

use crate::called;
use crate::command::context::CommandContext;
use crate::exit;
use crate::terminal::table::Column;
use crate::terminal::vocabulary;
use parallel_llm_engine::text::safe::excerpt;
use parallel_llm_service::report::age::age;
use parallel_llm_service::report::cost::Cost;
use parallel_llm_service::{RunFilter, RunSummary};
use parallel_llm_settings::clock;

/// The most characters of a question that are listed.
const QUESTION_CHARS_MAX: usize = 120;
/// The width to which questions are cut on a narrow terminal: the first words tell which it is.
const QUESTION_WIDTH_MIN: usize = 12;
/// The default number of listed runs.
pub(super) const LIST_DEFAULT: usize = 20;
/// The width of an age such as `119 min`.
const AGE_WIDTH: usize = 7;

/// Parses a number of items to show.
pub(super) fn how_many(text: &str) -> Result<usize, String> {
    let count = text.parse().ok().filter(|count| *count > 0);
    count.ok_or_else(|| "a whole number from 1 on".to_owned())
}

pub(super) async fn run(
    context: &CommandContext<'_>,
    limit: usize,
    before: Option<&str>,
    as_json: bool,
) -> Result<u8, Failure> {
    let before = match before.map(|name| (name, RunId::from_str(name))) {
        None => None,
        // A full id contains its time, whether or not its run still exists.
        Some((_, Ok(id))) => Some(id),
        Some((name, Err(_))) => Some(context.service.runs.run_id(name).await?),
    };
    let runs = context.service.runs.list(RunFilter { limit, before, status: None }).await?;
    if runs.is_empty() && !as_json {
        context.console.say(&before.map_or_else(
            || format!("no runs yet: try `{} {}`", called::name(), called::of_demo("ask \"...\"", "demo")),
            |before| format!("no run is older than {before}"),
        ));
    }
    render(context, &runs, as_json);
    let damaged = runs.iter().filter(|run| run.is_damaged).count();
    if damaged > 0 {
        let next = vocabulary::describe(Code::Damaged.next());
        context.console.say(&format!(
            "warning[damaged]: {damaged} of these lines are not what was written (next: {next})"
        ));
    }
    Ok(exit::ANSWER)
}

/// Prints the runs: JSON, a table on a terminal, and for a pipe lines of fixed columns with the question at the end.
fn render(context: &CommandContext<'_>, runs: &[RunSummary], as_json: bool) {
    const COLUMNS: [Column; 6] = [
        Column::words("RUN", 26),
        Column::words("STATUS", 11),
        Column::numbers("ANSWERS").dropped(1),
        Column::numbers("COST").dropped(2),
        Column::words("AGE", 12).of_width(AGE_WIDTH).dropped(3),
        Column::words("QUESTION", QUESTION_CHARS_MAX).cut_to(QUESTION_WIDTH_MIN),
    ];
    if runs.is_empty() {
        return;
    }
    if as_json {
        context.console.data(&runs.iter().map(json_line).collect::<Vec<_>>().join("\n"));
    } else if context.console.is_page_on_terminal() {
        context.console.table(&COLUMNS, &runs.iter().map(row).collect::<Vec<_>>());
    } else {
        context.console.page(&runs.iter().map(line).collect::<Vec<_>>().join("\n"));
    }
}

fn json_line(run: &RunSummary) -> String {
    let mut line = json!({
        "run_id": run.run_id,
        "status": run.status,
        "question": run.question_excerpt,
        "asked_by": run.asked_by,
        "strategy": run.strategy,
        "seats": run.seats,
        "answered": run.answered,
        "cost_usd": cost(run).known.map(PicoUsd::as_usd),
        "cost_is_estimate": cost(run).is_estimate,
        "cost_lacks_calls": run.cost_lacks_calls,
        "created_at_ms": run.created_at_ms,
        "decided_at_ms": run.decided_at_ms,
        "closed_at_ms": run.closed_at_ms,
    });
    if run.is_damaged {
        line["is_damaged"] = json!(true);
    }
    line.to_string()
}

fn cost(run: &RunSummary) -> Cost {
    Cost::of_sum(run.cost, run.cost_lacks_calls, run.cost_is_estimate)
}

/// A run in the columns of the table.
fn row(run: &RunSummary) -> Vec<String> {
    vec![
        run.run_id.to_string(),
        run.status.as_str().to_owned(),
        format!("{} of {}", run.answered, run.seats),
        cost(run).short(),
        ago(run),
        question(run).to_owned(),
    ]
}

/// A run as one line with columns of a fixed width.
fn line(run: &RunSummary) -> String {
    format!(
        "{}  {:<11}  {:>2} of {:<2}  {:>9}  {:>8} ago  {}",
        run.run_id,
        run.status.as_str(),
        run.answered,
        run.seats,
        cost(run).short(),
        ago(run),
        excerpt(question(run), QUESTION_CHARS_MAX)
    )
}

fn ago(run: &RunSummary) -> String {
    age(clock::unix_ms().saturating_sub(u64::try_from(run.created_at_ms).unwrap_or(0)))
}

fn question(run: &RunSummary) -> &str {
    run.question_excerpt.as_deref().unwrap_or("(not kept)")
}
