//! MCP over HTTP: requests and their early answers, sessions, and what is unread.

mod body;
mod early;
mod lifecycle;
mod refusal;
mod sessions;
pub mod streamable;
mod unread;
