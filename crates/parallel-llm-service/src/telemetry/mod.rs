//! What is told of the work of this process: the log, the figures, and the traces that a collector gets.
//!
//! All three are made of the events of runs, by one follower of each run, so that they cannot disagree with its report.

mod calls;
mod export;
mod families;
mod labels;
mod log;
mod meter;
mod otlp;
mod spans;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parallel_llm_engine::call::hub::{Update, Watch};
use parallel_llm_engine::run::Run;
use parallel_llm_engine::{Event, Recorded};
use parallel_llm_settings::clock;
use parallel_llm_settings::settings::Settings;

use crate::ports::PostTelemetry;
use calls::{CallStep, OpenCalls};
use export::Exporter;
use labels::Labels;
use spans::Tracer;

pub use families::reference;
pub use log::{Log, log_interrupted, start};
pub(crate) use meter::LookAround;
pub use meter::{MEDIA_TYPE, Meter, Moment};

/// The figures and the export of this process. By default nothing is told but the log.
#[derive(Default)]
pub struct Telemetry {
    labels: Arc<Labels>,
    /// The figures, once somebody wants them.
    meter: OnceLock<Meter>,
    exporter: Option<Exporter>,
    /// Whether traces carry content.
    content: bool,
}

impl Telemetry {
    /// The telemetry of these settings; `post` reaches the collector, if there is one.
    pub fn new(settings: &Settings, post: Option<PostTelemetry>) -> Self {
        let labels = Arc::new(Labels::of(settings));
        let meter = OnceLock::new();
        let exporter = post.map(|post| {
            let meter = meter.get_or_init(|| Meter::new(Arc::clone(&labels)));
            Exporter::new(&settings.telemetry, post, meter)
        });
        Self { labels, meter, exporter, content: settings.telemetry.content }
    }

    /// The figures, counted from the first call on.
    pub fn meter(&self) -> &Meter {
        self.meter.get_or_init(|| Meter::new(Arc::clone(&self.labels)))
    }

    /// Whether anything is told of a run.
    pub(crate) fn is_wanted(&self) -> bool {
        self.meter.get().is_some() || log::is_wanted()
    }

    /// Says what the exported figures look at beside what was counted.
    pub(crate) fn look_with(&self, look: LookAround) {
        if let Some(exporter) = &self.exporter {
            exporter.look_with(look);
        }
    }

    /// Begins the export, if there is a collector. A server does so at its start, and every run that is followed.
    pub(crate) fn begin_export(&self) {
        if let Some(exporter) = &self.exporter {
            exporter.begin();
        }
    }

    /// Follows a run, from the state before its next event until it is closed.
    pub(crate) async fn follow(self: Arc<Self>, run: Run, mut watch: Watch) {
        self.begin_export();
        let mut followed = FollowedRun::new(self, run);
        while !followed.run.closed {
            match watch.next().await {
                Update::Event(recorded) => followed.tell(&recorded),
                Update::Snapshot(newer) => followed.run = *newer,
                Update::Begun(_) | Update::Text { .. } => {}
            }
        }
    }

    /// Posts what waits for the collector, within this time.
    pub(crate) async fn close(&self, within: Duration) {
        if let Some(exporter) = &self.exporter {
            exporter.close(within).await;
        }
    }
}

/// A run that is followed.
struct FollowedRun {
    telemetry: Arc<Telemetry>,
    meter: Option<Meter>,
    tracer: Option<Tracer>,
    run: Run,
    /// When this part of the run began, in milliseconds from its start.
    begun_ms: u64,
    calls: OpenCalls,
}

impl FollowedRun {
    fn new(telemetry: Arc<Telemetry>, run: Run) -> Self {
        let anchor_ms = clock::unix_ms().saturating_sub(run.elapsed_ms);
        let meter = telemetry.meter.get().cloned();
        let wants_spans = telemetry.exporter.is_some();
        let tracer = wants_spans.then(|| Tracer::of(&run, &telemetry.labels, anchor_ms, telemetry.content));
        if let Some(meter) = &meter {
            meter.run_begun(run.seq == 0);
        }
        let begun_ms = run.elapsed_ms;
        Self { telemetry, meter, tracer: tracer.flatten(), run, begun_ms, calls: OpenCalls::default() }
    }

    /// Applies an event and tells it.
    fn tell(&mut self, recorded: &Recorded) {
        self.run.apply(recorded);
        log::log(&self.run, recorded);
        match (&recorded.event, &self.meter) {
            (Event::Decided { .. }, Some(meter)) => {
                meter.run_decided(self.run.status, recorded.elapsed_ms.saturating_sub(self.begun_ms));
            }
            (Event::Closed { .. }, Some(meter)) => meter.run_closed(self.run.status),
            _ => {}
        }
        let step = self.calls.take(&self.run, recorded);
        let span = match (&recorded.event, &step, &self.tracer) {
            (Event::Closed { .. }, _, Some(tracer)) => Some(tracer.part(&self.run)),
            (_, Some(CallStep::Ended(ended)), Some(tracer)) => tracer.call(ended),
            _ => None,
        };
        if let (Some(span), Some(exporter)) = (span, &self.telemetry.exporter) {
            exporter.push(span);
        }
        match (step, &self.meter) {
            (Some(CallStep::Sent(model)), Some(meter)) => meter.call_sent(model),
            (Some(CallStep::Ended(ended)), Some(meter)) => meter.call_ended(&ended),
            (Some(CallStep::Priced(model, cost)), Some(meter)) => meter.call_priced(model, cost),
            _ => {}
        }
    }
}

impl Drop for FollowedRun {
    fn drop(&mut self) {
        if let Some(meter) = &self.meter {
            meter.run_left(self.calls.count());
        }
    }
}
