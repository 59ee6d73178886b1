//! `doctor`: checks everything that a run needs, with remedies.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use parallel_llm_engine::value::next::Next;
use parallel_llm_engine::{Code, Failure};

use crate::command::context::CommandContext;
use crate::command::json::pretty;
use crate::command::watch::view::{self, Followed, Late, Leaving, View};
use crate::exit;
use crate::terminal::console::{Console, Tone};
use crate::terminal::vocabulary::COMMAND_LINE;
use parallel_llm_service::{Depth, Diagnosis, Finding, Health, Probe, ProbeReport, Remedy};
use parallel_llm_settings::private_files;
use parallel_llm_settings::signals::Signals;

/// What stands before the second line of a finding.
const INDENT: &str = "         ";

/// Check that everything is ready for a run
///
/// Checks settings, keys, models, local servers, the clock, folders, the database, limits and MCP clients concurrently.
/// It asks no model and costs nothing, unless --deep is given; missing folders and a missing database are created.
/// Exits with 0 if nothing failed, else with 1.
///
/// Example: parallel-llm-mcp doctor --deep
#[derive(Clone, Debug, clap::Args)]
pub struct Doctor {
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
    /// Also ask each model of the panel for a word, after showing the possible cost, and check the whole database
    #[arg(long)]
    pub deep: bool,
    /// Show every check, also those that passed
    #[arg(short = 'v', long = "all", visible_alias = "verbose")]
    pub all: bool,
    /// Pay for --deep without being asked
    #[arg(long, requires = "deep")]
    pub yes: bool,
    /// Also exit with 1 if there are warnings
    #[arg(long)]
    pub strict: bool,
    /// Also write a report for others to this new file, without keys, questions, answers or your name
    #[arg(long, value_name = "FILE")]
    pub bundle: Option<PathBuf>,
}

/// Runs the command.
pub(in crate::command) async fn run(context: &CommandContext<'_>, doctor: &Doctor) -> Result<u8, Failure> {
    if doctor.deep && !doctor.yes && !std::io::stdin().is_terminal() {
        let message = "`--deep` asks models, which costs money, and nobody is there to say yes";
        return Err(Failure::new(Code::Usage, message).with_next(Next::Type("doctor --deep --yes".into())));
    }
    // Checked before anything is paid. Writing the file checks again that it overwrites nothing.
    if let Some(path) = &doctor.bundle {
        check_new(path)?;
    }
    let depth = if doctor.deep { Depth::Deep } else { Depth::Quick };
    let mut diagnosis = context.service.doctor.examine(depth).await;
    diagnosis.add([terminal(&context.console)]);
    if doctor.deep
        && let Some(code) = probe(context, doctor.yes, &mut diagnosis).await
    {
        return Ok(code);
    }
    if let Some(path) = &doctor.bundle {
        write(path, &pretty(&context.service.doctor.bundle(&diagnosis).await?))?;
    }
    let diagnosis = diagnosis.in_vocabulary(&COMMAND_LINE);
    render(context, doctor, &diagnosis);
    Ok(match diagnosis.state {
        Health::Failed => exit::FAILED,
        Health::Warning if doctor.strict => exit::FAILED,
        Health::Warning | Health::Ok => exit::ANSWER,
    })
}

/// Asks each model of the panel once, if the user agrees. Returns the exit code if it was stopped.
async fn probe(context: &CommandContext<'_>, is_agreed: bool, diagnosis: &mut Diagnosis) -> Option<u8> {
    let planned = match context.service.doctor.plan_probe().await {
        Ok(planned) => planned,
        Err(failure) => {
            diagnosis.add([ProbeReport::refused(&failure)]);
            return None;
        }
    };
    if !agrees(context, is_agreed, &planned).await {
        context.console.say("no model was asked");
        return None;
    }
    let handle = match context.service.doctor.probe(planned).await {
        Ok(handle) => handle,
        Err(failure) => {
            diagnosis.add([ProbeReport::refused(&failure)]);
            return None;
        }
    };
    let mut signals = Signals::new();
    let followed = view::follow(context, &handle, View::Nothing, Leaving::Cancel, &mut signals).await;
    if let Followed::Stopped(signal) = followed {
        return Some(exit::of_signal(signal));
    }
    view::close(context, &handle, Late::Awaited, &mut signals).await;
    let report = ProbeReport::of(&handle.report());
    diagnosis.add(report.findings());
    diagnosis.probe = Some(report);
    None
}

/// Shows the cost, and asks for agreement unless it was given.
async fn agrees(context: &CommandContext<'_>, is_agreed: bool, planned: &Probe) -> bool {
    let offer = planned.offer();
    if is_agreed {
        context.console.say(&format!("`--deep` {offer}"));
        return true;
    }
    context.console.say(&format!("`--deep` {offer}."));
    context.console.write("Go on? [y/N] ");
    let read = || {
        let mut line = String::new();
        // An unreadable stdin is no agreement.
        std::io::stdin().read_line(&mut line).map(|_| line).unwrap_or_default()
    };
    let line = tokio::task::spawn_blocking(read).await.unwrap_or_default();
    context.console.end_reply(&line);
    matches!(line.trim().to_lowercase().as_str(), "y" | "yes")
}

