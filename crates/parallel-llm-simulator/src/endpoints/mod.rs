//! What is served: chat, lists of models, OpenRouter's read-only endpoints, and the control routes.

pub(crate) mod chat;
pub(crate) mod control;
pub(crate) mod listing;
pub(crate) mod model_list;
