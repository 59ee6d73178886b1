//! The traits for parts of your own: a [`Caller`] is a provider, a [`Journal`] is where events become durable.
//!
//! [`PanelBuilder::caller`](crate::PanelBuilder::caller) and [`PanelBuilder::journal`](crate::PanelBuilder::journal) take
//! them.

pub use futures_util::future::BoxFuture;
pub use parallel_llm_engine::port::{
    Call, Caller, Charge, Journal, Lease, Permit, ReplyEnd, ReplyPart, ReplyStream, SendGuard,
};
pub use parallel_llm_engine::run::event::{Attempt, Event, Recorded};
pub use parallel_llm_engine::value::warning::Warning;
pub use parallel_llm_engine::{
    Answer, CallerSlot, Failure, Finish, Lineage, ModelRef, PicoUsd, ProviderId, Routing, RunPlan,
    SeatNumber, StepNumber, Usage,
};
