//! Plain values: what was answered, what failed and why, money, tokens, names.

pub mod answer;
pub mod code;
pub mod id;
pub mod invisible;
pub mod money;
pub mod nearest;
pub mod next;
pub mod retry;
pub mod usage;
pub mod warning;
