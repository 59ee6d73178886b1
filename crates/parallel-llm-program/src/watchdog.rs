//! Detects a blocked runtime thread and logs it.
//!
//! That thread does all of the program's waiting. If a defect or an unresponsive disk blocks it, every run and every
//! client stops, and nothing on the thread itself can notice. So a separate thread gives the runtime a small task at
//! intervals and checks whether it was done.
//!
//! Invariants: a stall is logged once when it is noticed and once when it ends; it is counted in checks, so a
//! process that was suspended as a whole, as on a sleeping laptop, does not count; the thread ends when the
//! [`Watchdog`] is dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use tokio::runtime::Handle;

/// The interval of checks: long enough that an idle server costs nothing.
const CHECK_INTERVAL: Duration = Duration::from_millis(2_500);
/// The failed checks that make a stall. Nothing on the runtime may take even a tenth of these five seconds.
const FAILED_CHECKS_MAX: u32 = 2;

/// Watches the runtime until it is dropped.
#[derive(Debug)]
pub(crate) struct Watchdog {
    /// Nothing is sent; dropping it ends the thread.
    _end: SyncSender<()>,
}

/// Starts watching a runtime.
pub(crate) fn start(runtime: &Handle) -> std::io::Result<Watchdog> {
    let (end, ended) = sync_channel(0);
    let runtime = runtime.clone();
    std::thread::Builder::new()
        .name("watchdog".to_owned())
        .spawn(move || watch(&runtime, &ended, CHECK_INTERVAL, render))?;
    Ok(Watchdog { _end: end })
}

fn watch(runtime: &Handle, ended: &Receiver<()>, interval: Duration, mut render: impl FnMut(Finding)) {
    let mut silence = Silence::default();
    let has_answered = Arc::new(AtomicBool::new(true));
    while ended.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
        let answered = has_answered.swap(false, Ordering::Relaxed);
        if let Some(finding) = silence.record(answered) {
            render(finding);
        }
        if answered {
            let has_answered = Arc::clone(&has_answered);
            // The task only marks that the runtime ran it.
            drop(runtime.spawn(async move { has_answered.store(true, Ordering::Relaxed) }));
        }
    }
}

fn render(finding: Finding) {
    let seconds = |looks| (CHECK_INTERVAL * looks).as_secs();
    match finding {
        Finding::StandsStill { looks } => {
            tracing::warn!("the program is blocked: nothing has run for {} s", seconds(looks));
        }
        Finding::GoesOn { looks } => {
            tracing::warn!("the program goes on; it stood still for about {} s", seconds(looks));
        }
    }
}

/// A change to log, with the number of failed checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Finding {
    /// The runtime is blocked.
    StandsStill { looks: u32 },
    /// The runtime runs again.
    GoesOn { looks: u32 },
}

/// The failed checks in a row.
#[derive(Debug, Default)]
struct Silence {
    looks: u32,
}

impl Silence {
    /// Records a check: whether the runtime had run the task by then.
    fn record(&mut self, has_answered: bool) -> Option<Finding> {
        if has_answered {
            let looks = std::mem::take(&mut self.looks);
            return (looks >= FAILED_CHECKS_MAX).then_some(Finding::GoesOn { looks });
        }
        self.looks = self.looks.saturating_add(1);
        (self.looks == FAILED_CHECKS_MAX).then_some(Finding::StandsStill { looks: self.looks })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The findings of checks that get an answer (`.`) or none (`x`).
    fn findings(looks: &str) -> Vec<Option<Finding>> {
        let mut silence = Silence::default();
        looks.chars().map(|record| silence.record(record == '.')).collect()
    }

    #[test]
    fn a_stall_of_five_seconds_is_reported_once_and_so_is_its_end() {
        assert_eq!(CHECK_INTERVAL * FAILED_CHECKS_MAX, Duration::from_secs(5));
        let stands_still = Some(Finding::StandsStill { looks: 2 });
        let goes_on = |looks| Some(Finding::GoesOn { looks });
        assert_eq!(findings("...x.x."), [None; 7]);
        assert_eq!(findings(".xx."), [None, None, stands_still, goes_on(2)]);
        assert_eq!(findings("xxxx.."), [None, stands_still, None, None, goes_on(4), None]);
        assert_eq!(findings("xx.xx"), [None, stands_still, goes_on(2), None, stands_still]);
    }

    #[test]
    fn a_runtime_that_is_held_up_is_seen_and_the_thread_ends_with_the_value() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (end, ended) = sync_channel(0);
        let (found, findings) = sync_channel(64);
        let handle = runtime.handle().clone();
        let every = Duration::from_millis(1);
        let thread = std::thread::spawn(move || watch(&handle, &ended, every, |it| _ = found.try_send(it)));
        runtime.block_on(async {
            // Holds the only thread of the runtime until just that has been seen.
            assert_eq!(findings.recv(), Ok(Finding::StandsStill { looks: 2 }));
            while !findings.try_iter().any(|finding| matches!(finding, Finding::GoesOn { .. })) {
                tokio::task::yield_now().await;
            }
        });
        drop(Watchdog { _end: end });
        thread.join().unwrap();
    }
}
