//! `batch results`: what came of each line, as JSON lines or CSV.

use std::io::Write as _;
use std::path::PathBuf;

use parallel_llm_engine::value::next::Next;
use parallel_llm_engine::{Code, Failure};
use parallel_llm_service::JobOutcome;
use parallel_llm_settings::private_files;
use serde_json::Value;

use super::description::{BATCH_HELP, described_job};
use crate::command::context::CommandContext;
use crate::exit;

/// The columns of CSV.
const COLUMNS: [&str; 9] =
    ["line", "id", "status", "answer", "cost_usd", "cost_max_usd", "run_id", "error_code", "error_message"];

/// Print what came of each line
///
/// A line for each question that has ended, and for each line of the file that cannot be used, in the order of the file.
/// `status` is `complete`, `partial` (a seat is missing), `failed` or `bad`. Works while the batch is still in progress,
/// too. `runs show RUN` has everything about an answer.
///
/// Example: parallel-llm-mcp batch results -o answers.jsonl
#[derive(Debug, clap::Args)]
pub struct Results {
    #[arg(help = BATCH_HELP)]
    batch: Option<String>,
    /// The form of the lines
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Write them to this new file instead of stdout
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// The form of results.
#[derive(Clone, Copy, Debug, Default, clap::ValueEnum)]
enum Format {
    /// One JSON object a line
    #[default]
    Jsonl,
    /// Comma-separated values, as spreadsheets read them
    Csv,
}

/// Runs the command.
pub(super) async fn run(context: &CommandContext<'_>, results: Results) -> Result<u8, Failure> {
    let batches = &context.service.batches;
    let batch = batches.find(results.batch.as_deref()).await?;
    let mut sink = Sink::open(context, results.output)?;
    let mut outcomes = batches.results(batch.id).await?;
    if matches!(results.format, Format::Csv) {
        sink.put(&csv(COLUMNS.map(str::to_owned))).await?;
    }
    while let Some(outcome) = outcomes.next().await? {
        let object = object(&outcome);
        let line = match results.format {
            Format::Jsonl => object.to_string(),
            Format::Csv => csv(cells(&object)),
        };
        sink.put(&line).await?;
    }
    if batch.open() > 0 {
        context.console.say(&format!("{} lines have not ended yet", batch.open()));
    }
    Ok(exit::ANSWER)
}

/// Where results go.
enum Sink<'a> {
    Stdout(&'a CommandContext<'a>),
    File { path: PathBuf, file: std::io::BufWriter<std::fs::File> },
}

impl<'a> Sink<'a> {
    fn open(context: &'a CommandContext<'a>, output: Option<PathBuf>) -> Result<Self, Failure> {
        let Some(path) = output else { return Ok(Self::Stdout(context)) };
        let file = private_files::file_options().open(&path).map_err(|error| unwritable(&path, &error))?;
        Ok(Self::File { path, file: std::io::BufWriter::new(file) })
    }

    async fn put(&mut self, line: &str) -> Result<(), Failure> {
        match self {
            Self::Stdout(context) => {
                context.console.room().await;
                context.console.data(line);
                Ok(())
            }
            Self::File { path, file } => writeln!(file, "{line}").map_err(|error| unwritable(path, &error)),
        }
    }
}

fn unwritable(path: &std::path::Path, error: &std::io::Error) -> Failure {
    Failure::new(Code::OutputUnwritable, format!("`{}` cannot be written: {error}", path.display()))
        .with_next(Next::NameWith("--output".into()))
}

/// A line of the results.
fn object(outcome: &JobOutcome) -> Value {
    let mut object = described_job(&outcome.job);
    let report = outcome.report.as_ref();
    if let Some(report) = report {
        object["status"] = report.status.as_str().into();
    }
    object["answer"] = report.and_then(|report| report.answer.as_deref()).into();
    object["synthesis"] = report.and_then(|report| serde_json::to_value(&report.synthesis).ok()).into();
    object
}

/// The same in the columns of CSV.
fn cells(object: &Value) -> [String; 9] {
    let text = |value: &Value| match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let error = &object["error"];
    [
        text(&object["line"]),
        text(&object["id"]),
        text(&object["status"]),
        text(&object["answer"]),
        text(&object["cost_usd"]),
        text(&object["cost_max_usd"]),
        text(&object["run_id"]),
        text(&error["code"]),
        text(&error["message"]),
    ]
}

/// A row as RFC 4180 has it. A cell that a spreadsheet would take for a formula gets an apostrophe in front, because the
/// answers are strangers' text.
fn csv<const N: usize>(cells: [String; N]) -> String {
    let quoted = cells.map(|cell| {
        let is_formula = cell.starts_with(['=', '+', '-', '@', '\t', '\r']) && cell.parse::<f64>().is_err();
        let cell = if is_formula { format!("'{cell}") } else { cell };
        let is_plain = !cell.contains([',', '"', '\n', '\r']);
        if is_plain { cell } else { format!("\"{}\"", cell.replace('"', "\"\"")) }
    });
    quoted.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_quoted_and_no_formula_is_run() {
        let row = ["1", "a,b", "say \"x\"", "two\nlines", "=1+1", "-0.5"].map(str::to_owned);
        assert_eq!(csv(row), "1,\"a,b\",\"say \"\"x\"\"\",\"two\nlines\",'=1+1,-0.5");
    }
}
