//! What a run is: one question asked of a panel of models, ending in one outcome.
//!
//! ```text
//! RunRequest  →  RunPlan  →  RunEvent …  →  RunOutcome
//! ```
//!
//! This crate holds the words of the product as types, and the story of a run as one readable function
//! ([`engine::Underway::finish`]). It leaves to others how a model is called ([`port::Caller`]) and how events become
//! durable ([`port::Journal`]); it knows no network, no disk, no environment and no clock but `tokio::time`.
//!
//! What always holds: an answer is durable before it is called complete or fused; `sent` is durable before
//! bytes leave; upstream requests per seat are one plus the journaled retries; every seat and every run ends
//! in exactly one state.
#![warn(missing_docs)]

pub mod agreement;
pub mod analysis;
pub mod answer;
pub mod brief;
pub mod budget;
pub mod calibration;
pub mod catalogue;
mod chance;
pub mod closed;
pub mod code;
pub mod deadline;
pub mod engine;
pub mod event;
pub mod file_names;
mod gather;
pub mod id;
pub mod injection;
pub mod interval;
pub mod invisible;
mod json;
pub mod links;
pub mod live;
mod log;
pub mod memory;
pub mod money;
pub mod nearest;
pub mod novelty;
pub mod outcome;
pub mod panel;
pub mod parse;
pub mod persona;
pub mod place;
pub mod plan;
pub mod pointer;
pub mod port;
pub mod prompt;
pub mod quorum;
pub mod recipe;
mod reconcile;
pub mod reopening;
pub mod request;
pub mod retry;
mod room;
pub mod routing;
pub mod run;
mod saving;
mod seat;
pub mod step;
pub mod stop;
mod strategy;
mod timer;
pub mod usage;
mod vetted;
pub mod votes;
pub mod wait;
mod wave;
mod wording;

pub use answer::{Answer, Failure, Finish};
pub use catalogue::{Catalogue, ModelInfo, Price};
pub use code::Code;
pub use engine::Engine;
pub use event::{Event, Recorded};
pub use file_names::FileNames;
pub use id::RunId;
pub use money::PicoUsd;
pub use outcome::{Outcome, OutcomeKind};
pub use panel::{ModelRef, PanelEntry, ProviderId, Seat, SeatNumber};
pub use place::{Place, StepNumber};
pub use plan::RunPlan;
pub use reopening::Reopening;
pub use request::{Attachment, AttachmentKind, Effort, Message, Part, Role, RunRequest};
pub use routing::Routing;
pub use run::{Run, RunStatus, SeatStatus};
pub use stop::Stop;
pub use usage::Usage;
