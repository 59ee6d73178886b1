//! Follows a run to its answer: shows it as the terminal allows, and gives it up on Ctrl-C without losing answers.

use std::time::Duration;

use parallel_llm_engine::call::hub::Update;
use parallel_llm_engine::run::{Run, RunStatus, SeatView};
use parallel_llm_engine::value::next::Next;
use parallel_llm_engine::{Code, Failure};
use parallel_llm_service::report::event::line::EventLine;

use crate::called;
use crate::command::context::CommandContext;
use crate::terminal::console::Console;
use crate::terminal::live::{self, Left};
use crate::terminal::missing::and;
use crate::terminal::plain;
use crate::terminal::summary;
use crate::terminal::verdict::sentence;
use crate::terminal::vocabulary::COMMAND_LINE;
use parallel_llm_service::RunHandle;
use parallel_llm_service::report::Report;
use parallel_llm_settings::signals::{Signal, Signals};

/// The time limit for closing connections at once.
const AT_ONCE: Duration = Duration::from_secs(1);

/// The longest wait for the connections of late seats to close, which takes milliseconds.
const CLOSING: Duration = Duration::from_millis(300);

/// How a run is shown while it happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::command) enum View {
    /// On stderr.
    Progress(ProgressStyle),
    /// Every stored event as one JSON object on each line of stdout.
    Events {
        /// Whether pieces of text are events, too.
        with_text: bool,
    },
    /// Not shown.
    Nothing,
}

/// What stderr shows of a run while it happens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum ProgressStyle {
    /// A live view on a terminal, else plain lines
    #[default]
    Auto,
    /// A live view; refused without a terminal
    Tty,
    /// A line for each event
    Plain,
    /// Each event as one JSON object a line, as `--jsonl` prints it on stdout
    Rawjson,
    /// Nothing
    Quiet,
}

impl ProgressStyle {
    /// Fails if stderr cannot show it.
    pub(in crate::command) fn check(self, console: &Console) -> Result<(), Failure> {
        if self != Self::Tty || console.is_live() {
            return Ok(());
        }
        let failure =
            Failure::new(Code::Usage, "`--progress tty` needs a terminal on stderr that is not dumb");
        Err(failure.with_next(Next::LeaveOut("--progress".into())))
    }
}

/// How following a run ended.
pub(in crate::command) enum Followed {
    /// The run is decided.
    Decided {
        report: Box<Report>,
        /// Whether the user wanted the answer before every seat had ended.
        hurried: bool,
    },
    /// A signal came; answers so far are saved.
    Stopped(Signal),
}

/// What a signal does to the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::command) enum Leaving {
    /// It is given up; replies that are paid for anyway are read to their end.
    Cancel,
    /// It is given up, and every connection is closed at once.
    Abort,
    /// It goes on in its own process.
    Watch,
}

/// Shows a run until it is decided or a signal comes.
pub(in crate::command) async fn follow(
    context: &CommandContext<'_>,
    handle: &RunHandle,
    view: View,
    leaving: Leaving,
    signals: &mut Signals,
) -> Followed {
    let shown = async {
        let mut hurried = false;
        match view {
            View::Progress(progress) if !context.console.is_quiet() => {
                match show(&context.console, handle, progress).await {
                    Left::ByKey => return None,
                    left => hurried = left == Left::Hurried,
                }
            }
            View::Events { with_text } => {
                stream_events(&context.console, handle, Lines::Data { with_text }).await;
            }
            View::Progress(_) | View::Nothing => {}
        }
        Some((handle.wait(None).await, hurried))
    };
    let signal = tokio::select! {
        report = shown => match report {
            Some((report, hurried)) => {
                let report = Box::new(report.in_vocabulary(&COMMAND_LINE));
                return Followed::Decided { report, hurried };
            }
            None => Signal::Interrupt,
        },
        signal = signals.next() => signal,
    };
    leave(context, handle, leaving, signals).await;
    Followed::Stopped(signal)
}

