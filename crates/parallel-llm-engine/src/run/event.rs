//! The durable events of a run. Everything shown of a run is the fold of its events, [`crate::run::Run`].
//!
//! Events are stored for ever: variants and fields may be added, but never changed or removed.

mod facts;

use serde::{Deserialize, Serialize};

use crate::plan::caller_slot::CallerSlot;
use crate::plan::flow::StageNumber;
use crate::request::panel::SeatNumber;
use crate::run::outcome::Outcome;
use crate::run::prompt_record::PromptRecord;
use crate::run::reopening::Reopening;
use crate::value::answer::{Answer, Failure};
use crate::value::id::RunId;
use crate::value::money::PicoUsd;
use crate::value::retry::Retry;
use crate::value::trace::SpanId;
use crate::value::usage::Usage;

pub(crate) use facts::CallEnd;
pub use facts::EventPhase;

/// One upstream request: its caller slot and its number. Attempts count from 1; 0 is a call that was never sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Attempt {
    /// Who makes the call. Stored under its first name.
    #[serde(rename = "place")]
    pub slot: CallerSlot,
    /// The number of the try.
    pub number: u32,
}

impl Attempt {
    /// Its span in the trace of the run.
    pub fn span(self, run_id: RunId) -> SpanId {
        SpanId::of_request(run_id, &self.slot.to_string(), self.number)
    }
}

/// One durable event.
///
/// Readers match every variant without `_`, or ask what it is and has (`event/facts.rs`), so that the compiler names each place
/// a new variant concerns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The run has begun; its plan is stored beside it.
    Started {
        /// Identifies the question; see [`crate::plan::RunPlan::plan_hash`].
        plan_hash: String,
        /// The worst case of its cost, which is reserved.
        reserved: PicoUsd,
    },
    /// A request is about to leave. Durable before its first byte does.
    Sent {
        /// Which request.
        attempt: Attempt,
        /// What its prompt was made of, if it shows answers. `None` also in runs from before it was recorded.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        prompt: Option<Box<PromptRecord>>,
        /// The most it can cost, if that is more than its plan says: it shows an answer that is longer than its cap.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        worst_case: Option<PicoUsd>,
    },
    /// The provider accepted the request and gave it an id. From here on it may cost money.
    Accepted {
        /// Which request.
        attempt: Attempt,
        /// The provider's id of it.
        generation_id: String,
    },
    /// A whole answer.
    Answered {
        /// Which request.
        attempt: Attempt,
        /// The answer.
        answer: Answer,
    },
    /// An answer that broke off before its end.
    Cut {
        /// Which request.
        attempt: Attempt,
        /// The text so far.
        answer: Answer,
        /// Why it stopped.
        failure: Failure,
    },
    /// No answer from this request.
    Failed {
        /// Which request.
        attempt: Attempt,
        /// Why.
        failure: Failure,
        /// What the engine does about it.
        retry: Retry,
        /// What it cost; `None` if it is unknown.
        cost: Option<PicoUsd>,
        /// From sending to the failure, in milliseconds. It has another name in JSON, because [`Recorded`] writes its own
        /// `elapsed_ms` into the same object.
        #[serde(rename = "took_ms")]
        elapsed_ms: u64,
    },
    /// The request was cancelled by the caller, or because the run no longer needed it.
    Cancelled {
        /// Which request.
        attempt: Attempt,
        /// The text so far, if there was any.
        answer: Option<Answer>,
        /// What it cost, if that is known without a text: zero if no byte of it left.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<PicoUsd>,
    },
    /// Seats were not asked, because the answers of the others were enough. Stored under its first name.
    #[serde(rename = "spared")]
    Skipped {
        /// The seats.
        seats: Vec<SeatNumber>,
    },
    /// The run continues: it was interrupted, or the user asked for more.
    Reopened {
        /// The further part.
        #[serde(flatten)]
        reopening: Reopening,
        /// The worst case of its cost, which is reserved.
        reserved: PicoUsd,
    },
    /// The provider reported the cost of a request whose end was not heard.
    Reconciled {
        /// Which request.
        attempt: Attempt,
        /// Its cost.
        cost: PicoUsd,
        /// Its token counts.
        usage: Usage,
    },
    /// A stage of a flow came to its text, or to none. The text of the last stage is that of the run.
    StageDecided {
        /// The stage.
        stage: StageNumber,
        /// What it came to.
        outcome: Box<Outcome>,
    },
    /// The run is decided.
    Decided {
        /// The outcome. Boxed, because it is by far larger than the other variants.
        outcome: Box<Outcome>,
    },
    /// Late seats have ended; nothing more will happen in this part.
    Closed {
        /// The known cost of the whole run.
        cost: PicoUsd,
    },
    /// A process had lost the run to another one before this could be stored, which was paid for all the same.
    Merged {
        /// The epoch of that process, which others have followed.
        epoch: u64,
        /// The number that the event had there, so that it is merged once.
        held_seq: u64,
        /// The number that its request had there, if the record had given that to another one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        held_number: Option<u32>,
        /// What had happened in that process: a request, its end, or its outcome.
        held: Box<Event>,
    },
}

/// An event with its number and time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recorded {
    /// The number of the event in the run, from 1 without gaps.
    pub seq: u64,
    /// Milliseconds since the start of the run, on a monotonic clock.
    pub elapsed_ms: u64,
    /// What happened.
    #[serde(flatten)]
    pub event: Event,
}
