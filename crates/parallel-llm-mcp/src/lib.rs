//! Ask many language models at once and get one answer you can trust.
//!
//! [`Panel`] asks a panel of models and makes one text of their answers, as the program `parallel-llm-mcp` does. [`Client`]
//! calls one model. [`parallel`] runs one closure over many items at once. With the feature `server`, a `Server` offers a
//! panel to MCP clients and browsers. The guide is `docs/library.md`.
//!
//! ```no_run
//! # async fn example() -> Result<(), parallel_llm_mcp::Error> {
//! use parallel_llm_mcp::Panel;
//!
//! let panel = Panel::builder().key("sk-or-...").panel(["openai/gpt-6.1-sol", "z-ai/glm-5.3"]).build()?;
//! let report = panel.ask("Is P = NP?").await?;
//! assert!(report.answer.is_some());
//! panel.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! Importing the library does nothing: no log is set up, no signal handled, no file written outside of the folder that a
//! builder is given, and neither the environment nor a settings file is read unless a builder is asked to.
//!
//! # Features
//!
//! - `server`: the servers, `server::Server`.
//! - `program` (on by default): the binaries, which bring their command line and terminal along.
#![warn(missing_docs)]

mod blocking;
pub mod client;
mod error;
pub mod event;
mod panel;
pub mod parallel;
pub mod port;
mod reply;
pub mod report;
#[cfg(feature = "server")]
pub mod server;
mod vocabulary;

pub use client::Client;
pub use error::{Cause, Error};
pub use panel::builder::PanelBuilder;
pub use panel::provider::Provider;
pub use panel::question::Question;
pub use panel::run_handle::{Events, RunHandle};
pub use panel::{Cost, Panel};
pub use parallel_llm_engine::request::StoreMode;
pub use parallel_llm_engine::{
    Attachment, AttachmentKind, Code, Effort, Message, Part, Role, RunId, RunRequest,
};
pub use report::Report;
pub use secrecy::SecretString;
#[cfg(feature = "server")]
pub use server::Server;
pub use tokio_util::sync::CancellationToken;