/// Shows a run to people: first its worst case, or its progress if it began in another process, then its events.
async fn show(console: &Console, handle: &RunHandle, progress: ProgressStyle) -> Left {
    let is_live = match progress {
        ProgressStyle::Quiet => return Left::Decided,
        ProgressStyle::Rawjson => {
            stream_events(console, handle, Lines::Messages).await;
            return Left::Decided;
        }
        ProgressStyle::Plain => false,
        ProgressStyle::Tty => true,
        ProgressStyle::Auto => console.is_live() && live::is_in_foreground(),
    };
    let beginning = handle.beginning();
    if is_live {
        if let Some((mut run, mut watch)) = beginning {
            plain::show_next(console, &mut run, &mut watch).await;
        }
        let left = live::show(console, handle).await;
        if left != Left::ToBackground {
            return left;
        }
        let (run, watch) = handle.watch_events();
        console.say(&plain::progress(&run));
        plain::show(console, run, watch).await;
        return Left::Decided;
    }
    let (run, watch) = beginning.unwrap_or_else(|| {
        let (run, watch) = handle.watch_events();
        if run.status == RunStatus::Running {
            console.say(&plain::progress(&run));
        }
        (run, watch)
    });
    plain::show(console, run, watch).await;
    Left::Decided
}

/// Leaves a run in progress; a second signal leaves at once.
async fn leave(context: &CommandContext<'_>, handle: &RunHandle, leaving: Leaving, signals: &mut Signals) {
    if leaving == Leaving::Watch || !handle.is_here() {
        let (id, demo) = (handle.id(), called::demo_flag());
        let line = format!("run {id} goes on; look again with `{} runs wait {id}{demo}`", called::name());
        return context.console.insist(&line);
    }
    context
        .console
        .insist(&format!("stopping: what has come is saved in run {}; Ctrl-C stops at once", handle.id()));
    if leaving == Leaving::Abort {
        handle.abort();
    }
    give_up(context, handle, signals).await;
    let (run, report) = (handle.snapshot(), handle.report().in_vocabulary(&COMMAND_LINE));
    summary::render(&context.console, &run, &report, None);
}

/// Gives a run up and waits until it is closed. Replies that are paid for anyway are read for as long as the settings
/// allow; a signal ends that.
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

/// What happens to seats that are late when the run is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::command) enum Late {
    /// They are waited for.
    Awaited,
    /// They are given up; a person waits for those that are paid for either way.
    Drained,
    /// They are given up at once, because the person did not want to wait.
    Left,
}

/// Waits for late seats if asked to, else gives them up and closes the run. A signal ends the wait, a second one the
/// closing.
pub(in crate::command) async fn close(
    context: &CommandContext<'_>,
    handle: &RunHandle,
    late: Late,
    signals: &mut Signals,
) -> Run {
    if late == Late::Awaited {
        let late: Vec<String> = handle.with_run(|run| run.awaited().map(SeatView::who).collect());
        let is_announced = context.console.is_interactive() && !late.is_empty();
        if is_announced {
            context.console.say(&format!("waiting for {}, as `--linger` asks; Ctrl-C leaves", and(&late)));
        }
        tokio::select! {
            _ = handle.wait_closed() => {}
            _ = signals.next() => {}
        }
        let run = handle.snapshot();
        let has_late = run.seats.iter().any(|seat| seat.late);
        if let Some(offer) = summary::offer(&run).filter(|_| is_announced && has_late) {
            context.console.say(&sentence(&offer));
        }
    }
    if handle.is_here() && context.console.is_interactive() && late != Late::Left {
        give_up(context, handle, signals).await;
    } else if handle.is_here() {
        leave_behind(context, handle, signals).await;
    }
    handle.snapshot()
}

/// Gives late seats up at once: a reader of a pipe gets the answer only when this process ends, and so does a person who
/// did not want to wait. Their partial answers
/// are kept, and resuming the run asks providers for their cost.
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

/// Where lines for programs go.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lines {
    /// To stdout, and pieces of text too if requested.
    Data { with_text: bool },
    /// To stderr.
    Messages,
}

async fn stream_events(console: &Console, handle: &RunHandle, lines: Lines) {
    let (mut run, mut watch) = handle.watch_events();
    if lines == (Lines::Data { with_text: true }) {
        watch = watch.with_texts();
    }
    while run.status == RunStatus::Running {
        let update = watch.next().await;
        if matches!(&update, Update::Event(recorded) if recorded.seq <= run.seq) {
            continue;
        }
        update.clone().apply_to(&mut run);
        let line = EventLine::of(&run, &update, &COMMAND_LINE, |run| handle.report_of(run));
        match lines {
            Lines::Data { .. } => {
                console.data(&line.to_json());
                console.room().await;
            }
            Lines::Messages => console.raw(&line.to_json()),
        }
    }
}
