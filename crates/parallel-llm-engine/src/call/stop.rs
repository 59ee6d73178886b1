//! Cancellation of a run, of its waiting or of one call, and the latch that lets either output or cancellation win.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::request::panel::SeatNumber;

/// Cancels a run. Clones cancel the same run.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    cancelled: CancellationToken,
    aborted: CancellationToken,
    hurried: CancellationToken,
    skipped: watch::Sender<BTreeSet<SeatNumber>>,
}

impl Stop {
    /// Cancels the run: nothing more is sent, and connections are closed if closing stops the cost. The other replies are
    /// read to their end, because they are paid for either way.
    pub fn cancel(&self) {
        self.cancelled.cancel();
    }

    /// Cancels the run and closes every connection.
    pub fn abort(&self) {
        self.cancelled.cancel();
        self.aborted.cancel();
    }

    /// Ends the wait for the panel: the run decides with the answers so far, or with the first that comes.
    pub fn hurry(&self) {
        self.hurried.cancel();
    }

    /// Ends the wait for one seat, and cancels its call as [`Stop::cancel`] cancels those of a run.
    pub fn skip(&self, seat: SeatNumber) {
        self.skipped.send_if_modified(|skipped| skipped.insert(seat));
    }

    /// Waits until the run must decide with the answers so far.
    pub(crate) async fn hurried(&self) {
        self.hurried.cancelled().await;
    }

    /// Whether any answer is enough.
    pub(crate) fn is_hurried(&self) -> bool {
        self.hurried.is_cancelled()
    }

    /// The seats that are skipped, now and later.
    pub(crate) fn skipped(&self) -> watch::Receiver<BTreeSet<SeatNumber>> {
        let mut skipped = self.skipped.subscribe();
        // Seats skipped before the run began are a change, too.
        skipped.mark_changed();
        skipped
    }

    /// Whether the run is cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.is_cancelled()
    }

    /// Waits until the run is cancelled.
    pub async fn cancelled(&self) {
        self.cancelled.cancelled().await;
    }

    /// What the calls of the run need of it.
    pub(crate) fn of_calls(&self) -> CallStop {
        CallStop { cancelled: self.cancelled.clone(), aborted: self.aborted.clone() }
    }

    /// The permission to send for a part of the run that begins now.
    pub(crate) fn sending(&self) -> Sending {
        Sending(self.cancelled.child_token())
    }
}

/// Cancels a call, with the run or alone.
#[derive(Clone, Debug)]
pub(crate) struct CallStop {
    cancelled: CancellationToken,
    aborted: CancellationToken,
}

impl CallStop {
    /// Waits until a reply must not be read further. `stops_billing` says whether closing it stops its cost.
    pub(crate) async fn closing(&self, stops_billing: bool) {
        if stops_billing { self.cancelled.cancelled().await } else { self.aborted.cancelled().await }
    }

    /// A stop for one call: it is cancelled with this one, or alone.
    pub(crate) fn child(&self) -> Self {
        Self { cancelled: self.cancelled.child_token(), aborted: self.aborted.clone() }
    }

    fn cancel(&self) {
        self.cancelled.cancel();
    }
}

/// Whether requests may still leave: until the run is cancelled or decided. A late answer is still welcome, but not worth a
/// further request.
#[derive(Clone, Debug)]
pub(crate) struct Sending(CancellationToken);

impl Sending {
    /// The permission of one call: it ends with this one, or earlier.
    pub(crate) fn child(&self) -> Self {
        Self(self.0.child_token())
    }

    /// Ends the permission: the run is decided.
    pub(crate) fn end(&self) {
        self.0.cancel();
    }

    /// Whether no request may leave.
    pub(crate) fn is_over(&self) -> bool {
        self.0.is_cancelled()
    }

    /// The result of `work`, or `None` if the permission ends first.
    pub(crate) async fn unless_over<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        self.0.run_until_cancelled(work).await
    }
}

/// Cancels one call.
#[derive(Debug)]
pub(crate) struct Cancellation {
    stop: CallStop,
    sending: Sending,
}

impl Cancellation {
    /// The cancellation of the call with these parts.
    pub(crate) const fn new(stop: CallStop, sending: Sending) -> Self {
        Self { stop, sending }
    }

    /// Cancels the call: it is not tried again, and its connection is closed if closing stops the cost.
    pub(crate) fn cancel(&self) {
        self.sending.end();
        self.stop.cancel();
    }
}

/// Cancels one call, unless some of its text has been shown.
#[derive(Debug)]
pub(crate) struct Revocation {
    cancellation: Cancellation,
    latch: FirstOutputLatch,
}

impl Revocation {
    /// A revocation of the call with these parts.
    pub(crate) const fn new(cancellation: Cancellation, latch: FirstOutputLatch) -> Self {
        Self { cancellation, latch }
    }

    /// Cancels the call. Returns `false` if some of its text has been shown, so that the call continues.
    pub(crate) fn revoke(&self) -> bool {
        let is_revoked = self.latch.closes();
        if is_revoked {
            self.cancellation.cancel();
        }
        is_revoked
    }
}

/// Decides once whether the text of a call is shown or withheld: the first request wins, for good.
#[derive(Clone, Debug, Default)]
pub(crate) struct FirstOutputLatch(Arc<AtomicU8>);

impl FirstOutputLatch {
    const UNDECIDED: u8 = 0;
    const OPEN: u8 = 1;
    const CLOSED: u8 = 2;

    /// Opens the latch unless it is closed. Returns whether it is open.
    pub(crate) fn opens(&self) -> bool {
        self.becomes(Self::OPEN)
    }

    /// Whether some text has been shown.
    pub(crate) fn is_open(&self) -> bool {
        self.0.load(Ordering::Acquire) == Self::OPEN
    }

    /// Closes the latch unless it is open. Returns whether it is closed.
    fn closes(&self) -> bool {
        self.becomes(Self::CLOSED)
    }

    fn becomes(&self, state: u8) -> bool {
        // The task that reads the reply and the one that cancels it may race here: exactly one of them wins.
        let now = self.0.compare_exchange(Self::UNDECIDED, state, Ordering::AcqRel, Ordering::Acquire);
        now.map_or_else(|now| now == state, |_| true)
    }
}
