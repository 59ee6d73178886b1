//! MCP on stdin and stdout: the server that a client starts.
//!
//! It ends at the end of stdin (a dying client closes it) or at a signal. Then it accepts nothing new, answers open
//! calls in time with what is there, waits for runs in progress for as long as the settings say, and exits. A signal
//! after the end of stdin means to leave now: it saves what it has and exits within a second. A second signal ends it
//! at once, which its exit code shows.

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

/// The longest wait for a client to read the last lines.
const FLUSH_MAX: Duration = Duration::from_secs(1);

/// The longest wait for runs after the end of stdin and a signal. Clients close stdin, send SIGTERM two to three
/// seconds later, and SIGKILL two seconds after that; closing the store takes a part of those two.
const LEAVE_MAX: Duration = Duration::from_millis(500);

/// The stages of a connection's end.
#[derive(Clone, Default)]
struct End {
    /// Set by the first signal and by the end of stdin: nothing new is accepted.
    stop: CancellationToken,
    /// Set by a signal after the end of stdin: nothing is waited for.
    leave: CancellationToken,
}

/// Serves the client on stdin and stdout. Returns the second signal if it ended the server.
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

/// Serves one client on these two pipes, then closes the service.
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
        // Boxed, because the serving future is kilobytes, which this future would hold otherwise.
        Box::pin(super::serve(handler, wire)).await;
        // However it ended, the client is gone.
        stop.cancel();
    };
    let drained = Box::pin(async {
        let (close_by, ()) = tokio::join!(close_by, served);
        // A client that does not read its answers must not hold up the process.
        let _ = timeout(FLUSH_MAX, written).await;
        service.close(close_by.saturating_duration_since(Instant::now())).await;
    });
    tokio::select! {
        () = drained => {}
        () = end.leave.cancelled() => service.close(LEAVE_MAX).await,
    }
}
