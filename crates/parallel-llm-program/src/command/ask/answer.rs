//! Follows a run of `ask` to its answer, prints it, and gives the exit code.

use parallel_llm_engine::run::Run;
use parallel_llm_engine::{Code, Failure};

use super::answer_file::AnswerFile;
use super::question::Ask;
use crate::called;
use crate::command::context::CommandContext;
use crate::command::watch::view::{self, Followed, Late};
use crate::exit;
use crate::terminal::agreement;
use crate::terminal::console::Tone;
use crate::terminal::summary;
use crate::terminal::vocabulary;
use parallel_llm_service::RunHandle;
use parallel_llm_service::report::Report;
use parallel_llm_settings::clock;
use parallel_llm_settings::signals::{Signal, Signals};

/// The age in milliseconds beyond which interrupted runs are not mentioned after an answer: the user has had time to
/// continue them.
const REMINDED_MS: u64 = 7 * 24 * 60 * 60 * 1000;

/// A run that has begun, or the signal that came before it did. From its first request on a signal must not end the process
/// at once, so signals are received before.
pub(in crate::command) async fn begun(
    beginning: impl Future<Output = Result<RunHandle, Failure>>,
    signals: &mut Signals,
) -> Result<Result<RunHandle, Signal>, Failure> {
    tokio::select! {
        biased;
        handle = beginning => handle.map(Ok),
        signal = signals.next() => Ok(Err(signal)),
    }
}

/// Follows a run to its answer and prints it.
pub(in crate::command) async fn finish(
    context: &CommandContext<'_>,
    handle: &RunHandle,
    ask: &Ask,
    file: Option<AnswerFile>,
    mut signals: Signals,
) -> Result<u8, Failure> {
    if let Some(note) = handle.note() {
        context.console.say(&format!("{}; {}", note.message, vocabulary::describe(note.next_steps())));
    }
    let (mut report, hurried) =
        match view::follow(context, handle, ask.view(), ask.leaving(), &mut signals).await {
            Followed::Decided { report, hurried } => (*report, hurried),
            Followed::Stopped(signal) => {
                // A user who gives a run up does not expect its answer any more, although it is paid for.
                if handle.is_here() && handle.report().answer.is_some() && !handle.is_unstored() {
                    let (id, demo) = (handle.id(), called::demo_flag());
                    context.console.say(&format!("its answer is kept: see it with `runs show {id}{demo}`"));
                }
                return Ok(exit::of_signal(signal));
            }
        };
    let written = match (file, &report.answer) {
        (Some(file), Some(answer)) => file.write(answer, &mut signals).await,
        _ => Ok(()),
    };
    // A person sees the answer at once; a program gets it once, complete.
    if ask.linger && (ask.json || ask.jsonl) {
        view::close(context, handle, Late::Awaited, &mut signals).await;
        report = handle.wait(None).await.in_vocabulary(&vocabulary::COMMAND_LINE);
    }
    render(context, ask, handle, &report);
    let late = match (ask.linger, hurried || ask.wait.is_some()) {
        (true, _) => Late::Awaited,
        (false, true) => Late::Left,
        (false, false) => Late::Drained,
    };
    let run = view::close(context, handle, late, &mut signals).await;
    remind(context, ask).await;
    written.map(|()| exit_code(&run, ask.strict))
}

/// Prints the answer, then the summary.
fn render(context: &CommandContext<'_>, ask: &Ask, handle: &RunHandle, report: &Report) {
    if ask.json {
        context.console.data(&report.pretty());
    } else if ask.jsonl {
        context.console.data(&report.line());
    } else if let (Some(answer), None) = (&report.answer, &ask.output) {
        context.console.say("");
        context.console.answer(answer);
        context.console.say("");
    }
    if ask.diff && !ask.json && !ask.jsonl {
        for line in agreement::differences(report) {
            context.console.say(&line);
        }
    }
    let run = handle.snapshot();
    // `@` is the newest run, which a run that was given again or goes on need not be.
    let is_new = !ask.prompt.is_empty() && handle.note().is_none();
    summary::render(&context.console, &run, report, is_new.then_some("runs show @"));
    if let Some(failure) = run.failure().filter(|_| ask.quiet && !ask.json && !ask.jsonl) {
        context.console.fail(&failure, false);
    }
}

/// Names interrupted runs, which may have been paid for, if a person reads stderr. Called after the answer.
async fn remind(context: &CommandContext<'_>, ask: &Ask) {
    if !context.console.is_live() || ask.json || ask.jsonl {
        return;
    }
    let week_ago_ms = clock::unix_ms().saturating_sub(REMINDED_MS);
    let since_ms = i64::try_from(week_ago_ms).unwrap_or(i64::MAX);
    // An unreadable history is reported by the commands that need it.
    let runs = context.service.runs.interrupted_since(since_ms).await.unwrap_or_default();
    let line = match runs.as_slice() {
        [] => return,
        [run] => {
            let past = context.service.runs.load(run.run_id).await.ok();
            let Some(command) = past.and_then(|past| past.run.resuming()) else { return };
            format!("run {} was interrupted: {command} finishes it", run.run_id)
        }
        runs => format!(
            "{} runs of the last week were interrupted: `runs list` names them, `runs show RUN` says how to finish one",
            runs.len()
        ),
    };
    context.console.say(&context.console.tone(Tone::Warning, &line));
}

/// The exit code of a run.
pub(in crate::command) fn exit_code(run: &Run, strict: bool) -> u8 {
    if !run.is_decided() {
        return exit::of(Code::Interrupted);
    }
    let Some(outcome) = &run.outcome else { return exit::FAILED };
    if let Some(failure) = &outcome.failure {
        return exit::of_run(failure.code);
    }
    if strict && !run.is_as_asked() { exit::PARTIAL } else { exit::ANSWER }
}
