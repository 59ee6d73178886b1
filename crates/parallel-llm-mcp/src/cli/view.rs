//! Following a run to its answer: shown as the terminal allows, given up on Ctrl-C without losing anything.

use parallel_llm_engine::live::Update;
use parallel_llm_engine::run::Run;

use super::Desk;
use crate::exit;
use crate::output::report::Report;
use crate::output::{live, plain};
use crate::service::RunHandle;
use crate::shutdown::{Signal, Signals};

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

/// Shows a run until its answer is settled, or until a signal comes.
pub(super) async fn follow(
    desk: &Desk<'_>,
    handle: &RunHandle,
    view: View,
    signals: &mut Signals,
) -> Followed {
    let shown = async {
        match view {
            View::People if desk.console.is_live() => {
                let (run, watch) = handle.watch();
                live::show(&desk.console, run, watch).await;
            }
            View::People if !desk.console.is_quiet() => {
                let (run, watch) = handle.watch_events();
                plain::show(&desk.console, run, watch).await;
            }
            View::Events => stream_events(desk, handle).await,
            View::People | View::Nothing => {}
        }
        handle.wait(None).await
    };
    tokio::select! {
        report = shown => Followed::Decided(Box::new(report)),
        signal = signals.next() => {
            desk.console.insist(&format!(
                "stopping: what has come is saved in run {}; once more to stop at once",
                handle.id()
            ));
            handle.cancel();
            tokio::select! {
                _ = handle.wait_closed() => {}
                _ = signals.next() => {}
            }
            Followed::Stopped(signal)
        }
    }
}

/// Lets late seats end: waited for where that is wished, else given up and closed properly. A signal ends the
/// waiting, a second one the closing.
pub(super) async fn close(handle: &RunHandle, linger: bool, signals: &mut Signals) -> Run {
    if linger {
        tokio::select! {
            _ = handle.wait_closed() => {}
            _ = signals.next() => {}
        }
    }
    handle.cancel();
    tokio::select! {
        _ = handle.wait_closed() => {}
        _ = signals.next() => {}
    }
    handle.snapshot()
}

async fn stream_events(desk: &Desk<'_>, handle: &RunHandle) {
    let (mut run, mut watch) = handle.watch_events();
    while run.outcome.is_none() {
        let update = watch.next().await;
        if let Update::Event(recorded) = &update {
            let mut json =
                serde_json::to_value(&**recorded).expect("an event is plain data with string keys");
            if let (Some(fields), Some(answer)) = (json.get_mut("answer"), recorded.event.answer()) {
                fields["text"] = answer.text.as_ref().into();
            }
            desk.console.data(&json.to_string());
        }
        live::take(&mut run, update);
    }
}

/// The exit code of a run stopped by a signal.
pub(super) const fn stopped(signal: Signal) -> u8 {
    match signal {
        Signal::Interrupt => exit::INTERRUPTED,
        Signal::Terminate => exit::TERMINATED,
    }
}
