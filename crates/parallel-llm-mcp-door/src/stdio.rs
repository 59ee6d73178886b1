//! MCP on stdin and stdout: what a client starts, and what ends with it.
//!
//! It ends at the end of stdin (a client that dies closes it) or at a signal. Then nothing new is taken, calls under
//! way get what there is in time, runs under way end for as long as the settings say, and the process leaves. A signal
//! after the end of stdin means that it is to leave now: it saves what it has, and is gone within a second. A second
//! signal ends it at once, which its exit code says.

use std::io::{Read, Write};
use std::time::Duration;

use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::handler::{Handler, Reach};
use super::outbox::outbox;
use super::pipe;
use super::wire::{Stopping, Wire};
use parallel_llm_service::{Services, Shutdown};
use parallel_llm_settings::signals::{Signal, Signals};

/// The longest wait for a client to read what was written to it, once all is done.
const FLUSH_MAX: Duration = Duration::from_secs(1);

/// How long runs under way are waited for once the client has closed stdin and sends a signal. Clients close stdin, send
/// SIGTERM two to three seconds later, and kill two seconds after that; closing the store takes its share of those two.
const LEAVE_MAX: Duration = Duration::from_millis(500);

/// How a connection ends.
#[derive(Clone, Default)]
struct End {
    /// Set by the first signal, and at the end of stdin: nothing new is taken.
    stop: CancellationToken,
    /// Set by a signal after that end: nothing is waited for.
    leave: CancellationToken,
}

/// Serves the client on stdin and stdout to its end, and gives the second signal where that has ended it.
pub async fn run(service: Services) -> Option<Signal> {
    let mut signals = Signals::new();
    let end = End::default();
    let second_signal = async {
        let signal = signals.next().await;
        if end.stop.is_cancelled() {
            tracing::info!("{signal:?} after the end of stdin: leaving");
            end.leave.cancel();
        } else {
            tracing::info!("{signal:?}: stopping; a second signal stops at once");
            end.stop.cancel();
        }
        signals.next().await
    };
    tokio::select! {
        () = connect(&service, &end, std::io::stdin(), std::io::stdout()) => None,
        signal = second_signal => Some(signal),
    }
}

/// Serves one client on these two pipes to its end, and closes the service.
async fn connect<R, W>(service: &Services, end: &End, source: R, sink: W)
where
    R: Read + Send + 'static,
    W: Write + Send + 'static,
{
    let (output, lines) = outbox();
    let ends = pipe::read_lines(source).and_then(|input| Ok((input, pipe::write_lines(lines, sink)?)));
    let (input, written) = match ends {
        Ok(ends) => ends,
        Err(error) => return tracing::error!("no thread can be started for the client: {error}"),
    };
    let drain = Duration::from_millis(service.settings.drain_ms);
    let stop = &end.stop;
    let wire = Wire::new(input, output, Stopping::new(stop.clone(), drain));
    let close_by = async {
        stop.cancelled().await;
        Instant::now() + drain
    };
    let served = async {
        let shutdown = Shutdown::on(stop.clone(), drain);
        let handler = Handler::new(Reach::Pipes, service.clone(), shutdown);
        // Boxed, because what serves a client is kilobytes, which this future would hold else.
        Box::pin(super::serve(handler, wire)).await;
        // However it ended, nobody is there any more.
        stop.cancel();
    };
    let drained = Box::pin(async {
        let (close_by, ()) = tokio::join!(close_by, served);
        // A client that does not read its answers does not keep the process.
        let _ = timeout(FLUSH_MAX, written).await;
        service.close(close_by.saturating_duration_since(Instant::now())).await;
    });
    tokio::select! {
        () = drained => {}
        () = end.leave.cancelled() => service.close(LEAVE_MAX).await,
    }
}