/// The finding on the terminal.
fn terminal(console: &Console) -> Finding {
    let described = |state, found: String, next: Option<&str>| {
        Finding::described("terminal", state, found, next.map(Into::into))
    };
    if !console.is_live() {
        return described(Health::Ok, "stderr is no terminal: a run is told line by line".to_owned(), None);
    }
    let colours = if console.is_coloured() { "with colours" } else { "without colours" };
    let found = format!("{} columns, {colours}", console.columns());
    match console.is_utf8() {
        Some(false) => {
            let next = "`export LC_ALL=C.UTF-8`, or another locale that ends in `UTF-8`";
            let found = format!("{found}; its locale is not UTF-8, so that answers may be garbled");
            described(Health::Warning, found, Some(next))
        }
        Some(true) => described(Health::Ok, format!("{found}, UTF-8"), None),
        None => described(Health::Ok, found, None),
    }
}

/// Fails if a new file cannot be made there, as far as that can be checked.
fn check_new(path: &Path) -> Result<(), Failure> {
    if path.symlink_metadata().is_ok() {
        return Err(unwritable(path, "there is something of that name"));
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if folder.is_dir() { Ok(()) } else { Err(unwritable(path, "there is no such folder")) }
}

/// Writes a private file, and never overwrites one.
fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let opened = private_files::file_options().open(path);
    let mut file = opened.map_err(|error| unwritable(path, &error.to_string()))?;
    file.write_all(text.as_bytes()).map_err(|error| {
        // Half a report is useless. If it cannot be removed, the error names the path.
        let _ = std::fs::remove_file(path);
        unwritable(path, &error.to_string())
    })
}

fn unwritable(path: &Path, why: &str) -> Failure {
    let message = format!("the report `{}` cannot be written: {why}", path.display());
    Failure::new(Code::OutputUnwritable, message).with_next(Next::NameWith("--bundle".into()))
}

fn render(context: &CommandContext<'_>, doctor: &Doctor, diagnosis: &Diagnosis) {
    if doctor.json {
        context.console.data(&pretty(diagnosis));
    } else {
        context.console.prose(&page(&diagnosis.findings, doctor.all), INDENT);
        context.console.say(&verdict(context, &diagnosis.findings));
    }
    if let Some(path) = &doctor.bundle {
        context
            .console
            .say(&format!("the report is in `{}`: look through it before you send it", path.display()));
    }
}

/// The findings as lines, the worst first. A remedy for several is given once. What passed is one line, unless `is_whole`.
fn page(findings: &[Finding], is_whole: bool) -> Vec<String> {
    let of = |state| findings.iter().filter(move |finding| finding.state == state);
    let mut reported: Vec<&Remedy> = Vec::new();
    let mut lines = Vec::new();
    for finding in of(Health::Failed).chain(of(Health::Warning)) {
        let next = finding.next.as_ref().filter(|next| !reported.contains(next));
        reported.extend(next);
        lines.push(line(finding, next));
    }
    if is_whole {
        lines.extend(of(Health::Ok).map(|finding| line(finding, None)));
    } else {
        lines.extend(passed(of(Health::Ok)));
    }
    lines
}

/// A finding with a remedy.
fn line(finding: &Finding, next: Option<&Remedy>) -> String {
    let next = next.map(|next| format!(" (next: {})", next.render(&COMMAND_LINE)));
    format!("{:<7}  {}: {}{}", finding.state.word(), finding.check, finding.found, next.unwrap_or_default())
}

/// What passed, as one line: `14 checks passed: program, settings, ...`
fn passed<'f>(findings: impl Iterator<Item = &'f Finding>) -> Option<String> {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for finding in findings {
        match counts.iter_mut().find(|(check, _)| *check == finding.check) {
            Some((_, count)) => *count += 1,
            None => counts.push((finding.check, 1)),
        }
    }
    let all: usize = counts.iter().map(|(_, count)| count).sum();
    let named = counts.iter().map(|(check, count)| match count {
        1 => (*check).to_owned(),
        count => format!("{check} ({count})"),
    });
    let named = named.collect::<Vec<_>>().join(", ");
    let checks = if all == 1 { "check" } else { "checks" };
    (all > 0).then(|| format!("{:<7}  {all} {checks} passed: {named}; `doctor --all` shows each", "ok"))
}

fn verdict(context: &CommandContext<'_>, findings: &[Finding]) -> String {
    let count = |state| findings.iter().filter(|finding| finding.state == state).count();
    let (failed, warnings) = (count(Health::Failed), count(Health::Warning));
    let text = format!("{failed} failed, {warnings} to look at, {} ok", count(Health::Ok));
    let tone = match (failed, warnings) {
        (0, 0) => Tone::Good,
        (0, _) => Tone::Warning,
        _ => Tone::Bad,
    };
    context.console.tone(tone, &text)
}
