//! How a run is given up, or one call of it: sparing what is paid for anyway, or at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use tokio_util::sync::CancellationToken;

/// Gives a run up. Clones give up the same run.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    cancelled: CancellationToken,
    aborted: CancellationToken,
}

impl Stop {
    /// Gives the run up: nothing more is sent, and connections whose closing stops the cost are closed. The others are
    /// read to their end, because their answers are paid for either way.
    pub fn cancel(&self) {
        self.cancelled.cancel();
    }

    /// Gives the run up and closes every connection.
    pub fn abort(&self) {
        self.cancelled.cancel();
        self.aborted.cancel();
    }

    /// Whether the run has been given up.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.is_cancelled()
    }

    /// Returns when the run has been given up.
    pub async fn cancelled(&self) {
        self.cancelled.cancelled().await;
    }

    /// Returns when a reply is not to be read on; `stops_billing` says whether closing it stops its cost.
    pub(crate) async fn closing(&self, stops_billing: bool) {
        if stops_billing { self.cancelled.cancelled().await } else { self.aborted.cancelled().await }
    }

    /// What gives up with this, and may be given up before it.
    pub(crate) fn of_one(&self) -> Self {
        Self { cancelled: self.cancelled.child_token(), aborted: self.aborted.child_token() }
    }

    /// Whether requests may leave, in a part of the run that begins now.
    pub(crate) fn sending(&self) -> Sending {
        Sending(self.cancelled.child_token())
    }
}

/// Whether requests may still leave: until the run is given up or its answer is settled. A late seat is worth its answer,
/// not another payment.
#[derive(Clone, Debug)]
pub(crate) struct Sending(CancellationToken);

impl Sending {
    /// What ends with this, and may end before it.
    pub(crate) fn of_one(&self) -> Self {
        Self(self.0.child_token())
    }

    /// The answer is settled: nothing leaves any more.
    pub(crate) fn end(&self) {
        self.0.cancel();
    }

    /// Whether nothing leaves any more.
    pub(crate) fn is_over(&self) -> bool {
        self.0.is_cancelled()
    }

    /// What this comes to, or `None` where nothing leaves any more before it does.
    pub(crate) async fn unless_over<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        self.0.run_until_cancelled(work).await
    }
}

/// Gives up one call, as long as nobody has seen any of its text.
#[derive(Debug)]
pub(crate) struct Revocation {
    stop: Stop,
    sending: Sending,
    latch: FirstOutputLatch,
}

impl Revocation {
    /// What gives up the call that has these.
    pub(crate) const fn new(stop: Stop, sending: Sending, latch: FirstOutputLatch) -> Self {
        Self { stop, sending, latch }
    }

    /// Gives the call up; `false` where some of its text has been shown already, so that it goes on.
    pub(crate) fn revoke(&self) -> bool {
        let is_revoked = self.latch.closes();
        if is_revoked {
            self.sending.end();
            self.stop.cancel();
        }
        is_revoked
    }
}

/// Lets the first output of a text through to whoever watches, or keeps all of it back: whichever is asked for first holds
/// for good.
#[derive(Clone, Debug, Default)]
pub(crate) struct FirstOutputLatch(Arc<AtomicU8>);

impl FirstOutputLatch {
    const UNDECIDED: u8 = 0;
    const OPEN: u8 = 1;
    const CLOSED: u8 = 2;

    /// Opens, unless it was closed before; says whether it is open.
    pub(crate) fn opens(&self) -> bool {
        self.becomes(Self::OPEN)
    }

    /// Whether some text has been shown.
    pub(crate) fn is_open(&self) -> bool {
        self.0.load(Ordering::Acquire) == Self::OPEN
    }

    /// Closes, unless some text has been shown; says whether it is closed.
    fn closes(&self) -> bool {
        self.becomes(Self::CLOSED)
    }

    fn becomes(&self, state: u8) -> bool {
        // The task that reads the reply and the one that gives it up may meet here: exactly one of them wins.
        let now = self.0.compare_exchange(Self::UNDECIDED, state, Ordering::AcqRel, Ordering::Acquire);
        now.map_or_else(|now| now == state, |_| true)
    }
}
