//! What holds on every transport: a line and its refusal, requests that are not answered yet, versions.

pub(super) mod answer_first;
pub(super) mod client_cancel;
pub(super) mod line;
pub(super) mod pending;
pub(super) mod reply_turns;
pub(super) mod request_id;
pub(super) mod version;
