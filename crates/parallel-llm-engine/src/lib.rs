//! What a run is: one question asked of a panel of models, ending in one outcome.
//!
//! ```text
//! RunRequest  →  RunPlan  →  RunEvent …  →  RunOutcome
//! ```
//!
//! This crate defines the types of the product and runs a question from start to end in one function,
//! [`engine::Underway::finish`]. It leaves to others how a model is called ([`port::Caller`]) and how events become
//! durable ([`port::Journal`]). It uses no network, no disk, no environment and no clock but `tokio::time`.
//!
//! Invariants: an answer is durable before it is called complete or fused; `sent` is durable before bytes leave; the
//! upstream requests of a seat are one plus its journaled retries; every seat and every run ends in exactly one state.
#![warn(missing_docs)]

// First, because the modules below use its macro `strategies!`.
#[macro_use]
mod strategy;

pub mod agreement;
pub mod call;
pub mod engine;
pub mod panel;
pub mod plan;
pub mod port;
pub mod prompt;
pub mod request;
pub mod run;
pub mod text;
pub mod value;

pub use call::stop::Stop;
pub use engine::Engine;
pub use plan::RunPlan;
pub use plan::caller_slot::{CallerSlot, StepNumber};
pub use request::catalogue::{Catalogue, ModelInfo, Price};
pub use request::file_names::FileNames;
pub use request::panel::{ModelRef, PanelEntry, ProviderId, Seat, SeatNumber};
pub use request::routing::Routing;
pub use request::{Attachment, AttachmentKind, Effort, Lineage, Message, Part, Role, RunRequest};
pub use run::event::{Event, Recorded};
pub use run::outcome::{Outcome, OutcomeKind};
pub use run::reopening::Reopening;
pub use run::{Run, RunStatus, SeatStatus};
pub use value::answer::{Answer, Failure, Finish};
pub use value::code::Code;
pub use value::id::{BatchId, RunId};
pub use value::money::PicoUsd;
pub use value::usage::Usage;
