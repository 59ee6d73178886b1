//! Following a run to its answer: shown as the terminal allows, given up on Ctrl-C without losing anything.

use std::time::Duration;

use parallel_llm_engine::call::hub::Update;
use parallel_llm_engine::run::{Run, RunStatus};
use parallel_llm_service::report::next_steps::render_next_steps;
use serde_json::{Value, json};

use super::CommandContext;
use crate::terminal::console::Console;
use crate::terminal::live;
use crate::terminal::plain;
use crate::terminal::summary;
use crate::terminal::vocabulary::COMMAND_LINE;
use parallel_llm_service::RunHandle;
use parallel_llm_service::report::Report;
use parallel_llm_settings::signals::{Signal, Signals};

/// Connections that can be closed are closed within this.
const AT_ONCE: Duration = Duration::from_secs(1);

/// How long the connections of late seats that can be closed are given to close: they take milliseconds.
const CLOSING: Duration = Duration::from_millis(300);

/// How a run is shown while it happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum View {
    /// As the terminal allows.
    People,
    /// Every durable event as one JSON object a line on stdout.
    Events,
    /// Not at all.
    Nothing,
}

/// How following a run ended.
pub(super) enum Followed {
    /// Its answer is settled.
    Decided(Box<Report>),
    /// A signal came; what had come is saved.
    Stopped(Signal),
}

/// What a signal does to the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leaving {
    /// It is given up; what is paid for anyway is read to its end.
    Cancel,
    /// It is given up, and every connection closed at once.
    Abort,
    /// It goes on without us.
    Watch,
}

/// Shows a run until its answer is settled, or until a signal comes.
pub(super) async fn follow(
    context: &CommandContext<'_>,
    handle: &RunHandle,
    view: View,
    leaving: Leaving,
    signals: &mut Signals,
) -> Followed {
    let shown = async {
        match view {
            View::People if !context.console.is_quiet() => show(&context.console, handle).await,
            View::Events => stream_events(context, handle).await,
            View::People | View::Nothing => {}
        }
        handle.wait(None).await
    };
    tokio::select! {
        report = shown => Followed::Decided(Box::new(report.in_vocabulary(&COMMAND_LINE))),
        signal = signals.next() => {
            leave(context, handle, leaving, signals).await;
            Followed::Stopped(signal)
        }
    }
}

/// Shows a run to people: first what it may cost, or how far it is where it began elsewhere, then what happens in it.
async fn show(console: &Console, handle: &RunHandle) {
    match (handle.beginning(), console.is_live()) {
        (Some((run, watch)), false) => plain::show(console, run, watch).await,
        (None, false) => {
            let (run, watch) = handle.watch_events();
            if run.status == RunStatus::Running {
                console.say(&plain::standing(&run));
            }
            plain::show(console, run, watch).await;
        }
        (beginning, true) => {
            if let Some((mut run, mut watch)) = beginning {
                plain::show_next(console, &mut run, &mut watch).await;
            }
            let (run, watch) = handle.watch();
            live::show(console, run, watch).await;
        }
    }
}

/// Leaves a run in the middle; a second signal leaves at once.
async fn leave(context: &CommandContext<'_>, handle: &RunHandle, leaving: Leaving, signals: &mut Signals) {
    if leaving == Leaving::Watch || !handle.is_here() {
        let id = handle.id();
        return context.console.insist(&format!("run {id} goes on; look again with `runs wait {id}`"));
    }
    context.console.insist(&format!(
        "stopping: what has come is saved in run {}; once more to stop at once",
        handle.id()
    ));
    if leaving == Leaving::Abort {
        handle.abort();
    }
    give_up(context, handle, signals).await;
    let (run, report) = (handle.snapshot(), handle.report().in_vocabulary(&COMMAND_LINE));
    summary::render(&context.console, &run, &report);
}

/// Gives a run up and waits until it is closed. What is paid for anyway is read to its end, for as long as the
/// settings allow; a signal ends that.
async fn give_up(context: &CommandContext<'_>, handle: &RunHandle, signals: &mut Signals) {
    handle.cancel();
    let closed = async {
        if tokio::time::timeout(AT_ONCE, handle.wait_closed()).await.is_err() {
            let open = handle.with_run(|run| run.awaited().count());
            let limit_s = context.service.settings.drain_ms / 1000;
            let answers = if open == 1 { "an answer that is" } else { "answers that are" };
            if open > 0 {
                context.console.say(&format!(
                    "waiting up to {limit_s} s for {answers} paid for either way; Ctrl-C leaves at once"
                ));
            }
            handle.wait_closed().await;
        }
    };
    tokio::select! {
        () = closed => {}
        _ = signals.next() => handle.abort(),
    }
}

/// Lets late seats end: waited for where that is wished, else given up and closed properly. A signal ends the
/// waiting, a second one the closing.
pub(super) async fn close(
    context: &CommandContext<'_>,
    handle: &RunHandle,
    linger: bool,
    signals: &mut Signals,
) -> Run {
    if linger {
        tokio::select! {
            _ = handle.wait_closed() => {}
            _ = signals.next() => {}
        }
    }
    if handle.is_here() && context.console.is_interactive() {
        give_up(context, handle, signals).await;
    } else if handle.is_here() {
        leave_behind(context, handle, signals).await;
    }
    handle.snapshot()
}

/// Lets late seats go at once: whoever reads the answer from a pipe has it only when this process has ended. What had
/// come of them is kept; what they cost can be asked of their providers when the run is gone on with.
async fn leave_behind(context: &CommandContext<'_>, handle: &RunHandle, signals: &mut Signals) {
    handle.cancel();
    if tokio::time::timeout(CLOSING, handle.closed()).await.is_ok() {
        return;
    }
    let late = handle.with_run(|run| run.awaited().count());
    if late > 0 {
        let answers = if late == 1 { "a late answer is" } else { "late answers are" };
        context
            .console
            .say(&format!("{answers} not waited for, though paid for either way; `--linger` waits"));
    }
    handle.abort();
    tokio::select! {
        () = handle.closed() => {}
        _ = signals.next() => {}
    }
}

async fn stream_events(context: &CommandContext<'_>, handle: &RunHandle) {
    let (mut run, mut watch) = handle.watch_events();
    while run.status == RunStatus::Running {
        let update = watch.next().await;
        if let Some(line) = event_line(handle, &update) {
            context.console.data(&line.to_string());
            context.console.room().await;
        }
        live::take(&mut run, update);
    }
}

/// What is told of an update as one JSON object: an event as it is, and the whole run where events were missed or
/// somebody else went on with it.
fn event_line(handle: &RunHandle, update: &Update) -> Option<Value> {
    match update {
        Update::Event(recorded) => {
            let mut json =
                serde_json::to_value(&**recorded).expect("an event is plain data with string keys");
            render_next_steps(&mut json, &COMMAND_LINE);
            if let (Some(fields), Some(answer)) = (json.get_mut("answer"), recorded.event.answer()) {
                fields["text"] = answer.text.as_ref().into();
            }
            Some(json)
        }
        Update::Snapshot(run) => Some(json!({
            "seq": run.seq,
            "elapsed_ms": run.elapsed_ms,
            "event": "snapshot",
            "report": handle.report_of(run).in_vocabulary(&COMMAND_LINE).to_json(),
        })),
        Update::Begun(_) | Update::Text { .. } => None,
    }
}
