//! `batch submit`: reads a file into the database, then works on it.

use std::fs::{File, FileType};
use std::io::Read;
use std::path::{Path, PathBuf};

use parallel_llm_engine::text::safe;
use parallel_llm_engine::value::next::Next;
use parallel_llm_engine::{Code, Failure, PicoUsd};
use parallel_llm_service::form::Given;
use parallel_llm_service::{Submission, Submitted};
use parallel_llm_settings::signals::Signals;
use serde_json::json;

use super::description::{SCHEMA, described};
use super::line::{self, LineDefaults};
use super::lines::FileLines;
use super::work::{self, Working};
use crate::called;
use crate::command::ask::piped;
use crate::command::ask::question::option;
use crate::command::ask::second_model::{check_each, check_synthesizer};
use crate::command::context::CommandContext;
use crate::exit;
use crate::terminal::console::Tone;
use parallel_llm_service::report::counted::counted;

/// The longest name of a file that is kept, in characters.
const NAME_CHARS_MAX: usize = 200;

/// Ask every line of a file
///
/// Each line is a JSON object with `prompt` or `messages`, and, if you like, `id`, `system`, `models`, `synthesizer`,
/// `strategy`, `preset`, `max_tokens`, `temperature`, `effort` and `budget_usd`. Batch files of OpenAI are taken, too.
/// All lines are checked before any is asked; a line that cannot be used is reported by its number, and the others are
/// asked. Whatever ends this command, `batch resume` goes on where it was.
///
/// Example: parallel-llm-mcp batch submit questions.jsonl --budget 20
///
/// Example: parallel-llm-mcp batch submit questions.jsonl --preset quick --detach
///
/// Example: parallel-llm-mcp batch submit questions.jsonl --dry-run
#[derive(Debug, clap::Args)]
pub struct Submit {
    /// The file; `-` reads stdin
    file: PathBuf,
    /// What the whole batch may cost, in USD; by default the setting `budget_usd`
    #[arg(long, value_name = "USD", value_parser = option("budget_usd", Given::usd), allow_negative_numbers = true)]
    budget: Option<PicoUsd>,
    /// A model to ask where a line names none, `[provider:]model[*N][@key=value,...]`; repeat for a panel
    #[arg(short, long = "model", value_name = "MODEL", conflicts_with = "preset")]
    models: Vec<String>,
    /// A named panel or flow where a line names none
    #[arg(long, value_name = "NAME")]
    preset: Option<String>,
    /// The synthesizer where a line names none, in front of those of the settings
    #[arg(long, value_name = "MODEL")]
    synthesizer: Option<String>,
    /// The strategy where a line names none
    #[arg(long, value_name = "STRATEGY")]
    strategy: Option<String>,
    /// Output cap of each call in tokens where a line has none, reasoning included
    #[arg(long, value_name = "TOKENS", value_parser = option("max_tokens", Given::tokens))]
    max_tokens: Option<u32>,
    /// Send lines even if they seem to hold keys or passwords
    #[arg(long)]
    allow_secret_file: bool,
    /// Also write the files of each run
    #[arg(long)]
    files: bool,
    /// Check every line and tell what all would cost, without asking
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    working: Working,
    /// Print one JSON object
    #[arg(long)]
    pub(super) json: bool,
}

/// Runs the command.
pub(super) async fn run(context: &CommandContext<'_>, submit: Submit) -> Result<u8, Failure> {
    let (file, shown) = (submit.file.clone(), format!("`{}`", submit.file.display()));
    // Opening a pipe waits for its writer.
    let opening = tokio::task::spawn_blocking(move || open(&file));
    let (source, name) = piped::announced(&context.console, &shown, opening).await?;
    let defaults = LineDefaults {
        models: submit.models,
        preset: submit.preset,
        synthesizer: submit.synthesizer,
        strategy: submit.strategy,
        max_tokens: submit.max_tokens,
        files: submit.files,
        allows_secrets: submit.allow_secret_file,
    };
    check_each(&defaults.models)?;
    check_synthesizer(defaults.synthesizer.as_deref())?;
    line::check(context.service, &defaults).await?;
    let batches = &context.service.batches;
    let mut submission = batches.submit(&name, submit.budget).await?;
    let mut signals = Signals::new();
    let read = tokio::select! {
        biased;
        signal = signals.next() => Err(exit::of_signal(signal)),
        read = add_all(context, &mut submission, source, &defaults) => Ok(read),
    };
    match read {
        Ok(Ok(())) => {}
        Ok(Err(failure)) => {
            submission.give_up().await;
            return Err(failure);
        }
        Err(code) => {
            submission.give_up().await;
            context.console.say("nothing was submitted, and nothing was asked");
            return Ok(code);
        }
    }
    if submit.dry_run {
        return Ok(report_dry_run(context, &submission.dry_run().await?, submit.json));
    }
    let submitted = submission.finish().await?;
    report(context, &submitted);
    if !submit.json {
        context.console.data(&submitted.batch.id.to_string());
        return work::on(context, &submitted.batch, &submit.working).await;
    }
    let code = work::on(context, &submitted.batch, &submit.working).await?;
    let mut object = described(&batches.get(submitted.batch.id).await?);
    object["schema"] = SCHEMA.into();
    context.console.data(&format!("{object:#}"));
    Ok(code)
}

