//! The export to a collector, beside everything else: a queue of spans, and a task that posts them and the figures.
//!
//! Invariants: nobody waits for the collector but the end of the process, and that for a moment; what it does not take is
//! counted, and reported once; the queue is bounded, whatever the collector does.

use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parallel_llm_engine::Failure;
use parallel_llm_settings::clock;
use parallel_llm_settings::settings::TelemetrySettings;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::meter::{LookAround, Meter, Moment};
use super::otlp::{self, Attributes};
use crate::ports::PostTelemetry;

/// The most spans that wait: those of a hundred runs. With content that is a megabyte or two for each run.
const QUEUE_MAX: usize = 1_024;
/// The most spans in one request.
const BATCH_MAX: usize = 256;
/// How long a span waits for others, and how long until a request is repeated.
const EXPORT_EVERY: Duration = Duration::from_secs(5);
/// How often the figures are sent: as often as the standard's own default.
const FIGURES_EVERY: Duration = Duration::from_secs(60);
/// The longest wait for the collector at the end of the process. The answer has been printed long before.
const FLUSH_MAX: Duration = Duration::from_secs(2);
/// The shortest such wait, when the user wants the process to end now.
const FLUSH_MIN: Duration = Duration::from_millis(500);
/// The name of the service where the environment gives none.
const SERVICE: &str = "parallel-llm-mcp";

/// The export to a collector.
pub(super) struct Exporter {
    queue: mpsc::Sender<Value>,
    /// The other end, until the task is begun.
    received: Mutex<Option<(mpsc::Receiver<Value>, Posting)>>,
    meter: Meter,
    look: Arc<OnceLock<LookAround>>,
    closing: CancellationToken,
    tasks: TaskTracker,
}

/// Posts spans and figures.
struct Posting {
    post: PostTelemetry,
    resource: Value,
    meter: Meter,
    /// What to look at for the figures, once it is known.
    look: Arc<OnceLock<LookAround>>,
    begun_ms: u64,
    /// Whether a failure was reported.
    is_said: AtomicBool,
    /// Spans that wait to be posted.
    spans: Vec<Value>,
}

impl Exporter {
    pub(super) fn new(settings: &TelemetrySettings, post: PostTelemetry, meter: &Meter) -> Self {
        let (queue, spans) = mpsc::channel(QUEUE_MAX);
        let look = Arc::<OnceLock<LookAround>>::default();
        let posting = Posting {
            post,
            resource: resource(settings),
            meter: meter.clone(),
            look: Arc::clone(&look),
            begun_ms: clock::unix_ms(),
            is_said: AtomicBool::new(false),
            spans: Vec::new(),
        };
        Self {
            queue,
            received: Mutex::new(Some((spans, posting))),
            meter: meter.clone(),
            look,
            closing: CancellationToken::new(),
            tasks: TaskTracker::new(),
        }
    }

    /// Says what to look at for the figures.
    pub(super) fn look_with(&self, look: LookAround) {
        // Fails if it was said before.
        let _ = self.look.set(look);
    }

    /// Begins to post, unless it has begun. Not before somebody asks or serves, so that a short command starts no task.
    pub(super) fn begin(&self) {
        if let Some((spans, posting)) = self.received.lock().take() {
            self.tasks.spawn(posting.run(spans, self.closing.clone()));
        }
    }

    /// Queues a span; drops it if the queue is full.
    pub(super) fn push(&self, span: Value) {
        if self.queue.try_send(span).is_err() {
            self.meter.spans_dropped(1);
        }
    }

    /// Posts what waits, within a moment.
    pub(super) async fn close(&self, within: Duration) {
        self.closing.cancel();
        self.tasks.close();
        if timeout(within.clamp(FLUSH_MIN, FLUSH_MAX), self.tasks.wait()).await.is_err() {
            tracing::warn!("the collector did not answer in time; the newest spans are not exported");
        }
        let dropped = self.meter.dropped_spans();
        if dropped > 0 {
            tracing::warn!("{dropped} spans were not exported");
        }
    }
}

