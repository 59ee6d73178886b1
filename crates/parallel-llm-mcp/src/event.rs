//! The events of a run, as [`RunHandle::events`](crate::RunHandle::events) brings them: the same objects that the program
//! prints as lines of JSON.

pub use parallel_llm_service::report::event::line::{
    AskedModel, CallAttempt, Caller, EventLine, EventReport, Reply,
};
