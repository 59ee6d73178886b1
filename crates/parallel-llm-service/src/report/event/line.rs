//! The lines of a run's event stream: each event with calls, failures and money in the shapes of the report.

use std::sync::Arc;

use parallel_llm_engine::call::hub::Update;
use parallel_llm_engine::run::Run;
use parallel_llm_engine::run::event::{Attempt, Event};
use parallel_llm_engine::value::next::Vocabulary;
use parallel_llm_engine::value::retry::Retry;
use parallel_llm_engine::{Answer, CallerSlot, Failure, PicoUsd, Usage};
use schemars::JsonSchema;
use serde::Serialize;

use crate::report::calls::role_and_number;
use crate::report::{ErrorReport, Report, SCHEMA, Synthesis, UsageReport};

/// One line of a run's event stream. Additive only, like the report.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct EventLine {
    /// Version of this format: 1.
    pub schema: u32,
    /// The run's id, a ULID.
    pub run_id: String,
    /// The number of the newest stored event, from 1.
    pub seq: u64,
    /// The time from the start of the run, in milliseconds.
    pub elapsed_ms: u64,
    /// The event.
    #[serde(flatten)]
    pub event: EventReport,
}

/// An event of a run.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case")]
#[non_exhaustive]
pub enum EventReport {
    /// The run has begun. Nothing has been sent.
    Started {
        /// The strategy that turns the answers into one text.
        strategy: String,
        /// The panel.
        models: Vec<AskedModel>,
        /// The most that the run can cost, in USD, as far as prices are known.
        cost_max_usd: f64,
    },
    /// The run continues: it was interrupted, or more was asked for.
    Reopened {
        /// The seats that are asked again.
        seats: Vec<AskedModel>,
        /// The most that this part of the run can cost, in USD, as far as prices are known.
        cost_max_usd: f64,
    },
    /// A request leaves.
    Sent(CallAttempt),
    /// The provider accepted a request. From here on it may cost money.
    Accepted {
        /// The request.
        #[serde(flatten)]
        call: CallAttempt,
        /// The provider's id for it.
        generation_id: String,
    },
    /// A model has begun to reason or write. Only on request, and not stored.
    Begun(Caller),
    /// A piece of text. Only on request, and not stored. A piece may be missing, which `offset` shows; the text of
    /// `answered` is whole.
    Text {
        /// Who writes it.
        #[serde(flatten)]
        caller: Caller,
        /// The byte of the caller's text at which the piece begins.
        offset: usize,
        /// The piece.
        text: Arc<str>,
    },
    /// A whole reply.
    Answered(Reply),
    /// A reply that broke off.
    Cut(Reply),
    /// A request without a reply.
    Failed {
        /// The request and the reason.
        #[serde(flatten)]
        reply: Reply,
        /// The wait before the next try, in milliseconds; null if there is none.
        retry_after_ms: Option<u64>,
        /// The request field that the next try leaves out; null if it leaves none out.
        retry_without: Option<String>,
    },
    /// A request that was cancelled.
    Cancelled(Reply),
    /// Seats that are not asked, because the answers of the others are enough.
    Skipped {
        /// The seats.
        seats: Vec<u8>,
    },
    /// A provider reported the cost of a request whose end was not heard.
    Reconciled {
        /// The request.
        #[serde(flatten)]
        call: CallAttempt,
        /// The cost of the request, in USD.
        cost_usd: f64,
        /// Its tokens.
        usage: UsageReport,
    },
    /// A stage of a flow came to its text, or to none. That of the last stage is the text of the run.
    StageDecided {
        /// The name of the stage.
        stage: String,
        /// How its text was made.
        synthesis: Synthesis,
        /// The text; null if there is none.
        text: Option<Arc<str>>,
    },
    /// The run is decided. The report follows.
    Decided {
        /// How the final text was made.
        synthesis: Synthesis,
    },
    /// Late seats have ended.
    Closed {
        /// The known cost of the run, in USD.
        cost_usd: f64,
    },
    /// A process had lost the run to another one before this could be stored; it was taken in later.
    Merged {
        /// What had happened in that process.
        held: Box<EventReport>,
    },
    /// The whole run in place of events that were missed: the reader was too slow, or another process continued the
    /// run.
    Snapshot {
        /// The report of the run so far.
        report: Box<Report>,
    },
}

/// A seat and its model.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct AskedModel {
    /// The seat, from 1.
    pub seat: u8,
    /// The model.
    pub model: String,
}

/// The maker of a call.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Caller {
    /// The role: `seat`, `synthesizer`, or a step of the strategy such as `judge`.
    pub role: String,
    /// The number, from 1: of a seat, of a synthesizer in the chain, or of a step among all steps.
    pub number: u16,
    /// The model.
    pub model: String,
}

/// One request of a caller.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CallAttempt {
    /// Who makes it.
    #[serde(flatten)]
    pub caller: Caller,
    /// The number of the request, from 1; 0 if none was sent.
    pub attempt: u32,
}

/// The end of a request.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Reply {
    /// The request.
    #[serde(flatten)]
    pub call: CallAttempt,
    /// The text; null if there is none.
    pub text: Option<Arc<str>>,
    /// The model that answered, as the provider names it.
    pub served_model: Option<String>,
    /// Why the model stopped, in the protocol's term.
    pub finish: Option<String>,
    /// The tokens used.
    pub usage: UsageReport,
    /// The cost of the request, in USD; null if unknown.
    pub cost_usd: Option<f64>,
    /// Why there is no whole reply; null if there is one.
    pub error: Option<ErrorReport>,
}

