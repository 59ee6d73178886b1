//! MCP on stdin and stdout: the server that a client starts.
//!
//! It ends at the end of stdin (a dying client closes it) or at a signal. Then it accepts nothing new, answers open
//! calls in time with what is there, waits for runs in progress for as long as the settings say, and exits. A signal
//! after the end of stdin means to leave now: it saves what it has and exits within a second. A second signal ends it
//! at once, which its exit code shows.

use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use rmcp::service::{RoleServer, ServerInitializeError};
use rmcp::transport::IntoTransport;
use rmcp::{ServerHandler, ServiceExt};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::outbox::{Outbox, outbox};
use super::pipe::{self, Heard};
use super::wire::{Stopping, Wire};
use crate::handler::{Handler, Reach};
use crate::protocol::line::Line;
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

/// How serving on pipes ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The client is gone.
    Served,
    /// What came on stdin is text, and no message of a client.
    NoClient,
    /// A second signal came.
    Signal(Signal),
}

/// Serves the client on stdin and stdout. The owner has started the client on this machine, so it may attach files where the
/// owner allows that.
pub async fn run(service: Services) -> Ended {
    let service = service.with_files();
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
    let heard = Arc::new(Heard::default());
    tokio::select! {
        () = connect(&service, &end, &heard, std::io::stdin(), std::io::stdout()) => {
            if heard.is_no_client() { Ended::NoClient } else { Ended::Served }
        }
        signal = second_signal => Ended::Signal(signal),
    }
}

/// Serves the client on stdin and stdout until stdin ends, or until `stop`: then open calls are answered in time. Handles no
/// signal, and leaves the service and its runs as they are.
pub async fn run_until(service: &Services, stop: &CancellationToken) -> std::io::Result<()> {
    let pipes = Pipes::open(std::io::stdin(), std::io::stdout(), Arc::default())?;
    // However it ended, the client is gone; the caller's own token is not ours to set.
    pipes.serve(service, &stop.child_token()).await;
    Ok(())
}

/// Serves one client on these two pipes, then closes the service.
async fn connect<R, W>(service: &Services, end: &End, heard: &Arc<Heard>, source: R, sink: W)
where
    R: Read + Send + 'static,
    W: Write + Send + 'static,
{
    let pipes = match Pipes::open(source, sink, Arc::clone(heard)) {
        Ok(pipes) => pipes,
        Err(error) => return tracing::error!("no thread can be started for the client: {error}"),
    };
    let drain = Duration::from_millis(service.settings.drain_ms);
    let close_by = async {
        end.stop.cancelled().await;
        Instant::now() + drain
    };
    let drained = Box::pin(async {
        let (close_by, ()) = tokio::join!(close_by, pipes.serve(service, &end.stop));
        service.close(close_by.saturating_duration_since(Instant::now())).await;
    });
    tokio::select! {
        () = drained => {}
        () = end.leave.cancelled() => service.close(LEAVE_MAX).await,
    }
}

/// The two pipes of a client, each with a thread of its own.
struct Pipes {
    input: mpsc::Receiver<Line>,
    output: Outbox,
    written: oneshot::Receiver<()>,
}

impl Pipes {
    fn open<R, W>(source: R, sink: W, heard: Arc<Heard>) -> std::io::Result<Self>
    where
        R: Read + Send + 'static,
        W: Write + Send + 'static,
    {
        let (output, lines) = outbox();
        let input = pipe::read_lines(source, heard)?;
        Ok(Self { input, output, written: pipe::write_lines(lines, sink)? })
    }

    /// Serves the client until its pipe ends or until `stop`, which is set at the end in any case. Boxed, so that the protocol
    /// library is compiled here, once, and not again for each crate that awaits it.
    fn serve<'a>(self, service: &'a Services, stop: &'a CancellationToken) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let drain = Duration::from_millis(service.settings.drain_ms);
            let wire = Wire::new(self.input, self.output, Stopping::new(stop.clone(), drain));
            let shutdown = Shutdown::on(stop.clone(), drain);
            let handler = Handler::new(Reach::Pipes, service.clone(), shutdown);
            serve(handler, wire).await;
            // However it ended, the client is gone.
            stop.cancel();
            // A client that does not read its answers must not hold up the process.
            let _ = timeout(FLUSH_MAX, self.written).await;
        })
    }
}

/// Serves one connection to its end.
async fn serve<T, E, A>(handler: impl ServerHandler, transport: T)
where
    T: IntoTransport<RoleServer, E, A>,
    E: std::error::Error + Send + Sync + 'static,
{
    let running = match handler.serve(transport).await {
        Ok(running) => running,
        // Some clients only check that a server starts.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => return,
        Err(error) => return tracing::warn!("the connection did not begin: {error}"),
    };
    if let Err(error) = running.waiting().await {
        tracing::error!("the connection broke: {error}");
    }
}
