//! Notices that the one runtime thread stands still, and says so in the log.
//!
//! All waiting of the program is done by that thread. Something that holds it, a defect or a disk that does not answer,
//! stops every run and the client with them, and nothing on that thread could tell. So a thread of its own gives the
//! runtime a small task now and then and looks whether it was done.
//!
//! What always holds: a stall is told once when it is noticed and once when it is over; it is counted in looks, so a
//! process that stood still as a whole, as on a laptop that slept, is not taken for one; the thread ends with the value.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use tokio::runtime::Handle;

/// Between two looks: rare enough that a server that has nothing to do costs nothing.
const LOOK_EVERY: Duration = Duration::from_millis(2_500);
/// So many looks in vain are a stall. Nothing on the runtime is to take even a tenth of these five seconds.
const LOOKS_MAX: u32 = 2;

/// Watches the runtime until it is dropped.
#[derive(Debug)]
pub(crate) struct Watchdog {
    /// Nothing is sent; the thread sees it end.
    _end: SyncSender<()>,
}

/// Begins to watch this runtime.
pub(crate) fn start(runtime: &Handle) -> std::io::Result<Watchdog> {
    let (end, ended) = sync_channel(0);
    let runtime = runtime.clone();
    std::thread::Builder::new()
        .name("watchdog".to_owned())
        .spawn(move || watch(&runtime, &ended, LOOK_EVERY, render))?;
    Ok(Watchdog { _end: end })
}

fn watch(runtime: &Handle, ended: &Receiver<()>, look_every: Duration, mut render: impl FnMut(Finding)) {
    let mut silence = Silence::default();
    let has_answered = Arc::new(AtomicBool::new(true));
    while ended.recv_timeout(look_every) == Err(RecvTimeoutError::Timeout) {
        let answered = has_answered.swap(false, Ordering::Relaxed);
        if let Some(finding) = silence.look(answered) {
            render(finding);
        }
        if answered {
            let has_answered = Arc::clone(&has_answered);
            // Its end is the answer; nobody waits for it.
            drop(runtime.spawn(async move { has_answered.store(true, Ordering::Relaxed) }));
        }
    }
}

fn render(finding: Finding) {
    let seconds = |looks| (LOOK_EVERY * looks).as_secs();
    match finding {
        Finding::StandsStill { looks } => {
            tracing::warn!("the program stands still: for {} s nothing has gone on", seconds(looks));
        }
        Finding::GoesOn { looks } => {
            tracing::warn!("the program goes on; it stood still for about {} s", seconds(looks));
        }
    }
}

/// What a look found that is worth a line, and how many looks there were in vain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Finding {
    /// Nothing goes on.
    StandsStill { looks: u32 },
    /// It goes on after all.
    GoesOn { looks: u32 },
}

/// How long the runtime has not answered.
#[derive(Debug, Default)]
struct Silence {
    looks: u32,
}

impl Silence {
    /// Takes in a look: whether the runtime had answered by then.
    fn look(&mut self, has_answered: bool) -> Option<Finding> {
        if has_answered {
            let looks = std::mem::take(&mut self.looks);
            return (looks >= LOOKS_MAX).then_some(Finding::GoesOn { looks });
        }
        self.looks = self.looks.saturating_add(1);
        (self.looks == LOOKS_MAX).then_some(Finding::StandsStill { looks: self.looks })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is found by looks that see an answer (`.`) or none (`x`).
    fn findings(looks: &str) -> Vec<Option<Finding>> {
        let mut silence = Silence::default();
        looks.chars().map(|look| silence.look(look == '.')).collect()
    }

    #[test]
    fn a_stall_of_five_seconds_is_told_once_and_so_is_its_end() {
        assert_eq!(LOOK_EVERY * LOOKS_MAX, Duration::from_secs(5));
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
