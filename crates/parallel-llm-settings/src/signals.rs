//! The signals that ask the program to stop.
//!
//! A terminal that closes sends SIGHUP. `nohup` starts a program with that signal ignored, and it must stay ignored;
//! only Linux tells (in `/proc`) whether it is. Elsewhere SIGHUP keeps its default: it ends the process at once,
//! which loses nothing that is saved.

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// A person at the terminal.
    Interrupt,
    /// Whoever started the process.
    Terminate,
    /// The terminal, which is closed.
    HangUp,
}

/// Listens for signals from its making on; the default of ending at once is off then.
#[derive(Debug)]
pub struct Signals {
    #[cfg(unix)]
    terminate: Option<tokio::signal::unix::Signal>,
    #[cfg(unix)]
    interrupt: Option<tokio::signal::unix::Signal>,
    #[cfg(unix)]
    hang_up: Option<tokio::signal::unix::Signal>,
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
            hang_up: if hears_hang_up() { signal(SignalKind::hangup()).ok() } else { None },
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
            () = heard(&mut self.hang_up) => Signal::HangUp,
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

/// Whether SIGHUP is known not to be ignored. Once it is listened to, it is not.
#[cfg(unix)]
fn hears_hang_up() -> bool {
    std::fs::read_to_string("/proc/self/status")
        .is_ok_and(|status| ignored(&status).is_some_and(|it| it & 1 == 0))
}

/// The set of ignored signals in what Linux says of a process, SIGHUP the lowest bit.
#[cfg(unix)]
fn ignored(status: &str) -> Option<u64> {
    let set = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(set.trim(), 16).ok()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn what_linux_says_of_ignored_signals_is_read() {
        let status = |set: &str| format!("Name:\tit\nSigBlk:\t0000000000000001\nSigIgn:\t{set}\n");
        assert_eq!(ignored(&status("0000000000001000")), Some(0x1000));
        assert_eq!(ignored(&status("0000000000001001")), Some(0x1001));
        assert_eq!([ignored(&status("none")), ignored("Name:\tit\n")], [None, None]);
    }
}