impl EventLine {
    /// The line of an update that `run` includes. `report` makes the report of a snapshot.
    pub fn of(
        run: &Run,
        update: &Update,
        vocabulary: &Vocabulary,
        report: impl FnOnce(&Run) -> Report,
    ) -> Self {
        let line = Lines { run, vocabulary };
        let (seq, elapsed_ms, event) = match update {
            Update::Event(recorded) => (recorded.seq, recorded.elapsed_ms, line.event(&recorded.event)),
            Update::Begun(slot) => (run.seq, run.elapsed_ms, EventReport::Begun(line.caller(*slot))),
            Update::Text { slot, offset, text } => {
                let (caller, text) = (line.caller(*slot), Arc::clone(text));
                (run.seq, run.elapsed_ms, EventReport::Text { caller, offset: *offset, text })
            }
            Update::Snapshot(run) => {
                let report = Box::new(report(run).in_vocabulary(vocabulary));
                (run.seq, run.elapsed_ms, EventReport::Snapshot { report })
            }
        };
        Self { schema: SCHEMA, run_id: run.plan.run_id.to_string(), seq, elapsed_ms, event }
    }

    /// The line as one JSON object, without a line end.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect(crate::report::PLAIN)
    }
}

/// Makes the events of a run readable.
struct Lines<'a> {
    run: &'a Run,
    vocabulary: &'a Vocabulary,
}

impl Lines<'_> {
    fn event(&self, event: &Event) -> EventReport {
        match event {
            Event::Started { reserved, .. } => EventReport::Started {
                strategy: self.run.plan.strategy.name().to_owned(),
                models: self.run.plan.seats.iter().map(AskedModel::of).collect(),
                cost_max_usd: reserved.as_usd(),
            },
            Event::Reopened { reopening, reserved } => {
                let (seats, _) = reopening.asked(&self.run.plan, self.run.chain());
                let seats = seats.into_iter().map(AskedModel::of).collect();
                EventReport::Reopened { seats, cost_max_usd: reserved.as_usd() }
            }
            Event::Sent { attempt, .. } => EventReport::Sent(self.call(*attempt)),
            Event::Accepted { attempt, generation_id } => {
                EventReport::Accepted { call: self.call(*attempt), generation_id: generation_id.clone() }
            }
            Event::Answered { attempt, answer } => {
                EventReport::Answered(self.reply(*attempt, Some(answer), None))
            }
            Event::Cut { attempt, answer, failure } => {
                EventReport::Cut(self.reply(*attempt, Some(answer), Some(failure)))
            }
            Event::Failed { attempt, failure, retry, cost, .. } => {
                let reply = self.reply(*attempt, None, Some(failure));
                let (retry_after_ms, retry_without) = match retry {
                    Retry::Never => (None, None),
                    Retry::After { ms } => (Some(*ms), None),
                    Retry::Without { field } => (Some(0), Some(field.clone())),
                };
                let reply = Reply { cost_usd: cost.map(PicoUsd::as_usd), ..reply };
                EventReport::Failed { reply, retry_after_ms, retry_without }
            }
            Event::Cancelled { attempt, answer, cost } => {
                let reply = self.reply(*attempt, answer.as_ref(), None);
                let cost_usd = cost.map(PicoUsd::as_usd).or(reply.cost_usd);
                EventReport::Cancelled(Reply { cost_usd, ..reply })
            }
            Event::Skipped { seats } => {
                EventReport::Skipped { seats: seats.iter().map(|seat| seat.0).collect() }
            }
            Event::Reconciled { attempt, cost, usage } => EventReport::Reconciled {
                call: self.call(*attempt),
                cost_usd: cost.as_usd(),
                usage: UsageReport::of(*usage),
            },
            Event::StageDecided { stage, outcome } => EventReport::StageDecided {
                stage: self.run.stage_name(*stage),
                synthesis: Synthesis::of(outcome),
                text: outcome.text.clone(),
            },
            Event::Decided { outcome } => EventReport::Decided { synthesis: Synthesis::of(outcome) },
            Event::Closed { cost } => EventReport::Closed { cost_usd: cost.as_usd() },
            Event::Merged { held, .. } => EventReport::Merged { held: Box::new(self.event(held)) },
        }
    }

    fn caller(&self, slot: CallerSlot) -> Caller {
        let (role, number) = role_and_number(self.run, slot);
        let model = self.run.view(slot).map(|view| view.model.to_string()).unwrap_or_default();
        Caller { role: role.to_owned(), number, model }
    }

    fn call(&self, attempt: Attempt) -> CallAttempt {
        CallAttempt { caller: self.caller(attempt.slot), attempt: attempt.number }
    }

    fn reply(&self, attempt: Attempt, answer: Option<&Answer>, failure: Option<&Failure>) -> Reply {
        let usage = answer.map_or_else(Usage::default, |answer| answer.usage);
        let finish = answer.and_then(|answer| answer.finish.as_ref());
        Reply {
            call: self.call(attempt),
            text: answer.map(|answer| Arc::clone(&answer.text)).filter(|text| !text.is_empty()),
            served_model: answer.and_then(|answer| answer.served_model.clone()),
            finish: finish.map(|finish| finish.as_str().to_owned()),
            usage: UsageReport::of(usage),
            cost_usd: answer.and_then(|answer| answer.cost).map(PicoUsd::as_usd),
            error: failure.map(|failure| ErrorReport::of(failure).in_vocabulary(self.vocabulary)),
        }
    }
}

impl AskedModel {
    fn of(seat: &parallel_llm_engine::Seat) -> Self {
        Self { seat: seat.number.0, model: seat.model.to_string() }
    }
}