/// Opens the file, and returns its name for people.
fn open(path: &Path) -> Result<(Box<dyn Read + Send>, String), Failure> {
    if path == Path::new("-") {
        return Ok((Box::new(std::io::stdin()), "stdin".to_owned()));
    }
    let shown = path.display();
    let unreadable = |error: std::io::Error| {
        Failure::new(Code::Usage, format!("`{shown}` cannot be read: {error}"))
            .with_next([Next::See("batch submit --help".into())])
    };
    let file = File::open(path).map_err(unreadable)?;
    let kind = file.metadata().map_err(unreadable)?.file_type();
    let refused = |what: &str| {
        let message = format!("`{shown}` is {what}; a batch is a file of lines");
        Failure::new(Code::Usage, message).with_next([Next::Type("batch submit questions.jsonl".into())])
    };
    if kind.is_dir() {
        return Err(refused("a folder"));
    }
    if is_device(kind) {
        // It may never end.
        return Err(refused("a device"));
    }
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Ok((Box::new(file), safe::excerpt(&name, NAME_CHARS_MAX)))
}

#[cfg(unix)]
fn is_device(kind: FileType) -> bool {
    use std::os::unix::fs::FileTypeExt;
    kind.is_char_device() || kind.is_block_device()
}

/// On other systems no file is one.
#[cfg(not(unix))]
const fn is_device(_: FileType) -> bool {
    false
}

/// Reads all lines into the batch.
async fn add_all(
    context: &CommandContext<'_>,
    submission: &mut Submission<'_>,
    source: Box<dyn Read + Send>,
    defaults: &LineDefaults,
) -> Result<(), Failure> {
    let (mut lines, mut is_first) = (FileLines::of(source), true);
    loop {
        // On another thread, since a pipe may be silent for long.
        let reading = tokio::task::spawn_blocking(move || {
            let chunk = lines.next_chunk();
            (lines, chunk)
        });
        let (rest, chunk) = piped::announced(&context.console, "the file", reading).await;
        lines = rest;
        let chunk = chunk?;
        if chunk.is_empty() {
            return Ok(());
        }
        // Its single lines may look like some of a batch.
        if is_first && chunk[0].text.as_ref().is_ok_and(|text| text.trim_start().starts_with('[')) {
            let message = "the file is one JSON list; a batch has a JSON object on each line";
            let line = format!("jq -c '.[]' FILE | {} batch submit -", called::name());
            return Err(Failure::new(Code::Usage, message).with_next(Next::Type(line.into())));
        }
        is_first = false;
        for line in chunk {
            submission.add(line::read(context.service, line, defaults).await).await?;
        }
    }
}

/// Says what submitting the file would cost.
fn report_dry_run(context: &CommandContext<'_>, submitted: &Submitted, json: bool) -> u8 {
    let Submitted { batch, cost, .. } = submitted;
    let (questions, more) = (batch.open(), name_bad(context, submitted));
    if more > 0 {
        context.console.say(&format!("and {more} more"));
    }
    if json {
        let known = cost.worst_case.known();
        let object = json!({
            "schema": SCHEMA,
            "questions": questions,
            "bad": batch.bad,
            "cost_likely_usd": cost.likely().map(PicoUsd::as_usd),
            "cost_max_usd": known.map(|_| cost.most.min(batch.budget).as_usd()),
            "unpriced_models": cost.worst_case.unpriced().iter().map(ToString::to_string).collect::<Vec<_>>(),
            "budget_usd": batch.budget.limit_as_usd(),
        });
        context.console.data(&format!("{object:#}"));
    } else {
        let (questions, cost) = (counted(questions, "question"), cost.explained());
        let budget = batch.budget;
        context.console.page(&format!(
            "Nothing was asked. The file has {questions}.\nCost: {cost}. The budget is {budget}."
        ));
    }
    say_if_beyond(context, submitted, "to ask everything, type", "batch submit FILE");
    if batch.bad > 0 { exit::PARTIAL } else { exit::ANSWER }
}

/// Says what was submitted.
fn report(context: &CommandContext<'_>, submitted: &Submitted) {
    let Submitted { batch, cost, .. } = submitted;
    let console = &context.console;
    console.say(&format!(
        "batch {}: {}, {cost}. The budget is {}.",
        batch.id,
        counted(batch.open(), "question"),
        batch.budget
    ));
    let more = name_bad(context, submitted);
    if more > 0 {
        console.say(&format!("and {more} more: `batch results {}` names all", batch.id));
    }
    say_if_beyond(context, submitted, "then go on with", &format!("batch resume {}", batch.id));
}

/// Says so if the batch may cost more than its budget, with the command that goes on then.
fn say_if_beyond(context: &CommandContext<'_>, submitted: &Submitted, goes_on: &str, command: &str) {
    let most = submitted.cost.worst_case.known_part();
    if most > submitted.batch.budget {
        let most = most.rounded_up_to_cents().as_usd();
        context.console.say(&format!(
            "the batch pauses when its budget is used up; {goes_on} `{command} --budget {most}`"
        ));
    }
}

/// Names the first lines that cannot be used, as warnings, and returns how many there are besides.
fn name_bad(context: &CommandContext<'_>, submitted: &Submitted) -> u64 {
    let Submitted { batch, bad, .. } = submitted;
    let console = &context.console;
    for (line, why) in bad {
        let text = safe::for_terminal(&format!("line {line} is left out: {}", why.message));
        console.say(&console.tone(Tone::Warning, &text));
    }
    batch.bad.saturating_sub(bad.len() as u64)
}
