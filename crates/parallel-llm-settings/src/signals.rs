//! The signals that stop the program, and the one that must not.
//!
//! A closing terminal sends SIGHUP. `nohup` starts a program with that signal ignored, and it must stay ignored; only
//! Linux reports (in `/proc`) whether it is. On other systems SIGHUP keeps its default and ends the process at once,
//! which loses nothing that is saved.

/// The source of a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// The user at the terminal.
    Interrupt,
    /// The process that started this one, or the system.
    Terminate,
    /// The terminal was closed.
    HangUp,
}

/// Receives signals from its creation on, which disables their default action.
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
    /// Starts receiving.
    #[cfg(unix)]
    pub fn new() -> Self {
        use tokio::signal::unix::{SignalKind, signal};
        // If a handler cannot be installed, the signal ends the process at once, which is safe too.
        Self {
            terminate: signal(SignalKind::terminate()).ok(),
            interrupt: signal(SignalKind::interrupt()).ok(),
            hang_up: if hears_hang_up() { signal(SignalKind::hangup()).ok() } else { None },
        }
    }

    /// Starts receiving.
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

/// Lets a write beyond the limit of a file's size fail with an error, as on a full disk, instead of ending the process:
/// the default action of SIGXFSZ would lose answers that are paid for. For as long as the process runs; needs a runtime.
#[cfg(unix)]
pub fn survive_file_size_limit() {
    use tokio::signal::unix::{SignalKind, signal};
    let number = rustix::process::Signal::XFSZ.as_raw();
    // tokio never takes a handler back, and a program started by this one does not inherit it, as it would a signal that
    // is ignored. If it cannot be installed, the limit ends the process as before.
    drop(signal(SignalKind::from_raw(number)));
}

/// There is no such signal.
#[cfg(not(unix))]
pub const fn survive_file_size_limit() {}

/// Whether SIGHUP is known not to be ignored. Checked before a handler is installed, which would hide it.
#[cfg(unix)]
fn hears_hang_up() -> bool {
    std::fs::read_to_string("/proc/self/status")
        .is_ok_and(|status| ignored(&status).is_some_and(|it| it & 1 == 0))
}

/// The bit set of ignored signals in Linux's process status; SIGHUP is the lowest bit.
#[cfg(unix)]
fn ignored(status: &str) -> Option<u64> {
    let set = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(set.trim(), 16).ok()
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn the_ignored_signals_of_linux_are_read() {
        let status = |set: &str| format!("Name:\tit\nSigBlk:\t0000000000000001\nSigIgn:\t{set}\n");
        assert_eq!(ignored(&status("0000000000001000")), Some(0x1000));
        assert_eq!(ignored(&status("0000000000001001")), Some(0x1001));
        assert_eq!([ignored(&status("none")), ignored("Name:\tit\n")], [None, None]);
    }
}