impl Posting {
    /// Posts until the process is about to end or nobody can queue a span any more, and then what is left.
    async fn run(mut self, mut queue: mpsc::Receiver<Value>, closing: CancellationToken) {
        let every = |period| {
            let mut interval = interval(period);
            interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
            interval
        };
        let (mut spans_due, mut figures_due) = (every(EXPORT_EVERY), every(FIGURES_EVERY));
        // The first tick is immediate, and there is nothing to say yet.
        spans_due.tick().await;
        figures_due.tick().await;
        loop {
            let room = BATCH_MAX - self.spans.len();
            tokio::select! {
                biased;
                () = closing.cancelled() => break,
                _ = figures_due.tick() => drop(self.post_figures().await),
                _ = spans_due.tick(), if !self.spans.is_empty() => drop(self.post_spans().await),
                received = queue.recv_many(&mut self.spans, room), if room > 0 => {
                    if received == 0 {
                        // The exporter was dropped without a farewell, as by a program that drops its panel.
                        break;
                    }
                    if self.spans.len() == BATCH_MAX {
                        drop(self.post_spans().await);
                    }
                }
            }
        }
        queue.close();
        loop {
            while self.spans.len() < BATCH_MAX {
                let Ok(span) = queue.try_recv() else { break };
                self.spans.push(span);
            }
            if self.spans.is_empty() {
                break;
            }
            if self.post_spans().await.is_err() {
                let left = self.spans.len() + queue.len();
                self.meter.spans_dropped(left);
                // A collector that takes no spans is not asked to take figures.
                return;
            }
        }
        drop(self.post_figures().await);
    }

    /// Posts the waiting spans. They go on waiting if the collector may take them later.
    async fn post_spans(&mut self) -> Result<(), Failure> {
        let posted = (self.post)(otlp::TRACES, otlp::spans(&self.resource, &self.spans)).await;
        let is_over = posted.as_ref().map_or_else(|failure| !failure.retryable, |()| true);
        if is_over {
            let spans = mem::take(&mut self.spans);
            if posted.is_err() {
                self.meter.spans_dropped(spans.len());
            }
        }
        posted.inspect_err(|failure| self.report(failure))
    }

    async fn post_figures(&self) -> Result<(), Failure> {
        let moment = match self.look.get() {
            Some(look) => look().await,
            None => Moment::default(),
        };
        let families = self.meter.gather(&moment);
        let body = otlp::metrics(&self.resource, &families, (self.begun_ms, clock::unix_ms()));
        (self.post)(otlp::METRICS, body).await.inspect_err(|failure| self.report(failure))
    }

    /// Reports the first failure. The number of lost spans is a figure.
    fn report(&self, failure: &Failure) {
        if !self.is_said.swap(true, Ordering::Relaxed) {
            tracing::warn!("telemetry cannot be exported, which is said once: {failure}");
        }
    }
}

/// This process, as traces name it.
fn resource(settings: &TelemetrySettings) -> Value {
    let mut attributes = Attributes::default();
    attributes.text("service.name", settings.service_name.as_deref().unwrap_or(SERVICE));
    attributes.text("service.version", env!("CARGO_PKG_VERSION"));
    let ours = ["service.name", "service.version"];
    for (name, value) in settings.resource.iter().filter(|(name, _)| !ours.contains(&name.as_str())) {
        attributes.text(name, value);
    }
    json!({ "attributes": attributes.into_json() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::labels::Labels;

    /// The most posts of a test.
    const POSTS_MAX: usize = 8;

    /// An exporter whose collector passes on what it is sent.
    fn exporter(sent: mpsc::Sender<&'static str>) -> Exporter {
        let post: PostTelemetry = Arc::new(move |path, _| {
            let sent = sent.clone();
            Box::pin(async move {
                let _ = sent.send(path).await;
                Ok(())
            })
        });
        Exporter::new(&TelemetrySettings::default(), post, &Meter::new(Arc::<Labels>::default()))
    }

    #[tokio::test(start_paused = true)]
    async fn an_exporter_that_is_dropped_posts_what_waits_and_ends() {
        let (sender, mut sent) = mpsc::channel(POSTS_MAX);
        let exporter = exporter(sender);
        exporter.begin();
        exporter.push(json!({ "name": "one" }));
        drop(exporter);
        assert_eq!(sent.recv().await, Some(otlp::TRACES));
        assert_eq!(sent.recv().await, Some(otlp::METRICS));
        assert_eq!(sent.recv().await, None, "the task has ended");
    }

    #[tokio::test(start_paused = true)]
    async fn figures_are_posted_without_any_span() {
        let (sender, mut sent) = mpsc::channel(POSTS_MAX);
        let exporter = exporter(sender);
        exporter.begin();
        assert_eq!(sent.recv().await, Some(otlp::METRICS));
        exporter.close(FLUSH_MAX).await;
    }
}
