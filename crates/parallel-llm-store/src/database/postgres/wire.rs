//! Connects to the server, and moves the bytes of all connections on a thread of its own.
//!
//! The driver is asynchronous, and the store's readers and writer wait. A statement is a future that needs no runtime: it
//! waits for a channel that the connection fills on its thread. So whoever sends one waits for it here, however its thread
//! came about, with a deadline of its own, and may drop its connection anywhere. The driver's own blocking client would
//! allow neither inside a runtime, where the writer is.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::{broadcast, oneshot};
use tokio_postgres::{AsyncMessage, Client, Config};
use tokio_util::sync::CancellationToken;

use super::notify;
use super::tls::Connector;
use super::url::ServerUrl;
use crate::history::changes::Change;
use crate::system::clock;
use crate::system::error::{DatabaseError, DatabaseErrorKind};

/// Longest wait for a connection, with its encryption and its password.
const CONNECT_MAX: Duration = Duration::from_secs(10);
/// A server that was cut off without a word is noticed by these: silence before it is asked whether it is there, the pause
/// between such questions, and how many go without an answer.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(10);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
const KEEPALIVE_RETRIES: u32 = 3;
/// How long sent bytes may stay unconfirmed before the system gives the connection up.
const UNCONFIRMED_MAX: Duration = Duration::from_secs(15);

/// The pause before a connection that listens is opened again.
const LISTEN_AGAIN: Duration = Duration::from_secs(1);

/// The way to a server.
#[derive(Debug)]
pub(super) struct Wire {
    config: Config,
    connector: Debugless<Connector>,
    /// The runtime of the thread that moves the bytes.
    runtime: Handle,
    /// Ends that thread, and with it all connections.
    stop: CancellationToken,
}

/// A value without a printed form.
struct Debugless<T>(T);

impl<T> std::fmt::Debug for Debugless<T> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("_")
    }
}

impl Wire {
    /// The way to this server. Does not connect.
    pub(super) fn to(url: &ServerUrl) -> Result<Self, DatabaseError> {
        let connector = Connector::of(&url.trust).map_err(denied)?;
        let mut config = Config::clone(&url.config);
        config
            .connect_timeout(CONNECT_MAX)
            .keepalives_idle(KEEPALIVE_IDLE)
            .keepalives_interval(KEEPALIVE_INTERVAL)
            .keepalives_retries(KEEPALIVE_RETRIES)
            .tcp_user_timeout(UNCONFIRMED_MAX);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|cause| DatabaseError { kind: DatabaseErrorKind::Other, cause: cause.into() })?;
        let (handle, stop) = (runtime.handle().clone(), CancellationToken::new());
        let stopped = stop.clone();
        thread::Builder::new()
            .name("store connections".to_owned())
            .spawn(move || {
                runtime.block_on(stopped.cancelled());
                // A look-up of a host name may take longer than anyone wants to wait.
                runtime.shutdown_background();
            })
            .map_err(|cause| DatabaseError { kind: DatabaseErrorKind::Other, cause: cause.into() })?;
        Ok(Self { config, connector: Debugless(connector), runtime: handle, stop })
    }

    /// Opens a connection within this time.
    pub(super) fn connect(&self, within: Duration) -> Result<Client, DatabaseError> {
        let (reply, opened) = oneshot::channel();
        let (config, connector) = (self.config.clone(), self.connector.0.clone());
        let task = self.runtime.spawn(async move {
            match config.connect(connector).await {
                Err(cause) => drop(reply.send(Err(cause))),
                Ok((client, connection)) => {
                    // Whoever asked may have left: then the client is dropped here, and the connection ends.
                    if reply.send(Ok(client)).is_ok() {
                        // Its end is told to the client, whose next statement fails.
                        drop(connection.await);
                    }
                }
            }
        });
        let until = clock::shared_now() + within.min(CONNECT_MAX);
        match wait(opened, until) {
            Some(Ok(Ok(client))) => Ok(client),
            Some(Ok(Err(cause))) => Err(cause.into()),
            Some(Err(_)) => Err(away("the connection was given up")),
            None => {
                task.abort();
                Err(silent())
            }
        }
    }

    /// Passes on the notifications that this command listens to, on a connection of its own that is opened again when it
    /// has ended, for as long as this value lives.
    pub(super) fn listen(&self, command: String, watchers: broadcast::Sender<Change>) {
        let (config, connector) = (self.config.clone(), self.connector.0.clone());
        self.runtime.spawn(async move {
            loop {
                // Whatever went wrong, watchers look by themselves meanwhile.
                let _ = listen(&config, connector.clone(), &command, &watchers).await;
                tokio::time::sleep(LISTEN_AGAIN).await;
            }
        });
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Listens until the connection ends.
async fn listen(
    config: &Config,
    connector: Connector,
    command: &str,
    watchers: &broadcast::Sender<Change>,
) -> Result<(), tokio_postgres::Error> {
    let (client, mut connection) = config.connect(connector).await?;
    let hearing = async {
        while let Some(message) = poll_fn(|context| connection.poll_message(context)).await {
            if let AsyncMessage::Notification(told) = message? {
                // Nobody may be watching at the moment.
                drop(watchers.send(notify::read(told.payload())));
            }
        }
        Ok(())
    };
    let listening = async {
        client.batch_execute(command).await?;
        // What was told before is unknown.
        drop(watchers.send(Change::Any));
        // The connection ends with the client.
        std::future::pending().await
    };
    tokio::select! {
        ended = hearing => ended,
        failed = listening => failed,
    }
}

/// Waits on this thread for a future that others make ready; `None` after this time.
pub(super) fn wait<F: Future>(future: F, until: Instant) -> Option<F::Output> {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return Some(output);
        }
        let left = until.checked_duration_since(clock::shared_now()).filter(|left| !left.is_zero())?;
        thread::park_timeout(left);
    }
}

/// Wakes a thread that waits.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// The server did not answer.
pub(super) fn away(why: &'static str) -> DatabaseError {
    DatabaseError { kind: DatabaseErrorKind::Away, cause: why.into() }
}

/// The server did not answer in time.
pub(super) fn silent() -> DatabaseError {
    DatabaseError { kind: DatabaseErrorKind::Silent, cause: "it did not answer in time".into() }
}

fn denied(cause: std::io::Error) -> DatabaseError {
    DatabaseError { kind: DatabaseErrorKind::Denied, cause: cause.into() }
}
