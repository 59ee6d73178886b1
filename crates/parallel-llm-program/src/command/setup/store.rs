//! `store`: checks, backs up, restores and copies the run database.

use std::path::PathBuf;

use parallel_llm_engine::value::next::Next;
use parallel_llm_engine::{Code, Failure, RunId};
use serde_json::{Value, json};

use crate::command::context::CommandContext;
use crate::exit;
use crate::terminal::console::Tone;
use parallel_llm_engine::text::safe;
use parallel_llm_service::{HistoryPlace, Integrity, StoreCheck, size};

/// The version of the JSON format.
const SCHEMA: u32 = 1;
/// The most damaged runs named; the JSON has all.
const NAMED_MAX: usize = 20;

/// Check, back up, restore and copy the run database
#[derive(Debug, clap::Subcommand)]
pub enum StoreCommand {
    Check(Check),
    Backup(Backup),
    Restore(Restore),
    Copy(Copy),
}

/// Check the run database
///
/// Reads its pages; with --read-data also every text and every row, and compares each with its hash or checksum.
/// Servers and runs go on in the meantime. Damaged runs are listed by id, and the exit code is then 7; it is 3 if an
/// hour was not enough.
///
/// Example: parallel-llm-mcp store check --read-data
#[derive(Debug, clap::Args)]
pub struct Check {
    /// Also compare every text and every row with what was written
    #[arg(long)]
    read_data: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Write a copy of the run database to a new file
///
/// The copy is a snapshot of the database. Servers and runs go on in the meantime. The file holds your questions and
/// answers, and its mode is 0600; an existing file is never overwritten.
///
/// Example: parallel-llm-mcp store backup runs-backup.db
#[derive(Debug, clap::Args)]
pub struct Backup {
    /// The new file
    file: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Replace the run database with a backup
///
/// The backup is checked first, and stays as it is. Nothing may have the database open: end servers and MCP clients
/// that use it. The current database is kept beside it, under a name that is printed. The backup does not know what
/// happened since: money spent since then does not count for the daily limit, and tokens revoked since then are valid
/// again.
///
/// Example: parallel-llm-mcp store restore runs-backup.db
#[derive(Debug, clap::Args)]
pub struct Restore {
    /// A file that `store backup` made
    file: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// Copy the history from a file to the server, or back
///
/// `server` is the database of the setting `database_url`, `file` the one in the data folder, and anything else is the
/// path of a file. The copy must be new or empty; it has the runs, what they cost, tokens and batches, and is read
/// again and compared with the original. Nothing may be in progress. The original stays as it is.
///
/// Example: parallel-llm-mcp store copy file server
///
/// Example: parallel-llm-mcp store copy server runs-of-the-server.db
#[derive(Debug, clap::Args)]
pub struct Copy {
    /// The original: `file`, `server` or a path
    from: String,
    /// The copy: `file`, `server` or a path
    to: String,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl StoreCommand {
    /// Whether errors are printed as JSON.
    pub const fn wants_json(&self) -> bool {
        match self {
            Self::Check(check) => check.json,
            Self::Backup(backup) => backup.json,
            Self::Restore(restore) => restore.json,
            Self::Copy(copy) => copy.json,
        }
    }
}

/// Runs the command.
pub(in crate::command) async fn run(
    context: &CommandContext<'_>,
    command: StoreCommand,
) -> Result<u8, Failure> {
    match command {
        StoreCommand::Check(check) => self::check(context, &check).await,
        StoreCommand::Backup(backup) => self::backup(context, &backup).await,
        StoreCommand::Restore(restore) => self::restore(context, &restore).await,
        StoreCommand::Copy(copy) => self::copy(context, &copy).await,
    }
}

async fn check(context: &CommandContext<'_>, check: &Check) -> Result<u8, Failure> {
    let looked = context.service.database.check(check.read_data).await?;
    if check.json {
        context.console.data(&format!("{:#}", checked(&looked, check.read_data)));
    } else {
        render(context, &looked, check.read_data);
    }
    Ok(match looked.soundness {
        Integrity::Damaged(_) => exit::STORAGE,
        _ if !looked.spills.damaged.is_empty() => exit::STORAGE,
        Integrity::Unfinished => exit::PARTIAL,
        Integrity::Intact => exit::ANSWER,
    })
}

fn checked(looked: &StoreCheck, read_data: bool) -> Value {
    let (state, troubles, damaged) = match &looked.soundness {
        Integrity::Intact => ("sound", Vec::new(), Vec::new()),
        Integrity::Unfinished => ("unfinished", Vec::new(), Vec::new()),
        Integrity::Damaged(damages) => ("damaged", damages.problems.clone(), damages.runs.clone()),
    };
    json!({
        "schema": SCHEMA,
        "state": state,
        "read_data": read_data,
        "runs": looked.runs,
        "bytes": looked.bytes,
        "troubles": troubles,
        "damaged_runs": damaged,
        "files_waiting": looked.spills.waiting,
        "files_damaged": looked.spills.damaged,
    })
}

fn render(context: &CommandContext<'_>, looked: &StoreCheck, read_data: bool) {
    let extent = format!("{} in {}", runs(looked.runs), size(looked.bytes));
    let warn =
        |line: &str| context.console.say(&context.console.tone(Tone::Warning, &safe::for_terminal(line)));
    match &looked.soundness {
        Integrity::Intact if read_data => context.console.say(&format!("{extent}: all is as it was written")),
        Integrity::Intact => {
            context
                .console
                .say(&format!("{extent}: its pages are whole; `--read-data` compares every text and row"));
        }
        Integrity::Unfinished => warn(&format!("{extent}: nothing is wrong with what was read in an hour")),
        Integrity::Damaged(damages) => {
            warn(&format!("{extent}: it is damaged"));
            for problem in &damages.problems {
                warn(&format!("- {}", problem.replace('\n', " ")));
            }
            name(context, &damages.runs);
            context.console.say(
                "next: restore a backup with `store restore FILE`, or leave it: the other runs are whole",
            );
        }
    }
    for (paths, what) in [
        (&looked.spills.waiting, "waits to be taken in"),
        (&looked.spills.damaged, "is damaged and was not taken in"),
    ] {
        for path in paths {
            warn(&format!("{} {what}", path.display()));
        }
    }
}

/// Prints the damaged runs as data, for scripts.
fn name(context: &CommandContext<'_>, damaged: &[RunId]) {
    let lines: Vec<String> = damaged.iter().take(NAMED_MAX).map(ToString::to_string).collect();
    if !lines.is_empty() {
        context.console.page(&lines.join("\n"));
    }
    if damaged.len() > NAMED_MAX {
        context.console.say(&format!("and {} more; `--json` names all", damaged.len() - NAMED_MAX));
    }
}

async fn backup(context: &CommandContext<'_>, backup: &Backup) -> Result<u8, Failure> {
    let (made, waiting) = context.service.database.back_up(&backup.file).await?;
    if backup.json {
        let object = json!({
            "schema": SCHEMA, "path": made.path, "runs": made.runs, "bytes": made.bytes, "files_waiting": waiting,
        });
        context.console.data(&format!("{object:#}"));
    } else {
        let path = safe::for_terminal(&made.path.display().to_string());
        context.console.say(&format!("{} in {}: {path}", runs(made.runs), size(made.bytes)));
    }
    if waiting > 0 {
        let line = format!(
            "{waiting} files with answers wait to be taken into the database and are not in the backup"
        );
        context.console.say(&context.console.tone(Tone::Warning, &line));
    }
    Ok(exit::ANSWER)
}

async fn restore(context: &CommandContext<'_>, restore: &Restore) -> Result<u8, Failure> {
    let restored = context.service.database.restore(&restore.file).await?;
    if restore.json {
        let object = json!({
            "schema": SCHEMA, "path": restored.path, "runs": restored.runs, "tokens": restored.tokens,
            "before": restored.before, "files_waiting": restored.waiting,
        });
        context.console.data(&format!("{object:#}"));
        return Ok(exit::ANSWER);
    }
    context.console.say(&format!("the run database now holds {}", runs(restored.runs)));
    if let Some(before) = &restored.before {
        let before = safe::for_terminal(&before.display().to_string());
        context.console.say(&format!("the database that was there is kept: {before}"));
    }
    if restored.tokens > 0 {
        let tokens = if restored.tokens == 1 {
            "1 access token".to_owned()
        } else {
            format!("{} access tokens", restored.tokens)
        };
        let line = format!("{tokens} came with the backup and may be used from now on: see `keys list`");
        context.console.say(&context.console.tone(Tone::Warning, &line));
    }
    if restored.waiting > 0 {
        let line = format!(
            "{} files with answers wait: those of runs that the backup has are taken in, the others kept",
            restored.waiting
        );
        context.console.say(&context.console.tone(Tone::Warning, &line));
    }
    Ok(exit::ANSWER)
}

async fn copy(context: &CommandContext<'_>, copy: &Copy) -> Result<u8, Failure> {
    let (from, to) = (place(&copy.from)?, place(&copy.to)?);
    let copied = context.service.database.copy(&from, &to).await?;
    if copy.json {
        let object = json!({ "schema": SCHEMA, "runs": copied.runs, "rows": copied.rows });
        context.console.data(&format!("{object:#}"));
        return Ok(exit::ANSWER);
    }
    let rows = copied.rows;
    context.console.say(&format!("{} copied: {rows} rows, each read again and compared", runs(copied.runs)));
    if to == HistoryPlace::Server {
        context.console.say("the file stays, and is used no more while `database_url` is set");
    } else {
        context.console.say("without `database_url`, the file in the data folder is used");
    }
    Ok(exit::ANSWER)
}

/// The database of this name. An address is no name; it may hold a password, so it is not repeated.
fn place(text: &str) -> Result<HistoryPlace, Failure> {
    match text {
        "file" => Ok(HistoryPlace::DataFolder),
        "server" => Ok(HistoryPlace::Server),
        address if address.contains("://") => {
            let message =
                "the address of a server is in the setting `database_url`; here it is called `server`";
            Err(Failure::new(Code::Usage, message).with_next([Next::Set("database_url".into())]))
        }
        path => Ok(HistoryPlace::File(path.into())),
    }
}

fn runs(count: u64) -> String {
    if count == 1 { "1 run".to_owned() } else { format!("{count} runs") }
}
