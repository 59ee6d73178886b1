//! `runs cost`: what all upstream calls cost, by model, day, provider or token.

use parallel_llm_engine::{Failure, PicoUsd};
use serde_json::json;

use super::moment::Moment;
use crate::command::context::CommandContext;
use crate::exit;
use crate::terminal::table::Column;
use parallel_llm_service::report::counted::counted;
use parallel_llm_service::{CostBy, Costs, Spending};

/// The longest name that is shown whole: that of a model, with its provider. The longest known is under 80.
const NAME_CHARS_MAX: usize = 80;
/// The width to which names are cut on a narrow terminal: most are still told apart.
const NAME_WIDTH_MIN: usize = 24;
/// The version of the shape of the JSON.
const SCHEMA: u32 = 1;

/// Show what all calls cost, by model, day, provider or token
///
/// Counts every upstream call ever sent, including those of purged runs. Calls of unknown cost are counted separately,
/// never as free.
///
/// Example: parallel-llm-mcp runs cost --by day --since 30d
#[derive(Debug, clap::Args)]
pub struct Cost {
    /// What a line stands for
    #[arg(long, value_name = "WHAT", default_value = "model")]
    by: By,
    /// Only calls since then: a time ago such as 7d or 12h, or a day such as 2026-11-01 (UTC)
    #[arg(long, value_name = "WHEN", value_parser = Moment::read)]
    since: Option<Moment>,
    /// Print one JSON object
    #[arg(long)]
    pub(super) json: bool,
    /// Show what the calls of the demo would have cost
    #[arg(long)]
    pub(super) demo: bool,
}

/// The grouping of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum By {
    /// A model.
    Model,
    /// A day, in UTC.
    Day,
    /// A provider.
    Provider,
    /// A token that asked; `-` is you.
    Token,
}

impl By {
    /// The store's value, the JSON name, and the title of the column.
    const fn words(self) -> (CostBy, &'static str, &'static str) {
        match self {
            Self::Model => (CostBy::Model, "model", "MODEL"),
            Self::Day => (CostBy::Day, "day", "DAY"),
            Self::Provider => (CostBy::Provider, "provider", "PROVIDER"),
            Self::Token => (CostBy::Principal, "token", "TOKEN"),
        }
    }
}

/// Runs the command.
pub(super) async fn run(context: &CommandContext<'_>, cost: &Cost) -> Result<u8, Failure> {
    let (by, word, title) = cost.by.words();
    let since_ms = cost.since.map(Moment::unix_ms);
    let costs = context.service.statistics.costs(by, since_ms).await?;
    if cost.json {
        let object = json!({
            "schema": SCHEMA,
            "by": word,
            "since_ms": since_ms,
            "lines": costs.lines,
            "total": costs.total,
        });
        context.console.data(&format!("{object:#}"));
    } else {
        render(context, &costs, title);
    }
    Ok(exit::ANSWER)
}

fn render(context: &CommandContext<'_>, costs: &Costs, title: &'static str) {
    if costs.lines.is_empty() {
        context.console.say("no calls in this time: nothing was paid");
        return;
    }
    let columns = [
        Column::words(title, NAME_CHARS_MAX).cut_to(NAME_WIDTH_MIN),
        Column::numbers("RUNS").dropped(6),
        Column::numbers("CALLS").dropped(7),
        Column::numbers("FAILED").dropped(3),
        Column::numbers("TOKENS IN").dropped(4),
        Column::numbers("TOKENS OUT").dropped(5),
        Column::numbers("COST"),
        // The lines below the table say these two.
        Column::numbers("UNKNOWN").dropped(2),
        Column::numbers("ESTIMATED").dropped(1),
    ];
    let rows: Vec<Vec<String>> = costs.lines.iter().chain([&costs.total]).map(row).collect();
    context.console.table(&columns, &rows);
    let (unknown, estimated) = (costs.total.calls_of_unknown_cost, costs.total.calls_of_estimated_cost);
    if unknown > 0 {
        let most = costs.total.unknown_cost_max;
        let most = match most {
            PicoUsd::ZERO => String::new(),
            PicoUsd::MAX => ", and nobody knows how much more, since a price is unknown".to_owned(),
            most => format!(", and up to {most} more may have been"),
        };
        context.console.say(&format!(
            "what {} cost is unknown and not in the sum: it is the least that was paid{most}",
            counted(unknown, "call")
        ));
    }
    if estimated > 0 {
        context.console.say(&format!("what {} cost is computed from prices", counted(estimated, "call")));
    }
}

fn row(line: &Spending) -> Vec<String> {
    let name = line.name.clone().unwrap_or_else(|| "total".to_owned());
    let runs = line.runs.map(|runs| runs.to_string()).unwrap_or_default();
    let cost = line.known_cost().map_or_else(|| "unknown".to_owned(), |cost| cost.to_string());
    let counts =
        [line.calls, line.failed, line.input_tokens, line.output_tokens].map(|count| count.to_string());
    let unsure = [line.calls_of_unknown_cost, line.calls_of_estimated_cost].map(|count| count.to_string());
    [name, runs].into_iter().chain(counts).chain([cost]).chain(unsure).collect()
}
