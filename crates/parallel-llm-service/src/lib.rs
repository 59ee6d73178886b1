//! The program's use cases. Doors call them and render their results; no use case knows a door.
//!
//! What doors await is a boxed future where much lies behind it: an `async fn` is compiled anew in each crate that awaits it.

mod access;
mod ask;
pub mod attachment;
mod batch;
mod doctor;
mod lazy;
mod models;
mod ports;
mod readiness;
pub mod recursion;
mod redaction;
pub mod report;
mod runs;
mod services;
pub mod telemetry;

pub use access::{
    Access, BrowserSessions, Grant, Issuer, MadeToken, Principal, ReadDocument, Scope, TokenLine,
    TokenRequest, TokenState, may_be_token,
};
pub use ask::form;
pub use ask::{
    Approvals, Asking, Begun, CLIENT_TIMEOUT_UNKNOWN, Consent, ConsentReply, Continuation, DECISION_MAX,
    Decision, Detached, Excess, Fingerprint, Leaving, Order, Question, Quote, QuotedCost, Shutdown,
    Unapproved, UnknownApproval, Waiting,
};
pub use batch::{
    BatchResults, Batches, JobOutcome, LINE_EXAMPLE, Line, Submission, Submitted, WorkScope, Worker,
};
pub use doctor::{Depth, Diagnosis, Doctor, Finding, Health, Probe, ProbeReport, Remedy, size};
pub use lazy::Lazy;
pub use models::{
    Catalogues, CheckedModel, Fetch, FoundModels, KeyUse, ListLine, LocalServer, ModelCheck, ModelLine,
    ModelQuery, ModelSort, ModelState, Models, Overview,
};
pub use parallel_llm_store::{
    Batch, BatchChange, BatchJob, BatchState, CostBy, Day, FacetCount, FacetFilter, Facets, HitSource,
    Integrity, JobCost, JobState, NewSession, PRESET_MARK, RunFilter, RunLine, RunSummary, RunsPage,
    RunsQuery, SearchHit, SearchReach, SearchResults, SeatBar,
};
pub use ports::{CheckKey, Disconnect, FetchCredit, FetchTime, OPENROUTER, OpenCircuits, PostTelemetry};
pub use readiness::{Readiness, Unready};
pub use redaction::redacted;
pub use runs::{
    BudgetDay, BudgetHour, CalibrationFile, Costs, Coverage, Database, Figures, History, HistoryPlace, Hold,
    Insights, Journals, KnownRun, ModelInsight, ModelLatency, ModelReliability, ModelSpending, PastRun,
    PurgeSelection, PurgeStage, Purging, Quantiles, ReliabilityCell, Retention, RunHandle, Runs, Share,
    Spending, SpendingCell, Statistics, StoreCheck, Verdict, checker, files,
};
pub use services::{Parts, Services};
