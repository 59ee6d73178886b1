//! Plain values: answers, failures, error codes, next steps, money, tokens and ids.

pub mod answer;
pub mod code;
pub mod id;
pub mod invisible;
pub mod money;
pub mod nearest;
pub mod next;
pub mod retry;
pub mod trace;
pub mod usage;
pub mod warning;
