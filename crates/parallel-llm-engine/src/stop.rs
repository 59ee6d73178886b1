//! How a run is given up: sparing what is paid for anyway, or at once.

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

    /// Whether requests may leave, in a part of the run that begins now.
    pub(crate) fn sending(&self) -> Sending {
        Sending(self.cancelled.child_token())
    }
}

/// Whether requests may still leave: until the run is given up or its answer is settled. A late seat is worth its answer,
/// not another payment.
#[derive(Debug)]
pub(crate) struct Sending(CancellationToken);

impl Sending {
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
