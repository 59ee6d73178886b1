//! The signals that ask the program to stop.

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// A person at the terminal.
    Interrupt,
    /// Whoever started the process.
    Terminate,
}

/// Listens for signals from its making on; the default of ending at once is off then.
#[derive(Debug)]
pub struct Signals {
    #[cfg(unix)]
    terminate: Option<tokio::signal::unix::Signal>,
    #[cfg(unix)]
    interrupt: Option<tokio::signal::unix::Signal>,
}

impl Signals {
    /// Begins to listen.
    #[cfg(unix)]
    pub fn new() -> Self {
        use tokio::signal::unix::{SignalKind, signal};
        // Where a handler cannot be set, the signal ends the process at once, which is safe too.
        Self {
            terminate: signal(SignalKind::terminate()).ok(),
            interrupt: signal(SignalKind::interrupt()).ok(),
        }
    }

    /// Begins to listen.
    #[cfg(not(unix))]
    pub const fn new() -> Self {
        Self {}
    }

    /// The next signal.
    #[cfg(unix)]
    pub async fn next(&mut self) -> Signal {
        async fn heard(signal: &mut Option<tokio::signal::unix::Signal>) {
            match signal {
                Some(signal) => drop(signal.recv().await),
                None => std::future::pending().await,
            }
        }
        tokio::select! {
            () = heard(&mut self.interrupt) => Signal::Interrupt,
            () = heard(&mut self.terminate) => Signal::Terminate,
        }
    }

    /// The next signal.
    #[cfg(not(unix))]
    pub async fn next(&mut self) -> Signal {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        Signal::Interrupt
    }
}

impl Default for Signals {
    fn default() -> Self {
        Self::new()
    }
}
