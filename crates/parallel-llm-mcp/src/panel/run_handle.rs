//! [`RunHandle`]: one run to wait for, watch and give up; and [`Events`], the stream of what happens in it.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::stream::{BoxStream, Stream};
use futures_util::{StreamExt, stream};
use parallel_llm_engine::call::hub::{Update, Watch};
use parallel_llm_engine::run::{Run, RunStatus};
use parallel_llm_engine::{RunId, SeatNumber};

use super::PanelShared;
use crate::error::Error;
use crate::event::EventLine;
use crate::report::Report;
use crate::vocabulary::LIBRARY;

/// A run that has begun. Dropping it cancels nothing: the run goes on for as long as there is a panel or a handle.
#[derive(Clone)]
pub struct RunHandle {
    run: parallel_llm_service::RunHandle,
    /// Keeps the panel, which gives its runs up when it is dropped.
    _panel: Arc<PanelShared>,
}

impl fmt::Debug for RunHandle {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_tuple("RunHandle").field(&self.run.id()).finish()
    }
}

impl RunHandle {
    pub(super) fn new(run: parallel_llm_service::RunHandle, panel: &Arc<PanelShared>) -> Self {
        Self { run, _panel: Arc::clone(panel) }
    }

    /// The run's id.
    pub const fn id(&self) -> RunId {
        self.run.id()
    }

    /// Waits for the answer. Fails with [`Error::Unanswered`], which holds the report, if none came. Late seats may still
    /// be under way.
    pub async fn wait(&self) -> Result<Report, Error> {
        let report = self.run.wait(None).await.in_vocabulary(&LIBRARY);
        if report.error.is_some() { Err(Error::Unanswered(Box::new(report))) } else { Ok(report) }
    }

    /// Waits until late seats have answered or were given up, too.
    pub async fn wait_closed(&self) -> Result<Report, Error> {
        let report = self.run.wait_closed().await.in_vocabulary(&LIBRARY);
        if report.error.is_some() { Err(Error::Unanswered(Box::new(report))) } else { Ok(report) }
    }

    /// The report as it is now.
    pub fn report(&self) -> Report {
        self.run.report().in_vocabulary(&LIBRARY)
    }

    /// Every event of the run and each piece of text, to the end of the run. The first stream begins with the first event,
    /// any other with a snapshot. A reader that lags gets a snapshot in place of what it missed, and never slows the run.
    pub fn events(&self) -> Events {
        let (run, watch, first) = if let Some((run, watch)) = self.run.beginning() {
            (run, watch.with_texts(), None)
        } else {
            let (run, watch) = self.run.watch();
            let snapshot = Update::Snapshot(Box::new(run.clone()));
            (run, watch, Some(snapshot))
        };
        let following = Following { handle: self.clone(), run, watch, first, is_over: false };
        Events(
            stream::unfold(Box::new(following), |mut following| async move {
                let line = following.next().await?;
                Some((line, following))
            })
            .fuse()
            .boxed(),
        )
    }

    /// Lets the run decide with the answers so far, or with the first that comes. Returns `false`, and does nothing, if
    /// somebody else waits for the same run, or another process does it.
    pub fn hurry(&self) -> bool {
        self.run.hurry()
    }

    /// Waits no longer for a seat, counted from 1, and cancels its call. Returns `false`, and does nothing, if somebody else
    /// waits for the same run, or another process does it.
    pub fn skip(&self, seat: u8) -> bool {
        self.run.skip(SeatNumber(seat))
    }

    /// Gives the run up: connections are closed where that stops their cost, and what has come is kept.
    pub fn cancel(&self) {
        self.run.cancel();
    }

    /// Gives the run up and closes every connection at once, even those whose answers are paid for anyway.
    pub fn abort(&self) {
        self.run.abort();
    }

    /// Whether its texts will be found in the folder.
    pub(super) fn is_stored(&self) -> bool {
        !self.run.is_unstored()
    }
}

/// The events of a run, in order; it ends with the run.
///
/// It is a [`Stream`]; [`Events::next`] needs no further trait.
pub struct Events(BoxStream<'static, EventLine>);

impl Events {
    /// The next event; `None` after the end of the run.
    pub async fn next(&mut self) -> Option<EventLine> {
        self.0.next().await
    }
}

impl Stream for Events {
    type Item = EventLine;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<EventLine>> {
        self.0.as_mut().poll_next(context)
    }
}

impl fmt::Debug for Events {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Events")
    }
}

/// A reader's copy of a run.
struct Following {
    handle: RunHandle,
    run: Run,
    watch: Watch,
    /// What the reader gets before anything else.
    first: Option<Update>,
    is_over: bool,
}

impl Following {
    async fn next(&mut self) -> Option<EventLine> {
        while !self.is_over {
            let update = self.update().await?;
            if matches!(&update, Update::Event(recorded) if recorded.seq <= self.run.seq) {
                continue;
            }
            update.clone().apply_to(&mut self.run);
            self.is_over = self.run.closed || self.run.status == RunStatus::Interrupted;
            let service = &self.handle.run;
            return Some(EventLine::of(&self.run, &update, &LIBRARY, |run| service.report_of(run)));
        }
        None
    }

    /// What comes next, unless the run has stopped without its last event.
    async fn update(&mut self) -> Option<Update> {
        if let Some(first) = self.first.take() {
            return Some(first);
        }
        tokio::select! {
            biased;
            update = self.watch.next() => Some(update),
            () = self.handle.run.stopped() => None,
        }
    }
}
